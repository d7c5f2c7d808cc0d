(* SPDX-License-Identifier: BSD-2-Clause *)
(* The interface that the analysis computes (minimal_budget.py, algorithm_1.py): a budget that
   passes the test of a domain while the next smaller one fails is the least of its period, and
   beyond the bound of Theorem 1 of the CSA paper (Lee et al., RTAS 2012) no period has one that
   passes.

   More budget supplies no less in any window, as the blackout is shorter and what comes behind it
   grows with the budget. And the bound lies below a line, k (t - (P - B)) for bandwidth k, that the
   period moves to the right until it is below what a task asks for in every window. *)

From Coq Require Import Arith Lia.
From Hyperperiod Require Import model supply tasks host.

(* * Budgets *)

Lemma sbf_more P B C x y t : 0 < B <= C -> C <= P -> y <= x -> sbf P B x t <= sbf P C y t.
Proof.
  intros more budget sooner. rewrite !sbf_after.
  apply Nat.le_trans with (after P C (t - x)).
  - unfold after. apply Nat.add_le_mono; [now apply Nat.mul_le_mono_l|].
    apply Nat.min_le_compat_l. lia.
  - replace (t - y) with (t - x + (t - y - (t - x))) by lia. apply after_grows. lia.
Qed.

Theorem more_budget P B C D by_rule t : 0 < B <= C -> C <= D -> D <= P ->
  sbf P B (blackout P B D by_rule) t <= sbf P C (blackout P C D by_rule) t /\
  sbf P B (harmonic P B) t <= sbf P C (harmonic P C) t.
Proof.
  intros more in_time explicit. unfold harmonic.
  split; apply sbf_more; try lia. destruct by_rule; cbn [blackout]; unfold general, late; lia.
Qed.

Lemma fits_more d few many : (forall t, few t <= many t) -> fits d few -> fits d many.
Proof.
  intros more. unfold fits. destruct (scheduler d) as [ranks|].
  - intros test i inside. destruct (test i inside) as (L & ends & some & level & each).
    exists L, ends. split; [assumption|]. split; [now apply Nat.le_trans with (few L)|].
    intros q few_jobs. destruct (each q few_jobs) as [early enough]. split; [assumption|].
    now apply Nat.le_trans with (few (ends q)).
  - intros test t. now apply Nat.le_trans with (few t).
Qed.

(* In granules g. The blackout is that of the rule, or of the harmonic form. *)
Theorem least_budget P D by_rule form d g k :
  form = (fun B => blackout P B D by_rule) \/ form = harmonic P ->
  let passes k := fits d (sbf P (k * g) (form (k * g))) in
  D <= P -> 0 < k * g <= D -> passes k -> (1 < k -> ~ passes (k - 1)) ->
  forall l, 0 < l * g <= D -> passes l <-> k <= l.
Proof.
  intros shape passes explicit numbers enough too_little l possible.
  assert (up : forall i j, 0 < i * g -> j * g <= D -> i <= j -> passes i -> passes j).
  { intros i j some at_most more. apply fits_more. intros t.
    assert (i * g <= j * g) by now apply Nat.mul_le_mono_r.
    destruct (more_budget P (i * g) (j * g) D by_rule t); [lia|lia|assumption|].
    now destruct shape as [->| ->]. }
  split; [|intros more; now apply (up k)].
  intros passed. apply Nat.nlt_ge. intros less.
  apply too_little; [destruct l; lia|]. apply (up l); [lia|nia|lia|assumption].
Qed.

(* * Periods *)

(* The line, for any blackout of P - B at least. *)
Lemma below_line P B x t : 0 < B <= P -> P - B <= x -> 0 < sbf P B x t ->
  P * sbf P B x t + B * (x - (P - B)) <= B * t.
Proof.
  intros budget late_enough some. pose proof (sbf_slow P B x t budget) as slow.
  rewrite sbf_after in *. destruct (parts P (t - x)) as (n & y & small & whole); [lia|].
  rewrite whole, after_parts by assumption.
  assert (P * min y B <= B * (y + (P - B))) by (destruct (Nat.min_spec y B) as [[]|[]]; nia).
  assert (B * t = B * (x - (P - B)) + B * (P - B) + B * (n * P + y)) as split_up
    by (rewrite <- !Nat.mul_add_distr_l; f_equal; lia).
  lia.
Qed.

(* Theorem 1, for a bandwidth N / M at most: P <= (k t - r) / (k (1 - k)), without division. *)
Theorem period_bound P B N M t r : 0 < B <= P -> N <= M -> B * M <= N * P ->
  0 < r <= sbf P B (general P B P) t ->
  M * M * r + N * (M - N) * P <= N * M * t.
Proof.
  intros budget part bandwidth [some enough].
  pose proof (below_line P B (general P B P) t budget) as line. unfold general in *.
  pose proof (sbf_slow P B (P - B + (P - B)) t budget) as slow.
  specialize (line ltac:(lia) ltac:(lia)).
  replace (P - B + (P - B) - (P - B)) with (P - B) in line by lia.
  assert (P * r <= B * (t - (P - B))) as own.
  { rewrite Nat.mul_sub_distr_l. pose proof (Nat.mul_le_mono_l _ _ P enough). lia. }
  assert (P * (M - N) <= M * (P - B)) as gap by (rewrite !Nat.mul_sub_distr_l; lia).
  assert (M * (P - B) <= M * t) by (apply Nat.mul_le_mono_l; lia).
  assert (M * M * r <= N * (M * t - P * (M - N))) as scaled.
  { apply (Nat.mul_le_mono_pos_l _ _ P); [lia|].
    apply Nat.le_trans with (B * M * (M * (t - (P - B)))).
    - pose proof (Nat.mul_le_mono_l _ _ (M * M) own). lia.
    - replace (P * (N * (M * t - P * (M - N)))) with (N * P * (M * t - P * (M - N))) by lia.
      apply Nat.mul_le_mono; [assumption|]. rewrite Nat.mul_sub_distr_l. lia. }
  rewrite Nat.mul_sub_distr_l in scaled.
  pose proof (Nat.mul_le_mono_l (P * (M - N)) (M * t) N ltac:(lia)). lia.
Qed.

(* So of a task: one of its windows is early enough. *)
Theorem period_of_task P B N M n tasks rank i : 0 < B <= P -> N <= M -> B * M <= N * P ->
  i < n -> 0 < period (tasks i) -> 0 < cost (tasks i) ->
  in_windows n tasks rank (sbf P B (general P B P)) i ->
  exists t, t <= deadline (tasks i) /\
    M * M * job_rbf n tasks rank i 1 t + N * (M - N) * P <= N * M * t.
Proof.
  intros budget part bandwidth inside some_period some_cost (L & t & some & _ & each).
  destruct (each 1) as [early enough].
  { split; [lia|]. unfold ceiling. apply Nat.div_str_pos. lia. }
  exists (t 1). split; [lia|]. apply (period_bound P B); try assumption. split; [|assumption].
  apply Nat.lt_le_trans with (1 := some_cost). unfold job_rbf.
  apply Nat.le_trans with (2 := sum_has n _ i inside). cbn beta.
  rewrite Nat.leb_refl, Nat.eqb_refl. lia.
Qed.
