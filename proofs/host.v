(* SPDX-License-Identifier: BSD-2-Clause *)
(* Periodic and polling servers on one pcpu keep their laws, and tasks on servers that keep theirs
   are in time.

   To the pcpu a server is a task with a job in every period. What is charged to it as the payer is
   the job's service; so the tests of tasks.v hold for servers, on a processor that is always there.
   Three things differ from tasks. A budget that is not used by the end of its period is lost, where
   a job would be late and go on: so the job of every other server works for just what that one pays
   in this period. A polling server that has no work stops: until then, whoever pays might have paid
   at any instant since its period began, as a job might have run; from then on nothing is promised
   to it, so the proof gives it all of the time, in which it would be late all the same. And under
   lend a server pays on the time of others as well, which only makes it done sooner. Deferrable
   servers, which may come late in a period, are in deferrable.v. Nothing is asked of servers that
   are not judged: they may lose budgets, and their domains may have work whenever they like. *)

From Coq Require Import Arith Bool Lia.
From Hyperperiod Require Import model supply tasks harmonic.

(* * Counting *)

Lemma amount_grows f a t u : t <= u -> amount f a t <= amount f a u.
Proof. intros more. replace u with (t + (u - t)) by lia. rewrite amount_split. lia. Qed.

Lemma amount_has f a x : a <= x -> f x = true -> amount f a (S (x - a)) = S (amount f a (x - a)).
Proof. intros later yes. cbn [amount]. replace (a + (x - a)) with x by lia. rewrite yes. lia. Qed.

(* What holds only in [a, a + t), and where g does, holds there no more often than g. *)
Lemma amount_in_part f g a t x :
  (forall y, y < x -> f y = true -> a <= y < a + t /\ g y = true) ->
  amount f 0 x <= amount g a t.
Proof.
  intros only. apply Nat.le_trans with (amount g a (min t (x - a))); [|apply amount_grows; lia].
  induction x as [|x IH]; [cbn; lia|]. cbn [amount plus].
  assert (amount f 0 x <= amount g a (min t (x - a))) by (apply IH; intros; apply only; auto).
  destruct (f x) eqn:yes.
  - destruct (only x (Nat.lt_succ_diag_r x) yes) as [there too].
    replace (min t (S x - a)) with (S (x - a)) by lia.
    replace (min t (x - a)) with (x - a) in * by lia.
    rewrite (amount_has g a x) by (lia || assumption). lia.
  - pose proof (amount_grows g a (min t (x - a)) (min t (S x - a))). lia.
Qed.

Lemma amount_more f t u : amount f 0 t < amount f 0 u -> exists x, t <= x < u /\ f x = true.
Proof.
  induction u as [|u IH]; cbn [amount plus]; [lia|]. intros more.
  destruct (f u) eqn:yes.
  - destruct (Nat.le_gt_cases t u) as [|beyond]; [exists u; split; [lia|assumption]|].
    pose proof (amount_grows f 0 (S u) t) as grows. cbn [amount plus] in grows.
    rewrite yes in grows. lia.
  - destruct IH as (x & between & found); [lia|]. exists x. split; [lia|assumption].
Qed.

Lemma amount_weak f g a t : (forall x, f x = true -> g x = true) -> amount f a t <= amount g a t.
Proof.
  intros weak. induction t as [|t IH]; cbn [amount]; [lia|].
  destruct (f (a + t)) eqn:yes; [rewrite (weak _ yes)|]; lia.
Qed.

(* * One pcpu *)

Lemma also_unspent by_slack servers h : sharing by_slack servers h ->
  forall x s, also h x = Some s -> unspent servers h s x.
Proof. intros shared x s second. now apply (shared x). Qed.

Section Pcpu.
Context (m : nat) (servers : nat -> server) (by_order : order).
Context (may : nat -> nat -> Prop) (h : host).
Context (legal : first_pays m servers by_order may h).
Context (budgeted : forall x s, may s x -> unspent servers h s x).
Context (lent : forall x s, also h x = Some s -> unspent servers h s x).

Lemma here_only s who : here s who = true -> who = Some s.
Proof. destruct who as [other|]; cbn; [|discriminate]. now intros ->%Nat.eqb_eq. Qed.

Lemma here_itself s : here s (Some s) = true.
Proof. cbn. apply Nat.eqb_refl. Qed.

Lemma charged_unspent s x : charged h s x = true -> unspent servers h s x.
Proof.
  intros [payer|second]%orb_prop; apply here_only in payer || apply here_only in second.
  - now apply budgeted, (proj1 (legal x)).
  - now apply lent.
Qed.

Lemma same_period P k x : 0 < P -> k * P <= x < k * P + P -> x / P = k /\ x mod P = x - k * P.
Proof.
  intros some there. split; symmetry.
  - apply (Nat.div_unique _ _ _ (x - k * P)); lia.
  - apply (Nat.mod_unique _ _ k); lia.
Qed.

Lemma in_period P x : 0 < P -> x / P * P <= x < x / P * P + P.
Proof.
  intros some. pose proof (Nat.div_mod x P). pose proof (Nat.mod_upper_bound x P). nia.
Qed.

Lemma unspent_in s k x : 0 < every (servers s) ->
  k * every (servers s) <= x < k * every (servers s) + every (servers s) ->
  unspent servers h s x <->
  amount (charged h s) (k * every (servers s)) (x - k * every (servers s)) < budget (servers s).
Proof.
  intros some there. unfold unspent.
  destruct (same_period _ k x some there) as [-> ->]. reflexivity.
Qed.

(* No server is charged more than its budget in a period. *)
Lemma charged_at_most s k u : 0 < every (servers s) -> u <= every (servers s) ->
  amount (charged h s) (k * every (servers s)) u <= budget (servers s).
Proof.
  intros some. induction u as [|u IH]; intros short; cbn [amount]; [lia|].
  destruct (charged h s (k * every (servers s) + u)) eqn:yes; [|lia].
  apply charged_unspent, (unspent_in s k) in yes; [|lia|lia].
  replace (k * every (servers s) + u - k * every (servers s)) with u in yes by lia. lia.
Qed.

End Pcpu.

(* Of two instants in one period, who may pay at the later one may at the earlier one; of deferrable
   servers that is not so. *)
Lemma may_pay_earlier by_rule servers h s k x y : by_rule <> Deferrable ->
  0 < every (servers s) -> k * every (servers s) <= x -> x <= y ->
  y < k * every (servers s) + every (servers s) ->
  may_pay by_rule servers h s y -> may_pay by_rule servers h s x.
Proof.
  intros not_deferrable some begun later ends [left working]. split.
  - apply (unspent_in servers h s k) in left; [|assumption|lia].
    apply (unspent_in servers h s k); [assumption|lia|].
    pose proof (amount_grows (charged h s) (k * every (servers s)) (x - k * every (servers s))
      (y - k * every (servers s))). lia.
  - destruct by_rule; [exact I|contradiction|].
    destruct (same_period (every (servers s)) k x) as [-> ->]; [assumption|lia|].
    destruct (same_period (every (servers s)) k y) as [is_k from] in working; [assumption|lia|].
    rewrite is_k, from in working. intros z there. apply working. lia.
Qed.

Section Late.
Context (m : nat) (servers : nat -> server) (by_order : order) (by_rule : rule) (h : host).
Context (periods : forall s, s < m -> 0 < every (servers s)).
Context (not_deferrable : by_rule <> Deferrable).
Context (legal : paying by_rule m servers by_order h).
Context (lent : forall x s, also h x = Some s -> unspent servers h s x).

Let unspent_in := unspent_in servers h.
Let charged_unspent := charged_unspent m servers by_order _ h legal (fun x s => @proj1 _ _) lent.
Let charged_at_most := charged_at_most m servers by_order _ h legal (fun x s => @proj1 _ _) lent.

(* In the first u of its period k, in which there is work if that matters, server s has so little
   that it would have less than its budget even with all the time from there to its `within`. *)
Context (s k u : nat) (inside : s < m) (explicit : within (servers s) <= every (servers s)).
Let start := k * every (servers s).
Let ends := start + within (servers s).
Context (early : u <= within (servers s)).
Context (working : by_rule = Polling -> throughout (wants h s) start u).
Context (short : amount (charged h s) start u + (within (servers s) - u) < budget (servers s)).

(* Payments as runs of jobs, and from there to `ends` the job that is late. *)
Let payer (x : nat) : option job :=
  if x <? start + u
  then match pays h x with Some o => Some (o, x / every (servers o)) | None => None end
  else if x <? ends then Some (s, k) else None.

Let this (j : job) : bool := is (s, k) (Some j).

Let late : run :=
  {| arrival := fun j => snd j * every (servers (fst j));
     release := fun j => snd j * every (servers (fst j));
     work := fun j => amount (fun y => is j (payer y)) 0 ends + if this j then 1 else 0;
     runs := payer |}.

Lemma payer_is o l x : x < start + u -> is (o, l) (payer x) = true ->
  may_pay by_rule servers h o x /\ o < m /\
  l * every (servers o) <= x < l * every (servers o) + every (servers o) /\
  charged h o x = true.
Proof.
  intros before one. apply is_only in one. unfold payer in one.
  apply Nat.ltb_lt in before. rewrite before in one.
  destruct (pays h x) as [other|] eqn:who; [|discriminate]. injection one as -> <-.
  destruct (proj1 (legal x) o who) as [real may].
  split; [assumption|]. split; [assumption|]. split.
  - apply in_period. now apply periods.
  - unfold charged. now rewrite who, here_itself.
Qed.

Lemma payer_after j x : start + u <= x -> is j (payer x) = true -> j = (s, k) /\ x < ends.
Proof.
  intros after one. apply is_only in one. unfold payer in one.
  destruct (Nat.ltb_spec x (start + u)); [lia|].
  destruct (Nat.ltb_spec x ends); [|discriminate]. now injection one as <-.
Qed.

Lemma late_jobs : jobs_of m (fun i => as_task (servers i)) late.
Proof.
  intros o l real. cbn [arrival release work late fst snd as_task period jitter cost].
  split; [lia|]. split; [lia|].
  replace ends with (start + u + (within (servers s) - u)) by (unfold ends; lia).
  rewrite amount_split, Nat.add_0_l.
  pose proof (amount_at_most (fun y => is (o, l) (payer y)) (start + u) (within (servers s) - u)).
  destruct (this (o, l)) eqn:same.
  - apply is_only in same. injection same as -> ->.
    assert (amount (fun y => is (s, k) (payer y)) 0 (start + u) <= amount (charged h s) start u);
      [|lia].
    apply amount_in_part. intros y before one. apply payer_is in one; [|assumption].
    fold start in one. split; [lia|tauto].
  - assert (amount (fun y => is (o, l) (payer y)) 0 (start + u)
            <= amount (charged h o) (l * every (servers o)) (every (servers o))).
    { apply amount_in_part. intros y before one. now apply payer_is in one. }
    rewrite (amount_of_none (fun y => is (o, l) (payer y)) (start + u)).
    + pose proof (charged_at_most o l (every (servers o)) (periods o real) (le_n _)). lia.
    + intros y there. apply not_true_is_false. intros one.
      apply payer_after in one as [is_it _]; [|lia].
      rewrite is_it in same. unfold this in same. rewrite is_itself in same. discriminate.
Qed.

(* A job that is pending before the end may pay, or it is the one that is late. *)
Lemma pending_may o l x : x < ends -> pending m late (o, l) x ->
  l * every (servers o) <= x < l * every (servers o) + every (servers o) /\
  (start + u <= x -> (o, l) = (s, k)) /\ (x < start + u -> may_pay by_rule servers h o x).
Proof.
  intros before (real & released & open). cbn [fst] in real. cbn [release late fst snd] in released.
  unfold complete, service in open. cbn [work runs late] in open.
  destruct (this (o, l)) eqn:same.
  - apply is_only in same. injection same as -> ->. fold start in released |- *.
    assert (start <= x < start + every (servers s)) as there by (unfold ends in before; lia).
    split; [assumption|]. split; [reflexivity|]. intros sooner. split.
    + apply (unspent_in s k); [now apply periods|assumption|]. fold start.
      pose proof (amount_grows (charged h s) start (x - start) u). lia.
    + destruct by_rule; [exact I|contradiction|].
      destruct (same_period _ k x (periods s inside) there) as [-> ->].
      intros z between. apply working; [reflexivity|]. fold start in between |- *. lia.
  - destruct (amount_more (fun y => is (o, l) (payer y)) x ends) as (y & between & one); [lia|].
    destruct (Nat.le_gt_cases (start + u) y) as [after|sooner].
    + apply payer_after in one as [is_it _]; [|assumption].
      rewrite is_it in same. unfold this in same. rewrite is_itself in same. discriminate.
    + apply payer_is in one as (may & _ & there & _); [|assumption].
      split; [lia|]. split; [lia|]. intros _.
      apply (may_pay_earlier by_rule servers h o l x y); lia || auto.
Qed.

Lemma late_scheduled key :
  (forall o x, o < m -> key (o, x / every (servers o)) = place by_order servers o x) ->
  scheduled m key (fun x => x <? ends) late.
Proof.
  intros keys. split.
  - intros x [o l] who. cbn [runs late] in who.
    assert (one : is (o, l) (payer x) = true) by (rewrite who; apply is_itself).
    assert (x < ends /\ o < m /\ l * every (servers o) <= x) as (before & real & begun).
    { destruct (Nat.le_gt_cases (start + u) x) as [after|sooner].
      - apply payer_after in one as [[= -> ->] before]; [|assumption].
        fold start. repeat split; lia || assumption.
      - apply payer_is in one as (_ & real & there & _); [|assumption].
        unfold ends. repeat split; lia || assumption. }
    split; [now apply Nat.ltb_lt|]. split; [assumption|].
    cbn [release late fst snd]. split; [assumption|].
    unfold complete, service. cbn [work runs late].
    pose proof (amount_grows (fun y => is (o, l) (payer y)) 0 (S x) ends before) as grows.
    cbn [amount plus] in grows. rewrite one in grows. lia.
  - intros x [o l] before%Nat.ltb_lt waits.
    destruct (pending_may o l x before waits) as (there & only & may).
    destruct waits as (real & _). cbn [fst] in real. cbn [runs late]. unfold payer.
    destruct (Nat.ltb_spec x (start + u)) as [sooner|after].
    + destruct (proj2 (legal x) o real (may sooner)) as (other & who & first_of_all).
      rewrite who.
      replace l with (x / every (servers o))
        by (apply same_period; [now apply periods|assumption]).
      exists (other, x / every (servers other)). split; [reflexivity|]. split.
      * rewrite keys by apply (proj1 (legal x) other who). now rewrite keys.
      * cbn [fst snd]. intros -> _. apply le_n.
    + apply Nat.ltb_lt in before. rewrite before, (only after). exists (s, k).
      split; [reflexivity|]. split; [apply le_n|]. intros _ _. apply le_n.
Qed.

Lemma late_incomplete : ~ complete late (s, k) (due (fun i => as_task (servers i)) late (s, k)).
Proof.
  unfold complete, service, due. cbn [work runs release late fst snd as_task deadline].
  fold start. fold ends. unfold this. rewrite is_itself. lia.
Qed.

Lemma all_there w t : w + t <= ends -> amount (fun x => x <? ends) w t = t.
Proof. intros before. apply amount_of_all. intros x there. apply Nat.ltb_lt. lia. Qed.

Lemma not_by_rank t : by_order = ByRank -> 0 < t <= within (servers s) ->
  rbf m (fun i => as_task (servers i)) (fun i => rank (servers i)) s t <= t -> False.
Proof.
  intros ranked window enough.
  apply (late_fixed_priority m (fun i => as_task (servers i)) (fun i => rank (servers i))
    (fun x => x <? ends) late s k periods late_jobs); [|assumption|apply late_incomplete|].
  - apply late_scheduled. intros o x _. now rewrite ranked.
  - intros (w & begun & _ & _ & _ & less).
    destruct (less (fun t => t)) as (v & before & fewer).
    { apply one_window. now exists t. }
    unfold due in before. cbn [release late fst snd as_task deadline] in before.
    fold start in before.
    rewrite all_there in fewer; unfold ends; lia.
Qed.

Lemma not_by_deadline : by_order = ByDeadline ->
  (forall o, o < m -> within (servers o) = every (servers o)) ->
  (forall t, dbf m (fun i => as_task (servers i)) t <= t) -> False.
Proof.
  intros by_deadline implicit enough.
  apply (late_edf m (fun i => as_task (servers i)) (fun x => x <? ends) late s k periods late_jobs);
    [|assumption|apply late_incomplete|].
  - apply late_scheduled. intros o x real. rewrite by_deadline.
    unfold due. cbn [release late fst snd as_task deadline place].
    rewrite implicit by assumption. lia.
  - unfold due. cbn [release late fst snd as_task deadline]. fold start. fold ends.
    intros (w & begun & _ & _ & _ & less). specialize (enough (ends - w)).
    rewrite all_there in less; unfold ends in *; lia.
Qed.

End Late.

(* * Servers get their budgets *)

(* A law is kept if the budget is there whenever all the time after the work counts as given. *)
Lemma keeps_or_late (P B D : nat) (by_rule : rule) (wants : nat -> Prop) (gets : supply) :
  B <= P -> D <= P -> by_rule <> Deferrable ->
  (forall k u, u <= D -> (by_rule = Polling -> throughout wants (k * P) u) ->
     B <= amount gets (k * P) u + (D - u)) ->
  keeps P B D by_rule wants gets.
Proof.
  intros budget explicit not_deferrable known. destruct by_rule; [|contradiction|].
  - intros k. specialize (known k D (le_n _)). rewrite Nat.sub_diag, Nat.add_0_r in known.
    now apply known.
  - intros k t short all. specialize (known k (min t D) ltac:(lia)).
    pose proof (amount_grows gets (k * P) (min t D) t).
    assert (B <= amount gets (k * P) (min t D) + (D - min t D)); [|lia].
    apply known. intros _ x there. apply all. lia.
Qed.

(* Under fixed priority: each server for which a window of its response time is known, whatever
   becomes of the others. *)
Theorem servers_fixed_priority m servers by_rule by_slack h s :
  (forall i, i < m -> 0 < every (servers i)) -> by_rule <> Deferrable ->
  paying by_rule m servers ByRank h -> sharing by_slack servers h ->
  s < m -> budget (servers s) <= every (servers s) -> within (servers s) <= every (servers s) ->
  (exists t, 0 < t <= within (servers s) /\
     rbf m (fun i => as_task (servers i)) (fun i => rank (servers i)) s t <= t) ->
  keeps (every (servers s)) (budget (servers s)) (within (servers s)) by_rule
    (wants h s) (charged h s).
Proof.
  intros periods not_deferrable legal shared inside funded explicit (t & window & enough).
  apply keeps_or_late; try assumption. intros k u early working.
  apply Nat.nlt_ge. intros short.
  apply (not_by_rank m servers ByRank by_rule h periods not_deferrable legal
    (also_unspent by_slack servers h shared) s k u inside explicit early working short t); auto.
Qed.

(* Under EDF: all, if they do not ask for more than there is. *)
Theorem servers_edf m servers by_rule by_slack h s :
  (forall i, i < m -> 0 < every (servers i) /\ within (servers i) = every (servers i)) ->
  by_rule <> Deferrable ->
  paying by_rule m servers ByDeadline h -> sharing by_slack servers h -> s < m ->
  budget (servers s) <= every (servers s) ->
  bandwidth_at_most_1 m servers ->
  keeps (every (servers s)) (budget (servers s)) (within (servers s)) by_rule
    (wants h s) (charged h s).
Proof.
  intros shape not_deferrable legal shared inside funded (M & some & multiple & fits).
  destruct (shape s inside) as [_ implicit].
  apply keeps_or_late; [assumption|lia|assumption|]. intros k u early working.
  apply Nat.nlt_ge. intros short.
  apply (not_by_deadline m servers ByDeadline by_rule h (fun i low => proj1 (shape i low))
    not_deferrable legal (also_unspent by_slack servers h shared) s k u inside);
    [lia|assumption..|reflexivity|apply shape|].
  clear short. intros t. apply (Nat.mul_le_mono_pos_r _ _ M some).
  apply Nat.le_trans with (sum m (fun i => budget (servers i) * (M / every (servers i))) * t).
  2: rewrite (Nat.mul_comm t); now apply Nat.mul_le_mono_r.
  unfold dbf. cbn [as_task deadline jitter period cost]. rewrite <- !sum_times.
  apply sum_weak. intros i low. destruct (shape i low) as [positive ->].
  destruct (multiple i low) as (q & ->).
  rewrite Nat.div_mul by lia.
  destruct (Nat.leb_spec (every (servers i)) t) as [fits_in|]; [|lia].
  replace ((t - every (servers i) + 0) / every (servers i) + 1) with (t / every (servers i)).
  2: { replace t with (t - every (servers i) + 0 + 1 * every (servers i)) at 1 by lia.
       now rewrite Nat.div_add by lia. }
  pose proof (Nat.mul_div_le t (every (servers i))). nia.
Qed.

(* * Tasks on a pcpu *)

(* What a domain may run in: all that its server pays for, and what else it has. *)
Definition time_of (h : host) (s x : nat) : bool := charged h s x || here s (has h x).

Lemma time_scheduled by_slack servers h s d r : sharing by_slack servers h -> hosted h s d r ->
  scheduled (size d) (local_key d r) (time_of h s) r.
Proof.
  intros shared (working & legal). split.
  - intros x j who. destruct (proj1 legal x j who) as [got waits]. unfold time_of.
    rewrite got. now rewrite orb_true_r.
  - intros x j there waits. apply (proj2 legal x j); [|assumption].
    assert (wants h s x) by (apply working; now exists j).
    unfold time_of, charged in there.
    destruct (shared x) as (_ & own & _ & second).
    destruct (here s (pays h x)) eqn:payer;
      [apply here_only in payer; rewrite (own s payer) by assumption; apply here_itself|].
    destruct (here s (also h x)) eqn:beside; [|assumption].
    apply here_only in beside. destruct (second s beside) as (_ & -> & _). apply here_itself.
Qed.

(* More may be given, and less is asked of where there is less work. *)
Lemma keeps_weak P B D by_rule (wants busy : nat -> Prop) gets more :
  (forall x, busy x -> wants x) -> (forall x, gets x = true -> more x = true) ->
  keeps P B D by_rule wants gets -> keeps P B D by_rule busy more.
Proof.
  intros working weak. assert (grows : forall a t, amount gets a t <= amount more a t)
    by (intros; now apply amount_weak).
  destruct by_rule; cbn [keeps].
  - intros law k. apply Nat.le_trans with (1 := law k), grows.
  - intros law k a t begins ends all. specialize (grows a t).
    assert (t <= amount gets a t + (P - B)); [|lia].
    apply (law k); [assumption..|]. intros x there. now apply working, all.
  - intros law k t short all. specialize (grows (k * P) t).
    assert (t <= amount gets (k * P) t + (P - B)); [|lia].
    apply law; [assumption|]. intros x there. now apply working, all.
Qed.

Lemma time_keeps P B D by_rule h s d r : hosted h s d r ->
  keeps P B D by_rule (wants h s) (charged h s) ->
  keeps P B D by_rule (busy (size d) r) (time_of h s).
Proof.
  intros (working & _). apply keeps_weak; [intros x; apply working|].
  intros x yes. unfold time_of. now rewrite yes.
Qed.

(* Tasks of a domain whose server keeps its law, with the blackout of its rule, and with that of the
   harmonic form. *)
Theorem domain_in_time by_slack servers P B D by_rule h s d r :
  sharing by_slack servers h -> inside h s d r ->
  0 < B <= D -> D <= P -> keeps P B D by_rule (wants h s) (charged h s) ->
  (forall i, i < size d -> 0 < period (members d i)) ->
  fits d (sbf P B (blackout P B D by_rule)) \/
    (by_rule <> Polling /\ constrained (size d) (members d) /\ in_phase (size d) (members d) r /\
     divides (size d) (members d) P /\ fits d (sbf P B (harmonic P B))) ->
  in_time (size d) (members d) r.
Proof.
  intros shared within_it budget explicit promised shape test.
  destruct within_it as [jobs within_it].
  pose proof (time_scheduled by_slack servers h s d r shared within_it) as legal.
  unfold fits in test. unfold local_key in legal.
  apply (time_keeps _ _ _ _ h s d r within_it) in promised as supplied. clear promised.
  destruct test as [test|(not_polling & tight & phase & dividing & test)].
  - destruct (scheduler d) as [ranks|].
    + now apply (fixed_priority_on_server P B D by_rule _ _ ranks (time_of h s)).
    + now apply (edf_on_server P B D by_rule _ _ (time_of h s)).
  - assert (0 < B <= P) by lia.
    assert (law : deferrable P B (busy (size d) r) (time_of h s)).
    { destruct by_rule; [|exact supplied|contradiction].
      apply periodic_is_deferrable; [assumption|]. intros k.
      apply Nat.le_trans with (1 := supplied k). now apply amount_grows. }
    destruct (scheduler d) as [ranks|].
    + now apply (fixed_priority_harmonic P B _ _ ranks (time_of h s)).
    + now apply (edf_harmonic P B _ _ (time_of h s)).
Qed.
