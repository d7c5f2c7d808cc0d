(* SPDX-License-Identifier: BSD-2-Clause *)
(* What the checker accepts is in time in every run.

   First the checker's numbers are those of model.v. Then its two ways of deciding EDF are right,
   then it is taken apart, from the whole answer to the conditions of the theorems in host.v,
   deferrable.v and cbs_supply.v. *)

From Coq Require Import Arith Bool NArith String List Lia.
Import ListNotations.
From Hyperperiod Require Import model supply tasks harmonic host deferrable cbs cbs_supply system
  check.

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

Lemma ranked_length rows : length (ranked rows) = length rows.
Proof.
  unfold ranked. generalize (N.of_nat (length rows)). intros n. generalize 0.
  induction rows as [|one rest IH]; intros place; [reflexivity|]. cbn [in_file_order length].
  now rewrite IH.
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
Lemma tied_is vms : forall i, (i < length vms)%nat ->
  nth i (tied (map v_server vms)) (0, no_row) =
  (r_number (v_server (nth i vms no_vm)), v_server (nth i vms no_vm)).
Proof.
  unfold tied. rewrite map_map. induction vms as [|one rest IH]; cbn [length]; [lia|].
  intros [|i] inside; [reflexivity|]. cbn [map nth]. apply IH. lia.
Qed.

Lemma not_above a b why : (if a <=? b then None else Some why) = None :> option string -> a <= b.
Proof. now destruct (N.leb_spec a b). Qed.

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
  intros inside. unfold check in good. destruct (first _ _) eqn:pcpus in good; [discriminate|].
  apply (first_none _ _ pcpus). apply nodup_In.
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

Let rows := tied (map v_server vms).
Let row_is := tied_is vms.

Lemma rows_length : length rows = length vms.
Proof. unfold rows, tied. now rewrite !map_length. Qed.

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

(* No task of a judged domain is late, in any run, if the checker finds nothing. *)
Theorem check_sound sys : check sys = None ->
  forall p h inner, run_of sys p h inner ->
  forall s, (s < length (on_pcpu sys p))%nat ->
    let one := nth s (on_pcpu sys p) no_vm in
    v_judged one = true -> in_time (size (domain_of one)) (members (domain_of one)) (inner s).
Proof.
  intros good p h inner legal s inside one judged.
  destruct (numbers_good sys good p s inside) as (server & _ & _). fold one in server.
  destruct (vms_real sys p s inside) as [real _]. fold one in real.
  destruct legal as (pays_so & shared & domains).
  destruct (domains s inside judged) as [within_it on_time].
  fold one in within_it, on_time.
  pose proof good as all_fine. unfold check in all_fine.
  destruct (first _ _) in all_fine; [discriminate|].
  pose proof (first_none _ _ all_fine _ real) as fine. cbn beta in fine. rewrite judged in fine.
  cbn [also_if] in fine.
  destruct (domain_enough (s_policy sys) one fine server) as (positive & test & special).
  assert (shape : forall i, (i < size (domain_of one))%nat ->
    In (nth i (ranked (v_tasks one)) (0, no_row)) (ranked (v_tasks one))).
  { intros i low. now apply nth_row. }
  assert (some_period : forall i, (i < size (domain_of one))%nat ->
    (0 < period (members (domain_of one) i))%nat).
  { intros i low. specialize (shape i low). cbn [domain_of members]. unfold nth_task.
    destruct (nth i (ranked (v_tasks one)) (0, no_row)) as [k each] eqn:is_it.
    specialize (positive k each shape). cbn. lia. }
  rewrite blackout_is in test. destruct (s_policy sys) as [by_rule by_order|] eqn:is_it.
  - pose proof (server_guaranteed sys good p h by_rule by_order s is_it pays_so shared inside
      judged) as promised. cbn [server_of every budget within] in promised. fold one in promised.
    apply (domain_in_time _ _ _ _ _ by_rule h s (domain_of one) (inner s) shared within_it)
      with (3 := promised); [lia|lia|assumption|].
    destruct (v_form one); [now left|]. right.
    destruct (special eq_refl) as (not_polling & _ & specials).
    assert (conditions : forall i, (i < size (domain_of one))%nat ->
      let each := snd (nth i (ranked (v_tasks one)) (0, no_row)) in
      r_strict each = true /\ r_jitter each = 0 /\ r_deadline each <= r_period each /\
      divided (r_period (v_server one)) (r_period each) = true /\ 0 < r_period each).
    { intros i low each. specialize (shape i low). specialize (specials _ shape).
      unfold harmonic_fails in specials. fold each in specials.
      destruct (_ && _)%bool eqn:all in specials; [|discriminate].
      apply andb_prop in all as [all dividing]. apply andb_prop in all as [all tight].
      apply andb_prop in all as [strict none]. apply N.eqb_eq in none. apply N.leb_le in tight.
      repeat split; try assumption. unfold each.
      destruct (nth i (ranked (v_tasks one)) (0, no_row)) as [k it]. now apply (positive k). }
    split; [intros ->; now apply (not_polling by_order)|]. split; [|split; [|split]].
    + intros i low. destruct (conditions i low) as (_ & none & tight & _ & some).
      cbn [domain_of members]. unfold nth_task, task_of. cbn [period deadline jitter]. lia.
    + intros i k low. destruct (conditions i low) as (strict & none & _).
      now apply on_time.
    + intros i low. destruct (conditions i low) as (_ & _ & _ & dividing & some).
      cbn [domain_of members]. unfold nth_task, task_of. cbn [period].
      unfold divided in dividing.
      apply orb_prop in dividing as [whole|whole]; apply N.eqb_eq in whole.
      * left. exists (N.to_nat (r_period (v_server one)
          / r_period (snd (nth i (ranked (v_tasks one)) (0, no_row))))).
        rewrite <- N2Nat.inj_mul. f_equal. pose proof (N.div_mod (r_period (v_server one))
          (r_period (snd (nth i (ranked (v_tasks one)) (0, no_row))))). lia.
      * right. exists (N.to_nat (r_period (snd (nth i (ranked (v_tasks one)) (0, no_row)))
          / r_period (v_server one))).
        rewrite <- N2Nat.inj_mul. f_equal.
        pose proof (N.div_mod (r_period (snd (nth i (ranked (v_tasks one)) (0, no_row))))
          (r_period (v_server one))). lia.
    + exact test.
  - destruct pays_so as (arrives & come & pays_so & begun).
    apply (cbs_in_time _ _ (s_slack sys) arrives h s (domain_of one) (inner s))
      with (2 := come) (3 := pays_so); try assumption.
    + intros i low. destruct (numbers_good sys good p i low) as (some & _). cbn. lia.
    + pose proof (test_known sys good p s inside judged) as enough. now rewrite is_it in enough.
    + now apply begun.
    + unfold general_bound. cbn [server_of every budget]. fold one.
      destruct (v_form one); [exact test|]. now destruct (special eq_refl) as (_ & not_it & _).
Qed.
