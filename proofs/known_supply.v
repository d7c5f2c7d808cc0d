(* SPDX-License-Identifier: BSD-2-Clause *)
(* What a server supplies when it is known who else is on its pcpus, and that tasks on it are in
   time.

   A window is cut where the periods of the server begin. If work comes in the middle of a period,
   what is left of the budget comes first; then a budget in each period, and a part of one in the
   last. That the sum is on the staircase is a matter of when the work comes: the longer after the
   refill, the more of the budget is used up, and the sooner the next one comes. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host deferrable known.

(* * Supply *)

(* What is counted up to t is no more than has come if each unit is. *)
Lemma amount_of_first f t got : (forall n, n < t -> f n = true -> n < got) -> amount f 0 t <= got.
Proof.
  intros each. apply Nat.le_trans with (amount (fun _ => true) 0 got).
  - apply amount_in_part. intros n small yes. specialize (each n small yes). split; [lia|].
    reflexivity.
  - apply amount_at_most.
Qed.

Section Supply.
Context (P B : nat) (wait : nat -> nat) (by_rule : rule) (busy : nat -> Prop) (gets : supply).
Context (some : 0 < B) (shape : steps P B wait) (law : comes_by P B wait by_rule busy gets).

Lemma whole y : y < B -> S y + wait y <= P /\ wait y <= P - B.
Proof.
  intros small. split; [now apply shape|]. apply Nat.le_trans with (wait (B - 1)).
  - apply shape. lia.
  - pose proof (proj1 shape (B - 1)). lia.
Qed.

(* From a refill on: j budgets, and a part of one more. *)
Lemma from_refill k j y t : y < B -> j * P + (S y + wait y) <= t -> throughout busy (k * P) t ->
  j * B + S y <= amount gets (k * P) t.
Proof.
  intros small enough all.
  assert (unit : forall i z u, z < B -> S z + wait z <= u -> i * P + u <= t ->
    S z <= amount gets ((k + i) * P) u).
  { intros i z u little long early.
    pose proof (law (k + i) 0 z little ltac:(lia)) as one.
    rewrite Nat.add_0_r, Nat.sub_0_r in one.
    apply Nat.le_trans with (2 := amount_grows _ _ _ _ long), one.
    intros _. apply (throughout_part _ _ _ _ _ all); lia. }
  replace t with (j * P + (t - j * P)) by lia. rewrite amount_split, <- Nat.mul_add_distr_r.
  assert (j * B <= amount gets (k * P) (j * P)).
  { apply whole_periods. intros i less. rewrite <- Nat.mul_add_distr_r.
    pose proof (one_of_many P i j less). pose proof (unit i (B - 1) P). pose proof (whole (B - 1)).
    lia. }
  pose proof (unit j y (t - j * P)). lia.
Qed.

End Supply.

Theorem known_supply P B wait by_rule busy gets : 0 < B -> steps P B wait ->
  comes_by P B wait by_rule busy gets -> supplies busy gets (staircase P B wait by_rule).
Proof.
  intros some shape law a t all. pose proof (whole P B wait some shape) as units.
  apply amount_of_first. intros n _ come%Nat.leb_le.
  destruct (parts P a) as (k & o & inside & ->); [pose proof (units 0); lia|].
  pose proof (Nat.mul_comm B (n / B)) as turned. pose proof (Nat.div_mod n B ltac:(lia)) as divided.
  pose proof (Nat.mod_upper_bound n B ltac:(lia)) as small.
  set (j := n / B) in *. set (y := n mod B) in *.
  assert (next : forall i z, z < B -> P - o + (i * P + (S z + wait z)) <= t ->
    i * B + S z <= amount gets (k * P + o + (P - o)) (t - (P - o))).
  { intros i z little long. replace (k * P + o + (P - o)) with (S k * P) by (cbn [Nat.mul]; lia).
    apply (from_refill P B wait by_rule busy gets some shape law); [assumption|lia|].
    apply (throughout_part _ _ _ _ _ all); cbn [Nat.mul]; lia. }
  assert (cut : P - o <= t ->
    amount gets (k * P + o) t = amount gets (k * P + o) (P - o)
      + amount gets (k * P + o + (P - o)) (t - (P - o))).
  { intros over. rewrite <- amount_split. f_equal. lia. }
  destruct (Nat.eq_dec o 0) as [->|later].
  { rewrite Nat.add_0_r in *. assert (j * B + S y <= amount gets (k * P) t); [|lia].
    now apply (from_refill P B wait by_rule busy gets some shape law); [|lia|]. }
  assert (late : o + away P B by_rule < P -> by_rule <> Polling /\ away P B by_rule = P - B).
  { destruct by_rule; cbn [away]; split; congruence || lia. }
  destruct (Nat.le_gt_cases P (o + away P B by_rule)) as [gone|had].
  { rewrite cut by lia. pose proof (next j y small). lia. }
  destruct (late had) as [not_polling first]. rewrite first in *. clear late.
  assert (rest : forall z, z < B -> S z + wait z <= o + t ->
    S z <= o + amount gets (k * P + o) (S z + wait z - o)).
  { intros z little long. apply law; [assumption|contradiction|].
    intros _. apply (throughout_part _ _ _ _ _ all); lia. }
  (* What is left of the budget comes. *)
  assert (front : P - o <= t -> B <= o + amount gets (k * P + o) (P - o)).
  { intros over. pose proof (units (B - 1)) as last. pose proof (rest (B - 1)).
    pose proof (amount_grows gets (k * P + o) (S (B - 1) + wait (B - 1) - o) (P - o)). lia. }
  destruct (Nat.le_gt_cases B (y + o)) as [more|few].
  - (* More than that is asked of the last budget. *)
    assert (wait (y + o - B) <= wait y) by (apply shape; lia).
    rewrite cut by lia. pose proof (next j (y + o - B)). lia.
  - pose proof (units (y + o)) as bounds. destruct j as [|j].
    + pose proof (rest (y + o)).
      pose proof (amount_grows gets (k * P + o) (S (y + o) + wait (y + o) - o) t). lia.
    + rewrite cut by lia. pose proof (next j (y + o)). lia.
Qed.

(* * What is waited for *)

(* Instants of which each has c of n properties. *)
Lemma amount_by_many c n f (g : nat -> nat -> bool) a t :
  (forall x, a <= x < a + t -> f x = true -> c <= sum n (fun h => if g h x then 1 else 0)) ->
  c * amount f a t <= sum n (fun h => amount (g h) a t).
Proof.
  induction t as [|t IH]; intros many; cbn [amount]; [lia|].
  rewrite sum_plus, Nat.mul_add_distr_l.
  assert (c * amount f a t <= sum n (fun h => amount (g h) a t))
    by (apply IH; intros; apply many; [lia|assumption]).
  destruct (f (a + t)) eqn:yes; [pose proof (many (a + t) ltac:(lia) yes)|]; lia.
Qed.

Lemma amount_reaches f a t j : j <= amount f a t -> exists v, v <= t /\ amount f a v = j.
Proof.
  induction t as [|t IH]; cbn [amount]; intros enough; [exists 0; cbn; lia|].
  destruct (Nat.le_gt_cases j (amount f a t)) as [before|now].
  - destruct (IH before) as (v & short & same). exists v. lia.
  - exists (S t). split; [lia|]. cbn [amount]. destruct (f (a + t)); lia.
Qed.

(* Of servers on any number of pcpus, all that matters is when each pays. *)
Section Paid.
Context (c m : nat) (servers : nat -> server) (by_order : order) (paid : nat -> nat -> bool).
Context (periods : forall s, s < m -> 0 < every (servers s)).
Context (each : forall o k u, o < m -> u <= every (servers o) ->
  amount (paid o) (k * every (servers o)) u <= budget (servers o)).
Context (s : nat) (inside : s < m).
Let P := every (servers s).
Let B := budget (servers s).
Local Notation ahead_of := (before paid (place by_order servers) s).

(* What o pays ahead of the server is no more than the test counts. *)
Lemma spent_ahead k o t : o < m -> t <= P ->
  amount (ahead_of o) (k * P) t <= spends_ahead by_order servers s k t o.
Proof.
  intros real short. unfold spends_ahead. fold P. set (Q := every (servers o)).
  pose proof (periods o real : 0 < Q) as some.
  assert (spent : forall u, amount (paid o) (k * P) u <= spends (servers o) (Q - (k * P) mod Q) u).
  { intros u. rewrite (Nat.div_mod (k * P) Q) at 1 by lia. rewrite Nat.mul_comm.
    apply spent_after; [assumption| |apply Nat.mod_upper_bound; lia]. intros. now apply each. }
  destruct by_order.
  - destruct (Nat.leb_spec (rank (servers o)) (rank (servers s))) as [first|lower].
    + apply Nat.le_trans with (2 := spent t), amount_weak. now intros x [yes _]%andb_prop.
    + rewrite amount_of_none; [apply le_n|]. intros x _. unfold before. cbn [place].
      apply Nat.leb_gt in lower. rewrite lower. apply andb_false_r.
  - apply Nat.le_trans with (2 := spent _). apply before_ends; [now apply periods..|assumption].
Qed.

(* What may be ahead in a period is again where all periods have begun together. *)
Lemma ahead_again M l k t j : (forall o, o < m -> exists q, M = q * every (servers o)) ->
  (exists q, l * P = k * P + q * M) ->
  ahead m servers by_order s l t j = ahead m servers by_order s k t j.
Proof.
  intros multiple [q again]. apply sum_same. intros o real. destruct (o =? s); [reflexivity|].
  f_equal. unfold spends_ahead. fold P. destruct (multiple o real) as [p whole].
  rewrite again, whole. pose proof (periods o real). set (Q := every (servers o)) in *.
  rewrite Nat.mul_assoc, Nat.mod_add by lia.
  replace (k * P + q * p * Q + P) with (k * P + P + q * p * Q) by lia. rewrite Nat.div_add by lia.
  replace (((k * P + P) / Q + q * p) * Q - (k * P + q * p * Q)) with ((k * P + P) / Q * Q - k * P)
    by lia. reflexivity.
Qed.

(* If the server had less by t, it would have been without a pcpu for j instants at least, and the
   others would have kept all of them in the first j of these. *)
Lemma has_come wait k o y : waits_for_others c m servers by_order s wait -> y < B ->
  (forall x, k * P + o <= x < k * P + (S y + wait y) -> amount (paid s) (k * P) (x - k * P) < B ->
     paid s x = false -> c <= sum m (fun i => if (if i =? s then false else ahead_of i x)
       then 1 else 0)) ->
  S y <= o + amount (paid s) (k * P + o) (S y + wait y - o).
Proof.
  intros ((ends & _) & M & some & multiple & test) small taken. fold P B in ends.
  pose proof (periods s inside : 0 < P) as positive. pose proof (ends y small) as whole.
  destruct (multiple s inside) as [q round]. fold P in round. assert (0 < q) by nia.
  destruct (test (k mod q) y) as (t & soon & left_for_it); [|assumption|].
  { fold P. rewrite round. apply Nat.mul_lt_mono_pos_r; [assumption|].
    apply Nat.mod_upper_bound. lia. }
  rewrite <- (ahead_again M k (k mod q) t (t - y) multiple) in left_for_it.
  2: { exists (k / q). rewrite round, (Nat.div_mod k q) at 1 by lia. lia. }
  apply Nat.nlt_ge. intros few.
  pose proof (amount_grows (paid s) (k * P + o) (t - o) (S y + wait y - o)) as grows.
  set (a := k * P + o) in *. set (without x := negb (paid s x)).
  assert (forall u, amount (paid s) a u + amount without a u = u) as parts_of.
  { intros u. induction u as [|u IH]; cbn [amount]; [reflexivity|]. unfold without at 2.
    destruct (paid s (a + u)); cbn [negb]; lia. }
  pose proof (parts_of (t - o)).
  destruct (amount_reaches without a (t - o) (t - y)) as (v & short & same); [lia|].
  assert (c * amount without a v
    <= sum m (fun i =>
         amount (fun x => without x && (if i =? s then false else ahead_of i x)) a v)).
  { apply amount_by_many. intros x there off. rewrite (sum_same m _
      (fun i => if (if i =? s then false else ahead_of i x) then 1 else 0))
      by (intros; now rewrite off).
    apply taken; [unfold a in there; lia| |now apply negb_true_iff].
    pose proof (amount_split (paid s) (k * P) o (x - a)) as cut. fold a in cut.
    replace (o + (x - a)) with (x - k * P) in cut by (unfold a in *; lia).
    pose proof (amount_at_most (paid s) (k * P) o).
    pose proof (amount_grows (paid s) a (x - a) (S y + wait y - o)). lia. }
  assert (sum m (fun i =>
      amount (fun x => without x && (if i =? s then false else ahead_of i x)) a v)
    <= ahead m servers by_order s k t (t - y)); [|lia].
  apply sum_weak. intros i real. destruct (i =? s).
  - rewrite amount_of_none; [apply le_n|]. intros x _. apply andb_false_r.
  - apply Nat.min_glb.
    + rewrite <- same. apply amount_weak. now intros x [yes _]%andb_prop.
    + apply Nat.le_trans with (2 := spent_ahead k i t real ltac:(lia)).
      pose proof (amount_split (ahead_of i) (k * P) o (t - o)) as cut. fold a in cut.
      replace (o + (t - o)) with t in cut by lia.
      pose proof (amount_grows (ahead_of i) a v (t - o) short).
      assert (amount (fun x => without x && ahead_of i x) a v <= amount (ahead_of i) a v)
        by (apply amount_weak; now intros x [_ yes]%andb_prop). lia.
Qed.

(* Who has work as its rule asks may pay until it has used up its budget. *)
Lemma may_until_used_up by_rule h k o t x :
  (by_rule = Polling -> o = 0) ->
  (by_rule <> Periodic -> throughout (wants h s) (k * P + o) (t - o)) ->
  k * P + o <= x < k * P + t -> t <= P ->
  amount (charged h s) (k * P) (x - k * P) < B -> may_pay by_rule servers h s x.
Proof.
  intros polled working there short left_over. pose proof (periods s inside : 0 < P) as some.
  split; [apply (unspent_in servers h s k); [assumption|fold P; lia|exact left_over]|].
  destruct by_rule; [exact I|apply working; [discriminate|lia]|].
  specialize (polled eq_refl). subst o. destruct (same_period P k x) as [is_k from]; [lia..|].
  fold P. rewrite is_k, from. intros z there_too. apply working; [discriminate|lia].
Qed.

End Paid.

Theorem known_servers m servers by_order by_rule by_slack h s wait :
  (forall i, i < m -> 0 < every (servers i)) ->
  paying by_rule m servers by_order h -> sharing by_slack servers h ->
  s < m -> waits_for_others 1 m servers by_order s wait ->
  comes_by (every (servers s)) (budget (servers s)) wait by_rule (wants h s) (charged h s).
Proof.
  intros periods legal shared inside test k o y small polled working.
  apply (has_come 1 m servers by_order (charged h) periods); try assumption.
  { intros i l u real. now apply (at_most m servers by_order by_rule by_slack). }
  intros x there left_over off. destruct (proj2 (legal x) s inside) as (p & who & first).
  { apply (may_until_used_up m servers periods s inside by_rule h k o (S y + wait y));
      try assumption. now apply (proj1 (proj1 test)). }
  apply Nat.le_trans with (2 := sum_has m _ p (proj1 (proj1 (legal x) p who))).
  assert (charged h p x = true) as pays_p by (unfold charged; now rewrite who, here_itself).
  destruct (Nat.eqb_spec p s) as [->|_]; [congruence|]. unfold before. rewrite pays_p.
  apply Nat.leb_le in first. now rewrite first.
Qed.

Theorem known_servers_on_several c m servers by_order by_rule paid wants s wait :
  (forall i, i < m -> 0 < every (servers i)) ->
  several_pay c by_rule m servers by_order paid wants ->
  s < m -> waits_for_others c m servers by_order s wait ->
  comes_by (every (servers s)) (budget (servers s)) wait by_rule (wants s) (paid s).
Proof.
  intros periods legal inside test k o y small polled working.
  assert (same : forall i a t, amount (charged (alone paid wants i) i) a t = amount (paid i) a t).
  { intros i a t. induction t as [|t IH]; cbn [amount]; [reflexivity|]. rewrite IH.
    unfold charged. cbn [alone pays also]. destruct (paid i (a + t)); cbn [here orb];
      [now rewrite Nat.eqb_refl|reflexivity]. }
  apply (has_come c m servers by_order paid periods); try assumption.
  - intros i l u real. induction u as [|u IH]; intros short; cbn [amount]; [lia|].
    destruct (paid i (l * every (servers i) + u)) eqn:yes; [|lia].
    destruct (legal (l * every (servers i) + u)) as (_ & funded & _).
    destruct (funded i yes) as [_ [left_over _]].
    apply (unspent_in servers _ i l) in left_over; [|now apply periods|lia].
    rewrite same in left_over.
    replace (l * every (servers i) + u - l * every (servers i)) with u in left_over by lia. lia.
  - intros x there left_over off. destruct (legal x) as (_ & _ & full).
    rewrite <- (full s inside) at 1; [|rewrite <- same in left_over|assumption].
    + apply sum_weak. intros i _. unfold before.
      destruct (Nat.eqb_spec i s) as [->|_]; [now rewrite off|lia].
    + apply (may_until_used_up m servers periods s inside by_rule _ k o (S y + wait y));
        try assumption. now apply (proj1 (proj1 test)).
Qed.

(* * Tasks on a server *)

Theorem known_servers_in_time servers by_rule by_slack h s wait d r :
  let P := every (servers s) in
  let B := budget (servers s) in
  sharing by_slack servers h -> inside h s d r ->
  0 < B -> steps P B wait -> comes_by P B wait by_rule (wants h s) (charged h s) ->
  (forall i, i < size d -> 0 < period (members d i)) ->
  fits d (staircase P B wait by_rule) -> in_time (size d) (members d) r.
Proof.
  intros P B shared within_it some units known shape fit.
  destruct within_it as [jobs within_it].
  pose proof (time_scheduled by_slack servers h s d r shared within_it) as in_turn.
  destruct within_it as [working _]. unfold fits in fit. unfold local_key in in_turn.
  assert (supplied : supplies (busy (size d) r) (time_of h s) (staircase P B wait by_rule)).
  { intros a t all. apply Nat.le_trans with (amount (charged h s) a t).
    - apply (known_supply P B wait by_rule (wants h s)); try assumption.
      intros x there. now apply working, all.
    - apply amount_weak. intros x yes. unfold time_of. now rewrite yes. }
  destruct (scheduler d) as [ranks|].
  - now apply (fixed_priority_in_time _ _ ranks _ (time_of h s)) with (4 := supplied).
  - now apply (edf_in_time _ _ _ (time_of h s)) with (4 := supplied).
Qed.
