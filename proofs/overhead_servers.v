(* SPDX-License-Identifier: BSD-2-Clause *)
(* Periodic and polling servers on a pcpu whose hypervisor takes time are charged their budgets, but
   for their debts, if the tests hold with a load of one pick and one for each server.

   A server that gets too little in a period is late. Go back from the beginning of that period to
   the last instant w before which nobody may pay who comes no later (`urgent`). From w on somebody
   always may, so whoever is decided to pay comes no later and has a budget that came since w: all
   other budgets that count were used up or lost before. Only a pick that is in progress at w may be
   another's, and that takes less than C.

   What each server pays from w on are the budgets of periods that the tests count, and at the end
   it may be overdrawn by less than C: when it was last decided that it pays, some was left. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host deferrable overheads.

(* * Accounts *)

Section Account.
Context (one : server) (paid : nat -> bool).
Let P := every one.
Let B := budget one.
Let owed := debt one paid.

(* What is charged in n periods from one on, their budgets pay, or it is owed. *)
Lemma paid_or_owed j n : owed j + amount paid (j * P) (n * P) <= n * B + owed (j + n).
Proof.
  induction n as [|n IH]; [replace (j + 0) with j by lia; cbn [amount Nat.mul]; lia|].
  replace (S n * P) with (n * P + P) by lia. rewrite amount_split, <- Nat.mul_add_distr_r.
  rewrite <- plus_n_Sm. unfold owed in *. cbn [debt]. fold P B. cbn [Nat.mul].
  lia.
Qed.

(* So up to an instant p of period l at which some is left. *)
Lemma paid_before j l p : j <= l -> l * P <= p -> owed l + amount paid (l * P) (p - l * P) < B ->
  owed j + amount paid (j * P) (p - j * P) < (l - j + 1) * B.
Proof.
  intros before begun left. pose proof (paid_or_owed j (l - j)) as whole.
  replace (j + (l - j)) with l in whole by lia.
  assert (j * P <= l * P) by now apply Nat.mul_le_mono_r.
  replace (p - j * P) with ((l - j) * P + (p - l * P)) by (rewrite Nat.mul_sub_distr_r; lia).
  rewrite amount_split, <- Nat.mul_add_distr_r. replace (j + (l - j)) with l by lia.
  rewrite Nat.mul_add_distr_r. lia.
Qed.

(* What is owed later was all charged since. *)
Lemma owed_since j k p : j * P <= p < j * P + P -> j < k ->
  owed j + amount paid (j * P) (p - j * P) < B -> owed k < k * P - p.
Proof.
  intros inside later left. induction later as [|k later IH]; unfold owed in *; cbn [debt];
    fold P B.
  - replace P with (p - j * P + (P - (p - j * P))) at 2 by lia. rewrite amount_split.
    pose proof (amount_at_most paid (j * P + (p - j * P)) (P - (p - j * P))). cbn [Nat.mul]. lia.
  - pose proof (amount_at_most paid (k * P) P).
    assert (S j * P <= k * P) by now apply Nat.mul_le_mono_r. cbn [Nat.mul] in *. lia.
Qed.

End Account.

Lemma solvent_in servers h s k p : 0 < every (servers s) ->
  k * every (servers s) <= p < k * every (servers s) + every (servers s) ->
  solvent servers h s p <->
  debt (servers s) (charged h s) k
    + amount (charged h s) (k * every (servers s)) (p - k * every (servers s))
    < budget (servers s).
Proof.
  intros positive there. unfold solvent.
  destruct (same_period _ k p positive there) as [-> ->]. reflexivity.
Qed.

Lemma solvent_earlier servers h s k x y :
  0 < every (servers s) -> k * every (servers s) <= x -> x <= y ->
  y < k * every (servers s) + every (servers s) ->
  solvent servers h s y -> solvent servers h s x.
Proof.
  intros positive begun later ends left.
  apply (solvent_in servers h s k) in left; [|assumption|lia].
  apply (solvent_in servers h s k); [assumption|lia|].
  pose proof (amount_grows (charged h s) (k * every (servers s)) (x - k * every (servers s))
    (y - k * every (servers s))). lia.
Qed.

(* The beginning of the stretch before x in which something is always so. *)
Lemma last_calm (so : nat -> Prop) x : ~ ~ exists w, w <= x /\
  (forall y, S y = w -> ~ so y) /\ forall y, w <= y < x -> so y.
Proof.
  induction x as [|x IH]; intros none.
  - apply none. exists 0. repeat split; lia.
  - apply IH. intros (w & before & calm & stretch).
    assert (known : ~ ~ (so x \/ ~ so x)) by tauto. apply known. intros [yes|no]; apply none.
    + exists w. split; [lia|]. split; [assumption|]. intros y there.
      destruct (Nat.eq_dec y x) as [->|]; [assumption|]. apply stretch. lia.
    + exists (S x). split; [lia|]. split; [now intros y [= ->]|lia].
Qed.

(* * One pcpu *)

Section Pcpu.
Context (C m : nat) (servers : nat -> server).
Context (by_order : order) (by_rule : rule) (by_slack : slack) (v : hypervisor) (h : host).
Context (some : 0 < C) (periods : forall s, s < m -> 0 < every (servers s)).
Context (short_picks : picks_within C v).
Context (legal : deciding by_rule m servers by_order by_slack v h).

Let owed (s : nat) := debt (servers s) (charged h s).

(* Who is charged had some left when that was decided, and that was less than a pick ago. *)
Lemma charged_since s x : charged h s x = true ->
  exists p, p <= x < p + C /\ solvent servers h s p.
Proof.
  intros who. destruct (legal x) as (p & since & payer & second & first & _ & lent).
  exists p. split.
  - destruct since as [[-> _]|took]; [lia|]. pose proof (short_picks p x took).
    destruct took as [before _]. lia.
  - unfold charged in who. rewrite payer, second in who.
    apply orb_prop in who as [who|who]; apply here_only in who.
    + now apply (proj1 first).
    + now apply lent.
Qed.

(* Of payments of o that lie behind the beginning of period j, and that were decided before the end
   of the n-th from there on. *)
Lemma spent o j n g T : o < m ->
  (forall x, x < T -> g x = true -> j * every (servers o) <= x /\ charged h o x = true /\
     exists p l, p <= x < p + C /\ solvent servers h o p /\ j <= l < j + n /\
       l * every (servers o) <= p < l * every (servers o) + every (servers o)) ->
  amount g 0 T <= n * budget (servers o) + C.
Proof.
  intros real each. set (P := every (servers o)) in *. set (B := budget (servers o)).
  pose proof (periods o real : 0 < P) as positive.
  assert (from : forall x, x < T -> g x = true -> j * P <= x) by (intros; now apply each).
  induction T as [|T IH]; [cbn; lia|]. cbn [amount plus].
  destruct (g T) eqn:yes; [|rewrite Nat.add_0_r; apply IH; intros; auto].
  destruct (each T (Nat.lt_succ_diag_r T) yes) as (_ & _ & p & l & close & left & among & there).
  apply (solvent_in servers h o l) in left; [|assumption..]. fold P B in left.
  pose proof (paid_before (servers o) (charged h o) j l p (proj1 among) (proj1 there) left) as less.
  fold P B in less.
  assert ((l - j + 1) * B <= n * B) by (apply Nat.mul_le_mono_r; lia).
  assert (j * P <= l * P) by (apply Nat.mul_le_mono_r; lia).
  replace T with (p + (T - p)) by lia. rewrite amount_split.
  pose proof (amount_at_most g (0 + p) (T - p)).
  assert (amount g 0 p <= amount (charged h o) (j * P) (p - j * P)); [|lia].
  apply amount_in_part. intros y before one. specialize (from y).
  split; [split; [apply from; lia || assumption|]|apply each; lia || assumption].
  assert (j * P <= y) by (apply from; lia || assumption). lia.
Qed.

(* What is owed when a period begins is less than a pick. *)
Lemma small_debt o k : o < m -> owed o k < C.
Proof.
  intros real. set (P := every (servers o)). set (B := budget (servers o)).
  pose proof (periods o real : 0 < P) as positive.
  induction k as [|k IH]; [exact some|]. unfold owed in *. cbn [debt]. fold P B.
  assert (debt (servers o) (charged h o) k + amount (charged h o) (k * P) P < B + C); [|lia].
  assert (all : forall u, u <= P -> amount (charged h o) (k * P) u = 0 \/
    debt (servers o) (charged h o) k + amount (charged h o) (k * P) u < B + C).
  { induction u as [|u earlier]; intros short; [now left|]. cbn [amount].
    destruct (charged h o (k * P + u)) eqn:who; [|rewrite Nat.add_0_r; apply earlier; lia].
    right. destruct (charged_since o _ who) as (p & close & left).
    destruct (Nat.le_gt_cases (k * P) p) as [inside|before].
    - apply (solvent_in servers h o k) in left; [|assumption|fold P; lia]. fold P B in left.
      replace u with (p - k * P + (u - (p - k * P))) at 1 by lia.
      rewrite amount_split.
      pose proof (amount_at_most (charged h o) (k * P + (p - k * P)) (u - (p - k * P))). lia.
    - pose proof (in_period P p positive) as there.
      apply (solvent_in servers h o (p / P)) in left; [|assumption..]. fold P B in left.
      assert (p / P < k) by (apply Nat.div_lt_upper_bound; lia).
      pose proof (owed_since (servers o) (charged h o) (p / P) k p there ltac:(assumption) left).
      pose proof (amount_at_most (charged h o) (k * P) u). fold P in H0.
      assert (u < P) by lia. lia. }
  destruct (all P (le_n _)) as [none|]; lia.
Qed.

(* * Late *)

Section Late.
Context (not_deferrable : by_rule <> Deferrable).

(* In the first u of its period k, in which there is work if that matters, server s has so little
   that it would have less than its budget even with all the time from there to its `within`. *)
Context (s k u : nat) (inside : s < m) (explicit : within (servers s) <= every (servers s)).
Let start := k * every (servers s).
Context (early : u <= within (servers s)).
Context (working : by_rule = Polling -> throughout (wants h s) start u).
Context (short : owed s k + amount (charged h s) start u + (within (servers s) - u)
  < budget (servers s)).

Let may := may_pay_solvent by_rule servers h.
Let first_is := place by_order servers s start.

(* Somebody may pay who comes no later than the server in its period. *)
Definition urgent (y : nat) : Prop :=
  exists o, o < m /\ place by_order servers o y <= first_is /\ may o y.

Lemma place_in_period o l x y :
  o < m -> l * every (servers o) <= x < l * every (servers o) + every (servers o) ->
  l * every (servers o) <= y < l * every (servers o) + every (servers o) ->
  place by_order servers o x = place by_order servers o y.
Proof.
  intros real at_x at_y. destruct by_order; [reflexivity|]. cbn [place].
  destruct (same_period _ l x (periods o real) at_x) as [-> _].
  now destruct (same_period _ l y (periods o real) at_y) as [-> _].
Qed.

Lemma own_urgent y : start <= y < start + u -> urgent y.
Proof.
  intros there. pose proof (periods s inside) as positive. exists s. split; [assumption|].
  assert (in_it : start <= y < start + every (servers s)) by lia. split.
  - unfold first_is. rewrite (place_in_period s k y start); unfold start in *; lia || assumption.
  - assert (left : solvent servers h s y).
    { apply (solvent_in servers h s k); [assumption..|]. fold start.
      pose proof (amount_grows (charged h s) start (y - start) u). unfold owed in short. lia. }
    split; [exact left|]. split; [unfold solvent in left; unfold unspent; lia|].
    destruct by_rule; [exact I|contradiction|].
    destruct (same_period _ k y positive in_it) as [-> ->].
    intros z between. apply working; [reflexivity|]. fold start in between |- *. lia.
Qed.

(* From w on there is always somebody urgent, but not just before. *)
Section Stretch.
Context (w : nat) (before : w <= start).
Context (calm : forall y, S y = w -> ~ urgent y) (stretch : forall y, w <= y < start -> urgent y).

(* Who is decided to pay comes no later, out of a budget that came in the stretch. *)
Lemma payer_since p : w <= p < start + u ->
  decided_at by_rule m servers by_order by_slack h p ->
  exists o l, pays h p = Some o /\ o < m /\ place by_order servers o p <= first_is /\ may o p /\
    l * every (servers o) <= p < l * every (servers o) + every (servers o) /\
    w <= l * every (servers o).
Proof.
  intros there ((named & first) & _).
  assert (urgent p) as (other & real & comes & could)
    by (destruct (Nat.le_gt_cases start p); [apply own_urgent|apply stretch]; lia).
  destruct (first other real could) as (o & who & no_later).
  destruct (named o who) as [low can].
  pose proof (periods o low) as positive. pose proof (in_period _ p positive) as at_p.
  exists o, (p / every (servers o)). do 5 (split; [assumption || lia|]).
  destruct can as [left can]. apply Nat.nlt_ge. intros old. apply (calm (w - 1)); [lia|].
  exists o. split; [assumption|].
  rewrite (place_in_period o (p / every (servers o)) (w - 1) p) by (lia || assumption).
  split; [lia|]. split.
  - apply (solvent_earlier servers h o (p / every (servers o)) _ p); lia || assumption.
  - apply (may_pay_earlier by_rule servers h o (p / every (servers o)) _ p); lia || assumption.
Qed.

(* What counts of the payments of a server: all but for those that were decided before. *)
Let counts (o x : nat) : bool := here o (pays h x) && (w + (C - 1) <=? x).

Lemma counted x : w + (C - 1) <= x < start + u -> exists o p l, pays h x = Some o /\ o < m /\
  p <= x < p + C /\ place by_order servers o p <= first_is /\ solvent servers h o p /\
  l * every (servers o) <= p < l * every (servers o) + every (servers o) /\
  w <= l * every (servers o).
Proof.
  intros there. destruct (legal x) as (p & since & payer & _ & first).
  assert (close : p <= x < p + C).
  { destruct since as [[-> _]|took]; [lia|]. pose proof (short_picks p x took).
    destruct took as [earlier _]. lia. }
  destruct (payer_since p) as (o & l & who & real & comes & [left _] & at_p & new);
    [lia|exact first|].
  exists o, p, l. rewrite payer. repeat split; assumption || lia.
Qed.

Lemma counts_is o x : x < start + u -> counts o x = true ->
  charged h o x = true /\ exists p l, o < m /\
  p <= x < p + C /\ place by_order servers o p <= first_is /\ solvent servers h o p /\
  l * every (servers o) <= p < l * every (servers o) + every (servers o) /\
  w <= l * every (servers o).
Proof.
  intros sooner [who later]%andb_prop. apply Nat.leb_le in later. split.
  - unfold charged. now rewrite who.
  - destruct (counted x) as (other & p & l & is_other & found); [lia|].
    apply here_only in who. rewrite who in is_other. injection is_other as <-. now exists p, l.
Qed.

(* But for one pick, all of the stretch is paid for in this way. *)
Lemma covered T : T <= start + u -> T - w < sum m (fun o => amount (counts o) 0 T) + C.
Proof.
  intros sooner. destruct (Nat.le_gt_cases T (w + (C - 1))) as [few|more]; [lia|].
  assert (T - (w + (C - 1)) <= sum m (fun o => amount (counts o) 0 T)); [|lia].
  rewrite <- (amount_of_all (fun _ => true) (w + (C - 1)) (T - _)) by reflexivity.
  apply Nat.le_trans with (sum m (fun o => amount (counts o) (w + (C - 1)) (T - (w + (C - 1))))).
  - apply amount_covered. intros x there _.
    destruct (counted x) as (o & p & l & who & real & _); [lia|]. exists o.
    split; [assumption|]. unfold counts. rewrite who, here_itself. apply Nat.leb_le. lia.
  - apply sum_weak. intros o _. replace T with (w + (C - 1) + (T - (w + (C - 1)))) at 2 by lia.
    rewrite amount_split. cbn [plus]. lia.
Qed.

(* Of n periods that begin in the stretch. *)
Lemma counts_at_most o n T : o < m -> T <= start + u ->
  (forall l p, w <= l * every (servers o) -> p < T -> place by_order servers o p <= first_is ->
     l * every (servers o) <= p < l * every (servers o) + every (servers o) ->
     l < ceiling w (every (servers o)) + n) ->
  amount (counts o) 0 T <= n * budget (servers o) + C.
Proof.
  intros real sooner among. pose proof (periods o real) as positive.
  apply (spent o (ceiling w (every (servers o)))); [assumption|]. intros x earlier one.
  destruct (counts_is o x) as (paid & p & l & _ & close & comes & left & there & new);
    [lia|assumption|].
  pose proof (ceiling_first _ w l positive new) as from.
  split.
  - apply Nat.le_trans with (l * every (servers o)); [now apply Nat.mul_le_mono_r|lia].
  - split; [assumption|]. exists p, l. repeat split; try assumption; try lia.
    apply (among l p); lia || assumption.
Qed.

(* The server's own, up to where it has too little. *)
Lemma counts_own n : k < ceiling w (every (servers s)) + n ->
  amount (counts s) 0 (start + u) + (within (servers s) - u) < n * budget (servers s).
Proof.
  intros among. pose proof (periods s inside) as positive.
  set (P := every (servers s)) in *. set (B := budget (servers s)) in *.
  set (j := ceiling w P) in *.
  assert (j <= k) by (apply ceiling_first; assumption).
  assert (j * P <= start) by now apply Nat.mul_le_mono_r.
  assert (amount (counts s) 0 (start + u) <= amount (charged h s) (j * P) (start + u - j * P)).
  { apply amount_in_part. intros x sooner one.
    destruct (counts_is s x sooner one) as (paid & p & l & _ & close & _ & _ & there & new).
    pose proof (ceiling_first P w l positive new). fold P in there.
    assert (j * P <= l * P) by (apply Nat.mul_le_mono_r; assumption). split; [lia|assumption]. }
  assert (reach : j * P + (k - j) * P = start)
    by (unfold start; rewrite <- Nat.mul_add_distr_r; f_equal; lia).
  assert (amount (charged h s) (j * P) (start + u - j * P)
    = amount (charged h s) (j * P) ((k - j) * P) + amount (charged h s) start u) as parted.
  { rewrite <- reach at 2. rewrite <- amount_split. f_equal. lia. }
  pose proof (paid_or_owed (servers s) (charged h s) j (k - j)) as whole. fold P B in whole.
  replace (j + (k - j)) with k in whole by lia. unfold owed in short. fold B in short.
  assert ((k - j + 1) * B <= n * B) as most by (apply Nat.mul_le_mono_r; lia).
  rewrite Nat.mul_add_distr_r in most. lia.
Qed.

(* So it is late only if more is asked for: by n periods of each server. *)
Lemma asked n : (forall o, o < m -> forall l p, w <= l * every (servers o) -> p < start + u ->
     place by_order servers o p <= first_is ->
     l * every (servers o) <= p < l * every (servers o) + every (servers o) ->
     l < ceiling w (every (servers o)) + n o) ->
  k < ceiling w (every (servers s)) + n s ->
  start + within (servers s) - w < sum m (fun o => n o * budget (servers o)) + beside_budgets m C.
Proof.
  intros among own. pose proof (covered (start + u) (le_n _)) as all.
  pose proof (counts_own (n s) own) as few.
  pose proof (sum_but_one m s (fun o => amount (counts o) 0 (start + u))
    (fun o => n o * budget (servers o) + C) inside) as swap. cbn beta in swap.
  rewrite sum_plus, sum_constant in swap. unfold beside_budgets.
  assert (sum m (fun o => amount (counts o) 0 (start + u)) + (n s * budget (servers s) + C)
    <= amount (counts s) 0 (start + u) + (sum m (fun o => n o * budget (servers o)) + m * C));
    [|lia].
  apply swap. intros o real _. apply counts_at_most; [assumption|lia|]. now apply among.
Qed.

End Stretch.

Lemma not_by_rank t : by_order = ByRank -> 0 < t <= within (servers s) ->
  rbf m (fun i => as_task (servers i)) (fun i => rank (servers i)) s t + beside_budgets m C <= t ->
  False.
Proof.
  intros ranked window enough. apply (last_calm urgent start). intros (w & before & calm & stretch).
  pose (n o := if rank (servers o) <=? rank (servers s)
    then ceiling t (every (servers o)) else 0).
  assert (sum m (fun o => n o * budget (servers o))
    = rbf m (fun i => as_task (servers i)) (fun i => rank (servers i)) s t) as same.
  { apply sum_same. intros o _. unfold n. cbn [as_task cost period jitter].
    rewrite Nat.add_0_r. now destruct (_ <=? _). }
  assert (among : forall T o, o < m -> T <= w + t -> forall l p, w <= l * every (servers o) ->
     p < T -> place by_order servers o p <= first_is -> l * every (servers o) <= p ->
     l < ceiling w (every (servers o)) + n o).
  { intros T o real ends l p new sooner comes begun. unfold first_is in comes.
    rewrite ranked in comes. cbn [place] in comes. unfold n. apply Nat.leb_le in comes.
    rewrite comes. pose proof (periods o real) as positive.
    pose proof (ceiling_reaches _ w positive).
    pose proof (ceiling_first _ w l positive new).
    assert (l - ceiling w (every (servers o)) < ceiling t (every (servers o))); [|lia].
    apply ceiling_above; [assumption|]. rewrite Nat.mul_sub_distr_r. lia. }
  destruct (Nat.le_gt_cases (w + t) (start + u)) as [fits|beyond].
  - pose proof (covered w before calm stretch (w + t) fits) as all.
    unfold beside_budgets in enough.
    match type of all with _ < ?paid + _ => assert (paid <= sum m (fun o =>
      n o * budget (servers o) + C)) as most end.
    { apply sum_weak. intros o real. apply (counts_at_most w before calm stretch); [assumption..|].
      intros l p new sooner comes there. apply (among (w + t) o real (le_n _) l p); tauto. }
    rewrite sum_plus, sum_constant in most. lia.
  - pose proof (asked w before calm stretch n) as less.
    assert (start + within (servers s) - w
      < sum m (fun o => n o * budget (servers o)) + beside_budgets m C); [|lia].
    apply less.
    + intros o real l p new sooner comes there.
      apply (among (w + t) o real (le_n _) l p); lia || assumption.
    + apply (among (w + t) s inside (le_n _) k start); [exact before|lia| |apply le_n].
      apply le_n.
Qed.

Lemma not_by_deadline : by_order = ByDeadline -> within (servers s) = every (servers s) ->
  (forall t, every (servers s) <= t ->
     dbf m (fun i => as_task (servers i)) t + beside_budgets m C <= t) ->
  (forall o, o < m -> within (servers o) = every (servers o)) ->
  False.
Proof.
  intros by_deadline implicit enough shape. apply (last_calm urgent start).
  intros (w & before & calm & stretch). pose (t := start + within (servers s) - w).
  pose (n o := if every (servers o) <=? t then (t - every (servers o)) / every (servers o) + 1
    else 0).
  assert (sum m (fun o => n o * budget (servers o))
    = dbf m (fun i => as_task (servers i)) t) as same.
  { apply sum_same. intros o real. unfold n. cbn [as_task cost period jitter deadline].
    rewrite (shape o real), Nat.add_0_r. now destruct (_ <=? _). }
  pose proof (asked w before calm stretch n) as less. fold t in less.
  assert (in_t : forall o l, o < m -> w <= l * every (servers o) ->
    l * every (servers o) + every (servers o) <= start + within (servers s) ->
    l < ceiling w (every (servers o)) + n o).
  { intros o l real new ends. pose proof (periods o real) as positive.
    pose proof (ceiling_reaches _ w positive).
    pose proof (ceiling_first _ w l positive new). unfold n.
    destruct (Nat.leb_spec (every (servers o)) t) as [fits|]; [|unfold t in *; lia].
    assert (l - ceiling w (every (servers o)) <= (t - every (servers o)) / every (servers o));
      [|lia].
    apply Nat.div_le_lower_bound; [lia|]. rewrite Nat.mul_comm, Nat.mul_sub_distr_r.
    unfold t. lia. }
  assert (t < sum m (fun o => n o * budget (servers o)) + beside_budgets m C).
  { apply less.
    - intros o real l p new sooner comes there. apply in_t; [assumption..|].
      unfold first_is in comes. rewrite by_deadline in comes. cbn [place] in comes.
      destruct (same_period _ l p (periods o real) there) as [is_l _]. rewrite is_l in comes.
      replace (start / every (servers s)) with k in comes
        by (symmetry; apply Nat.div_mul; pose proof (periods s inside); lia).
      unfold start. lia.
    - apply in_t; [assumption|exact before|]. unfold start. lia. }
  specialize (enough t ltac:(unfold t; lia)). lia.
Qed.

End Late.
End Pcpu.

(* * The tests *)

(* The law is kept if the budget is there whenever all the time after the work counts as given. *)
Lemma keeps_or_late one by_rule busy paid : by_rule <> Deferrable ->
  budget one <= every one -> within one <= every one ->
  (forall k u, u <= within one ->
     (by_rule = Polling -> throughout busy (k * every one) u) ->
     budget one <= debt one paid k + amount paid (k * every one) u + (within one - u)) ->
  keeps_but_debts one by_rule busy paid.
Proof.
  intros not_deferrable funded explicit known. destruct by_rule; [|contradiction|].
  - intros k. specialize (known k (within one) (le_n _)).
    assert (budget one <= debt one paid k + amount paid (k * every one) (within one) + 0); [|lia].
    rewrite Nat.sub_diag in known. now apply known.
  - intros k t short all.
    pose proof (amount_grows paid (k * every one) (min t (within one)) t).
    pose proof (known k (min t (within one)) ltac:(lia)) as enough.
    assert (throughout busy (k * every one) (min t (within one))) as part
      by (intros x there; apply all; lia).
    specialize (enough (fun _ => part)). lia.
Qed.

(* Under fixed priority: each server for which a window of its response time is known, whatever
   becomes of the others. *)
Theorem overhead_fixed_priority C m servers by_rule by_slack v h s :
  0 < C -> (forall i, i < m -> 0 < every (servers i)) -> by_rule <> Deferrable ->
  picks_within C v -> deciding by_rule m servers ByRank by_slack v h ->
  s < m -> budget (servers s) <= every (servers s) -> within (servers s) <= every (servers s) ->
  (exists t, 0 < t <= within (servers s) /\
     rbf m (fun i => as_task (servers i)) (fun i => rank (servers i)) s t + beside_budgets m C
       <= t) ->
  keeps_but_debts (servers s) by_rule (wants h s) (charged h s).
Proof.
  intros some periods not_deferrable short legal inside funded explicit (t & window & enough).
  apply keeps_or_late; try assumption. intros k u early working. apply Nat.nlt_ge. intros late.
  apply (not_by_rank C m servers ByRank by_rule by_slack v h some periods short legal
    not_deferrable s k u inside explicit early working late t eq_refl window enough).
Qed.

(* Under EDF: all, if in no window that holds a period they ask for more than there is. *)
Theorem overhead_edf C m servers by_rule by_slack v h s :
  0 < C ->
  (forall i, i < m -> 0 < every (servers i) /\ within (servers i) = every (servers i)) ->
  by_rule <> Deferrable ->
  picks_within C v -> deciding by_rule m servers ByDeadline by_slack v h ->
  s < m -> budget (servers s) <= every (servers s) ->
  (forall t, every (servers s) <= t ->
     dbf m (fun i => as_task (servers i)) t + beside_budgets m C <= t) ->
  keeps_but_debts (servers s) by_rule (wants h s) (charged h s).
Proof.
  intros some shape not_deferrable short legal inside funded enough.
  destruct (shape s inside) as [_ implicit].
  apply keeps_or_late; [assumption..|lia|]. intros k u early working. apply Nat.nlt_ge.
  intros late.
  apply (not_by_deadline C m servers ByDeadline by_rule by_slack v h some
    (fun i low => proj1 (shape i low)) short legal not_deferrable s k u inside ltac:(lia) early
    working late eq_refl implicit enough (fun i low => proj2 (shape i low))).
Qed.

(* No server owes as much as a pick takes when its period begins. *)
Theorem overhead_debt C m servers by_order by_rule by_slack v h s k :
  0 < C -> (forall i, i < m -> 0 < every (servers i)) ->
  picks_within C v -> deciding by_rule m servers by_order by_slack v h -> s < m ->
  debt (servers s) (charged h s) k < C.
Proof.
  intros some periods short legal inside.
  now apply (small_debt C m servers by_order by_rule by_slack v h some periods short legal s k).
Qed.
