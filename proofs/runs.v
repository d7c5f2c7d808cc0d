(* SPDX-License-Identifier: BSD-2-Clause *)
(* What the theorems are about exists, and what they forbid happens without their tests.

   Whatever the supply, the releases and the order, there is a run: `scheduler` below is a program
   that makes it. So no theorem about runs is true for want of any.

   Then one system: a server with 3 ns in every 4, a task of 1 ns every 4 and one of 2 ns every 8.
   With a deadline of 7 ns for the second the test of the theorem accepts it. With 5 ns a job is
   late, in a run that Coq computes, although the test with the floor that the paper prints (Lee
   et al., RTAS 2012) accepts it: rbf(t) = sum of floor(t / p) e. It does so even if the task's
   own cost is always counted. *)

From Coq Require Import Arith Bool List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks.

(* * A scheduler *)

Section Scheduler.
Context (n : nat) (key : job -> nat) (gets : supply) (release work : job -> nat).

Fixpoint times (j : job) (past : list (option job)) : nat :=
  match past with
  | [] => 0
  | who :: rest => times j rest + (if is j who then 1 else 0)
  end.

Fixpoint best (open : job -> bool) (jobs : list job) : option job :=
  match jobs with
  | [] => None
  | j :: rest =>
      match best open rest with
      | Some other => if open j && (key j <=? key other) then Some j else Some other
      | None => if open j then Some j else None
      end
  end.

Definition open (x : nat) (past : list (option job)) (j : job) : bool :=
  (release j <=? x) && (times j past <? work j).

(* A job that is released by x is among the first x + 1 of its task. *)
Definition decide (x : nat) (past : list (option job)) : option job :=
  if gets x then best (open x past) (list_prod (seq 0 n) (seq 0 (S x))) else None.

(* Who ran at each instant before x, the last one first. *)
Fixpoint history (x : nat) : list (option job) :=
  match x with
  | 0 => []
  | S y => let past := history y in decide y past :: past
  end.

Definition scheduler (x : nat) : option job := decide x (history x).

Lemma best_is_open ok jobs j : best ok jobs = Some j -> In j jobs /\ ok j = true.
Proof.
  revert j. induction jobs as [|first rest IH]; cbn; [discriminate|]. intros j.
  destruct (best ok rest) as [other|].
  - destruct (ok first && (key first <=? key other)) eqn:first_wins; intros [= <-].
    + apply andb_prop in first_wins as [right _]. now split; [left|].
    + destruct (IH other eq_refl). now split; [right|].
  - destruct (ok first) eqn:right; [|discriminate]. intros [= <-]. now split; [left|].
Qed.

Lemma best_is_first ok jobs j : In j jobs -> ok j = true ->
  exists other, best ok jobs = Some other /\ key other <= key j.
Proof.
  induction jobs as [|first rest IH]; cbn; [easy|]. intros [->|inside] right.
  - rewrite right. cbn [andb]. destruct (best ok rest) as [other|]; [|now exists j].
    destruct (Nat.leb_spec (key j) (key other)); [now exists j|]. exists other. split; [easy|lia].
  - destruct (IH inside right) as (other & -> & before).
    destruct (ok first && (key first <=? key other)) eqn:first_wins; [|now exists other].
    apply andb_prop in first_wins as [_ less]. apply Nat.leb_le in less.
    exists first. split; [reflexivity|lia].
Qed.

Lemma times_is_amount j x : times j (history x) = amount (fun y => is j (scheduler y)) 0 x.
Proof. induction x as [|x IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

End Scheduler.

Lemma scheduler_schedules n tasks key gets r : (forall i, i < n -> 0 < period (tasks i)) ->
  jobs_of n tasks r -> runs r = scheduler n key gets (release r) (work r) ->
  scheduled n key gets r.
Proof.
  intros shape jobs who. split.
  - intros x j chosen. rewrite who in chosen. unfold scheduler, decide in chosen.
    destruct (gets x); [|discriminate]. split; [reflexivity|].
    apply best_is_open in chosen as [inside right]. destruct j as [i k].
    apply in_prod_iff in inside as [inside _]. apply in_seq in inside.
    apply andb_prop in right as [early less]. apply Nat.leb_le in early. apply Nat.ltb_lt in less.
    rewrite times_is_amount, <- who in less. unfold pending, complete, service. cbn [fst]. lia.
  - intros x [i k] got (inside & early & unfinished). cbn [fst] in inside.
    rewrite who. unfold scheduler, decide. rewrite got. apply best_is_first.
    + pose proof (arrivals_apart n tasks r i 0 k jobs inside) as apart. cbn [plus] in apart.
      destruct (jobs i k) as (_ & delayed & _); [assumption|]. pose proof (shape i inside).
      apply in_prod_iff. split; apply in_seq; nia.
    + apply andb_true_intro. split; [now apply Nat.leb_le|]. apply Nat.ltb_lt.
      rewrite times_is_amount, <- who. unfold complete, service in unfinished. lia.
Qed.

(* Any supply, any releases of any tasks, any order: there is a run. *)
Theorem run_exists n tasks key gets r : (forall i, i < n -> 0 < period (tasks i)) ->
  jobs_of n tasks r ->
  exists r', arrival r' = arrival r /\ release r' = release r /\ work r' = work r /\
    jobs_of n tasks r' /\ scheduled n key gets r'.
Proof.
  intros shape jobs.
  exists {| arrival := arrival r; release := release r; work := work r;
            runs := scheduler n key gets (release r) (work r) |}.
  do 3 (split; [reflexivity|]). split; [exact jobs|].
  now apply (scheduler_schedules n tasks).
Qed.

(* * The floor *)

Definition rbf_floor (tasks : nat -> task) (i t : nat) : nat :=
  sum (S i) (fun h => (t + jitter (tasks h)) / period (tasks h) * cost (tasks h)).

(* The same, but that the task's own cost always counts. *)
Definition rbf_floor_above (tasks : nat -> task) (i t : nat) : nat :=
  cost (tasks i) + sum i (fun h => (t + jitter (tasks h)) / period (tasks h) * cost (tasks h)).

(* The system, with the deadline of its second task. *)
Definition two (second : nat) (i : nat) : task :=
  match i with
  | 0 => {| cost := 1; period := 4; deadline := 4; jitter := 0 |}
  | _ => {| cost := 2; period := 8; deadline := second; jitter := 0 |}
  end.

(* Both tasks begin when the budget of the first period is used up, and the next one comes late. *)
Definition released (j : job) : nat := 3 + snd j * period (two 5 (fst j)).
Definition worked (j : job) : nat := cost (two 5 (fst j)).
Definition late_run : run :=
  {| arrival := released; release := released; work := worked;
     runs := scheduler 2 fst (worst 4 3 4) released worked |}.

Lemma two_constrained second : second <= 8 -> constrained 2 (two second).
Proof. intros short [|[|i]] inside; cbn; lia. Qed.

Lemma late_run_jobs : jobs_of 2 (two 5) late_run.
Proof. intros [|[|i]] k inside; cbn; lia. Qed.

Lemma late_run_scheduled : fixed_priority 2 (fun i => i) (worst 4 3 4) late_run.
Proof.
  apply (scheduler_schedules 2 (two 5)); [|exact late_run_jobs|reflexivity].
  intros [|[|i]] inside; cbn; lia.
Qed.

(* The test with the floor accepts the system with a deadline of 5, and the run above is late. *)
Theorem floor_refuted : exists P B tasks gets r,
  0 < B <= P /\ periodic P B P gets /\
  constrained 2 tasks /\ jobs_of 2 tasks r /\ fixed_priority 2 (fun i => i) gets r /\
  (forall i, i < 2 -> exists t, 0 < t <= deadline (tasks i) /\
     rbf_floor tasks i t <= sbf P B (general P B P) t /\
     rbf_floor_above tasks i t <= sbf P B (general P B P) t) /\
  ~ in_time 2 tasks r.
Proof.
  exists 4, 3, (two 5), (worst 4 3 4), late_run. split; [lia|]. split; [|split; [|split; [|split]]].
  - apply worst_is_periodic; lia.
  - apply two_constrained; lia.
  - exact late_run_jobs.
  - exact late_run_scheduled.
  - split.
    + intros [|[|i]] inside; [exists 3|exists 5|lia]; vm_compute; lia.
    + intros timely. specialize (timely (1, 0) (le_n 2)). vm_compute in timely. lia.
Qed.

(* With a deadline of 7 the test with the ceiling accepts it, so that no run of it is late. *)
Theorem ceiling_accepts gets r : periodic 4 3 4 gets -> jobs_of 2 (two 7) r ->
  fixed_priority 2 (fun i => i) gets r -> in_time 2 (two 7) r.
Proof.
  intros law jobs legal. apply (fixed_priority_on_server 4 3 (Periodic 4)) with (rank := fun i => i) (gets := gets);
    [repeat split; lia|exact law|apply (two_constrained 7); lia|exact jobs|exact legal|].
  intros [|[|i]] inside; [exists 3|exists 7|lia]; vm_compute; lia.
Qed.
