(* SPDX-License-Identifier: BSD-2-Clause *)
(* Packets pass through a driver domain, a domain behind it and the driver again within a bound,
   under PSEDF (analysis/driver_loop/psedf.py).

   With a slice at hand some work takes no longer than R: the work, and what those of higher and
   equal priority spend. If the slice is used up before that, after g of the work, the period had
   gone on for the slice less g at least; so the next slice comes P - B + g after the work at the
   latest, and the rest of it takes R - g. That makes D = P - B + R.

   The driver has no more than one packet of each flow at once, if all are answered in time, and
   serves what it has before what comes later: so each is through after D, with a packet of each
   flow as the work. A packet that is answered within the distance of the packets of its flow is
   gone when the next one comes. So by induction over the bounds of packets all are kept.

   An answer takes P - B + R from its wake; R if each wake begins a period, since that of the last
   one is over. It also comes 2 R after the longest way in, if packets are no less than a period of
   the domain apart: the slice that a packet finds used up was used by one that came a period before
   it, and the next slice comes a period after that one's. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host deferrable cbs slices slices_supply.
From Hyperperiod Require Import driver_loop.

(* * What a slice server is served *)

Section Server.
Context (m : nat) (servers : nat -> server) (works : nat -> nat -> bool) (h : host).
Context (told : working m works h) (legal : slices_pay m servers works h ByRank).
Context (sane : forall i, i < m -> 0 < budget (servers i) <= every (servers i)).
Context (s : nat) (inside : s < m).
Let P := every (servers s).
Let B := budget (servers s).
Local Notation at_ := (slice servers works h s).
Let others := job_rbf m (fun i => as_deferrable (servers i)) (fun i => rank (servers i)) s 0.

(* At each instant of a window it has some of its slice, or at one it has none. *)
Lemma used_up_or a t : (exists x, a <= x < a + t /\ left (at_ x) = 0) \/
  forall x, a <= x < a + t -> 0 < left (at_ x).
Proof.
  induction t as [|t [(x & there & none)|some]];
    [right; lia|left; exists x; split; [lia|assumption]|].
  destruct (left (at_ (a + t))) eqn:now; [left; exists (a + t); split; [lia|assumption]|].
  right. intros x there. destruct (Nat.eq_dec x (a + t)) as [->|]; [lia|apply some; lia].
Qed.

(* If it has, it pays for all but what the others spend. *)
Lemma pays_the_rest a t : throughout (wants h s) a t ->
  (forall x, a <= x < a + t -> 0 < left (at_ x)) -> t <= amount (paid h s) a t + others t.
Proof.
  intros all some. pose (turn := slice_turn servers works h ByRank).
  assert (covered : t <= sum m (fun o => amount (before (paid h) turn s o) a t)).
  { rewrite <- (amount_of_all (fun _ => true) a t) at 1 by reflexivity. apply amount_covered.
    intros x there _. destruct (proj2 (legal x) s inside) as (o & payer & real & sooner); auto.
    exists o. split; [assumption|]. unfold before, paid.
    rewrite payer, here_itself. now apply Nat.leb_le. }
  apply Nat.le_trans with (1 := covered).
  assert (amount (before (paid h) turn s s) a t <= amount (paid h s) a t)
    by (apply amount_weak; now intros x [payer _]%andb_prop).
  apply Nat.le_trans with (amount (before (paid h) turn s s) a t + others t); [|lia].
  unfold others, job_rbf. eapply Nat.le_trans; [apply Nat.le_add_r|].
  apply (sum_but_one m s (fun o => amount (before (paid h) turn s o) a t)); [assumption|].
  intros o real other. unfold before. cbn [slice_turn turn as_deferrable cost period jitter].
  destruct (rank (servers o) <=? rank (servers s)).
  - apply Nat.eqb_neq in other. rewrite other.
    apply Nat.le_trans with (amount (paid h o) a t).
    { apply amount_weak. now intros x [payer _]%andb_prop. }
    now apply (spent_as_task m servers works h ByRank told legal o real (sane o real)).
  - rewrite amount_of_none; [apply le_n|]. intros x _. apply andb_false_r.
Qed.

(* What is left, or has come again, is what was there but for what was paid. *)
Lemma left_or_paid a u : left (at_ a) <= left (at_ (a + u)) + amount (paid h s) a u.
Proof.
  pose proof (left_few m servers works h s inside (sane s inside) a).
  induction u as [|u IH]; [replace (a + 0) with a by lia; lia|]. rewrite <- plus_n_Sm. cbn [amount].
  destruct (next_is m servers works h s inside (sane s inside) (a + u))
    as [(_ & -> & _)|(-> & _)]; [lia|]. destruct (paid h s (a + u)); lia.
Qed.

(* At the deadline, if there is work. *)
Lemma comes_again x : x < until (at_ x) -> wants h s (until (at_ x)) ->
  left (at_ (until (at_ x))) = B /\ until (at_ (until (at_ x))) = until (at_ x) + P.
Proof.
  intros later wanted. set (u := until (at_ x)) in *. apply told in wanted; [|assumption].
  assert (until (at_ (u - 1)) = u) as same.
  { apply (same_until m servers works h s inside (sane s inside) x). fold u. lia. }
  replace u with (S (u - 1)) by lia.
  destruct (next_is m servers works h s inside (sane s inside) (u - 1))
    as [(_ & full & next)|(_ & _ & stale)]; [now split|].
  destruct stale as [idle _]; [lia|]. replace (S (u - 1)) with u in idle by lia. congruence.
Qed.

(* A period begins with work, or where the slice of the one before was used up. *)
Lemma begins T : until (at_ T) = T + P -> wants h s T \/
  exists T0, T = T0 + P /\ until (at_ T0) = T /\ amount (paid h s) T0 P = B.
Proof.
  intros due. pose proof (sane s inside : 0 < B <= P) as sizes.
  destruct (works s T) eqn:working_now; [left; now apply told|right].
  destruct T as [|x].
  { unfold slice, slice_of in due. cbn [account_of] in due. unfold begun in due.
    rewrite working_now in due. cbn [until left Nat.leb andb orb] in due.
    destruct (Nat.eqb_spec (budget (servers s)) 0); cbn [until] in due; lia. }
  change (at_ (S x)) with (begun (servers s) (S x) (works s (S x)) (charge_of (at_ x) (paid h s x)))
    in due. unfold begun in due. rewrite working_now in due. cbn [charge_of until left orb] in due.
  assert (until (at_ x) <= x + P) as near.
  { destruct (Nat.le_gt_cases (until (at_ x)) x) as [|within_it]; [lia|].
    destruct (period_is m servers works h ByRank told legal s inside (sane s inside) x within_it)
      as (T & early & ends & _). fold P in ends. lia. }
  destruct (Nat.leb_spec (until (at_ x)) (S x)) as [over|]; cbn [andb until charge_of] in due;
    [|lia].
  destruct (Nat.eqb_spec (left (at_ x) - (if paid h s x then 1 else 0)) 0) as [used_up|];
    cbn [until charge_of] in due; [|lia].
  assert (x < until (at_ x)) as within_it.
  { destruct (paid h s x) eqn:pays_now.
    - now apply (paid_is m servers works h ByRank told legal s inside (sane s inside)).
    - apply (ahead m servers works h s inside (sane s inside)). right. lia. }
  destruct (period_is m servers works h ByRank told legal s inside (sane s inside) x within_it)
    as (T0 & early & ends & first & rest). fold P B in ends, first, rest.
  exists T0. split; [lia|]. split; [lia|]. replace P with (S (x - T0)) by lia. cbn [amount].
  replace (T0 + (x - T0)) with x by lia.
  pose proof (paid_is m servers works h ByRank told legal s inside (sane s inside) x) as some.
  destruct (paid h s x); [specialize (some eq_refl)|]; lia.
Qed.

Lemma others_grow t u : t <= u -> others t <= others u.
Proof.
  intros more. unfold others, job_rbf, ceiling. apply sum_weak. intros o real.
  destruct (rank (servers o) <=? rank (servers s)), (o =? s); try lia.
  apply Nat.mul_le_mono_r, Nat.div_le_mono; [|lia].
  pose proof (sane o real). cbn [as_deferrable period]. lia.
Qed.

Context (work t : nat) (few : work <= B) (enough : work + others t <= t).

(* With a slice at hand. *)
Lemma at_hand a g : g <= work -> work - g <= left (at_ a) -> throughout (wants h s) a (t - g) ->
  work - g <= amount (paid h s) a (t - g).
Proof.
  intros part hand all.
  destruct (used_up_or a (t - g)) as [(x & there & none)|some].
  - pose proof (left_or_paid a (x - a)) as gone. replace (a + (x - a)) with x in gone by lia.
    pose proof (amount_grows (paid h s) a (x - a) (t - g)). lia.
  - pose proof (pays_the_rest a (t - g) all some). pose proof (others_grow (t - g) t). lia.
Qed.

(* And with the wait for one. *)
Lemma answered a : throughout (wants h s) a (P - B + t) ->
  work <= amount (paid h s) a (P - B + t).
Proof.
  intros all. pose proof (sane s inside : 0 < B <= P) as sizes.
  assert (all_of : forall b u, a <= b -> b + u <= a + (P - B + t) -> throughout (wants h s) b u)
    by (intros b u from until x there; apply all; lia).
  destruct (used_up_or a t) as [(x & there & none)|some].
  2: { pose proof (pays_the_rest a t (all_of a t ltac:(lia) ltac:(lia)) some).
       pose proof (amount_grows (paid h s) a t (P - B + t)). lia. }
  pose (g := amount (paid h s) a (x - a)).
  destruct (Nat.le_gt_cases work g) as [done|open].
  { pose proof (amount_grows (paid h s) a (x - a) (P - B + t)). unfold g in done. lia. }
  assert (x < until (at_ x)) as later
    by (apply (ahead m servers works h s inside (sane s inside)); now right).
  destruct (period_is m servers works h ByRank told legal s inside (sane s inside) x later)
    as (T & early & ends & _ & rest).
  fold P B in ends, rest. rewrite none in rest. cbn [Nat.add] in rest.
  assert (T <= a) as before_it.
  { destruct (Nat.le_gt_cases T a) as [|inside_it]; [assumption|exfalso]. unfold g in open.
    replace (x - a) with (T - a + (x - T)) in open by lia. rewrite amount_split in open.
    replace (a + (T - a)) with T in open by lia. lia. }
  replace (x - T) with (a - T + (x - a)) in rest by lia. rewrite amount_split in rest.
  replace (T + (a - T)) with a in rest by lia. fold g in rest.
  pose proof (amount_at_most (paid h s) T (a - T)).
  (* The next slice. *)
  set (u := T + P) in *.
  destruct (comes_again x later) as [fresh _]; [rewrite ends; apply all; unfold u; lia|].
  rewrite ends in fresh. fold u in fresh.
  pose proof (at_hand u g ltac:(lia) ltac:(lia) ltac:(apply all_of; lia)) as more.
  replace (P - B + t) with (x - a + (u - x + (P - B + t - (u - a)))) by lia.
  rewrite amount_split. replace (a + (x - a)) with x by lia. rewrite amount_split.
  replace (x + (u - x)) with u by lia. fold g.
  pose proof (amount_grows (paid h s) u (t - g) (P - B + t - (u - a))). lia.
Qed.

End Server.

(* * Jobs that are served as they come *)

(* A job is done D after an instant, if of each of n classes of tasks there was one job at most when
   it came, none longer than c, and n c are served from that instant on. *)
Lemma served_in_turn size gets r class n c D j a :
  scheduled size (release r) gets r -> fst j < size -> release r j <= a ->
  (forall i, i < size -> class i < n /\ forall k, work r (i, k) <= c) ->
  (forall one other, pending size r one (release r j) -> pending size r other (release r j) ->
     class (fst one) = class (fst other) -> one = other) ->
  (throughout (busy size r) a D -> n * c <= amount gets a D) ->
  complete r j (a + D).
Proof.
  intros legal real came small single served.
  destruct (complete_or_not r j (a + D)) as [|missed]; [assumption|exfalso].
  assert (waits : forall x, a <= x < a + D -> pending size r j x).
  { intros x there. split; [assumption|]. split; [lia|]. intros done.
    apply missed, (complete_later r j x); [assumption|lia]. }
  assert (all : throughout (busy size r) a D) by (intros x there; exists j; now apply waits).
  specialize (served all).
  (* Of each class who runs in the window was there when it began. *)
  pose (got h x := gets x && match runs r x with Some i => class (fst i) =? h | None => false end).
  assert (was_there : forall x one, a <= x < a + D -> runs r x = Some one -> gets x = true ->
    pending size r one (release r j)).
  { intros x one there ran got_x.
    destruct (proj2 legal x j got_x (waits x there)) as (other & runs_now & sooner & _).
    rewrite ran in runs_now. injection runs_now as <-.
    destruct (proj1 legal x one ran) as [_ (its & _ & open)].
    split; [assumption|]. split; [exact sooner|]. intros done.
    apply open, (complete_later r one (release r j)); [assumption|lia]. }
  assert (only : forall h, amount (got h) a D = 0 \/
    exists one, pending size r one (release r j) /\ class (fst one) = h /\
      amount (got h) a D <= amount (fun x => is one (runs r x)) a D).
  { intros h. destruct (amount (got h) a D) eqn:some; [now left|right].
    destruct (amount_more (got h) a (a + D)) as (x & there & found).
    { rewrite amount_split, Nat.add_0_l. lia. }
    apply andb_prop in found as [got_x found].
    destruct (runs r x) as [one|] eqn:ran; [|discriminate]. apply Nat.eqb_eq in found.
    exists one. split; [now apply (was_there x)|]. split; [assumption|]. rewrite <- some.
    rewrite <- (Nat.add_0_l (amount (fun x => is _ _) a D)).
    apply (amount_covered 1 _ (fun _ y => _)). intros y inside [got_y in_class]%andb_prop.
    exists 0. split; [lia|].
    destruct (runs r y) as [other|] eqn:ran_y; [|discriminate]. apply Nat.eqb_eq in in_class.
    rewrite (single one other); [apply is_itself|now apply (was_there x)|now apply (was_there y)|].
    now rewrite found. }
  assert (covered : amount gets a D <= sum n (fun h => amount (got h) a D)).
  { apply amount_covered. intros x there got_x.
    destruct (proj2 legal x j got_x (waits x there)) as (one & ran & _).
    exists (class (fst one)). split.
    - destruct (proj1 legal x one ran) as [_ (its & _)]. now apply small.
    - unfold got. now rewrite got_x, ran, Nat.eqb_refl. }
  assert (sum n (fun h => amount (got h) a D) < sum n (fun _ => c)) as less.
  { destruct (small (fst j) real) as [its works].
    apply sum_below with (class (fst j)); [assumption| |].
    - intros h _. destruct (only h) as [->|(one & (its_one & _) & _ & most)]; [lia|].
      apply Nat.le_trans with (1 := most).
      apply Nat.le_trans with (1 := served_in_window size (release r) gets r legal one a D).
      destruct one as [i k]. now apply small.
    - pose proof (late_in_window r j a D missed) as fewer. specialize (works (snd j)).
      replace (fst j, snd j) with j in works by now destruct j.
      destruct (only (class (fst j))) as [->|(one & there & same & most)]; [lia|].
      rewrite (single one j) in most; [lia|assumption| |assumption].
      split; [assumption|]. split; [apply le_n|]. intros done.
      apply missed, (complete_later r j (release r j)); [assumption|lia]. }
  rewrite sum_constant in less. lia.
Qed.

(* * Packets *)

Section Plant.
Context (one : plant) (driver : run) (domains : nat -> run).
Context (passing : passes one driver domains) (some : 0 < packet one).
Context (driver_on : placed) (domain_on : nat -> placed) (R : nat) (own : nat -> nat).
Let n := flows one.
Context (driver_served : in_slices (n + n) driver_on driver).
Context (domains_served : forall i, i < n -> in_slices 1 (domain_on i) (domains i)).
Context (driver_takes : takes driver_on (n * packet one) R).
Context (domains_take : forall i, i < n -> takes (domain_on i) (answer one i) (own i)).
Let D := with_wait driver_on R.
Context (late : nat -> nat).
Context (allowed : forall i, i < n -> answers_within one i (domain_on i) D (own i) (late i)).
Let bound i := D + late i + D.
Context (soon : forall i, i < n -> bound i <= apart one i).

Lemma has_what_it_pays size at_ r a t : in_slices size at_ r ->
  amount (paid (on at_) (who at_)) a t <=
  amount (fun x => here (who at_) (has (on at_) x)) a t.
Proof.
  intros (inside & _ & _ & legal & shared & _). apply amount_weak. intros x pays_it%here_only.
  destruct (proj1 (legal x) _ pays_it inside) as [wanted _].
  destruct (shared x) as (_ & its & _). rewrite (its _ pays_it wanted). apply here_itself.
Qed.

Lemma served_with_wait size at_ r work t : in_slices size at_ r -> takes at_ work t ->
  forall a, throughout (busy size r) a (with_wait at_ t) ->
    work <= amount (fun x => here (who at_) (has (on at_) x)) a (with_wait at_ t).
Proof.
  intros serves (few & enough) a all.
  apply Nat.le_trans with (2 := has_what_it_pays size at_ r a (with_wait at_ t) serves).
  destruct serves as (inside & sane & told & legal & _ & working & _).
  apply (answered (many at_) (those at_) (has_work at_) (on at_) told legal sane (who at_) inside
    work t few enough).
  intros x there. now apply working, all.
Qed.

Lemma served_at_hand size at_ r work t a : in_slices size at_ r -> takes at_ work t ->
  work <= left (slice (those at_) (has_work at_) (on at_) (who at_) a) ->
  throughout (busy size r) a t -> work <= amount (fun x => here (who at_) (has (on at_) x)) a t.
Proof.
  intros serves (few & enough) hand all.
  apply Nat.le_trans with (2 := has_what_it_pays size at_ r a t serves).
  destruct serves as (inside & sane & told & legal & _ & working & _).
  pose proof (at_hand (many at_) (those at_) (has_work at_) (on at_) told legal sane (who at_)
    inside work t few enough a 0) as got. rewrite !Nat.sub_0_r in got.
  apply got; [lia|assumption|]. intros x there. now apply working, all.
Qed.

Lemma waits_some i : i < n -> 0 < D.
Proof. destruct driver_takes as [_ enough]. fold n in enough. unfold D, with_wait. nia. Qed.

Lemma apart_later i k l : i < n -> k < l ->
  release driver (i, k) + apart one i <= release driver (i, l).
Proof.
  intros real. induction 1 as [|l later IH]; destruct (passing i k real) as (first & _);
    [exact first|]. destruct (passing i l real) as (next & _). lia.
Qed.

Let due i k := release driver (i, k) + bound i.
Let gone i k := complete driver (i, k) (due i k) /\ complete (domains i) (0, k) (due i k) /\
  complete driver (n + i, k) (due i k).

Let class i := if i <? n then i else i - n.

(* What is with the driver. *)
Lemma with_driver j x : pending (n + n) driver j x -> exists i, i < n /\ class (fst j) = i /\
  release driver (i, snd j) <= x /\
  (j = (i, snd j) \/ (j = (n + i, snd j) /\ complete driver (i, snd j) x)).
Proof.
  destruct j as [h k]. intros (real & released & _). cbn [fst snd] in *. unfold class.
  destruct (Nat.ltb_spec h n) as [is_in|out].
  - exists h. auto.
  - exists (h - n). assert (h - n < n) as inside by lia. split; [assumption|].
    destruct (passing (h - n) k inside) as (_ & _ & _ & _ & first & second).
    fold n in second. replace (n + (h - n)) with h in second by lia.
    apply second in released as [released _]. apply first in released as [released done].
    replace (n + (h - n)) with h by lia. auto.
Qed.

(* All packets that are due before d are answered. *)
Section Kept.
Context (d : nat) (kept : forall i k, i < n -> due i k < d -> gone i k).

Lemma earlier_gone i k l x : i < n -> k < l -> release driver (i, l) <= x -> x < d ->
  due i k <= x /\ gone i k.
Proof.
  intros real later came before. pose proof (apart_later i k l real later).
  pose proof (soon i real). assert (due i k <= x) by (unfold due; lia).
  split; [assumption|]. apply kept; [assumption|lia].
Qed.

Lemma none_before j i k x : i < n -> gone i k -> due i k <= x ->
  pending (n + n) driver j x -> j = (i, k) \/ j = (n + i, k) -> False.
Proof.
  intros real (first & _ & last) past (_ & _ & open) [->| ->]; apply open;
    now apply (complete_later driver _ (due i k)).
Qed.

Lemma one_with_driver j other x : x < d -> pending (n + n) driver j x ->
  pending (n + n) driver other x -> class (fst j) = class (fst other) -> j = other.
Proof.
  intros before waits too same.
  destruct (with_driver j x waits) as (i & real & its & came & is_j).
  destruct (with_driver other x too) as (i' & _ & its' & came' & is_other).
  assert (i' = i) as -> by congruence.
  destruct (Nat.lt_trichotomy (snd j) (snd other)) as [sooner|[equal|later]].
  - exfalso. destruct (earlier_gone i (snd j) (snd other) x) as [past over]; try assumption.
    apply (none_before j i (snd j) x); auto. destruct is_j as [|[]]; auto.
  - rewrite <- equal in *. destruct waits as (_ & _ & open), too as (_ & _ & open').
    destruct is_j as [in_|[out done]], is_other as [in_'|[out' done']]; try congruence.
  - exfalso. destruct (earlier_gone i (snd other) (snd j) x) as [past over]; try assumption.
    apply (none_before other i (snd other) x); auto. destruct is_other as [|[]]; auto.
Qed.

Lemma through_driver j : fst j < n + n -> release driver j < d ->
  complete driver j (release driver j + D).
Proof.
  intros real before.
  apply (served_in_turn (n + n) (fun x => here (who driver_on) (has (on driver_on) x)) driver class
    n (packet one)); [apply driver_served|assumption|apply le_n| | |].
  - intros i low. unfold class. destruct (Nat.ltb_spec i n) as [is_in|out].
    + split; [assumption|]. intros k. now apply (passing i k).
    + split; [lia|]. intros k. destruct (passing (i - n) k) as (_ & _ & _ & small & _);
        [fold n; lia|]. fold n in small. now replace (n + (i - n)) with i in small by lia.
  - intros. now apply (one_with_driver _ _ (release driver j)).
  - now apply served_with_wait.
Qed.

(* Domain i, and the k-th packet of its flow, which reaches it before d. *)
Section Domain.
Context (i : nat) (real : i < n).
Let its := domain_on i.
Let gets x := here (who its) (has (on its) x).
Let at_ := slice (those its) (has_work its) (on its) (who its).
Let P := every (its_server its).
Let came k := release driver (i, k).
Let woken k := release (domains i) (0, k).

Lemma woken_soon k : woken k < d -> came k <= woken k <= came k + D.
Proof.
  intros before. destruct (passing i k real) as (_ & _ & _ & _ & first & _).
  assert (came k <= woken k) by now apply (first (woken k)).
  split; [assumption|]. apply first. unfold came in *. split; [lia|].
  apply (through_driver (i, k)); cbn; lia.
Qed.

Lemma in_order k l : woken k < d -> woken l <= woken k -> l <= k.
Proof.
  intros before sooner. destruct (Nat.le_gt_cases l k) as [|later]; [assumption|exfalso].
  pose proof (woken_soon k before). pose proof (woken_soon l ltac:(lia)).
  pose proof (apart_later i k l real later). pose proof (soon i real).
  pose proof (waits_some i real).
  unfold came, bound in *. lia.
Qed.

Lemma one_in_domain j other x : x < d ->
  pending 1 (domains i) j x -> pending 1 (domains i) other x -> j = other.
Proof.
  intros before waits too.
  assert (none : forall l l', l < l' -> pending 1 (domains i) (0, l) x ->
    pending 1 (domains i) (0, l') x -> False).
  { intros l l' later (_ & _ & open) (_ & released & _).
    destruct (earlier_gone i l l' x) as [past (_ & over & _)]; auto.
    - now apply (passing i l' real) in released as [].
    - now apply open, (complete_later _ _ (due i l)). }
  destruct j as [h l], other as [h' l']. pose proof waits as [low _]. pose proof too as [low' _].
  cbn in low, low'. destruct h as [|h], h' as [|h']; try lia.
  destruct (Nat.lt_trichotomy l l') as [|[->|]]; [exfalso|reflexivity|exfalso]; eapply none; eauto.
Qed.

Lemma served_from k z t : woken k < d -> woken k <= z ->
  (throughout (busy 1 (domains i)) z t -> answer one i <= amount gets z t) ->
  complete (domains i) (0, k) (z + t).
Proof.
  intros before later enough.
  apply (served_in_turn 1 gets (domains i) (fun _ => 0) 1 (answer one i));
    [now apply domains_served|cbn; lia|exact later| | |now rewrite Nat.mul_1_l].
  - intros h low. split; [lia|]. intros l. replace h with 0 by lia. now apply (passing i l).
  - intros j other waits too _. now apply (one_in_domain j other (woken k)).
Qed.

Lemma waits_wants k x : woken k <= x -> ~ complete (domains i) (0, k) x ->
  wants (on its) (who its) x.
Proof.
  intros later open. apply (domains_served i real). exists (0, k).
  split; [cbn; lia|]. now split.
Qed.

Lemma in_period x : wants (on its) (who its) x -> x < until (at_ x).
Proof.
  destruct (domains_served i real) as (inside & sane & told & _). intros wanted.
  apply (ahead (many its) (those its) (has_work its) (on its) (who its) inside (sane _ inside)).
  left. now apply told.
Qed.

Lemma with_a_slice k z : woken k < d -> woken k <= z -> answer one i <= left (at_ z) ->
  complete (domains i) (0, k) (z + own i).
Proof.
  intros before later hand. apply served_from; [assumption..|].
  apply served_at_hand; [now apply domains_served|now apply domains_take|exact hand].
Qed.

(* A period begins with a whole slice. *)
Lemma whole_slice x : until (at_ x) = x + P -> answer one i <= left (at_ x).
Proof.
  intros fresh. pose proof (domains_served i real) as serves. fold its in serves.
  destruct serves as (inside & sane & told & legal & _). pose proof (sane _ inside).
  destruct (period_is (many its) (those its) (has_work its) (on its) ByRank told legal (who its)
    inside (sane _ inside) x) as (T & _ & ends & _ & rest);
    [fold at_; unfold P, its_server in fresh; lia|].
  fold at_ in ends, rest. change (every (those its (who its))) with P in ends.
  replace T with x in rest by lia. rewrite Nat.sub_diag in rest. cbn [amount] in rest.
  destruct (domains_take i real) as [few _]. fold its in few. unfold its_server in few. lia.
Qed.

(* A job that has run was woken before those that wake later. *)
Lemma who_ran k y : woken k < d -> y < woken k -> paid (on its) (who its) y = true ->
  exists l, l < k /\ woken l <= y /\ runs (domains i) y = Some (0, l) /\
    ~ complete (domains i) (0, l) y.
Proof.
  intros before sooner payer%here_only. pose proof (domains_served i real) as serves.
  fold its in serves. destruct serves as (inside & _ & _ & legal & shared & working & jobs).
  destruct (proj1 (legal y) _ payer inside) as [wanted _].
  destruct (shared y) as (_ & owner & _). specialize (owner _ payer wanted).
  assert (here (who its) (has (on its) y) = true) as got by (rewrite owner; apply here_itself).
  apply working in wanted as (some_job & pends).
  destruct (proj2 jobs y some_job got pends) as ([h l] & ran & _).
  destruct (proj1 jobs y _ ran) as [_ (is_0 & came_there & not_done)].
  cbn in is_0. destruct h as [|h]; [|lia]. change (woken l <= y) in came_there.
  exists l. split; [|now split].
  pose proof (in_order k l before ltac:(lia)). destruct (Nat.eq_dec l k) as [->|]; lia.
Qed.

(* A packet that finds too little of the slice of its domain has the next one at most D + R_i after
   it came to the driver, if packets are a period of the domain apart. A job before used the slice,
   in a period that begins at T. It came in this period, or was not done when that began: then it
   had a slice at hand less than R_i before, or waited for this one, as this packet for the next. *)
Lemma next_slice : own i <= P <= apart one i -> forall k, woken k < d ->
  ~ complete (domains i) (0, k) (woken k) -> left (at_ (woken k)) < answer one i ->
  until (at_ (woken k)) <= came k + D + own i.
Proof.
  intros [short far]. induction k as [k IH] using lt_wf_ind. intros before open little.
  destruct (domains_served i real) as (inside & sane & told & legal & _).
  destruct (domains_take i real) as [few _].
  pose proof (in_period (woken k) (waits_wants k (woken k) (le_n _) open)) as within_it.
  destruct (period_is (many its) (those its) (has_work its) (on its) ByRank told legal (who its)
    inside (sane _ inside) (woken k) within_it) as (T & early & ends & begins & rest).
  fold its in few. change (every (those its (who its))) with P in ends, begins.
  fold at_ in ends, begins, rest.
  (* The job before. *)
  destruct (amount_more (paid (on its) (who its)) T (woken k)) as (y & there & payer).
  { replace (woken k) with (T + (woken k - T)) by lia. rewrite amount_split. cbn [Nat.add].
    unfold its_server in few. lia. }
  destruct (who_ran k y before ltac:(lia) payer) as (l & sooner & came_there & _ & not_done).
  assert (woken l < d) as before_l by lia.
  pose proof (woken_soon l before_l). pose proof (apart_later i l k real sooner).
  enough (T <= came l + D + own i) by (rewrite ends; unfold came in *; lia).
  destruct (Nat.le_gt_cases T (woken l)) as [|carried]; [lia|].
  assert (late_done : forall z, complete (domains i) (0, l) z -> y < z).
  { intros z done. destruct (Nat.le_gt_cases z y) as [past|]; [exfalso|assumption].
    now apply not_done, (complete_later _ _ z). }
  assert (wants_there : forall x, woken l <= x <= y -> wants (on its) (who its) x).
  { intros x between. apply (waits_wants l); [lia|]. intros done%late_done. lia. }
  destruct (Nat.le_gt_cases (answer one i) (left (at_ (woken l)))) as [hand|none].
  { pose proof (late_done _ (with_a_slice l (woken l) before_l (le_n _) hand)). lia. }
  assert (until (at_ (woken l)) <= came l + D + own i) as next.
  { apply IH; try assumption. intros done%late_done. lia. }
  set (u := until (at_ (woken l))) in *.
  destruct (Nat.le_gt_cases T u) as [|earlier]; [lia|exfalso].
  pose proof (in_period (woken l) (wants_there (woken l) ltac:(lia))) as within_l.
  fold u in within_l.
  destruct (comes_again (many its) (those its) (has_work its) (on its) told sane (who its) inside
    (woken l)) as [full again]; [exact within_l|apply wants_there; fold at_ u; lia|].
  do 2 fold at_ in full, again. fold u in full, again.
  assert (answer one i <= left (at_ u)) as hand by (rewrite full; exact few).
  pose proof (late_done _ (with_a_slice l u before_l ltac:(lia) hand)).
  assert (T < u + P) as overlap by lia.
  assert (until (at_ T) = until (at_ u)) as same; [|unfold P, its_server in *; lia].
  apply (same_until (many its) (those its) (has_work its) (on its) (who its) inside
    (sane _ inside)).
  fold at_. unfold P, its_server in *. lia.
Qed.

(* If the period that a wake begins is over at the next, that begins one too. Two periods have to be
   over where the job may use up its slice, which then comes again without work. *)
Lemma wake_begins : own i <= P ->
  (if answer one i <? budget (its_server its) then P else 2 * P) + D <= apart one i ->
  forall k, woken k < d -> ~ complete (domains i) (0, k) (woken k) ->
  until (at_ (woken k)) = woken k + P.
Proof.
  intros short over. assert (far : P + D <= apart one i) by (destruct (_ <? _) in over; lia).
  induction k as [k IH] using lt_wf_ind. intros before open.
  pose proof (domains_served i real) as serves. fold its in serves.
  destruct serves as (inside & sane & told & legal & _ & working & jobs).
  pose proof (in_period (woken k) (waits_wants k (woken k) (le_n _) open)) as within_it.
  destruct (period_is (many its) (those its) (has_work its) (on its) ByRank told legal (who its)
    inside (sane _ inside) (woken k) within_it) as (T & early & ends & first & _).
  change (every (those its (who its))) with P in ends, first. fold at_ in ends, first.
  destruct (Nat.eq_dec T (woken k)) as [<-|not_here]; [assumption|exfalso].
  (* A job before runs in the period that it began. *)
  assert (period_of : forall l y, l < k -> woken l <= y < woken k ->
    ~ complete (domains i) (0, l) y -> until (at_ y) = woken l + P).
  { intros l y sooner there not_done.
    assert (until (at_ (woken l)) = woken l + P) as its_own.
    { apply IH; [assumption|lia|]. intros done.
      now apply not_done, (complete_later _ _ (woken l)). }
    pose proof (with_a_slice l (woken l) ltac:(lia) (le_n _) (whole_slice _ its_own)) as done.
    rewrite <- its_own. apply (same_until (many its) (those its) (has_work its) (on its) (who its)
      inside (sane _ inside)). fold at_. rewrite its_own. split; [lia|].
    destruct (Nat.le_gt_cases (woken l + own i) y) as [past|]; [exfalso|lia].
    now apply not_done, (complete_later _ _ (woken l + own i)). }
  assert (apart_wakes : forall l, l < k -> woken l < woken k ->
    woken l + apart one i <= woken k + D).
  { intros l sooner earlier_. pose proof (woken_soon k before).
    pose proof (woken_soon l ltac:(lia)). pose proof (apart_later i l k real sooner).
    unfold came in *. lia. }
  destruct (begins (many its) (those its) (has_work its) (on its) told legal sane (who its) inside
    T) as [wanted|(T0 & -> & was & used)]; [exact first| |].
  - apply working in wanted as ([h l] & is_0 & woken_l & not_done). cbn in is_0.
    destruct h as [|h]; [|lia]. change (woken l <= T) in woken_l.
    assert (l < k) as sooner.
    { pose proof (in_order k l before ltac:(lia)). destruct (Nat.eq_dec l k) as [->|]; lia. }
    pose proof (period_of l T sooner ltac:(lia) not_done).
    pose proof (apart_wakes l sooner ltac:(lia)). lia.
  - fold at_ in was. change (every (those its (who its))) with P in used, was, early, ends.
    assert (ran : forall y, T0 <= y < T0 + P -> paid (on its) (who its) y = true ->
      exists l, l < k /\ woken l = T0 /\ runs (domains i) y = Some (0, l)).
    { intros y there pays_it.
      destruct (who_ran k y before ltac:(lia) pays_it)
        as (l & sooner & woken_l & runs_l & not_done).
      exists l. split; [assumption|]. split; [|assumption].
      pose proof (period_of l y sooner ltac:(lia) not_done) as this.
      rewrite (same_until (many its) (those its) (has_work its) (on its) (who its) inside
        (sane _ inside) T0) in this; fold at_; [|rewrite was; lia].
      fold at_ in this. lia. }
    destruct (amount_more (paid (on its) (who its)) T0 (T0 + P)) as (y & there & pays_it).
    { rewrite amount_split. cbn [Nat.add]. pose proof (sane _ inside). lia. }
    destruct (ran y there pays_it) as (l & sooner & woken_l & _).
    pose proof (apart_wakes l sooner ltac:(lia)).
    destruct (Nat.ltb_spec (answer one i) (budget (its_server its))) as [less|]; [|lia].
    assert (amount (paid (on its) (who its)) T0 P <= answer one i);
      [|unfold its_server in less; lia].
    destruct (passing i l real) as (_ & _ & small & _). apply Nat.le_trans with (2 := small).
    apply Nat.le_trans with (2 := served_in_window 1 _ _ _ jobs (0, l) T0 P).
    rewrite <- (Nat.add_0_l (amount (fun x => is _ _) T0 P)).
    apply (amount_covered 1 _ (fun _ x => _)). intros x inside_it pays_x. exists 0. split; [lia|].
    destruct (ran x inside_it pays_x) as (l' & sooner' & woken_l' & ->).
    assert (l' = l) as ->; [|apply is_itself].
    pose proof (in_order l l' ltac:(lia) ltac:(lia)).
    pose proof (in_order l' l ltac:(lia) ltac:(lia)). lia.
Qed.

Lemma through_domain k : woken k < d -> complete (domains i) (0, k) (came k + D + late i).
Proof.
  intros before. pose proof (woken_soon k before) as [_ soon_woken].
  destruct (allowed i real) as [->|(short & [(-> & far)|(-> & over)])].
  - apply (complete_later _ _ (woken k + with_wait its (own i))); [|unfold its; lia].
    apply served_from; [assumption|apply le_n|].
    apply served_with_wait; [now apply domains_served|now apply domains_take].
  - destruct (complete_or_not (domains i) (0, k) (woken k)) as [done|open];
      [apply (complete_later _ _ (woken k)); [assumption|lia]|].
    destruct (Nat.le_gt_cases (answer one i) (left (at_ (woken k)))) as [hand|none].
    + apply (complete_later _ _ (woken k + own i)); [now apply with_a_slice|lia].
    + pose proof (next_slice (conj short far) k before open none) as next.
      pose proof (in_period (woken k) (waits_wants k (woken k) (le_n _) open)) as within_it.
      set (u := until (at_ (woken k))) in *.
      destruct (complete_or_not (domains i) (0, k) u) as [done|still];
        [apply (complete_later _ _ u); [assumption|lia]|].
      apply (complete_later _ _ (u + own i)); [|lia]. apply with_a_slice; [assumption|lia|].
      destruct (domains_served i real) as (inside & sane & told & _).
      destruct (comes_again (many its) (those its) (has_work its) (on its) told sane (who its)
        inside (woken k)) as [full _];
        [exact within_it|fold at_ u; apply (waits_wants k); [lia|assumption]|].
      do 2 fold at_ in full. fold u in full. rewrite full. now apply domains_take.
  - destruct (complete_or_not (domains i) (0, k) (woken k)) as [done|open];
      [apply (complete_later _ _ (woken k)); [assumption|lia]|].
    apply (complete_later _ _ (woken k + own i)); [|lia]. apply with_a_slice; [assumption|lia|].
    now apply whole_slice, wake_begins.
Qed.

End Domain.

End Kept.

Lemma all_gone d : forall i k, i < n -> due i k < d -> gone i k.
Proof.
  induction d as [|d IH]; intros i k real before; [lia|].
  destruct (Nat.eq_dec (due i k) d) as [now|]; [|apply IH; lia].
  pose proof (waits_some i real) as some_wait.
  destruct (passing i k real) as (_ & _ & _ & _ & first & second). fold n in second.
  pose proof (through_driver d IH (i, k) ltac:(cbn; lia)) as way_in.
  pose proof (through_domain d IH i real k) as answered_.
  pose proof (through_driver d IH (n + i, k) ltac:(cbn; lia)) as way_out.
  unfold due, bound in now. set (a := release driver (i, k)) in *.
  specialize (way_in ltac:(lia)).
  assert (release (domains i) (0, k) <= a + D) as woken by (apply first; split; [lia|assumption]).
  specialize (answered_ ltac:(lia)). fold a in answered_.
  assert (release driver (n + i, k) <= a + D + late i) as back
    by (apply second; split; [lia|assumption]).
  specialize (way_out ltac:(lia)). unfold gone, due, bound. fold a. split; [|split].
  - apply (complete_later _ _ (a + D)); [assumption|lia].
  - apply (complete_later _ _ (a + D + late i)); [assumption|lia].
  - apply (complete_later _ _ (release driver (n + i, k) + D)); [assumption|lia].
Qed.

End Plant.

(* Each packet is answered within the bound: a slice of the driver holds a packet of each flow, that
   of a domain its answer. `late` is what the answer takes beyond the longest way in. *)
Theorem psedf_answers one driver domains driver_on domain_on R own late :
  passes one driver domains -> 0 < packet one ->
  in_slices (flows one + flows one) driver_on driver ->
  (forall i, i < flows one -> in_slices 1 (domain_on i) (domains i)) ->
  takes driver_on (flows one * packet one) R ->
  (forall i, i < flows one -> takes (domain_on i) (answer one i) (own i)) ->
  let D := with_wait driver_on R in
  (forall i, i < flows one -> answers_within one i (domain_on i) D (own i) (late i)) ->
  let bound i := 2 * D + late i in
  (forall i, i < flows one -> bound i <= apart one i) ->
  forall i k, i < flows one ->
    complete driver (flows one + i, k) (release driver (i, k) + bound i).
Proof.
  intros passing some driver_served domains_served driver_takes domains_take D allowed bound soon.
  intros i k real. destruct (all_gone one driver domains passing some driver_on domain_on R own
    driver_served domains_served driver_takes domains_take late allowed) with
    (d := S (release driver (i, k) + bound i)) (i := i) (k := k) as (_ & _ & last).
  - intros j low. specialize (soon j low). unfold bound in soon. lia.
  - assumption.
  - unfold bound. lia.
  - replace (bound i) with (D + late i + D) by (unfold bound; lia). exact last.
Qed.
