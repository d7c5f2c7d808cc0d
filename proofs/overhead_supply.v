(* SPDX-License-Identifier: BSD-2-Clause *)
(* What a server supplies beside the picks that its budget pays for, and that tasks on it are in
   time.

   Take a part of one period of the server in which it has work throughout, and none arrives where
   all other is done. Picks that it pays for there begin one after another. Between two of them
   something is counted: an arrival at another domain or a refill. For the server itself has work,
   and budget, as it has some when the later one is decided. What the later one costs is fixed, or
   was caused since the earlier one. So each but the first is covered by what happens in the period.

   A pick that is in progress when the part begins takes, together with the debt from the period
   before, one of the longest picks: if it began in that period, the debt is less than what it took
   there; if it began later, the first pick after it pays for what happened in this period. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host deferrable cbs cbs_supply.
From Hyperperiod Require Import overheads overhead_servers.

(* The last instant before q with a property. *)
Lemma last_true f b q : b <= q -> (forall z, b <= z < q -> f z = false) \/
  exists y, b <= y < q /\ f y = true /\ forall z, y < z < q -> f z = false.
Proof.
  induction q as [|q IH]; intros from; [left; lia|].
  destruct (Nat.eq_dec b (S q)) as [->|more]; [left; lia|].
  destruct (f q) eqn:yes; [right; exists q; repeat split; lia || assumption|].
  destruct IH as [none|(y & there & is_so & after)]; [lia|left|right; exists y].
  - intros z there. destruct (Nat.eq_dec z q) as [->|]; [assumption|]. apply none. lia.
  - repeat split; try lia || assumption. intros z between.
    destruct (Nat.eq_dec z q) as [->|]; [assumption|]. apply after. lia.
Qed.

(* The next pick after one that is not the last. *)
Lemma next_exists v p q : p < q -> begins v p = true -> begins v q = true ->
  exists n, next v p n /\ n <= q.
Proof.
  intros before first. induction q as [q IH] using (well_founded_induction lt_wf). intros last.
  destruct (last_true (begins v) (S p) q before) as [none|(y & there & yes & _)].
  - exists q. split; [|lia]. now repeat split.
  - destruct (IH y ltac:(lia) ltac:(lia) yes) as (n & is_next & no_later). exists n.
    split; [assumption|lia].
Qed.

(* And the last before it. *)
Lemma last_exists v p q : p < q -> begins v p = true -> begins v q = true ->
  exists n, next v n q /\ p <= n.
Proof.
  intros before first last.
  destruct (last_true (begins v) (S p) q before) as [none|(y & there & yes & after)].
  - exists p. split; [|lia]. now repeat split.
  - exists y. split; [|lia]. repeat split; assumption || lia.
Qed.

Section Server.
Context (C fixed wake replenish m best : nat) (servers : nat -> server).
Context (by_rule : rule) (by_order : order) (by_slack : slack).
Context (arrives : nat -> nat -> bool) (v : hypervisor) (h : host).
Context (some : 0 < C) (periods : forall s, s < m -> 0 < every (servers s)).
Context (legal : deciding by_rule m servers by_order by_slack v h).
Context (spares : leaves_wakes m arrives v C wake).
Context (stirs : picks_when_stirred m best servers arrives v h).
Context (costs : priced m best servers arrives v fixed wake replenish).
Context (unlent : by_slack <> Lend).
Context (s : nat) (inside : s < m).

Let P := every (servers s).

(* That the hypervisor works while the server is charged. *)
Let busy_for (x : nat) : bool := charged h s x && works v x.

Lemma short_picks : picks_within C v.
Proof. intros q x took. pose proof (spares s q x inside took). lia. Qed.

(* It is charged from the beginning of the pick on. *)
Lemma pick_of x : busy_for x = true ->
  exists q, takes v q x /\ charged h s q = true /\ solvent servers h s q /\
    decided_at by_rule m servers by_order by_slack h q.
Proof.
  intros [who at_work]%andb_prop.
  destruct (legal x) as (q & [[-> idle]|took] & payer & second & decided);
    [rewrite idle in at_work; discriminate|].
  exists q. split; [assumption|]. unfold charged in *. rewrite payer, second in who.
  split; [assumption|]. split; [|assumption].
  destruct decided as (first & _ & lent).
  apply orb_prop in who as [who|who]; apply here_only in who.
  - now apply (proj1 first).
  - now apply lent.
Qed.

(* Without lending who is charged pays alone. *)
Lemma pays_alone q : decided_at by_rule m servers by_order by_slack h q -> charged h s q = true ->
  pays h q = Some s /\ also h q = None.
Proof.
  intros (_ & _ & second) who.
  destruct (also h q) as [o|] eqn:beside; [now destruct (second o eq_refl)|].
  unfold charged in who. rewrite beside, orb_false_r in who. now apply here_only in who.
Qed.

Section Window.
(* A window in one period in which the server has work throughout, and none arrives where all other
   is done. *)
Context (k b e : nat) (from : k * P <= b) (up_to : e <= k * P + P).
Context (working : forall x, b <= x < e -> wants h s x).
Context (unbroken : forall x, b < x < e -> arrives s x = false).

(* What has happened to the first n. *)
Let this_period (n : nat) (what : nat -> nat -> bool) (q : nat) : nat :=
  happens n what (k * P) (S q - k * P).
Let since (n : nat) (what : nat -> nat -> bool) (p q : nat) : nat := happens n what (S p) (q - p).

Lemma happens_split n what p q : k * P <= p <= q ->
  this_period n what q = this_period n what p + since n what p q.
Proof.
  intros there. unfold this_period, since, happens. rewrite <- sum_plus. apply sum_same. intros o _.
  replace (S q - k * P) with (S p - k * P + (q - p)) by lia. rewrite amount_split.
  now replace (k * P + (S p - k * P)) with (S p) by lia.
Qed.

Lemma happens_within n what p q r : p <= q <= r -> since n what q r <= since n what p r.
Proof.
  intros there. apply sum_weak. intros o _.
  replace (r - p) with (q - p + (r - q)) by lia. rewrite amount_split.
  replace (S p + (q - p)) with (S q) by lia. lia.
Qed.

Lemma happened n what o p x q :
  o < n -> what o x = true -> p < x <= q -> 0 < since n what p q.
Proof.
  intros real yes there. pose proof (sum_has n (fun o => amount (what o) (S p) (q - p)) o real).
  cbn beta in *. unfold since, happens.
  assert (0 < amount (what o) (S p) (q - p)); [|lia].
  replace (q - p) with (S (x - S p) + (q - x)) by lia. rewrite amount_split.
  rewrite amount_has by (lia || assumption). lia.
Qed.

(* All arrivals are the server's own and those of others. *)
Lemma own_and_others p q :
  since (m + best) arrives p q
    <= amount (arrives s) (S p) (q - p) + since (m + best) (others arrives s) p q.
Proof.
  pose proof (sum_but_one (m + best) s (fun o => amount (arrives o) (S p) (q - p))
    (fun o => amount (others arrives s o) (S p) (q - p)) ltac:(lia)) as swap. cbn beta in swap.
  unfold since, happens. assert (forall u, amount (others arrives s s) (S p) u = 0) as none.
  { intros u. apply amount_of_none. intros x _. unfold others. now rewrite Nat.eqb_refl. }
  rewrite none in swap. rewrite Nat.add_0_r in swap. apply swap. intros o _ other.
  apply amount_weak. intros x yes. unfold others. apply Nat.eqb_neq in other. now rewrite other.
Qed.

Lemma none_arrives p q : b <= p -> q < e -> amount (arrives s) (S p) (q - p) = 0.
Proof. intros later sooner. apply amount_of_none. intros x there. apply unbroken. lia. Qed.

Let what_for (q : nat) : nat :=
  (fixed + wake) * this_period (m + best) (others arrives s) q
    + (fixed + replenish) * this_period m (refill servers) q.

(* Between two picks for the server something happens that is counted. *)
Lemma counted_between p q : b <= p -> p < q -> q < e -> begins v p = true -> begins v q = true ->
  charged h s p = true -> decided_at by_rule m servers by_order by_slack h p ->
  solvent servers h s q ->
  1 <= since (m + best) (others arrives s) p q + since m (refill servers) p q.
Proof.
  intros later before sooner first last paid decided left.
  destruct (next_exists v p q before first last) as (n & is_next & no_later).
  destruct (stirs p n is_next) as (x & there & why).
  destruct (pays_alone p decided paid) as [payer alone].
  destruct why as [(o & real & come)|[(o & real & full)|[(o & had & done)|(o & who & used_up)]]].
  - destruct (Nat.eq_dec o s) as [->|other];
      [rewrite unbroken in come by lia; discriminate|].
    assert (0 < since (m + best) (others arrives s) p q); [|lia].
    apply (happened _ _ o p x q); [assumption| |lia]. unfold others.
    apply Nat.eqb_neq in other. now rewrite other.
  - assert (0 < since m (refill servers) p q); [|lia].
    apply (happened _ _ o p x q); [assumption..|lia].
  - exfalso. destruct decided as (_ & own & _).
    rewrite (own s payer) in had by (apply working; lia). injection had as <-.
    destruct done as [beside|done]; [lia|]. apply done, working. lia.
  - exfalso. apply used_up. unfold charged in who. rewrite payer, alone in who.
    rewrite orb_false_r in who. apply here_only in who. injection who as <-.
    apply (solvent_earlier servers h s k x q); (fold P; lia) || assumption.
Qed.

(* What picks have taken by the end of an instant of one, debts included. *)
Lemma taken_by n : forall x, x < n -> b <= x < e -> busy_for x = true ->
  exists q, takes v q x /\ charged h s q = true /\
    decided_at by_rule m servers by_order by_slack h q /\ solvent servers h s q /\
    debt (servers s) (charged h s) k + amount busy_for b (S x - b)
      <= 2 * C + (if q <? b then 0 else fixed + what_for q).
Proof.
  induction n as [|n IH]; [lia|]. intros x below there yes.
  pose proof (periods s inside : 0 < P) as positive.
  pose proof (small_debt C m servers by_order by_rule by_slack v h some periods short_picks legal
    s k inside) as little.
  destruct (pick_of x yes) as (q & took & paid & left & decided).
  pose proof (short_picks q x took) as short. exists q. do 4 (split; [assumption|]).
  assert (q <= x /\ begins v q = true) as [begun starts] by (destruct took; tauto).
  destruct (Nat.ltb_spec q b) as [before|later].
  { pose proof (amount_at_most busy_for b (S x - b)). lia. }
  replace (S x - b) with (q - b + (S x - q)) by lia. rewrite amount_split.
  replace (b + (q - b)) with q by lia. pose proof (amount_at_most busy_for q (S x - q)) as own.
  destruct (last_true busy_for b q later) as [none|(y & earlier & yes_y & after)].
  { rewrite (amount_of_none busy_for b) by (intros z between; apply none; lia). lia. }
  assert (amount busy_for b (q - b) = amount busy_for b (S y - b)) as same.
  { replace (q - b) with (S y - b + (q - S y)) by lia. rewrite amount_split.
    rewrite (amount_of_none busy_for (b + (S y - b))); [lia|]. intros z between. apply after. lia. }
  destruct (IH y ltac:(lia) ltac:(lia) yes_y)
    as (r & took_y & paid_r & decided_r & left_r & so_far).
  assert (begins v r = true /\ r <= y) as [starts_r r_before] by (destruct took_y; tauto).
  destruct (last_exists v r q) as (p & is_next & no_sooner); [lia|assumption..|].
  pose proof (costs p q x is_next took) as cost.
  fold (since (m + best) arrives p q) (since m (refill servers) p q) in cost.
  pose proof (own_and_others p q) as parted.
  assert (p < q) as before_q by apply is_next.
  pose proof (happens_within (m + best) (others arrives s) r p q ltac:(lia)) as others_since.
  pose proof (happens_within m (refill servers) r p q ltac:(lia)) as refills_since.
  assert (wake * since (m + best) arrives p q <= wake * amount (arrives s) (S p) (q - p)
    + wake * since (m + best) (others arrives s) r q) as wakes.
  { rewrite <- Nat.mul_add_distr_l. apply Nat.mul_le_mono_l. lia. }
  assert (replenish * since m (refill servers) p q <= replenish * since m (refill servers) r q)
    as refills by now apply Nat.mul_le_mono_l.
  rewrite same. unfold what_for in *. destruct (Nat.ltb_spec r b) as [old|new].
  - pose proof (amount_at_most busy_for b (S y - b)) as at_most.
    destruct (Nat.le_gt_cases (k * P) r) as [in_it|older].
    + pose proof (spares s r y inside took_y) as spared.
      assert (amount (arrives s) (S p) (q - p) <= amount (arrives s) (S r) (y - r)) as few.
      { apply Nat.le_trans with (amount (arrives s) (S r) (q - r)).
        - replace (q - r) with (p - r + (q - p)) by lia. rewrite amount_split.
          replace (S r + (p - r)) with (S p) by lia. lia.
        - replace (q - r) with (y - r + (q - y)) by lia. rewrite amount_split.
          replace (S r + (y - r)) with (S y) by lia. rewrite (none_arrives y q) by lia. lia. }
      apply (Nat.mul_le_mono_l _ _ wake) in few.
      rewrite (happens_split (m + best) (others arrives s) r q),
        (happens_split m (refill servers) r q) by lia. lia.
    + pose proof (in_period P r positive) as there_r.
      assert (r / P < k) by (apply Nat.div_lt_upper_bound; lia).
      apply (solvent_in servers h s (r / P)) in left_r; [|assumption..].
      pose proof (owed_since (servers s) (charged h s) (r / P) k r there_r ltac:(assumption) left_r)
        as owes. fold P in owes. pose proof (short_picks r y took_y). lia.
  - rewrite none_arrives in wakes by lia.
    pose proof (counted_between r q new ltac:(lia) ltac:(lia) starts_r starts paid_r decided_r left)
      as counted.
    apply (Nat.mul_le_mono_l _ _ fixed) in counted.
    rewrite (happens_split (m + best) (others arrives s) r q),
      (happens_split m (refill servers) r q) by lia. lia.
Qed.

Lemma taken W : happens (m + best) (others arrives s) (k * P) P <= W ->
  happens m (refill servers) (k * P) P <= sum m (fun o => ceiling P (every (servers o))) ->
  b <= e ->
  debt (servers s) (charged h s) k + amount busy_for b (e - b)
    <= budget_loss m servers C fixed wake replenish W s.
Proof.
  intros few counted order. unfold budget_loss. fold P.
  pose proof (small_debt C m servers by_order by_rule by_slack v h some periods short_picks legal
    s k inside) as little.
  destruct (last_true busy_for b e order) as [none|(y & there & yes & after)].
  { rewrite (amount_of_none busy_for b) by (intros z between; apply none; lia). lia. }
  destruct (taken_by (S y) y (Nat.lt_succ_diag_r y) ltac:(lia) yes)
    as (q & took & _ & _ & _ & all).
  replace (e - b) with (S y - b + (e - S y)) by lia. rewrite amount_split.
  rewrite (amount_of_none busy_for (b + (S y - b))) by (intros z between; apply after; lia).
  destruct (Nat.ltb_spec q b) as [|later]; [lia|].
  assert (q <= y) as begun by apply took.
  assert (each : forall n what, this_period n what q <= happens n what (k * P) P).
  { intros n what. apply sum_weak. intros o _. apply amount_grows. lia. }
  pose proof (each (m + best) (others arrives s)) as come.
  pose proof (each m (refill servers)) as filled.
  assert (this_period (m + best) (others arrives s) q <= W) as come_few by lia.
  assert (this_period m (refill servers) q <= sum m (fun o => ceiling P (every (servers o))))
    as filled_few by lia.
  apply (Nat.mul_le_mono_l _ _ (fixed + wake)) in come_few.
  apply (Nat.mul_le_mono_l _ _ (fixed + replenish)) in filled_few.
  unfold what_for in all. lia.
Qed.

End Window.
End Server.

(* * Counting *)

Lemma refills_until Q n : 0 < Q -> amount (fun x => x mod Q =? 0) 0 n = ceiling n Q.
Proof.
  intros some. induction n as [|n IH]; cbn [amount plus].
  { unfold ceiling. now rewrite Nat.div_small by lia. }
  rewrite IH. destruct (parts Q n some) as (q & r & small & ->).
  rewrite remainder by assumption. unfold ceiling. destruct r as [|r]; cbn [Nat.eqb].
  - replace (q * Q + 0 + Q - 1) with (q * Q + (Q - 1)) by lia.
    replace (S (q * Q + 0) + Q - 1) with (S q * Q + 0) by (cbn [Nat.mul]; lia).
    rewrite !quotient by lia. lia.
  - replace (q * Q + S r + Q - 1) with (S q * Q + r) by (cbn [Nat.mul]; lia).
    replace (S (q * Q + S r) + Q - 1) with (S q * Q + S r) by (cbn [Nat.mul]; lia).
    rewrite !quotient by lia. lia.
Qed.

Lemma refills_in Q a t : 0 < Q -> amount (fun x => x mod Q =? 0) a t <= ceiling t Q.
Proof.
  intros some. pose proof (amount_split (fun x => x mod Q =? 0) 0 a t) as all. cbn [plus] in all.
  rewrite !refills_until in all by assumption.
  assert (ceiling (a + t) Q <= ceiling a Q + ceiling t Q); [|lia].
  apply ceiling_first; [assumption|].
  pose proof (ceiling_reaches Q a some). pose proof (ceiling_reaches Q t some).
  rewrite Nat.mul_add_distr_r. lia.
Qed.

Lemma parted_by_work v h s a t :
  amount (charged h s) a t
    = amount (useful v h s) a t + amount (fun x => charged h s x && works v x) a t.
Proof.
  induction t as [|t IH]; cbn [amount]; [reflexivity|]. rewrite IH. unfold useful.
  destruct (charged h s (a + t)), (works v (a + t)); cbn [andb negb]; lia.
Qed.

(* * Supply *)

Theorem overhead_supply C fixed wake replenish W m best servers by_rule by_order by_slack arrives v
  h s :
  0 < C -> (forall i, i < m -> 0 < every (servers i)) ->
  deciding by_rule m servers by_order by_slack v h -> by_slack <> Lend ->
  leaves_wakes m arrives v C wake -> picks_when_stirred m best servers arrives v h ->
  priced m best servers arrives v fixed wake replenish -> s < m ->
  let P := every (servers s) in
  (forall k, happens (m + best) (others arrives s) (k * P) P <= W) ->
  let left := budget (servers s) - budget_loss m servers C fixed wake replenish W s in
  0 < left -> budget (servers s) <= P -> within (servers s) <= P ->
  keeps_but_debts (servers s) by_rule (wants h s) (charged h s) ->
  forall a t, throughout (wants h s) a t -> (forall x, a < x < a + t -> arrives s x = false) ->
    sbf P left (blackout P left P by_rule) t <= amount (useful v h s) a t.
Proof.
  intros some periods legal unlent spares stirs costs inside P few left enough funded explicit kept
    a t working unbroken.
  pose proof (periods s inside : 0 < P) as positive.
  assert (all : forall k b u, k * P <= b -> b + u <= k * P + P ->
    throughout (fun x => a <= x < a + t) b u ->
    u <= amount (charged h s) b u + (P - budget (servers s) + debt (servers s) (charged h s) k) ->
    u <= amount (useful v h s) b u + (P - left)).
  { intros k b u from up_to part law. destruct u as [|u]; [lia|].
    pose proof (part b ltac:(lia)) as first. pose proof (part (b + u) ltac:(lia)) as last.
    cbn beta in first, last.
    pose proof (taken C fixed wake replenish m best servers by_rule by_order by_slack arrives v h
      some periods legal spares stirs costs unlent s inside k b (b + S u) from up_to) as lost.
    replace (b + S u - b) with (S u) in lost by lia.
    rewrite (parted_by_work v) in law. fold P in lost.
    assert (debt (servers s) (charged h s) k
      + amount (fun x => charged h s x && works v x) b (S u)
      <= budget_loss m servers C fixed wake replenish W s).
    { apply lost; [| |apply few| |lia].
      - intros x there. apply working. lia.
      - intros x there. apply unbroken. lia.
      - apply sum_weak. intros o real. now apply refills_in, periods. }
    unfold left in *. lia. }
  assert (sized : 0 < left <= P) by (unfold left; lia).
  assert (inside_it : throughout (fun x => a <= x < a + t) a t) by (intros x there; exact there).
  destruct by_rule; cbn [keeps_but_debts blackout] in *.
  1, 2: apply (deferrable_supply P left (fun x => a <= x < a + t)); [assumption| |assumption].
  1, 2: intros k b u from up_to part; apply (all k); try assumption.
  - specialize (kept k). fold P in kept.
    pose proof (amount_grows (charged h s) (k * P) (within (servers s)) P explicit) as grows.
    replace P with (b - k * P + (u + (P - (b - k * P) - u))) in grows at 3 by lia.
    rewrite !amount_split in grows. replace (k * P + (b - k * P)) with b in grows by lia.
    pose proof (amount_at_most (charged h s) (k * P) (b - k * P)).
    pose proof (amount_at_most (charged h s) (b + u) (P - (b - k * P) - u)). lia.
  - apply (kept k); [assumption..|]. intros x there. apply working, part. lia.
  - apply (polling_supply P left (fun x => a <= x < a + t)); [assumption| |assumption].
    intros k u short part. apply (all k); [lia..|assumption|].
    apply kept; [assumption|]. intros x there. now apply working, part.
Qed.

(* Work arrives only with a release: so others are counted by their tasks. *)
Theorem overhead_arrivals d r arrives a t :
  (forall i, i < size d -> 0 < period (members d i)) -> jobs_of (size d) (members d) r ->
  (forall x, arrives x = true -> exists i l, i < size d /\ release r (i, l) = x) ->
  amount arrives a t <= releases d t.
Proof.
  intros shape jobs come.
  assert (each : forall i, i < size d -> exists first, forall l,
    a <= release r (i, l) < a + t ->
    first <= l < first + ceiling (t + jitter (members d i)) (period (members d i)))
    by (intros i real; apply (released_in (size d)); auto).
  destruct (all_first 0 (size d) _ each) as (first & all).
  pose (released i x := negb (amount (fun l => release r (i, l) =? x) (first i)
    (ceiling (t + jitter (members d i)) (period (members d i))) =? 0)).
  apply Nat.le_trans with (sum (size d) (fun i => amount (released i) a t)).
  - apply amount_covered. intros x there yes. destruct (come x yes) as (i & l & real & <-).
    exists i. split; [assumption|]. unfold released. apply negb_true_iff, Nat.eqb_neq.
    specialize (all i real l there).
    replace (ceiling _ _) with (S (l - first i) + (first i
      + ceiling (t + jitter (members d i)) (period (members d i)) - S l)) by lia.
    rewrite amount_split, amount_has; [lia|lia|apply Nat.eqb_refl].
  - apply sum_weak. intros i real. unfold released.
    generalize (ceiling (t + jitter (members d i)) (period (members d i))). intros n. clear.
    apply Nat.le_trans
      with (sum n (fun l => amount (fun x => release r (i, first i + l) =? x) a t)).
    + apply amount_covered. intros x _ yes%negb_true_iff%Nat.eqb_neq.
      destruct (amount_more (fun l => release r (i, first i + l) =? x) 0 n) as (l & low & same).
      * cbn [amount]. revert yes. generalize (first i). intros f.
        enough (amount (fun l => release r (i, l) =? x) f n
          = amount (fun l => release r (i, f + l) =? x) 0 n) by lia.
        induction n as [|n IH]; [reflexivity|]. cbn [amount plus]. now rewrite IH.
      * exists l. split; [lia|assumption].
    + apply Nat.le_trans with (sum n (fun _ => 1)); [|rewrite sum_constant; lia].
      apply sum_weak. intros l _.
      induction t as [|u IH]; [cbn; lia|]. cbn [amount].
      destruct (Nat.eqb_spec (release r (i, first i + l)) (a + u)) as [here|]; [|lia].
      rewrite amount_of_none; [lia|]. intros x there. apply Nat.eqb_neq. lia.
Qed.

(* * Tasks *)

Definition free_time (v : hypervisor) (h : host) (s x : nat) : bool :=
  time_of h s x && negb (works v x).

Lemma free_time_scheduled by_rule m servers by_order by_slack v h s d r :
  deciding by_rule m servers by_order by_slack v h -> inside_beside v h s d r ->
  scheduled (size d) (local_key d r) (free_time v h s) r.
Proof.
  intros legal (_ & working & ordered). unfold free_time, time_of. split.
  - intros x j who. destruct (proj1 ordered x j who) as [got waits]. split; [|assumption].
    apply andb_prop in got as [got idle]. now rewrite got, idle, orb_true_r.
  - intros x j [there idle]%andb_prop waits. apply (proj2 ordered x j); [|assumption].
    assert (wants h s x) as wanted by (apply working; now exists j).
    destruct (legal x) as (p & [[-> _]|(before & _ & at_work & _)] & _ & _ & _ & own & second).
    2: { rewrite at_work in idle by lia. discriminate. }
    rewrite idle, andb_true_r. unfold charged in there.
    destruct (here s (pays h x)) eqn:payer;
      [apply here_only in payer; rewrite (own s payer wanted); apply here_itself|].
    destruct (here s (also h x)) eqn:beside; [|assumption].
    apply here_only in beside. destruct (second s beside) as (_ & -> & _). apply here_itself.
Qed.

Theorem overhead_in_time m servers by_rule by_order by_slack arrives v h s d r bound :
  deciding by_rule m servers by_order by_slack v h ->
  inside_beside v h s d r -> anew arrives s d r ->
  (forall i, i < size d -> 0 < period (members d i)) ->
  (forall a t, throughout (wants h s) a t -> (forall x, a < x < a + t -> arrives s x = false) ->
     bound t <= amount (useful v h s) a t) ->
  fits d bound -> in_time (size d) (members d) r.
Proof.
  intros legal within_it begun shape supply test j.
  apply (unbroken_in_time d r (free_time v h s) (arrives s) bound);
    [apply within_it| |exact begun|exact shape| |exact test].
  - now apply (free_time_scheduled by_rule m servers by_order by_slack).
  - intros a t _ all unbroken. apply Nat.le_trans with (amount (useful v h s) a t).
    + apply supply; [|assumption]. intros x there. now apply within_it, all.
    + apply amount_weak. intros x [yes idle]%andb_prop. unfold free_time, time_of.
      now rewrite yes, idle.
Qed.
