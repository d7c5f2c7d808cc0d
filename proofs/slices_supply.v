(* SPDX-License-Identifier: BSD-2-Clause *)
(* Slices on one pcpu keep their law and supply their bound, by the tests of deferrable servers, and
   tasks on them are in time.

   The periods of a server are wherever its work began them, but they do not overlap, none holds
   more than one slice, and nothing is paid outside of them. So in a window of any place a server
   spends no more than a deferrable one does: what is left until its deadline, and then slices a
   period apart. In one of its own periods the argument is that of deferrable.v. While it has work
   its periods follow one another, so it supplies what a deferrable server does, whose periods begin
   at its deadlines. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host deferrable cbs cbs_supply slices.

(* * One account *)

Section Account.
Context (m : nat) (servers : nat -> server) (works : nat -> nat -> bool) (h : host).
Context (by_order : order) (told : working m works h).
Context (legal : slices_pay m servers works h by_order).
Context (s : nat) (inside : s < m) (sane : 0 < budget (servers s) <= every (servers s)).
Let P := every (servers s).
Let B := budget (servers s).
Local Notation paid := (paid h s).
Local Notation at_ := (slice servers works h s).

(* What happens to an account from one instant to the next: a period begins, or nothing but that it
   pays. *)
Lemma next_is x :
  (until (at_ x) <= S x /\ left (at_ (S x)) = B /\ until (at_ (S x)) = S x + P) \/
  (left (at_ (S x)) = left (at_ x) - (if paid x then 1 else 0) /\
   until (at_ (S x)) = until (at_ x) /\
   (until (at_ x) <= S x -> works s (S x) = false /\ 0 < left (at_ (S x)))).
Proof.
  change (at_ (S x)) with (begun (servers s) (S x) (works s (S x)) (charge_of (at_ x) (paid x))).
  unfold begun. cbn [charge_of until left].
  destruct (Nat.leb_spec (until (at_ x)) (S x)) as [over|]; cbn [andb].
  - destruct (works s (S x)); cbn [orb]; [left; auto|].
    destruct (Nat.eqb_spec (left (at_ x) - (if paid x then 1 else 0)) 0); [left; auto|].
    right. repeat split. cbn [charge_of left]. lia.
  - right. cbn [left until]. repeat split; lia.
Qed.

(* Of the first period of all: work begins it. *)
Lemma start_is : (left (at_ 0) = B /\ until (at_ 0) = P) \/
  (works s 0 = false /\ left (at_ 0) = B /\ until (at_ 0) = 0).
Proof.
  unfold slice, slice_of. cbn [account_of]. unfold begun. cbn [until left Nat.leb andb].
  destruct (works s 0); [left; auto|]. cbn [orb].
  destruct (Nat.eqb_spec (budget (servers s)) 0); [left|right]; auto.
Qed.

(* With work, or without any of its slice, a server is in a period, or waits for the next one. *)
Lemma ahead x : works s x = true \/ left (at_ x) = 0 -> x < until (at_ x).
Proof.
  pose proof (sane : 0 < B <= P). destruct x as [|x].
  - destruct start_is as [(_ & ->)|(idle & full & _)]; [lia|]. rewrite idle, full.
    intros [|]; [discriminate|lia].
  - destruct (next_is x) as [(_ & _ & ->)|(_ & -> & idle)]; [lia|].
    intros some. destruct (Nat.le_gt_cases (until (at_ x)) (S x)) as [over|]; [|assumption].
    destruct (idle over) as [none full]. rewrite none in some. destruct some; [discriminate|lia].
Qed.

Lemma paid_is x : paid x = true -> x < until (at_ x) /\ 0 < left (at_ x).
Proof.
  intros who%here_only. destruct (proj1 (legal x) s who inside) as [wanted some].
  split; [|assumption]. apply ahead. left. now apply told.
Qed.

Lemma left_few x : left (at_ x) <= B.
Proof.
  induction x as [|x IH]; [destruct start_is as [(-> & _)|(_ & -> & _)]; lia|].
  destruct (next_is x) as [(_ & -> & _)|(-> & _)]; lia.
Qed.

(* A deadline is that of a period which began with a whole slice, of which the rest was paid. *)
Lemma period_is x : x < until (at_ x) -> exists T, T <= x /\ until (at_ x) = T + P /\
  until (at_ T) = T + P /\ left (at_ x) + amount paid T (x - T) = B.
Proof.
  induction x as [|x IH]; intros within_it.
  - exists 0. destruct start_is as [(-> & ->)|(_ & _ & none)]; [cbn; lia|lia].
  - destruct (next_is x) as [(_ & full & next)|(now & same & _)].
    + exists (S x). rewrite full, next, Nat.sub_diag. cbn [amount]. lia.
    + destruct IH as (T & early & ends & began & rest); [lia|]. exists T.
      rewrite now, same. split; [lia|]. split; [assumption|]. split; [assumption|].
      replace (S x - T) with (S (x - T)) by lia. cbn [amount].
      replace (T + (x - T)) with x by lia.
      pose proof (paid_is x). destruct (paid x); [|lia]. lia.
Qed.

(* Until its deadline it stays. *)
Lemma same_until x y : x <= y < until (at_ x) -> until (at_ y) = until (at_ x).
Proof.
  induction y as [|y IH]; intros there; [now replace x with 0 by lia|].
  destruct (Nat.eq_dec x (S y)) as [->|]; [reflexivity|].
  destruct (next_is y) as [(over & _)|(_ & -> & _)]; [rewrite IH in over|rewrite IH]; lia.
Qed.

Lemma until_grows x : until (at_ x) <= until (at_ (S x)).
Proof. destruct (next_is x) as [(? & _ & ->)|(_ & -> & _)]; lia. Qed.

(* What it spends in a window: what is left until its deadline, and n slices a period apart. *)
Lemma spent_from_any t : forall x n, amount paid x t <=
  min (left (at_ x)) (until (at_ x) - x) + n * B + (t - (until (at_ x) - x + n * P)).
Proof.
  pose proof (sane : 0 < B <= P) as sizes.
  induction t as [|t IH]; intros x n; [cbn; lia|].
  replace (S t) with (1 + t) at 1 by lia. rewrite amount_split. cbn [amount].
  replace (x + 0) with x by lia. replace (x + 1) with (S x) by lia.
  pose proof (paid_is x) as pays_now.
  destruct (next_is x) as [(over & full & next)|(now & same & _)].
  - destruct n as [|n].
    + pose proof (amount_at_most paid (S x) t).
      destruct (paid x); [destruct (pays_now eq_refl)|]; lia.
    + specialize (IH (S x) n). rewrite full, next in IH. cbn [Nat.mul].
      destruct (paid x); [destruct (pays_now eq_refl)|]; lia.
  - specialize (IH (S x) n). rewrite now, same in IH.
    destruct (paid x); [destruct (pays_now eq_refl)|]; lia.
Qed.

(* So no more than a task with jitter P - B. *)
Lemma spent_as_task x t : amount paid x t <= ceiling (t + (P - B)) P * B.
Proof.
  pose proof (sane : 0 < B <= P) as sizes. destruct t as [|t]; [cbn; lia|].
  pose proof (ceiling_reaches P (S t + (P - B)) ltac:(lia)) as reach.
  destruct (ceiling (S t + (P - B)) P) as [|n]; [lia|].
  pose proof (spent_from_any (S t) x n). pose proof (left_few x). cbn [Nat.mul] in *. lia.
Qed.

(* And with deadlines up to D: what is left, and n more where the next slice were due after D. *)
Lemma spent_until_due D t : forall x n, D < max x (until (at_ x)) + S n * P ->
  amount (fun y => paid y && (until (at_ y) <=? D)) x t <=
  (if until (at_ x) <=? D then min (left (at_ x)) (until (at_ x) - x) + n * B else 0).
Proof.
  pose proof (sane : 0 < B <= P) as sizes.
  induction t as [|t IH]; intros x n soon; [cbn; lia|].
  replace (S t) with (1 + t) at 1 by lia. rewrite amount_split. cbn [amount].
  replace (x + 0) with x by lia. replace (x + 1) with (S x) by lia.
  pose proof (paid_is x) as pays_now. pose proof (until_grows x) as grows.
  destruct (Nat.leb_spec (until (at_ x)) D) as [due|].
  - rewrite andb_true_r.
    destruct (next_is x) as [(over & full & next)|(now & same & _)].
    + destruct n as [|n].
      * specialize (IH (S x) 0). rewrite next in IH. cbn [Nat.mul] in *.
        destruct (Nat.leb_spec (S x + P) D); [lia|].
        destruct (paid x); [destruct (pays_now eq_refl)|]; lia.
      * specialize (IH (S x) n). rewrite full, next in IH. cbn [Nat.mul] in *.
        destruct (Nat.leb_spec (S x + P) D);
          destruct (paid x); try destruct (pays_now eq_refl); lia.
    + specialize (IH (S x) n). rewrite now, same in IH.
      apply Nat.leb_le in due. rewrite due in IH.
      destruct (paid x); [destruct (pays_now eq_refl)|]; lia.
  - rewrite andb_false_r. specialize (IH (S x) (S n)).
    destruct (Nat.leb_spec (until (at_ (S x))) D); [lia|]. cbn [Nat.mul] in *. lia.
Qed.

Lemma spent_before D x t : x <= D ->
  amount (fun y => paid y && (until (at_ y) <=? D)) x t <= sbf P B 0 (D - x).
Proof.
  intros later. pose proof (sane : 0 < B <= P) as sizes. rewrite sbf_after, Nat.sub_0_r.
  pose proof (left_few x).
  pose (e := max x (until (at_ x))).
  destruct (Nat.le_gt_cases (until (at_ x)) D) as [due|].
  - destruct (parts P (D - e)) as (n & r & small & rest); [lia|].
    pose proof (spent_until_due D t x n) as spent. cbn [Nat.mul] in spent.
    apply Nat.leb_le in due. rewrite due in spent. apply Nat.leb_le in due.
    replace (D - x) with (n * P + (e - x + r)) by (unfold e in *; lia).
    destruct (Nat.le_gt_cases P (e - x + r)) as [whole|part].
    + replace (n * P + (e - x + r)) with (S n * P + 0 + (e - x + r - P)) by (cbn [Nat.mul]; lia).
      pose proof (after_grows P B (S n * P + 0) (e - x + r - P) sizes).
      rewrite after_parts in * by lia. cbn [Nat.mul] in *. lia.
    + rewrite after_parts by lia. unfold e in *. lia.
  - pose proof (spent_until_due D t x (S D)) as spent.
    destruct (Nat.leb_spec (until (at_ x)) D); [lia|]. nia.
Qed.

End Account.

(* * One server of a pcpu *)

Section Server.
Context (m : nat) (servers : nat -> server) (works : nat -> nat -> bool) (h : host).
Context (by_order : order) (told : working m works h).
Context (legal : slices_pay m servers works h by_order).
Context (sane : forall i, i < m -> 0 < budget (servers i) <= every (servers i)).
Context (s : nat) (inside : s < m).
Let P := every (servers s).
Let B := budget (servers s).
Local Notation at_ := (slice servers works h s).

(* The law, if g bounds what the others spend in the first L of a period, and g s is the slice. *)
Lemma slice_kept g L : L <= P -> g s = B -> sum m g <= L ->
  (forall o T, o < m -> o <> s -> (forall x, T <= x < T + P -> until (at_ x) = T + P) ->
     amount (before (paid h) (slice_turn servers works h by_order) s o) T L <= g o) ->
  keeps_slice servers works h s.
Proof.
  intros window own enough bounded a [|t] working_all ends; [lia|].
  assert (wanted : forall x, a <= x < a + S t -> works s x = true)
    by (intros x there; now apply told, working_all).
  destruct (period_is m servers works h by_order told legal s inside (sane s inside) a)
    as (T & early & due & began & _); [lia|].
  assert (same : forall x, T <= x < T + P -> until (at_ x) = T + P)
    by (intros x there; fold P in began; rewrite <- began; apply (same_until m); auto; lia).
  apply (window_kept m (paid h) (slice_turn servers works h by_order) s P B _ T g L);
    try assumption; [trivial|intros o real other; now apply bounded|unfold P in *; lia|].
  intros x there few.
  destruct (period_is m servers works h by_order told legal s inside (sane s inside) x)
    as (other & _ & this & _ & rest); [rewrite same; unfold P in *; lia|].
  rewrite same in this by (unfold P in *; lia).
  assert (other = T) as -> by (unfold P in *; lia).
  destruct (proj2 (legal x) s inside) as (o & who & real & first); [now apply working_all| |].
  - unfold B in *. lia.
  - exists o. unfold paid. now rewrite who, here_itself.
Qed.

(* While it has work, its periods follow one another. *)
Lemma periods_follow T a t : throughout (wants h s) a t -> until (at_ a) = T + P -> T <= a ->
  forall x, a <= x < a + t -> exists k, T + k * P <= x < until (at_ x) /\
    until (at_ x) = T + k * P + P.
Proof.
  intros all due early.
  assert (within_it : forall x, a <= x < a + t -> x < until (at_ x)).
  { intros x there. apply (ahead m servers works h s inside (sane s inside)). left.
    now apply told, all. }
  induction x as [|x IH]; intros there.
  - exists 0. replace a with 0 in * by lia. specialize (within_it 0 there). lia.
  - specialize (within_it (S x) there) as later.
    destruct (Nat.eq_dec a (S x)) as [->|]; [exists 0; lia|].
    destruct IH as (k & into & ends); [lia|]. specialize (within_it x ltac:(lia)).
    destruct (next_is m servers works h s inside (sane s inside) x)
      as [(over & _ & next)|(_ & same & _)].
    + exists (S k). cbn [Nat.mul]. fold P in next. lia.
    + exists k. lia.
Qed.

End Server.

Lemma amount_later f c a t : amount (fun x => f (c + x)) a t = amount f (c + a) t.
Proof.
  induction t as [|t IH]; cbn [amount]; [reflexivity|]. now rewrite IH, Nat.add_assoc.
Qed.

(* * What is supplied *)

(* As by a deferrable server, whose periods begin with the one in which the window does. *)
Theorem slice_supply m servers works h by_order s :
  (forall i, i < m -> 0 < budget (servers i) <= every (servers i)) ->
  working m works h -> slices_pay m servers works h by_order -> s < m ->
  keeps_slice servers works h s ->
  supplies (wants h s) (paid h s) (general_bound servers s).
Proof.
  intros sane told legal inside law a [|t] all; unfold general_bound;
    set (P := every (servers s)); set (B := budget (servers s)).
  { pose proof (sbf_slow P B (general P B P) 0 (sane s inside)). lia. }
  assert (a < until (slice servers works h s a)) as within_it.
  { apply (ahead m servers works h s inside (sane s inside)). left. apply told, all; lia. }
  destruct (period_is m servers works h by_order told legal s inside (sane s inside) a within_it)
    as (T & early & due & _).
  replace a with (T + (a - T)) by lia. rewrite <- amount_later.
  apply (deferrable_supply P B (fun x => a <= T + x < a + S t));
    [now apply sane| |intros x there; lia].
  intros k b u begins ends window. rewrite amount_later. destruct u as [|u]; [lia|].
  apply law.
  - intros x there. apply all. specialize (window (x - T) ltac:(lia)). cbn beta in window. lia.
  - destruct (periods_follow m servers works h told sane s inside T a (S t) all due early (T + b))
      as (l & into & last); [specialize (window b ltac:(lia)); cbn beta in window; lia|].
    rewrite last in *. fold P in into |- *. assert (k * P < l * P + P) by lia.
    assert (k < S l) by nia. nia.
Qed.

(* * The tests *)

(* Under fixed priority: each server for which a window of its response time is known, whatever
   becomes of the others. *)
Theorem slices_fixed_priority m servers works h s :
  (forall i, i < m -> 0 < budget (servers i) <= every (servers i)) ->
  working m works h -> slices_pay m servers works h ByRank -> s < m ->
  (exists t, t <= every (servers s) /\
     job_rbf m (fun i => as_deferrable (servers i)) (fun i => rank (servers i)) s 1 t <= t) ->
  keeps_slice servers works h s.
Proof.
  intros sane told legal inside (L & window & enough).
  apply (slice_kept m servers works h ByRank told legal sane s inside) with (3 := enough).
  - apply window.
  - now rewrite Nat.leb_refl, Nat.eqb_refl, Nat.mul_1_l.
  - intros o T real other _. unfold before. cbn [slice_turn as_deferrable cost period jitter].
    destruct (rank (servers o) <=? rank (servers s)).
    + apply Nat.eqb_neq in other. rewrite other.
      apply Nat.le_trans with (amount (paid h o) T L).
      { apply amount_weak. now intros x [who _]%andb_prop. }
      now apply (spent_as_task m servers works h ByRank told legal o real (sane o real)).
    + rewrite amount_of_none; [apply le_n|]. intros x _. apply andb_false_r.
Qed.

(* Under EDF. *)
Theorem slices_edf m servers works h s :
  (forall i, i < m -> 0 < budget (servers i) <= every (servers i)) ->
  working m works h -> slices_pay m servers works h ByDeadline -> s < m ->
  edf_spends m servers s <= every (servers s) ->
  keeps_slice servers works h s.
Proof.
  intros sane told legal inside enough.
  apply (slice_kept m servers works h ByDeadline told legal sane s inside) with (3 := enough).
  - apply le_n.
  - now rewrite Nat.eqb_refl.
  - intros o T real other same. unfold before. apply Nat.eqb_neq in other. rewrite other.
    cbn [slice_turn]. set (P := every (servers s)) in *.
    pose proof (spent_before m servers works h ByDeadline told legal o real (sane o real)
      (T + P) T P ltac:(lia)) as spent.
    replace (T + P - T) with P in spent by lia. apply Nat.le_trans with (2 := spent).
    rewrite <- (Nat.add_0_l (amount _ T P)). apply (amount_covered 1 _ (fun _ x => _)).
    intros x there [who first]%andb_prop. exists 0. split; [lia|].
    now rewrite who, <- (same x there).
Qed.

(* * Tasks on a server *)

Theorem slices_in_time m servers by_slack works h by_order s d r :
  (forall i, i < m -> 0 < budget (servers i) <= every (servers i)) ->
  working m works h -> slices_pay m servers works h by_order -> sharing by_slack servers h ->
  s < m -> keeps_slice servers works h s ->
  inside h s d r -> (forall i, i < size d -> 0 < period (members d i)) ->
  fits d (general_bound servers s) -> in_time (size d) (members d) r.
Proof.
  intros sane told legal shared low law within_it shape test j.
  apply (unbroken_in_time d r (time_of h s) (fun _ => false) (general_bound servers s));
    [apply within_it|apply (time_scheduled by_slack servers); [exact shared|apply within_it]
    |discriminate|exact shape| |
     exact test].
  intros a t _ all _. apply Nat.le_trans with (amount (paid h s) a t).
  - apply (slice_supply m servers works h by_order s sane told legal low law).
    intros x there. now apply within_it, all.
  - apply amount_weak. intros x yes. unfold time_of, charged. unfold paid in yes. now rewrite yes.
Qed.
