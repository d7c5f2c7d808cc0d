(* SPDX-License-Identifier: BSD-2-Clause *)
(* Packets through a driver domain and back, under PSEDF: definitions, and no proof. What is proved
   of them stands in psedf.v. The paper: Masrur et al., RTCSA 2010.

   A plant has n flows. A packet of flow i comes to the driver domain, which hands it to the one
   task of domain i; the answer of that passes through the driver on its way out. Packets of a flow
   are some time apart. The driver needs some time at most for a packet, on either way, and serves
   them as they come; so does domain i with its own. Who has less to do, or nothing, has jobs of
   less work, or none.

   Every domain is a slice server of a pcpu under fixed priority (slices.v), wherever that is: the
   driver may have one for itself. Others on these pcpus may work whenever they like. *)

From Coq Require Import Arith Bool.
From Hyperperiod Require Import model cbs slices.

Record plant := { flows : nat; packet : nat; apart : nat -> nat; answer : nat -> nat }.

(* The job of a run is released as soon as that of another one is done. *)
Definition hands_over (before : run) (i : job) (after : run) (j : job) : Prop :=
  forall x, release after j <= x <-> release before i <= x /\ complete before i x.

(* The k-th packet of flow i is job (i, k) of the driver and job (0, k) of its domain. The answer is
   job (flows + i, k) of the driver. *)
Definition passes (one : plant) (driver : run) (domains : nat -> run) : Prop :=
  forall i k, i < flows one ->
    let out := (flows one + i, k) in
    release driver (i, k) + apart one i <= release driver (i, S k) /\
    work driver (i, k) <= packet one /\ work (domains i) (0, k) <= answer one i /\
    work driver out <= packet one /\
    hands_over driver (i, k) (domains i) (0, k) /\ hands_over (domains i) (0, k) driver out.

(* A server among those of its pcpu. *)
Record placed := {
  many : nat; those : nat -> server; has_work : nat -> nat -> bool; on : host; who : nat
}.

Definition its_server (one : placed) : server := those one (who one).

(* The pcpu decides as PSEDF does, and time that nobody pays for may be given to anybody; the domain
   has the n tasks of a run, whose jobs are served as they come. *)
Definition in_slices (n : nat) (one : placed) (r : run) : Prop :=
  who one < many one /\
  (forall i, i < many one -> 0 < budget (those one i) <= every (those one i)) /\
  working (many one) (has_work one) (on one) /\
  slices_pay (many one) (those one) (has_work one) (on one) ByRank /\
  sharing Behind (those one) (on one) /\
  (forall x, wants (on one) (who one) x <-> busy n r x) /\
  scheduled n (release r) (fun x => here (who one) (has (on one) x)) r.

(* With a slice at hand, so much work takes no longer than t: it and all that those of higher and
   equal priority can spend in t, and it is no more than a slice. *)
Definition takes (one : placed) (amount t : nat) : Prop :=
  amount <= budget (its_server one) /\
  amount + job_rbf (many one) (fun i => as_deferrable (those one i))
    (fun i => rank (those one i)) (who one) 0 t <= t.

(* And with the wait for a slice. *)
Definition with_wait (one : placed) (t : nat) : nat :=
  every (its_server one) - budget (its_server one) + t.

(* How much later than the longest way in of its packet an answer of domain i may be, if a way
   through the driver takes D at most, and the work of the domain R with a slice at hand: with the
   wait for one; or 2 R, if packets are no closer than its periods; or R, if each wake begins a
   period. That it does if the period of the last one is over, and also the next one, where a job
   uses its whole slice. *)
Definition answers_within (one : plant) (i : nat) (at_ : placed) (D R late : nat) : Prop :=
  let P := every (its_server at_) in
  late = with_wait at_ R \/
  R <= P /\
    (late = 2 * R /\ P <= apart one i \/
     late = R /\ (if answer one i <? budget (its_server at_) then P else 2 * P) + D <= apart one i).
