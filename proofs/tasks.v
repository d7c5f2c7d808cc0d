(* SPDX-License-Identifier: BSD-2-Clause *)
(* Tasks on a supply: the tests that the analysis makes imply that no job misses its deadline.

   Fixed priority is in time if for every task i each of its jobs has a window (`in_windows`); the
   paper's Lemma 1 (Lee et al., RTAS 2012), with the ceiling in place of the floor that it prints,
   is the case of one window for all of them: some t in (0, D_i] has rbf_i(t) <= sbf(t). EDF is in
   time if dbf(t) <= sbf(t) for all t.

   Both are shown for a job that is late. Go back from its release to the last instant w at which
   no job of a task that is not lower (for EDF: that is due no later) is left over. From w on there
   is such work throughout, so the supply of a window that begins at w serves nothing else; all of
   it was released in the window, and not all of it is done at the end. So the supply of the window
   is below the bound on what is released there.

   Whether a job is left over at an instant is decided by looking at infinitely many jobs. So w is
   not computed: that there is none is shown to be absurd (~ ~), which is enough, since the claim
   about the late job is a comparison of two numbers. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply.

(* * Counting *)

Lemma sum_below n f g i : i < n -> (forall h, h < n -> f h <= g h) -> f i < g i ->
  sum n f < sum n g.
Proof.
  intros inside each strict.
  assert (weak : forall m, m <= n -> sum m f <= sum m g).
  { induction m as [|m IH]; intros few; cbn [sum]; [lia|]. pose proof (each m). lia. }
  revert inside each weak. induction n as [|n IH]; intros inside each weak; [lia|].
  cbn [sum]. destruct (Nat.eq_dec i n) as [->|other].
  - pose proof (weak n). lia.
  - pose proof (each n). assert (sum n f < sum n g); [|lia].
    apply IH; [lia| |]; intros; [apply each|apply weak]; lia.
Qed.

Lemma sum_weak n f g : (forall h, h < n -> f h <= g h) -> sum n f <= sum n g.
Proof.
  induction n as [|n IH]; intros each; cbn [sum]; [lia|].
  pose proof (each n). assert (sum n f <= sum n g); [|lia]. apply IH. intros. apply each. lia.
Qed.

Lemma sum_constant n c : sum n (fun _ => c) = n * c.
Proof. induction n as [|n IH]; cbn [sum]; lia. Qed.

Lemma sum_same n f g : (forall h, h < n -> f h = g h) -> sum n f = sum n g.
Proof.
  induction n as [|n IH]; intros each; cbn [sum]; [reflexivity|].
  rewrite (each n), IH; [reflexivity| |lia]. intros. apply each. lia.
Qed.

Lemma sum_has n f i : i < n -> f i <= sum n f.
Proof.
  induction n as [|n IH]; intros inside; cbn [sum]; [lia|].
  destruct (Nat.eq_dec i n) as [->|]; [lia|]. assert (f i <= sum n f) by (apply IH; lia). lia.
Qed.

Lemma sum_times n f c : sum n (fun i => f i * c) = sum n f * c.
Proof. induction n as [|n IH]; cbn [sum]; [reflexivity|]. rewrite IH. lia. Qed.

Lemma sum_plus n f g : sum n (fun h => f h + g h) = sum n f + sum n g.
Proof. induction n as [|n IH]; cbn [sum]; lia. Qed.

(* Instants of which each has one of n properties are no more than those that have each. *)
Lemma amount_covered n f g a t :
  (forall x, a <= x < a + t -> f x = true -> exists h, h < n /\ g h x = true) ->
  amount f a t <= sum n (fun h => amount (g h) a t).
Proof.
  induction t as [|t IH]; intros covered; cbn [amount]; [lia|].
  rewrite sum_plus. assert (amount f a t <= sum n (fun h => amount (g h) a t)).
  { apply IH. intros. apply covered; [lia|assumption]. }
  destruct (f (a + t)) eqn:here; [|lia].
  destruct (covered (a + t)) as (h & inside & has); [lia|assumption|].
  pose proof (sum_has n (fun h => if g h (a + t) then 1 else 0) h inside) as one.
  cbn beta in one. rewrite has in one. lia.
Qed.

(* * What a run keeps *)

Lemma is_itself j : is j (Some j) = true.
Proof. destruct j. cbn. now rewrite !Nat.eqb_refl. Qed.

Lemma is_only j who : is j who = true -> who = Some j.
Proof.
  destruct who as [[i k]|]; cbn; [|discriminate]. intros same.
  apply andb_prop in same as [task number]. apply Nat.eqb_eq in task, number.
  destruct j. cbn in *. now subst.
Qed.

Lemma complete_or_not r j x : {complete r j x} + {~ complete r j x}.
Proof. unfold complete. apply le_dec. Qed.

Lemma service_step r j x : service r j x <= service r j (S x) <= S (service r j x).
Proof. unfold service. cbn [amount plus]. destruct (is _ _); lia. Qed.

Lemma complete_later r j x y : complete r j x -> x <= y -> complete r j y.
Proof.
  unfold complete. intros done. induction 1; [assumption|]. pose proof (service_step r j m). lia.
Qed.

Section Run.
Context (n : nat) (key : job -> nat) (gets : supply) (r : run).
Context (legal : scheduled n key gets r).

Lemma runs_pending x j : is j (runs r x) = true -> pending n r j x.
Proof. intros same. apply is_only in same. now apply (proj1 legal x j). Qed.

(* No job runs for longer than its work. *)
Lemma service_at_most j x : service r j x <= work r j.
Proof.
  induction x as [|x IH]; [unfold service; cbn; lia|].
  destruct (complete_or_not r j x) as [done|left_over].
  - unfold service in *. cbn [amount plus]. destruct (is j (runs r x)) eqn:here; [|lia].
    apply runs_pending in here. now destruct here as (_ & _ & never).
  - unfold complete in left_over. pose proof (service_step r j x). lia.
Qed.

Lemma served_in_window j w t : amount (fun y => is j (runs r y)) w t <= work r j.
Proof.
  pose proof (service_at_most j (w + t)) as all. unfold service in all.
  rewrite amount_split in all. cbn [plus] in all. lia.
Qed.

Lemma late_in_window j w t : ~ complete r j (w + t) ->
  amount (fun y => is j (runs r y)) w t < work r j.
Proof.
  unfold complete, service. rewrite amount_split. cbn [plus]. lia.
Qed.

(* * The window *)

(* Nothing of these jobs that was released before w is left over at w. *)
Definition quiet (these : job -> Prop) (w : nat) : Prop :=
  forall j, these j -> fst j < n -> release r j < w -> complete r j w.

Lemma last_quiet these x : ~ ~ exists w, w <= x /\ quiet these w /\
  (forall y, w < y <= x -> ~ quiet these y) /\
  forall y, w <= y < x -> exists j, these j /\ pending n r j y.
Proof.
  induction x as [|x IH]; intros none.
  - apply none. exists 0. repeat split; try lia. intros j _ _ before. lia.
  - apply IH. intros (w & early & nothing & latest & throughout_w).
    assert (known : ~ ~ (quiet these (S x) \/ ~ quiet these (S x))) by tauto.
    apply known. intros [calm|noisy].
    { apply none. exists (S x). repeat split; try lia. exact calm. }
    assert (some : ~ ~ ((exists j, these j /\ pending n r j x) \/
                        ~ exists j, these j /\ pending n r j x)) by tauto.
    apply some. intros [work_left|all_done].
    + apply none. exists w. repeat split; [lia|assumption| |]; intros y between.
      * destruct (Nat.eq_dec y (S x)) as [->|]; [assumption|]. apply latest. lia.
      * destruct (Nat.eq_dec y x) as [->|]; [assumption|]. apply throughout_w. lia.
    + apply noisy. intros j one legal_task before.
      destruct (complete_or_not r j (S x)) as [|left_over]; [assumption|]. exfalso.
      apply all_done. exists j. repeat split; [assumption..|lia|].
      intros done. apply left_over, (complete_later r j x); [assumption|lia].
Qed.

(* If all that runs in a window are number h jobs of each task h, from number first h on, and one
   of these is not complete at the end, then the supply of the window is less than what they may
   cost. *)
Lemma less_than_demand tasks m first number w t i k : jobs_of n tasks r -> m <= n ->
  (forall x, w <= x < w + t -> gets x = true -> exists h l, runs r x = Some (h, l) /\
     h < m /\ first h <= l < first h + number h) ->
  i < m -> first i <= k < first i + number i -> ~ complete r (i, k) (w + t) ->
  amount gets w t < sum m (fun h => number h * cost (tasks h)).
Proof.
  intros jobs fewer only inside among left_over.
  pose (had h l := amount (fun y => is (h, first h + l) (runs r y)) w t).
  assert (each : forall h l, h < m -> had h l <= cost (tasks h)).
  { intros h l task_inside. pose proof (served_in_window (h, first h + l) w t).
    destruct (jobs h (first h + l)) as (_ & _ & cheap); [lia|]. unfold had. lia. }
  assert (own : had i (k - first i) < cost (tasks i)).
  { unfold had. replace (first i + (k - first i)) with k by lia.
    pose proof (late_in_window (i, k) w t left_over). destruct (jobs i k); lia. }
  apply Nat.le_lt_trans with (sum m (fun h => sum (number h) (had h))).
  - apply Nat.le_trans with (sum m (fun h =>
      amount (fun y => match runs r y with
        | Some (h', l) => (h' =? h) && (first h <=? l) && (l <? first h + number h)
        | None => false end) w t)).
    + apply amount_covered. intros x here got.
      destruct (only x here got) as (h & l & -> & task_inside & low & high). exists h.
      split; [assumption|]. rewrite Nat.eqb_refl. apply Nat.leb_le in low. apply Nat.ltb_lt in high.
      now rewrite low, high.
    + apply sum_weak. intros h task_inside. apply amount_covered. intros x here now.
      destruct (runs r x) as [[h' l]|] eqn:who; [|discriminate].
      apply andb_prop in now as [now high]. apply andb_prop in now as [same low].
      apply Nat.eqb_eq in same. apply Nat.leb_le in low. apply Nat.ltb_lt in high. subst h'.
      exists (l - first h). split; [lia|]. cbn beta.
      replace (first h + (l - first h)) with l by lia. apply is_itself.
  - apply sum_below with (i := i); [assumption| |].
    + intros h task_inside. rewrite <- sum_constant. apply sum_weak. intros. now apply each.
    + rewrite <- sum_constant. apply sum_below with (i := k - first i); [lia| |assumption].
      intros. now apply each.
Qed.

End Run.

(* * How many jobs a window has *)

Lemma arrivals_apart n tasks r i k m : jobs_of n tasks r -> i < n ->
  arrival r (i, k) + m * period (tasks i) <= arrival r (i, k + m).
Proof.
  intros jobs inside. induction m as [|m IH]; [replace (k + 0) with k; lia|].
  rewrite <- plus_n_Sm. destruct (jobs i (k + m)) as (apart & _); [assumption|]. lia.
Qed.

Lemma next_arrival n tasks r i k l : jobs_of n tasks r -> i < n -> k < l ->
  arrival r (i, k) + period (tasks i) <= arrival r (i, l).
Proof.
  intros jobs inside before. destruct (jobs i k) as (apart & _); [assumption|].
  pose proof (arrivals_apart n tasks r i (S k) (l - S k) jobs inside) as more.
  replace (S k + (l - S k)) with l in more by lia.
  apply (Nat.le_trans _ _ _ apart), (Nat.le_trans _ _ _ (Nat.le_add_r _ _) more).
Qed.

(* The first job that does not arrive before some time. *)
Lemma first_from n tasks r i w : jobs_of n tasks r -> i < n -> 0 < period (tasks i) ->
  exists k, w <= arrival r (i, k) /\ forall l, w <= arrival r (i, l) -> k <= l.
Proof.
  intros jobs inside some.
  assert (reached : forall b, (exists k, w <= arrival r (i, k) /\
      forall l, w <= arrival r (i, l) -> k <= l) \/ forall l, l < b -> arrival r (i, l) < w).
  { induction b as [|b [found|before]]; [right; lia|now left|].
    destruct (Nat.le_gt_cases w (arrival r (i, b))) as [here|early].
    - left. exists b. split; [assumption|]. intros l later.
      destruct (Nat.le_gt_cases b l) as [|l_before]; [assumption|].
      pose proof (before l l_before). lia.
    - right. intros l below. destruct (Nat.eq_dec l b) as [->|]; [assumption|]. apply before. lia. }
  destruct (reached (S w)) as [found|before]; [assumption|]. exfalso.
  pose proof (before w (Nat.lt_succ_diag_r w)).
  pose proof (arrivals_apart n tasks r i 0 w jobs inside) as far. cbn [plus] in far. nia.
Qed.

Lemma ceiling_above a b m : 0 < b -> m * b < a -> m < ceiling a b.
Proof.
  intros some below. unfold ceiling. apply (Nat.div_le_lower_bound _ _ (S m)); nia.
Qed.

(* The first period that begins no earlier than w. *)
Lemma ceiling_reaches P w : 0 < P -> w <= ceiling w P * P.
Proof.
  intros some. unfold ceiling. pose proof (Nat.div_mod (w + P - 1) P ltac:(lia)).
  pose proof (Nat.mod_upper_bound (w + P - 1) P ltac:(lia)). nia.
Qed.

Lemma ceiling_first P w l : 0 < P -> w <= l * P -> ceiling w P <= l.
Proof.
  intros some there. apply Nat.lt_succ_r. unfold ceiling. apply Nat.div_lt_upper_bound; nia.
Qed.

(* Those released in [w, w + t) are numbered from some k on, one for each period in t and the
   jitter. *)
Lemma released_in n tasks r i w t : jobs_of n tasks r -> i < n -> 0 < period (tasks i) ->
  exists k, forall l, w <= release r (i, l) < w + t ->
    k <= l < k + ceiling (t + jitter (tasks i)) (period (tasks i)).
Proof.
  intros jobs inside some.
  destruct (first_from n tasks r i (w - jitter (tasks i)) jobs inside some) as (k & from & least).
  exists k. intros l between. destruct (jobs i l) as (_ & delayed & _); [assumption|].
  assert (k <= l) by (apply least; lia). split; [assumption|].
  assert (l - k < ceiling (t + jitter (tasks i)) (period (tasks i))); [|lia].
  apply ceiling_above; [assumption|].
  pose proof (arrivals_apart n tasks r i k (l - k) jobs inside) as apart.
  replace (k + (l - k)) with l in apart by lia. lia.
Qed.

Lemma all_first {A : Type} (none : A) (n : nat) (P : nat -> A -> Prop) :
  (forall h, h < n -> exists k, P h k) -> exists first, forall h, h < n -> P h (first h).
Proof.
  induction n as [|n IH]; intros each; [exists (fun _ => none); lia|].
  destruct IH as (first & all); [intros; apply each; lia|].
  destruct (each n) as (k & last); [lia|].
  exists (fun h => if h =? n then k else first h). intros h inside.
  destruct (Nat.eqb_spec h n) as [->|]; [assumption|]. apply all. lia.
Qed.

(* * Fixed priority *)

(* One window up to the deadline that holds all that is asked for in it is enough (Lemma 1). *)
Theorem one_window n tasks rank bound i :
  (exists t, 0 < t <= deadline (tasks i) /\ rbf n tasks rank i t <= bound t) ->
  in_windows n tasks rank bound i.
Proof.
  intros (t & window & enough). exists t, (fun _ => t). split; [lia|]. split; [assumption|].
  intros q among. split; [lia|]. apply Nat.le_trans with (2 := enough), sum_weak. intros h _.
  destruct (rank h <=? rank i); [|lia]. apply Nat.mul_le_mono_r.
  destruct (Nat.eqb_spec h i) as [->|]; lia.
Qed.

(* The last job of the task that is released no later than job k. *)
Lemma last_released n tasks r i k : jobs_of n tasks r -> i < n -> 0 < period (tasks i) ->
  exists m, release r (i, m) <= release r (i, k) /\
    forall l, release r (i, l) <= release r (i, k) -> l <= m.
Proof.
  intros jobs inside some. pose (R := release r (i, k)). fold R.
  assert (none : forall l, S R <= l -> R < release r (i, l)).
  { intros l far. pose proof (arrivals_apart n tasks r i 0 l jobs inside) as apart.
    cbn [plus] in apart. destruct (jobs i l) as (_ & delayed & _); [assumption|]. nia. }
  induction (S R) as [|b IH]; [specialize (none k); unfold R in none; lia|].
  destruct (Nat.le_gt_cases (release r (i, b)) R) as [here|later].
  - exists b. split; [assumption|]. intros l early.
    apply Nat.nlt_ge. intros beyond. specialize (none l). lia.
  - apply IH. intros l far. destruct (Nat.eq_dec l b) as [->|]; [assumption|]. apply none. lia.
Qed.

(* Of a late job: there is an instant w, the last one before its release at which nothing is left
   over that is not lower. From w on, whatever bound there is for which the test holds, some window
   holds less. For if all of them held as much, the one of length L would end in an instant like w,
   which can only come after the release; so the job, or one of its task that is released with it or
   before it and goes first, is the q-th of those of the test; and it would be complete at the end
   of its window. *)
Lemma late_fixed_priority n tasks rank gets r i k :
  (forall h, h < n -> 0 < period (tasks h)) -> jobs_of n tasks r ->
  fixed_priority n rank gets r -> i < n ->
  let these (j : job) := rank (fst j) <= rank i in
  ~ complete r (i, k) (due tasks r (i, k)) ->
  ~ ~ exists w, w <= release r (i, k) /\
    (forall y, w < y <= release r (i, k) -> ~ quiet n r these y) /\
    quiet n r these w /\
    throughout (busy n r) w (due tasks r (i, k) - w) /\
    forall bound, in_windows n tasks rank bound i ->
      exists t, w + t <= due tasks r (i, k) /\ amount gets w t < bound t.
Proof.
  intros shape jobs legal inside these. unfold due. cbn [fst]. intros missed none.
  apply (last_quiet n r these (release r (i, k))).
  intros (w & early & nothing & latest & higher). apply none. clear none.
  assert (waiting : forall x, w <= x < release r (i, k) + deadline (tasks i) ->
            exists j, these j /\ pending n r j x /\ (release r (i, k) <= x -> j = (i, k))).
  { intros x here. destruct (Nat.le_gt_cases (release r (i, k)) x) as [after_it|before_it].
    - exists (i, k). split; [apply le_n|]. repeat split; [assumption..|].
      intros done. apply missed, (complete_later r (i, k) x); [assumption|lia].
    - destruct (higher x) as (j & urgent & waits); [lia|]. exists j.
      split; [assumption|]. split; [assumption|lia]. }
  destruct (last_released n tasks r i k jobs inside (shape i inside)) as (last & with_it & at_most).
  assert (running : forall x, w <= x < release r (i, k) + deadline (tasks i) -> gets x = true ->
            exists h l, runs r x = Some (h, l) /\ h < n /\ rank h <= rank i /\
              w <= release r (h, l) <= x /\ (h = i -> l <= last)).
  { intros x here got. destruct (waiting x here) as (j & urgent & waits & itself).
    destruct (proj2 legal x j got waits) as ([h l] & who & no_later & in_order).
    pose proof (proj2 (proj1 legal x (h, l) who)) as (real & released & unfinished).
    cbn in real, no_later, in_order. unfold these in urgent. exists h, l.
    split; [assumption|]. split; [assumption|]. split; [lia|]. split; [split; [|assumption]|].
    - apply Nat.nlt_ge. intros old.
      apply unfinished, (complete_later r (h, l) w); [|lia].
      apply nothing; [unfold these; cbn; lia|assumption|assumption].
    - intros ->. destruct (Nat.le_gt_cases (release r (i, k)) x) as [after_it|before_it].
      + rewrite (itself after_it) in in_order. cbn in in_order.
        specialize (in_order eq_refl eq_refl). specialize (at_most k (le_n _)). lia.
      + apply at_most. lia. }
  exists w. split; [exact early|]. split; [exact latest|]. split; [exact nothing|]. split.
  { intros x here. destruct (waiting x) as (j & _ & waits & _); [lia|]. now exists j. }
  intros bound (L & ends & some & level & each).
  destruct (Nat.le_gt_cases (w + L) (release r (i, k))) as [sooner|later].
  - exists L. split; [lia|]. apply Nat.nle_gt. intros supplied. apply (latest (w + L)); [lia|].
    intros [h l] one real before. unfold these in one. cbn in one, real.
    destruct (Nat.le_gt_cases w (release r (h, l))) as [new|old].
    2: { apply (complete_later r (h, l) w); [now apply nothing|lia]. }
    destruct (complete_or_not r (h, l) (w + L)) as [|left_over]; [assumption|]. exfalso.
    pose (number h := if rank h <=? rank i
      then ceiling (L + jitter (tasks h)) (period (tasks h)) else 0).
    destruct (all_first 0 n (fun h f => forall l, rank h <= rank i ->
        w <= release r (h, l) < w + L -> f <= l < f + number h)) as (first & all).
    { intros o low. destruct (released_in n tasks r o w L jobs low (shape o low)) as (f & within).
      exists f. intros l' urgent. unfold number. apply Nat.leb_le in urgent. rewrite urgent.
      apply within. }
    apply (Nat.lt_nge (amount gets w L) (rbf n tasks rank i L)); [|lia].
    replace (rbf n tasks rank i L) with (sum n (fun h => number h * cost (tasks h)))
      by (apply sum_same; intros; unfold number; now destruct (_ <=? _)).
    apply (less_than_demand n _ gets r legal tasks n first number w L h l jobs);
      [lia| |assumption|now apply all|assumption].
    intros x here got. destruct (running x) as (h' & l' & who & low & urgent & new' & _);
      [lia|assumption|]. exists h', l'. split; [assumption|]. split; [assumption|].
    apply all; [assumption..|lia].
  - destruct (first_from n tasks r i (w - jitter (tasks i)) jobs inside (shape i inside))
      as (f & from & least).
    assert (own : forall l, w <= release r (i, l) -> f <= l).
    { intros l new. apply least. destruct (jobs i l inside). lia. }
    pose proof (own k early) as begun. pose proof (at_most k (le_n _)) as no_less.
    pose (q := S (last - f)).
    assert (since : w + (q - 1) * period (tasks i) <= release r (i, k) + jitter (tasks i)).
    { pose proof (arrivals_apart n tasks r i f (last - f) jobs inside) as apart.
      replace (f + (last - f)) with last in apart by lia.
      destruct (jobs i last inside) as (_ & delayed & _).
      unfold q. rewrite Nat.sub_1_r. cbn [pred]. lia. }
    destruct (each q) as [in_time enough].
    { split; [unfold q; lia|]. replace q with (S (q - 1)) by (unfold q; lia).
      apply ceiling_above; [now apply shape|lia]. }
    exists (ends q). split; [lia|]. apply Nat.lt_le_trans with (2 := enough).
    pose (t := ends q). fold t. fold t in in_time.
    pose (number h := if rank h <=? rank i
      then if h =? i then q else ceiling (t + jitter (tasks h)) (period (tasks h)) else 0).
    destruct (all_first 0 n (fun h first => forall l, rank h <= rank i -> (h = i -> l <= last) ->
        w <= release r (h, l) -> h = i \/ release r (h, l) < w + t ->
        first <= l < first + number h)) as (first & all).
    { intros h low. unfold number. destruct (Nat.eqb_spec h i) as [->|other].
      - exists f. intros l urgent up_to new _. apply Nat.leb_le in urgent. rewrite urgent.
        specialize (own l new). specialize (up_to eq_refl). unfold q. lia.
      - destruct (released_in n tasks r h w t jobs low (shape h low)) as (first & within).
        exists first. intros l urgent _ new [same|old]; [contradiction|].
        apply Nat.leb_le in urgent. rewrite urgent. apply within. lia. }
    replace (job_rbf n tasks rank i q t) with (sum n (fun h => number h * cost (tasks h)))
      by (apply sum_same; intros; unfold number; now destruct (_ <=? _)).
    apply (less_than_demand n _ gets r legal tasks n first number w t i k jobs);
      [lia| |assumption|apply all; auto|].
    + intros x here got. destruct (running x) as (h & l & who & low & urgent & new & up_to);
        [lia|assumption|]. exists h, l. split; [assumption|]. split; [assumption|].
      apply all; [assumption..|lia|right; lia].
    + intros done. apply missed, (complete_later r (i, k) (w + t)); [assumption|lia].
Qed.

(* For every run of every such task set on every such supply (Lehoczky, RTSS 1990, with jitter).
   Deadlines may be longer than periods. *)
Theorem fixed_priority_in_time n tasks rank bound gets r :
  (forall i, i < n -> 0 < period (tasks i)) -> jobs_of n tasks r ->
  fixed_priority n rank gets r -> supplies (busy n r) gets bound ->
  (forall i, i < n -> in_windows n tasks rank bound i) ->
  in_time n tasks r.
Proof.
  intros shape jobs legal supplied test [i k] inside. cbn in inside.
  destruct (complete_or_not r (i, k) (due tasks r (i, k))) as [|missed]; [assumption|]. exfalso.
  apply (late_fixed_priority n tasks rank gets r i k shape jobs legal inside missed).
  intros (w & early & _ & _ & working & less).
  destruct (less bound (test i inside)) as (t & short & fewer).
  assert (bound t <= amount gets w t); [|lia]. apply supplied.
  apply (throughout_part _ _ _ _ _ working); lia.
Qed.

(* * EDF *)

(* Of a late job: there is an instant w, the last one before its release at which nothing is left
   over that is due by the same time, from which up to its deadline less is supplied than is asked
   for. *)
Lemma late_edf n tasks gets r i k :
  (forall i, i < n -> 0 < period (tasks i)) -> jobs_of n tasks r -> edf n tasks gets r -> i < n ->
  let d := due tasks r (i, k) in
  let these j := due tasks r j <= d in
  ~ complete r (i, k) d ->
  ~ ~ exists w, w <= release r (i, k) /\
    (forall y, w < y <= release r (i, k) -> ~ quiet n r these y) /\
    quiet n r these w /\
    throughout (busy n r) w (d - w) /\
    amount gets w (d - w) < dbf n tasks (d - w).
Proof.
  intros shape jobs legal inside d these missed none.
  apply (last_quiet n r these (release r (i, k))).
  intros (w & early & nothing & latest & sooner). apply none. clear none.
  assert (after_release : d = release r (i, k) + deadline (tasks i)) by reflexivity.
  pose (t := d - w). assert (ends : w + t = d) by (unfold t; lia).
  assert (waiting : forall x, w <= x < w + t -> exists j, these j /\ pending n r j x).
  { intros x here. destruct (Nat.le_gt_cases (release r (i, k)) x) as [after_it|before_it].
    - exists (i, k). split; [apply le_n|]. repeat split; [assumption..|].
      intros done. apply missed, (complete_later r (i, k) x); [assumption|lia].
    - apply sooner. lia. }
  exists w. split; [exact early|]. split; [exact latest|]. split; [exact nothing|]. split.
  - intros x here. destruct (waiting x here) as (j & _ & waits). now exists j.
  - fold t.
    pose (number h := if deadline (tasks h) <=? t
      then (t - deadline (tasks h) + jitter (tasks h)) / period (tasks h) + 1 else 0).
    destruct (all_first 0 n (fun h f => forall l,
        w <= release r (h, l) -> due tasks r (h, l) <= d ->
        f <= l < f + number h)) as (first & all).
    { intros h low. unfold number. destruct (Nat.leb_spec (deadline (tasks h)) t) as [fits|].
      - destruct (released_in n tasks r h w (t - deadline (tasks h) + 1) jobs) as (f & within);
          [assumption|now apply shape|].
        exists f. intros l from to. unfold due in to. cbn [fst] in to.
        replace ((t - deadline (tasks h) + jitter (tasks h)) / period (tasks h) + 1)
          with (ceiling (t - deadline (tasks h) + 1 + jitter (tasks h)) (period (tasks h))).
        + apply within. lia.
        + unfold ceiling. pose proof (shape h low).
          replace (t - deadline (tasks h) + 1 + jitter (tasks h) + period (tasks h) - 1)
            with (t - deadline (tasks h) + jitter (tasks h) + 1 * period (tasks h)) by lia.
          now rewrite Nat.div_add by lia.
      - exists 0. intros l from to. unfold due in to. cbn [fst] in to. lia. }
    replace (dbf n tasks t) with (sum n (fun h => number h * cost (tasks h))).
    + apply (less_than_demand n (due tasks r) gets r legal tasks n first number w t i k jobs);
        [lia| |assumption|apply all; [assumption|exact early|apply le_n]|now rewrite ends].
      intros x here got. destruct (waiting x here) as (j & urgent & waits).
      destruct (proj2 legal x j got waits) as ([h l] & who & no_later & _).
      pose proof (proj2 (proj1 legal x (h, l) who)) as (real & released & unfinished).
      exists h, l. split; [assumption|]. cbn in real. split; [assumption|].
      unfold these in urgent. apply all; [assumption| |lia].
      destruct (Nat.le_gt_cases w (release r (h, l))) as [|old]; [assumption|]. exfalso.
      apply unfinished, (complete_later r (h, l) w); [|lia].
      apply nothing; [unfold these; lia|assumption|lia].
    + apply sum_same. intros. unfold number. now destruct (_ <=? t).
Qed.

(* Deadlines may be longer than periods. *)
Theorem edf_in_time n tasks bound gets r :
  (forall i, i < n -> 0 < period (tasks i)) -> jobs_of n tasks r -> edf n tasks gets r ->
  supplies (busy n r) gets bound -> (forall t, dbf n tasks t <= bound t) ->
  in_time n tasks r.
Proof.
  intros shape jobs legal supplied test [i k] inside. cbn in inside.
  destruct (complete_or_not r (i, k) (due tasks r (i, k))) as [|missed]; [assumption|]. exfalso.
  apply (late_edf n tasks gets r i k shape jobs legal inside missed).
  intros (w & _ & _ & _ & working & less).
  pose proof (test (due tasks r (i, k) - w)). pose proof (supplied w _ working). lia.
Qed.

(* * On a server *)

Theorem fixed_priority_on_server P B D by_rule n tasks rank gets r :
  0 < B <= D -> D <= P -> keeps P B D by_rule (busy n r) gets ->
  (forall i, i < n -> 0 < period (tasks i)) -> jobs_of n tasks r ->
  fixed_priority n rank gets r ->
  (forall i, i < n -> in_windows n tasks rank (sbf P B (blackout P B D by_rule)) i) ->
  in_time n tasks r.
Proof.
  intros budget explicit law shape jobs legal test.
  apply fixed_priority_in_time
    with (rank := rank) (bound := sbf P B (blackout P B D by_rule)) (gets := gets);
    try assumption. now apply server_supply.
Qed.

Theorem edf_on_server P B D by_rule n tasks gets r :
  0 < B <= D -> D <= P -> keeps P B D by_rule (busy n r) gets ->
  (forall i, i < n -> 0 < period (tasks i)) -> jobs_of n tasks r -> edf n tasks gets r ->
  (forall t, dbf n tasks t <= sbf P B (blackout P B D by_rule) t) ->
  in_time n tasks r.
Proof.
  intros budget explicit law shape jobs legal test.
  apply edf_in_time with (bound := sbf P B (blackout P B D by_rule)) (gets := gets);
    try assumption. now apply server_supply.
Qed.
