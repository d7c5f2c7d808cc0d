(* SPDX-License-Identifier: BSD-2-Clause *)
(* Hard constant bandwidth servers on one pcpu under EDF, as model.v has the other rules:
   definitions, and no proof. What is proved of them stands in cbs_supply.v.

   A server has an account: how much of its budget is left, and until when, its deadline. The
   account is looked at when work arrives where there was none: if more is left than the bandwidth
   allows until the deadline, a new period begins, with a whole budget and a deadline one period
   ahead; else both are kept. And when it is used up: then the server waits for its deadline, where
   it gets its budget and the next deadline. Refills come before arrivals. *)

From Coq Require Import Arith Bool.
From Hyperperiod Require Import model.

Record account := { left : nat; until : nat }.

Definition refilled (one : server) (x : nat) (its : account) : account :=
  if (left its =? 0) && (until its <=? x)
  then {| left := budget one; until := until its + every one |}
  else its.

(* A deadline that is past allows for nothing: the subtraction ends at 0. *)
Definition renewed (one : server) (x : nat) (its : account) : account :=
  if (until its - x) * budget one <? left its * every one
  then {| left := budget one; until := x + every one |}
  else its.

Definition ruled (one : server) (x : nat) (arrives : bool) (before : account) : account :=
  let its := refilled one x before in if arrives then renewed one x its else its.

Definition charge_of (its : account) (paid : bool) : account :=
  {| left := left its - (if paid then 1 else 0); until := until its |}.

(* The account of a server at instant x, with what a rule makes of it there, before it pays. *)
Fixpoint account_of (by_rule : nat -> account -> account) (first : account) (paid : nat -> bool)
  (x : nat) : account :=
  by_rule x
    match x with
    | 0 => first
    | S y => charge_of (account_of by_rule first paid y) (paid y)
    end.

Definition cbs_of (one : server) (arrives : nat -> bool) : (nat -> bool) -> nat -> account :=
  account_of (fun x => ruled one x (arrives x)) {| left := budget one; until := every one |}.

Section Host.
(* When work arrives at a server: where there was none, and also at an instant at which all that
   there was is done. *)
Context (m : nat) (servers : nat -> server) (arrives : nat -> nat -> bool) (h : host).

Definition paid (s x : nat) : bool := here s (pays h x).

Definition its (s : nat) : nat -> account := cbs_of (servers s) (arrives s) (paid s).

Definition arriving : Prop :=
  forall s x, s < m -> wants h s (S x) -> ~ wants h s x -> arrives s (S x) = true.

(* Of those with work and budget one with the earliest deadline pays, of equals any. *)
Definition earliest_pays : Prop := forall x,
  (forall s, pays h x = Some s -> s < m /\ wants h s x /\ 0 < left (its s x)) /\
  (forall s, s < m -> wants h s x -> 0 < left (its s x) ->
     exists other, pays h x = Some other /\ until (its other x) <= until (its s x)).

(* What is left at the end of an instant with work can still come by the deadline. *)
Definition punctual (s : nat) : Prop := forall x, wants h s x -> 0 < left (its s x) ->
  S x + left (its s x) <= until (its s x) + (if paid s x then 1 else 0).

Definition general_bound (s : nat) : nat -> nat :=
  let P := every (servers s) in
  let B := budget (servers s) in
  sbf P B (general P B P).

(* Every window in which the server has work throughout, and none arrives where all other is done,
   holds so much supply. *)
Definition supplies_unbroken (s : nat) (bound : nat -> nat) : Prop :=
  forall a t, throughout (wants h s) a t -> (forall x, a < x < a + t -> arrives s x = false) ->
    bound t <= amount (paid s) a t.

(* Work arrives at the server of a domain only where all jobs released before are done. *)
Definition anew (s : nat) (d : domain) (r : run) : Prop := forall x j,
  arrives s x = true -> fst j < size d -> release r j < x -> complete r j x.

End Host.
