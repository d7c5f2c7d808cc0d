(* SPDX-License-Identifier: BSD-2-Clause *)
(* A system as the checker sees it, and what is a run of it: definitions, and no proof.

   A `system` is one with all interfaces in it and, beside each server and each task, what its
   certificate says: windows, or for EDF a horizon with points, which mean nothing to a run. How a
   system file and a certificate become a `system` stands in reader.v. Numbers are binary here,
   since they are computed with; a run is one of model.v, by N.to_nat. *)

From Coq Require Import NArith String List.
Import ListNotations.
From Hyperperiod Require Import model cbs.

Local Open Scope N_scope.

(* * A system and its certificate *)

(* A task, or a server among servers. The number orders it: its period, its deadline or what is
   given, the lower the higher. `strict` is a periodic task without offset. No window: 0. What
   demand and supply in it are is told for people. If the window is not enough for all jobs, there
   is one for each, from its first on. *)
Record row := {
  r_name : string; r_number : N;
  r_cost : N; r_period : N; r_deadline : N; r_jitter : N; r_strict : bool;
  r_window : N; r_demand : option N; r_supply : option N; r_jobs : list N
}.

Inductive form := General | Harmonic.
Inductive ordering := Fixed | Edf.

(* A domain with its server. One that is not judged has work whenever it likes. *)
Record vm := {
  v_server : row; v_pcpu : N; v_judged : bool;
  v_order : ordering; v_tasks : list row;
  v_form : form; v_horizon : N; v_multiple : N; v_points : list N
}.

(* Servers with fixed periods, by a budget rule and in an order, or constant bandwidth servers,
   under EDF. *)
Inductive policy := Periods (by_rule : rule) (by_order : order) | Bandwidth.

Record system := { s_policy : policy; s_slack : slack; s_vms : list vm }.

(* * What it means *)

Definition no_row : row :=
  {| r_name := EmptyString; r_number := 0; r_cost := 0; r_period := 0; r_deadline := 0;
     r_jitter := 0; r_strict := false; r_window := 0; r_demand := None; r_supply := None;
     r_jobs := [] |}.

Definition task_of (one : row) : task :=
  {| cost := N.to_nat (r_cost one); period := N.to_nat (r_period one);
     deadline := N.to_nat (r_deadline one); jitter := N.to_nat (r_jitter one) |}.

Definition server_of (one : vm) : server :=
  let its := v_server one in
  {| every := N.to_nat (r_period its); budget := N.to_nat (r_cost its);
     within := N.to_nat (r_period its); rank := N.to_nat (r_number its) |}.

(* Of equal numbers inside a domain, the first in the file is higher: number * n + place. *)
Fixpoint in_file_order (n place : N) (rows : list row) : list (N * row) :=
  match rows with
  | [] => []
  | one :: rest => (r_number one * n + place, one) :: in_file_order n (place + 1) rest
  end.

Definition ranked (rows : list row) : list (N * row) :=
  in_file_order (N.of_nat (length rows)) 0 rows.

(* Servers of equal numbers are equal. *)
Definition tied (rows : list row) : list (N * row) := map (fun one => (r_number one, one)) rows.

Definition nth_task (rows : list (N * row)) (i : nat) : task :=
  task_of (snd (nth i rows (0, no_row))).
Definition nth_rank (rows : list (N * row)) (i : nat) : nat :=
  N.to_nat (fst (nth i rows (0, no_row))).

Definition domain_of (one : vm) : domain :=
  let rows := ranked (v_tasks one) in
  {| size := length rows; members := nth_task rows;
     scheduler := match v_order one with
       | Fixed => FixedPriority (nth_rank rows)
       | Edf => EarliestDeadline
       end |}.

Definition no_vm : vm :=
  {| v_server := no_row; v_pcpu := 0; v_judged := false; v_order := Fixed; v_tasks := [];
     v_form := General; v_horizon := 0; v_multiple := 0; v_points := [] |}.

Definition on_pcpu (sys : system) (p : N) : list vm :=
  filter (fun one => v_pcpu one =? p) (s_vms sys).

(* Strict tasks without jitter come at multiples of their periods. *)
Definition punctual (one : vm) (r : run) : Prop :=
  forall i k, (i < length (ranked (v_tasks one)))%nat ->
    r_strict (snd (nth i (ranked (v_tasks one)) (0, no_row))) = true ->
    r_jitter (snd (nth i (ranked (v_tasks one)) (0, no_row))) = 0 ->
    release r (i, k) = (k * period (members (domain_of one) i))%nat.

(* A run of pcpu p: its servers, and inside those that are judged the tasks. *)
Definition run_of (sys : system) (p : N) (h : host) (inner : nat -> run) : Prop :=
  let vms := on_pcpu sys p in
  let servers i := server_of (nth i vms no_vm) in
  let judged (holds : nat -> Prop) :=
    forall s, (s < length vms)%nat -> v_judged (nth s vms no_vm) = true -> holds s in
  match s_policy sys with
  | Periods by_rule by_order => paying by_rule (length vms) servers by_order h
  | Bandwidth => exists arrives, arriving (length vms) arrives h /\
      earliest_pays (length vms) servers arrives h /\
      judged (fun s => anew arrives s (domain_of (nth s vms no_vm)) (inner s))
  end /\
  sharing (s_slack sys) servers h /\
  judged (fun s =>
    inside h s (domain_of (nth s vms no_vm)) (inner s) /\ punctual (nth s vms no_vm) (inner s)).
