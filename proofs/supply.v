(* SPDX-License-Identifier: BSD-2-Clause *)
(* What a server supplies in a window of any length t, by the laws of model.v: at least sbf t, and
   for periodic servers no more than that in the worst case.

   The window is cut where the periods of the server begin. What is left of the period in which it
   begins, whole periods, and a piece of the last one are each bounded by the law; the rest is
   arithmetic of sbf, which grows by 0 or 1 with each instant and by B with each period. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model.

(* * Counting *)

Lemma amount_split f a t u : amount f a (t + u) = amount f a t + amount f (a + t) u.
Proof.
  induction u as [|u IH]; cbn [amount].
  - now rewrite Nat.add_0_r, Nat.add_0_r.
  - rewrite <- plus_n_Sm. cbn [amount]. rewrite IH, Nat.add_assoc. lia.
Qed.

Lemma amount_at_most f a t : amount f a t <= t.
Proof. induction t as [|t IH]; cbn [amount]; [|destruct (f (a + t))]; lia. Qed.

Lemma amount_of_all f a t : (forall x, a <= x < a + t -> f x = true) -> amount f a t = t.
Proof.
  induction t as [|t IH]; intros all; cbn [amount]; [reflexivity|].
  rewrite all, IH by (intros; try apply all; lia). lia.
Qed.

Lemma amount_of_none f a t : (forall x, a <= x < a + t -> f x = false) -> amount f a t = 0.
Proof.
  induction t as [|t IH]; intros none; cbn [amount]; [reflexivity|].
  rewrite none, IH by (intros; try apply none; lia). reflexivity.
Qed.

(* * Arithmetic of the bound *)

(* Supply after the blackout. *)
Definition after (P B u : nat) : nat := u / P * B + min (u mod P) B.

Lemma sbf_after P B x t : sbf P B x t = after P B (t - x).
Proof. reflexivity. Qed.

Lemma quotient P n y : y < P -> (n * P + y) / P = n.
Proof. intros small. symmetry. apply (Nat.div_unique _ _ _ y); lia. Qed.

Lemma remainder P n y : y < P -> (n * P + y) mod P = y.
Proof. intros small. symmetry. apply (Nat.mod_unique _ _ n); lia. Qed.

Lemma after_parts P B n y : y < P -> after P B (n * P + y) = n * B + min y B.
Proof. intros small. unfold after. now rewrite quotient, remainder. Qed.

Lemma parts P u : 0 < P -> exists n y, y < P /\ u = n * P + y.
Proof.
  intros some. exists (u / P), (u mod P). split; [apply Nat.mod_upper_bound; lia|].
  rewrite Nat.mul_comm. apply Nat.div_mod. lia.
Qed.

Lemma after_step P B u : 0 < B <= P ->
  after P B (S u) = after P B u + (if u mod P <? B then 1 else 0).
Proof.
  intros legal. destruct (parts P u) as (n & y & small & ->); [lia|].
  rewrite remainder, after_parts by lia. destruct (Nat.eq_dec (S y) P) as [whole|].
  - replace (S (n * P + y)) with (S n * P + 0) by lia. rewrite after_parts by lia.
    destruct (Nat.ltb_spec y B); lia.
  - replace (S (n * P + y)) with (n * P + S y) by lia. rewrite after_parts by lia.
    destruct (Nat.ltb_spec y B); lia.
Qed.

Lemma after_grows P B u v : 0 < B <= P -> after P B u <= after P B (u + v).
Proof.
  intros legal. induction v as [|v IH]; [now rewrite Nat.add_0_r|].
  rewrite <- plus_n_Sm, after_step by lia. lia.
Qed.

Lemma after_slow P B u v : 0 < B <= P -> after P B (u + v) <= after P B u + v.
Proof.
  intros legal. induction v as [|v IH]; [rewrite Nat.add_0_r; lia|].
  rewrite <- plus_n_Sm, after_step by lia. destruct (_ <? _); lia.
Qed.

(* Time that is not there counts for nothing: u may fall short of n * P. *)
Lemma after_few P B n u y : 0 < B <= P -> u <= n * P + y -> y < P ->
  after P B u <= n * B + min y B.
Proof.
  intros legal below small. rewrite <- (after_parts P) by lia.
  replace (n * P + y) with (u + (n * P + y - u)) by lia. now apply after_grows.
Qed.

(* * One window, cut at the periods *)

Lemma sbf_slow P B x t : 0 < B <= P -> sbf P B x t <= t - x.
Proof.
  intros legal. rewrite sbf_after. pose proof (after_slow P B 0 (t - x) legal) as slow.
  assert (after P B 0 = 0) by (apply (after_parts P B 0 0); lia). cbn [plus] in slow. lia.
Qed.

(* A window of length t consists of z instants that are surely served, n whole periods, and a
   piece of length r of one more, of which at most gap is not served, until the budget is used
   up. *)
Lemma pieces P B x t z n r gap got : 0 < B <= P -> r < P ->
  t <= x + z + n * P + (r - gap) -> min (r - gap) B + n * B + z <= got -> sbf P B x t <= got.
Proof.
  intros legal piece long enough. rewrite sbf_after.
  assert (after P B (t - x) <= after P B (t - x - z) + z).
  { destruct (Nat.le_gt_cases z (t - x)) as [most|few].
    - replace (t - x) with (t - x - z + z) at 1 by lia. now apply after_slow.
    - pose proof (sbf_slow P B x t legal). rewrite sbf_after in *. lia. }
  assert (after P B (t - x - z) <= n * B + min (r - gap) B) by (apply after_few; lia).
  lia.
Qed.

Lemma whole_periods P B gets s n : (forall m, m < n -> B <= amount gets (s + m * P) P) ->
  n * B <= amount gets s (n * P).
Proof.
  induction n as [|n IH]; intros each; [lia|].
  replace (S n * P) with (n * P + P) by lia. rewrite amount_split.
  pose proof (each n (Nat.lt_succ_diag_r n)). assert (n * B <= amount gets s (n * P)); [|lia].
  apply IH. intros m less. apply each. lia.
Qed.

Lemma one_of_many P m n : m < n -> m * P + P <= n * P.
Proof. intros less. apply (Nat.mul_le_mono_r (S m) n P) in less. lia. Qed.

(* * Periodic servers *)

(* Any window holds the bound, for the general shape: budget anywhere in the first D of a period. *)
Theorem periodic_supply P B D gets : 0 < B <= D -> D <= P -> periodic P B D gets ->
  forall a t, sbf P B (general P B D) t <= amount gets a t.
Proof.
  intros budget explicit law a t. unfold periodic in law.
  assert (each : forall k, B <= amount gets (k * P) P).
  { intros k. replace P with (D + (P - D)) at 2 by lia. rewrite amount_split.
    pose proof (law k). lia. }
  destruct (parts P a) as (k & o & inside & ->); [lia|].
  (* What the period of the beginning still brings, and a last piece. *)
  assert (front : forall u, D <= o + u -> B - o <= amount gets (k * P + o) u).
  { intros u enough. pose proof (law k) as one.
    destruct (Nat.le_gt_cases o D) as [early|after_it]; [|lia].
    replace D with (o + (D - o)) in one by lia. rewrite amount_split in one.
    pose proof (amount_at_most gets (k * P) o).
    replace u with (D - o + (u - (D - o))) by lia. rewrite amount_split. lia. }
  assert (tail : forall m r, min (r - (D - B)) B <= amount gets (m * P) r).
  { intros m r. pose proof (law m) as one. destruct (Nat.le_gt_cases r D) as [short|long].
    - replace D with (r + (D - r)) in one by lia. rewrite amount_split in one.
      pose proof (amount_at_most gets (m * P + r) (D - r)). lia.
    - replace r with (D + (r - D)) by lia. rewrite amount_split. lia. }
  destruct (Nat.le_gt_cases (P - o) t) as [across|within].
  - destruct (parts P (t - (P - o))) as (n & r & small & rest); [lia|].
    replace t with (P - o + (n * P + r)) by lia. rewrite amount_split, amount_split.
    apply pieces with (z := B - o) (n := n) (r := r) (gap := D - B);
      try (unfold general; lia).
    assert (B - o <= amount gets (k * P + o) (P - o)) by (apply front; lia).
    replace (k * P + o + (P - o)) with (S k * P) by (cbn [Nat.mul]; lia).
    assert (n * B <= amount gets (S k * P) (n * P)).
    { apply whole_periods. intros m _. rewrite <- Nat.mul_add_distr_r. apply each. }
    rewrite <- Nat.mul_add_distr_r. pose proof (tail (S k + n) r). lia.
  - pose proof (sbf_slow P B (general P B D) t) as slow. unfold general in *.
    destruct (Nat.le_gt_cases D (o + t)) as [due|before]; [pose proof (front t due); lia|].
    pose proof (law k) as one. replace D with (o + (t + (D - o - t))) in one by lia.
    rewrite !amount_split in one. pose proof (amount_at_most gets (k * P) o).
    pose proof (amount_at_most gets (k * P + o + t) (D - o - t)). lia.
Qed.

(* A periodic server goes without the processor for at most P - B of a period, so also for at most
   that of any part in which there is work: what holds for deferrable servers holds for periodic
   ones. *)
Lemma periodic_is_deferrable P B busy gets : 0 < B <= P -> periodic P B P gets ->
  deferrable P B busy gets.
Proof.
  intros budget law k a t begins ends _. pose proof (law k) as one.
  replace P with (a - k * P + (t + (P - (a - k * P) - t))) in one at 2 by lia.
  rewrite !amount_split in one. replace (k * P + (a - k * P)) with a in one by lia.
  pose proof (amount_at_most gets (k * P) (a - k * P)).
  pose proof (amount_at_most gets (a + t) (P - (a - k * P) - t)). lia.
Qed.

(* * Polling servers *)

Lemma throughout_part busy a t b u : throughout busy a t -> a <= b -> b + u <= a + t ->
  throughout busy b u.
Proof. intros all begins ends x inside. apply all. lia. Qed.

(* What comes in windows that begin with a period. *)
Lemma from_period P B busy gets k n r : 0 < B <= P -> polling P B busy gets -> r < P ->
  throughout busy (k * P) (n * P + r) -> n * B + (r - (P - B)) <= amount gets (k * P) (n * P + r).
Proof.
  intros budget law short all. rewrite amount_split, <- Nat.mul_add_distr_r.
  assert (n * B <= amount gets (k * P) (n * P)).
  { apply whole_periods. intros m less. rewrite <- Nat.mul_add_distr_r.
    pose proof (one_of_many P m n less).
    assert (P <= amount gets ((k + m) * P) P + (P - B)); [|lia].
    apply law; [lia|]. apply (throughout_part _ _ _ _ _ all); lia. }
  assert (r <= amount gets ((k + n) * P) r + (P - B)); [|lia].
  apply law; [lia|]. apply (throughout_part _ _ _ _ _ all); lia.
Qed.

Theorem polling_supply P B busy gets : 0 < B <= P -> polling P B busy gets ->
  supplies busy gets (sbf P B (late P B)).
Proof.
  intros budget law a t all. destruct (parts P a) as (k & o & inside & ->); [lia|].
  pose proof (sbf_slow P B (late P B) t) as slow.
  destruct (Nat.le_gt_cases (P - o) t) as [across|within]; [|unfold late in *; lia].
  destruct (parts P (t - (P - o))) as (n & r & small & rest); [lia|].
  replace t with (P - o + (n * P + r)) in * by lia. rewrite amount_split.
  replace (k * P + o + (P - o)) with (S k * P) by (cbn [Nat.mul]; lia).
  apply pieces with (z := 0) (n := n) (r := r) (gap := P - B); try (unfold late; lia).
  assert (working : throughout busy (S k * P) (n * P + r))
    by (apply (throughout_part _ _ _ _ _ all); cbn [Nat.mul]; lia).
  pose proof (from_period P B busy gets (S k) n r budget law small working). lia.
Qed.

(* * Deferrable servers, and the harmonic shape *)

Lemma deferrable_is_polling P B busy gets : deferrable P B busy gets -> polling P B busy gets.
Proof. intros law k t short all. apply law with (k := k); lia || exact all. Qed.

Theorem deferrable_supply P B busy gets : 0 < B <= P -> deferrable P B busy gets ->
  supplies busy gets (sbf P B (general P B P)).
Proof.
  intros budget law a t all. destruct (parts P a) as (k & o & inside & ->); [lia|].
  destruct (Nat.le_gt_cases (P - o) t) as [across|within].
  - destruct (parts P (t - (P - o))) as (n & r & small & rest); [lia|].
    replace t with (P - o + (n * P + r)) in * by lia. rewrite amount_split.
    assert (P - o <= amount gets (k * P + o) (P - o) + (P - B)).
    { apply law with (k := k); try lia. apply (throughout_part _ _ _ _ _ all); lia. }
    replace (k * P + o + (P - o)) with (S k * P) by (cbn [Nat.mul]; lia).
    apply pieces with (z := B - o) (n := n) (r := r) (gap := P - B); try (unfold general; lia).
    assert (working : throughout busy (S k * P) (n * P + r))
      by (apply (throughout_part _ _ _ _ _ all); cbn [Nat.mul]; lia).
    pose proof (from_period P B busy gets (S k) n r budget
      (deferrable_is_polling P B busy gets law) small working). lia.
  - pose proof (sbf_slow P B (general P B P) t). unfold general in *.
    assert (t <= amount gets (k * P + o) t + (P - B)); [|lia].
    apply law with (k := k); lia || exact all.
Qed.

(* In windows that begin with a period of the server, or lie in one, half of the blackout is
   enough. When the windows that matter are all like that stands in harmonic.v. *)
Theorem harmonic_supply P B busy gets : 0 < B <= P -> deferrable P B busy gets ->
  forall k a t, throughout busy a t -> a = k * P \/ (k * P <= a /\ a + t <= k * P + P) ->
    sbf P B (harmonic P B) t <= amount gets a t.
Proof.
  intros budget law k a t all [->|[begins ends]].
  - destruct (parts P t) as (n & r & small & ->); [lia|].
    apply pieces with (z := 0) (n := n) (r := r) (gap := P - B); try (unfold harmonic; lia).
    pose proof (from_period P B busy gets k n r budget
      (deferrable_is_polling P B busy gets law) small all). lia.
  - assert (t <= amount gets a t + (P - B)) by (apply law with (k := k); assumption).
    pose proof (sbf_slow P B (harmonic P B) t). unfold harmonic in *. lia.
Qed.

(* * All three *)

Theorem server_supply P B D by_rule busy gets : 0 < B <= D -> D <= P ->
  keeps P B D by_rule busy gets -> supplies busy gets (sbf P B (blackout P B D by_rule)).
Proof.
  intros budget explicit. assert (0 < B <= P) by lia. destruct by_rule; intros law.
  - intros a t _. apply periodic_supply; [lia..|assumption].
  - now apply deferrable_supply.
  - now apply polling_supply.
Qed.

(* * No less blackout would do *)

(* Nothing before first, then B at the beginning of each P. *)
Definition pattern (P B first y : nat) : bool := (first <=? y) && ((y - first) mod P <? B).

Lemma pattern_after P B first a t : 0 < B <= P -> a <= first ->
  amount (pattern P B first) a t = after P B (t - (first - a)).
Proof.
  intros budget early. induction t as [|t IH]; cbn [amount].
  - symmetry. apply (after_parts P B 0 0). lia.
  - rewrite IH. unfold pattern. destruct (Nat.leb_spec first (a + t)); cbn [andb].
    + replace (S t - (first - a)) with (S (t - (first - a))) by lia.
      rewrite after_step by lia. now replace (a + t - first) with (t - (first - a)) by lia.
    + replace (S t - (first - a)) with (t - (first - a)) by lia. lia.
Qed.

Lemma pattern_given P B first m y : 0 < B <= P ->
  first + m * P <= y < first + m * P + B -> pattern P B first y = true.
Proof.
  intros budget inside. unfold pattern. apply andb_true_intro. split; [apply Nat.leb_le; lia|].
  apply Nat.ltb_lt. replace (y - first) with (m * P + (y - first - m * P)) by lia.
  rewrite remainder; lia.
Qed.

(* Budget at the beginning of the first period, and as late as may be in all others. *)
Definition worst (P B D y : nat) : bool := (y <? B) || pattern P B (P + D - B) y.

Lemma worst_is_periodic P B D : 0 < B <= D -> D <= P -> periodic P B D (worst P B D).
Proof.
  intros budget explicit k. destruct k as [|k].
  - replace D with (B + (D - B)) at 2 by lia. rewrite amount_split, amount_of_all; [lia|].
    intros x inside. unfold worst.
    now replace (x <? B) with true by (symmetry; apply Nat.ltb_lt; lia).
  - replace D with (D - B + B) at 2 by lia. rewrite amount_split, (amount_of_all _ (_ + _)); [lia|].
    intros x inside. unfold worst. rewrite (pattern_given P B _ k) by lia. apply orb_true_r.
Qed.

(* A periodic server of any numbers may supply exactly the bound, in windows of all lengths. This
   one keeps the law of deferrable servers as well (periodic_is_deferrable). *)
Theorem periodic_supply_met P B D : 0 < B <= D -> D <= P ->
  exists gets a, periodic P B D gets /\
    forall t, amount gets a t = sbf P B (general P B D) t.
Proof.
  intros budget explicit. exists (worst P B D), B. split; [now apply worst_is_periodic|].
  intros t. rewrite sbf_after.
  replace (general P B D) with (P + D - B - B) by (unfold general; lia).
  rewrite <- (pattern_after P B (P + D - B) B t) by lia. unfold worst.
  induction t as [|t IH]; cbn [amount]; [reflexivity|]. rewrite IH.
  now replace (B + t <? B) with false by (symmetry; apply Nat.ltb_ge; lia).
Qed.

(* Of any polling server: work that comes one instant after a period began waits for the next, so
   that the bound is met but for one instant of its blackout. *)
Theorem polling_supply_met P B : 0 < B <= P ->
  exists gets busy a, polling P B busy gets /\ (forall t, throughout busy a t) /\
    forall t, amount gets a t = sbf P B (late P B - 1) t.
Proof.
  intros budget. exists (pattern P B (P + P - B)), (fun x => 1 <= x), 1. split; [|split].
  - intros k t short all. destruct k as [|k].
    + destruct t; [lia|]. assert (1 <= 0 * P) by (apply all; lia). lia.
    + destruct (Nat.le_gt_cases t (P - B)); [lia|].
      replace t with (P - B + (t - (P - B))) at 2 by lia.
      rewrite amount_split, (amount_of_all _ (_ + _)); [lia|].
      intros x inside. apply (pattern_given P B _ k); lia.
  - intros t x inside. lia.
  - intros t. rewrite sbf_after, pattern_after by lia. f_equal. unfold late. lia.
Qed.
