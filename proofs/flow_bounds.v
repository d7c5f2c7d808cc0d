(* SPDX-License-Identifier: BSD-2-Clause *)
(* Flows: bounds and jitters that agree with one another hold (Tindell and Clark 1994).

   That bounds give jitters and jitters bounds is a circle. It is a proof by the first instant X at
   which something is late. All else has kept its bound until then, so the releases up to X are no
   later after their arrivals than the jitters say. What is released later can matter to nobody by
   X: so the run of the domain is cut there, at an end of all supply, and jobs that are released
   later have no work in it. Of this run it is known that nothing is late at X: of a hop by the
   tests of tasks, of a row of hops by a busy window, which is closed at its end, since an item may
   be released at the next hop just there. *)

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

(* * Hops and rows *)

Section Flows.
Context (m : nat) (domains : nat -> domain) (before : place -> option place).
Context (least : place -> nat) (inner : nat -> run).
Context (arrives gets : nat -> supply) (bound : nat -> nat -> nat).
Context (shape : forall p, real m domains p -> 0 < period (member domains p)).
Context (passed : passed_on m domains before least inner).
Context (legal : served m domains inner arrives gets bound).
Context (circle : spread m domains before least arrives bound).

Lemma row_real s i o q c : row m domains before least s i o q c ->
  real m domains o /\ real m domains q /\ fst q = s.
Proof. induction 1 as [p its here|o q p c _ (first & _) _ its here]; auto. Qed.

(* Who has work at a hop has come from the hop before. *)
Lemma comes_from p q k : real m domains p -> before p = Some q ->
  0 < work (inner (fst p)) (snd p, k) ->
  scheduled (size (domains (fst q))) (local_key (domains (fst q)) (inner (fst q))) (gets (fst q))
    (inner (fst q)) /\
  ends (inner (fst q)) (snd q, k) (release (inner (fst p)) (snd p, k)) /\
  least q <= work (inner (fst q)) (snd q, k) /\
  arrival (inner (fst p)) (snd p, k) = arrival (inner (fst q)) (snd q, k) + least q.
Proof.
  intros its from some. destruct (passed p k its) as (_ & _ & law). rewrite from in law.
  destruct law as (apart & comes). destruct (comes some) as (works & ended).
  destruct (circle p q its from) as [its_too _].
  destruct (legal (fst q) (proj1 its_too)) as (ordered & _); [destruct its_too; lia|]. auto.
Qed.

Lemma row_begins s i o q c k : row m domains before least s i o q c ->
  0 < work (inner (fst q)) (snd q, k) ->
  0 < work (inner (fst o)) (snd o, k) /\
  release (inner (fst o)) (snd o, k) <= release (inner (fst q)) (snd q, k) /\
  arrival (inner (fst q)) (snd q, k) + least q = arrival (inner (fst o)) (snd o, k) + c.
Proof.
  induction 1 as [p its|o q p c _ IH from its]; intros some; [auto|].
  destruct (comes_from p q k its from some) as (ordered & ended & _ & apart).
  destruct (ends_after _ _ _ _ _ _ ordered ended) as (some_before & later & _).
  destruct (IH some_before) as (begun & in_order & sums). split; [exact begun|]. lia.
Qed.

Lemma piece_begins o q c W k : through m domains before least arrives bound o q c W ->
  real m domains q -> 0 < work (inner (fst q)) (snd q, k) ->
  real m domains o /\ 0 < work (inner (fst o)) (snd o, k) /\
  release (inner (fst o)) (snd o, k) <= release (inner (fst q)) (snd q, k) /\
  arrival (inner (fst q)) (snd q, k) + least q = arrival (inner (fst o)) (snd o, k) + c.
Proof.
  intros [(-> & -> & _)|(i & hops & _)] its some; [auto|].
  split; [apply (row_real _ _ _ _ _ hops)|now apply (row_begins (fst q) i)].
Qed.

(* Until it is done at the last one, an item is pending at one of the hops of a row. *)
Lemma at_some_hop s i o q c k x : row m domains before least s i o q c ->
  0 < work (inner (fst q)) (snd q, k) -> ~ complete (inner (fst q)) (snd q, k) x ->
  release (inner (fst o)) (snd o, k) <= x ->
  exists j, levels (domains s) (fst j) <= levels (domains s) i /\
    pending (size (domains s)) (inner s) j x.
Proof.
  intros hops some left_over begun. revert some left_over.
  induction hops as [p its here high|o q p c _ IH from its here high]; intros some left_over.
  - exists (snd p, k). subst s. split; [exact high|]. split; [apply its|]. now split.
  - destruct (Nat.le_gt_cases (release (inner (fst p)) (snd p, k)) x) as [come|not_yet].
    + exists (snd p, k). subst s. split; [exact high|]. split; [apply its|]. now split.
    + destruct (comes_from p q k its from some) as (ordered & ended & _).
      destruct (ends_after _ _ _ _ _ _ ordered ended) as (some_before & _).
      apply IH; [exact begun|exact some_before|]. intros done.
      assert (in_order := ends_no_later _ _ _ _ _ _ _ ordered ended done). lia.
Qed.

(* While work of a level is pending, no lower one runs. *)
Lemma level_runs d supplied r x j L : scheduled (size d) (local_key d r) supplied r ->
  supplied x = true -> pending (size d) r j x -> levels d (fst j) <= L ->
  exists other, runs r x = Some other /\ levels d (fst other) <= L.
Proof.
  intros ordered got waits high.
  destruct (proj2 ordered x j got waits) as (other & who & goes_first & _).
  exists other. split; [exact who|]. unfold local_key, levels in *. destruct (scheduler d); lia.
Qed.

(* * The first that is late *)

Definition kept_before (X : nat) : Prop := forall o q c W k, real m domains q ->
  through m domains before least arrives bound o q c W -> 0 < work (inner (fst q)) (snd q, k) ->
  release (inner (fst o)) (snd o, k) + W < X ->
  complete (inner (fst q)) (snd q, k) (release (inner (fst o)) (snd o, k) + W).

(* Where nothing has been late before X, releases up to X keep their jitters. *)
Lemma releases_spread X : kept_before X ->
  forall p k, real m domains p -> kept X (inner (fst p)) (snd p, k) = true ->
  arrival (inner (fst p)) (snd p, k) <= release (inner (fst p)) (snd p, k)
    <= arrival (inner (fst p)) (snd p, k) + jitter (member domains p).
Proof.
  intros none_late p k its [some early]%kept_is.
  remember (release (inner (fst p)) (snd p, k)) as x eqn:when. revert p k its some early when.
  induction x as [x IH] using lt_wf_ind. intros p k its some early when.
  destruct (before p) as [q|] eqn:from.
  2: { destruct (passed p k its) as (_ & _ & law). rewrite from in law. now rewrite when. }
  destruct (comes_from p q k its from some) as (ordered & ended & works & apart).
  rewrite <- when in ended.
  destruct (ends_after _ _ _ _ _ _ ordered ended) as (some_before & later & since).
  destruct (circle p q its from) as [its_too (o & c & W & passes & far)].
  destruct (piece_begins o q c W k passes its_too some_before)
    as (its_first & some_first & in_order & sums).
  destruct (IH (release (inner (fst q)) (snd q, k)) later q k its_too some_before
    ltac:(lia) eq_refl) as [low _].
  destruct (IH (release (inner (fst o)) (snd o, k)) ltac:(lia) o k its_first some_first
    ltac:(lia) eq_refl) as [_ high].
  split; [lia|].
  assert (x <= release (inner (fst o)) (snd o, k) + W); [|lia]. apply Nat.nlt_ge. intros beyond.
  specialize (none_late o q c W k its_too passes some_before ltac:(lia)).
  assert (too_late := ends_no_later _ _ _ _ _ _ _ ordered ended none_late). lia.
Qed.

Lemma cut_jobs X s : kept_before X -> s < m ->
  jobs_of (size (domains s)) (members (domains s)) (cut X (inner s)).
Proof.
  intros none_late low i k inside.
  destruct (passed (s, i) k (conj low inside)) as (apart & costs & _).
  pose proof (releases_spread X none_late (s, i) k (conj low inside)) as spreads.
  unfold member in *. cbn [fst snd] in *. split; [exact apart|].
  cbn [cut arrival release work].
  destruct (kept X (inner s) (i, k)); [now split; [apply spreads|]|lia].
Qed.

Lemma hop_in_time X p k : kept_before X -> real m domains p ->
  fits (domains (fst p)) (bound (fst p)) ->
  0 < work (inner (fst p)) (snd p, k) ->
  release (inner (fst p)) (snd p, k) + deadline (member domains p) = X ->
  complete (inner (fst p)) (snd p, k) X.
Proof.
  destruct p as [s i]. intros none_late [low inside] test some when. unfold member in when.
  cbn [fst snd] in *.
  assert (kept X (inner s) (i, k) = true) as yes by (apply kept_is; lia).
  assert (X = due (members (domains s)) (cut X (inner s)) (i, k)) as same
    by (unfold due; cbn; now rewrite yes).
  destruct (legal s low) as (ordered & anew & supplied); [lia|].
  rewrite <- (cut_complete X) by (exact yes || lia). rewrite same at 2.
  apply (unbroken_in_time (domains s) _ (until_then X (gets s)) (until_then X (arrives s))
    (bound s)).
  - now apply cut_jobs.
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
  - exact test.
  - exact inside.
Qed.

(* From the last instant at which nothing of the level was left over, the window of length W ends
   when the item is to be through or before. Work of the level is pending then, so not all is done
   that came until then, its end included. *)
Lemma row_in_time X s i o q c W k : kept_before X -> row m domains before least s i o q c ->
  (forall x, arrives s x = false) ->
  rbf (size (domains s)) (members (domains s)) (levels (domains s)) i (S W) <= bound s W ->
  0 < work (inner (fst q)) (snd q, k) -> release (inner (fst o)) (snd o, k) + W = X ->
  complete (inner (fst q)) (snd q, k) X.
Proof.
  intros none_late hops unbroken enough some when.
  destruct (complete_or_not (inner (fst q)) (snd q, k) X) as [|late]; [assumption|exfalso].
  pose proof (row_real _ _ _ _ _ hops) as (_ & its & here).
  assert (low : s < m) by (rewrite <- here; apply its).
  destruct (legal s low) as (ordered & _ & supplied); [rewrite <- here; destruct its; lia|].
  pose proof (cut_jobs X s none_late low) as jobs.
  pose proof (cut_scheduled X _ _ _ ordered) as cut_ordered.
  set (d := domains s) in *. set (r := cut X (inner s)) in *.
  set (these := fun j : job => levels d (fst j) <= levels d i).
  apply (last_quiet (size d) r these (release (inner (fst o)) (snd o, k))).
  intros (w & early & nothing & _ & higher).
  assert (waiting : forall x, w <= x <= X -> exists j, these j /\ pending (size d) r j x).
  { intros x there.
    destruct (Nat.le_gt_cases (release (inner (fst o)) (snd o, k)) x) as [begun|not_yet].
    - destruct (at_some_hop s i o q c k x hops some) as (j & high & waits); [|exact begun|].
      + intros done. apply late, (complete_later _ _ x); [exact done|lia].
      + exists j. split; [exact high|]. apply <- cut_pending; [exact waits|lia].
    - apply higher. lia. }
  assert (new : forall x j, w <= x -> these j -> pending (size d) r j x -> w <= release r j).
  { intros x j later high (real_one & _ & left_over). apply Nat.nlt_ge. intros old.
    apply left_over, (complete_later r j w); [now apply nothing|exact later]. }
  pose (number h := if levels d h <=? levels d i
    then ceiling (S W + jitter (members d h)) (period (members d h)) else 0).
  destruct (all_first 0 (size d) (fun h f => forall l, levels d h <= levels d i ->
    w <= release r (h, l) < w + S W -> f <= l < f + number h)) as (first & all).
  { intros h real_one.
    destruct (released_in (size d) (members d) r h w (S W) jobs real_one) as (f & within);
      [apply (shape (s, h)); now split|].
    exists f. intros l high%Nat.leb_le. unfold number. rewrite high. apply within. }
  destruct (waiting (w + W)) as ([h l] & high & waits); [lia|].
  pose proof (new _ _ (Nat.le_add_r _ _) high waits) as not_old.
  destruct waits as (real_one & released & left_over). cbn [fst] in real_one.
  assert (amount (until_then X (gets s)) w W
    < sum (size d) (fun h => number h * cost (members d h))) as less.
  { apply (less_than_demand (size d) (local_key d r) _ r cut_ordered (members d) (size d) first
      number w W h l jobs);
      [lia| |exact real_one|apply all; [exact real_one|exact high|lia]|exact left_over].
    intros x there got. destruct (waiting x) as (j & level & waits); [lia|].
    destruct (level_runs d _ r x j _ cut_ordered got waits level) as ([o' l'] & who & as_high).
    pose proof (proj2 (proj1 cut_ordered x _ who)) as runs_it.
    pose proof (new x (o', l') (proj1 there) as_high runs_it).
    destruct runs_it as (real_too & already & _). exists o', l'. split; [exact who|].
    split; [exact real_too|]. apply all; [exact real_too|exact as_high|lia]. }
  rewrite amount_until in less by lia.
  replace (sum (size d) (fun h => number h * cost (members d h)))
    with (rbf (size d) (members d) (levels d) i (S W)) in less
    by (apply sum_same; intros; unfold number; now destruct (_ <=? _)).
  assert (bound s W <= amount (gets s) w W); [|lia]. apply supplied; [|now intros].
  intros x there. destruct (waiting x) as (j & _ & waits); [lia|]. exists j.
  apply -> cut_pending in waits; [exact waits|lia].
Qed.

Lemma all_in_time X : kept_before X.
Proof.
  induction X as [X IH] using lt_wf_ind. intros o q c W k its passes some early.
  pose proof (IH _ early) as none_late.
  destruct passes as [(-> & _ & -> & test)|(i & hops & unbroken & enough)].
  - now apply hop_in_time.
  - now apply (row_in_time _ (fst q) i o q c W).
Qed.

Lemma piece_in_time o q c W k : real m domains q ->
  through m domains before least arrives bound o q c W -> 0 < work (inner (fst q)) (snd q, k) ->
  complete (inner (fst q)) (snd q, k) (release (inner (fst o)) (snd o, k) + W).
Proof.
  intros its passes some. apply (all_in_time (S (release (inner (fst o)) (snd o, k) + W))
    o q c W k its passes some), Nat.lt_succ_diag_r.
Qed.

Lemma way_in_time o q W k : way m domains before least arrives bound o q W ->
  real m domains q -> 0 < work (inner (fst q)) (snd q, k) ->
  complete (inner (fst q)) (snd q, k) (release (inner (fst o)) (snd o, k) + W).
Proof.
  induction 1 as [o q c W passes|o q p r c V W _ IH from passes]; intros its some.
  - now apply (piece_in_time o q c W).
  - destruct (piece_begins p r c W k passes its some) as (its_first & some_first & _).
    destruct (comes_from p q k its_first from some_first) as (ordered & ended & _).
    destruct (ends_after _ _ _ _ _ _ ordered ended) as (some_before & _).
    destruct (circle p q its_first from) as [its_before _].
    assert (in_order := ends_no_later _ _ _ _ _ _ _ ordered ended (IH its_before some_before)).
    apply (complete_later _ _ _ _ (piece_in_time p r c W k its passes some)). lia.
Qed.

End Flows.

(* All jobs of a domain that passes its test, those of hops among them, are done by their deadlines,
   which under fixed priority are no more than bounds: in circles between domains too. *)
Theorem hops_in_time m domains before least inner arrives gets bound :
  (forall p, real m domains p -> 0 < period (member domains p)) ->
  passed_on m domains before least inner -> served m domains inner arrives gets bound ->
  spread m domains before least arrives bound ->
  forall s, s < m -> fits (domains s) (bound s) ->
  in_time (size (domains s)) (members (domains s)) (inner s).
Proof.
  intros shape passed legal circle s low test [i k] inside.
  destruct (Nat.eq_dec (work (inner s) (i, k)) 0) as [none|some]; [unfold complete; lia|].
  apply (piece_in_time m domains before least inner arrives gets bound shape passed legal circle
    (s, i) (s, i) (least (s, i)) _ k (conj low inside)); [now left|cbn; lia].
Qed.

Lemma served_on_servers m domains inner gets P B D by_rule :
  (forall s, s < m -> 0 < B s <= D s /\ D s <= P s /\
     keeps (P s) (B s) (D s) (by_rule s) (busy (size (domains s)) (inner s)) (gets s) /\
     scheduled (size (domains s)) (local_key (domains s) (inner s)) (gets s) (inner s)) ->
  served m domains inner (fun _ _ => false) gets
    (fun s => sbf (P s) (B s) (blackout (P s) (B s) (D s) (by_rule s))).
Proof.
  intros each s low _. destruct (each s low) as (budget & explicit & law & legal).
  split; [exact legal|]. split; [easy|]. intros a t working _.
  now apply (server_supply _ _ _ _ _ _ budget explicit law).
Qed.

(* On servers that keep their laws, of whatever rules. *)
Theorem hops_on_servers m domains before least inner gets P B D by_rule :
  let bound s := sbf (P s) (B s) (blackout (P s) (B s) (D s) (by_rule s)) in
  (forall p, real m domains p -> 0 < period (member domains p)) ->
  passed_on m domains before least inner ->
  spread m domains before least (fun _ _ => false) bound ->
  (forall s, s < m -> 0 < B s <= D s /\ D s <= P s /\
     keeps (P s) (B s) (D s) (by_rule s) (busy (size (domains s)) (inner s)) (gets s) /\
     scheduled (size (domains s)) (local_key (domains s) (inner s)) (gets s) (inner s)) ->
  forall s, s < m -> fits (domains s) (bound s) ->
  in_time (size (domains s)) (members (domains s)) (inner s).
Proof.
  intros bound shape passed circle each.
  apply (hops_in_time m domains before least inner (fun _ _ => false) gets bound); try assumption.
  now apply served_on_servers.
Qed.

(* An item that comes to the end of a way is done there no later after its release at the first hop
   than the bounds of the pieces, hops and rows of hops, add up to. *)
Theorem flow_in_time m domains before least inner arrives gets bound first last W k :
  (forall p, real m domains p -> 0 < period (member domains p)) ->
  passed_on m domains before least inner -> served m domains inner arrives gets bound ->
  spread m domains before least arrives bound ->
  way m domains before least arrives bound first last W -> real m domains last ->
  0 < work (inner (fst last)) (snd last, k) ->
  complete (inner (fst last)) (snd last, k) (release (inner (fst first)) (snd first, k) + W).
Proof.
  intros shape passed legal circle pieces its some.
  now apply (way_in_time m domains before least inner arrives gets bound).
Qed.

(* * An example *)

(* A driver on 4 in 10 that receives items, which take all their cost at each hop, and sends them at
   the end, a control domain on 5 in 10 in between, and the bounds and jitters of the analysis. *)
Definition driver : domain := {|
  size := 2;
  members := fun i => if i =? 0 then Build_task 1 40 13 0 else Build_task 1 40 14 22;
  scheduler := FixedPriority (fun i => i)
|}.
Definition control : domain := {|
  size := 1;
  members := fun _ => Build_task 2 40 12 12;
  scheduler := FixedPriority (fun i => i)
|}.
Definition driver_and_control (s : nat) : domain := if s =? 0 then driver else control.

Definition in_and_out (p : place) : option place :=
  match p with
  | (0, 1) => Some (1, 0)
  | (1, 0) => Some (0, 0)
  | _ => None
  end.

Theorem in_and_out_in_time inner gets k :
  let budget_of s := if s =? 0 then 4 else 5 in
  passed_on 2 driver_and_control in_and_out (fun p => cost (member driver_and_control p)) inner ->
  (forall s, s < 2 ->
     let d := driver_and_control s in
     periodic 10 (budget_of s) 10 (gets s) /\
     scheduled (size d) (local_key d (inner s)) (gets s) (inner s)) ->
  0 < work (inner 0) (1, k) ->
  complete (inner 0) (1, k) (release (inner 0) (0, k) + (13 + 12 + 14)).
Proof.
  intros budget_of passed each some.
  pose (bound s := sbf 10 (budget_of s) (general 10 (budget_of s) 10)).
  pose (least p := cost (member driver_and_control p)).
  assert (hop : forall p, through 2 driver_and_control in_and_out least (fun _ _ => false) bound p p
    (least p) (deadline (member driver_and_control p))).
  { intros p. left. do 3 (split; [reflexivity|]).
    destruct p as [[|s] j]; intros [|[|i]] inside; cbn in inside; try lia; apply one_window.
    - exists 13. split; [cbn; lia|]. now apply Nat.leb_le.
    - exists 14. split; [cbn; lia|]. now apply Nat.leb_le.
    - exists 12. split; [cbn; lia|]. now apply Nat.leb_le. }
  apply (flow_in_time 2 driver_and_control in_and_out least inner (fun _ _ => false) gets bound
    (0, 0) (0, 1)).
  - intros [[|s] [|i]] _; apply Nat.lt_0_succ.
  - exact passed.
  - apply (served_on_servers 2 driver_and_control inner gets (fun _ => 10) budget_of (fun _ => 10)
      (fun _ => Periodic)).
    intros s low. destruct (each s low) as [law legal]. unfold budget_of in *.
    split; [destruct (s =? 0); lia|]. split; [lia|]. split; [exact law|exact legal].
  - intros [[|[|s]] [|[|i]]] q [low inside] [= <-]; cbn in low, inside; try lia.
    + split; [split; cbn; lia|]. exists (1, 0), 2, 12. split; [apply hop|cbn; lia].
    + split; [split; cbn; lia|]. exists (0, 0), 1, 13. split; [apply hop|cbn; lia].
  - apply next_piece with (q := (1, 0)) (p := (0, 1)) (c := 1); [|reflexivity|apply hop].
    apply next_piece with (q := (0, 0)) (p := (1, 0)) (c := 2); [|reflexivity|apply hop].
    apply one_piece with (c := 1), hop.
  - split; cbn; lia.
  - exact some.
Qed.
