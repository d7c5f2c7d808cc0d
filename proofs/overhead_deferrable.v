(* SPDX-License-Identifier: BSD-2-Clause *)
(* Deferrable servers on a pcpu whose hypervisor takes time are charged their budgets, but for their
   debts, in windows in which they have work.

   As in deferrable.v, who pays in place of the server comes no later, as long as it has budget; but
   a pick in progress when the window begins may be another's. What one of the others pays since
   then its test counts, and it may be overdrawn by less than a pick at the end. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host deferrable overheads overhead_servers.

Section Pcpu.
Context (C m : nat) (servers : nat -> server) (by_order : order) (by_slack : slack).
Context (v : hypervisor) (h : host).
Context (some : 0 < C) (periods : forall s, s < m -> 0 < every (servers s)).
Context (short_picks : picks_within C v).
Context (legal : deciding Deferrable m servers by_order by_slack v h).

(* What o is charged from a on, which lies in its period j: up to p in period l, when some is left,
   and up to x. *)
Section Other.
Context (o : nat) (real : o < m).
Let P := every (servers o).
Let B := budget (servers o).
Context (a j p l x : nat) (at_a : j * P <= a < j * P + P) (at_p : l * P <= p < l * P + P).
Context (later : a <= p) (close : p <= x < p + C) (left : solvent servers h o p).

Lemma not_before : j <= l.
Proof. apply Nat.nlt_ge. intros before. apply (Nat.mul_le_mono_r (S l) j P) in before. lia. Qed.

Lemma first_period u : j * P + P = a + u -> amount (charged h o) a u <= u /\
  amount (charged h o) a u <= B + debt (servers o) (charged h o) (S j).
Proof.
  intros whole. split; [apply amount_at_most|]. cbn [debt]. fold P B.
  replace P with (a - j * P + u) at 2 by lia. rewrite amount_split.
  replace (j * P + (a - j * P)) with a by lia. lia.
Qed.

Lemma charged_before :
  amount (charged h o) a (p - a) < (l - j) * B + min (j * P + P - a) B.
Proof.
  pose proof not_before as order. pose proof left as some_left.
  apply (solvent_in servers h o l) in some_left; [|now apply periods|assumption].
  fold P B in some_left. destruct (Nat.eq_dec l j) as [->|more].
  - replace (p - j * P) with (a - j * P + (p - a)) in some_left by lia.
    rewrite amount_split in some_left. replace (j * P + (a - j * P)) with a in some_left by lia.
    pose proof (amount_at_most (charged h o) a (p - a)). lia.
  - assert (S j * P <= l * P) as from by (apply Nat.mul_le_mono_r; lia). cbn [Nat.mul] in from.
    pose proof (paid_before (servers o) (charged h o) (S j) l p ltac:(lia) (proj1 at_p) some_left)
      as rest. fold P B in rest. cbn [Nat.mul] in rest.
    destruct (first_period (j * P + P - a) ltac:(lia)) as [short funded].
    replace (p - a) with (j * P + P - a + (p - (P + j * P))) by lia. rewrite amount_split.
    replace (a + (j * P + P - a)) with (P + j * P) by lia.
    replace (l - S j + 1) with (l - j) in rest by lia. lia.
Qed.

Lemma charged_until : j < l -> amount (charged h o) a (S x - a)
  <= j * P + P - a + (l - S j) * B + debt (servers o) (charged h o) l + (S x - l * P).
Proof.
  intros more. pose proof (paid_or_owed (servers o) (charged h o) (S j) (l - S j)) as rest.
  fold P B in rest. replace (S j + (l - S j)) with l in rest by lia.
  assert (S j * P <= l * P) as from by (apply Nat.mul_le_mono_r; lia).
  rewrite Nat.mul_sub_distr_r in rest. cbn [Nat.mul] in *.
  replace (S x - a) with (j * P + P - a + (l * P - (P + j * P) + (S x - l * P))) by lia.
  rewrite !amount_split. replace (a + (j * P + P - a)) with (P + j * P) by lia.
  pose proof (amount_at_most (charged h o) a (j * P + P - a)).
  pose proof (amount_at_most (charged h o) (P + j * P + (l * P - (P + j * P))) (S x - l * P)).
  lia.
Qed.

(* Under fixed priority: as a task whose jitter is P - B. *)
Lemma charged_by_rank L : x < a + L ->
  amount (charged h o) a (S x - a) <= ceiling (L + (P - B)) P * B + C.
Proof.
  intros ends. pose proof (periods o real : 0 < P) as positive. pose proof not_before as order.
  pose proof (ceiling_reaches P (L + (P - B)) positive) as reach.
  set (n := ceiling (L + (P - B)) P) in *.
  destruct (Nat.le_gt_cases (l - j + 1) n) as [few|many].
  - pose proof charged_before as less. replace (S x - a) with (p - a + (S x - p)) by lia.
    rewrite amount_split. replace (a + (p - a)) with p by lia.
    pose proof (amount_at_most (charged h o) p (S x - p)).
    apply (Nat.mul_le_mono_r _ _ B) in few. rewrite Nat.mul_add_distr_r in few. lia.
  - assert (1 <= n) by (destruct n; lia).
    assert (n = l - j) as same.
    { apply Nat.le_antisymm; [lia|]. apply Nat.nlt_ge. intros fewer.
      apply (Nat.mul_le_mono_r (S n) (l - j) P) in fewer. rewrite Nat.mul_sub_distr_r in fewer.
      cbn [Nat.mul] in fewer. lia. }
    pose proof (charged_until ltac:(lia)) as all.
    pose proof (small_debt C m servers by_order Deferrable by_slack v h some periods short_picks
      legal o l real) as little.
    rewrite same in reach. rewrite Nat.mul_sub_distr_r in reach.
    replace n with (S (l - S j)) by lia. cbn [Nat.mul]. lia.
Qed.

(* Under EDF: with periods that end in a window of length L. *)
Lemma charged_by_deadline L : l * P + P <= a + L ->
  amount (charged h o) a (S x - a) <= sbf P B 0 L + C.
Proof.
  intros ends. pose proof (periods o real : 0 < P) as positive. pose proof not_before as order.
  pose proof charged_before as less. replace (S x - a) with (p - a + (S x - p)) by lia.
  rewrite amount_split. replace (a + (p - a)) with p by lia.
  pose proof (amount_at_most (charged h o) p (S x - p)).
  destruct (parts P L positive) as (n & r & small & ->).
  rewrite sbf_after, Nat.sub_0_r, after_parts by assumption.
  assert (l - j <= n) as few.
  { apply Nat.nlt_ge. intros more. apply (Nat.mul_le_mono_r (S n) (l - j) P) in more.
    rewrite Nat.mul_sub_distr_r in more. cbn [Nat.mul] in more. lia. }
  destruct (Nat.eq_dec (l - j) n) as [<-|fewer].
  - pose proof (Nat.mul_le_mono_r j l P order). rewrite Nat.mul_sub_distr_r in ends. lia.
  - assert (S (l - j) * B <= n * B) by (apply Nat.mul_le_mono_r; lia). lia.
Qed.

End Other.

(* * One server *)

Section Server.
Context (s : nat) (inside : s < m).
Let P := every (servers s).
Let B := budget (servers s).

(* The law, if g bounds what the others are charged in such windows, but for an overdraft. *)
Lemma owing_kept g L :
  L <= P -> g s = B -> sum m g + beside_budgets m C <= L ->
  (forall o k a p l x, o < m -> o <> s -> k * P <= a -> a + L <= a + P -> a <= p ->
     p <= x < p + C -> x < a + L -> x < k * P + P ->
     place by_order servers o p <= place by_order servers s p -> solvent servers h o p ->
     l * every (servers o) <= p < l * every (servers o) + every (servers o) ->
     amount (charged h o) a (S x - a) <= g o + C) ->
  keeps_but_debts (servers s) Deferrable (wants h s) (charged h s).
Proof.
  intros window own enough bounded k a t begins ends working. fold P B in begins, ends |- *.
  pose proof (periods s inside : 0 < P) as positive.
  set (owed := debt (servers s) (charged h s) k).
  assert (earlier : forall u, amount (charged h s) (k * P) (a - k * P + u) =
    amount (charged h s) (k * P) (a - k * P) + amount (charged h s) a u).
  { intros u. rewrite amount_split. now replace (k * P + (a - k * P)) with a by lia. }
  pose proof (amount_at_most (charged h s) (k * P) (a - k * P)) as had.
  destruct (Nat.le_gt_cases B (owed + amount (charged h s) (k * P) (a - k * P + t)))
    as [used_up|left].
  { rewrite earlier in used_up. lia. }
  pose (counts o x := here o (pays h x) && (a + (C - 1) <=? x)).
  assert (decided : forall x, a + (C - 1) <= x < a + t -> exists o p,
    pays h x = Some o /\ o < m /\ a <= p /\ p <= x < p + C /\ solvent servers h o p /\
    place by_order servers o p <= place by_order servers s p).
  { intros x there. destruct (legal x) as (p & since & payer & _ & (named & first) & _).
    assert (p <= x < p + C) as close.
    { destruct since as [[-> _]|took]; [lia|]. pose proof (short_picks p x took).
      destruct took as [before _]. lia. }
    assert (solvent servers h s p) as some_left.
    { apply (solvent_in servers h s k); [assumption|fold P; lia|]. fold P B owed.
      pose proof (amount_grows (charged h s) (k * P) (p - k * P) (a - k * P + t)). lia. }
    destruct (first s inside) as (o & who & no_later).
    - split; [exact some_left|]. split; [unfold solvent in some_left; unfold unspent; lia|].
      apply working. lia.
    - destruct (named o who) as [real [can _]]. exists o, p. rewrite payer.
      repeat split; assumption || lia. }
  assert (all : forall u, u <= t -> u <= L -> u + B <= amount (charged h s) a u + L).
  { intros u short fits. destruct (Nat.le_gt_cases u (C - 1)) as [few|more].
    { assert (B <= sum m g) by (rewrite <- own; now apply sum_has).
      unfold beside_budgets in enough. lia. }
    pose (had_by o := amount (counts o) a u).
    assert (u <= sum m had_by + (C - 1)) as covered.
    { assert (u - (C - 1) <= sum m had_by); [|lia].
      rewrite <- (amount_of_all (fun _ => true) (a + (C - 1)) (u - (C - 1))) by reflexivity.
      apply Nat.le_trans with (sum m (fun o => amount (counts o) (a + (C - 1)) (u - (C - 1)))).
      - apply amount_covered. intros x there _.
        destruct (decided x ltac:(lia)) as (o & p & who & real & _). exists o.
        split; [assumption|]. unfold counts. rewrite who, here_itself. apply Nat.leb_le. lia.
      - apply sum_weak. intros o _. unfold had_by.
        replace u with (C - 1 + (u - (C - 1))) at 2 by lia. rewrite amount_split. lia. }
    assert (each : forall o, o < m -> o <> s -> had_by o <= g o + C).
    { intros o real other. unfold had_by. clear covered more.
      revert short fits. induction u as [|u IH]; intros short fits; [cbn; lia|]. cbn [amount].
      destruct (counts o (a + u)) eqn:yes; [|rewrite Nat.add_0_r; apply IH; lia].
      assert (yes' := yes). apply andb_prop in yes' as [who from].
      apply here_only in who. apply Nat.leb_le in from.
      destruct (decided (a + u) ltac:(lia)) as (o' & p & is_o & _ & later & close & can & comes).
      rewrite who in is_o. injection is_o as <-.
      apply Nat.le_trans with (amount (counts o) a (S (a + u) - a)).
      { replace (S (a + u) - a) with (S u) by lia. cbn [amount]. rewrite yes. lia. }
      apply Nat.le_trans with (amount (charged h o) a (S (a + u) - a)).
      - apply amount_weak. intros x [pay _]%andb_prop. unfold charged. now rewrite pay.
      - apply (bounded o k a p (p / every (servers o)) (a + u)); try assumption; try lia.
        now apply in_period, periods. }
    pose proof (sum_but_one m s had_by (fun o => g o + C) inside each) as swap. cbn beta in swap.
    rewrite sum_plus, sum_constant, own in swap.
    assert (had_by s <= amount (charged h s) a u).
    { apply amount_weak. intros x [pay _]%andb_prop. unfold charged. now rewrite pay. }
    unfold beside_budgets in enough. lia. }
  destruct (Nat.le_gt_cases L t) as [long|short].
  - pose proof (all L long (le_n _)). pose proof (amount_grows (charged h s) a L t).
    rewrite earlier in left. lia.
  - pose proof (all t (le_n _)). lia.
Qed.

End Server.
End Pcpu.

(* * The tests *)

(* Under fixed priority: each server for which a window of its response time is known. *)
Theorem overhead_deferrable_fixed_priority C m servers by_slack v h s :
  0 < C -> (forall i, i < m -> 0 < every (servers i)) ->
  picks_within C v -> deciding Deferrable m servers ByRank by_slack v h -> s < m ->
  (exists t, t <= every (servers s) /\
     job_rbf m (fun i => as_deferrable (servers i)) (fun i => rank (servers i)) s 1 t
       + beside_budgets m C <= t) ->
  keeps_but_debts (servers s) Deferrable (wants h s) (charged h s).
Proof.
  intros some periods short legal inside (L & window & enough).
  apply (owing_kept C m servers ByRank by_slack v h some periods short legal s inside) with
    (3 := enough); [exact window|now rewrite Nat.leb_refl, Nat.eqb_refl, Nat.mul_1_l|].
  intros o k a p l x real other _ _ later close ends _ comes left there. cbn [place] in comes.
  apply Nat.leb_le in comes. apply Nat.eqb_neq in other. rewrite comes, other.
  cbn [as_deferrable cost period jitter].
  apply (charged_by_rank C m servers ByRank by_slack v h some periods short legal o real a
    (a / every (servers o)) p l x); try assumption. now apply in_period, periods.
Qed.

(* Under EDF. *)
Theorem overhead_deferrable_edf C m servers by_slack v h s :
  0 < C -> (forall i, i < m -> 0 < every (servers i)) ->
  picks_within C v -> deciding Deferrable m servers ByDeadline by_slack v h -> s < m ->
  edf_spends m servers s + beside_budgets m C <= every (servers s) ->
  keeps_but_debts (servers s) Deferrable (wants h s) (charged h s).
Proof.
  intros some periods short legal inside enough.
  apply (owing_kept C m servers ByDeadline by_slack v h some periods short legal s inside) with
    (3 := enough); [apply le_n|now rewrite Nat.eqb_refl|].
  intros o k a p l x real other begins _ later close _ ends comes left there.
  apply Nat.eqb_neq in other. rewrite other.
  apply (charged_by_deadline C m servers h some periods o real a (a / every (servers o)) p l x);
    try assumption; [now apply in_period, periods|].
  cbn [place] in comes.
  destruct (same_period (every (servers s)) k p) as [is_k _]; [now apply periods|lia|].
  destruct (same_period (every (servers o)) l p) as [is_l _]; [now apply periods|assumption|].
  rewrite is_k, is_l in comes. lia.
Qed.
