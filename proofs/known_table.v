(* SPDX-License-Identifier: BSD-2-Clause *)
(* A table of periodic servers bounds what a periodic or polling server waits for in a period, in
   every run, whatever work there is and whoever lends his time.

   What a server still pays in its period, its due, is set against what it has left in the table.
   Both begin with a whole budget at most, the same in the table, and budgets come at the same
   instants. Of servers at one place no more is due than is left: where one of them pays in the
   table, nobody before them has anything left there, so nobody before them has anything due, and
   one of them pays in the run as well, if they have anything due. So where the server itself pays
   in the table, which it does after all equals, it pays in the run, or has had more before.

   What is left at the end of a period is lost, and must not be missing in that sum. A server
   without an equal has no more due than a whole budget all the same; beside the server itself too,
   since that one has no more due than is left. Of several equals none may lose anything. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host deferrable known.

(* * Counting *)

(* At the next instant a period begins, or the same goes on. *)
Lemma next_instant Q x : 0 < Q ->
  S x mod Q = 0 \/ (S x / Q = x / Q /\ S x mod Q = S (x mod Q)).
Proof.
  intros some. pose proof (in_period Q x some) as there.
  pose proof (Nat.div_mod x Q ltac:(lia)) as divided. rewrite Nat.mul_comm in divided.
  destruct (Nat.eq_dec (S x) (x / Q * Q + Q)) as [->|more].
  - left. replace (x / Q * Q + Q) with ((x / Q + 1) * Q) by lia. apply Nat.mod_mul. lia.
  - right. destruct (same_period Q (x / Q) (S x) some) as [-> ->]; [lia|]. lia.
Qed.

Lemma sum_has_some n f : 0 < sum n f -> exists i, i < n /\ 0 < f i.
Proof.
  induction n as [|n IH]; cbn [sum]; [lia|]. intros some.
  destruct (f n) eqn:here; [|exists n; lia].
  destruct IH as (i & low & more); [lia|]. exists i. lia.
Qed.

(* The first n are all so, or one is not. *)
Lemma all_or_one n (ok : nat -> bool) :
  (forall i, i < n -> ok i = true) \/ exists i, i < n /\ ok i = false.
Proof.
  induction n as [|n IH]; [left; lia|]. destruct IH as [all|(i & low & bad)].
  - destruct (ok n) eqn:here; [left|right; exists n; auto].
    intros i low. destruct (Nat.eq_dec i n) as [->|]; [assumption|]. apply all. lia.
  - right. exists i. auto.
Qed.

Lemma one_payer n who : sum n (fun o => Nat.b2n (here o who)) <= 1.
Proof.
  destruct who as [p|].
  - assert (sum n (fun o => Nat.b2n (here o (Some p))) <= Nat.b2n (p <? n)) as few.
    { induction n as [|n IH]; [cbn; lia|]. cbn [sum here]. cbn [here] in IH.
      destruct (Nat.eqb_spec p n) as [->|other].
      - rewrite Nat.ltb_irrefl in IH.
        replace (n <? S n) with true by (symmetry; apply Nat.ltb_lt; lia).
        cbn [Nat.b2n] in *. lia.
      - destruct (Nat.ltb_spec p n), (Nat.ltb_spec p (S n)); cbn [Nat.b2n] in *; lia. }
    destruct (p <? n); cbn [Nat.b2n] in few; lia.
  - cbn [here Nat.b2n]. rewrite sum_constant. lia.
Qed.

(* * A table in rounds *)

Section Rounds.
Context (m : nat) (servers : nat -> server) (by_order : order) (s M : nat).
Context (payer : nat -> option nat) (periods : forall o, o < m -> 0 < every (servers o)).
Context (legal : table_of m servers by_order s M payer).
Let table := rounds M payer.

Lemma charged_again o x q : charged table o (x + q * M) = charged table o x.
Proof.
  unfold charged. cbn [table rounds pays also]. rewrite Nat.mod_add; [reflexivity|].
  destruct legal as [some _]. lia.
Qed.

Lemma amount_again o a q t : amount (charged table o) (a + q * M) t = amount (charged table o) a t.
Proof.
  induction t as [|t IH]; cbn [amount]; [reflexivity|]. rewrite IH.
  replace (a + q * M + t) with (a + t + q * M) by lia. now rewrite charged_again.
Qed.

Lemma unspent_again o x q : o < m ->
  unspent servers table o (x + q * M) <-> unspent servers table o x.
Proof.
  intros real. destruct legal as (_ & multiple & _). destruct (multiple o real) as [p whole].
  pose proof (periods o real). unfold unspent. replace (q * M) with (q * p * every (servers o))
    by (rewrite whole; lia).
  rewrite Nat.mod_add, Nat.div_add, Nat.mul_add_distr_r by lia.
  replace (q * p * every (servers o)) with (q * M) by (rewrite whole; lia).
  now rewrite amount_again.
Qed.

Lemma place_again o i x q : o < m -> i < m ->
  place by_order servers o (x + q * M) <= place by_order servers i (x + q * M) <->
  place by_order servers o x <= place by_order servers i x.
Proof.
  intros real_o real_i. destruct by_order; cbn [place]; [reflexivity|].
  assert (forall j, j < m -> ((x + q * M) / every (servers j) + 1) * every (servers j) =
    (x / every (servers j) + 1) * every (servers j) + q * M) as later.
  { intros j real. destruct legal as (_ & multiple & _). destruct (multiple j real) as [p whole].
    pose proof (periods j real). rewrite whole, Nat.mul_assoc, Nat.div_add by lia. lia. }
  rewrite !later by assumption. lia.
Qed.

(* Each instant is one of the first round, some rounds later. *)
Lemma in_first_round x : exists y q, y < M /\ x = y + q * M /\ payer (x mod M) = payer y.
Proof.
  destruct legal as [some _]. exists (x mod M), (x / M). pose proof (Nat.div_mod x M).
  pose proof (Nat.mod_upper_bound x M). repeat split; lia.
Qed.

Lemma rounds_pay : paying Periodic m servers by_order table.
Proof.
  intros x. destruct (in_first_round x) as (y & q & early & -> & same).
  destruct legal as (_ & _ & each & _). destruct (each y early) as [[named first] _].
  cbn [pays rounds] in named, first. rewrite Nat.mod_small in named, first by assumption.
  split; cbn [pays table rounds]; rewrite same.
  - intros o who. destruct (named o who) as [real [can _]]. split; [assumption|].
    split; [|exact I]. now apply unspent_again.
  - intros o real [can _]. apply unspent_again in can; [|assumption].
    destruct (first o real) as (p & who & sooner); [now split|]. exists p. split; [assumption|].
    apply place_again; [now apply named|assumption..].
Qed.

Lemma rounds_share : sharing Idle servers table.
Proof. intros x. repeat split; discriminate || contradiction. Qed.

Lemma loses_ties x o : pays table x = Some s -> s < m -> o < m -> o <> s ->
  unspent servers table o x -> place by_order servers s x < place by_order servers o x.
Proof.
  intros who inside real other can. destruct (in_first_round x) as (y & q & early & -> & same).
  cbn [pays table rounds] in who. rewrite same in who. apply unspent_again in can; [|assumption].
  destruct legal as (_ & _ & each & _). apply Nat.nle_gt. intros sooner%place_again; try assumption.
  pose proof (proj2 (each y early) who o real other can). lia.
Qed.

(* What is so in the periods of the first round is so in all. *)
Lemma in_all_periods o t least : o < m ->
  (forall k, k * every (servers o) < M ->
     least <= amount (charged table o) (k * every (servers o)) t) ->
  forall k, least <= amount (charged table o) (k * every (servers o)) t.
Proof.
  intros real first k.
  destruct (in_first_round (k * every (servers o))) as (y & q & early & from & _).
  rewrite from, amount_again. destruct legal as (_ & multiple & _).
  destruct (multiple o real) as [p whole].
  replace y with ((k - q * p) * every (servers o)) in *; [now apply first|].
  rewrite Nat.mul_sub_distr_r, <- Nat.mul_assoc, <- whole. lia.
Qed.

End Rounds.

(* * A run beside the table *)

Section Table.
Context (m : nat) (servers : nat -> server) (by_order : order) (by_rule : rule).
Context (by_slack : slack) (h : host) (periods : forall s, s < m -> 0 < every (servers s)).
Context (not_deferrable : by_rule <> Deferrable).
Context (legal : paying by_rule m servers by_order h) (shared : sharing by_slack servers h).
Context (s M : nat) (inside : s < m) (payer : nat -> option nat).
Context (tabled : table_of m servers by_order s M payer).
Let table := rounds M payer.
Let keeps_all o := forall k,
  budget (servers o) <= amount (charged table o) (k * every (servers o)) (every (servers o)).
Let counts b := by_order = ByDeadline \/ b <= rank (servers s).
Context (own : keeps_all s).
Let P := every (servers s).
Let B := budget (servers s).
Context (k u : nat) (early : u <= P).
Context (working : by_rule = Polling -> throughout (wants h s) (k * P) u).

(* The place of a server, where its period ends, whether it pays; what it has due, and has left in
   the table. Due is what it still pays in its period; for the server itself, from the beginning of
   its period k on, it is all that is left of its budget. *)
Let ends o x := place ByDeadline servers o x.
Let at_place o x := place by_order servers o x.
Let paid (who : host) o x := Nat.b2n (here o (pays who x)).

Let rest o x := amount (fun y => here o (pays h y)) x (ends o x - x).
Let due o x :=
  if (o =? s) && (k * P <=? x) then B - amount (charged h s) (k * P) (x - k * P) else rest o x.
Let left_of o x := budget (servers o)
  - amount (charged table o) (x / every (servers o) * every (servers o)) (x mod every (servers o)).

Let table_pays := rounds_pay m servers by_order s M payer periods tabled.

Lemma charged_in_table o x : charged table o x = here o (pays table x).
Proof. apply orb_false_r. Qed.

Lemma same_place o x : S x / every (servers o) = x / every (servers o) ->
  at_place o (S x) = at_place o x /\ ends o (S x) = ends o x.
Proof. intros same. unfold at_place, ends, place. rewrite same. now destruct by_order. Qed.

Lemma unspent_left o x : unspent servers table o x <-> 0 < left_of o x.
Proof. unfold unspent, left_of. lia. Qed.

(* A whole budget comes, or what is left is less by what is paid. *)
Lemma left_step o x : o < m ->
  paid table o x <= left_of o x /\
  ((S x mod every (servers o) = 0 /\ left_of o (S x) = budget (servers o)) \/
   (S x mod every (servers o) <> 0 /\ at_place o (S x) = at_place o x /\
    left_of o (S x) + paid table o x = left_of o x)).
Proof.
  intros real. pose proof (periods o real) as some.
  assert (paid table o x <= left_of o x) as funded.
  { unfold paid. destruct (here o (pays table x)) eqn:who; [|cbn; lia].
    apply here_only in who. destruct (proj1 (table_pays x) o who) as [_ [can _]].
    apply unspent_left in can. cbn. lia. }
  split; [assumption|]. destruct (next_instant (every (servers o)) x some) as [refill|[same on]].
  - left. split; [assumption|]. unfold left_of. rewrite refill. cbn. lia.
  - right. split; [lia|]. split; [now apply same_place|]. unfold left_of, paid in *.
    rewrite same, on. cbn [amount]. rewrite charged_in_table.
    replace (x / every (servers o) * every (servers o) + x mod every (servers o)) with x
      by (pose proof (Nat.div_mod x (every (servers o))); lia).
    destruct (here o (pays table x)); cbn [Nat.b2n] in *; lia.
Qed.

(* Who pays in its period k has not used up its budget. *)
Lemma pays_in_window x : k * P <= x < k * P + u -> here s (pays h x) = true ->
  amount (charged h s) (k * P) (x - k * P) < B.
Proof.
  intros there who. apply here_only in who. destruct (proj1 (legal x) s who) as [_ [can _]].
  apply (unspent_in servers h s k) in can; [assumption|now apply periods|fold P; lia].
Qed.

(* What o still pays in its period is a part of a budget, and less by what it has paid. *)
Lemma rest_step o x : o < m -> paid h o x <= rest o x /\ rest o x <= budget (servers o) /\
  (S x mod every (servers o) = 0 \/ rest o (S x) + paid h o x = rest o x).
Proof.
  intros real. pose proof (periods o real) as some.
  pose proof (in_period (every (servers o)) x some) as there.
  assert (one : rest o x = paid h o x + amount (fun y => here o (pays h y)) (S x) (ends o x - S x)).
  { unfold rest. replace (ends o x - x) with (1 + (ends o x - S x))
      by (unfold ends; cbn [place]; lia).
    rewrite amount_split. cbn [amount]. rewrite Nat.add_0_r, Nat.add_1_r. reflexivity. }
  split; [lia|]. split.
  - pose proof (at_most m servers by_order by_rule by_slack h periods legal shared o
      (x / every (servers o)) _ real (le_n _)) as all.
    set (from := x / every (servers o) * every (servers o)) in *.
    replace (every (servers o)) with (x - from + (ends o x - x)) in all
      by (unfold ends, from in *; cbn [place]; lia).
    rewrite amount_split in all. replace (from + (x - from)) with x in all by lia.
    apply Nat.le_trans with (amount (charged h o) x (ends o x - x)); [|lia].
    apply amount_weak. intros z who. unfold charged. now rewrite who.
  - destruct (next_instant (every (servers o)) x some) as [refill|[same _]]; [now left|right].
    rewrite one. unfold rest. rewrite (proj2 (same_place o x same)). lia.
Qed.

Lemma due_small o x : o < m -> due o x <= budget (servers o).
Proof.
  intros real. unfold due. pose proof (rest_step o x real).
  destruct (Nat.eqb_spec o s) as [->|_]; [destruct (k * P <=? x)|]; cbn [andb]; unfold B; lia.
Qed.

Lemma due_step o x : o < m -> x < k * P + u ->
  paid h o x <= due o x /\
  (S x mod every (servers o) <> 0 -> due o (S x) + paid h o x <= due o x).
Proof.
  intros real before. pose proof (rest_step o x real) as now.
  unfold due. destruct (Nat.eqb_spec o s) as [->|other]; cbn [andb]; [|lia].
  fold B P in now |- *. destruct (Nat.leb_spec (k * P) x) as [begun|not_yet].
  - replace (k * P <=? S x) with true by (symmetry; apply Nat.leb_le; lia).
    replace (S x - k * P) with (S (x - k * P)) by lia. cbn [amount].
    replace (k * P + (x - k * P)) with x by lia.
    pose proof (pays_in_window x ltac:(lia)) as funded. unfold paid, charged.
    destruct (here s (pays h x)); cbn [Nat.b2n orb];
      [specialize (funded eq_refl); unfold charged in funded; lia|].
    destruct (here s (also h x)); lia.
  - destruct (Nat.leb_spec (k * P) (S x)) as [begins|]; [|lia].
    split; [apply now|]. intros never. exfalso. apply never. replace (S x) with (k * P) by lia.
    apply Nat.mod_mul. pose proof (periods s inside : 0 < P). lia.
Qed.

(* Who has some due may pay. *)
Lemma due_pays o x : o < m -> x < k * P + u -> 0 < due o x ->
  exists p, pays h x = Some p /\ p < m /\ at_place p x <= at_place o x.
Proof.
  intros real before some.
  assert (may_pay by_rule servers h o x) as may.
  { pose proof (in_period (every (servers o)) x (periods o real)) as there.
    unfold due, rest in some. destruct ((o =? s) && (k * P <=? x)) eqn:own_window.
    - apply andb_prop in own_window as [->%Nat.eqb_eq begun%Nat.leb_le]. split.
      + apply (unspent_in servers h s k); [now apply periods|fold P; lia|]. fold P B. lia.
      + destruct by_rule; [exact I|contradiction|].
        destruct (same_period P k x) as [is_k from]; [now apply periods|lia|]. fold P.
        rewrite is_k, from. intros z between. apply working; [reflexivity|]. lia.
    - destruct (amount_more (fun y => here o (pays h y)) x (ends o x)) as (y & between & who).
      { replace (ends o x) with (x + (ends o x - x)) by (unfold ends; cbn [place]; lia).
        rewrite amount_split. cbn [plus]. lia. }
      apply here_only in who.
      unfold ends in between. cbn [place] in between.
      apply (may_pay_earlier by_rule servers h o (x / every (servers o)) x y);
        [assumption|now apply periods|lia..|]. now apply (proj1 (legal y)). }
  destruct (proj2 (legal x) o real may) as (p & who & first). exists p.
  split; [assumption|]. split; [now apply (proj1 (legal x) p)|assumption].
Qed.

Lemma left_pays o x : o < m -> 0 < left_of o x ->
  exists p, pays table x = Some p /\ p < m /\ at_place p x <= at_place o x.
Proof.
  intros real some%unspent_left.
  destruct (proj2 (table_pays x) o real) as (p & who & first); [now split|]. exists p.
  split; [assumption|]. split; [now apply (proj1 (table_pays x) p)|assumption].
Qed.

(* At each instant, of those at one place, no more is due than is left in the table; nor of the
   server itself. *)
Let of_place b (f : nat -> nat -> nat) x := sum m (fun o => if at_place o x =? b then f o x else 0).
Let no_more x := due s x <= left_of s x /\
  forall b, counts b -> of_place b due x <= of_place b left_of x.

Lemma of_place_has b f o x : o < m -> at_place o x = b -> f o x <= of_place b f x.
Proof.
  intros real <-. unfold of_place.
  pose proof (sum_has m (fun i => if at_place i x =? at_place o x then f i x else 0) o real) as has.
  cbn beta in has. now rewrite Nat.eqb_refl in has.
Qed.

Lemma of_place_some b f x : 0 < of_place b f x -> exists o, o < m /\ at_place o x = b /\ 0 < f o x.
Proof.
  intros some. apply sum_has_some in some as (o & real & some). exists o.
  destruct (Nat.eqb_spec (at_place o x) b); [|lia]. auto.
Qed.

(* Who comes before the payer in the table has nothing due. *)
Lemma nobody_before x p o : no_more x -> pays table x = Some p -> o < m ->
  counts (at_place o x) -> at_place o x < at_place p x -> due o x = 0.
Proof.
  intros [_ claim] who real count before.
  destruct (due o x) eqn:is_due; [reflexivity|exfalso].
  pose proof (of_place_has (at_place o x) due o x real eq_refl) as has.
  specialize (claim (at_place o x) count).
  destruct (of_place_some (at_place o x) left_of x) as (i & real_i & same & some); [lia|].
  destruct (left_pays i x real_i some) as (q & is_q & _ & first).
  rewrite who in is_q. injection is_q as <-. lia.
Qed.

(* What is due and left when x is over, before budgets come anew. *)
Lemma settled x : x < k * P + u -> no_more x ->
  due s x + paid table s x <= left_of s x + paid h s x /\
  forall b, counts b -> of_place b due x + of_place b (paid table) x <=
    of_place b left_of x + of_place b (paid h) x.
Proof.
  intros before claim. pose proof claim as [own_claim claims].
  assert (same : forall b, counts b -> of_place b (paid table) x <= 1 /\
    (0 < of_place b (paid table) x -> 0 < of_place b due x -> 1 <= of_place b (paid h) x)).
  { intros b count. split.
    - unfold of_place. apply Nat.le_trans with (sum m (fun o => paid table o x)).
      + apply sum_weak. intros o _. destruct (at_place o x =? b); lia.
      + unfold paid. apply one_payer.
    - intros in_table some.
      destruct (of_place_some _ _ _ in_table) as (q & _ & at_b & pays_q).
      assert (pays table x = Some q) as is_q.
      { apply here_only. unfold paid in pays_q. now destruct (here q (pays table x)). }
      destruct (of_place_some _ _ _ some) as (o & real & at_o & due_o).
      destruct (due_pays o x real before due_o) as (p & who & real_p & first).
      pose proof (proj1 (due_step p x real_p before)) as due_p.
      assert (paid h p x = 1) as pays_p by (unfold paid; now rewrite who, here_itself).
      destruct (Nat.eq_dec (at_place p x) b) as [at_p|sooner].
      + pose proof (of_place_has b (paid h) p x real_p at_p). lia.
      + pose proof (nobody_before x q p claim is_q real_p) as none.
        assert (counts (at_place p x)) by (destruct count as [|low]; [now left|right; lia]).
        rewrite none in due_p by (assumption || lia). lia. }
  split.
  - destruct (here s (pays table x)) eqn:in_table; unfold paid; rewrite in_table; cbn [Nat.b2n];
      [|lia].
    apply here_only in in_table. pose proof (proj1 (left_step s x inside)) as funded.
    unfold paid in funded. rewrite in_table, here_itself in funded. cbn [Nat.b2n] in funded.
    destruct (Nat.eq_dec (due s x) (left_of s x)) as [tight|]; [|lia].
    destruct (due_pays s x inside before ltac:(lia)) as (p & who & real_p & first).
    destruct (Nat.eq_dec p s) as [->|other]; [rewrite who, here_itself; cbn; lia|exfalso].
    pose proof (proj1 (due_step p x real_p before)) as due_p. unfold paid in due_p.
    rewrite who, here_itself in due_p. cbn [Nat.b2n] in due_p.
    assert (counts (at_place s x)) as count
      by (unfold counts, at_place, place; destruct by_order; [right|left]; auto).
    destruct (Nat.eq_dec (at_place p x) (at_place s x)) as [same_p|sooner].
    2: { rewrite (nobody_before x s p claim in_table real_p) in due_p; [lia| |lia].
         destruct count; [now left|right; lia]. }
    specialize (claims _ count).
    set (b := at_place s x) in *.
    pose proof (sum_but_one m s (fun i => if i =? p then due p x else 0)
      (fun i => if at_place i x =? b then due i x else 0) inside) as both. cbn beta in both.
    pose proof (sum_has m (fun i => if i =? p then due p x else 0) p real_p) as has_p.
    cbn beta in has_p. rewrite Nat.eqb_refl in has_p.
    pose proof (sum_but_one m s (fun i => if at_place i x =? b then left_of i x else 0)
      (fun _ => 0) inside) as only. cbn beta in only.
    rewrite sum_constant in only. unfold of_place in claims.
    replace (s =? p) with false in both by (symmetry; apply Nat.eqb_neq; congruence).
    unfold b in both, only. rewrite Nat.eqb_refl in both, only. fold b in both, only.
    assert (forall i, i < m -> i <> s -> (if at_place i x =? b then left_of i x else 0) <= 0)
      as none.
    { intros i real other_i. destruct (Nat.eqb_spec (at_place i x) b) as [equal|]; [|lia].
      apply Nat.nlt_ge. intros some%unspent_left.
      pose proof (loses_ties m servers by_order s M payer periods tabled x i in_table inside real
        other_i some). unfold b, at_place in *. lia. }
    specialize (only none).
    assert (forall i, i < m -> i <> s ->
      (if i =? p then due p x else 0) <= (if at_place i x =? b then due i x else 0)) as less.
    { intros i _ _. destruct (Nat.eqb_spec i p) as [->|]; [|lia].
      rewrite same_p, Nat.eqb_refl. lia. }
    specialize (both less). lia.
  - intros b count. specialize (claims b count). destruct (same b count) as [one both].
    assert (of_place b (paid table) x <= of_place b left_of x).
    { apply sum_weak. intros o real. destruct (at_place o x =? b); [|lia].
      now apply left_step. }
    lia.
Qed.

(* Who keeps all has nothing left when its period ends. *)
Lemma kept_to_the_end o x : o < m -> keeps_all o -> S x mod every (servers o) = 0 ->
  left_of o x <= paid table o x.
Proof.
  intros real keeps refill. pose proof (periods o real) as some.
  pose proof (in_period (every (servers o)) x some) as there. unfold left_of.
  pose proof (keeps (x / every (servers o))) as all.
  destruct (same_period _ _ x some there) as [_ at_x].
  set (from := x / every (servers o) * every (servers o)) in *.
  assert (S x = from + every (servers o)) as whole.
  { destruct (Nat.eq_dec (S x) (from + every (servers o))) as [|sooner]; [assumption|exfalso].
    destruct (same_period (every (servers o)) (x / every (servers o)) (S x) some) as [_ on];
      fold from; lia. }
  replace (every (servers o)) with (S (x mod every (servers o))) in all by lia.
  cbn [amount] in all. rewrite charged_in_table in all.
  replace (from + x mod every (servers o)) with x in all by lia.
  unfold paid. destruct (here o (pays table x)); cbn [Nat.b2n] in *; lia.
Qed.

(* So it goes on: with the budgets that come at the next instant. *)
Lemma goes_on x : x < k * P + u -> no_more x -> no_more (S x).
Proof.
  intros before claim. destruct (settled x before claim) as [own_settled all_settled].
  assert (due s (S x) <= left_of s (S x)) as own_claim.
  { destruct (left_step s x inside) as [_ [[_ ->]|(running & _ & ends_with)]];
      [now apply due_small|]. pose proof (proj2 (due_step s x inside before) running). lia. }
  split; [assumption|]. intros b count. specialize (all_settled b count).
  destruct (all_or_one m (fun o => negb (S x mod every (servers o) =? 0)
    || negb (at_place o x =? b) || (left_of o x <=? paid table o x))) as [kept|(o & real & lossy)].
  - pose (anew o := if (S x mod every (servers o) =? 0) && (at_place o (S x) =? b)
      then budget (servers o) else 0).
    assert (of_place b due (S x) + of_place b (paid h) x <= of_place b due x + sum m anew).
    { unfold of_place. rewrite <- !sum_plus. apply sum_weak. intros o real. unfold anew.
      destruct (due_step o x real before) as [funded less].
      pose proof (due_small o (S x) real).
      destruct (left_step o x real) as [_ [[-> _]|(running & -> & _)]].
      - cbn [Nat.eqb andb]. destruct (at_place o (S x) =? b), (at_place o x =? b); lia.
      - specialize (less running). apply Nat.eqb_neq in running. rewrite running. cbn [andb].
        destruct (at_place o x =? b); lia. }
    assert (of_place b left_of x + sum m anew
      <= of_place b left_of (S x) + of_place b (paid table) x).
    { unfold of_place. rewrite <- !sum_plus. apply sum_weak. intros o real. unfold anew.
      specialize (kept o real).
      destruct (left_step o x real) as [_ [[refill ->]|(running & -> & ends_with)]].
      - rewrite refill in *. cbn [Nat.eqb andb negb orb] in *.
        destruct (at_place o (S x) =? b), (at_place o x =? b); cbn [negb orb] in kept;
          try apply Nat.leb_le in kept; lia.
      - apply Nat.eqb_neq in running. rewrite running. cbn [andb].
        destruct (at_place o x =? b); lia. }
    lia.
  - apply orb_false_elim in lossy as [[refill at_b]%orb_false_elim lossy%Nat.leb_gt].
    apply negb_false_iff, Nat.eqb_eq in refill, at_b.
    assert (~ keeps_all o) as not_kept
      by (intros keeps; pose proof (kept_to_the_end o x real keeps refill); lia).
    apply sum_weak. intros i real_i.
    destruct (Nat.eqb_spec (at_place i (S x)) b) as [there|]; [|lia].
    destruct (Nat.eq_dec i s) as [->|not_s]; [assumption|].
    destruct (Nat.eq_dec i o) as [->|other].
    + destruct (left_step o x real) as [_ [[_ ->]|(running & _)]]; [now apply due_small|lia].
    + exfalso. apply not_kept. assert (o <> s) as not_own by (intros ->; now apply not_kept).
      refine (in_all_periods m servers by_order s M payer tabled o _ _ real _).
      apply tabled; [assumption..|]. unfold at_place, counts in *.
      destruct by_order; [right|now left]. destruct count as [|low]; [discriminate|].
      cbn [place] in *. exists i. repeat split; congruence || assumption || lia.
Qed.

Lemma always x : x <= k * P + u -> no_more x.
Proof.
  induction x as [|x IH]; intros before; [|apply goes_on; [lia|apply IH; lia]].
  assert (forall o, o < m -> due o 0 <= left_of o 0) as each.
  { intros o real. unfold left_of. rewrite Nat.mod_0_l by (pose proof (periods o real); lia).
    cbn [amount]. rewrite Nat.sub_0_r. now apply due_small. }
  split; [now apply each|]. intros b _. apply sum_weak. intros o real.
  destruct (at_place o 0 =? b); [now apply each|lia].
Qed.

(* What the server is charged in the table it is charged in the run. *)
Lemma as_in_table : amount (charged table s) (k * P) u <= amount (charged h s) (k * P) u.
Proof.
  pose proof (at_most m servers by_order Periodic Idle table periods
    table_pays (rounds_share servers M payer) s k u inside early) as few. fold P B in few.
  destruct (Nat.eq_dec u 0) as [->|more]; [cbn; lia|].
  pose proof (periods s inside : 0 < P) as some. pose (w := u - 1).
  destruct (settled (k * P + w)) as [settled_s _]; [lia|apply always; lia|].
  unfold due, left_of in settled_s. rewrite Nat.eqb_refl in settled_s.
  replace (k * P <=? k * P + w) with true in settled_s by (symmetry; apply Nat.leb_le; lia).
  destruct (same_period P k (k * P + w) some) as [is_k at_w]; [lia|].
  cbn [andb] in settled_s. fold P B in settled_s. rewrite is_k, at_w in settled_s.
  replace (k * P + w - k * P) with w in settled_s by lia.
  replace u with (S w) in few |- * by lia. cbn [amount] in few |- *.
  rewrite charged_in_table in few |- *. unfold paid, charged in *.
  destruct (here s (pays table (k * P + w))), (here s (pays h (k * P + w)));
    cbn [Nat.b2n orb] in *; lia || (destruct (here s (also h (k * P + w))); lia).
Qed.

End Table.

Theorem known_by_table m servers by_order by_rule by_slack h s wait :
  (forall i, i < m -> 0 < every (servers i)) -> by_rule <> Deferrable ->
  paying by_rule m servers by_order h -> sharing by_slack servers h ->
  s < m -> waits_in_table m servers by_order s wait ->
  comes_by (every (servers s)) (budget (servers s)) wait by_rule (wants h s) (charged h s).
Proof.
  intros periods not_deferrable legal shared inside ((whole & _) & M & payer & tabled & first).
  set (P := every (servers s)) in *. set (B := budget (servers s)) in *.
  assert (in_table : forall k y, y < B ->
    S y <= amount (charged (rounds M payer) s) (k * P) (S y + wait y)).
  { intros k y small. revert k.
    refine (in_all_periods m servers by_order s M payer tabled s _ _ inside _). auto. }
  assert (own : forall k, B <= amount (charged (rounds M payer) s) (k * P) P).
  { intros k. destruct (Nat.eq_dec B 0) as [|some]; [lia|].
    pose proof (in_table k (B - 1) ltac:(lia)).
    pose proof (amount_grows (charged (rounds M payer) s) (k * P) (S (B - 1) + wait (B - 1)) P
      (whole (B - 1) ltac:(lia))). lia. }
  intros k o y small polled working. specialize (whole y small). specialize (in_table k y small).
  assert (by_rule = Polling -> throughout (wants h s) (k * P) (S y + wait y)) as all.
  { intros is_polling. rewrite (polled is_polling), Nat.add_0_r, Nat.sub_0_r in working.
    apply working. congruence. }
  pose proof (as_in_table m servers by_order by_rule by_slack h periods not_deferrable legal shared
    s M inside payer tabled own k (S y + wait y) whole all) as more. fold P in more.
  destruct (Nat.le_gt_cases (S y + wait y) o) as [|later]; [lia|].
  pose proof (amount_split (charged h s) (k * P) o (S y + wait y - o)) as cut.
  replace (o + (S y + wait y - o)) with (S y + wait y) in cut by lia.
  pose proof (amount_at_most (charged h s) (k * P) o). lia.
Qed.
