(* SPDX-License-Identifier: BSD-2-Clause *)
(* What the theorems about flows are about exists: runs in which items go from hop to hop.

   When an item comes to a later hop is known only when the hop before has run. So the run is made
   one instant after the other: what has ended at the next one is released there, and the program
   of runs.v schedules it, which does before that instant what it did without it. An item that ends
   nowhere by the horizon goes no further. *)

From Coq Require Import Arith Bool List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks host laws runs flows flow_bounds.

(* * What is released later changes nothing before *)

Lemma best_same {A : Type} (key key' : A -> nat) ok ok' l :
  (forall one, In one l -> ok one = ok' one /\ (ok one = true -> key one = key' one)) ->
  best key ok l = best key' ok' l.
Proof.
  induction l as [|one rest IH]; intros same; cbn [best]; [reflexivity|].
  rewrite <- IH by (intros; apply same; now right).
  destruct (same one (or_introl eq_refl)) as [<- first_key].
  destruct (best key ok rest) as [other|] eqn:found; [|reflexivity].
  apply best_is_open in found as [inside right].
  rewrite <- (proj2 (same other (or_intror inside)) right).
  destruct (ok one); [rewrite first_key by reflexivity|]; reflexivity.
Qed.

Section Same.
Context (n : nat) (key key' : job -> nat) (gets : supply).
Context (release work release' work' : job -> nat).
Context (H : nat).
Context (same : forall x past j, x <= H -> fst j < n ->
  open release work x past j = open release' work' x past j /\
  (open release work x past j = true -> key j = key' j)).

Lemma decide_same x past : x <= H ->
  decide n key release work x past = decide n key' release' work' x past.
Proof.
  intros early. apply best_same. intros [i k] [inside _]%in_prod_iff. apply in_seq in inside.
  destruct (same x past (i, k) early) as [alike keys]; [cbn; lia|].
  split; [exact alike|]. intros yes. now rewrite keys.
Qed.

Lemma history_same x : x <= S H ->
  history n key gets release work x = history n key' gets release' work' x.
Proof.
  induction x as [|x IH]; intros early; cbn [history]; [reflexivity|].
  now rewrite IH, decide_same by lia.
Qed.

Lemma scheduler_same x : x <= H ->
  scheduler n key gets release work x = scheduler n key' gets release' work' x.
Proof. intros early. unfold scheduler. now rewrite history_same, decide_same by lia. Qed.

End Same.

(* * One instant after the other *)

Section Flows.
Context (m : nat) (domains : nat -> domain) (before : place -> option place).
Context (least : place -> nat) (gets : nat -> supply) (given : nat -> run).
Context (shape : forall p, real m domains p -> 0 < period (member domains p)).
Context (behind : forall p q, real m domains p -> before p = Some q -> real m domains q).
Context (plan : planned m domains before least given).

Let real := real m domains.
Let program (s : nat) (release work : job -> nat) : run :=
  let jobs := {| arrival := arrival (given s); release := release; work := work;
                 runs := fun _ => None |} in
  {| arrival := arrival (given s); release := release; work := work;
     runs := scheduler (size (domains s)) (local_key (domains s) jobs) (gets s) release work |}.

(* Items have been passed on up to instant H. *)
Record built (H : nat) (inner : nat -> run) : Prop := {
  programs : forall s, inner s = program s (release (inner s)) (work (inner s));
  spreads : forall p k, real p ->
    let r := inner (fst p) in let j := (snd p, k) in
    arrival r j <= release r j <= arrival r j + (jitter (member domains p) + H);
  first_hops : forall p k, real p -> before p = None ->
    let r := inner (fst p) in let j := (snd p, k) in
    release r j = release (given (fst p)) j /\ work r j = work (given (fst p)) j;
  handed : forall p q k, real p -> before p = Some q ->
    let r := inner (fst p) in let j := (snd p, k) in
    0 < work r j -> release r j <= H /\ work r j = work (given (fst p)) j /\
      ends (inner (fst q)) (snd q, k) (release r j);
  handing : forall p q k x, real p -> before p = Some q -> x <= H ->
    let r := inner (fst p) in let j := (snd p, k) in
    ends (inner (fst q)) (snd q, k) x -> 0 < work (given (fst p)) j ->
    release r j = x /\ work r j = work (given (fst p)) j
}.

Definition longer (H : nat) (T : task) : task :=
  {| cost := cost T; period := period T; deadline := deadline T; jitter := jitter T + H |}.

Section Built.
Context (H : nat) (inner : nat -> run) (known : built H inner).

Lemma built_arrival s : arrival (inner s) = arrival (given s).
Proof. now rewrite (programs H inner known s). Qed.

Lemma work_given p k : real p -> 0 < work (inner (fst p)) (snd p, k) ->
  work (inner (fst p)) (snd p, k) = work (given (fst p)) (snd p, k).
Proof.
  intros its some. destruct (before p) as [q|] eqn:from.
  - now apply (handed H inner known p q).
  - now apply (first_hops H inner known p).
Qed.

Lemma built_jobs s : s < m ->
  jobs_of (size (domains s)) (fun i => longer H (members (domains s) i)) (inner s).
Proof.
  intros low i k inside. assert (real (s, i)) as its by now split.
  destruct (plan (s, i) k its) as (apart & costs & _). cbn [longer period cost jitter].
  split; [now rewrite built_arrival|]. split; [apply (spreads H inner known (s, i) k its)|].
  pose proof (work_given (s, i) k its) as same. unfold member in costs. cbn [fst snd] in *. lia.
Qed.

Lemma built_scheduled s : s < m ->
  scheduled (size (domains s)) (local_key (domains s) (inner s)) (gets s) (inner s).
Proof.
  intros low. apply (scheduler_schedules _ (fun i => longer H (members (domains s) i))).
  - intros i inside. apply (shape (s, i)). now split.
  - now apply built_jobs.
  - rewrite (programs H inner known s) at 1. cbn [program runs]. unfold local_key, due.
    reflexivity.
Qed.

Lemma built_passed : passed_on m domains before least inner.
Proof.
  intros p k its. destruct (plan p k its) as (apart & costs & law).
  pose proof (work_given p k its) as same. unfold comes.
  split; [now rewrite built_arrival|]. split; [lia|].
  destruct (before p) as [q|] eqn:from.
  - destruct law as [arrives goes_on]. rewrite !built_arrival. split; [exact arrives|]. intros some.
    destruct (handed H inner known p q k its from some) as (_ & _ & ended). split; [|exact ended].
    pose proof (behind p q its from) as its_too.
    destruct (ends_after _ _ _ _ _ _ (built_scheduled (fst q) (proj1 its_too)) ended)
      as [some_too _].
    rewrite (work_given q k its_too some_too). apply goes_on. lia.
  - destruct (first_hops H inner known p k its from) as [-> _]. now rewrite built_arrival.
Qed.

(* The next instant. *)
Definition ended (s : nat) (j : job) : bool :=
  is j (runs (inner s) H) && (work (inner s) j <=? service (inner s) j (S H)).

Lemma ended_is s j : ended s j = true <-> ends (inner s) j (S H).
Proof.
  unfold ended, ends. rewrite andb_true_iff, Nat.leb_le. split.
  - intros [now_it done]. exists H. split; [reflexivity|]. now split; [apply is_only|].
  - intros (y & [= <-] & who & done). rewrite who. split; [apply is_itself|exact done].
Qed.

Definition now_handed (s : nat) (j : job) : bool :=
  match before (s, fst j) with
  | Some q => ended (fst q) (snd q, snd j) && (0 <? work (given s) j)
  | None => false
  end.

Definition onward (s : nat) : run := program s
  (fun j => if now_handed s j then S H else release (inner s) j)
  (fun j => if now_handed s j then work (given s) j else work (inner s) j).

Lemma now_handed_is p k : now_handed (fst p) (snd p, k) = true <->
  exists q, before p = Some q /\ ends (inner (fst q)) (snd q, k) (S H) /\
    0 < work (given (fst p)) (snd p, k).
Proof.
  unfold now_handed. cbn [fst snd]. replace (fst p, snd p) with p by now destruct p.
  destruct (before p) as [q|].
  - rewrite andb_true_iff, ended_is, Nat.ltb_lt.
    split; [intros [? ?]; now exists q|intros (o & [= <-] & both); exact both].
  - split; [discriminate|intros (q & none & _); discriminate].
Qed.

(* Who comes now has had no work before. *)
Lemma new_here p k : real p -> now_handed (fst p) (snd p, k) = true ->
  work (inner (fst p)) (snd p, k) = 0.
Proof.
  intros its (q & from & now_it & _)%now_handed_is.
  destruct (Nat.eq_dec (work (inner (fst p)) (snd p, k)) 0) as [none|some]; [exact none|exfalso].
  destruct (handed H inner known p q k its from) as (early & _ & once); [lia|].
  pose proof (built_scheduled (fst q) (proj1 (behind p q its from))) as legal.
  destruct once as (y & same & _ & done).
  assert (in_order := ends_no_later _ _ _ _ _ _ _ legal now_it done). lia.
Qed.

Lemma onward_runs s x : s < m -> x <= H -> runs (onward s) x = runs (inner s) x.
Proof.
  intros low early. rewrite (programs H inner known s). cbn [onward program runs].
  symmetry. apply (scheduler_same _ _ _ _ _ _ _ _ H); [|exact early].
  intros y past [i k] sooner inside. cbn [fst] in inside.
  unfold local_key, due. cbn [release]. unfold open.
  destruct (now_handed s (i, k)) eqn:new; [|easy].
  pose proof (new_here (s, i) k (conj low inside) new) as none. cbn [fst snd] in none.
  rewrite none. replace (S H <=? y) with false by (symmetry; apply Nat.leb_gt; lia).
  rewrite (proj2 (Nat.ltb_ge _ 0)) by lia. now rewrite andb_false_r.
Qed.

Lemma onward_service s j x : s < m -> x <= S H -> service (onward s) j x = service (inner s) j x.
Proof.
  intros low. unfold service. induction x as [|x IH]; intros early; [reflexivity|].
  cbn [amount plus]. now rewrite IH, onward_runs by lia.
Qed.

Lemma onward_ends p k x : real p -> x <= S H ->
  ends (onward (fst p)) (snd p, k) x <-> ends (inner (fst p)) (snd p, k) x.
Proof.
  intros its early. unfold ends.
  assert (alike : forall y, x = S y -> runs (inner (fst p)) y = Some (snd p, k) ->
    work (onward (fst p)) (snd p, k) = work (inner (fst p)) (snd p, k)).
  { intros y -> who. cbn [onward program work].
    destruct (now_handed (fst p) (snd p, k)) eqn:new; [|reflexivity].
    pose proof (new_here p k its new) as none.
    destruct (proj1 (built_scheduled (fst p) (proj1 its)) y _ who) as (_ & _ & _ & left_over).
    destruct left_over. unfold complete. lia. }
  split; intros (y & when & who & done); exists y; (split; [exact when|]);
    rewrite onward_runs in * by (apply its || lia); (split; [exact who|]);
    unfold complete in *; rewrite onward_service in * by (apply its || lia);
    now rewrite (alike y when who) in *.
Qed.

Lemma onward_built : built (S H) onward.
Proof.
  split.
  - reflexivity.
  - intros p k its r j. pose proof (spreads H inner known p k its) as old.
    cbn beta zeta in old.
    unfold r, j. cbn [onward program arrival release]. rewrite built_arrival in old.
    destruct (now_handed (fst p) (snd p, k)) eqn:new; [|lia]. split; [|lia].
    apply now_handed_is in new as (q & from & new & some_here).
    pose proof (behind p q its from) as its_too.
    destruct (ends_after _ _ _ _ _ _ (built_scheduled (fst q) (proj1 its_too)) new)
      as (some & _ & since).
    pose proof (spreads H inner known q k its_too) as from_q. cbn beta zeta in from_q.
    rewrite built_arrival in from_q.
    destruct (plan p k its) as (_ & _ & law). rewrite from in law.
    destruct law as [arrives goes_on]. destruct (goes_on some_here) as [works _].
    pose proof (work_given q k its_too some). lia.
  - intros p k its from. cbn [onward program release work].
    destruct (now_handed (fst p) (snd p, k)) eqn:new.
    + apply now_handed_is in new as (q & from_q & _). congruence.
    + now apply (first_hops H inner known p k).
  - intros p q k its from. cbn [onward program release work].
    pose proof (behind p q its from) as its_too.
    destruct (now_handed (fst p) (snd p, k)) eqn:new.
    + apply now_handed_is in new as (o & from_o & new & _). intros _.
      assert (o = q) as -> by congruence. split; [lia|]. split; [reflexivity|].
      now apply onward_ends.
    + intros some. destruct (handed H inner known p q k its from some) as (early & same & old).
      split; [lia|]. split; [exact same|]. apply onward_ends; [exact its_too|lia|exact old].
  - intros p q k x its from early. cbn [onward program release work]. intros ended_at some.
    pose proof (behind p q its from) as its_too. apply onward_ends in ended_at; [|assumption..].
    destruct (Nat.eq_dec x (S H)) as [->|sooner].
    + replace (now_handed (fst p) (snd p, k)) with true; [easy|]. symmetry. apply now_handed_is.
      now exists q.
    + destruct (handing H inner known p q k x its from) as [when works]; [lia|assumption..|].
      destruct (now_handed (fst p) (snd p, k)) eqn:new; [|easy].
      pose proof (new_here p k its new). lia.
Qed.

End Built.

Lemma all_built H : exists inner, built H inner.
Proof.
  induction H as [|H (inner & known)]; [|now exists (onward H inner); apply onward_built].
  pose (first s (j : job) := match before (s, fst j) with None => true | Some _ => false end).
  exists (fun s => program s
    (fun j => if first s j then release (given s) j else arrival (given s) j)
    (fun j => if first s j then work (given s) j else 0)).
  assert (first_is : forall p k, first (fst p) (snd p, k) = true <-> before p = None).
  { intros [s i] k. unfold first. cbn [fst snd]. now destruct (before (s, i)). }
  split; cbn [program arrival release work].
  - reflexivity.
  - intros p k its. cbn beta zeta. destruct (first (fst p) (snd p, k)) eqn:yes; [|lia].
    apply first_is in yes. destruct (plan p k its) as (_ & _ & law). rewrite yes in law. lia.
  - intros p k its from. cbn beta zeta. apply (first_is p k) in from. now rewrite from.
  - intros p q k its from. cbn beta zeta. destruct (first (fst p) (snd p, k)) eqn:yes; [|lia].
    apply first_is in yes. congruence.
  - intros p q k x its from none. cbn beta zeta. intros (y & when & _). lia.
Qed.

End Flows.

(* Whatever is given, the releases of sources and the work of all items, there is a run in which
   they are so, and each item that ends at a hop by the horizon and has work at the next one is
   released there then. *)
Theorem flow_run_exists m domains before least gets given H :
  (forall p, real m domains p -> 0 < period (member domains p)) ->
  (forall p q, real m domains p -> before p = Some q -> real m domains q) ->
  planned m domains before least given ->
  exists inner, passed_on m domains before least inner /\
    (forall s, s < m ->
       scheduled (size (domains s)) (local_key (domains s) (inner s)) (gets s) (inner s)) /\
    forall p k, real m domains p ->
      let r := inner (fst p) in
      let its := given (fst p) in
      let j := (snd p, k) in
      match before p with
      | None => release r j = release its j /\ work r j = work its j
      | Some q => forall x, x <= H -> ends (inner (fst q)) (snd q, k) x -> 0 < work its j ->
          release r j = x /\ work r j = work its j
      end.
Proof.
  intros shape behind plan.
  destruct (all_built m domains before least gets given shape behind plan H) as (inner & known).
  exists inner.
  split; [now apply (built_passed m domains before least gets given shape behind plan H)|].
  split; [intros; now apply (built_scheduled m domains before least gets given shape plan H)|].
  intros p k its. cbn beta zeta. destruct (before p) as [q|] eqn:from.
  - intros x. now apply (handing _ _ _ _ _ H inner known p q k x its from).
  - now apply (first_hops _ _ _ _ _ H inner known p k its from).
Qed.
