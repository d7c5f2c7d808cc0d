(* SPDX-License-Identifier: BSD-2-Clause *)
(* A pcpu whose hypervisor takes time, as model.v has one on which decisions are free: definitions,
   and no proof. What is proved of it stands in the files overhead_*.v.

   The hypervisor decides by a pick, which takes time at the beginning of the grant that it makes.
   What it has decided stands until the next pick, and whoever pays then pays for the pick as well.
   While it works nothing else is decided, and no job makes progress. So at each instant there
   stands the decision of that instant, or, while the hypervisor works on a pick, that of the
   instant at which the pick began. The laws of model.v, who pays first and who shares, are laws of
   decisions.

   Since nothing is decided within a pick, a budget may be overdrawn there. What a server owes then
   is paid by its next budgets.

   Why a pick begins and what it costs matters only for what tasks get: something must have
   happened since the last pick, and what happened is paid for once.

   There are m servers and, numbered from m on, best-effort domains, which have no budget. Picks
   that take no time are not in the model, nor are quanta of servers, interrupts that only some
   picks have, and several vcpus. *)

From Coq Require Import Arith Bool.
From Hyperperiod Require Import model.

(* The instants at which a pick begins, and those at which the hypervisor works. *)
Record hypervisor := { begins : nat -> bool; works : nat -> bool }.

(* The pick that begins at p takes instant x. *)
Definition takes (v : hypervisor) (p x : nat) : Prop :=
  p <= x /\ begins v p = true /\ (forall y, p <= y <= x -> works v y = true) /\
  forall y, p < y <= x -> begins v y = false.

(* What is decided at instant p stands at instant x. *)
Definition stands (v : hypervisor) (p x : nat) : Prop :=
  (p = x /\ works v x = false) \/ takes v p x.

(* A pick takes C at most. *)
Definition picks_within (C : nat) (v : hypervisor) : Prop := forall p x, takes v p x -> x < p + C.

(* What a server owes when its period k begins. *)
Fixpoint debt (one : server) (paid : nat -> bool) (k : nat) : nat :=
  match k with
  | 0 => 0
  | S j => debt one paid j + amount paid (j * every one) (every one) - budget one
  end.

(* Some of the budget is left, when debts are paid. *)
Definition solvent (servers : nat -> server) (h : host) (s x : nat) : Prop :=
  let P := every (servers s) in
  debt (servers s) (charged h s) (x / P) + amount (charged h s) (x / P * P) (x mod P)
    < budget (servers s).

Definition may_pay_solvent (by_rule : rule) (servers : nat -> server) (h : host) (s x : nat)
  : Prop :=
  solvent servers h s x /\ may_pay by_rule servers h s x.

(* Who pays has the processor if it has work, and only under lend somebody pays beside, who then has
   it. Who else has it is not said: it may be best effort, whoever pays. *)
Definition decided_at (by_rule : rule) (m : nat) (servers : nat -> server) (by_order : order)
  (by_slack : slack) (h : host) (p : nat) : Prop :=
  first_pays_at m servers by_order (may_pay_solvent by_rule servers h) h p /\
  (forall s, pays h p = Some s -> wants h s p -> has h p = Some s) /\
  (forall s, also h p = Some s -> by_slack = Lend /\ has h p = Some s /\ solvent servers h s p).

(* At each instant a decision stands. Who has the processor while the hypervisor works does not
   matter. *)
Definition deciding (by_rule : rule) (m : nat) (servers : nat -> server) (by_order : order)
  (by_slack : slack) (v : hypervisor) (h : host) : Prop :=
  forall x, exists p, stands v p x /\
    pays h x = pays h p /\ also h x = also h p /\
    decided_at by_rule m servers by_order by_slack h p.

(* In each period, or in the part of it that the rule is about, a server is charged its budget but
   for what it owes. *)
Definition keeps_but_debts (one : server) (by_rule : rule) (busy : nat -> Prop) (paid : nat -> bool)
  : Prop :=
  let P := every one in
  let lacks k := P - budget one + debt one paid k in
  match by_rule with
  | Periodic => forall k, budget one <= amount paid (k * P) (within one) + debt one paid k
  | Deferrable => forall k a t, k * P <= a -> a + t <= k * P + P -> throughout busy a t ->
      t <= amount paid a t + lacks k
  | Polling => forall k t, t <= P -> throughout busy (k * P) t ->
      t <= amount paid (k * P) t + lacks k
  end.

(* What windows lose beside budgets: a pick in progress, and what each server may be overdrawn
   (overheads.py). *)
Definition beside_budgets (m C : nat) : nat := (m + 1) * C.

(* * What of a budget is for tasks *)

(* A domain gets nothing done while the hypervisor works. *)
Definition useful (v : hypervisor) (h : host) (s x : nat) : bool :=
  charged h s x && negb (works v x).

Section Picks.
(* When work arrives at a domain: where there was none, and also at an instant at which all that
   there was is done. *)
Context (m best : nat) (servers : nat -> server) (arrives : nat -> nat -> bool).
Context (v : hypervisor) (h : host).

Definition refill (s x : nat) : bool := x mod every (servers s) =? 0.

(* Behind the pick that begins at p the next one begins at q. *)
Definition next (p q : nat) : Prop :=
  p < q /\ begins v p = true /\ begins v q = true /\ forall y, p < y < q -> begins v y = false.

(* Something happens that a pick is made for: work arrives, a budget is refilled, who has had the
   processor since the last pick has no work any more, or who has paid since then no budget. A
   turn of best effort may end at any time. *)
Definition stirred (p x : nat) : Prop :=
  (exists o, o < m + best /\ arrives o x = true) \/
  (exists o, o < m /\ refill o x = true) \/
  (exists o, has h p = Some o /\ (m <= o \/ ~ wants h o x)) \/
  (exists o, charged h o p = true /\ ~ solvent servers h o x).

Definition picks_when_stirred : Prop :=
  forall p q, next p q -> exists x, p < x <= q /\ stirred p x.

(* How often something happens to the first n in t instants from a on. *)
Definition happens (n : nat) (what : nat -> nat -> bool) (a t : nat) : nat :=
  sum n (fun o => amount (what o) a t).

(* A pick takes `fixed`, and pays once for each arrival and each refill since the last pick. Refills
   of servers that are not periodic may be noticed when work arrives, which then costs both. *)
Definition priced (fixed wake replenish : nat) : Prop :=
  forall p q x, next p q -> takes v q x ->
    x < q + fixed + wake * happens (m + best) arrives (S p) (q - p)
      + replenish * happens m refill (S p) (q - p).

(* A pick takes C at most, and still does with the arrivals of any one server in its time. *)
Definition leaves_wakes (C wake : nat) : Prop := forall s q x, s < m -> takes v q x ->
  x + wake * amount (arrives s) (S q) (x - q) < q + C.

(* What picks take of a budget, if work arrives at others W times in a period at most: two of the
   longest, one for a debt and what is in progress and one for the first, and one for each arrival
   and each refill. overheads.py has one more of the fixed costs. *)
Definition budget_loss (C fixed wake replenish W s : nat) : nat :=
  let R := sum m (fun o => ceiling (every (servers s)) (every (servers o))) in
  2 * C + fixed + W * (fixed + wake) + R * (fixed + replenish).

End Picks.

(* Arrivals at domains other than s. *)
Definition others (arrives : nat -> nat -> bool) (s o x : nat) : bool :=
  negb (o =? s) && arrives o x.

(* A domain whose jobs run when it has the processor and the hypervisor does not work. *)
Definition inside_beside (v : hypervisor) (h : host) (s : nat) (d : domain) (r : run) : Prop :=
  jobs_of (size d) (members d) r /\
  (forall x, wants h s x <-> busy (size d) r x) /\
  scheduled (size d) (local_key d r) (fun x => here s (has h x) && negb (works v x)) r.

(* The most jobs that are released in t instants, each of which may be an arrival. *)
Definition releases (d : domain) (t : nat) : nat :=
  sum (size d) (fun i => ceiling (t + jitter (members d i)) (period (members d i))).
