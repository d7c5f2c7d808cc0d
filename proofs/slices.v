(* SPDX-License-Identifier: BSD-2-Clause *)
(* Slices on one pcpu, under fixed priority (PSEDF) and EDF (SEDF'), as model.v has the other rules:
   definitions, and no proof. What is proved of them stands in slices_supply.v.

   A server has an account, as one of cbs.v has: how much of its slice is left, and until when, its
   deadline. A new period begins with a whole slice and a deadline one period ahead, where the last
   one is over and there is work, or where a slice that is used up comes again, with work or
   without. Until then work finds what is left, and the same deadline. The first work of all begins
   a period.

   Time that no server pays for may go to anybody, as extra time or by weight; it leaves no trace in
   the accounts. Not in the model: shares of that time, debts, and other sizes from some deadline
   on. *)

From Coq Require Import Arith Bool.
From Hyperperiod Require Import model cbs.

Definition begun (one : server) (x : nat) (works : bool) (before : account) : account :=
  if (until before <=? x) && (works || (left before =? 0))
  then {| left := budget one; until := x + every one |}
  else before.

Definition slice_of (one : server) (works : nat -> bool) : (nat -> bool) -> nat -> account :=
  account_of (fun x => begun one x (works x)) {| left := budget one; until := 0 |}.

Section Host.
(* The first m servers, and whether they have work. Under PSEDF these are the real-time ones; who
   pays while none of them may is an ordinary one, with a number from m on. *)
Context (m : nat) (servers : nat -> server) (works : nat -> nat -> bool) (h : host).

Definition slice (s : nat) : nat -> account := slice_of (servers s) (works s) (paid h s).

Definition working : Prop := forall s x, s < m -> works s x = true <-> wants h s x.

Definition slice_turn (by_order : order) (s x : nat) : nat :=
  match by_order with
  | ByRank => rank (servers s)
  | ByDeadline => until (slice s x)
  end.

(* Of those with work and some of their slice the first pays, of equals any. *)
Definition slices_pay (by_order : order) : Prop := forall x,
  (forall s, pays h x = Some s -> s < m -> wants h s x /\ 0 < left (slice s x)) /\
  (forall s, s < m -> wants h s x -> 0 < left (slice s x) ->
     exists other, pays h x = Some other /\ other < m /\
       slice_turn by_order other x <= slice_turn by_order s x).

(* A server that has work all the time in [a, a + t), within one of its periods, goes without the
   pcpu for at most P - B of that. *)
Definition keeps_slice (s : nat) : Prop := forall a t,
  throughout (wants h s) a t -> a + t <= until (slice s a) ->
  t <= amount (paid h s) a t + (every (servers s) - budget (servers s)).

End Host.
