(* SPDX-License-Identifier: BSD-2-Clause *)
(* What the checker accepts is in time in every run.

   First the checker's numbers are those of model.v. Then its two ways of deciding EDF are right,
   then it is taken apart, from the whole answer to the conditions of the theorems in host.v,
   deferrable.v, cbs_supply.v and flow_bounds.v. *)

From Coq Require Import Arith Bool NArith String List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks harmonic host deferrable cbs cbs_supply flows
  flow_bounds system check.

Local Open Scope N_scope.

(* * The numbers are those of model.v *)

Lemma total_is {A : Type} (f : A -> N) (l : list A) (none : A) :
  N.to_nat (total f l) = sum (length l) (fun i => N.to_nat (f (nth i l none))).
Proof.
  assert (shift : forall n g, sum (S n) g = (g 0 + sum n (fun i => g (S i)))%nat).
  { intros n g. induction n as [|n IH]; [cbn; lia|]. cbn [sum] in *. rewrite IH. lia. }
  induction l as [|one rest IH]; [reflexivity|].
  cbn [total length]. rewrite shift, N2Nat.inj_add, IH. reflexivity.
Qed.

Lemma leb_is a b : (N.to_nat a <=? N.to_nat b)%nat = (a <=? b).
Proof.
  destruct (N.leb_spec a b); [apply Nat.leb_le|apply Nat.leb_gt]; lia.
Qed.

Lemma up_is a b : N.to_nat (up a b) = ceiling (N.to_nat a) (N.to_nat b).
Proof. unfold up, ceiling. rewrite N2Nat.inj_div, N2Nat.inj_sub, N2Nat.inj_add. reflexivity. Qed.

Lemma gcd_is a b : N.to_nat (N.gcd a b) = Nat.gcd (N.to_nat a) (N.to_nat b).
Proof.
  assert (divides : forall a b, N.divide a b -> Nat.divide (N.to_nat a) (N.to_nat b))
    by (intros x y [q ->]; exists (N.to_nat q); apply N2Nat.inj_mul).
  apply Nat.divide_antisym.
  { apply Nat.gcd_greatest; apply divides; [apply N.gcd_divide_l|apply N.gcd_divide_r]. }
  rewrite <- (Nat2N.id (Nat.gcd _ _)). apply divides, N.gcd_greatest.
  - destruct (Nat.gcd_divide_l (N.to_nat a) (N.to_nat b)) as [u one]. exists (N.of_nat u). lia.
  - destruct (Nat.gcd_divide_r (N.to_nat a) (N.to_nat b)) as [u one]. exists (N.of_nat u). lia.
Qed.

Lemma request_is rows i t :
  N.to_nat (request rows (fst (nth i rows (0, no_row))) t) =
  rbf (length rows) (nth_task rows) (nth_rank rows) i (N.to_nat t).
Proof.
  unfold request, rbf. rewrite (total_is _ rows (0, no_row)). apply sum_same. intros h _.
  unfold nth_rank, nth_task. destruct (nth h rows (0, no_row)) as [k one]. cbn [fst snd].
  rewrite leb_is. destruct (k <=? _); [|reflexivity].
  rewrite N2Nat.inj_mul, up_is, N2Nat.inj_add. reflexivity.
Qed.

Lemma sum_but_one n f g i : (i < n)%nat -> (forall h, h <> i -> f h = g h) ->
  (sum n f + g i = sum n g + f i)%nat.
Proof.
  induction n as [|n IH]; intros inside same; [lia|]. cbn [sum].
  destruct (Nat.eq_dec i n) as [->|other].
  - rewrite (sum_same n f g) by (intros; apply same; lia). lia.
  - rewrite (same n) by congruence. specialize (IH ltac:(lia) same). lia.
Qed.

Lemma job_request_is rows i q t : (i < length rows)%nat ->
  N.to_nat (job_request rows (nth i rows (0, no_row)) q t) =
  job_rbf (length rows) (nth_task rows) (nth_rank rows) i (N.to_nat q) (N.to_nat t).
Proof.
  intros inside. unfold job_request.
  rewrite N2Nat.inj_sub, N2Nat.inj_add, !N2Nat.inj_mul, up_is, N2Nat.inj_add, request_is.
  unfold rbf, job_rbf.
  pose proof (sum_but_one (length rows) (fun h => if nth_rank rows h <=? nth_rank rows i
    then (if h =? i then N.to_nat q else ceiling (N.to_nat t + jitter (nth_task rows h))
      (period (nth_task rows h))) * cost (nth_task rows h) else 0)%nat
    (fun h => if nth_rank rows h <=? nth_rank rows i
      then ceiling (N.to_nat t + jitter (nth_task rows h)) (period (nth_task rows h))
        * cost (nth_task rows h) else 0)%nat i inside) as equal.
  cbn beta in equal. rewrite Nat.leb_refl, Nat.eqb_refl in equal.
  specialize (equal ltac:(intros h other; apply Nat.eqb_neq in other; now rewrite other)).
  change (N.to_nat (r_cost (snd (nth i rows (0, no_row))))) with (cost (nth_task rows i)).
  change (N.to_nat (r_jitter (snd (nth i rows (0, no_row))))) with (jitter (nth_task rows i)).
  change (N.to_nat (r_period (snd (nth i rows (0, no_row))))) with (period (nth_task rows i)).
  lia.
Qed.

Lemma demand_is rows t :
  N.to_nat (demand rows t) = dbf (length rows) (nth_task rows) (N.to_nat t).
Proof.
  unfold demand, dbf. rewrite (total_is _ rows (0, no_row)). apply sum_same. intros h _.
  unfold nth_task. destruct (nth h rows (0, no_row)) as [k one]. cbn [snd].
  cbn [task_of deadline jitter period cost]. rewrite leb_is.
  destruct (r_deadline one <=? t); [|reflexivity].
  rewrite N2Nat.inj_mul, N2Nat.inj_add, N2Nat.inj_div, N2Nat.inj_add, N2Nat.inj_sub. reflexivity.
Qed.

Lemma supplied_is P B x t :
  N.to_nat (supplied P B x t) =
  sbf (N.to_nat P) (N.to_nat B) (N.to_nat x) (N.to_nat t).
Proof.
  unfold supplied, sbf.
  rewrite N2Nat.inj_add, N2Nat.inj_mul, N2Nat.inj_div, N2Nat.inj_min, N2Nat.inj_mod, N2Nat.inj_sub.
  reflexivity.
Qed.

Lemma total_weak {A : Type} (f g : A -> N) l : (forall one, In one l -> f one <= g one) ->
  total f l <= total g l.
Proof.
  induction l as [|one rest IH]; cbn [total]; intros each; [lia|].
  apply N.add_le_mono; [apply each; now left|apply IH; intros; apply each; now right].
Qed.

Lemma total_same {A : Type} (f g : A -> N) l : (forall one, In one l -> f one = g one) ->
  total f l = total g l.
Proof.
  induction l as [|one rest IH]; cbn [total]; intros each; [reflexivity|].
  rewrite IH by (intros; apply each; now right). f_equal. apply each. now left.
Qed.

Lemma total_scale {A : Type} (f : A -> N) l c : total (fun one => f one * c) l = total f l * c.
Proof. induction l as [|one rest IH]; cbn [total]; [reflexivity|]. rewrite IH. lia. Qed.

Lemma total_plus {A : Type} (f g : A -> N) l :
  total (fun one => f one + g one) l = total f l + total g l.
Proof. induction l as [|one rest IH]; cbn [total]; [reflexivity|]. rewrite IH. lia. Qed.

(* * EDF *)

Section Edf.
Context (rows : list (N * row)) (P B x : N).
Context (server : 0 < B <= P) (periods : forall k one, In (k, one) rows -> 0 < r_period one).

Lemma demand_grows s t : s <= t -> demand rows s <= demand rows t.
Proof.
  intros more. apply total_weak. intros [k one] real. specialize (periods k one real).
  destruct (N.leb_spec (r_deadline one) s); [|apply N.le_0_l].
  destruct (N.leb_spec (r_deadline one) t); [|lia].
  apply N.mul_le_mono_r, N.add_le_mono_r, N.div_le_mono; lia.
Qed.

Lemma supplied_grows s t : s <= t -> supplied P B x s <= supplied P B x t.
Proof.
  intros more. assert (N.to_nat (supplied P B x s) <= N.to_nat (supplied P B x t))%nat; [|lia].
  rewrite !supplied_is, !sbf_after.
  replace (N.to_nat t - N.to_nat x)%nat with
    (N.to_nat s - N.to_nat x + (N.to_nat t - N.to_nat x - (N.to_nat s - N.to_nat x)))%nat by lia.
  apply after_grows. lia.
Qed.

Lemma points_enough points top : points_fail rows P B x top points = None ->
  forall t, t <= top -> demand rows t <= supplied P B x t.
Proof.
  revert top. induction points as [|s rest IH]; cbn [points_fail]; intros top good t low.
  - destruct (N.eqb_spec (demand rows top) 0); [|discriminate].
    pose proof (demand_grows t top low). lia.
  - destruct (N.eqb_spec s 0); [discriminate|].
    destruct (N.ltb_spec (supplied P B x s) (demand rows top)); [discriminate|].
    destruct (N.le_gt_cases s t) as [long|shorter].
    + pose proof (demand_grows t top low). pose proof (supplied_grows s t long). lia.
    + apply (IH (s - 1)); [assumption|lia].
Qed.

Context (M : N) (some : 0 < M) (server_divides : M mod P = 0).
Context (divide : forall k one, In (k, one) rows -> M mod r_period one = 0).
Context (less : load M rows <= M / P * B).

Lemma whole a b : 0 < b -> a mod b = 0 -> a = a / b * b.
Proof. intros positive exact. pose proof (N.div_mod a b). lia. Qed.

Lemma demand_repeats t : (forall k one, In (k, one) rows -> r_deadline one <= t) ->
  demand rows (t + M) = demand rows t + load M rows.
Proof.
  intros due. unfold demand, load. rewrite <- total_plus. apply total_same. intros [k one] real.
  specialize (periods k one real). specialize (due k one real). specialize (divide k one real).
  destruct (N.leb_spec (r_deadline one) t); [|lia].
  destruct (N.leb_spec (r_deadline one) (t + M)); [|lia].
  pose proof (whole M (r_period one) periods divide) as exact.
  replace (t + M - r_deadline one + r_jitter one)
    with (t - r_deadline one + r_jitter one + M / r_period one * r_period one) by lia.
  rewrite N.div_add by lia. lia.
Qed.

Lemma supplied_repeats t : x <= t -> supplied P B x (t + M) = supplied P B x t + M / P * B.
Proof.
  intros lit. unfold supplied. pose proof (whole M P ltac:(lia) server_divides) as exact.
  replace (t + M - x) with (t - x + M / P * P) by lia.
  rewrite N.div_add, N.mod_add by lia. lia.
Qed.

Lemma repeats_enough L : repeats rows M x L = true ->
  (forall t, t <= L -> demand rows t <= supplied P B x t) ->
  forall t, demand rows t <= supplied P B x t.
Proof.
  intros long known. apply andb_prop in long as [dark due]. apply N.leb_le in dark.
  rewrite forallb_forall in due.
  intros t. induction t as [t IH] using (well_founded_induction N.lt_wf_0).
  destruct (N.le_gt_cases t L) as [|beyond]; [now apply known|].
  replace t with (t - M + M) by lia.
  rewrite demand_repeats, supplied_repeats; [|lia|].
  - pose proof (IH (t - M) ltac:(lia)). lia.
  - intros k one real. specialize (due (k, one) real). apply N.leb_le in due. lia.
Qed.

Lemma line_above t : (forall k one, In (k, one) rows -> r_deadline one <= t) ->
  demand rows t * M <= line M rows t.
Proof.
  intros due. unfold demand, line. rewrite <- total_scale. apply total_weak. intros [k one] real.
  specialize (periods k one real). specialize (due k one real). specialize (divide k one real).
  destruct (N.leb_spec (r_deadline one) t); [|lia].
  pose proof (whole M (r_period one) periods divide) as exact.
  set (q := M / r_period one) in *. set (a := t - r_deadline one + r_jitter one).
  pose proof (N.mul_div_le a (r_period one)).
  replace (((a / r_period one + 1) * r_cost one * M)) with
    (q * r_cost one * (r_period one * (a / r_period one) + r_period one)) by nia.
  apply N.mul_le_mono_l. lia.
Qed.

Lemma line_below t :
  M / P * B * (t - x) <= supplied P B x t * M + M / P * B * (P - B).
Proof.
  unfold supplied. pose proof (whole M P ltac:(lia) server_divides) as exact.
  set (q := M / P) in *. set (u := t - x). pose proof (N.div_mod u P).
  pose proof (N.mod_lt u P). set (n := u / P) in *. set (y := u mod P) in *.
  replace u with (P * n + y) by lia. rewrite exact.
  assert (B * y <= N.min y B * P + B * (P - B)) by (destruct (N.min_spec y B) as [[]|[]]; nia).
  nia.
Qed.

Lemma line_slope L v : (forall k one, In (k, one) rows -> r_deadline one <= L) ->
  line M rows (L + v) = line M rows L + load M rows * v.
Proof.
  intros due. unfold line, load. rewrite <- total_scale, <- total_plus. apply total_same.
  intros [k one] real. specialize (due k one real).
  replace (L + v - r_deadline one) with (L - r_deadline one + v) by lia. lia.
Qed.

Lemma lines_enough L : below_lines rows P B M x L = true ->
  (forall t, t <= L -> demand rows t <= supplied P B x t) ->
  forall t, demand rows t <= supplied P B x t.
Proof.
  intros good known t. apply andb_prop in good as [good slopes].
  apply andb_prop in good as [dark due]. apply N.leb_le in dark, slopes.
  rewrite forallb_forall in due.
  destruct (N.le_gt_cases t L) as [|beyond]; [now apply known|].
  assert (early : forall k one, In (k, one) rows -> r_deadline one <= L).
  { intros k one real. specialize (due (k, one) real). now apply N.leb_le in due. }
  assert (above : demand rows t * M <= line M rows t).
  { apply line_above. intros k one real. specialize (early k one real). lia. }
  pose proof (line_below t) as below. replace t with (L + (t - L)) in above at 2 by lia.
  rewrite line_slope in above by assumption. set (v := t - L) in *.
  apply (N.mul_le_mono_pos_r _ _ M some).
  replace (t - x) with (L - x + v) in below by lia. nia.
Qed.

End Edf.

(* * What the checker accepts *)

Lemma first_none {A : Type} (fails : A -> option string) l : first fails l = None ->
  forall one, In one l -> fails one = None.
Proof.
  induction l as [|head rest IH]; cbn [first]; [easy|]. intros none one.
  destruct (fails head) eqn:good; [discriminate|]. intros [<-|]; [assumption|now apply IH].
Qed.

Lemma nth_row {A : Type} (l : list A) i none : (i < length l)%nat -> In (nth i l none) l.
Proof. apply nth_In. Qed.

Lemma window_enough rows bound most one : window_fails rows bound most one = None ->
  0 < r_window (snd one) <= most /\
  request rows (fst one) (r_window (snd one)) <= bound (r_window (snd one)).
Proof.
  unfold window_fails. destruct (N.eqb_spec (r_window (snd one)) 0); [discriminate|].
  destruct (N.ltb_spec most (r_window (snd one))); [discriminate|].
  destruct (N.ltb_spec (bound (r_window (snd one))) (request rows (fst one) (r_window (snd one))));
    [discriminate|]. intros _. lia.
Qed.

Lemma jobs_enough rows bound one windows q j : jobs_fail rows bound one q windows = None ->
  (j < length windows)%nat ->
  let t := nth j windows 0 in
  let number := q + N.of_nat j in
  t <= (number - 1) * r_period (snd one) - r_jitter (snd one) + r_deadline (snd one) /\
  job_request rows one number t <= bound t.
Proof.
  revert q j. induction windows as [|t rest IH]; cbn [jobs_fail length]; intros q j good inside;
    [lia|].
  destruct (N.ltb_spec ((q - 1) * r_period (snd one) - r_jitter (snd one) + r_deadline (snd one))
    t); [discriminate|].
  destruct (N.ltb_spec (bound t) (job_request rows one q t)); [discriminate|].
  destruct j as [|j]; cbn [nth].
  - now rewrite N.add_0_r.
  - replace (q + N.of_nat (S j)) with (q + 1 + N.of_nat j) by lia. apply IH; [assumption|lia].
Qed.

(* What a task fulfils, where a bound is computed by another function of binary numbers. *)
Lemma task_enough rows bound supply i : (forall t, N.to_nat (bound t) = supply (N.to_nat t)) ->
  (i < length rows)%nat -> task_fails rows bound (nth i rows (0, no_row)) = None ->
  in_windows (length rows) (nth_task rows) (nth_rank rows) supply i.
Proof.
  intros same inside good. unfold task_fails in good.
  destruct (r_jobs (snd (nth i rows (0, no_row)))) as [|head rest] eqn:told.
  - apply window_enough in good as [window enough]. apply one_window.
    exists (N.to_nat (r_window (snd (nth i rows (0, no_row))))). split.
    + unfold nth_task, task_of. cbn [deadline]. lia.
    + rewrite <- request_is, <- same. lia.
  - rewrite <- told in good.
    destruct (window_fails _ _ _ _) eqn:level in good; [discriminate|].
    apply window_enough in level as [window enough].
    destruct (N.eqb_spec (N.of_nat (length (r_jobs (snd (nth i rows (0, no_row))))))
      (up (r_window (snd (nth i rows (0, no_row))) + r_jitter (snd (nth i rows (0, no_row))))
        (r_period (snd (nth i rows (0, no_row)))))) as [number|]; [|discriminate].
    exists (N.to_nat (r_window (snd (nth i rows (0, no_row))))),
      (fun q => N.to_nat (nth (q - 1) (r_jobs (snd (nth i rows (0, no_row)))) 0)).
    split; [lia|]. split; [rewrite <- request_is, <- same; lia|].
    intros q come. unfold nth_task at 1 2, task_of in come. cbn [jitter period] in come.
    rewrite <- N2Nat.inj_add, <- up_is, <- number, Nat2N.id in come.
    destruct (jobs_enough _ _ _ _ _ (q - 1) good) as [early less]; [lia|].
    replace (1 + N.of_nat (q - 1)) with (N.of_nat q) in early, less by lia.
    rewrite <- same. split.
    + unfold nth_task, task_of. cbn [deadline jitter period]. lia.
    + rewrite <- (Nat2N.id q) at 1. rewrite <- job_request_is by assumption. lia.
Qed.

Lemma edf_enough rows P B x M L points : 0 < B <= P ->
  (forall k one, In (k, one) rows -> 0 < r_period one) ->
  edf_fails rows P B x M L points = None -> forall t, demand rows t <= supplied P B x t.
Proof.
  intros server periods. unfold edf_fails.
  destruct ((0 <? M) && (M mod P =? 0)
    && forallb (fun one => M mod r_period (snd one) =? 0) rows)%bool eqn:multiple;
    cbn [negb]; [|discriminate].
  apply andb_prop in multiple as [multiple divide].
  apply andb_prop in multiple as [some whole_server].
  apply N.ltb_lt in some. apply N.eqb_eq in whole_server. rewrite forallb_forall in divide.
  assert (divides : forall k one, In (k, one) rows -> M mod r_period one = 0).
  { intros k one real. specialize (divide _ real). now apply N.eqb_eq in divide. }
  destruct (N.ltb_spec (M / P * B) (load M rows)); [discriminate|].
  destruct (repeats rows M x L || below_lines rows P B M x L)%bool eqn:beyond;
    cbn [negb]; [|discriminate].
  intros good. pose proof (points_enough rows P B x server periods points L good) as near.
  apply orb_prop in beyond as [again|lines].
  - now apply (repeats_enough rows P B x server periods M some whole_server divides) with (L := L).
  - now apply (lines_enough rows P B x server periods M some whole_server divides) with (L := L).
Qed.

Lemma blackout_is by_policy f P B : N.to_nat (blackout_of by_policy f P B) =
  match f, by_policy with
  | General, Periods by_rule _ => blackout (N.to_nat P) (N.to_nat B) (N.to_nat P) by_rule
  | General, Bandwidth => general (N.to_nat P) (N.to_nat B) (N.to_nat P)
  | Harmonic, _ => harmonic (N.to_nat P) (N.to_nat B)
  end.
Proof.
  destruct f, by_policy as [[] by_order|];
    unfold blackout_of, blackout, general, late, harmonic; lia.
Qed.

(* The tests of domains hold, of what they are about. *)
Lemma domain_enough by_policy one : domain_fails by_policy one = None ->
  0 < r_cost (v_server one) <= r_period (v_server one) ->
  let P := N.to_nat (r_period (v_server one)) in
  let B := N.to_nat (r_cost (v_server one)) in
  let rows := ranked (v_tasks one) in
  (forall k each, In (k, each) rows -> 0 < r_period each) /\
  fits (domain_of one) (sbf P B (N.to_nat (blackout_of by_policy (v_form one)
    (r_period (v_server one)) (r_cost (v_server one))))) /\
  (v_form one = Harmonic ->
     (forall by_order, by_policy <> Periods Polling by_order) /\ by_policy <> Bandwidth /\
     forall each, In each rows -> harmonic_fails (r_period (v_server one)) each = None).
Proof.
  intros good server P B rows. unfold domain_fails in good. fold rows in good.
  destruct (first _ rows) eqn:periods in good; [discriminate|].
  destruct (match v_form one with General => _ | Harmonic => _ end) eqn:special in good;
    [discriminate|].
  assert (positive : forall k each, In (k, each) rows -> 0 < r_period each).
  { intros k each real. pose proof (first_none _ _ periods _ real) as some. cbn [snd] in some.
    destruct (N.eqb_spec (r_period each) 0); [discriminate|lia]. }
  split; [exact positive|]. split.
  - unfold fits, domain_of. cbn [scheduler size members]. fold rows.
    destruct (v_order one).
    + destruct (first _ rows) eqn:windows in good; [discriminate|].
      intros i inside. apply (task_enough _ (supplied (r_period (v_server one))
        (r_cost (v_server one)) (blackout_of by_policy (v_form one) (r_period (v_server one))
        (r_cost (v_server one))))).
      * intros t. apply supplied_is.
      * assumption.
      * now apply (first_none _ _ windows), nth_row.
    + destruct (edf_fails _ _ _ _ _ _ _) eqn:edf in good; [discriminate|].
      pose proof (edf_enough _ _ _ _ _ _ _ server positive edf) as enough. intros t.
      specialize (enough (N.of_nat t)).
      rewrite <- (Nat2N.id t), <- demand_is. unfold P, B. rewrite <- supplied_is. lia.
  - intros formed. rewrite formed in special.
    destruct by_policy as [[] by_order|]; try discriminate; (split; [easy|]); (split; [easy|]);
      now apply first_none.
Qed.

(* The servers of a pcpu, as tasks. *)
Lemma ranked_is vms : forall i, (i < length vms)%nat ->
  nth i (ranked (map v_server vms)) (0, no_row) =
  (r_number (v_server (nth i vms no_vm)), v_server (nth i vms no_vm)).
Proof.
  unfold ranked. rewrite map_map. induction vms as [|one rest IH]; cbn [length]; [lia|].
  intros [|i] inside; [reflexivity|]. cbn [map nth]. apply IH. lia.
Qed.

Lemma not_above a b why : (if a <=? b then None else Some why) = None :> option string -> a <= b.
Proof. now destruct (N.leb_spec a b). Qed.

Lemma check_parts sys : check sys = None ->
  (forall p, In p (map v_pcpu (s_vms sys)) -> pcpu_fails sys p = None) /\
  (forall one, In one (s_vms sys) -> v_judged one = true ->
     domain_fails (s_policy sys) one = None /\
     forall its, In its (v_tasks one) -> spread_fails sys one its = None) /\
  (forall one, In one (s_flows sys) -> flow_fails sys one = None).
Proof.
  unfold check. destruct (first _ (nodup _ _)) eqn:pcpus; [discriminate|].
  destruct (first _ (s_vms sys)) eqn:domains; [discriminate|].
  destruct (first _ (s_vms sys)) eqn:spreads in |- *; [discriminate|]. intros flows.
  split; [|split].
  - intros p real. now apply (first_none _ _ pcpus), nodup_In.
  - intros one real judged. pose proof (first_none _ _ domains _ real) as fine.
    pose proof (first_none _ _ spreads _ real) as spread. cbn beta in fine, spread.
    rewrite judged in fine, spread. split; [exact fine|]. now apply first_none.
  - now apply first_none.
Qed.

Section System.
Context (sys : system) (good : check sys = None).
Context (p : N) (h : host).
Let vms := on_pcpu sys p.
Let servers (i : nat) : server := server_of (nth i vms no_vm).

Lemma vms_real s : (s < length vms)%nat ->
  In (nth s vms no_vm) (s_vms sys) /\ v_pcpu (nth s vms no_vm) = p.
Proof.
  intros inside. pose proof (nth_row vms s no_vm inside) as real. unfold vms, on_pcpu in real.
  apply filter_In in real as [real same]. now apply N.eqb_eq in same.
Qed.

Lemma pcpu_good s : (s < length vms)%nat -> pcpu_fails sys p = None.
Proof.
  intros inside. apply (check_parts sys good).
  destruct (vms_real s inside) as [real same]. rewrite <- same. now apply in_map.
Qed.

Lemma numbers_good s : (s < length vms)%nat ->
  let its := v_server (nth s vms no_vm) in
  0 < r_cost its <= r_period its /\ r_deadline its = r_period its /\
  r_jitter its = 0.
Proof.
  intros inside its. pose proof (pcpu_good s inside) as fine. unfold pcpu_fails in fine.
  fold vms in fine. destruct (first _ _) eqn:numbers in fine; [discriminate|].
  assert (real : In its (map v_server vms)) by (apply in_map, nth_row; assumption).
  pose proof (first_none _ _ numbers _ real) as one. unfold numbers_fail in one.
  destruct (_ && _)%bool eqn:all in one; [|discriminate].
  apply andb_prop in all as [all punctual]. apply andb_prop in all as [all implicit].
  apply andb_prop in all as [some short].
  apply N.ltb_lt in some. apply N.leb_le in short. apply N.eqb_eq in implicit, punctual. lia.
Qed.

Let rows := ranked (map v_server vms).
Let row_is := ranked_is vms.

Lemma rows_length : length rows = length vms.
Proof. unfold rows, ranked. now rewrite !map_length. Qed.

(* A server among servers, as a task. *)
Lemma seen i : (i < length vms)%nat ->
  nth_rank rows i = rank (servers i) /\ nth_task rows i = as_task (servers i).
Proof.
  intros low. destruct (numbers_good i low) as (_ & implicit & jittered).
  unfold nth_rank, nth_task. rewrite (row_is i low : nth i rows _ = _). split; [reflexivity|].
  unfold servers, server_of, task_of, as_task. cbn [every budget within snd].
  now rewrite implicit, jittered.
Qed.

Lemma window_known s : (s < length vms)%nat ->
  window_fails rows (fun t => t) (r_deadline (v_server (nth s vms no_vm)))
    (r_number (v_server (nth s vms no_vm)), v_server (nth s vms no_vm)) = None ->
  exists t, (0 < t <= within (servers s) /\ rbf (length vms) (fun i => as_task (servers i))
    (fun i => rank (servers i)) s t <= t)%nat.
Proof.
  intros inside known. apply window_enough in known as [fits_in enough].
  cbn [fst snd] in fits_in, enough. destruct (numbers_good s inside) as (_ & implicit & _).
  exists (N.to_nat (r_window (v_server (nth s vms no_vm)))). split; [cbn; lia|].
  pose proof (request_is rows s (r_window (v_server (nth s vms no_vm)))) as is_it.
  rewrite (row_is s inside : nth s rows _ = _), rows_length in is_it. cbn [fst] in is_it.
  assert (equal : (rbf (length vms) (fun i => as_task (servers i)) (fun i => rank (servers i)) s
    (N.to_nat (r_window (v_server (nth s vms no_vm)))) = rbf (length vms) (nth_task rows)
    (nth_rank rows) s (N.to_nat (r_window (v_server (nth s vms no_vm)))))%nat); [|lia].
  apply sum_same. intros i low. now destruct (seen i low) as [-> ->], (seen s inside) as [-> _].
Qed.

Lemma grid_spent_is one P t : N.to_nat (grid_spent P (v_server one) t) =
  grid_spends (N.to_nat P) (server_of one) (N.to_nat t).
Proof.
  unfold grid_spent, grid_spends, spent, spends.
  now rewrite N2Nat.inj_max, !N2Nat.inj_add, !N2Nat.inj_min, !supplied_is, !N2Nat.inj_mul, up_is,
    N2Nat.inj_div, gcd_is.
Qed.

Lemma grid_known s : (s < length vms)%nat ->
  server_fails Deferrable (map v_server vms) (v_server (nth s vms no_vm)) = None ->
  exists t, (t <= every (servers s) /\ grid_rbf (length vms) servers s t <= t)%nat.
Proof.
  intros inside known. unfold server_fails in known.
  set (own := v_server (nth s vms no_vm)) in *. set (t := r_window own) in *.
  destruct (N.ltb_spec (r_period own) t); [discriminate|].
  destruct (N.ltb_spec t (grid_request (map v_server vms) own t)) as [|enough]; [discriminate|].
  exists (N.to_nat t). split; [cbn; fold own; lia|].
  unfold grid_request in enough. unfold grid_rbf.
  pose proof (sum_but_one (length vms) (fun o =>
      if (rank (servers o) <=? rank (servers s))%nat
      then (if o =? s then budget (servers s)
            else grid_spends (every (servers s)) (servers o) (N.to_nat t))%nat else 0%nat)
    (fun o => if (rank (servers o) <=? rank (servers s))%nat
      then grid_spends (every (servers s)) (servers o) (N.to_nat t) else 0%nat) s inside) as swap.
  cbn beta in swap. rewrite Nat.leb_refl, Nat.eqb_refl in swap.
  specialize (swap ltac:(intros o other; apply Nat.eqb_neq in other; now rewrite other)).
  assert (all : N.to_nat (total (fun one => if r_number one <=? r_number own
      then grid_spent (r_period own) one t else 0) (map v_server vms)) =
    sum (length vms) (fun o => if (rank (servers o) <=? rank (servers s))%nat
      then grid_spends (every (servers s)) (servers o) (N.to_nat t) else 0%nat)).
  { rewrite (total_is _ _ no_row), map_length. apply sum_same. intros i low.
    change no_row with (v_server no_vm). rewrite map_nth. unfold servers. cbn [server_of rank].
    fold own. rewrite leb_is. destruct (_ <=? _); [|reflexivity]. apply grid_spent_is. }
  pose proof (grid_spent_is (nth s vms no_vm) (r_period own) t) as itself. fold own in itself.
  change (N.to_nat (r_period own)) with (every (servers s)) in itself.
  change (server_of (nth s vms no_vm)) with (servers s) in itself.
  change (budget (servers s)) with (N.to_nat (r_cost own)) in swap |- *. lia.
Qed.

Lemma spends_known s : (s < length vms)%nat ->
  spending_fails (map v_server vms) (v_server (nth s vms no_vm)) = None ->
  (edf_spends (length vms) servers s <= every (servers s))%nat.
Proof.
  intros inside known. unfold spending_fails in known.
  apply not_above in known.
  assert (equal : edf_spends (length vms) servers s =
    N.to_nat (total (fun one => supplied (r_period one) (r_cost one) 0
      (r_period (v_server (nth s vms no_vm)))) (map v_server vms))); [|cbn; lia].
  rewrite (total_is _ _ no_row), map_length. apply sum_same. intros i low.
  change no_row with (v_server no_vm). rewrite map_nth, supplied_is.
  destruct (Nat.eqb_spec i s) as [->|]; [|reflexivity].
  destruct (numbers_good s inside) as (numbers & _). unfold sbf.
  rewrite Nat.sub_0_r, Nat.div_same, Nat.mod_same by lia. cbn [server_of servers budget]. lia.
Qed.

Lemma sums_known : total (fun one => r_cost one * (product (map v_server vms) / r_period one))
    (map v_server vms) <= product (map v_server vms) ->
  bandwidth_at_most_1 (length vms) servers.
Proof.
  intros sums.
  assert (multiple : forall l, (forall one, In one l -> 0 < r_period one) ->
    0 < product l /\ forall one, In one l -> exists q, product l = q * r_period one).
  { induction l as [|one rest IH]; intros positive; [split; [reflexivity|easy]|].
    destruct IH as [some all]; [intros; apply positive; now right|].
    cbn [product fold_right]. fold (product rest).
    pose proof (positive one (or_introl eq_refl)). split; [nia|].
    intros other [<-|real]; [exists (product rest); lia|].
    destruct (all other real) as [q ->]. exists (r_period one * q). lia. }
  destruct (multiple (map v_server vms)) as [some all].
  { intros one (v & <- & real)%in_map_iff. apply (In_nth _ _ no_vm) in real as (i & low & <-).
    destruct (numbers_good i low). lia. }
  exists (N.to_nat (product (map v_server vms))). split; [lia|]. split.
  * intros i low. destruct (all (v_server (nth i vms no_vm))) as [q is_it].
    { apply in_map, nth_row. assumption. }
    exists (N.to_nat q). rewrite is_it. cbn. lia.
  * assert (equal : sum (length vms) (fun i => budget (servers i)
        * (N.to_nat (product (map v_server vms)) / every (servers i)))%nat =
      N.to_nat (total (fun one => r_cost one * (product (map v_server vms) / r_period one))
        (map v_server vms))); [|lia].
    rewrite (total_is _ _ no_row), map_length. apply sum_same. intros i low.
    change no_row with (v_server no_vm). rewrite map_nth.
    rewrite N2Nat.inj_mul, N2Nat.inj_div. reflexivity.
Qed.

(* The test of a pcpu holds, of a server whose domain is judged. *)
Lemma test_known s : (s < length vms)%nat -> v_judged (nth s vms no_vm) = true ->
  let its := v_server (nth s vms no_vm) in
  match s_policy sys with
  | Periods by_rule ByRank => server_fails by_rule (map v_server vms) its = None
  | Periods Deferrable ByDeadline => spending_fails (map v_server vms) its = None
  | Periods _ ByDeadline | Bandwidth => bandwidth_at_most_1 (length vms) servers
  end.
Proof.
  intros inside judged its. pose proof (pcpu_good s inside) as fine. unfold pcpu_fails in fine.
  fold vms in fine. destruct (first numbers_fail _) in fine; [discriminate|].
  assert (somebody : existsb v_judged vms = true)
    by (apply existsb_exists; exists (nth s vms no_vm); split; [now apply nth_row|exact judged]).
  destruct (s_policy sys) as [[] []|].
  2, 6: rewrite somebody in fine; exact (sums_known (not_above _ _ _ fine)).
  5: rewrite somebody in fine; exact (sums_known (not_above _ _ _ fine)).
  all: pose proof (first_none _ _ fine _ (nth_row vms s no_vm inside)) as one; cbn beta in one;
    rewrite judged in one; cbn [orb also_if] in one; fold its in one.
  1, 2, 4: now destruct (server_fails _ _ _).
  now destruct (spending_fails _ _).
Qed.

(* Each server of a judged domain keeps the law of its rule. *)
Lemma server_guaranteed by_rule by_order s : s_policy sys = Periods by_rule by_order ->
  paying by_rule (length vms) servers by_order h -> sharing (s_slack sys) servers h ->
  (s < length vms)%nat -> v_judged (nth s vms no_vm) = true ->
  keeps (every (servers s)) (budget (servers s)) (within (servers s)) by_rule
    (wants h s) (charged h s).
Proof.
  intros is_it paid shared inside judged. pose proof (test_known s inside judged) as test.
  rewrite is_it in test.
  assert (periods : forall i, (i < length vms)%nat -> (0 < every (servers i))%nat).
  { intros i low. destruct (numbers_good i low) as (some & _). cbn. lia. }
  assert (funded : (budget (servers s) <= every (servers s))%nat)
    by (destruct (numbers_good s inside) as (some & _); cbn; lia).
  destruct by_order.
  - destruct by_rule.
    1, 3: apply (servers_fixed_priority (length vms) servers _ (s_slack sys)); try assumption;
      [easy|apply le_n|now apply window_known].
    apply (deferrable_on_one_grid (length vms) servers (s_slack sys)); try assumption.
    + intros i low. destruct (numbers_good i low) as (some & _). cbn. lia.
    + now apply grid_known.
  - destruct by_rule.
    1, 3: apply (servers_edf (length vms) servers _ (s_slack sys)); try easy; auto.
    apply (deferrable_edf (length vms) servers (s_slack sys)); auto. now apply spends_known.
Qed.

End System.

(* What its server supplies to a judged domain, and across which instants it need not. *)
Section Served.
Context (sys : system) (good : check sys = None).
Context (p : N) (h : host) (inner : nat -> run) (legal : run_of sys p h inner).
Context (s : nat) (inside_it : (s < length (on_pcpu sys p))%nat).
Let one := nth s (on_pcpu sys p) no_vm.
Let d := domain_of one.
Context (judged : v_judged one = true).

Definition supply_of (its : vm) (f : form) : nat -> nat :=
  let P := r_period (v_server its) in
  let B := r_cost (v_server its) in
  sbf (N.to_nat P) (N.to_nat B) (N.to_nat (blackout_of (s_policy sys) f P B)).

Lemma promised by_rule by_order : s_policy sys = Periods by_rule by_order ->
  let its := server_of one in
  (0 < budget its <= every its)%nat /\
  keeps (every its) (budget its) (every its) by_rule (wants h s) (charged h s).
Proof.
  intros is_it its. destruct legal as (pays_so & shared & _). rewrite is_it in pays_so.
  destruct (numbers_good sys good p s inside_it) as (server & _ & _). fold one in server.
  split; [unfold its, server_of; cbn [budget every]; lia|].
  exact (server_guaranteed sys good p h by_rule by_order s is_it pays_so shared inside_it judged).
Qed.

Lemma domain_served : exists given : supply * supply,
  scheduled (size d) (local_key d (inner s)) (snd given) (inner s) /\
  (forall x j, fst given x = true -> (fst j < size d)%nat -> (release (inner s) j < x)%nat ->
     complete (inner s) j x) /\
  forall a t, throughout (busy (size d) (inner s)) a t ->
    (forall x, (a < x < a + t)%nat -> fst given x = false) ->
    (supply_of one General t <= amount (snd given) a t)%nat.
Proof.
  pose proof legal as (pays_so & shared & domains).
  destruct (domains s inside_it judged) as [its _].
  pose proof (time_scheduled _ _ _ _ _ _ shared its) as in_turn.
  unfold supply_of. destruct (s_policy sys) as [by_rule by_order|] eqn:is_it.
  - exists (fun _ => false, time_of h s). split; [exact in_turn|]. split; [easy|].
    intros a t working _. destruct (promised _ _ is_it) as [budget law]. cbn in budget, law.
    rewrite blackout_is.
    apply (server_supply _ _ (N.to_nat (r_period (v_server one))) by_rule
      (busy (size d) (inner s)));
      [lia..|now apply time_keeps|exact working].
  - destruct pays_so as (arrives & come & pays_so & begun).
    exists (arrives s, time_of h s). split; [exact in_turn|]. split; [now apply begun|].
    rewrite blackout_is. intros a t.
    apply (cbs_supplies (length (on_pcpu sys p))
      (fun i => server_of (nth i (on_pcpu sys p) no_vm)));
      try assumption.
    + intros i low. destruct (numbers_good sys good p i low) as (some & _). cbn. lia.
    + pose proof (test_known sys good p s inside_it judged) as enough. now rewrite is_it in enough.
Qed.

Lemma domain_fits : (forall i, (i < size d)%nat -> (0 < period (members d i))%nat) /\
  fits d (supply_of one (v_form one)) /\
  (v_form one = Harmonic ->
     (forall by_order, s_policy sys <> Periods Polling by_order) /\ s_policy sys <> Bandwidth /\
     forall each, In each (ranked (v_tasks one)) ->
       harmonic_fails (r_period (v_server one)) each = None).
Proof.
  destruct (numbers_good sys good p s inside_it) as (server & _ & _). fold one in server.
  destruct (vms_real sys p s inside_it) as [real _]. fold one in real.
  destruct (check_parts sys good) as (_ & domains & _).
  destruct (domains one real judged) as [fine _].
  destruct (domain_enough (s_policy sys) one fine server) as (positive & others).
  split; [|exact others]. intros i low.
  destruct (nth i (ranked (v_tasks one)) (0, no_row)) as [k each] eqn:is_it.
  assert (some : 0 < r_period each).
  { apply (positive k). rewrite <- is_it. now apply nth_row. }
  unfold d. cbn [domain_of members]. unfold nth_task. rewrite is_it. cbn. lia.
Qed.

(* If jobs come as the tasks say, hops and all. *)
Theorem pcpu_in_time : jobs_of (size d) (members d) (inner s) ->
  in_time (size d) (members d) (inner s).
Proof.
  intros jobs. destruct domain_fits as (some_period & test & special).
  destruct (v_form one) eqn:form.
  { destruct domain_served as (given & in_turn & begun & supply). intros j.
    apply (unbroken_in_time d (inner s) (snd given) (fst given) (supply_of one General));
      try assumption. intros a t _. apply supply. }
  destruct (special eq_refl) as (not_polling & not_cbs & specials).
  destruct (s_policy sys) as [by_rule by_order|] eqn:is_it; [|contradiction].
  destruct (promised _ _ is_it) as [budget law].
  pose proof legal as (_ & shared & domains).
  destruct (domains s inside_it judged) as [its on_time].
  apply (domain_in_time _ _ _ _ _ by_rule h s d (inner s) shared (conj jobs its))
    with (3 := law); [lia|lia|exact some_period|]. right.
  assert (conditions : forall i, (i < size d)%nat ->
    let each := snd (nth i (ranked (v_tasks one)) (0, no_row)) in
    r_strict each = true /\ r_jitter each = 0 /\ r_deadline each <= r_period each /\
    divided (r_period (v_server one)) (r_period each) = true /\ 0 < r_period each).
  { intros i low each. specialize (some_period i low).
    specialize (specials _ (nth_row _ i (0, no_row) low)). unfold harmonic_fails in specials.
    fold each in specials. destruct (_ && _)%bool eqn:all in specials; [|discriminate].
    apply andb_prop in all as [all dividing]. apply andb_prop in all as [all tight].
    apply andb_prop in all as [strict none]. apply N.eqb_eq in none. apply N.leb_le in tight.
    repeat split; try assumption. unfold d in some_period.
    cbn [domain_of members] in some_period. unfold nth_task, task_of in some_period.
    cbn [period] in some_period. unfold each. lia. }
  split; [intros ->; now apply (not_polling by_order)|]. split; [|split; [|split]].
  - intros i low. destruct (conditions i low) as (_ & none & tight & _ & some).
    unfold d. cbn [domain_of members]. unfold nth_task, task_of. cbn [period deadline jitter]. lia.
  - intros i k low. destruct (conditions i low) as (strict & none & _). now apply on_time.
  - intros i low. destruct (conditions i low) as (_ & _ & _ & dividing & some).
    unfold d. cbn [domain_of members]. unfold nth_task, task_of. cbn [period].
    unfold divided in dividing.
    apply orb_prop in dividing as [whole|whole]; apply N.eqb_eq in whole.
    + left. exists (N.to_nat (r_period (v_server one)
        / r_period (snd (nth i (ranked (v_tasks one)) (0, no_row))))).
      cbn. fold one. rewrite <- N2Nat.inj_mul. f_equal.
      pose proof (N.div_mod (r_period (v_server one))
        (r_period (snd (nth i (ranked (v_tasks one)) (0, no_row))))). lia.
    + right. exists (N.to_nat (r_period (snd (nth i (ranked (v_tasks one)) (0, no_row)))
        / r_period (v_server one))).
      cbn. fold one. rewrite <- N2Nat.inj_mul. f_equal. cbn in budget. fold one in budget.
      pose proof (N.div_mod (r_period (snd (nth i (ranked (v_tasks one)) (0, no_row))))
        (r_period (v_server one))). lia.
  - unfold supply_of in test. rewrite is_it, blackout_is in test. exact test.
Qed.

End Served.

(* * All pcpus *)

Lemma nth_all {A : Type} (l : list A) none : map (fun i => nth i l none) (seq 0 (length l)) = l.
Proof.
  induction l as [|one rest IH]; [reflexivity|]. cbn [length seq map nth]. f_equal.
  rewrite <- seq_shift, map_map. exact IH.
Qed.

Lemma filter_of_map {A B : Type} (f : A -> B) ok l :
  filter ok (map f l) = map f (filter (fun one => ok (f one)) l).
Proof.
  induction l as [|one rest IH]; [reflexivity|]. cbn [map filter]. destruct (ok (f one));
    cbn [map]; now rewrite IH.
Qed.

Lemma on_pcpu_is sys p :
  on_pcpu sys p = map (fun s => nth s (s_vms sys) no_vm) (numbers_on sys p).
Proof.
  unfold on_pcpu, numbers_on. rewrite <- (nth_all (s_vms sys) no_vm) at 1. apply filter_of_map.
Qed.

Section Whole.
Context (sys : system) (good : check sys = None) (hosts : N -> host) (inner : nat -> run).
Context (legal : system_run sys hosts inner).
Let m := length (s_vms sys).
Let domains (s : nat) : domain := domain_of (judged_vm sys s).
Let before (p : place) : option place := r_before (row_at sys p).
Let least (p : place) : nat := N.to_nat (r_least (row_at sys p)).
Let bound (s : nat) : nat -> nat := supply_of sys (judged_vm sys s) General.

Lemma member_is p : member domains p = task_of (row_at sys p).
Proof.
  unfold member, domains, row_at. cbn [domain_of members]. unfold nth_task, ranked.
  change (0, no_row) with ((fun one => (r_number one, one)) no_row). now rewrite map_nth.
Qed.

Lemma size_is s : size (domains s) = length (v_tasks (judged_vm sys s)).
Proof. unfold domains. cbn [domain_of size]. unfold ranked. apply map_length. Qed.

(* Who has tasks is judged, and stands on its pcpu. *)
Lemma placed s : (0 < size (domains s))%nat ->
  let one := judged_vm sys s in
  let p := v_pcpu one in
  (s < m)%nat /\ v_judged one = true /\ In one (s_vms sys) /\
  exists i, (i < length (on_pcpu sys p))%nat /\ nth i (numbers_on sys p) 0%nat = s /\
    nth i (on_pcpu sys p) no_vm = one.
Proof.
  rewrite size_is. unfold judged_vm. cbn zeta. destruct (Nat.lt_ge_cases s m) as [low|high].
  2: { rewrite (nth_overflow (s_vms sys)) by exact high. cbn. lia. }
  destruct (v_judged (nth s (s_vms sys) no_vm)) eqn:yes; [intros _|cbn; lia].
  split; [exact low|]. split; [exact yes|]. split; [now apply nth_row|].
  set (p := v_pcpu (nth s (s_vms sys) no_vm)).
  assert (here : In s (numbers_on sys p)).
  { apply filter_In. split; [apply in_seq; lia|apply N.eqb_refl]. }
  apply (In_nth _ _ 0%nat) in here as (i & inside_it & is_it). exists i.
  rewrite on_pcpu_is, map_length. split; [exact inside_it|]. split; [exact is_it|].
  rewrite (nth_indep _ no_vm (nth 0 (s_vms sys) no_vm)) by now rewrite map_length.
  now rewrite (map_nth (fun s => nth s (s_vms sys) no_vm)), is_it.
Qed.

Lemma all_served : exists arrives gets, served m domains inner arrives gets bound.
Proof.
  destruct (all_first (fun _ => false, fun _ => false) m (fun s (given : supply * supply) =>
    (0 < size (domains s))%nat ->
    let r := inner s in
    scheduled (size (domains s)) (local_key (domains s) r) (snd given) r /\
    (forall x j, fst given x = true -> (fst j < size (domains s))%nat ->
       (release r j < x)%nat -> complete r j x) /\
    forall a t, throughout (busy (size (domains s)) r) a t ->
      (forall x, (a < x < a + t)%nat -> fst given x = false) ->
      (bound s t <= amount (snd given) a t)%nat)) as (given & all).
  - intros s _. destruct (Nat.eq_dec (size (domains s)) 0) as [none|some].
    { exists (fun _ => false, fun _ => false). rewrite none. cbn. lia. }
    destruct (placed s) as (_ & judged & _ & i & inside_it & is_it & same); [lia|].
    destruct legal as [runs _]. specialize (runs (v_pcpu (judged_vm sys s))).
    destruct (domain_served sys good _ _ _ runs i inside_it) as (found & all);
      [now rewrite same|].
    rewrite same, is_it in all. exists found. intros _. exact all.
  - exists (fun s => fst (given s)), (fun s => snd (given s)). exact all.
Qed.

Lemma some_period p : real m domains p -> (0 < period (member domains p))%nat.
Proof.
  intros [_ inside_it]. destruct (placed (fst p)) as (_ & judged & _ & i & low & _ & same); [lia|].
  destruct (domain_fits sys good _ i low) as [positive _]; [now rewrite same|].
  rewrite same in positive. now apply positive.
Qed.

Lemma general_fits s : (0 < size (domains s))%nat -> v_form (judged_vm sys s) = General ->
  fits (domains s) (bound s).
Proof.
  intros some form. destruct (placed s some) as (_ & judged & _ & i & low & _ & same).
  destruct (domain_fits sys good _ i low) as (_ & test & _); [now rewrite same|].
  rewrite same, form in test. exact test.
Qed.

Lemma hop_is p its : hop_at sys p = Some its ->
  real m domains p /\ row_at sys p = its /\ fits (domains (fst p)) (bound (fst p)).
Proof.
  unfold hop_at. destruct (v_form (judged_vm sys (fst p))) eqn:form; [|discriminate].
  intros found. assert (snd p < size (domains (fst p)))%nat as inside_it.
  { rewrite size_is. apply nth_error_Some. now rewrite found. }
  destruct (placed (fst p)) as (low & _); [lia|]. split; [now split|].
  split; [now apply nth_error_nth|apply general_fits; [lia|exact form]].
Qed.

Context (arrives : nat -> supply).

Lemma hop_through p its : hop_at sys p = Some its ->
  through m domains before least arrives bound p p (least p) (N.to_nat (r_deadline its)).
Proof.
  intros found. destruct (hop_is p its found) as (_ & <- & test). left.
  rewrite member_is. now repeat split.
Qed.

Lemma spread_known : spread m domains before least arrives bound.
Proof.
  intros p q [low inside_it] from. destruct (placed (fst p)) as (_ & judged & there & _); [lia|].
  destruct (check_parts sys good) as (_ & each & _). destruct (each _ there judged) as [_ spreads].
  assert (In (row_at sys p) (v_tasks (judged_vm sys (fst p)))) as row
    by (apply nth_row; now rewrite <- size_is).
  specialize (spreads _ row). unfold spread_fails in spreads. unfold before in from.
  rewrite from in spreads.
  destruct (v_form (judged_vm sys (fst p))), (hop_at sys q) as [its|] eqn:found; try discriminate.
  destruct (hop_is q its found) as (real_too & is_it & _). split; [exact real_too|].
  exists q, (least q), (N.to_nat (r_deadline its)). split; [now apply hop_through|].
  apply not_above in spreads. rewrite !member_is, is_it. unfold least. rewrite is_it. cbn. lia.
Qed.

Lemma linked_way hops : linked sys hops = true ->
  way m domains before least arrives bound (List.last hops (0, 0)%nat) (hd (0, 0)%nat hops)
    (N.to_nat (total (fun p => r_deadline (row_at sys p)) hops)) /\
  real m domains (hd (0, 0)%nat hops) /\ real m domains (List.last hops (0, 0)%nat) /\
  before (List.last hops (0, 0)%nat) = None.
Proof.
  induction hops as [|p rest IH]; cbn [linked]; [discriminate|].
  destruct (hop_at sys p) as [its|] eqn:found; [|discriminate].
  destruct (hop_is p its found) as (real_one & is_it & _). intros links.
  pose proof (hop_through p its found) as piece.
  cbn [total hd]. rewrite is_it. destruct rest as [|q others].
  - destruct (r_before its) eqn:comes; [discriminate|]. cbn [List.last].
    split; [|split; [exact real_one|split; [exact real_one|unfold before; now rewrite is_it]]].
    apply one_piece with (c := least p). cbn [total]. now rewrite N.add_0_r.
  - destruct (r_before its) as [from|] eqn:comes; [|discriminate].
    apply andb_prop in links as [same links]. apply andb_prop in same as [same same_too].
    apply Nat.eqb_eq in same, same_too.
    assert (from = q) as -> by (destruct from, q; cbn in *; congruence).
    destruct (IH links) as (way_there & _ & first). split; [|split; [exact real_one|exact first]].
    rewrite N2Nat.inj_add, Nat.add_comm.
    apply next_piece with (q := q) (p := p) (c := least p); [exact way_there| |exact piece].
    unfold before. now rewrite is_it.
Qed.

(* Of the items that come to a first hop in a window there are no more than the source allows. *)
Lemma comes_in p w t : real m domains p -> before p = None -> exists k, forall l,
  (w <= release (inner (fst p)) (snd p, l) < w + t)%nat ->
  (k <= l < k + ceiling (t + jitter (member domains p)) (period (member domains p)))%nat.
Proof.
  intros its from. pose proof legal as [_ passed].
  pose (r := {| arrival := fun j => arrival (inner (fst p)) (snd p, snd j);
                release := fun j => release (inner (fst p)) (snd p, snd j);
                work := fun j => work (inner (fst p)) (snd p, snd j); runs := fun _ => None |}).
  apply (released_in 1 (fun _ => member domains p) r 0 w t);
    [|apply Nat.lt_0_1|now apply some_period].
  intros i l _. destruct (passed p l its) as (apart & costs & law). unfold before in from.
  rewrite from in law. split; [exact apart|]. split; [exact law|exact costs].
Qed.

End Whole.

(* If the checker finds nothing, in every run no task of a judged domain is late, those that are
   hops among them, each item is through its flow in time, and no queue drops one. *)
Theorem check_sound sys : check sys = None ->
  forall hosts inner, system_run sys hosts inner ->
  (forall s, let d := domain_of (judged_vm sys s) in in_time (size d) (members d) (inner s)) /\
  (forall one, In one (s_flows sys) -> through_in_time one inner /\ in_queue one inner).
Proof.
  intros good hosts inner legal. pose proof legal as [runs passed].
  destruct (all_served sys good hosts inner legal) as (arrives & gets & supplies).
  pose proof (spread_known sys good arrives) as circle.
  pose proof (some_period sys good) as shape. split.
  - intros s d j inside_it.
    destruct (placed sys s) as (low & judged & there & i & inside_pcpu & is_it & same);
      [unfold d in inside_it; lia|].
    destruct (v_form (judged_vm sys s)) eqn:form.
    { apply (hops_in_time _ _ _ _ inner arrives gets _ shape passed supplies circle s low);
        [|exact inside_it].
      apply (general_fits sys good); [unfold d in inside_it; lia|exact form]. }
    pose proof (pcpu_in_time sys good _ _ _ (runs (v_pcpu (judged_vm sys s))) i inside_pcpu)
      as in_it.
    rewrite same, is_it in in_it. apply in_it; [exact judged| |exact inside_it].
    intros k l inside_too.
    destruct (passed (s, k) l (conj low inside_too)) as (apart & costs & law).
    cbn [fst snd] in *.
    destruct (check_parts sys good) as (_ & each & _).
    destruct (each _ there judged) as [_ spreads].
    assert (In (row_at sys (s, k)) (v_tasks (judged_vm sys s))) as row
      by (apply nth_row; now rewrite <- size_is).
    specialize (spreads _ row). unfold spread_fails in spreads. rewrite form in spreads.
    destruct (r_before (row_at sys (s, k))); [discriminate|]. split; [exact apart|].
    split; [exact law|exact costs].
  - intros one there. destruct (check_parts sys good) as (_ & _ & each).
    specialize (each one there).
    unfold flow_fails in each. destruct (linked sys (f_hops one)) eqn:links; [|discriminate].
    cbn [negb] in each. set (W := total _ (f_hops one)) in each.
    destruct (N.ltb_spec (f_deadline one) W) as [|short]; [discriminate|].
    apply not_above in each.
    destruct (linked_way sys good arrives _ links) as (there_way & real_one & first & from).
    assert (done : forall k, let p := f_first one in let q := f_last one in
      (0 < work (inner (fst q)) (snd q, k))%nat -> complete (inner (fst q)) (snd q, k)
        (release (inner (fst p)) (snd p, k) + N.to_nat W)).
    { intros k p q. exact (flow_in_time _ _ _ _ inner arrives gets _ _ _ _ k shape passed supplies
        circle there_way real_one). }
    split.
    + intros k p q some. apply (complete_later _ _ _ _ (done k some)), Nat.add_le_mono_l. lia.
    + set (t := N.to_nat (N.max 1 W)).
      intros x.
      destruct (comes_in sys good hosts inner legal (f_first one) (x + 1 - t) t first from)
        as (k & few).
      exists k. intros l p q on_it.
      assert (k <= l < k + ceiling (t + N.to_nat (r_jitter (row_at sys (f_first one))))
        (N.to_nat (r_period (row_at sys (f_first one)))))%nat as within_it.
      { rewrite (member_is sys) in few. apply few. fold p.
        destruct on_it as [now|[come left_over]]; [lia|]. split; [|lia].
        apply Nat.nlt_ge. intros early. apply left_over.
        destruct (Nat.eq_dec (work (inner (fst q)) (snd q, l)) 0) as [none|some];
          [unfold complete; lia|].
        apply (complete_later _ _ _ _ (done l ltac:(fold q; lia))). fold p. lia. }
      unfold t in within_it. rewrite <- N2Nat.inj_add, <- up_is in within_it. lia.
Qed.
