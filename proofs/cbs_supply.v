(* SPDX-License-Identifier: BSD-2-Clause *)
(* Constant bandwidth servers under EDF on one pcpu supply their bound, if their bandwidths add up
   to 1 at most, and tasks on them are in time (Abeni and Buttazzo, RTSS 1998, for the rule).

   A server with q left and deadline d has used its bandwidth up to its virtual time, d - q P / B.
   That grows by P / B with each unit that it pays, stays where it is at a refill, and is set to the
   present, which it was behind, where an arrival begins a new period. So from any instant w on at
   which a server has no work, no budget or a deadline after D, it pays for no more than its
   bandwidth allows from w to D, with deadlines up to D. Let w be the last instant before x that
   is like that for all servers, and D the deadline of one that has work at x: all servers together
   paid for all of the time from w on, and what this one has left counts as well, so what it has
   left fits before D.

   While a server has work and none begins anew, it is then served as a periodic server is whose
   periods begin at its deadlines, except that what it has before the first of them may be less than
   a budget: but that deadline is no further than what is left, and P - B. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host cbs.

(* * One account *)

Section Account.
Context (servers : nat -> server) (arriving_at : nat -> nat -> bool) (h : host) (s : nat).
Context (sane : 0 < budget (servers s) <= every (servers s)).
Let P := every (servers s).
Let B := budget (servers s).
Local Notation arrives := (arriving_at s).
Local Notation paid := (paid h s).
Local Notation at_ := (its servers arriving_at h s).
Let before x := match x with
  | 0 => {| left := B; until := P |}
  | S y => charge_of (at_ y) (paid y)
  end.

Lemma account_now x : at_ x = ruled (servers s) x (arrives x) (before x).
Proof. now destruct x. Qed.

(* What the rules do to an account: nothing, a refill, or a new period that begins with an arrival,
   whose virtual time is later. *)
Lemma ruled_is x arrived it : left it <= B ->
  let now := ruled (servers s) x arrived it in
  (now = it /\ (left it = 0 -> x < until it) /\
     (arrived = true -> left it * P <= (until it - x) * B)) \/
  (left now = B /\ until now = until it + P /\ left it = 0 /\ until it <= x /\
     (arrived = true -> x <= until it)) \/
  (arrived = true /\ left now = B /\ until now = x + P /\
     until it * B < x * B + left it * P).
Proof.
  intros few. unfold ruled, refilled. fold P B.
  destruct (Nat.eqb_spec (left it) 0) as [none|some]; cbn [andb].
  - destruct (Nat.leb_spec (until it) x) as [due|later].
    + destruct arrived.
      * unfold renewed. fold P B. cbn [left until].
        destruct (Nat.ltb_spec ((until it + P - x) * B) (B * P)) as [more|fits]; cbn [left until].
        -- right. right. repeat split. nia.
        -- right. left. repeat split; try assumption. intros _. nia.
      * right. left. cbn [left until]. repeat split; try assumption. discriminate.
    + destruct arrived; [|left; repeat split; easy || lia].
      unfold renewed. fold P B. rewrite none. cbn [Nat.mul].
      destruct (Nat.ltb_spec ((until it - x) * B) 0); [lia|]. left. repeat split; lia.
  - destruct arrived; [|left; repeat split; easy || lia].
    unfold renewed. fold P B.
    destruct (Nat.ltb_spec ((until it - x) * B) (left it * P)) as [more|fits]; cbn [left until].
    + right. right. repeat split. nia.
    + left. repeat split; lia.
Qed.

Lemma left_few x : left (at_ x) <= B.
Proof.
  assert (few : forall x, left (before x) <= B -> left (at_ x) <= B).
  { clear x. intros x few. rewrite account_now.
    destruct (ruled_is x (arrives x) (before x) few) as [(-> & _)|[(-> & _)|(_ & -> & _)]]; lia. }
  induction x as [|x IH]; apply few; unfold before; cbn [charge_of left]; [|destruct (paid x)]; lia.
Qed.

Lemma before_few x : left (before x) <= B.
Proof.
  destruct x as [|x]; unfold before; cbn [charge_of left]; [lia|].
  pose proof (left_few x). destruct (paid x); lia.
Qed.

Lemma ruled_at x :
  (at_ x = before x /\ (left (before x) = 0 -> x < until (before x)) /\
     (arrives x = true -> left (before x) * P <= (until (before x) - x) * B)) \/
  (left (at_ x) = B /\ until (at_ x) = until (before x) + P /\ left (before x) = 0 /\
     until (before x) <= x /\ (arrives x = true -> x <= until (before x))) \/
  (arrives x = true /\ left (at_ x) = B /\ until (at_ x) = x + P /\
     until (before x) * B < x * B + left (before x) * P).
Proof. rewrite account_now. apply ruled_is, before_few. Qed.

(* A server without budget waits for its deadline. *)
Lemma waits x : left (at_ x) = 0 -> x < until (at_ x).
Proof. destruct (ruled_at x) as [(-> & none & _)|[|]]; [exact none|lia..]. Qed.

(* So the deadline is never further than what is left, and P - B. *)
Lemma near x : until (at_ x) <= x + left (at_ x) + (P - B).
Proof.
  assert (step : forall x, until (before x) <= x + left (before x) + (P - B) ->
    until (at_ x) <= x + left (at_ x) + (P - B)).
  { clear x. intros x close. destruct (ruled_at x) as [(-> & _)|[|]]; lia. }
  induction x as [|x IH]; apply step; unfold before; cbn [charge_of left until]; [lia|].
  destruct (paid x); lia.
Qed.

Lemma deadline_grows x : until (at_ x) <= until (at_ (S x)).
Proof.
  pose proof (before_few (S x)).
  destruct (ruled_at (S x)) as [(-> & _)|[|(_ & _ & -> & less)]]; unfold before in *;
    cbn [charge_of left until] in *; [lia|lia|nia].
Qed.

(* An arrival leaves a virtual time no earlier than the present. *)
Lemma arrived x : arrives x = true -> x * B + left (at_ x) * P <= until (at_ x) * B.
Proof.
  intros now.
  destruct (ruled_at x) as [(-> & none & fits)|[(-> & -> & _ & _ & early)|(_ & -> & -> & _)]].
  - specialize (fits now). destruct (Nat.le_gt_cases x (until (before x))) as [ahead|past].
    + rewrite Nat.mul_sub_distr_r in fits. nia.
    + replace (until (before x) - x) with 0 in fits by lia.
      destruct (left (before x)); [lia|nia].
  - specialize (early now). nia.
  - nia.
Qed.

(* Virtual time, (until * B - left * P) / B, grows by P / B at least with each unit that is paid. *)
Lemma virtual x : (paid x = true -> 0 < left (at_ x)) ->
  until (at_ x) * B + left (at_ (S x)) * P + (if paid x then P else 0)
  <= until (at_ (S x)) * B + left (at_ x) * P.
Proof.
  intros some. assert (paid_part : left (before (S x)) * P + (if paid x then P else 0)
    = left (at_ x) * P).
  { unfold before; cbn [charge_of left]. destruct (paid x); [specialize (some eq_refl)|];
      rewrite Nat.mul_sub_distr_r; nia. }
  assert (same : until (before (S x)) = until (at_ x)) by reflexivity.
  destruct (ruled_at (S x)) as [(-> & _)|[(-> & -> & none & _)|(_ & -> & -> & less)]]; nia.
Qed.

Lemma start : left (at_ 0) * P <= until (at_ 0) * B.
Proof.
  destruct (ruled_at 0) as [(-> & _)|[(_ & _ & none & _)|(_ & -> & -> & _)]];
    unfold before in *; cbn [left until] in *; nia.
Qed.

(* * A window in which the server has work throughout *)

Section Window.
Context (kept : punctual servers arriving_at h s).
Context (legal : forall x, paid x = true -> 0 < left (at_ x)).
Context (a u : nat) (quiet : forall x, a < x <= a + u -> arrives x = false).

(* There were k refills in it. *)
Lemma refills : exists k, until (at_ (a + u)) = until (at_ a) + k * P /\
  left (at_ (a + u)) + amount paid a u = left (at_ a) + k * B /\
  until (at_ (a + u)) <= max (until (at_ a)) (a + u + P).
Proof.
  induction u as [|v IH]; [exists 0; rewrite Nat.add_0_r; cbn [amount]; lia|].
  destruct IH as (k & deadline & budget_left & soon); [intros; apply quiet; lia|].
  pose proof (legal (a + v)) as some. rewrite <- plus_n_Sm. cbn [amount].
  destruct (ruled_at (S (a + v))) as [(now & _)|[(now & next & none & due & _)|(now & _)]].
  - exists k. rewrite now. unfold before; cbn [charge_of left until].
    destruct (paid (a + v)); [specialize (some eq_refl)|]; lia.
  - exists (S k). rewrite now, next. unfold before in *; cbn [charge_of left until] in *.
    destruct (paid (a + v)); [specialize (some eq_refl)|]; lia.
  - rewrite quiet in now by lia. discriminate.
Qed.

Lemma window_supply : throughout (wants h s) a (S u) ->
  sbf P B (general P B P) (S u) <= amount paid a (S u).
Proof.
  intros all. destruct refills as (k & deadline & budget_left & soon).
  pose proof (near a). pose proof (left_few (a + u)).
  pose (last := if paid (a + u) then 1 else 0).
  assert (last <= left (at_ (a + u)) /\ last <= 1) as [own one_at_most].
  { unfold last. pose proof (legal (a + u)) as some.
    destruct (paid (a + u)); [specialize (some eq_refl)|]; lia. }
  assert (in_time : forall x, a <= x <= a + u ->
    S x + left (at_ x) <= until (at_ x) + (if paid x then 1 else 0)).
  { intros x there. pose proof (waits x) as ahead.
    pose proof (kept x (all x ltac:(lia))) as keeps_it.
    destruct (left (at_ x)); [specialize (ahead eq_refl); destruct (paid x)|]; lia. }
  assert (a < until (at_ a)).
  { pose proof (in_time a ltac:(lia)). pose proof (waits a). destruct (paid a); lia. }
  specialize (in_time (a + u) ltac:(lia)). fold last in in_time. cbn [amount]. fold last.
  clearbody last. pose proof (sane : 0 < B <= P) as sizes.
  pose proof (sbf_slow P B (general P B P) (S u) sizes) as slow. unfold general in *.
  destruct k as [|k]; [lia|]. cbn [Nat.mul] in *.
  (* The instants since the last refill. *)
  pose (r := a + S u - (until (at_ a) + k * P)).
  destruct (Nat.lt_ge_cases r P) as [part|whole].
  - apply pieces with (z := left (at_ a)) (n := k) (r := r) (gap := P - B); unfold r in *; lia.
  - apply pieces with (z := left (at_ a)) (n := S k) (r := 0) (gap := 0); unfold r in *; lia.
Qed.

End Window.

End Account.

(* * All of a pcpu *)

Section Pcpu.
Context (m : nat) (servers : nat -> server) (arrives : nat -> nat -> bool) (h : host).
Context (sane : forall s, s < m -> 0 < budget (servers s) <= every (servers s)).
Context (come : arriving m arrives h) (legal : earliest_pays m servers arrives h).
Local Notation at_ := (its servers arrives h).

Lemma paid_is s x : paid h s x = true -> s < m /\ wants h s x /\ 0 < left (at_ s x).
Proof. intros who. apply here_only in who. now apply (proj1 (legal x)). Qed.

(* An instant x at which the server s has work and budget, and the law was kept before it. *)
Section Late.
Context (s x : nat) (inside : s < m) (working : wants h s x) (some : 0 < left (at_ s x)).
Context (kept : forall o y, o < m -> y < x -> wants h o y -> 0 < left (at_ o y) ->
  S y + left (at_ o y) <= until (at_ o y) + (if paid h o y then 1 else 0)).
Let D := until (at_ s x).

(* Someone pays who is due no later than s is. *)
Let early (y : nat) : bool :=
  match pays h y with Some o => until (at_ o y) <=? D | None => false end.

Definition eligible (o y : nat) : Prop :=
  wants h o y /\ 0 < left (at_ o y) /\ until (at_ o y) <= D.

Lemma eligible_early o y : o < m -> eligible o y -> early y = true.
Proof.
  intros real (wanted & left_over & due). unfold early.
  destruct (proj2 (legal y) o real wanted left_over) as (other & -> & first).
  apply Nat.leb_le. lia.
Qed.

(* Since when someone like that pays. *)
Lemma begins u : u <= x -> (forall y, u <= y <= x -> early y = true) -> exists w,
  w <= u /\ (forall y, w <= y <= x -> early y = true) /\
  match w with 0 => True | S v => early v = false end.
Proof.
  induction u as [|u IH]; intros short all; [now exists 0|].
  destruct (early u) eqn:before; [|now exists (S u)].
  destruct IH as (w & low & rest); [lia| |exists w; split; [lia|exact rest]].
  intros y there. destruct (Nat.eq_dec y u) as [->|]; [assumption|]. apply all. lia.
Qed.

(* When a server becomes eligible its virtual time is no less than the time. *)
Lemma fresh o y : o < m -> S y <= x -> eligible o (S y) -> ~ eligible o y ->
  S y * budget (servers o) + left (at_ o (S y)) * every (servers o)
  <= until (at_ o (S y)) * budget (servers o).
Proof.
  intros real earlier (wanted & left_over & due) not_before.
  pose proof (sane o real) as sizes.
  destruct (arrives o (S y)) eqn:arrives_now;
    [now apply (arrived servers arrives h o sizes)|].
  pose proof (deadline_grows servers arrives h o sizes y) as grows.
  pose proof (waits servers arrives h o sizes y) as ahead.
  pose proof (kept o y real earlier) as law.
  pose proof (paid_is o y) as pays_now.
  destruct (ruled_at servers arrives h o sizes (S y))
    as [(now & _)|[(now & next & none & past & _)|(now & _)]]; cbn [charge_of left until] in *.
  - exfalso. assert (~ wants h o y) as idle.
    { intros wanted_before. apply not_before. split; [assumption|]. split; [|lia].
      rewrite now in left_over. cbn [charge_of left] in left_over. lia. }
    specialize (come o y real wanted idle). congruence.
  - rewrite now, next. assert (until (at_ o y) = S y); [|nia].
    destruct (left (at_ o y)) eqn:amount_left;
      [specialize (ahead eq_refl); lia|].
    destruct (paid h o y); [|lia]. destruct (pays_now eq_refl) as (_ & wanted_before & _).
    specialize (law wanted_before). lia.
  - congruence.
Qed.

Context (w : nat) (short : w <= x) (all : forall y, w <= y <= x -> early y = true).
Context (before : match w with 0 => True | S v => early v = false end).

(* From then on, or from the first unit that it pays, it is no less than what is paid allows. *)
Lemma demand o u : o < m -> w + u <= x ->
  let done := amount (paid h o) w u in
  eligible o (w + u) \/ 0 < done ->
  w * budget (servers o) + done * every (servers o) + left (at_ o (w + u)) * every (servers o)
  <= until (at_ o (w + u)) * budget (servers o).
Proof.
  intros real. pose proof (sane o real) as sizes.
  induction u as [|u IH]; cbn zeta; intros there has_some.
  - replace (w + 0) with w in * by lia. cbn [amount] in *. destruct has_some as [ready|]; [|lia].
    destruct w as [|v]; [pose proof (start servers arrives h o sizes); lia|].
    pose proof (fresh o v real there ready) as new.
    assert (~ eligible o v) as not_yet; [|specialize (new not_yet); lia].
    intros now%eligible_early; [congruence|assumption].
  - rewrite <- plus_n_Sm in *. cbn [amount] in *.
    pose proof (virtual servers arrives h o sizes (w + u)
      (fun who => proj2 (proj2 (paid_is o (w + u) who)))) as step.
    specialize (IH ltac:(lia)). cbn zeta in IH.
    assert (next : eligible o (w + u) \/ 0 < amount (paid h o) w u ->
      w * budget (servers o) + (amount (paid h o) w u + (if paid h o (w + u) then 1 else 0))
        * every (servers o) + left (at_ o (S (w + u))) * every (servers o)
      <= until (at_ o (S (w + u))) * budget (servers o)).
    { intros held. specialize (IH held). destruct (paid h o (w + u)); nia. }
    destruct (Nat.eq_dec (amount (paid h o) w u) 0) as [none|]; [|apply next; lia].
    destruct (paid h o (w + u)) eqn:who.
    + apply next. left. destruct (paid_is o (w + u) who) as (_ & wanted & left_over).
      split; [assumption|]. split; [assumption|]. apply here_only in who.
      pose proof (all (w + u) ltac:(lia)) as soon. unfold early in soon. rewrite who in soon.
      now apply Nat.leb_le.
    + destruct has_some as [ready|]; [|lia].
      destruct (le_dec (w * budget (servers o) + (amount (paid h o) w u + 0) * every (servers o)
        + left (at_ o (S (w + u))) * every (servers o))
        (until (at_ o (S (w + u))) * budget (servers o))) as [|not_held]; [assumption|].
      pose proof (fresh o (w + u) real there ready) as new.
      assert (~ eligible o (w + u)) as not_yet by (intros held; apply not_held, next; now left).
      specialize (new not_yet). rewrite none. nia.
Qed.

Lemma share o u : o < m -> w + u <= S x ->
  amount (paid h o) w u * every (servers o) <= (D - w) * budget (servers o).
Proof.
  intros real. induction u as [|u IH]; intros there; cbn [amount]; [apply Nat.le_0_l|].
  destruct (paid h o (w + u)) eqn:who; [|rewrite Nat.add_0_r; apply IH; lia].
  destruct (paid_is o (w + u) who) as (_ & wanted & left_over).
  apply here_only in who. pose proof (all (w + u) ltac:(lia)) as soon.
  unfold early in soon. rewrite who in soon. apply Nat.leb_le in soon.
  pose proof (demand o u real ltac:(lia)) as part. cbn zeta in part.
  rewrite Nat.mul_sub_distr_r.
  assert (eligible o (w + u)) as ready by now split.
  specialize (part (or_introl ready)). nia.
Qed.

Context (M : nat) (positive : 0 < M).
Context (multiple : forall i, i < m -> exists q, M = q * every (servers i)).
Context (fits : sum m (fun i => budget (servers i) * (M / every (servers i))) <= M).

(* Together they do not pay for more than the time until D, with what is left to s. *)
Lemma now_punctual : S x + left (at_ s x) <= D + (if paid h s x then 1 else 0).
Proof.
  pose (rest := left (at_ s x) - if paid h s x then 1 else 0).
  assert (own : w * budget (servers s) + (amount (paid h s) w (S x - w) + rest) * every (servers s)
    <= D * budget (servers s)).
  { pose proof (demand s (x - w) inside ltac:(lia)) as part. cbn zeta in part.
    replace (w + (x - w)) with x in part by lia. fold D in part.
    assert (ready : eligible s x) by (split; [assumption|]; split; [assumption|apply le_n]).
    specialize (part (or_introl ready)). replace (S x - w) with (S (x - w)) by lia.
    cbn [amount]. replace (w + (x - w)) with x by lia. unfold rest.
    destruct (paid h s x); nia. }
  assert (each : forall o, o < m ->
    (amount (paid h o) w (S x - w) + (if o =? s then rest else 0)) * M
    <= (D - w) * (budget (servers o) * (M / every (servers o)))).
  { intros o real. destruct (multiple o real) as (q & ->). pose proof (sane o real).
    rewrite Nat.div_mul by lia.
    destruct (Nat.eqb_spec o s) as [->|other].
    - pose proof (Nat.mul_sub_distr_r D w (budget (servers s))). nia.
    - pose proof (share o (S x - w) real ltac:(lia)). nia. }
  assert (busy : S x - w <= sum m (fun o => amount (paid h o) w (S x - w))).
  { rewrite <- (amount_of_all (fun _ => true) w (S x - w)) at 1 by reflexivity.
    apply amount_covered. intros y there _. pose proof (all y ltac:(lia)) as soon.
    unfold early in soon. destruct (pays h y) as [o|] eqn:who; [|discriminate]. exists o.
    split; [now apply (proj1 (legal y) o)|]. unfold paid. rewrite who. apply here_itself. }
  apply sum_weak in each. cbn beta in each.
  pose proof (sum_has m (fun o => if o =? s then rest else 0) s inside) as one.
  cbn beta in one. rewrite Nat.eqb_refl in one.
  rewrite sum_times, sum_plus in each.
  assert (S x - w + rest <= D - w); [|unfold rest in *; destruct (paid h s x); lia].
  apply (Nat.mul_le_mono_pos_r _ _ M positive).
  assert (sum m (fun o => (D - w) * (budget (servers o) * (M / every (servers o)))) <= (D - w) * M).
  { erewrite sum_same; [rewrite sum_times|intros; apply Nat.mul_comm]. nia. }
  nia.
Qed.

End Late.

Lemma all_punctual s : bandwidth_at_most_1 m servers -> s < m -> punctual servers arrives h s.
Proof.
  intros (M & positive & multiple & fits) inside x. revert s inside.
  induction x as [x IH] using lt_wf_ind. intros s inside working some.
  destruct (begins s x inside some x (le_n _)) as (w & low & all & before).
  - intros y there. replace y with x by lia. apply (eligible_early s x inside some s).
    + assumption.
    + split; [assumption|]. split; [assumption|apply le_n].
  - apply (now_punctual s x inside working some) with (w := w) (M := M); auto.
Qed.

End Pcpu.

(* What a server has left at an instant with work can come by its deadline, so that it does if the
   work goes on; and it supplies the bound. *)
Theorem cbs_edf m servers arrives h s :
  (forall i, i < m -> 0 < budget (servers i) <= every (servers i)) ->
  arriving m arrives h -> earliest_pays m servers arrives h ->
  bandwidth_at_most_1 m servers -> s < m ->
  punctual servers arrives h s /\ supplies_unbroken arrives h s (general_bound servers s).
Proof.
  intros sane come legal enough inside. pose proof (sane s inside) as sizes.
  assert (kept : punctual servers arrives h s) by now apply (all_punctual m).
  split; [exact kept|]. intros a t all unbroken. unfold general_bound.
  destruct t as [|t]; [pose proof (sbf_slow (every (servers s)) (budget (servers s))
    (general (every (servers s)) (budget (servers s)) (every (servers s))) 0 sizes); lia|].
  apply (window_supply servers arrives h s sizes kept); [|intros; apply unbroken; lia|assumption].
  intros x who. now apply (paid_is m servers arrives h legal s x).
Qed.

(* * Tasks on a server *)

(* The windows of the tests are without breaks: what is to be done in one goes on after every
   instant of it. `begun` are the instants at which work begins where all that came before is
   done. Of a job's supply only what comes by its deadline matters. *)
Lemma unbroken_in_time d r gets begun bound j :
  jobs_of (size d) (members d) r -> scheduled (size d) (local_key d r) gets r ->
  (forall x j, begun x = true -> fst j < size d -> release r j < x -> complete r j x) ->
  (forall i, i < size d -> 0 < period (members d i)) ->
  (forall a t, a + t <= due (members d) r j -> throughout (busy (size d) r) a t ->
     (forall x, a < x < a + t -> begun x = false) -> bound t <= amount gets a t) ->
  fits d bound -> fst j < size d -> complete r j (due (members d) r j).
Proof.
  destruct j as [i k]. intros jobs legal anew shape supply test real. cbn in real.
  destruct (complete_or_not r (i, k) (due (members d) r (i, k))) as [|missed]; [assumption|].
  exfalso.
  assert (supplied : forall (these : job -> Prop) w t,
    (forall y, w < y <= release r (i, k) -> ~ quiet (size d) r these y) ->
    throughout (busy (size d) r) w (due (members d) r (i, k) - w) ->
    w + t <= due (members d) r (i, k) -> bound t <= amount gets w t).
  { intros these w t latest all ends. apply supply; [exact ends| |].
    - intros x there. apply all. lia.
    - intros x there. destruct (begun x) eqn:now; [exfalso|reflexivity].
      destruct (Nat.le_gt_cases x (release r (i, k))) as [before_it|after_it].
      + apply (latest x); [lia|]. intros j _ inside_it earlier. now apply (anew x j).
      + apply missed, (complete_later r (i, k) x); [now apply (anew x (i, k))|lia]. }
  unfold fits in test. unfold local_key in legal. destruct (scheduler d) as [ranks|].
  - apply (late_fixed_priority (size d) (members d) ranks gets r i k shape jobs legal real missed).
    intros (w & _ & latest & _ & all & less).
    destruct (less bound (test i real)) as (t & short & fewer).
    pose proof (supplied _ w t latest all short). lia.
  - apply (late_edf (size d) (members d) gets r i k shape jobs legal real missed).
    intros (w & early & latest & _ & all & less).
    pose proof (supplied _ w (due (members d) r (i, k) - w) latest all) as held.
    specialize (test (due (members d) r (i, k) - w)). unfold due in *. cbn [fst] in *. lia.
Qed.

Lemma cbs_supplies m servers arrives h s d r :
  (forall i, i < m -> 0 < budget (servers i) <= every (servers i)) ->
  arriving m arrives h -> earliest_pays m servers arrives h ->
  bandwidth_at_most_1 m servers -> s < m -> hosted h s d r ->
  forall a t, throughout (busy (size d) r) a t ->
    (forall x, a < x < a + t -> arrives s x = false) ->
    general_bound servers s t <= amount (time_of h s) a t.
Proof.
  intros sane come legal enough low (working & _) a t all unbroken.
  destruct (cbs_edf m servers arrives h s sane come legal enough low) as [_ supply].
  apply Nat.le_trans with (amount (paid h s) a t).
  - apply supply; [|assumption]. intros x there. now apply working, all.
  - apply amount_weak. intros x yes. unfold time_of, charged. unfold paid in yes.
    now rewrite yes.
Qed.

Theorem cbs_in_time m servers by_slack arrives h s d r :
  (forall i, i < m -> 0 < budget (servers i) <= every (servers i)) ->
  arriving m arrives h -> earliest_pays m servers arrives h -> sharing by_slack servers h ->
  bandwidth_at_most_1 m servers -> s < m ->
  inside h s d r -> anew arrives s d r ->
  (forall i, i < size d -> 0 < period (members d i)) ->
  fits d (general_bound servers s) -> in_time (size d) (members d) r.
Proof.
  intros sane come legal shared enough low within_it begun shape.
  destruct within_it as [jobs within_it].
  intros test j. apply (unbroken_in_time d r (time_of h s) (arrives s) (general_bound servers s));
    [exact jobs| |exact begun|exact shape| |exact test].
  - now apply (time_scheduled by_slack servers).
  - intros a t _. now apply (cbs_supplies m).
Qed.
