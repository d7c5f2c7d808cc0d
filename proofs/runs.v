(* SPDX-License-Identifier: BSD-2-Clause *)
(* What the theorems are about exists: runs.

   Whatever the supply, the releases and the order, there is one: `scheduler` below is a program
   that makes it. So no theorem about runs is true for want of any. A pcpu has one that begins with
   any schedule that keeps the laws, as the decider of laws.v computes them. What happens without
   the tests of the theorems stands in refuted.v. *)

From Coq Require Import Arith Bool List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks host laws.

(* * A scheduler *)

Lemma best_is_open {A : Type} (key : A -> nat) ok l one :
  best key ok l = Some one -> In one l /\ ok one = true.
Proof.
  revert one. induction l as [|first rest IH]; cbn; [discriminate|]. intros one.
  destruct (best key ok rest) as [other|].
  - destruct (ok first && (key first <=? key other)) eqn:first_wins; intros [= <-].
    + apply andb_prop in first_wins as [right _]. now split; [left|].
    + destruct (IH other eq_refl). now split; [right|].
  - destruct (ok first) eqn:right; [|discriminate]. intros [= <-]. now split; [left|].
Qed.

Lemma best_is_first {A : Type} (key : A -> nat) ok l one : In one l -> ok one = true ->
  exists other, best key ok l = Some other /\ key other <= key one.
Proof.
  induction l as [|first rest IH]; cbn; [easy|]. intros [->|inside] right.
  - rewrite right. cbn [andb]. destruct (best key ok rest) as [other|]; [|now exists one].
    destruct (Nat.leb_spec (key one) (key other)); [now exists one|].
    exists other. split; [easy|lia].
  - destruct (IH inside right) as (other & -> & before).
    destruct (ok first && (key first <=? key other)) eqn:first_wins; [|now exists other].
    apply andb_prop in first_wins as [_ less]. apply Nat.leb_le in less.
    exists first. split; [reflexivity|lia].
Qed.

Section Decision.
Context (n : nat) (key : job -> nat) (release work : job -> nat).

(* A job that is released by x is among the first x + 1 of its task. Of equal keys the one with the
   lowest number goes first. *)
Definition decide (x : nat) (past : list (option job)) : option job :=
  best (fun j => key j * S x + snd j) (open release work x past)
    (list_prod (seq 0 n) (seq 0 (S x))).

End Decision.

Section Right.
Context (n : nat) (tasks : nat -> task) (key : job -> nat) (r : run).
Context (shape : forall i, i < n -> 0 < period (tasks i)) (jobs : jobs_of n tasks r).
Context (x : nat) (past : list (option job)) (past_is : forall j, times j past = service r j x).

Lemma decide_pending j : decide n key (release r) (work r) x past = Some j -> pending n r j x.
Proof.
  intros chosen. apply best_is_open in chosen as [inside right]. destruct j as [i k].
  apply in_prod_iff in inside as [inside _]. apply in_seq in inside.
  apply andb_prop in right as [early less]. apply Nat.leb_le in early. apply Nat.ltb_lt in less.
  rewrite past_is in less. unfold pending, complete. cbn [fst]. lia.
Qed.

Lemma early_job j : fst j < n -> release r j <= x -> In j (list_prod (seq 0 n) (seq 0 (S x))).
Proof.
  destruct j as [i k]. cbn [fst]. intros inside early.
  pose proof (arrivals_apart n tasks r i 0 k jobs inside) as apart. cbn [plus] in apart.
  destruct (jobs i k) as (_ & delayed & _); [assumption|]. pose proof (shape i inside).
  apply in_prod_iff. split; apply in_seq; nia.
Qed.

Lemma decide_first j : pending n r j x ->
  exists other, decide n key (release r) (work r) x past = Some other /\ key other <= key j /\
    (fst other = fst j -> key other = key j -> snd other <= snd j).
Proof.
  intros (inside & early & unfinished). pose proof (early_job j inside early) as listed.
  destruct (best_is_first (fun j => key j * S x + snd j) (open (release r) (work r) x past)
    (list_prod (seq 0 n) (seq 0 (S x))) j listed) as (other & chosen & before).
  - apply andb_true_intro. split; [now apply Nat.leb_le|]. apply Nat.ltb_lt.
    rewrite past_is. unfold complete in unfinished. lia.
  - exists other. split; [exact chosen|].
    apply best_is_open in chosen as [listed_too _]. destruct j as [i k], other as [h l].
    apply in_prod_iff in listed as [_ listed], listed_too as [_ listed_too].
    apply in_seq in listed, listed_too. cbn [fst snd] in *.
    split; [|intros _ same; rewrite same in before]; nia.
Qed.

End Right.

Section Scheduler.
Context (n : nat) (key : job -> nat) (gets : supply) (release work : job -> nat).

(* Who ran at each instant before x, the last one first. *)
Fixpoint history (x : nat) : list (option job) :=
  match x with
  | 0 => []
  | S y =>
      let past := history y in
      (if gets y then decide n key release work y past else None) :: past
  end.

Definition scheduler (x : nat) : option job :=
  if gets x then decide n key release work x (history x) else None.

Lemma times_is_amount j x : times j (history x) = amount (fun y => is j (scheduler y)) 0 x.
Proof. induction x as [|x IH]; cbn; [reflexivity|]. now rewrite IH. Qed.

End Scheduler.

Lemma scheduler_schedules n tasks key gets r : (forall i, i < n -> 0 < period (tasks i)) ->
  jobs_of n tasks r -> runs r = scheduler n key gets (release r) (work r) ->
  scheduled n key gets r.
Proof.
  intros shape jobs who.
  assert (past_is : forall x j, times j (history n key gets (release r) (work r) x)
                                = service r j x).
  { intros x j. unfold service. rewrite times_is_amount, who. reflexivity. }
  split.
  - intros x j chosen. rewrite who in chosen. unfold scheduler in chosen.
    destruct (gets x); [|discriminate]. split; [reflexivity|].
    now apply decide_pending in chosen.
  - intros x j got waits. rewrite who. unfold scheduler. rewrite got.
    now apply (decide_first n tasks).
Qed.

(* Any supply, any releases of any tasks, any order: there is a run. *)
Theorem run_exists n tasks key gets r : (forall i, i < n -> 0 < period (tasks i)) ->
  jobs_of n tasks r ->
  exists r', arrival r' = arrival r /\ release r' = release r /\ work r' = work r /\
    jobs_of n tasks r' /\ scheduled n key gets r'.
Proof.
  intros shape jobs.
  exists {| arrival := arrival r; release := release r; work := work r;
            runs := scheduler n key gets (release r) (work r) |}.
  do 3 (split; [reflexivity|]). split; [exact jobs|].
  now apply (scheduler_schedules n tasks).
Qed.

(* * A history *)

(* What the decider computes of the past of a host, and so what it says of an instant. *)
Section Told.
Context (by_rule : rule) (m : nat) (servers : nat -> server) (by_order : order) (by_slack : slack).
Context (judged : nat -> bool) (domains : nat -> domain) (given : nat -> run).
Context (candidates : nat -> nat -> list job).
Context (h : host) (inner : nat -> run).

Definition tells (x : nat) (one : moment) : Prop :=
  pays h x = payer one /\ also h x = second one /\ has h x = owner one /\
  (forall s, judged s = true -> runs (inner s) x = ran s one) /\
  (forall s, judged s = false -> wants h s x <-> In s (others one)).

Fixpoint told (past : list moment) : Prop :=
  match past with
  | [] => True
  | one :: rest => tells (length rest) one /\ told rest
  end.

Definition same_jobs (r one : run) : Prop :=
  forall j, arrival r j = arrival one j /\ release r j = release one j /\ work r j = work one j.

Context (same : forall s, judged s = true -> same_jobs (inner s) (given s)).
Context (real : forall s x j, judged s = true -> In j (candidates s x) -> fst j < size (domains s)).
Context (all : forall s x j, judged s = true -> fst j < size (domains s) ->
  release (given s) j <= x -> 0 < work (given s) j -> In j (candidates s x)).

Lemma charge_told s x one : tells x one -> charged h s x = charge s one.
Proof. intros (pay & beside & _). unfold charged, charge. now rewrite pay, beside. Qed.

Lemma spent_told s u past : told past -> u <= length past ->
  spent s u past = amount (charged h s) (length past - u) u.
Proof.
  revert past. induction u as [|u IH]; intros past known short; [reflexivity|].
  destruct past as [|one rest]; cbn [length] in *; [lia|]. destruct known as [now known].
  cbn [spent amount]. rewrite IH by (assumption || lia).
  replace (S (length rest) - S u) with (length rest - u) by lia.
  replace (length rest - u + u) with (length rest) by lia. now rewrite (charge_told s _ one).
Qed.

Lemma rich_told s past : told past ->
  rich servers (length past) past s = true <-> unspent servers h s (length past).
Proof.
  intros known. unfold rich, unspent. rewrite Nat.ltb_lt. set (P := every (servers s)).
  pose proof (Nat.div_mod_eq (length past) P).
  rewrite spent_told by (assumption || nia).
  replace (length past - length past mod P) with (length past / P * P) by nia. reflexivity.
Qed.

Lemma ran_told s j past : judged s = true -> told past ->
  times j (map (ran s) past) = service (inner s) j (length past).
Proof.
  intros its. unfold service. induction past as [|one rest IH]; [reflexivity|].
  intros [(_ & _ & _ & who & _) known]. cbn [map times length amount plus].
  now rewrite IH, who.
Qed.

Lemma open_told s j past : judged s = true -> told past -> fst j < size (domains s) ->
  is_open given (length past) past s j = true <->
  pending (size (domains s)) (inner s) j (length past).
Proof.
  intros its known inside. unfold is_open, open, pending, complete.
  rewrite andb_true_iff, Nat.leb_le, Nat.ltb_lt, ran_told by assumption.
  destruct (same s its j) as (_ & -> & ->). lia.
Qed.

Lemma key_told s j : judged s = true ->
  key_of domains given s j = local_key (domains s) (inner s) j.
Proof.
  intros its. unfold key_of, local_key, due. destruct (model.scheduler (domains s)); [reflexivity|].
  now destruct (same s its j) as (_ & -> & _).
Qed.

Lemma alike_is x past s j first : first_alike domains given candidates x past s j = Some first ->
  In first (candidates s x) /\ is_open given x past s first = true /\ fst first = fst j /\
  key_of domains given s first = key_of domains given s j.
Proof.
  intros chosen. apply best_is_open in chosen as [listed right].
  rewrite !andb_true_iff, !Nat.eqb_eq in right. destruct right as [[right task] same_key].
  repeat split; assumption.
Qed.

Lemma alike_first x past s j other : In other (candidates s x) ->
  is_open given x past s other = true -> fst other = fst j ->
  key_of domains given s other = key_of domains given s j ->
  exists first, first_alike domains given candidates x past s j = Some first /\
    snd first <= snd other.
Proof.
  intros listed right task same_key. apply best_is_first; [exact listed|].
  rewrite !andb_true_iff, !Nat.eqb_eq. repeat split; assumption.
Qed.

Lemma next_is x past s j : next_job domains given candidates x past s = Some j ->
  In j (candidates s x) /\ is_open given x past s j = true.
Proof.
  unfold next_job. destruct (best _ _ _) as [b|]; [|discriminate]. intros chosen.
  apply alike_is in chosen as (listed & right & _). now split.
Qed.

Lemma next_told s j past : judged s = true -> told past ->
  next_job domains given candidates (length past) past s = Some j ->
  pending (size (domains s)) (inner s) j (length past).
Proof.
  intros its known chosen. apply next_is in chosen as [listed right].
  apply real in listed; [|assumption]. now apply open_told in right.
Qed.

Lemma listed_told s j past : judged s = true -> told past ->
  pending (size (domains s)) (inner s) j (length past) ->
  In j (candidates s (length past)) /\ is_open given (length past) past s j = true.
Proof.
  intros its known waits. split; [|apply open_told; [| |apply waits|]; assumption].
  destruct waits as (inside & early & unfinished). unfold complete in unfinished.
  destruct (same s its j) as (_ & early_too & work_too). apply all; [assumption| |lia|lia].
  exact inside.
Qed.

Lemma first_told s j past : judged s = true -> told past ->
  pending (size (domains s)) (inner s) j (length past) ->
  exists other, next_job domains given candidates (length past) past s = Some other /\
    key_of domains given s other <= key_of domains given s j.
Proof.
  intros its known waits. destruct (listed_told s j past its known waits) as [listed right].
  destruct (best_is_first (key_of domains given s) (is_open given (length past) past s)
    (candidates s (length past)) j listed right) as (b & chosen & before).
  unfold next_job. rewrite chosen. apply best_is_open in chosen as [b_listed b_right].
  destruct (alike_first (length past) past s b b b_listed b_right eq_refl eq_refl)
    as (other & is_it & _).
  exists other. split; [exact is_it|]. apply alike_is in is_it. lia.
Qed.

Lemma works_told s past not_judged : judged s = true -> told past ->
  works judged domains given candidates (length past) past not_judged s = true <->
  busy (size (domains s)) (inner s) (length past).
Proof.
  intros its known. unfold works. rewrite its. split.
  - destruct (next_job _ _ _ _ _ _) as [j|] eqn:chosen; [|discriminate]. intros _. exists j.
    now apply next_told in chosen.
  - intros (j & waits). now destruct (first_told s j past its known waits) as (other & -> & _).
Qed.

Context (working : forall s x, judged s = true ->
  wants h s x <-> busy (size (domains s)) (inner s) x).

Lemma wants_told s past one : told past -> tells (length past) one ->
  works judged domains given candidates (length past) past (others one) s = true <->
  wants h s (length past).
Proof.
  intros known (_ & _ & _ & _ & not_judged). destruct (judged s) eqn:its.
  - rewrite works_told by assumption. symmetry. now apply working.
  - rewrite (not_judged s its). unfold works. rewrite its, existsb_exists. split.
    + now intros (o & there & <-%Nat.eqb_eq).
    + intros there. exists s. split; [exact there|apply Nat.eqb_refl].
Qed.

Lemma worked_told s u past : told past -> u <= length past ->
  worked judged domains given candidates s u past = true <->
  throughout (wants h s) (length past - u) u.
Proof.
  revert past. induction u as [|u IH]; intros past known short; [split; [intros _ x ?; lia|easy]|].
  destruct past as [|one rest]; cbn [length] in *; [lia|]. destruct known as [now known].
  cbn [worked]. rewrite andb_true_iff, (wants_told s rest one), IH by (assumption || lia).
  split.
  - intros [last before] x there. destruct (Nat.eq_dec x (length rest)) as [->|]; [exact last|].
    apply before. lia.
  - intros whole_time. split; [apply whole_time; lia|]. intros x there. apply whole_time. lia.
Qed.

Lemma may_pay_told s past one : told past -> tells (length past) one ->
  rich servers (length past) past s
    && ready by_rule servers judged domains given candidates (length past) past (others one) s
    = true
  <-> may_pay by_rule servers h s (length past).
Proof.
  intros known now. unfold may_pay, ready. rewrite andb_true_iff, rich_told by exact known.
  set (P := every (servers s)). pose proof (Nat.div_mod_eq (length past) P).
  destruct by_rule; [easy|now rewrite (wants_told s past one)|].
  rewrite andb_true_iff, (wants_told s past one), worked_told by (assumption || nia).
  replace (length past - length past mod P) with (length past / P * P) by nia. split.
  - intros (left & last & before). split; [exact left|]. intros x there.
    destruct (Nat.eq_dec x (length past)) as [->|]; [exact last|]. apply before. nia.
  - intros [left whole_time]. split; [exact left|]. split; [apply whole_time; nia|]. intros x there.
    apply whole_time. lia.
Qed.

(* The laws of those in a domain at one instant. *)
Definition runs_at (x : nat) : Prop := forall s, judged s = true ->
  (forall j, runs (inner s) x = Some j ->
     here s (has h x) = true /\ pending (size (domains s)) (inner s) j x) /\
  (forall j, here s (has h x) = true -> pending (size (domains s)) (inner s) j x ->
     exists other, runs (inner s) x = Some other /\
       local_key (domains s) (inner s) other <= local_key (domains s) (inner s) j /\
       (fst other = fst j ->
        local_key (domains s) (inner s) other = local_key (domains s) (inner s) j ->
        snd other <= snd j)).

Lemma each_is {A : Type} (who : option A) f :
  each who f = true <-> forall one, who = Some one -> f one = true.
Proof.
  destruct who as [a|]; cbn [each]; [|now split].
  split; [now intros yes one [= <-]|auto].
Qed.

Lemma some_is {A : Type} (who : option A) : some who = true <-> who <> None.
Proof. now destruct who. Qed.

Lemma none_is {A : Type} (who : option A) : negb (some who) = true <-> who = None.
Proof. now destruct who. Qed.

Lemma here_is s who : here s who = true <-> who = Some s.
Proof. split; [apply here_only|intros ->; apply here_itself]. Qed.

Lemma here_is_not s who : here s who = false <-> who <> Some s.
Proof. rewrite <- here_is. now destruct (here s who). Qed.

Lemma broken_is x past one :
  broken by_rule m servers by_order by_slack judged domains given candidates x past one = None <->
  forallb snd (laws by_rule m servers by_order by_slack judged domains given candidates x past one)
  = true.
Proof.
  unfold broken. induction (laws _ _ _ _ _ _ _ _ _ _ _ _) as [|law rest IH]; [easy|].
  cbn [check.first forallb]. destruct (snd law); [exact IH|easy].
Qed.

Lemma laws_told past one : told past -> tells (length past) one ->
  broken by_rule m servers by_order by_slack judged domains given candidates (length past) past one
  = None <-> first_pays_at m servers by_order (may_pay by_rule servers h) h (length past) /\
    shares_at by_slack servers h (length past) /\ runs_at (length past).
Proof.
  intros known now. pose proof now as (pay & beside & got & who & _).
  pose proof (fun s => wants_told s past one known now) as wanting. rewrite broken_is.
  cbn [laws forallb snd]. set (x := length past) in *.
  rewrite !andb_true_iff, !each_is. unfold first_pays_at, shares_at. rewrite pay, beside, got.
  split.
  - intros (payer_has & payer_first & has_work & own & slack_kept & lent & open_one & first_one
      & in_turn & _).
    split; [split|split; [split; [|split; [|split]]|]].
    + intros s its. specialize (payer_has s its). apply andb_prop in payer_has as [low yes].
      split; [now apply Nat.ltb_lt|]. now apply (may_pay_told s past one) in yes.
    + intros s low yes. apply (may_pay_told s past one known now) in yes.
      destruct (best_is_first (fun s => place by_order servers s x)
        (fun s => rich servers x past s
           && ready by_rule servers judged domains given candidates x past (others one) s)
        (seq 0 m) s) as (b & best_one & before); [apply in_seq; lia|assumption|].
      specialize (payer_first b best_one). destruct (payer one) as [o|]; [|discriminate].
      exists o. split; [reflexivity|]. apply Nat.leb_le in payer_first. lia.
    + intros s its. now apply wanting, has_work.
    + intros s its yes. specialize (own s its). apply wanting in yes. rewrite yes in own.
      now apply here_is.
    + intros s its not_payer. specialize (slack_kept s its). apply here_is_not in not_payer.
      rewrite not_payer in slack_kept. cbn [orb] in slack_kept.
      destruct by_slack; [discriminate| |now apply some_is|now apply none_is].
      apply andb_prop in slack_kept as [somebody two]. now rewrite <- some_is, <- here_is.
    + intros s its. specialize (lent s its). rewrite !andb_true_iff, negb_true_iff in lent.
      destruct lent as [[[rule owns] not_payer] yes].
      split; [now destruct by_slack|]. split; [now apply here_is|].
      split; [now apply here_is_not|]. now apply rich_told.
    + intros s its. rewrite who by assumption. rewrite got. unfold ran. split.
      * intros j. destruct (here s (owner one)) eqn:owns; [|discriminate]. intros chosen.
        split; [reflexivity|]. apply here_is in owns. specialize (open_one s owns).
        rewrite its, chosen in open_one. cbn [negb orb each] in open_one.
        apply andb_prop in open_one as [inside right]. apply Nat.ltb_lt in inside.
        now apply open_told in right.
      * intros j owns waits. rewrite owns. apply here_is in owns. specialize (first_one s owns).
        rewrite its in first_one. cbn [negb orb] in first_one.
        destruct (first_told s j past its known waits) as (b & next_one & before).
        fold x in next_one. rewrite next_one in first_one. cbn [each] in first_one.
        specialize (in_turn s owns). rewrite its in in_turn. cbn [negb orb] in in_turn.
        destruct (task_job one) as [o|]; [|discriminate]. exists o. split; [reflexivity|].
        apply Nat.leb_le in first_one. rewrite <- !key_told by assumption. split; [lia|].
        intros task same_key. destruct (listed_told s j past its known waits) as [listed right].
        destruct (alike_first x past s o j listed right) as (f & is_it & earlier); [congruence..|].
        cbn [each] in in_turn. rewrite is_it in in_turn. apply Nat.leb_le in in_turn. lia.
  - intros ((payer_has & payer_first) & (has_work & own & slack_kept & lent) & running).
    split; [|split; [|split; [|split; [|split; [|split; [|split; [|split; [|split;
    [|reflexivity]]]]]]]]].
    + intros s its. destruct (payer_has s its) as [low yes]. apply andb_true_intro.
      split; [now apply Nat.ltb_lt|now apply (may_pay_told s past one)].
    + intros s chosen. apply best_is_open in chosen as [low yes]. apply in_seq in low.
      apply (may_pay_told s past one) in yes; [|assumption..].
      destruct (payer_first s ltac:(lia) yes) as (o & -> & before). now apply Nat.leb_le.
    + intros s its. now apply wanting, has_work.
    + intros s its. destruct (works _ _ _ _ _ _ _ s) eqn:yes; [|reflexivity]. cbn [negb orb].
      apply here_is, own; [assumption|]. now apply wanting.
    + intros s its. destruct (here s (payer one)) eqn:paying_too; [reflexivity|]. cbn [orb].
      apply here_is_not in paying_too. specialize (slack_kept s its paying_too).
      destruct by_slack; [easy| |now apply some_is|now apply none_is].
      apply andb_true_intro. now rewrite some_is, here_is.
    + intros s its. destruct (lent s its) as (-> & owns & not_payer & yes).
      rewrite !andb_true_iff, negb_true_iff. split; [split; [split|]|].
      * reflexivity.
      * now apply here_is.
      * now apply here_is_not.
      * now apply rich_told.
    + intros s owns. destruct (judged s) eqn:its; [|reflexivity]. cbn [negb orb].
      apply each_is. intros j chosen. destruct (running s its) as [right _].
      rewrite who in right by assumption. rewrite got in right. unfold ran in right.
      apply here_is in owns. rewrite owns in right. destruct (right j chosen) as [_ waits].
      apply andb_true_intro. split; [now apply Nat.ltb_lt, waits|].
      now apply open_told; [| |apply waits|].
    + intros s owns. destruct (judged s) eqn:its; [|reflexivity]. cbn [negb orb].
      apply each_is. intros b chosen. destruct (running s its) as [_ right].
      rewrite who in right by assumption. rewrite got in right. unfold ran in right.
      apply here_is in owns. rewrite owns in right.
      destruct (right b eq_refl (next_told s b past its known chosen)) as (o & -> & before & _).
      rewrite !key_told by assumption. now apply Nat.leb_le.
    + intros s owns. destruct (judged s) eqn:its; [|reflexivity]. cbn [negb orb].
      apply each_is. intros o runs_o. apply each_is. intros f chosen.
      destruct (running s its) as [_ right]. rewrite who in right by assumption.
      rewrite got in right. unfold ran in right. apply here_is in owns. rewrite owns in right.
      apply alike_is in chosen as (listed & open_f & task & same_key).
      apply open_told in open_f; [|assumption|assumption|now apply (real s x)].
      destruct (right f eq_refl open_f) as (other & is_it & _ & turn).
      rewrite runs_o in is_it. injection is_it as <-. rewrite <- !key_told in turn by assumption.
      apply Nat.leb_le, turn; congruence.
Qed.

End Told.

(* * A pcpu *)

(* Whatever the servers, their order and the slack rule, the domains and their releases: there is a
   run of the pcpu, by each budget rule, also one that begins with any given schedule that keeps the
   laws. Again a program makes it, one instant after the other. *)
Section Machine.
Context (by_rule : rule) (m : nat) (servers : nat -> server) (by_order : order) (by_slack : slack).
Context (judged : nat -> bool) (domains : nat -> domain) (given : nat -> run).
Context (candidates : nat -> nat -> list job) (begun : list moment).
Context (real : forall s x j, judged s = true -> In j (candidates s x) -> fst j < size (domains s)).
Context (all : forall s x j, judged s = true -> fst j < size (domains s) ->
  release (given s) j <= x -> 0 < work (given s) j -> In j (candidates s x)).
Let rules past :=
  history_broken by_rule m servers by_order by_slack judged domains given candidates past.
Context (kept : rules begun = None).

Let working := works judged domains given candidates.

Definition next (x : nat) (past : list moment) : moment :=
  let has_work := working x past [] in
  let has_budget := rich servers x past in
  let is_ready := ready by_rule servers judged domains given candidates x past [] in
  let pays := best (fun s => place by_order servers s x)
    (fun s => has_budget s && is_ready s) (seq 0 m) in
  let takes :=
    match pays with
    | None => match by_slack with Behind => best (fun s => s) has_work (seq 0 m) | _ => None end
    | Some q =>
        if has_work q then Some q
        else match by_slack with
          | Idle | Behind => None
          | Lend => best (fun s => s) (fun s => has_work s && has_budget s) (seq 0 m)
          | Reclaim => best (fun s => s) has_work (seq 0 m)
          end
    end in
  {| payer := pays;
     second := match by_slack, takes with
       | Lend, Some s => if here s pays then None else Some s
       | _, _ => None
       end;
     owner := takes;
     task_job := match takes with
       | Some s => next_job domains given candidates x past s
       | None => None
       end;
     others := [] |}.

Fixpoint story (x : nat) : list moment :=
  match x with
  | 0 => []
  | S y => let past := story y in nth y (rev begun) (next y past) :: past
  end.

Definition now (x : nat) : moment := nth x (rev begun) (next x (story x)).

Definition inner (s : nat) : run :=
  {| arrival := arrival (given s); release := release (given s); work := work (given s);
     runs := fun x => ran s (now x) |}.

Definition machine : host :=
  {| pays := fun x => payer (now x); also := fun x => second (now x);
     has := fun x => owner (now x);
     wants := fun s x => working x (story x) (others (now x)) s = true |}.

Lemma story_long x : length (story x) = x.
Proof. induction x as [|x IH]; cbn [story length]; [reflexivity|]. now rewrite IH. Qed.

Lemma story_told x : told judged machine inner (story x).
Proof.
  induction x as [|x IH]; [exact I|]. cbn [story told]. split; [|exact IH].
  rewrite story_long. do 3 (split; [reflexivity|]). split; [reflexivity|].
  intros s not_its. cbn [machine wants]. unfold working, works. rewrite not_its.
  rewrite existsb_exists. split.
  - now intros (o & listed & <-%Nat.eqb_eq).
  - intros listed. exists s. split; [exact listed|apply Nat.eqb_refl].
Qed.

Lemma begins_with newer old : begun = newer ++ old -> story (length old) = old.
Proof.
  revert newer. induction old as [|one rest IH]; intros newer whole; [reflexivity|].
  cbn [length story]. rewrite (IH (newer ++ [one])) by now rewrite <- app_assoc. f_equal.
  rewrite whole, rev_app_distr. cbn [rev]. rewrite <- !app_assoc, app_nth2; rewrite rev_length;
    [|apply le_n]. now rewrite Nat.sub_diag.
Qed.

Lemma kept_before newer old : rules (newer ++ old) = None -> rules old = None.
Proof.
  induction newer as [|one newer IH]; [easy|]. unfold rules in *. cbn [app history_broken].
  destruct (history_broken _ _ _ _ _ _ _ _ _ (newer ++ old)); [discriminate|auto].
Qed.

Lemma next_kept x past :
  broken by_rule m servers by_order by_slack judged domains given candidates x past (next x past)
  = None.
Proof.
  apply broken_is. cbn [laws forallb snd]. rewrite !andb_true_iff, !each_is.
  set (has_budget := rich servers x past). fold working.
  cbn [others next]. set (has_work := working x past []). cbn [payer next].
  fold has_work has_budget.
  set (is_ready := ready by_rule servers judged domains given candidates x past []).
  set (who := best (fun s => place by_order servers s x)
    (fun s => has_budget s && is_ready s) (seq 0 m)).
  assert (owns : forall s, owner (next x past) = Some s -> has_work s = true /\
    (here s who = true \/
     match by_slack with
     | Idle => False
     | Lend => some who = true /\ has_budget s = true /\ here s (second (next x past)) = true
     | Reclaim => some who = true
     | Behind => who = None
     end)).
  { intros s. cbn [owner second next]. fold has_work has_budget is_ready who.
    destruct who as [q|].
    2: { destruct by_slack; [discriminate..|]. intros taken.
         apply best_is_open in taken as [_ yes]. split; [assumption|now right]. }
    destruct (has_work q) eqn:own.
    - intros [= ->]. split; [assumption|left; apply here_itself].
    - destruct by_slack; [discriminate| | |discriminate]; intros taken;
        apply best_is_open in taken as taken_is; destruct taken_is as [_ yes].
      + apply andb_prop in yes as [yes enough]. split; [assumption|].
        destruct (here s (Some q)) eqn:payer_too; [now left|right].
        rewrite taken, payer_too. split; [reflexivity|]. split; [assumption|apply here_itself].
      + split; [assumption|]. now right. }
  assert (jobs_own : forall s, owner (next x past) = Some s -> judged s = true ->
    task_job (next x past) = next_job domains given candidates x past s).
  { intros s its _. unfold next in its |- *. cbn [owner task_job] in *. now rewrite its. }
  split; [|split; [|split; [|split; [|split; [|split; [|split; [|split; [|split;
    [|reflexivity]]]]]]]]].
  - intros s chosen. apply best_is_open in chosen as [low yes]. apply in_seq in low.
    apply andb_true_intro. split; [apply Nat.ltb_lt; lia|assumption].
  - intros s chosen. rewrite chosen. apply Nat.leb_refl.
  - intros s its. now apply owns.
  - intros s its. destruct (has_work s) eqn:yes; [|reflexivity]. cbn [negb orb owner next].
    fold has_work has_budget is_ready who. rewrite its, yes. apply here_itself.
  - intros s its. destruct (owns s its) as [_ [->|how]]; [reflexivity|].
    destruct by_slack; [easy| |now rewrite how, orb_true_r|now rewrite how].
    destruct how as (somebody & _ & how). rewrite somebody, how. apply orb_true_r.
  - intros s its. pose proof (owns s) as how. cbn [second owner next] in *.
    fold has_work has_budget is_ready who in its, how |- *.
    destruct by_slack; [discriminate| |discriminate..].
    destruct (match who with Some _ => _ | None => _ end) as [taker|]; [|discriminate].
    destruct (here taker who) eqn:payer_too; [discriminate|]. injection its as ->.
    destruct (how eq_refl) as [_ [yes|(_ & yes & _)]]; [congruence|].
    now rewrite payer_too, here_itself, yes.
  - intros s its. destruct (judged s) eqn:is_judged; [|reflexivity]. cbn [negb orb].
    rewrite (jobs_own s its is_judged). apply each_is. intros j chosen.
    apply next_is in chosen as [listed right]. apply andb_true_intro.
    split; [|exact right]. apply Nat.ltb_lt. now apply (real s x).
  - intros s its. destruct (judged s) eqn:is_judged; [|reflexivity]. cbn [negb orb].
    rewrite (jobs_own s its is_judged). apply each_is. intros j chosen. rewrite chosen.
    apply Nat.leb_refl.
  - intros s its. destruct (judged s) eqn:is_judged; [|reflexivity]. cbn [negb orb].
    rewrite (jobs_own s its is_judged). apply each_is. intros o next_one. apply each_is.
    intros f chosen. apply Nat.leb_le.
    unfold next_job in next_one.
    destruct (best (key_of domains given s) _ _) as [b|]; [|discriminate].
    pose proof next_one as its_own. apply alike_is in its_own as (_ & _ & task_of_b & key_of_b).
    apply alike_is in chosen as (listed & right & task & same_key).
    destruct (alike_first domains given candidates x past s b f) as (first & is_it & earlier);
      [assumption|assumption|congruence..|].
    rewrite next_one in is_it. injection is_it as <-. exact earlier.
Qed.

Lemma machine_kept x :
  broken by_rule m servers by_order by_slack judged domains given candidates x (story x) (now x)
  = None.
Proof.
  destruct (Nat.lt_ge_cases x (length begun)) as [early|late].
  - set (newer := firstn (length begun - S x) begun). set (old := skipn (length begun - S x) begun).
    assert (whole : begun = newer ++ old) by (symmetry; apply firstn_skipn).
    pose proof (begins_with newer old whole) as told_so.
    assert (long : length old = S x) by (unfold old; rewrite skipn_length; lia).
    rewrite long in told_so. rewrite whole in kept. apply kept_before in kept.
    rewrite <- told_so in kept. cbn [story history_broken] in kept. unfold rules in kept.
    cbn [story history_broken] in kept. rewrite story_long in kept.
    now destruct (history_broken _ _ _ _ _ _ _ _ _ (story x)).
  - unfold now. rewrite nth_overflow by now rewrite rev_length. apply next_kept.
Qed.

Lemma machine_wants s x : judged s = true ->
  wants machine s x <-> busy (size (domains s)) (inner s) x.
Proof.
  intros its. cbn [wants machine]. rewrite <- (story_long x) at 1 4.
  apply (works_told judged domains given candidates machine inner); [easy..|apply story_told].
Qed.

Lemma machine_laws x :
  first_pays_at m servers by_order (may_pay by_rule servers machine) machine x /\
  shares_at by_slack servers machine x /\
  runs_at judged domains machine inner x.
Proof.
  pose proof (story_told (S x)) as [now_told past_told]. rewrite story_long in now_told.
  rewrite <- (story_long x) at 1 2 3.
  apply (laws_told by_rule m servers by_order by_slack judged domains given candidates machine
    inner) with (one := now x); try assumption.
  - easy.
  - exact machine_wants.
  - now rewrite story_long.
  - rewrite story_long. apply machine_kept.
Qed.

Lemma machine_follows : paying by_rule m servers by_order machine.
Proof. intros x. apply machine_laws. Qed.

Lemma machine_shares : sharing by_slack servers machine.
Proof. intros x. apply machine_laws. Qed.

Lemma machine_inside s : judged s = true ->
  jobs_of (size (domains s)) (members (domains s)) (given s) ->
  inside machine s (domains s) (inner s).
Proof.
  intros its jobs. split; [exact jobs|]. split.
  - intros x. now apply machine_wants.
  - split; intros x; apply (proj2 (proj2 (machine_laws x)) s its).
Qed.

End Machine.

(* One that begins with nothing, and of which all domains are judged. *)
Section Pcpu.
Context (by_rule : rule) (m : nat) (servers : nat -> server) (by_order : order) (by_slack : slack).
Context (domains : nat -> domain) (given : nat -> run).
Let judged s := s <? m.
Let candidates s x := list_prod (seq 0 (size (domains s))) (seq 0 (S x)).

Definition pcpu : host :=
  machine by_rule m servers by_order by_slack judged domains given candidates [].
Definition pcpu_inner : nat -> run :=
  inner by_rule m servers by_order by_slack judged domains given candidates [].

Lemma pcpu_legal :
  (forall s i, s < m -> i < size (domains s) -> 0 < period (members (domains s) i)) ->
  (forall s, s < m -> jobs_of (size (domains s)) (members (domains s)) (given s)) ->
  paying by_rule m servers by_order pcpu /\
  sharing by_slack servers pcpu /\
  forall s, s < m -> inside pcpu s (domains s) (pcpu_inner s).
Proof.
  intros shape jobs.
  assert (real : forall s x j, judged s = true -> In j (candidates s x) ->
    fst j < size (domains s)).
  { intros s x [i k] _ listed. apply in_prod_iff in listed as [low _]. apply in_seq in low.
    cbn [fst]. lia. }
  assert (all : forall s x j, judged s = true -> fst j < size (domains s) ->
    release (given s) j <= x -> 0 < work (given s) j -> In j (candidates s x)).
  { intros s x j low%Nat.ltb_lt inside early _.
    apply (early_job (size (domains s)) (members (domains s)) (given s)); auto. }
  split; [now apply machine_follows|]. split; [now apply machine_shares|].
  intros s low. assert (judged s = true) by now apply Nat.ltb_lt. apply machine_inside; auto.
Qed.

End Pcpu.

Theorem pcpu_run_exists m servers by_order by_slack domains given by_rule :
  (forall s, s < m -> 0 < every (servers s)) ->
  (forall s i, s < m -> i < size (domains s) -> 0 < period (members (domains s) i)) ->
  (forall s, s < m -> jobs_of (size (domains s)) (members (domains s)) (given s)) ->
  exists h inner, paying by_rule m servers by_order h /\
    sharing by_slack servers h /\
    forall s, s < m -> inside h s (domains s) (inner s) /\
      arrival (inner s) = arrival (given s) /\ release (inner s) = release (given s) /\
      work (inner s) = work (given s).
Proof.
  intros _ shape jobs. exists (pcpu by_rule m servers by_order by_slack domains given),
    (pcpu_inner by_rule m servers by_order by_slack domains given).
  destruct (pcpu_legal by_rule m servers by_order by_slack domains given shape jobs)
    as (follows & shares & its).
  split; [exact follows|]. split; [exact shares|].
  intros s real. split; [exact (its s real)|]. repeat split.
Qed.
