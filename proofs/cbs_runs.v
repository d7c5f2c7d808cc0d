(* SPDX-License-Identifier: BSD-2-Clause *)
(* Constant bandwidth servers have runs: for any servers, domains and releases there is one, which
   a program makes, one instant after the other. So cbs_supply.v is about something. *)

From Coq Require Import Arith Bool List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks host laws runs cbs.

Lemma history_same n key release work gets other x :
  (forall y, y < x -> gets y = other y) ->
  history n key gets release work x = history n key other release work x.
Proof.
  induction x as [|x IH]; intros same; [reflexivity|]. cbn [history].
  now rewrite IH, same by auto.
Qed.

Section Machine.
Context (m : nat) (servers : nat -> server) (domains : nat -> domain) (given : nat -> run).

Let key s := local_key (domains s) (given s).

(* Who paid at each instant of the past, the last one first, gives which jobs ran. *)
Let jobs_run s (past : list (option nat)) :=
  history (size (domains s)) (key s) (fun y => here s (nth y (rev past) None))
    (release (given s)) (work (given s)) (length past).

(* Whether a job is not done whose time, its release or an instant after it, has come. *)
Let waiting s (from : job -> nat) past : bool :=
  some (decide (size (domains s)) (key s) from (work (given s)) (length past) (jobs_run s past)).

Let working s past := waiting s (release (given s)) past.
Let comes s past := working s past && negb (waiting s (fun j => S (release (given s) j)) past).

Fixpoint balance (s : nat) (past : list (option nat)) : account :=
  ruled (servers s) (length past) (comes s past)
    match past with
    | [] => {| left := budget (servers s); until := every (servers s) |}
    | who :: rest => charge_of (balance s rest) (here s who)
    end.

Definition next_payer (past : list (option nat)) : option nat :=
  best (fun s => until (balance s past))
    (fun s => working s past && (0 <? left (balance s past))) (seq 0 m).

Fixpoint payers (x : nat) : list (option nat) :=
  match x with
  | 0 => []
  | S y => let past := payers y in next_payer past :: past
  end.

Definition cbs_pcpu : host :=
  {| pays := fun x => next_payer (payers x); also := fun _ => None;
     has := fun x => next_payer (payers x);
     wants := fun s x => working s (payers x) = true |}.

Definition cbs_arrives (s x : nat) : bool := comes s (payers x).

Definition cbs_inner (s : nat) : run :=
  {| arrival := arrival (given s); release := release (given s); work := work (given s);
     runs := scheduler (size (domains s)) (key s) (paid cbs_pcpu s)
       (release (given s)) (work (given s)) |}.

Lemma payers_long x : length (payers x) = x.
Proof. induction x as [|x IH]; cbn; congruence. Qed.

Lemma payers_at x y : y < x -> nth y (rev (payers x)) None = next_payer (payers y).
Proof.
  induction x as [|x IH]; [lia|]. intros before. cbn [payers rev].
  destruct (Nat.eq_dec y x) as [->|].
  - rewrite app_nth2; rewrite rev_length, payers_long; [|lia]. now rewrite Nat.sub_diag.
  - rewrite app_nth1 by (rewrite rev_length, payers_long; lia). apply IH. lia.
Qed.

Lemma jobs_ran s j x : times j (jobs_run s (payers x)) = service (cbs_inner s) j x.
Proof.
  unfold jobs_run, service. cbn [runs cbs_inner]. rewrite payers_long, <- times_is_amount.
  f_equal. apply history_same. intros y before. unfold paid. now rewrite payers_at.
Qed.

Lemma balance_is s x : balance s (payers x) = its servers cbs_arrives cbs_pcpu s x.
Proof.
  unfold its. induction x as [|x IH]; [reflexivity|]. cbn [payers balance account_of].
  cbn [length]. rewrite payers_long, IH. reflexivity.
Qed.

Section Domain.
Context (s : nat) (shape : forall i, i < size (domains s) -> 0 < period (members (domains s) i)).
Context (jobs : jobs_of (size (domains s)) (members (domains s)) (given s)).

(* The same jobs, each some instants later. *)
Let later (by_some : nat) : run :=
  {| arrival := fun j => by_some + arrival (given s) j;
     release := fun j => by_some + release (given s) j; work := work (given s);
     runs := runs (cbs_inner s) |}.

Lemma later_jobs by_some : jobs_of (size (domains s)) (members (domains s)) (later by_some).
Proof. intros i k inside. destruct (jobs i k inside). cbn. lia. Qed.

Lemma waiting_is by_some x :
  waiting s (fun j => by_some + release (given s) j) (payers x) = true <->
  busy (size (domains s)) (later by_some) x.
Proof.
  unfold waiting. rewrite payers_long. split.
  - destruct (decide _ _ _ _ _ _) as [j|] eqn:chosen; [|discriminate]. intros _. exists j.
    apply (decide_pending _ (key s) (later by_some)) with (2 := chosen).
    intros other. apply jobs_ran.
  - intros (j & pends).
    destruct (decide_first _ (members (domains s)) (key s) (later by_some) shape
      (later_jobs by_some) x (jobs_run s (payers x)) (fun other => jobs_ran s other x) j pends)
      as (other & chosen & _).
    cbn [release work later] in chosen. now rewrite chosen.
Qed.

Lemma wants_is x : wants cbs_pcpu s x <-> busy (size (domains s)) (cbs_inner s) x.
Proof. exact (waiting_is 0 x). Qed.

Lemma inside_is : inside cbs_pcpu s (domains s) (cbs_inner s).
Proof.
  split; [exact jobs|]. split; [exact wants_is|].
  now apply (scheduler_schedules _ (members (domains s))).
Qed.

Lemma anew_is : anew cbs_arrives s (domains s) (cbs_inner s).
Proof.
  intros x j now inside earlier. destruct (complete_or_not (cbs_inner s) j x) as [|open];
    [assumption|exfalso].
  apply andb_prop in now as [_ none]. apply negb_true_iff in none.
  assert (waiting s (fun j => 1 + release (given s) j) (payers x) = true) as some;
    [|cbn in some; congruence].
  apply waiting_is. exists j. split; [assumption|]. split; [exact earlier|exact open].
Qed.

Lemma arriving_is x : wants cbs_pcpu s (S x) -> ~ wants cbs_pcpu s x ->
  cbs_arrives s (S x) = true.
Proof.
  intros now idle. unfold cbs_arrives, comes. cbn [wants cbs_pcpu] in now. rewrite now.
  apply negb_true_iff. destruct (waiting s _ (payers (S x))) eqn:before; [exfalso|reflexivity].
  apply (waiting_is 1) in before as (j & inside & early & open). apply idle, wants_is.
  exists j. split; [assumption|]. cbn [release later cbs_inner] in *. split; [lia|].
  intros done. apply open. change (complete (cbs_inner s) j (S x)).
  apply (complete_later _ j x); [assumption|lia].
Qed.

End Domain.

Lemma cbs_pays : earliest_pays m servers cbs_arrives cbs_pcpu.
Proof.
  intros x. split.
  - intros s chosen. apply best_is_open in chosen as [low yes]. apply in_seq in low.
    apply andb_prop in yes as [work some_left]. apply Nat.ltb_lt in some_left.
    rewrite balance_is in some_left. split; [lia|]. now split.
  - intros s low work some_left.
    destruct (best_is_first (fun s => until (balance s (payers x)))
      (fun s => working s (payers x) && (0 <? left (balance s (payers x)))) (seq 0 m) s)
      as (o & chosen & first); [apply in_seq; lia| |].
    + rewrite balance_is. apply andb_true_intro. split; [exact work|now apply Nat.ltb_lt].
    + exists o. rewrite !balance_is in first. now split.
Qed.

Lemma cbs_shares : sharing Idle servers cbs_pcpu.
Proof.
  intros x. split; [|split; [|split]]; cbn [has pays also wants cbs_pcpu]; try easy.
  intros s chosen. apply best_is_open in chosen as [_ yes]. now apply andb_prop in yes.
Qed.

End Machine.

Theorem cbs_run_exists m servers domains given :
  (forall s i, s < m -> i < size (domains s) -> 0 < period (members (domains s) i)) ->
  (forall s, s < m -> jobs_of (size (domains s)) (members (domains s)) (given s)) ->
  exists h arrives inner, arriving m arrives h /\ earliest_pays m servers arrives h /\
    sharing Idle servers h /\
    forall s, s < m ->
      inside h s (domains s) (inner s) /\ anew arrives s (domains s) (inner s) /\
      arrival (inner s) = arrival (given s) /\ release (inner s) = release (given s) /\
      work (inner s) = work (given s).
Proof.
  intros shape jobs. exists (cbs_pcpu m servers domains given),
    (cbs_arrives m servers domains given), (cbs_inner m servers domains given).
  split; [intros s x low; now apply arriving_is; auto|]. split; [apply cbs_pays|].
  split; [apply cbs_shares|]. intros s low.
  split; [apply inside_is; auto|]. split; [apply anew_is; auto|]. repeat split.
Qed.
