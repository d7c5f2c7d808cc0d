(* SPDX-License-Identifier: BSD-2-Clause *)
(* The harmonic supply bound, half of the blackout, for tasks in phase with their server.

   All tasks are released at multiples of their periods and due by the next one, the server's
   periods begin at multiples of its own, and each task's period divides that or is divided by
   it. Then the tests of tasks.v hold with the harmonic form of sbf (domains/harmonic_supply.py;
   the paper's Eq. 1 says "harmonic" and no more). The analysis asks for more: that the periods of
   any two tasks divide as well.

   The window of a late job (tasks.v) begins at an instant w. If that is a multiple of the server's
   period, the window begins with a period of the server. If not, nothing that is released from w
   up to the next multiple has a period that the server's divides, so all of it is due by then. If
   the late job's window ends by then it lies in one period of the server. If not, all that was
   released in between was in time, and nothing is left over at the multiple, although w was the
   last instant at which that is so. *)

From Coq Require Import Arith Lia.
From Hyperperiod Require Import model supply tasks.

Section Harmonic.
Context (P B n : nat) (tasks : nat -> task) (gets : supply) (r : run).
Context (budget : 0 < B <= P) (law : deferrable P B (busy n r) gets).
Context (shape : constrained n tasks).
Context (phase : in_phase n tasks r) (dividing : divides n tasks P).

(* A job that is released less than P before a multiple of P, at w or later, is due by then. *)
Lemma due_by h l q w : h < n -> q * P < w + P -> w <= release r (h, l) < q * P ->
  due tasks r (h, l) <= q * P.
Proof.
  intros inside near here. destruct (shape h inside) as [some short].
  unfold due. cbn [fst]. rewrite (phase h l inside) in *.
  destruct (dividing h inside) as [[m divided]|[m whole]].
  - assert (S l <= q * m) by nia.
    assert (S l * period (tasks h) <= q * m * period (tasks h)) by now apply Nat.mul_le_mono_r.
    nia.
  - exfalso. rewrite whole in here. assert (S (l * m) <= q) by nia.
    assert (S (l * m) * P <= q * P) by now apply Nat.mul_le_mono_r. nia.
Qed.

(* Of a late job: the window from the last quiet instant w on has the bound. *)
Lemma window_supplied these i k w t : i < n -> w <= release r (i, k) ->
  w + t <= due tasks r (i, k) ->
  (forall y, w < y <= release r (i, k) -> ~ quiet n r these y) -> quiet n r these w ->
  (forall j, these j -> fst j < n -> due tasks r j < due tasks r (i, k) ->
     complete r j (due tasks r j)) ->
  throughout (busy n r) w t ->
  sbf P B (harmonic P B) t <= amount gets w t.
Proof.
  intros inside early short latest nothing timely working.
  destruct (parts P w) as (q & o & part & begins); [lia|].
  apply (harmonic_supply P B (busy n r) gets budget law q w t working).
  destruct (Nat.eq_dec o 0) as [|off]; [left; lia|]. right. split; [lia|].
  destruct (Nat.le_gt_cases (due tasks r (i, k)) (S q * P)) as [one|more]; [cbn in one; lia|].
  exfalso. destruct (Nat.le_gt_cases (S q * P) (release r (i, k))) as [later|sooner].
  - apply (latest (S q * P)); [cbn [Nat.mul]; lia|]. intros [h l] this real before. cbn in real.
    destruct (Nat.le_gt_cases w (release r (h, l))) as [new|old].
    + assert (due tasks r (h, l) <= S q * P).
      { apply (due_by h l (S q) w); [assumption|cbn [Nat.mul]; lia|lia]. }
      apply (complete_later r (h, l) (due tasks r (h, l))); [|assumption].
      apply timely; [assumption..|lia].
    + apply (complete_later r (h, l) w); [|cbn [Nat.mul]; lia]. now apply nothing.
  - assert (due tasks r (i, k) <= S q * P); [|lia].
    apply (due_by i k (S q) w); [assumption|cbn [Nat.mul]; lia|lia].
Qed.

End Harmonic.

Theorem fixed_priority_harmonic P B n tasks rank gets r :
  0 < B <= P -> deferrable P B (busy n r) gets ->
  constrained n tasks -> in_phase n tasks r -> divides n tasks P ->
  jobs_of n tasks r -> fixed_priority n rank gets r ->
  (forall i, i < n -> in_windows n tasks rank (sbf P B (harmonic P B)) i) ->
  in_time n tasks r.
Proof.
  intros budget law shape phase dividing jobs legal test j inside.
  remember (due tasks r j) as d eqn:at_d. revert j inside at_d.
  induction d as [d sooner] using lt_wf_ind. intros [i k] inside ->. cbn in inside.
  destruct (complete_or_not r (i, k) (due tasks r (i, k))) as [|missed]; [assumption|]. exfalso.
  apply (late_fixed_priority n tasks rank gets r i k (fun h low => proj1 (shape h low)) jobs legal
    inside missed).
  intros (w & early & latest & nothing & working & less).
  destruct (less _ (test i inside)) as (t & short & fewer).
  assert (sbf P B (harmonic P B) t <= amount gets w t); [|lia].
  apply (window_supplied P B n tasks gets r budget law shape phase dividing
    (fun j => rank (fst j) <= rank i) i k); try assumption.
  - intros j _ real first. now apply (sooner (due tasks r j)).
  - apply (throughout_part _ _ _ _ _ working); lia.
Qed.

Theorem edf_harmonic P B n tasks gets r :
  0 < B <= P -> deferrable P B (busy n r) gets ->
  constrained n tasks -> in_phase n tasks r -> divides n tasks P ->
  jobs_of n tasks r -> edf n tasks gets r ->
  (forall t, dbf n tasks t <= sbf P B (harmonic P B) t) ->
  in_time n tasks r.
Proof.
  intros budget law shape phase dividing jobs legal test j inside.
  remember (due tasks r j) as d eqn:at_d. revert j inside at_d.
  induction d as [d sooner] using lt_wf_ind. intros [i k] inside ->. cbn in inside.
  destruct (complete_or_not r (i, k) (due tasks r (i, k))) as [|missed]; [assumption|]. exfalso.
  apply (late_edf n tasks gets r i k (fun h low => proj1 (shape h low)) jobs legal inside missed).
  intros (w & early & latest & nothing & working & less).
  pose proof (test (due tasks r (i, k) - w)).
  assert (sbf P B (harmonic P B) (due tasks r (i, k) - w)
          <= amount gets w (due tasks r (i, k) - w)); [|lia].
  apply (window_supplied P B n tasks gets r budget law shape phase dividing
    (fun j => due tasks r j <= due tasks r (i, k)) i k); try assumption.
  - unfold due in *. cbn [fst] in *. lia.
  - intros j _ real first. now apply (sooner (due tasks r j)).
Qed.
