(* SPDX-License-Identifier: BSD-2-Clause *)
(* Flows: bounds on the responses of hops that agree with one another hold (Tindell and Clark 1994).

   That responses give jitters and jitters responses is a circle. It is a proof by the first instant
   X at which a job is late. All others have kept their bounds until then, so the releases up to X
   are no further apart from their arrivals than the jitters say. What is released later can matter
   to nobody by X: so the run of the domain is cut there, at an end of all supply, and jobs that are
   released later have no work in it. Of this run it is known that the job is not late. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks host cbs cbs_supply flows.

(* * A run that is cut *)

Section Cut.
Context (X : nat).

Definition kept (r : run) (j : job) : bool := (0 <? work r j) && (release r j <=? X).

Definition until_then (f : supply) (x : nat) : bool := f x && (x <? X).

Definition cut (r : run) : run := {|
  arrival := arrival r;
  release := fun j => if kept r j then release r j else arrival r j;
  work := fun j => if kept r j then work r j else 0;
  runs := fun x => if x <? X then runs r x else None
|}.

Lemma kept_is r j : kept r j = true <-> 0 < work r j /\ release r j <= X.
Proof. unfold kept. now rewrite andb_true_iff, Nat.ltb_lt, Nat.leb_le. Qed.

Lemma cut_service r j x : x <= X -> service (cut r) j x = service r j x.
Proof.
  unfold service. induction x as [|x IH]; intros early; [reflexivity|]. cbn [amount plus].
  rewrite IH by lia. cbn [cut runs]. apply Nat.ltb_lt in early. now rewrite early.
Qed.

Lemma cut_complete r j x : kept r j = true -> x <= X -> complete (cut r) j x <-> complete r j x.
Proof.
  intros yes early. unfold complete. rewrite cut_service by exact early. cbn. now rewrite yes.
Qed.

Lemma unfinished_kept n r j x : x <= X -> pending n r j x -> kept r j = true.
Proof.
  intros early (_ & released & left_over). apply kept_is. unfold complete in left_over. lia.
Qed.

Lemma cut_pending n r j x : x <= X -> pending n (cut r) j x <-> pending n r j x.
Proof.
  intros early. destruct (kept r j) eqn:yes.
  - unfold pending. rewrite cut_complete by assumption. cbn. now rewrite yes.
  - split; intros waits.
    + destruct waits as (_ & _ & left_over). destruct left_over. unfold complete. cbn.
      rewrite yes. lia.
    + apply unfinished_kept in waits; [congruence|exact early].
Qed.

Lemma cut_key d r j : kept r j = true -> local_key d (cut r) j = local_key d r j.
Proof. intros yes. unfold local_key, due. cbn. now rewrite yes. Qed.

Lemma cut_scheduled d gets r : scheduled (size d) (local_key d r) gets r ->
  scheduled (size d) (local_key d (cut r)) (until_then gets) (cut r).
Proof.
  intros [runs_right first_runs]. unfold until_then. split.
  - intros x j who. cbn [cut runs] in who. destruct (Nat.ltb_spec x X) as [early|]; [|discriminate].
    destruct (runs_right x j who) as [-> waits]. split; [reflexivity|].
    apply <- cut_pending; [exact waits|lia].
  - intros x j [got early%Nat.ltb_lt]%andb_prop waits. apply -> cut_pending in waits; [|lia].
    destruct (first_runs x j got waits) as (other & who & no_later & in_order).
    destruct (runs_right x other who) as [_ others]. exists other. cbn [cut runs].
    replace (x <? X) with true by (symmetry; now apply Nat.ltb_lt).
    rewrite !cut_key by (eapply unfinished_kept; [|eassumption]; lia). auto.
Qed.

Lemma amount_until f a t : a + t <= X -> amount (until_then f) a t = amount f a t.
Proof.
  intros early. induction t as [|t IH]; [reflexivity|]. cbn [amount]. rewrite IH by lia.
  unfold until_then. replace (a + t <? X) with true by (symmetry; apply Nat.ltb_lt; lia).
  now rewrite andb_true_r.
Qed.

End Cut.

(* A job has run for no longer than since its release. *)
Lemma service_since n key gets r j x : scheduled n key gets r -> service r j x <= x - release r j.
Proof.
  intros legal. induction x as [|x IH]; [cbn; lia|]. unfold service in *. cbn [amount plus].
  destruct (is j (runs r x)) eqn:here; [|lia].
  destruct (runs_pending n key gets r legal x j here) as (_ & released & _). lia.
Qed.

(* A job that has come to its end at x was not complete before. *)
Lemma ends_no_later n key gets r j x y : scheduled n key gets r ->
  ends r j x -> complete r j y -> x <= y.
Proof.
  intros legal (z & -> & who & _) done. apply Nat.nlt_ge. intros beyond.
  destruct (proj1 legal z j who) as (_ & _ & _ & left_over).
  apply left_over, (complete_later r j y); [exact done|lia].
Qed.

(* Where it ends there was work, and as much time since the release. *)
Lemma ends_after n key gets r j x : scheduled n key gets r ->
  ends r j x -> 0 < work r j /\ release r j < x /\ release r j + work r j <= x.
Proof.
  intros legal (y & -> & who & done).
  destruct (proj1 legal y j who) as (_ & _ & released & left_over).
  pose proof (service_since n key gets r j (S y) legal). unfold complete in *. lia.
Qed.

(* * Hops *)

Section Flows.
Context (m : nat) (domains : nat -> domain) (before : place -> option place).
Context (least : place -> nat) (inner : nat -> run).
Context (arrives gets : nat -> supply) (bound : nat -> nat -> nat).
Context (shape : forall p, real m domains p -> 0 < period (member domains p)).
Context (passed : passed_on m domains before least inner).
Context (legal : served m domains inner arrives gets bound).
Context (circle : spread m domains before least).
Context (tests : forall s, s < m -> fits (domains s) (bound s)).

Definition prompt (p : place) (k : nat) : Prop :=
  complete (inner (fst p)) (snd p, k) (due (members (domains (fst p))) (inner (fst p)) (snd p, k)).

(* Where nobody has been late before X, releases up to X keep their jitters. *)
Lemma releases_spread X :
  (forall p k, real m domains p ->
     due (members (domains (fst p))) (inner (fst p)) (snd p, k) < X -> prompt p k) ->
  forall p k, real m domains p -> kept X (inner (fst p)) (snd p, k) = true ->
  arrival (inner (fst p)) (snd p, k) <= release (inner (fst p)) (snd p, k)
    <= arrival (inner (fst p)) (snd p, k) + jitter (member domains p).
Proof.
  intros before_it p k its [some_work early]%kept_is.
  remember (release (inner (fst p)) (snd p, k)) as x eqn:when.
  revert p k its some_work early when. unfold prompt, due, member in *.
  induction x as [x IH] using lt_wf_ind. intros p k its some_work early when.
  destruct (passed p k its) as (_ & _ & law).
  destruct (before p) as [q|] eqn:behind; [|now rewrite when].
  destruct law as (arrives_then & comes). destruct (comes some_work) as (works & ended).
  destruct (circle p q its behind) as [its_too far]. unfold member in far.
  destruct (legal (fst q) (proj1 its_too)) as (ordered & _ & _).
  rewrite <- when in ended.
  destruct (ends_after _ _ _ _ _ _ ordered ended) as (some & later & since).
  destruct (IH (release (inner (fst q)) (snd q, k)) later q k its_too some ltac:(lia) eq_refl)
    as [low high].
  split; [lia|]. specialize (before_it q k its_too). cbn [fst] in before_it.
  assert (x <= release (inner (fst q)) (snd q, k)
    + deadline (members (domains (fst q)) (snd q))); [|lia].
  apply Nat.nlt_ge. intros beyond.
  pose proof (ends_no_later _ _ _ _ _ _ _ ordered ended (before_it ltac:(lia))). lia.
Qed.

Lemma hop_in_time p k : real m domains p -> prompt p k.
Proof.
  intros its. unfold prompt. remember (due _ _ _) as X eqn:when. revert p k when its.
  induction X as [X IH] using lt_wf_ind. intros p k when its.
  assert (spreads : forall p k, real m domains p -> kept X (inner (fst p)) (snd p, k) = true ->
    arrival (inner (fst p)) (snd p, k) <= release (inner (fst p)) (snd p, k)
      <= arrival (inner (fst p)) (snd p, k) + jitter (member domains p)).
  { apply releases_spread. intros o l its_too sooner. eapply IH; eauto. }
  clear IH. destruct p as [s i], its as [low inside]. cbn [fst snd] in *.
  destruct (Nat.eq_dec (work (inner s) (i, k)) 0) as [none|some]; [unfold complete; lia|].
  assert (kept X (inner s) (i, k) = true) as yes.
  { apply kept_is. split; [lia|]. rewrite when. apply Nat.le_add_r. }
  assert (X = due (members (domains s)) (cut X (inner s)) (i, k)) as same
    by (unfold due; cbn; rewrite yes; exact when).
  destruct (legal s low) as (ordered & anew & supplied).
  rewrite <- (cut_complete X) by (exact yes || lia). rewrite same at 2.
  apply (unbroken_in_time (domains s) _ (until_then X (gets s)) (until_then X (arrives s))
    (bound s)).
  - intros o l real_one. destruct (passed (s, o) l (conj low real_one)) as (apart & costs & _).
    specialize (spreads (s, o) l (conj low real_one)). unfold member in *. cbn [fst snd] in *.
    split; [exact apart|]. cbn [cut arrival release work].
    destruct (kept X (inner s) (o, l)); [now split; [apply spreads|]|lia].
  - now apply cut_scheduled.
  - intros x j [now_it early%Nat.ltb_lt]%andb_prop real_one released.
    destruct (kept X (inner s) j) eqn:stays.
    + rewrite cut_complete by (exact stays || lia). apply (anew x j); [assumption..|].
      revert released. cbn. now rewrite stays.
    + unfold complete. cbn. rewrite stays. lia.
  - intros o real_one. apply (shape (s, o)). now split.
  - intros a t early working unbroken. rewrite <- same in early.
    rewrite amount_until by exact early. apply supplied.
    + intros x there. destruct (working x there) as (j & waits). exists j.
      apply -> cut_pending in waits; [exact waits|lia].
    + intros x there. specialize (unbroken x there). unfold until_then in unbroken.
      replace (x <? X) with true in unbroken by (symmetry; apply Nat.ltb_lt; lia).
      now rewrite andb_true_r in unbroken.
  - now apply tests.
  - exact inside.
Qed.

End Flows.

(* All jobs of all domains, those of hops among them, are done by their deadlines, which under fixed
   priority are no more than bounds: in circles between domains too. *)
Theorem hops_in_time m domains before least inner arrives gets bound :
  (forall p, real m domains p -> 0 < period (member domains p)) ->
  passed_on m domains before least inner -> served m domains inner arrives gets bound ->
  spread m domains before least -> (forall s, s < m -> fits (domains s) (bound s)) ->
  forall s, s < m -> in_time (size (domains s)) (members (domains s)) (inner s).
Proof.
  intros shape passed legal circle tests s low [i k] inside.
  exact (hop_in_time m domains before least inner arrives gets bound shape passed legal circle tests
    (s, i) k (conj low inside)).
Qed.

(* On servers that keep their laws, of whatever rules. *)
Theorem hops_on_servers m domains before least inner gets P B D by_rule :
  (forall p, real m domains p -> 0 < period (member domains p)) ->
  passed_on m domains before least inner -> spread m domains before least ->
  (forall s, s < m -> 0 < B s <= D s /\ D s <= P s /\
     keeps (P s) (B s) (D s) (by_rule s) (busy (size (domains s)) (inner s)) (gets s) /\
     scheduled (size (domains s)) (local_key (domains s) (inner s)) (gets s) (inner s) /\
     fits (domains s) (sbf (P s) (B s) (blackout (P s) (B s) (D s) (by_rule s)))) ->
  forall s, s < m -> in_time (size (domains s)) (members (domains s)) (inner s).
Proof.
  intros shape passed circle each.
  apply (hops_in_time m domains before least inner (fun _ _ => false) gets
    (fun s => sbf (P s) (B s) (blackout (P s) (B s) (D s) (by_rule s)))); try assumption.
  - intros s low. destruct (each s low) as (budget & explicit & law & legal & _).
    split; [exact legal|]. split; [easy|]. intros a t working _.
    now apply (server_supply _ _ _ _ _ _ budget explicit law).
  - intros s low. apply (each s low).
Qed.

(* So an item that comes to a hop is done there no later after its release by the source than the
   responses up to this hop add up to. *)
Theorem flow_in_time m domains before least inner arrives gets bound hop h k :
  passed_on m domains before least inner -> served m domains inner arrives gets bound ->
  (forall s, s < m -> in_time (size (domains s)) (members (domains s)) (inner s)) ->
  (forall g, g <= h -> real m domains (hop g)) ->
  (forall g, g < h -> before (hop (S g)) = Some (hop g)) ->
  let job_at g := (snd (hop g), k) in
  let run_at g := inner (fst (hop g)) in
  0 < work (run_at h) (job_at h) ->
  complete (run_at h) (job_at h)
    (release (run_at 0) (job_at 0) + sum (S h) (fun g => deadline (member domains (hop g)))).
Proof.
  intros passed legal punctual. induction h as [|h IH]; intros its row job_at run_at some.
  - apply punctual; apply (its 0 (le_n _)).
  - destruct (passed (hop (S h)) k (its _ (le_n _))) as (_ & _ & law). rewrite row in law by lia.
    destruct law as (_ & comes). destruct (comes some) as (_ & ended). clear comes.
    destruct (its h (le_S _ _ (le_n _))) as [low _].
    destruct (legal _ low) as (ordered & _ & _).
    destruct (ends_after _ _ _ _ _ _ ordered ended) as (some_before & _ & _).
    assert (in_order := ends_no_later _ _ _ _ _ _ _ ordered ended
      (IH (fun g less => its g (le_S _ _ less)) (fun g less => row g (le_S _ _ less)) some_before)).
    destruct (its (S h) (le_n _)) as [low_too inside].
    apply (complete_later _ _ _ _ (punctual _ low_too (job_at (S h)) inside)).
    subst job_at run_at. unfold due, member in *. cbn [fst snd sum] in *. lia.
Qed.
