(* SPDX-License-Identifier: BSD-2-Clause *)
(* Statements that are false, each refuted by a run that Coq computes. Two are of papers
   (docs/papers.md).

   Theorem 2 of the ERTDS paper says that deferrable servers under EDF on one pcpu all get their
   budgets if their bandwidths add up to 1 at most. Lemma 2 of the CSA paper, read of each job, says
   that none is done later under WCPS, where time that its payer does not need is lent, than under
   PTPS, where it is idle. The third shows why cbs_edf is only of windows without a break. *)

From Coq Require Import Arith List Lia.
Import ListNotations.
From Hyperperiod Require Import model host runs cbs cbs_runs.

(* Tasks of given costs, and their jobs, of which these runs see the first of each. *)
Definition once (costs : list nat) : domain :=
  {| size := length costs;
     members := fun i => {| cost := nth i costs 0; period := 12; deadline := 12; jitter := 0 |};
     model.scheduler := FixedPriority (fun i => i) |}.

Definition coming (costs from : list nat) : run :=
  let comes j := nth (fst j) from 0 + snd j * 12 in
  {| arrival := comes; release := comes; work := fun j => nth (fst j) costs 0;
     runs := fun _ => None |}.

Lemma coming_jobs costs from :
  jobs_of (size (once costs)) (members (once costs)) (coming costs from).
Proof. intros i k _. cbn. lia. Qed.

(* * Deferrable servers under EDF *)

(* 6 ns in every 11 and 3 in every 7, which is 75/77. The work of both comes at 11. The second
   spends 3 ns before its refill at 14 and 3 right after it, due at 21, and leaves 5 of the 11 ns
   until 22 to the first, which is to have 6. *)
Definition two_shares (s : nat) : server :=
  match s with
  | 0 => {| every := 11; budget := 6; within := 11; rank := 0 |}
  | _ => {| every := 7; budget := 3; within := 7; rank := 0 |}
  end.

Theorem ertds_theorem_2_refuted : exists servers h s k,
  s < 2 /\ (forall i, i < 2 -> 0 < budget (servers i) <= every (servers i)) /\
  deferring 2 servers ByDeadline h /\ sharing Idle servers h /\
  bandwidth_at_most_1 2 servers /\
  throughout (wants h s) (k * every (servers s)) (every (servers s)) /\
  amount (charged h s) (k * every (servers s)) (every (servers s)) < budget (servers s).
Proof.
  set (given := coming [11] [11]).
  exists two_shares,
    (pcpu false 2 two_shares ByDeadline Idle (fun _ => once [11]) (fun _ => given)), 0, 1.
  destruct (pcpu_legal false 2 two_shares ByDeadline Idle (fun _ => once [11])
    (fun _ => given)) as (follows & shares & _); [intros; cbn; lia|intros; apply coming_jobs|].
  split; [lia|]. split; [intros [|i] _; cbn; lia|]. split; [exact follows|].
  split; [exact shares|]. split; [|split].
  - exists 77. split; [lia|]. split; [|vm_compute; lia].
    intros [|i] _; [now exists 7|now exists 11].
  - intros x there. cbn [every two_shares] in there.
    assert (In x (seq 11 11)) as at_work by (apply in_seq; lia).
    repeat destruct at_work as [<-|at_work]; [vm_compute; reflexivity..|easy].
  - vm_compute. lia.
Qed.

(* * Lending *)

(* 2 ns in every 4 above 2 in every 8. The first needs 1 ns of its budget. What it leaves at 1 the
   second borrows, pays for, and so has spent its budget at 3 when a job comes, that would be done
   at 4 and now waits for the next period. *)
Definition two_in_eight (s : nat) : server :=
  match s with
  | 0 => {| every := 4; budget := 2; within := 4; rank := 0 |}
  | _ => {| every := 8; budget := 2; within := 8; rank := 1 |}
  end.

Definition sensor_control (s : nat) : list nat := match s with 0 => [1] | _ => [1; 1] end.

Theorem csa_lemma_2_of_jobs_refuted : exists servers domains idle lent in_idle in_lent j x,
  (forall s, s < 2 -> 0 < budget (servers s) <= every (servers s) /\
     within (servers s) = every (servers s)) /\
  paying 2 servers ByRank idle /\ sharing Idle servers idle /\
  paying 2 servers ByRank lent /\ sharing Lend servers lent /\
  (forall s, s < 2 ->
     periodic (every (servers s)) (budget (servers s)) (within (servers s)) (charged idle s) /\
     periodic (every (servers s)) (budget (servers s)) (within (servers s)) (charged lent s) /\
     inside idle s (domains s) (in_idle s) /\ inside lent s (domains s) (in_lent s) /\
     arrival (in_idle s) = arrival (in_lent s) /\ release (in_idle s) = release (in_lent s) /\
     work (in_idle s) = work (in_lent s)) /\
  fst j < size (domains 1) /\ complete (in_idle 1) j x /\ ~ complete (in_lent 1) j x.
Proof.
  set (domains s := once (sensor_control s)).
  set (given s := coming (sensor_control s) [0; 3]).
  pose (at_pcpu by_slack := pcpu true 2 two_in_eight ByRank by_slack domains given).
  pose (in_pcpu by_slack := pcpu_inner true 2 two_in_eight ByRank by_slack domains given).
  assert (legal : forall by_slack, paying 2 two_in_eight ByRank (at_pcpu by_slack) /\
    sharing by_slack two_in_eight (at_pcpu by_slack) /\
    forall s, s < 2 -> inside (at_pcpu by_slack) s (domains s) (in_pcpu by_slack s)).
  { intros by_slack. apply (pcpu_legal true 2 two_in_eight ByRank by_slack domains given);
      [intros; cbn; lia|intros; apply coming_jobs]. }
  assert (budgets : forall by_slack s, s < 2 -> periodic (every (two_in_eight s))
    (budget (two_in_eight s)) (within (two_in_eight s)) (charged (at_pcpu by_slack) s)).
  { intros by_slack s low. destruct (legal by_slack) as (follows & shares & _).
    apply (servers_fixed_priority 2 two_in_eight by_slack); [|assumption..| |].
    - intros [|i] _; cbn; lia.
    - destruct s as [|s]; cbn; lia.
    - destruct s as [|[|s]]; [exists 2|exists 4|lia]; vm_compute; lia. }
  exists two_in_eight, domains, (at_pcpu Idle), (at_pcpu Lend), (in_pcpu Idle), (in_pcpu Lend),
    (1, 0), 4.
  split; [intros [|s] _; cbn; lia|]. do 4 (split; [apply legal|]). split; [|split; [|split]].
  - intros s low. split; [now apply budgets|]. split; [now apply budgets|].
    split; [now apply legal|]. split; [now apply legal|]. repeat split.
  - cbn. lia.
  - vm_compute. lia.
  - vm_compute. lia.
Qed.

(* * Constant bandwidth servers, and windows with a break *)

(* 3 ns in every 6 beside 2 in every 4, which is always at work. The jobs of the first are 1 ns
   long. It has spent its budget when one comes at 5, which it serves at 10 with the next budget,
   due at 14. At 11, where that job is done, another comes and begins a new period, due at 17, as
   2 ns are more than the bandwidth allows until 14. So the other server is first at 12, and from 5
   to 14 the first one has 2 ns, although it is never without work. *)
Definition three_in_six (s : nat) : server :=
  match s with
  | 0 => {| every := 6; budget := 3; within := 6; rank := 0 |}
  | _ => {| every := 4; budget := 2; within := 4; rank := 0 |}
  end.

Definition short_jobs : domain :=
  {| size := 1; members := fun _ => {| cost := 1; period := 1; deadline := 1; jitter := 0 |};
     model.scheduler := EarliestDeadline |}.

Definition short_run : run :=
  let comes j := nth (snd j) [2; 3; 4; 5; 11; 12] (7 + snd j) in
  {| arrival := comes; release := comes; work := fun _ => 1; runs := fun _ => None |}.

Theorem cbs_with_breaks_refuted : exists servers domains arrives h inner s a t,
  (forall i, i < 2 -> 0 < budget (servers i) <= every (servers i)) /\
  bandwidth_at_most_1 2 servers /\ arriving 2 arrives h /\
  earliest_pays 2 servers arrives h /\ sharing Idle servers h /\
  (forall i, i < 2 -> inside h i (domains i) (inner i) /\ anew arrives i (domains i) (inner i)) /\
  s < 2 /\ throughout (wants h s) a t /\ amount (paid h s) a t < cbs_bound servers s t.
Proof.
  set (domains s := match s with 0 => short_jobs | _ => once [12] end).
  set (given s := match s with 0 => short_run | _ => coming [12] [0] end).
  assert (jobs : forall s, jobs_of (size (domains s)) (members (domains s)) (given s)).
  { intros [|s]; [|apply coming_jobs]. intros i k _.
    do 6 (destruct k as [|k]; [cbn; lia|]). destruct k; cbn; lia. }
  assert (shape : forall s i, i < size (domains s) -> 0 < period (members (domains s) i))
    by (intros [|s] i _; cbn; lia).
  exists three_in_six, domains, (cbs_arrives 2 three_in_six domains given),
    (cbs_pcpu 2 three_in_six domains given), (cbs_inner 2 three_in_six domains given), 0, 5, 9.
  split; [intros [|i] _; cbn; lia|]. split.
  { exists 12. split; [lia|]. split; [|vm_compute; lia].
    intros [|i] _; [now exists 2|now exists 3]. }
  split; [intros s x _; apply arriving_is; auto|]. split; [apply cbs_pays|].
  split; [apply cbs_shares|]. split; [intros s _; split; [apply inside_is|apply anew_is]; auto|].
  split; [lia|]. split; [|vm_compute; lia].
  intros x there. assert (In x (seq 5 9)) as at_work by (apply in_seq; lia).
  repeat destruct at_work as [<-|at_work]; [vm_compute; reflexivity..|easy].
Qed.
