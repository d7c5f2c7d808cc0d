(* SPDX-License-Identifier: BSD-2-Clause *)
(* Statements that are false, each refuted by a run that Coq computes (docs/papers.md).

   The floor that the CSA paper prints (Lee et al., RTAS 2012), rbf(t) = sum of floor(t / p) e: with
   3 ns in every 4, a task of 1 ns every 4 and one of 2 ns every 8, due after 5, it accepts what is
   late, even if the task's own cost is always counted. With a deadline of 7 ns the test with the
   ceiling accepts the two, and no run is late.

   The test of periodic servers for deferrable ones, under fixed priority. Theorem 2 of the ERTDS
   paper: deferrable servers under EDF on one pcpu all get their budgets if their bandwidths add up
   to 1 at most. Lemma 2 of the CSA paper, read of each job: none is done later under WCPS, where
   time that its payer does not need is lent, than under PTPS, where it is idle. Then why cbs_edf is
   only of windows without a break. The last are of the PSEDF paper (docs/analysis/sedf.md): its
   response times, which take kept slices for periodic tasks, and its test of a driver domain. *)

From Coq Require Import Arith List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks host runs cbs slices account_runs driver_loop.

(* Two servers, B in every P above C in every Q. *)
Definition two_servers (P B Q C s : nat) : server :=
  match s with
  | 0 => {| every := P; budget := B; within := P; rank := 0 |}
  | _ => {| every := Q; budget := C; within := Q; rank := 1 |}
  end.

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
  intros law jobs legal.
  apply (fixed_priority_on_server 4 3 4 Periodic) with (rank := fun i => i) (gets := gets);
    [lia|lia|exact law|apply (two_constrained 7); lia|exact jobs|exact legal|].
  intros i inside. apply one_window.
  destruct i as [|[|i]]; [exists 3|exists 7|lia]; vm_compute; lia.
Qed.

(* * Back to back *)

(* 2 ns in every 4 above 2 ns in every 5. The work of both comes at 10 ns, in the middle of a period
   of the first: that spends 2 ns before its refill at 12 ns and 2 ns right after it, and leaves
   1 ns of the period of the other, which ends at 15 ns. *)
Theorem back_to_back_refuted : exists servers h s,
  s < 2 /\ (forall i, i < 2 -> 0 < every (servers i)) /\
  paying Deferrable 2 servers ByRank h /\ sharing Idle servers h /\
  (exists t, 0 < t <= every (servers s) /\
     rbf 2 (fun i => as_task (servers i)) (fun i => rank (servers i)) s t <= t) /\
  ~ deferrable (every (servers s)) (budget (servers s)) (wants h s) (charged h s).
Proof.
  set (given := coming [4] [10]).
  exists (two_servers 4 2 5 2), (pcpu Deferrable 2 (two_servers 4 2 5 2) ByRank Idle
    (fun _ => once [4]) (fun _ => given)), 1.
  destruct (pcpu_legal Deferrable 2 (two_servers 4 2 5 2) ByRank Idle (fun _ => once [4])
    (fun _ => given)) as (follows & shares & _); [intros; cbn; lia|intros; apply coming_jobs|].
  split; [lia|]. split; [intros [|i] _; cbn; lia|]. split; [exact follows|].
  split; [exact shares|]. split.
  - exists 4. vm_compute. lia.
  - intros law. refine (_ (law 2 10 5 (le_n _) (le_n _) _)); [vm_compute; lia|].
    intros x there. cbn [every two_servers] in there.
    assert (In x (seq 10 5)) as at_work by (apply in_seq; lia).
    repeat destruct at_work as [<-|at_work]; [vm_compute; reflexivity..|easy].
Qed.

(* * Deferrable servers under EDF *)

(* 6 ns in every 11 and 3 in every 7, which is 75/77. The work of both comes at 11. The second
   spends 3 ns before its refill at 14 and 3 right after it, due at 21, and leaves 5 of the 11 ns
   until 22 to the first, which is to have 6. *)
Theorem ertds_theorem_2_refuted : exists servers h s k,
  s < 2 /\ (forall i, i < 2 -> 0 < budget (servers i) <= every (servers i)) /\
  paying Deferrable 2 servers ByDeadline h /\ sharing Idle servers h /\
  bandwidth_at_most_1 2 servers /\
  throughout (wants h s) (k * every (servers s)) (every (servers s)) /\
  amount (charged h s) (k * every (servers s)) (every (servers s)) < budget (servers s).
Proof.
  set (given := coming [11] [11]).
  exists (two_servers 11 6 7 3), (pcpu Deferrable 2 (two_servers 11 6 7 3) ByDeadline Idle
    (fun _ => once [11]) (fun _ => given)), 0, 1.
  destruct (pcpu_legal Deferrable 2 (two_servers 11 6 7 3) ByDeadline Idle (fun _ => once [11])
    (fun _ => given)) as (follows & shares & _); [intros; cbn; lia|intros; apply coming_jobs|].
  split; [lia|]. split; [intros [|i] _; cbn; lia|]. split; [exact follows|].
  split; [exact shares|]. split; [|split].
  - exists 77. split; [lia|]. split; [|vm_compute; lia].
    intros [|i] _; [now exists 7|now exists 11].
  - intros x there. cbn [every two_servers] in there.
    assert (In x (seq 11 11)) as at_work by (apply in_seq; lia).
    repeat destruct at_work as [<-|at_work]; [vm_compute; reflexivity..|easy].
  - vm_compute. lia.
Qed.

(* * Lending *)

(* 2 ns in every 4 above 2 in every 8. The first needs 1 ns of its budget. What it leaves at 1 the
   second borrows, pays for, and so has spent its budget at 3 when a job comes, that would be done
   at 4 and now waits for the next period. *)
Definition sensor_control (s : nat) : list nat := match s with 0 => [1] | _ => [1; 1] end.

Theorem csa_lemma_2_of_jobs_refuted : exists servers domains idle lent in_idle in_lent j x,
  (forall s, s < 2 -> 0 < budget (servers s) <= every (servers s) /\
     within (servers s) = every (servers s)) /\
  paying Periodic 2 servers ByRank idle /\ sharing Idle servers idle /\
  paying Periodic 2 servers ByRank lent /\ sharing Lend servers lent /\
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
  pose (at_pcpu by_slack := pcpu Periodic 2 (two_servers 4 2 8 2) ByRank by_slack domains given).
  pose (in_pcpu by_slack :=
    pcpu_inner Periodic 2 (two_servers 4 2 8 2) ByRank by_slack domains given).
  assert (legal : forall by_slack,
    paying Periodic 2 (two_servers 4 2 8 2) ByRank (at_pcpu by_slack) /\
    sharing by_slack (two_servers 4 2 8 2) (at_pcpu by_slack) /\
    forall s, s < 2 -> inside (at_pcpu by_slack) s (domains s) (in_pcpu by_slack s)).
  { intros by_slack.
    apply (pcpu_legal Periodic 2 (two_servers 4 2 8 2) ByRank by_slack domains given);
      [intros; cbn; lia|intros; apply coming_jobs]. }
  assert (budgets : forall by_slack s, s < 2 ->
    periodic (every (two_servers 4 2 8 2 s)) (budget (two_servers 4 2 8 2 s))
      (within (two_servers 4 2 8 2 s)) (charged (at_pcpu by_slack) s)).
  { intros by_slack s low. destruct (legal by_slack) as (follows & shares & _).
    apply (servers_fixed_priority 2 (two_servers 4 2 8 2) Periodic by_slack); try assumption.
    - intros [|i] _; cbn; lia.
    - discriminate.
    - destruct s as [|s]; cbn; lia.
    - destruct s as [|s]; cbn; lia.
    - destruct s as [|[|s]]; [exists 2|exists 4|lia]; vm_compute; lia. }
  exists (two_servers 4 2 8 2), domains, (at_pcpu Idle), (at_pcpu Lend), (in_pcpu Idle),
    (in_pcpu Lend), (1, 0), 4.
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
  s < 2 /\ throughout (wants h s) a t /\ amount (paid h s) a t < general_bound servers s t.
Proof.
  set (domains s := match s with 0 => short_jobs | _ => once [12] end).
  set (given s := match s with 0 => short_run | _ => coming [12] [0] end).
  assert (jobs : forall s, jobs_of (size (domains s)) (members (domains s)) (given s)).
  { intros [|s]; [|apply coming_jobs]. intros i k _.
    do 6 (destruct k as [|k]; [cbn; lia|]). destruct k; cbn; lia. }
  assert (shape : forall s i, i < size (domains s) -> 0 < period (members (domains s) i))
    by (intros [|s] i _; cbn; lia).
  set (kept := bandwidths (two_servers 6 3 4 2)).
  exists (two_servers 6 3 4 2), domains, (arrivals 2 kept domains given),
    (account_pcpu 2 kept domains given), (account_inner 2 kept domains given), 0, 5, 9.
  split; [intros [|i] _; cbn; lia|]. split.
  { exists 12. split; [lia|]. split; [|vm_compute; lia].
    intros [|i] _; [now exists 2|now exists 3]. }
  split; [intros s x _; apply arriving_is; auto|]. split; [apply cbs_pays|].
  split; [apply account_shares|].
  split; [intros s _; split; [apply inside_is|apply anew_is]; auto|].
  split; [lia|]. split; [|vm_compute; lia].
  intros x there. assert (In x (seq 5 9)) as at_work by (apply in_seq; lia).
  repeat destruct at_work as [<-|at_work]; [vm_compute; reflexivity..|easy].
Qed.

(* * Response times of PSEDF *)

(* Section VI of the PSEDF paper takes r = s + sum over those above of ceil(r / p) s for the worst
   response of a domain: here 3 ns below a driver with 2 ns in every 6 come to 5. The driver has
   used 1 ns of its slice when work comes to both at 5. It spends the rest, and at 6 the next slice.
   *)
Theorem psedf_response_refuted : exists servers domains works h inner s j t,
  (forall i, i < 2 -> 0 < budget (servers i) <= every (servers i)) /\
  working 2 works h /\ slices_pay 2 servers works h ByRank /\ sharing Idle servers h /\
  (forall i, i < 2 -> inside h i (domains i) (inner i)) /\
  s < 2 /\ t <= every (servers s) /\
  rbf 2 (fun i => as_task (servers i)) (fun i => rank (servers i)) s t <= t /\
  (forall x, x < release (inner s) j -> ~ wants h s x) /\ work (inner s) j <= budget (servers s) /\
  ~ complete (inner s) j (release (inner s) j + t).
Proof.
  set (costs s := match s with 0 => [1; 12] | _ => [3] end).
  set (given s := coming (costs s) match s with 0 => [0; 5] | _ => [5] end).
  set (domains s := once (costs s)). set (kept := slices (two_servers 6 2 12 3) ByRank).
  exists (two_servers 6 2 12 3), domains, (works_at 2 kept domains given),
    (account_pcpu 2 kept domains given), (account_inner 2 kept domains given), 1, (0, 0), 5.
  split; [intros [|i] _; cbn; lia|]. split; [easy|]. split; [apply slices_paid|].
  split; [apply account_shares|]. split.
  { intros i _. apply inside_is; [intros k low; cbn; lia|apply coming_jobs]. }
  split; [lia|]. split; [cbn; lia|]. split; [vm_compute; lia|]. split; [|split; vm_compute; lia].
  intros x there. cbn in there. do 5 (destruct x as [|x]; [vm_compute; discriminate|]). lia.
Qed.

(* The way in and out. By the paper an answer is out in time if r is within the deadline, here 4 of
   4, and so are a period and a slice of the driver, 3 and 1. The first packet comes at 0 and is out
   at 4, when the second one comes. That finds the slice used up, waits for the next one at 6, and
   its answer for the one at 9. *)

(* When a job is released, and its work: of the driver, on either way, and of the domain behind it.
   There are two packets. *)
Definition of_two (from : list nat) (needs k : nat) : nat * nat :=
  if k <? 2 then (nth k from 0, needs) else (4 * k, 0).

Definition way (s : nat) (j : job) : nat * nat :=
  match s, fst j with
  | 0, 0 => of_two [0; 4] 1 (snd j)
  | 0, _ => of_two [3; 9] 1 (snd j)
  | _, _ => of_two [1; 7] 2 (snd j)
  end.

Definition way_domain (s : nat) : domain :=
  {| size := match s with 0 => 2 | _ => 1 end;
     members := fun _ => {| cost := 2; period := 4; deadline := 1; jitter := 5 |};
     model.scheduler := EarliestDeadline |}.

Definition way_run (s : nat) : run :=
  {| arrival := fun j => 4 * snd j; release := fun j => fst (way s j);
     work := fun j => snd (way s j); runs := fun _ => None |}.

(* A job is handed over where the one before is done, and was not an instant before. *)
Lemma handed before i after j : release before i <= release after j ->
  complete before i (release after j) ->
  release after j = release before i \/ ~ complete before i (release after j - 1) ->
  hands_over before i after j.
Proof.
  intros later done first x. split.
  - intros now. split; [lia|]. now apply (complete_later _ _ (release after j)).
  - intros [came done_by]. destruct first as [same|open]; [lia|].
    destruct (Nat.le_gt_cases (release after j) x) as [|early]; [assumption|exfalso].
    apply open, (complete_later _ _ x); [assumption|lia].
Qed.

Theorem psedf_way_refuted : exists one driver domains driver_on domain_on due,
  passes one driver domains /\ flows one = 1 /\
  in_slices 2 driver_on driver /\ in_slices 1 domain_on (domains 0) /\
  those driver_on = those domain_on /\ on driver_on = on domain_on /\
  packet one <= budget (its_server driver_on) /\ answer one 0 <= budget (its_server domain_on) /\
  due <= apart one 0 /\
  budget (its_server driver_on) + every (its_server driver_on) <= due /\
  rbf 2 (fun i => as_task (those domain_on i)) (fun i => rank (those domain_on i))
    (who domain_on) due <= due /\
  ~ complete driver (1, 1) (release driver (0, 1) + due).
Proof.
  set (servers := two_servers 3 1 4 2). set (kept := account_runs.slices servers ByRank).
  set (h := account_pcpu 2 kept way_domain way_run).
  set (inner := account_inner 2 kept way_domain way_run).
  set (at_ s := {| many := 2; those := servers; has_work := works_at 2 kept way_domain way_run;
    on := h; who := s |}).
  assert (jobs : forall s, jobs_of (size (way_domain s)) (members (way_domain s)) (way_run s)).
  { intros s i k _. cbn [arrival release work way_run members way_domain period jitter cost].
    destruct s as [|s], i as [|i]; destruct k as [|[|k]]; cbn; lia. }
  assert (serves : forall s, s < 2 -> in_slices (size (way_domain s)) (at_ s) (inner s)).
  { intros s low. destruct (inside_is 2 kept way_domain way_run s) as (_ & busy_is & fifo);
      [intros; cbn; lia|apply jobs|].
    split; [exact low|]. split; [intros [|i] _; cbn; lia|]. split; [easy|].
    split; [apply slices_paid|]. split; [apply account_shares|]. split; [exact busy_is|].
    destruct fifo as [legal first]. split; [exact legal|]. intros x j got waits.
    destruct (first x j got waits) as (other & ran & sooner & order). exists other.
    split; [exact ran|]. unfold local_key, due in sooner, order. cbn in sooner, order |- *.
    split; [lia|]. intros same equal. apply order; [exact same|lia]. }
  exists {| flows := 1; packet := 1; apart := fun _ => 4; answer := fun _ => 2 |}, (inner 0),
    (fun _ => inner 1), (at_ 0), (at_ 1), 4.
  assert (comes : forall s j, release (inner s) j = fst (way s j)) by reflexivity.
  assert (needs : forall s j, work (inner s) j = snd (way s j)) by reflexivity.
  assert (no_work : forall s i k x, complete (inner s) (i, S (S k)) x).
  { intros s i k x. unfold complete. rewrite needs.
    replace (snd (way s (i, S (S k)))) with 0; [apply Nat.le_0_l|].
    destruct s as [|s], i as [|i]; reflexivity. }
  split; [|split; [reflexivity|split; [apply (serves 0); lia|split; [apply (serves 1); lia|]]]].
  - intros i k low. cbn [flows] in low. destruct i as [|i]; [|lia].
    cbn [flows packet apart answer Nat.add]. rewrite !comes, !needs.
    do 4 (split; [destruct k as [|[|k]]; cbn; lia|]).
    split; destruct k as [|[|k]].
    3, 6: apply handed; [rewrite !comes; cbn; lia|apply no_work|left; now rewrite !comes].
    all: apply handed; [rewrite !comes; cbn; lia|vm_compute; lia|right; vm_compute; lia].
  - split; [reflexivity|]. split; [reflexivity|]. do 3 (split; [cbn; lia|]). split; [cbn; lia|].
    split; [vm_compute; lia|vm_compute; lia].
Qed.
