(* SPDX-License-Identifier: BSD-2-Clause *)
(* The decider of laws.v is right: just those schedules that keep the laws begin a run.

   The run goes on after the schedule as the program in runs.v says, without further jobs. So what
   holds of all runs holds of the schedule: on a system that the checker accepts, each of its jobs
   that is due by its end is done in time. *)

From Coq Require Import Arith Bool NArith String List Lia.
Import ListNotations.
From Hyperperiod Require Import model host system check soundness laws runs.

(* * Jobs *)

Lemma entries_right_is T strict from l :
  entries_right T strict from l = true <->
  (forall k, let one := entry_of (period T) from l k in
     arrives one + period T <= arrives (entry_of (period T) from l (S k)) /\
     arrives one <= released_at one <= arrives one + jitter T /\ works_for one <= cost T) /\
  from <= arrives (entry_of (period T) from l 0) /\
  (strict = true -> forall k, released_at (entry_of (period T) from l k) = from + k * period T).
Proof.
  revert from. induction l as [|one rest IH]; intros from.
  { cbn. split; [intros _|reflexivity]. repeat split; lia. }
  cbn [entries_right]. rewrite !andb_true_iff, orb_true_iff, negb_true_iff, IH, Nat.eqb_eq,
    !Nat.leb_le. split.
  - intros [[[[[early late] jittered] costs] on_time] (shapes & first_one & strictly)].
    split; [|split; [exact early|]].
    + intros [|k]; [cbn in *; lia|exact (shapes k)].
    + intros yes. destruct on_time as [no|on_time]; [congruence|].
      intros [|k]; cbn [entry_of]; [lia|]. rewrite (strictly yes k). lia.
  - intros (shapes & early & strictly). pose proof (shapes 0) as now. cbn in now, early.
    split; [split; [split; [lia|lia]|]|].
    + destruct strict; [right|now left]. specialize (strictly eq_refl 0). cbn in strictly. lia.
    + split; [intros k; exact (shapes (S k))|]. split; [apply now|].
      intros yes k. specialize (strictly yes (S k)) as later. specialize (strictly yes 0).
      cbn in strictly. cbn [entry_of] in later. lia.
Qed.

Lemma entry_beyond P from l k : length l <= k -> works_for (entry_of P from l k) = 0.
Proof.
  revert from k. induction l as [|one rest IH]; intros from [|k] beyond; cbn in *;
    [reflexivity|reflexivity|lia|]. apply IH. lia.
Qed.

Lemma listed d entries i k :
  In (i, k) (entries_jobs d entries) <-> i < size d /\ k < length (nth i entries []).
Proof.
  unfold entries_jobs. rewrite in_flat_map. split.
  - intros (o & low & (l & [= -> ->] & short)%in_map_iff). apply in_seq in low, short. lia.
  - intros [low short]. exists i. split; [apply in_seq; lia|].
    apply in_map, in_seq. lia.
Qed.

Lemma first_of_none {A : Type} (fails : A -> option string) l :
  (forall one, In one l -> fails one = None) -> first fails l = None.
Proof.
  induction l as [|one rest IH]; cbn [first]; intros none; [reflexivity|].
  rewrite (none one) by now left. apply IH. intros. apply none. now right.
Qed.

Lemma entries_fail_is one entries (r : run) : same_jobs r (entries_run (domain_of one) entries) ->
  entries_fail one entries = None <->
  jobs_of (size (domain_of one)) (members (domain_of one)) r /\ punctual one r.
Proof.
  intros same. unfold entries_fail. split.
  - intros fine.
    assert (right : forall i, i < size (domain_of one) -> entries_right (members (domain_of one) i)
      (strict_task one i) 0 (nth i entries []) = true).
    { intros i low. assert (In i (seq 0 (size (domain_of one)))) as real by (apply in_seq; lia).
      apply (first_none _ _ fine) in real. now destruct (entries_right _ _ _ _). }
    split.
    + intros i k low. destruct (same (i, k)) as (-> & -> & ->).
      destruct (same (i, S k)) as (-> & _). apply right, entries_right_is in low as [shapes _].
      exact (shapes k).
    + intros i k low strict none. destruct (same (i, k)) as (_ & -> & _).
      apply right, entries_right_is in low as (_ & _ & strictly). apply strictly.
      unfold strict_task. rewrite strict, none. reflexivity.
  - intros [jobs on_time]. apply first_of_none. intros i low. apply in_seq in low.
    destruct (entries_right _ _ _ _) eqn:right; [reflexivity|]. exfalso.
    apply not_true_iff_false in right. apply right, entries_right_is. split; [|split].
    + intros k. destruct (same (i, k)) as (arrival_is & release_is & work_is).
      destruct (same (i, S k)) as (next_is & _). specialize (jobs i k ltac:(lia)).
      rewrite arrival_is, release_is, work_is, next_is in jobs. exact jobs.
    + lia.
    + intros strict k. unfold strict_task in strict. apply andb_prop in strict as [strict none].
      apply N.eqb_eq in none. destruct (same (i, k)) as (_ & release_is & _).
      specialize (on_time i k ltac:(cbn in low; lia) strict none). rewrite release_is in on_time.
      exact on_time.
Qed.

(* * Schedules *)

(* The jobs are those of the run, which come as the tasks say, and at each instant of the schedule
   what it says happens. *)
Definition begins (sys : system) (p : N) (entries : list (list (list entry)))
    (schedule : list moment) (h : host) (inner : nat -> run) : Prop :=
  (forall s, judged_on (on_pcpu sys p) s = true ->
     let d := domain_of (nth s (on_pcpu sys p) no_vm) in
     jobs_of (size d) (members d) (inner s) /\
     same_jobs (inner s) (given_on (on_pcpu sys p) entries s)) /\
  told (judged_on (on_pcpu sys p)) h inner schedule.

Lemma judged_is vms s :
  judged_on vms s = true <-> s < length vms /\ v_judged (nth s vms no_vm) = true.
Proof. unfold judged_on. now rewrite andb_true_iff, Nat.ltb_lt. Qed.

Section Candidates.
Context (vms : list vm) (entries : list (list (list entry))).
Let domains s := domain_of (nth s vms no_vm).
Let candidates (s x : nat) := entries_jobs (domains s) (nth s entries []).

Lemma real_jobs s x j : judged_on vms s = true -> In j (candidates s x) ->
  fst j < size (domains s).
Proof. destruct j. intros _ there. now apply listed in there. Qed.

Lemma all_jobs s x j : judged_on vms s = true -> fst j < size (domains s) ->
  release (given_on vms entries s) j <= x -> 0 < work (given_on vms entries s) j ->
  In j (candidates s x).
Proof.
  destruct j as [i k]. intros _ low _ some_work. apply listed. split; [exact low|].
  apply Nat.nle_gt. intros beyond. revert some_work. cbn [given_on entries_run work fst snd].
  rewrite entry_beyond by exact beyond. apply Nat.lt_irrefl.
Qed.

End Candidates.

Lemma told_before judged h inner newer old :
  told judged h inner (newer ++ old) -> told judged h inner old.
Proof. induction newer as [|one newer IH]; [easy|]. intros [_ known]. auto. Qed.

(* A schedule keeps the laws if and only if a run begins with it. *)
Theorem lawful_begins sys p entries schedule : s_policy sys <> Bandwidth ->
  lawful sys p entries schedule = None <->
  exists h inner, run_of sys p h inner /\ begins sys p entries schedule h inner.
Proof.
  unfold lawful, begins, run_of. destruct (s_policy sys) as [by_rule by_order|]; [intros _|easy].
  set (vms := on_pcpu sys p).
  set (servers i := server_of (nth i vms no_vm)). set (domains s := domain_of (nth s vms no_vm)).
  set (candidates s (_ : nat) := entries_jobs (domains s) (nth s entries [])). split.
  - destruct (first _ (seq 0 (length vms))) as [|] eqn:jobs; [discriminate|]. intros kept.
    set (h := machine by_rule (length vms) servers by_order (s_slack sys) (judged_on vms)
      domains (given_on vms entries) candidates schedule).
    set (in_it := inner by_rule (length vms) servers by_order (s_slack sys)
      (judged_on vms) domains (given_on vms entries) candidates schedule).
    assert (right : forall s, judged_on vms s = true ->
      jobs_of (size (domains s)) (members (domains s)) (in_it s) /\
      punctual (nth s vms no_vm) (in_it s)).
    { intros s yes. pose proof yes as [low _]%judged_is.
      assert (In s (seq 0 (length vms))) as there
        by (apply in_seq; split; [apply Nat.le_0_l|exact low]).
      apply (first_none _ _ jobs) in there. rewrite yes in there. cbn [also_if] in there.
      now apply (entries_fail_is _ _ (in_it s)) in there; [|intros j]. }
    exists h, in_it. split; [split; [|split]|split].
    + apply (machine_follows by_rule); [apply real_jobs|apply all_jobs|exact kept].
    + apply machine_shares; [apply real_jobs|apply all_jobs|exact kept].
    + intros s low its. assert (judged_on vms s = true) as yes by now apply judged_is.
      destruct (right s yes) as [shape on_time]. split; [|exact on_time].
      apply machine_inside; [apply real_jobs|apply all_jobs|exact kept|exact yes|exact shape].
    + intros s yes. split; [now apply right|now intros j].
    + assert (known := story_told by_rule (length vms) servers by_order (s_slack sys)
        (judged_on vms) domains (given_on vms entries) candidates schedule (length schedule)).
      rewrite (begins_with by_rule (length vms) servers by_order (s_slack sys)
        (judged_on vms) domains (given_on vms entries) candidates schedule [] schedule eq_refl)
        in known.
      exact known.
  - intros (h & in_it & (pay & share & inside_all) & given & known).
    assert (same : forall s, judged_on vms s = true ->
      same_jobs (in_it s) (given_on vms entries s)) by (intros s yes; now apply given).
    rewrite first_of_none.
    + induction schedule as [|one rest IH]; [reflexivity|]. cbn [history_broken].
      pose proof known as [now past]. rewrite (IH past).
      apply (laws_told by_rule (length vms) servers by_order (s_slack sys)
        (judged_on vms) domains (given_on vms entries) candidates h in_it same); try assumption.
      * apply real_jobs.
      * apply all_jobs.
      * intros s x yes. apply judged_is in yes as [low its].
        destruct (inside_all s low its) as [[working _] _]. apply working.
      * split; [exact (pay _)|split; [exact (share _)|]].
        intros s yes. apply judged_is in yes as [low its].
        destruct (inside_all s low its) as [[_ legal] _]. split; apply legal.
    + intros s there. apply in_seq in there. destruct (judged_on vms s) eqn:yes; [|reflexivity].
      cbn [also_if]. apply (entries_fail_is _ _ (in_it s)); [now apply same|].
      split; [now apply given|]. apply judged_is in yes as [low its]. now apply inside_all.
Qed.

(* So on a system that the checker accepts, each job of a lawful schedule that is due by its end has
   run for its work by then. *)
Theorem lawful_in_time sys p entries schedule :
  check sys = None -> lawful sys p entries schedule = None ->
  forall s j, let one := domain_of (nth s (on_pcpu sys p) no_vm) in
  let r := given_on (on_pcpu sys p) entries s in
  judged_on (on_pcpu sys p) s = true -> fst j < size one ->
  due (members one) r j <= length schedule ->
  work r j <= times j (map (ran s) (skipn (length schedule - due (members one) r j) schedule)).
Proof.
  intros good kept s j one r yes inside over.
  assert (s_policy sys <> Bandwidth) as decided.
  { intros is_it. unfold lawful in kept. rewrite is_it in kept.
    now destruct (first _ (seq 0 _)) in kept. }
  apply (lawful_begins _ _ _ _ decided) in kept as (h & in_it & legal & given & known).
  pose proof yes as its. apply judged_is in its as [low its].
  destruct (given s yes) as [jobs same].
  pose proof (pcpu_in_time sys good p h in_it legal s low its jobs j inside) as done.
  unfold complete, due in done. fold one in done. destruct (same j) as (_ & -> & ->) in done.
  fold r in done. fold (due (members one) r j) in done. set (end_at := due (members one) r j) in *.
  rewrite <- (firstn_skipn (length schedule - end_at) schedule) in known.
  apply told_before in known.
  rewrite (ran_told (judged_on (on_pcpu sys p)) h in_it s j _ yes known), skipn_length.
  now replace (length schedule - (length schedule - end_at)) with end_at by lia.
Qed.
