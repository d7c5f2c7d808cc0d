(* SPDX-License-Identifier: BSD-2-Clause *)
(* What a server supplies when it is known who else is on its pcpus (servers/known_servers.py):
   definitions, and no proof. What is proved of them stands in known_supply.v and known_table.v.

   An interface alone leaves open when a budget comes. Others on the pcpus take no more than budgets
   of their own, from where their refills stand; so each unit of a budget has come some time after
   the period began, whatever the others do. Units are numbered from 0: unit y has come S y + wait y
   after the refill. *)

From Coq Require Import Arith Bool.
From Hyperperiod Require Import model.

(* Unit y of a budget comes within its period, and waits as long as those before it at least. *)
Definition steps (P B : nat) (wait : nat -> nat) : Prop :=
  (forall y, y < B -> S y + wait y <= P) /\ (forall y z, y <= z < B -> wait y <= wait z).

(* With work from o after the beginning of a period on, S y - o units have come when unit y has:
   no more than o were used before. A periodic server pays whether there is work or not, a polling
   one only has a budget if the work is there when the period begins. *)
Definition comes_by (P B : nat) (wait : nat -> nat) (by_rule : rule) (busy : nat -> Prop)
  (gets : supply) : Prop :=
  forall k o y, y < B -> (by_rule = Polling -> o = 0) ->
    (by_rule <> Periodic -> throughout busy (k * P + o) (S y + wait y - o)) ->
    S y <= o + amount gets (k * P + o) (S y + wait y - o).

(* How long the first budget may be away, which is used up or lost when work comes. Work that a
   polling server has too late is there an instant after the refill at the soonest. *)
Definition away (P B : nat) (by_rule : rule) : nat :=
  match by_rule with
  | Polling => P - 1
  | _ => P - B
  end.

(* How many units have come in a window of length t: B in each period, after that time. *)
Definition staircase (P B : nat) (wait : nat -> nat) (by_rule : rule) (t : nat) : nat :=
  amount (fun n => n / B * P + S (n mod B) + away P B by_rule + wait (n mod B) <=? t) 0 t.

(* What server o can spend ahead of server s in the first t of period k of s. Under EDF that is what
   it spends in periods that end no later. *)
Definition spends_ahead (by_order : order) (servers : nat -> server) (s k t o : nat) : nat :=
  let P := every (servers s) in
  let Q := every (servers o) in
  let refill := Q - (k * P) mod Q in
  match by_order with
  | ByRank => if rank (servers o) <=? rank (servers s) then spends (servers o) refill t else 0
  | ByDeadline => spends (servers o) refill (min t ((k * P + P) / Q * Q - k * P))
  end.

(* What all others can spend so, each at most j. *)
Definition ahead (m : nat) (servers : nat -> server) (by_order : order) (s k t j : nat) : nat :=
  sum m (fun o => if o =? s then 0 else min j (spends_ahead by_order servers s k t o)).

(* The test on c pcpus: in each period, until all begin together again at M, unit y is there when
   there is so much time in which others cannot keep all pcpus, and waits no longer than that. *)
Definition waits_for_others (c m : nat) (servers : nat -> server) (by_order : order) (s : nat)
  (wait : nat -> nat) : Prop :=
  let own := servers s in
  steps (every own) (budget own) wait /\
  exists M, 0 < M /\ (forall o, o < m -> exists q, M = q * every (servers o)) /\
    forall k y, k * every own < M -> y < budget own ->
      exists t, t <= S y + wait y /\ ahead m servers by_order s k t (t - y) < c * (t - y).

(* Servers that share c pcpus: who pays at each instant. At most c do, and who may and does not sees
   others pay for all pcpus that come no later. To each it is as on a pcpu of its own, but for that:
   so `alone`. *)
Definition alone (paid : nat -> nat -> bool) (wants : nat -> nat -> Prop) (s : nat) : host :=
  {| pays := fun x => if paid s x then Some s else None; also := fun _ => None;
     has := fun _ => None; model.wants := wants |}.

Definition several_pay (c : nat) (by_rule : rule) (m : nat) (servers : nat -> server)
  (by_order : order) (paid : nat -> nat -> bool) (wants : nat -> nat -> Prop) : Prop :=
  let may s := may_pay by_rule servers (alone paid wants s) s in
  let count x (f : nat -> bool) := sum m (fun o => if paid o x && f o then 1 else 0) in
  forall x, count x (fun _ => true) <= c /\
    (forall s, paid s x = true -> s < m /\ may s x) /\
    forall s, s < m -> may s x -> paid s x = false ->
      count x (fun o => place by_order servers o x <=? place by_order servers s x) = c.

(* Who pays if all pay whether there is work or not, in rounds of length M. *)
Definition rounds (M : nat) (table : nat -> option nat) : host :=
  {| pays := fun x => table (x mod M); also := fun _ => None; has := fun _ => None;
     wants := fun _ _ => False |}.

(* A table of periodic servers in which server s loses all ties (servers/server_table.py). What
   others that are ahead of it lose of their budgets, another order of equals may save: so those
   with an equal lose nothing, and under EDF nobody does. *)
Definition table_of (m : nat) (servers : nat -> server) (by_order : order) (s M : nat)
  (table : nat -> option nat) : Prop :=
  let h := rounds M table in
  0 < M /\ (forall o, o < m -> exists q, M = q * every (servers o)) /\
  (forall x, x < M ->
     first_pays_at m servers by_order (may_pay Periodic servers h) h x /\
     (table x = Some s -> forall o, o < m -> o <> s -> unspent servers h o x ->
        place by_order servers s x < place by_order servers o x)) /\
  forall o, o < m -> o <> s ->
    (by_order = ByDeadline \/ exists i, i < m /\ i <> s /\ i <> o /\
       rank (servers i) = rank (servers o) /\ rank (servers o) <= rank (servers s)) ->
    forall k, k * every (servers o) < M ->
      budget (servers o) <= amount (charged h o) (k * every (servers o)) (every (servers o)).

(* The same test by a table. *)
Definition waits_in_table (m : nat) (servers : nat -> server) (by_order : order) (s : nat)
  (wait : nat -> nat) : Prop :=
  let own := servers s in
  steps (every own) (budget own) wait /\
  exists M table, table_of m servers by_order s M table /\
    forall k y, k * every own < M -> y < budget own ->
      S y <= amount (charged (rounds M table) s) (k * every own) (S y + wait y).
