(* SPDX-License-Identifier: BSD-2-Clause *)
(* Servers with accounts, of constant bandwidth and of slices, have runs: for any servers, domains
   and releases there is one, which a program makes, one instant after the other. So cbs_supply.v
   and slices_supply.v are about something. *)

From Coq Require Import Arith Bool List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks host laws runs cbs slices.

Lemma history_same n key release work gets other x :
  (forall y, y < x -> gets y = other y) ->
  history n key gets release work x = history n key other release work x.
Proof.
  induction x as [|x IH]; intros same; [reflexivity|]. cbn [history].
  now rewrite IH, same by auto.
Qed.

(* What begins an account, what a rule makes of it (of server s, at instant x, if work arrives, if
   there is work), and when it is its turn: the lower first. *)
Record accounts := {
  first : nat -> account;
  made : nat -> nat -> bool -> bool -> account -> account;
  turn : nat -> account -> nat
}.

Definition bandwidths (servers : nat -> server) : accounts :=
  {| first := fun s => {| left := budget (servers s); until := every (servers s) |};
     made := fun s x arrives _ => ruled (servers s) x arrives;
     turn := fun _ => until |}.

Definition slices (servers : nat -> server) (by_order : order) : accounts :=
  {| first := fun s => {| left := budget (servers s); until := 0 |};
     made := fun s x _ works => begun (servers s) x works;
     turn := fun s its =>
       match by_order with ByRank => rank (servers s) | ByDeadline => until its end |}.

Section Machine.
Context (m : nat) (kept : accounts) (domains : nat -> domain) (given : nat -> run).

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
  made kept s (length past) (comes s past) (working s past)
    match past with
    | [] => first kept s
    | who :: rest => charge_of (balance s rest) (here s who)
    end.

Definition next_payer (past : list (option nat)) : option nat :=
  best (fun s => turn kept s (balance s past))
    (fun s => working s past && (0 <? left (balance s past))) (seq 0 m).

Fixpoint payers (x : nat) : list (option nat) :=
  match x with
  | 0 => []
  | S y => let past := payers y in next_payer past :: past
  end.

Definition account_pcpu : host :=
  {| pays := fun x => next_payer (payers x); also := fun _ => None;
     has := fun x => next_payer (payers x);
     wants := fun s x => working s (payers x) = true |}.

Definition arrivals (s x : nat) : bool := comes s (payers x).
Definition works_at (s x : nat) : bool := working s (payers x).

Definition account_inner (s : nat) : run :=
  {| arrival := arrival (given s); release := release (given s); work := work (given s);
     runs := scheduler (size (domains s)) (key s) (paid account_pcpu s)
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

Lemma jobs_ran s j x : times j (jobs_run s (payers x)) = service (account_inner s) j x.
Proof.
  unfold jobs_run, service. cbn [runs account_inner]. rewrite payers_long, <- times_is_amount.
  f_equal. apply history_same. intros y before. unfold paid. now rewrite payers_at.
Qed.

Lemma balance_is s x : balance s (payers x) =
  account_of (fun y => made kept s y (arrivals s y) (works_at s y)) (first kept s)
    (paid account_pcpu s) x.
Proof.
  induction x as [|x IH]; [reflexivity|]. cbn [payers balance account_of].
  cbn [length]. rewrite payers_long, IH. reflexivity.
Qed.

Section Domain.
Context (s : nat) (shape : forall i, i < size (domains s) -> 0 < period (members (domains s) i)).
Context (jobs : jobs_of (size (domains s)) (members (domains s)) (given s)).

(* The same jobs, each some instants later. *)
Let later (by_some : nat) : run :=
  {| arrival := fun j => by_some + arrival (given s) j;
     release := fun j => by_some + release (given s) j; work := work (given s);
     runs := runs (account_inner s) |}.

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

Lemma wants_is x : wants account_pcpu s x <-> busy (size (domains s)) (account_inner s) x.
Proof. exact (waiting_is 0 x). Qed.

Lemma inside_is : inside account_pcpu s (domains s) (account_inner s).
Proof.
  split; [exact jobs|]. split; [exact wants_is|].
  now apply (scheduler_schedules _ (members (domains s))).
Qed.

Lemma anew_is : anew arrivals s (domains s) (account_inner s).
Proof.
  intros x j now inside earlier. destruct (complete_or_not (account_inner s) j x) as [|open];
    [assumption|exfalso].
  apply andb_prop in now as [_ none]. apply negb_true_iff in none.
  assert (waiting s (fun j => 1 + release (given s) j) (payers x) = true) as some;
    [|cbn in some; congruence].
  apply waiting_is. exists j. split; [assumption|]. split; [exact earlier|exact open].
Qed.

Lemma arriving_is x : wants account_pcpu s (S x) -> ~ wants account_pcpu s x ->
  arrivals s (S x) = true.
Proof.
  intros now idle. unfold arrivals, comes. cbn [wants account_pcpu] in now. rewrite now.
  apply negb_true_iff. destruct (waiting s _ (payers (S x))) eqn:before; [exfalso|reflexivity].
  apply (waiting_is 1) in before as (j & inside & early & open). apply idle, wants_is.
  exists j. split; [assumption|]. cbn [release later account_inner] in *. split; [lia|].
  intros done. apply open. change (complete (account_inner s) j (S x)).
  apply (complete_later _ j x); [assumption|lia].
Qed.

End Domain.

(* The first of those with work pays that have some left. *)
Lemma first_of_accounts x :
  (forall s, pays account_pcpu x = Some s ->
     s < m /\ wants account_pcpu s x /\ 0 < left (balance s (payers x))) /\
  (forall s, s < m -> wants account_pcpu s x -> 0 < left (balance s (payers x)) ->
     exists other, pays account_pcpu x = Some other /\
       turn kept other (balance other (payers x)) <= turn kept s (balance s (payers x))).
Proof.
  split.
  - intros s chosen. apply best_is_open in chosen as [low yes]. apply in_seq in low.
    apply andb_prop in yes as [work some_left]. apply Nat.ltb_lt in some_left.
    split; [lia|]. now split.
  - intros s low work some_left.
    destruct (best_is_first (fun s => turn kept s (balance s (payers x)))
      (fun s => working s (payers x) && (0 <? left (balance s (payers x)))) (seq 0 m) s)
      as (o & chosen & sooner); [apply in_seq; lia| |now exists o].
    apply andb_true_intro. split; [exact work|now apply Nat.ltb_lt].
Qed.

Lemma account_shares by_slack servers : sharing by_slack servers account_pcpu.
Proof.
  intros x. split; [|split; [|split]]; cbn [has pays also wants account_pcpu]; try easy.
  intros s chosen. apply best_is_open in chosen as [_ yes]. now apply andb_prop in yes.
Qed.

End Machine.

Lemma cbs_pays m servers domains given :
  earliest_pays m servers (arrivals m (bandwidths servers) domains given)
    (account_pcpu m (bandwidths servers) domains given).
Proof.
  intros x. destruct (first_of_accounts m (bandwidths servers) domains given x) as [rich sooner].
  split; [intros s who|intros s low work some_left]; unfold its, cbs_of in *.
  - specialize (rich s who). now rewrite balance_is in rich.
  - specialize (sooner s low work). rewrite balance_is in sooner.
    destruct (sooner some_left) as (o & who & before). exists o. now rewrite balance_is in before.
Qed.

Lemma slices_paid m servers by_order domains given :
  slices_pay m servers (works_at m (slices servers by_order) domains given)
    (account_pcpu m (slices servers by_order) domains given) by_order.
Proof.
  intros x.
  destruct (first_of_accounts m (slices servers by_order) domains given x) as [rich sooner].
  split; [intros s who low|intros s low work some_left]; unfold slice, slice_of, slice_turn in *.
  - specialize (rich s who). now rewrite balance_is in rich.
  - specialize (sooner s low work). rewrite balance_is in sooner.
    destruct (sooner some_left) as (o & who & before). exists o. split; [assumption|].
    split; [now apply (rich o)|]. unfold slice, slice_of. rewrite balance_is in before.
    destruct by_order; exact before.
Qed.

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
  intros shape jobs. pose (kept := bandwidths servers).
  exists (account_pcpu m kept domains given), (arrivals m kept domains given),
    (account_inner m kept domains given).
  split; [intros s x low; now apply arriving_is; auto|]. split; [apply cbs_pays|].
  split; [apply account_shares|]. intros s low.
  split; [apply inside_is; auto|]. split; [apply anew_is; auto|]. repeat split.
Qed.

Theorem slices_run_exists m servers by_order domains given :
  (forall s i, s < m -> i < size (domains s) -> 0 < period (members (domains s) i)) ->
  (forall s, s < m -> jobs_of (size (domains s)) (members (domains s)) (given s)) ->
  exists h works inner, working m works h /\ slices_pay m servers works h by_order /\
    sharing Idle servers h /\
    forall s, s < m ->
      inside h s (domains s) (inner s) /\
      arrival (inner s) = arrival (given s) /\ release (inner s) = release (given s) /\
      work (inner s) = work (given s).
Proof.
  intros shape jobs. pose (kept := slices servers by_order).
  exists (account_pcpu m kept domains given), (works_at m kept domains given),
    (account_inner m kept domains given).
  split; [easy|]. split; [apply slices_paid|]. split; [apply account_shares|]. intros s low.
  split; [apply inside_is; auto|]. repeat split.
Qed.
