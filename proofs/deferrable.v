(* SPDX-License-Identifier: BSD-2-Clause *)
(* Deferrable servers on one pcpu keep their law, under fixed priority and under EDF.

   Take a window in one period of the server in which it has work throughout. If its budget is used
   up by the end, it was without the pcpu for no more than P - B, since it had the pcpu for B in
   that period. If not, it has budget at each instant of the window, so who pays instead of it comes
   no later than it does. What these may pay the tests count in windows that begin with the period;
   if the work comes later, the time before it is at most lost as well. A server above may spend a
   budget at the end of one period and the next one right after it, whenever it has work. Nothing is
   asked of the others, and nothing of time that nobody pays for. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host.

(* * What is spent in a window, with B at most in each period *)

Section Spending.
Context (P B : nat) (f : nat -> bool).
Context (some : 0 < P) (each : forall k u, u <= P -> amount f (k * P) u <= B).

(* In one that begins with a period. *)
Lemma spent_from n k t : amount f (k * P) t <= n * B + (t - n * P).
Proof.
  revert k t. induction n as [|n IH]; intros k t; [pose proof (amount_at_most f (k * P) t); lia|].
  destruct (Nat.le_gt_cases t P) as [short|long]; [pose proof (each k t short); lia|].
  replace t with (P + (t - P)) at 1 by lia. rewrite amount_split.
  replace (k * P + P) with (S k * P) by lia. specialize (IH (S k) (t - P)).
  pose proof (each k P (le_n _)). lia.
Qed.

(* In one that ends with a period. *)
Lemma spent_until n q t : t <= q * P -> amount f (q * P - t) t <= n * B + (t - n * P).
Proof.
  revert q t. induction n as [|n IH]; intros q t inside;
    [pose proof (amount_at_most f (q * P - t) t); lia|].
  destruct q as [|q]; [replace t with 0 by lia; cbn; lia|]. cbn [Nat.mul] in *.
  destruct (Nat.le_gt_cases t P) as [short|long].
  - pose proof (each q P (le_n _)) as one. replace P with (P - t + t) in one at 2 by lia.
    rewrite amount_split in one. replace (q * P + (P - t)) with (P + q * P - t) in one by lia. lia.
  - replace t with (t - P + P) at 2 by lia. rewrite amount_split.
    replace (P + q * P - t + (t - P)) with (q * P) by lia.
    replace (P + q * P - t) with (q * P - (t - P)) by lia.
    specialize (IH q (t - P)). pose proof (each q P (le_n _)). lia.
Qed.

(* In any: that of a task with jitter P - B. *)
Lemma spent_in_any a t : amount f a t <= ceiling (t + (P - B)) P * B.
Proof.
  destruct t as [|t]; [cbn; lia|]. set (n := ceiling (S t + (P - B)) P).
  assert (ends : 0 < n /\ S t + (P - B) <= n * P).
  { pose proof (ceiling_reaches P (S t + (P - B)) some) as reach. fold n in reach.
    destruct n; lia. }
  destruct (parts P a some) as (k & o & inside & ->).
  destruct (Nat.le_gt_cases (o + S t) (n * P)) as [early|late_in_it].
  - pose proof (spent_from n k (o + S t)) as all. rewrite amount_split in all. lia.
  - destruct n as [|n]; [lia|]. cbn [Nat.mul] in *.
    destruct (Nat.le_gt_cases (S t) (P - o)) as [one|more].
    + pose proof (each k (o + S t)) as all. rewrite amount_split in all. lia.
    + replace (S t) with (P - o + (S t - (P - o))) by lia. rewrite amount_split.
      replace (k * P + o + (P - o)) with (S k * P) by (cbn [Nat.mul]; lia).
      pose proof (spent_from n (S k) (S t - (P - o))).
      pose proof (amount_at_most f (k * P + o) (P - o)). lia.
Qed.

Lemma spent_at_most u spent : (forall n, spent <= n * B + (u - n * P)) -> spent <= after P B u.
Proof.
  intros bound. destruct (parts P u some) as (n & r & small & ->).
  rewrite after_parts by assumption.
  pose proof (bound n). pose proof (bound (S n)) as one_more. cbn [Nat.mul] in *. lia.
Qed.

(* In one that begins w after a period did: of what that one has, and from the next one on. *)
Lemma spent_after l w t : w < P ->
  amount f (l * P + w) t <= min (min B (P - w)) t + sbf P B (P - w) t.
Proof.
  intros early. rewrite sbf_after.
  assert (first : forall u, u <= P - w -> amount f (l * P + w) u <= min B u).
  { intros u short. pose proof (each l (w + u) ltac:(lia)) as one. rewrite amount_split in one.
    pose proof (amount_at_most f (l * P + w) u). lia. }
  destruct (Nat.le_gt_cases t (P - w)) as [one|more]; [pose proof (first t one); lia|].
  replace t with (P - w + (t - (P - w))) at 1 by lia. rewrite amount_split.
  replace (l * P + w + (P - w)) with (S l * P) by (cbn [Nat.mul]; lia).
  pose proof (first (P - w) (le_n _)).
  pose proof (spent_at_most (t - (P - w)) _ (fun n => spent_from n (S l) (t - (P - w)))). lia.
Qed.

End Spending.

(* All but one of the terms are no more than those of g. *)
Lemma sum_but_one n s f g : s < n -> (forall h, h < n -> h <> s -> f h <= g h) ->
  sum n f + g s <= f s + sum n g.
Proof.
  induction n as [|n IH]; intros inside each; [lia|]. cbn [sum].
  destruct (Nat.eq_dec s n) as [->|other].
  - assert (sum n f <= sum n g); [|lia]. apply sum_weak. intros h low. apply each; lia.
  - assert (sum n f + g s <= f s + sum n g) by (apply IH; [lia|]; intros; apply each; lia).
    assert (f n <= g n) by (apply each; lia). lia.
Qed.

Lemma amount_before f a t e :
  amount (fun x => f x && (x <? e)) a t <= amount f a (min t (e - a)).
Proof.
  replace t with (min t (e - a) + (t - (e - a))) at 1 by lia. rewrite amount_split.
  rewrite (amount_of_none _ (a + min t (e - a))), Nat.add_0_r.
  - apply amount_weak. now intros x [yes _]%andb_prop.
  - intros x there. destruct (Nat.ltb_spec x e); [lia|]. now rewrite andb_false_r.
Qed.

(* * One server *)

(* Whether o pays, and comes no later than s: `turn` says who comes first at an instant, the lower
   one. *)
Definition before (paid : nat -> nat -> bool) (turn : nat -> nat -> nat) (s o x : nat) : bool :=
  paid o x && (turn o x <=? turn s x).

(* Under EDF, only in periods that end no later. *)
Lemma before_ends servers paid s o k t : 0 < every (servers s) -> 0 < every (servers o) ->
  let P := every (servers s) in
  let Q := every (servers o) in
  t <= P -> amount (before paid (place ByDeadline servers) s o) (k * P) t <=
    amount (paid o) (k * P) (min t ((k * P + P) / Q * Q - k * P)).
Proof.
  intros own some P Q short. fold P in own. fold Q in some.
  apply Nat.le_trans with (2 := amount_before _ (k * P) t ((k * P + P) / Q * Q)).
  rewrite <- (Nat.add_0_l (amount _ (k * P) t)).
  apply (amount_covered 1 _ (fun _ x => paid o x && (x <? (k * P + P) / Q * Q))).
  intros x there [yes first]%andb_prop. exists 0. split; [lia|]. rewrite yes.
  apply Nat.ltb_lt. apply Nat.leb_le in first. cbn [place] in first. fold P Q in first.
  destruct (same_period P k x own) as [same _]; [lia|]. rewrite same in first.
  pose proof (in_period Q x some).
  assert (x / Q + 1 <= (k * P + P) / Q); [|nia]. apply Nat.div_le_lower_bound; lia.
Qed.

Section Server.
Context (m : nat) (servers : nat -> server) (by_order : order) (by_rule : rule).
Context (by_slack : slack) (h : host) (periods : forall s, s < m -> 0 < every (servers s)).
Context (legal : paying by_rule m servers by_order h) (shared : sharing by_slack servers h).

Lemma at_most o k u : o < m -> u <= every (servers o) ->
  amount (charged h o) (k * every (servers o)) u <= budget (servers o).
Proof.
  intros real. apply (charged_at_most m servers by_order _ h legal); [now intros x o' []| |].
  - intros x o' beside. now apply (also_unspent by_slack servers h shared).
  - now apply periods.
Qed.

End Server.

(* In a window of a period of server s, which begins at T and has a budget B of P for it, s is
   without the pcpu for P - B at most, if g bounds what the others spend in the first L of the
   period, and g s is the budget. Work may come later in the period: then the time before it is lost
   as well. *)
Lemma window_kept m paid turn s P B gets T g L a t : s < m ->
  (forall x, paid s x = true -> gets x = true) -> L <= P -> g s = B -> sum m g <= L ->
  (forall o, o < m -> o <> s -> amount (before paid turn s o) T L <= g o) ->
  T <= a -> a + t <= T + P ->
  (forall x, a <= x < a + t -> amount gets T (x - T) < B ->
     exists o, paid o x = true /\ o < m /\ turn o x <= turn s x) ->
  t <= amount gets a t + (P - B).
Proof.
  intros inside own_time window own enough bounded begins ends first.
  assert (earlier : forall u, amount gets T (a - T + u) = amount gets T (a - T) + amount gets a u).
  { intros u. rewrite amount_split. now replace (T + (a - T)) with a by lia. }
  pose proof (amount_at_most gets T (a - T)) as had.
  destruct (Nat.le_gt_cases B (amount gets T (a - T + t))) as [used_up|left].
  { rewrite earlier in used_up. lia. }
  (* What of the window lies in the first L. *)
  pose (u := min t (T + L - a)).
  assert (covered : u <= sum m (fun o => amount (before paid turn s o) a u)).
  { rewrite <- (amount_of_all (fun _ => true) a u) at 1 by reflexivity. apply amount_covered.
    intros x there _. destruct (first x) as (o & who & real & sooner); [lia| |].
    - pose proof (amount_grows gets T (x - T) (a - T + t)). lia.
    - exists o. split; [assumption|]. unfold before. rewrite who. now apply Nat.leb_le. }
  pose proof (sum_but_one m s (fun o => amount (before paid turn s o) a u) g inside) as swap.
  assert (amount (before paid turn s s) a u <= amount gets a u).
  { apply amount_weak. intros x [who _]%andb_prop. now apply own_time. }
  pose proof (amount_grows gets a u t) as grows.
  cbn beta in swap. rewrite own in swap.
  assert (sum m (fun o => amount (before paid turn s o) a u) + B <=
    amount (before paid turn s s) a u + sum m g); [|lia].
  apply swap. intros o real other. apply Nat.le_trans with (2 := bounded o real other).
  destruct (Nat.le_gt_cases (T + L) a) as [beyond|]; [replace u with 0 by lia; cbn; lia|].
  replace L with (a - T + (u + (L - (a - T) - u))) by lia.
  rewrite !amount_split. replace (T + (a - T)) with a by lia. lia.
Qed.

(* The law, by what the others spend in the first L of each period. *)
Lemma law_kept m servers by_order h s g L :
  (forall s, s < m -> 0 < every (servers s)) -> paying Deferrable m servers by_order h -> s < m ->
  L <= every (servers s) -> g s = budget (servers s) -> sum m g <= L ->
  (forall o k, o < m -> o <> s ->
     amount (before (charged h) (place by_order servers) s o) (k * every (servers s)) L <= g o) ->
  deferrable (every (servers s)) (budget (servers s)) (wants h s) (charged h s).
Proof.
  intros periods legal inside window own enough bounded k a t begins ends working.
  apply (window_kept m (charged h) (place by_order servers) s _ _ _ (k * every (servers s)) g L);
    try assumption.
  - trivial.
  - intros o real other. now apply bounded.
  - intros x there unspent. destruct (proj2 (legal x) s inside) as (o & who & first).
    + split; [|now apply working].
      apply (unspent_in servers h s k); [now apply periods|lia|assumption].
    + exists o. unfold charged. rewrite who, here_itself.
      split; [reflexivity|]. split; [now apply (proj1 (legal x) o)|assumption].
Qed.

(* * The tests *)

(* Under fixed priority: each server for which a window of its response time is known, whatever
   becomes of the others. *)
Theorem deferrable_fixed_priority m servers by_slack h s :
  (forall i, i < m -> 0 < every (servers i)) ->
  paying Deferrable m servers ByRank h -> sharing by_slack servers h -> s < m ->
  (exists t, t <= every (servers s) /\
     job_rbf m (fun i => as_deferrable (servers i)) (fun i => rank (servers i)) s 1 t <= t) ->
  deferrable (every (servers s)) (budget (servers s)) (wants h s) (charged h s).
Proof.
  intros periods legal shared inside (L & window & enough).
  apply (law_kept m servers ByRank h s) with (6 := enough); try assumption.
  - now rewrite Nat.leb_refl, Nat.eqb_refl, Nat.mul_1_l.
  - intros o k real other. unfold before. cbn [place as_deferrable cost period jitter].
    destruct (rank (servers o) <=? rank (servers s)).
    + apply Nat.eqb_neq in other. rewrite other.
      apply Nat.le_trans with (amount (charged h o) (k * every (servers s)) L).
      { apply amount_weak. now intros x [yes _]%andb_prop. }
      apply spent_in_any; [now apply periods|]. intros.
      now apply (at_most m servers ByRank Deferrable by_slack).
    + rewrite amount_of_none; [apply le_n|]. intros x _. apply andb_false_r.
Qed.

(* The most that can be spent of two budgets with a pause at r is with r next to the budget. *)
Lemma worst_begin one g r t : 0 < budget one <= every one -> 0 < r -> Nat.divide g r ->
  spends one r t <=
  max (spends one (budget one / g * g) t) (spends one (ceiling (budget one) g * g) t).
Proof.
  intros sane later [q ->]. unfold spends, ceiling. rewrite !sbf_after.
  set (Q := every one) in *. set (B := budget one) in *. assert (0 < g) as some by nia.
  pose proof (Nat.div_mod B g). pose proof (Nat.mod_upper_bound B g).
  pose proof (Nat.div_mod (B + g - 1) g). pose proof (Nat.mod_upper_bound (B + g - 1) g).
  set (low := B / g * g). set (high := (B + g - 1) / g * g).
  assert (B <= high) by (unfold high; nia). assert (low <= B) by (unfold low; nia).
  destruct (Nat.le_gt_cases B (q * g)) as [whole|part].
  - assert (high <= q * g).
    { unfold high. apply Nat.mul_le_mono_r, Nat.lt_succ_r, Nat.div_lt_upper_bound; nia. }
    pose proof (after_grows Q B (t - q * g) (q * g - high) sane).
    pose proof (after_grows Q B (t - q * g) (t - high - (t - q * g)) sane) as more.
    replace (t - q * g + (t - high - (t - q * g))) with (t - high) in more by lia. lia.
  - assert (q * g <= low).
    { unfold low. apply Nat.mul_le_mono_r, Nat.div_le_lower_bound; nia. }
    pose proof (after_slow Q B (t - low) (t - q * g - (t - low)) sane) as slow.
    replace (t - low + (t - q * g - (t - low))) with (t - q * g) in slow by lia.
    assert (after Q B 0 = 0) by (apply (after_parts Q B 0 0); lia).
    destruct (Nat.le_gt_cases t low) as [short|]; [replace (t - low) with 0 in * by lia|]; lia.
Qed.

(* Under fixed priority where all periods begin together: the window begins with a period. *)
Theorem deferrable_on_one_grid m servers by_slack h s :
  (forall i, i < m -> 0 < budget (servers i) <= every (servers i)) ->
  paying Deferrable m servers ByRank h -> sharing by_slack servers h -> s < m ->
  (exists t, t <= every (servers s) /\ grid_rbf m servers s t <= t) ->
  deferrable (every (servers s)) (budget (servers s)) (wants h s) (charged h s).
Proof.
  intros sane legal shared inside (L & window & enough).
  assert (periods : forall i, i < m -> 0 < every (servers i))
    by (intros i low; pose proof (sane i low); lia).
  apply (law_kept m servers ByRank h s) with (6 := enough); try assumption.
  - now rewrite Nat.leb_refl, Nat.eqb_refl.
  - intros o k real other. unfold before. cbn [place].
    destruct (rank (servers o) <=? rank (servers s)).
    2: { rewrite amount_of_none; [apply le_n|]. intros x _. apply andb_false_r. }
    apply Nat.eqb_neq in other. rewrite other.
    apply Nat.le_trans with (amount (charged h o) (k * every (servers s)) L).
    { apply amount_weak. now intros x [yes _]%andb_prop. }
    set (P := every (servers s)). unfold grid_spends. set (Q := every (servers o)).
    set (B := budget (servers o)).
    pose proof (periods o real : 0 < Q) as some.
    destruct (parts Q (k * P) some) as (l & w & early & begun).
    apply Nat.le_trans with (spends (servers o) (Q - w) L).
    2: { apply worst_begin; [now apply sane|lia|].
         apply Nat.divide_sub_r; [apply Nat.gcd_divide_r|].
         apply (Nat.divide_add_cancel_r _ (l * Q)).
         - apply Nat.divide_mul_r, Nat.gcd_divide_r.
         - rewrite <- begun. apply Nat.divide_mul_r, Nat.gcd_divide_l. }
    rewrite begun. apply spent_after; [assumption| |assumption]. intros.
    now apply (at_most m servers ByRank Deferrable by_slack).
Qed.

(* Under EDF. *)
Theorem deferrable_edf m servers by_slack h s :
  (forall i, i < m -> 0 < every (servers i)) ->
  paying Deferrable m servers ByDeadline h -> sharing by_slack servers h -> s < m ->
  edf_spends m servers s <= every (servers s) ->
  deferrable (every (servers s)) (budget (servers s)) (wants h s) (charged h s).
Proof.
  intros periods legal shared inside enough.
  apply (law_kept m servers ByDeadline h s) with (6 := enough); try assumption.
  - apply le_n.
  - now rewrite Nat.eqb_refl.
  - intros o k real other. apply Nat.le_trans with
      (1 := before_ends servers (charged h) s o k _ (periods s inside) (periods o real) (le_n _)).
    apply Nat.eqb_neq in other. rewrite other.
    set (P := every (servers s)) in *. set (Q := every (servers o)).
    pose proof (periods o real : 0 < Q) as some.
    (* The last period of o that ends no later than that of the server. *)
    pose (q := (k * P + P) / Q).
    assert (last : q * Q <= k * P + P)
      by (unfold q; pose proof (Nat.mul_div_le (k * P + P) Q); lia).
    fold q. replace (min P (q * Q - k * P)) with (q * Q - k * P) by lia.
    destruct (Nat.le_gt_cases (q * Q) (k * P)) as [|later];
      [replace (q * Q - k * P) with 0 by lia; cbn; lia|].
    replace (k * P) with (q * Q - (q * Q - k * P)) at 1 by lia.
    rewrite sbf_after, Nat.sub_0_r. apply spent_at_most; [assumption|]. intros n.
    pose proof (spent_until Q (budget (servers o)) (charged h o) some
      (fun k u =>
         at_most m servers ByDeadline Deferrable by_slack h periods legal shared o k u real)
      n q (q * Q - k * P) ltac:(lia)). lia.
Qed.
