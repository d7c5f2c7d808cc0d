(* SPDX-License-Identifier: BSD-2-Clause *)
(* What the theorems are about exists, and what they forbid happens without their tests.

   Whatever the supply, the releases and the order, there is a run: `scheduler` below is a program
   that makes it. So no theorem about runs is true for want of any.

   Then one system: a server with 3 ns in every 4, a task of 1 ns every 4 and one of 2 ns every 8.
   With a deadline of 7 ns for the second the test of the theorem accepts it. With 5 ns a job is
   late, in a run that Coq computes, although the test with the floor that the paper prints (Lee
   et al., RTAS 2012) accepts it: rbf(t) = sum of floor(t / p) e. It does so even if the task's
   own cost is always counted.

   And two deferrable servers, of which the lower one goes without its budget, although the test for
   periodic servers accepts it. *)

From Coq Require Import Arith Bool List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks host.

(* * A scheduler *)

(* The first of a list among those that are open: one with the lowest key. *)
Fixpoint best {A : Type} (key : A -> nat) (open : A -> bool) (l : list A) : option A :=
  match l with
  | [] => None
  | one :: rest =>
      match best key open rest with
      | Some other => if open one && (key one <=? key other) then Some one else Some other
      | None => if open one then Some one else None
      end
  end.

Lemma best_is_open {A : Type} (key : A -> nat) ok l one :
  best key ok l = Some one -> In one l /\ ok one = true.
Proof.
  revert one. induction l as [|first rest IH]; cbn; [discriminate|]. intros one.
  destruct (best key ok rest) as [other|].
  - destruct (ok first && (key first <=? key other)) eqn:first_wins; intros [= <-].
    + apply andb_prop in first_wins as [right _]. now split; [left|].
    + destruct (IH other eq_refl). now split; [right|].
  - destruct (ok first) eqn:right; [|discriminate]. intros [= <-]. now split; [left|].
Qed.

Lemma best_is_first {A : Type} (key : A -> nat) ok l one : In one l -> ok one = true ->
  exists other, best key ok l = Some other /\ key other <= key one.
Proof.
  induction l as [|first rest IH]; cbn; [easy|]. intros [->|inside] right.
  - rewrite right. cbn [andb]. destruct (best key ok rest) as [other|]; [|now exists one].
    destruct (Nat.leb_spec (key one) (key other)); [now exists one|].
    exists other. split; [easy|lia].
  - destruct (IH inside right) as (other & -> & before).
    destruct (ok first && (key first <=? key other)) eqn:first_wins; [|now exists other].
    apply andb_prop in first_wins as [_ less]. apply Nat.leb_le in less.
    exists first. split; [reflexivity|lia].
Qed.

(* How often a job is among those that ran at each instant of the past. *)
Fixpoint times (j : job) (past : list (option job)) : nat :=
  match past with
  | [] => 0
  | who :: rest => times j rest + (if is j who then 1 else 0)
  end.

Section Decision.
Context (n : nat) (key : job -> nat) (release work : job -> nat).

Definition open (x : nat) (past : list (option job)) (j : job) : bool :=
  (release j <=? x) && (times j past <? work j).

(* A job that is released by x is among the first x + 1 of its task. Of equal keys the one with the
   lowest number goes first. *)
Definition decide (x : nat) (past : list (option job)) : option job :=
  best (fun j => key j * S x + snd j) (open x past) (list_prod (seq 0 n) (seq 0 (S x))).

End Decision.

Section Right.
Context (n : nat) (tasks : nat -> task) (key : job -> nat) (r : run).
Context (shape : forall i, i < n -> 0 < period (tasks i)) (jobs : jobs_of n tasks r).
Context (x : nat) (past : list (option job)) (past_is : forall j, times j past = service r j x).

Lemma decide_pending j : decide n key (release r) (work r) x past = Some j -> pending n r j x.
Proof.
  intros chosen. apply best_is_open in chosen as [inside right]. destruct j as [i k].
  apply in_prod_iff in inside as [inside _]. apply in_seq in inside.
  apply andb_prop in right as [early less]. apply Nat.leb_le in early. apply Nat.ltb_lt in less.
  rewrite past_is in less. unfold pending, complete. cbn [fst]. lia.
Qed.

Lemma decide_first j : pending n r j x ->
  exists other, decide n key (release r) (work r) x past = Some other /\ key other <= key j /\
    (fst other = fst j -> key other = key j -> snd other <= snd j).
Proof.
  destruct j as [i k]. intros (inside & early & unfinished). cbn [fst] in inside.
  assert (k <= x).
  { pose proof (arrivals_apart n tasks r i 0 k jobs inside) as apart. cbn [plus] in apart.
    destruct (jobs i k) as (_ & delayed & _); [assumption|]. pose proof (shape i inside). nia. }
  destruct (best_is_first (fun j => key j * S x + snd j) (open (release r) (work r) x past)
    (list_prod (seq 0 n) (seq 0 (S x))) (i, k)) as ([h l] & chosen & before).
  - apply in_prod_iff. split; apply in_seq; lia.
  - apply andb_true_intro. split; [now apply Nat.leb_le|]. apply Nat.ltb_lt.
    rewrite past_is. unfold complete in unfinished. lia.
  - exists (h, l). split; [exact chosen|].
    apply best_is_open in chosen as [listed _]. apply in_prod_iff in listed as [_ listed].
    apply in_seq in listed. cbn [fst snd] in *.
    split; [|intros _ same; rewrite same in before]; nia.
Qed.

End Right.

Section Scheduler.
Context (n : nat) (key : job -> nat) (gets : supply) (release work : job -> nat).

(* Who ran at each instant before x, the last one first. *)
Fixpoint history (x : nat) : list (option job) :=
  match x with
  | 0 => []
  | S y =>
      let past := history y in
      (if gets y then decide n key release work y past else None) :: past
  end.

Definition scheduler (x : nat) : option job :=
  if gets x then decide n key release work x (history x) else None.

Lemma times_is_amount j x : times j (history x) = amount (fun y => is j (scheduler y)) 0 x.
Proof. induction x as [|x IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

End Scheduler.

Lemma scheduler_schedules n tasks key gets r : (forall i, i < n -> 0 < period (tasks i)) ->
  jobs_of n tasks r -> runs r = scheduler n key gets (release r) (work r) ->
  scheduled n key gets r.
Proof.
  intros shape jobs who.
  assert (past_is : forall x j, times j (history n key gets (release r) (work r) x)
                                = service r j x).
  { intros x j. unfold service. rewrite times_is_amount, who. reflexivity. }
  split.
  - intros x j chosen. rewrite who in chosen. unfold scheduler in chosen.
    destruct (gets x); [|discriminate]. split; [reflexivity|].
    now apply decide_pending in chosen.
  - intros x j got waits. rewrite who. unfold scheduler. rewrite got.
    now apply (decide_first n tasks).
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

(* * A pcpu *)

(* Whatever the servers, their order and the slack rule, the domains and their releases: there is a
   run of the pcpu, with servers that pay while they are idle (periodic ones) and with such that do
   not (deferrable ones). Again a program makes it, one instant after the other. *)
Section Machine.
Context (idling : bool).
Context (m : nat) (servers : nat -> server) (by_order : order) (by_slack : slack).
Context (domains : nat -> domain) (given : nat -> run).
Context (periods : forall s, s < m -> 0 < every (servers s)).
Context (shape : forall s i, s < m -> i < size (domains s) -> 0 < period (members (domains s) i)).
Context (jobs : forall s, s < m -> jobs_of (size (domains s)) (members (domains s)) (given s)).

Record moment := {
  payer : option nat; second : option nat; owner : option nat; task_job : option job
}.

Definition charge (s : nat) (one : moment) : bool := here s (payer one) || here s (second one).
Definition ran (s : nat) (one : moment) : option job :=
  if here s (owner one) then task_job one else None.

(* What server s was charged in the last u instants. *)
Fixpoint spent (s u : nat) (past : list moment) : nat :=
  match u, past with
  | S v, one :: rest => spent s v rest + (if charge s one then 1 else 0)
  | _, _ => 0
  end.

Definition rich (x : nat) (past : list moment) (s : nat) : bool :=
  spent s (x mod every (servers s)) past <? budget (servers s).

Definition next_job (x : nat) (past : list moment) (s : nat) : option job :=
  decide (size (domains s)) (local_key (domains s) (given s)) (release (given s)) (work (given s)) x
    (map (ran s) past).

Definition works (x : nat) (past : list moment) (s : nat) : bool :=
  match next_job x past s with Some _ => true | None => false end.

Definition next (x : nat) (past : list moment) : moment :=
  let all := seq 0 m in
  let pays := best (fun s => place by_order servers s x)
    (fun s => rich x past s && (idling || works x past s)) all in
  let takes :=
    match pays with
    | None => match by_slack with Behind => best (fun s => s) (works x past) all | _ => None end
    | Some q =>
        if works x past q then Some q
        else match by_slack with
          | Idle | Behind => None
          | Lend => best (fun s => s) (fun s => works x past s && rich x past s) all
          | Reclaim => best (fun s => s) (works x past) all
          end
    end in
  {| payer := pays;
     second := match by_slack, takes with
       | Lend, Some s => if here s pays then None else Some s
       | _, _ => None
       end;
     owner := takes;
     task_job := match takes with Some s => next_job x past s | None => None end |}.

Fixpoint story (x : nat) : list moment :=
  match x with
  | 0 => []
  | S y => let past := story y in next y past :: past
  end.

Definition now (x : nat) : moment := next x (story x).

Definition inner (s : nat) : run :=
  {| arrival := arrival (given s); release := release (given s); work := work (given s);
     runs := fun x => ran s (now x) |}.

Definition machine : host :=
  {| pays := fun x => payer (now x); also := fun x => second (now x);
     has := fun x => owner (now x);
     wants := fun s x => works x (story x) s = true |}.

Lemma spent_is s u x : u <= x -> spent s u (story x) = amount (charged machine s) (x - u) u.
Proof.
  revert x. induction u as [|u IH]; intros x short; [reflexivity|].
  destruct x as [|x]; [lia|]. cbn [story spent amount]. rewrite IH by lia.
  replace (S x - S u) with (x - u) by lia. replace (x - u + u) with x by lia. reflexivity.
Qed.

Lemma rich_is s x : s < m -> rich x (story x) s = true <-> unspent servers machine s x.
Proof.
  intros real. unfold rich, unspent. rewrite Nat.ltb_lt.
  pose proof (Nat.div_mod x (every (servers s))). pose proof (periods s real).
  rewrite spent_is by (apply Nat.mod_le; lia).
  replace (x - x mod every (servers s)) with (x / every (servers s) * every (servers s)) by nia.
  reflexivity.
Qed.

Lemma ran_is s x j : times j (map (ran s) (story x)) = service (inner s) j x.
Proof.
  unfold service. induction x as [|x IH]; [reflexivity|]. cbn [story map times amount plus].
  now rewrite IH.
Qed.

Lemma works_is s x : s < m ->
  works x (story x) s = true <-> busy (size (domains s)) (inner s) x.
Proof.
  intros real. unfold works. split.
  - destruct (next_job x (story x) s) as [j|] eqn:chosen; [|discriminate]. intros _. exists j.
    apply (decide_pending _ _ (inner s) x _ (ran_is s x) j chosen).
  - intros (j & waits).
    destruct (decide_first (size (domains s)) (members (domains s))
      (local_key (domains s) (given s)) (inner s) (fun i => shape s i real) (jobs s real) x
      (map (ran s) (story x)) (ran_is s x) j waits) as (other & chosen & _).
    unfold next_job. cbn [inner release work] in chosen. now rewrite chosen.
Qed.

Lemma machine_pays may :
  (forall s x, s < m ->
    may s x <-> rich x (story x) s && (idling || works x (story x) s) = true) ->
  first_pays m servers by_order may machine.
Proof.
  intros same. split.
  - intros x s who. cbn [pays machine now next payer] in who.
    apply best_is_open in who as [real yes]. apply in_seq in real.
    split; [lia|]. apply same; [lia|assumption].
  - intros x s real allowed. cbn [pays machine now next payer].
    apply (best_is_first (fun s => place by_order servers s x)); [apply in_seq; lia|now apply same].
Qed.

Lemma machine_follows : (if idling then paying else deferring) m servers by_order machine.
Proof.
  pose proof machine_pays as law. destruct idling; apply law; intros s x real; cbn [orb].
  - rewrite andb_true_r. symmetry. now apply rich_is.
  - rewrite andb_true_iff, <- rich_is by assumption. reflexivity.
Qed.

Lemma machine_shares : sharing by_slack servers machine.
Proof.
  assert (owns : forall x s, owner (now x) = Some s ->
    works x (story x) s = true /\
    (payer (now x) <> Some s ->
      match by_slack with
      | Idle => False
      | Lend => payer (now x) <> None /\ s < m /\ rich x (story x) s = true
      | Reclaim => payer (now x) <> None
      | Behind => payer (now x) = None
      end)).
  { intros x s. unfold now, next. cbn [owner payer].
    destruct (best _ _ _) as [q|] eqn:who.
    2: { destruct by_slack; [discriminate..|]. intros taken.
         apply best_is_open in taken as [real yes]. now split. }
    destruct (works x (story x) q) eqn:own; [intros [= ->]; now split|].
    destruct by_slack; [discriminate| | |discriminate]; intros taken;
      apply best_is_open in taken as [real yes].
    - apply andb_prop in yes as [yes enough]. apply in_seq in real.
      split; [assumption|]. intros _. split; [discriminate|]. split; [lia|assumption].
    - split; [assumption|]. now intros _. }
  assert (lent : forall x s, second (now x) = Some s ->
    by_slack = Lend /\ owner (now x) = Some s /\ payer (now x) <> Some s).
  { intros x s. unfold now. set (past := story x). unfold next. cbn [second owner payer].
    destruct by_slack; [discriminate| |discriminate..].
    destruct (match best _ _ _ with Some _ => _ | None => _ end) as [taker|]; [|discriminate].
    destruct (here taker _) eqn:same; [discriminate|]. intros [= ->].
    split; [reflexivity|]. split; [reflexivity|]. intros who. rewrite who in same.
    cbn in same. now rewrite Nat.eqb_refl in same. }
  split; [|split; [|split]].
  - intros x s got. cbn [has machine] in got. now destruct (owns x s got).
  - intros x s who working. cbn [pays has wants machine] in *. unfold now, next in *.
    cbn [owner payer] in *. rewrite who. cbn [wants machine] in working. now rewrite working.
  - intros x s got other. cbn [pays has also machine] in *.
    destruct (owns x s got) as (_ & how). specialize (how other).
    destruct by_slack eqn:rule; [exact how| |assumption..]. split; [apply how|].
    unfold now, next in *. cbn [second owner payer] in *. rewrite rule in *. rewrite got.
    destruct (here s _) eqn:same; [|reflexivity]. apply here_only in same. contradiction.
  - intros x s beside. cbn [pays has also machine] in *.
    destruct (lent x s beside) as (rule & got & other).
    destruct (owns x s got) as (_ & how). specialize (how other). rewrite rule in how.
    split; [assumption|]. split; [assumption|]. split; [assumption|].
    now apply rich_is.
Qed.

Lemma machine_inside s : s < m -> inside machine s (domains s) (inner s).
Proof.
  intros real. split; [exact (jobs s real)|]. split; [intros x; now apply works_is|]. split.
  - intros x j who. cbn [runs inner] in who. unfold ran in who. cbn [has machine].
    destruct (here s (owner (now x))) eqn:got; [|discriminate]. split; [reflexivity|].
    apply here_only in got. unfold now in who, got. set (past := story x) in *.
    assert (task_job (next x past) = next_job x past s) as same.
    { unfold next in got |- *. cbn [owner task_job] in *. now rewrite got. }
    rewrite same in who. now apply (decide_pending _ _ (inner s) x _ (ran_is s x) j who).
  - intros x j got waits. cbn [has machine] in got. cbn [runs inner]. unfold ran. rewrite got.
    apply here_only in got. unfold now in got |- *. set (past := story x) in *.
    assert (task_job (next x past) = next_job x past s) as ->.
    { unfold next in got |- *. cbn [owner task_job] in *. now rewrite got. }
    apply (decide_first (size (domains s)) (members (domains s))
      (local_key (domains s) (given s)) (inner s) (fun i => shape s i real) (jobs s real) x
      (map (ran s) past) (ran_is s x) j waits).
Qed.

End Machine.

Theorem pcpu_run_exists m servers by_order by_slack domains given (idling : bool) :
  (forall s, s < m -> 0 < every (servers s)) ->
  (forall s i, s < m -> i < size (domains s) -> 0 < period (members (domains s) i)) ->
  (forall s, s < m -> jobs_of (size (domains s)) (members (domains s)) (given s)) ->
  exists h inner, (if idling then paying else deferring) m servers by_order h /\
    sharing by_slack servers h /\
    forall s, s < m -> inside h s (domains s) (inner s) /\
      arrival (inner s) = arrival (given s) /\ release (inner s) = release (given s) /\
      work (inner s) = work (given s).
Proof.
  intros periods shape jobs.
  exists (machine idling m servers by_order by_slack domains given),
    (inner idling m servers by_order by_slack domains given).
  split; [now apply machine_follows|]. split; [now apply machine_shares|].
  intros s real. split; [now apply machine_inside|]. repeat split.
Qed.

(* * Back to back *)

(* 2 ns in every 4 above 2 ns in every 5. The work of both comes at 10 ns, in the middle of a period
   of the first: that spends 2 ns before its refill at 12 ns and 2 ns right after it, and leaves
   1 ns of the period of the other, which ends at 15 ns. *)
Definition two_servers (s : nat) : server :=
  match s with
  | 0 => {| every := 4; budget := 2; within := 4; rank := 0 |}
  | _ => {| every := 5; budget := 2; within := 5; rank := 1 |}
  end.

Definition burst : domain :=
  {| size := 1; members := fun _ => {| cost := 4; period := 20; deadline := 20; jitter := 0 |};
     model.scheduler := EarliestDeadline |}.

Definition bursts : run :=
  {| arrival := fun j => 10 + snd j * 20; release := fun j => 10 + snd j * 20;
     work := fun _ => 4; runs := fun _ => None |}.

Theorem back_to_back_refuted : exists servers h s,
  s < 2 /\ (forall i, i < 2 -> 0 < every (servers i)) /\
  deferring 2 servers ByRank h /\ sharing Idle servers h /\
  (exists t, 0 < t <= every (servers s) /\
     rbf 2 (fun i => as_task (servers i)) (fun i => rank (servers i)) s t <= t) /\
  ~ deferrable (every (servers s)) (budget (servers s)) (wants h s) (charged h s).
Proof.
  assert (periods : forall i, i < 2 -> 0 < every (two_servers i)) by (intros [|i] _; cbn; lia).
  exists two_servers, (machine false 2 two_servers ByRank Idle (fun _ => burst) (fun _ => bursts)), 1.
  split; [lia|]. split; [exact periods|]. split; [|split; [|split]].
  - apply (machine_follows false); [exact periods|..]; intros; cbn; lia.
  - apply machine_shares; [exact periods|..]; intros; cbn; lia.
  - exists 4. vm_compute. lia.
  - intros law. refine (_ (law 2 10 5 (le_n _) (le_n _) _)); [vm_compute; lia|].
    intros x there. cbn [every two_servers] in there.
    assert (x = 10 \/ x = 11 \/ x = 12 \/ x = 13 \/ x = 14) as at_work by lia.
    destruct at_work as [->|[->|[->|[->| ->]]]]; vm_compute; reflexivity.
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
  intros law jobs legal.
  apply (fixed_priority_on_server 4 3 (Periodic 4)) with (rank := fun i => i) (gets := gets);
    [repeat split; lia|exact law|apply (two_constrained 7); lia|exact jobs|exact legal|].
  intros i inside. apply one_window.
  destruct i as [|[|i]]; [exists 3|exists 7|lia]; vm_compute; lia.
Qed.
