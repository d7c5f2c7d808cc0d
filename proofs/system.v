(* SPDX-License-Identifier: BSD-2-Clause *)
(* A system as the checker sees it, and what is a run of it: definitions, and no proof.

   A `system` is one with all interfaces in it and, beside each server and each task, what its
   certificate says: windows, or for EDF a horizon with points, which mean nothing to a run, and of
   a hop jitter and response. How a system file and a certificate become a `system` stands in
   reader.v. Numbers are binary here, since they are computed with; a run is one of model.v and
   flows.v, by N.to_nat. *)

From Coq Require Import NArith String List.
Import ListNotations.
From Hyperperiod Require Import model cbs flows.

Local Open Scope N_scope.

(* * A system and its certificate *)

(* A task, or a server among servers. The number orders it, the lower the higher; equals may go in
   any order. `strict` is a periodic task without offset. No window: 0. What demand and supply in it
   are is told for people. If the window is not enough for all jobs, there is one for each, from its
   first on.

   A hop of a flow is a row as well, one for each visit: it has the period of the source, its
   deadline bounds its response, it works for `least` at least, and items come to it from the hop
   before, if it is not the first one. *)
Record row := {
  r_name : string; r_number : N;
  r_cost : N; r_period : N; r_deadline : N; r_jitter : N; r_strict : bool;
  r_least : N; r_before : option place;
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

(* A flow: its hops, the last one first, each the number of a domain and that of a row in it, by
   when its items are to be through, counted from the release at the first hop, and how many may be
   on their way at once. *)
Record flow := { f_name : string; f_hops : list place; f_deadline : N; f_queue : N }.

Record system := { s_policy : policy; s_slack : slack; s_vms : list vm; s_flows : list flow }.

(* * What it means *)

Definition no_row : row :=
  {| r_name := EmptyString; r_number := 0; r_cost := 0; r_period := 0; r_deadline := 0;
     r_jitter := 0; r_strict := false; r_least := 0; r_before := None;
     r_window := 0; r_demand := None; r_supply := None;
     r_jobs := [] |}.

Definition task_of (one : row) : task :=
  {| cost := N.to_nat (r_cost one); period := N.to_nat (r_period one);
     deadline := N.to_nat (r_deadline one); jitter := N.to_nat (r_jitter one) |}.

Definition server_of (one : vm) : server :=
  let its := v_server one in
  {| every := N.to_nat (r_period its); budget := N.to_nat (r_cost its);
     within := N.to_nat (r_period its); rank := N.to_nat (r_number its) |}.

Definition ranked (rows : list row) : list (N * row) := map (fun one => (r_number one, one)) rows.

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

(* Domain s of all; a domain that is not judged has no tasks here. *)
Definition judged_vm (sys : system) (s : nat) : vm :=
  let one := nth s (s_vms sys) no_vm in if v_judged one then one else no_vm.

Definition row_at (sys : system) (p : place) : row :=
  nth (snd p) (v_tasks (judged_vm sys (fst p))) no_row.

(* The numbers of the domains on pcpu p, in the order of `on_pcpu`. *)
Definition numbers_on (sys : system) (p : N) : list nat :=
  filter (fun s => v_pcpu (nth s (s_vms sys) no_vm) =? p) (seq 0 (length (s_vms sys))).

(* Strict tasks without jitter come at multiples of their periods. *)
Definition punctual (one : vm) (r : run) : Prop :=
  forall i k, (i < length (ranked (v_tasks one)))%nat ->
    r_strict (snd (nth i (ranked (v_tasks one)) (0, no_row))) = true ->
    r_jitter (snd (nth i (ranked (v_tasks one)) (0, no_row))) = 0 ->
    release r (i, k) = (k * period (members (domain_of one) i))%nat.

(* A run of pcpu p: its servers, and inside those that are judged the jobs that there are. *)
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
    hosted h s (domain_of (nth s vms no_vm)) (inner s) /\ punctual (nth s vms no_vm) (inner s)).

(* A run of all pcpus: jobs come as their tasks say, and items go on from hop to hop. *)
Definition system_run (sys : system) (hosts : N -> host) (inner : nat -> run) : Prop :=
  (forall p, run_of sys p (hosts p) (fun i => inner (nth i (numbers_on sys p) 0%nat))) /\
  passed_on (length (s_vms sys)) (fun s => domain_of (judged_vm sys s))
    (fun p => r_before (row_at sys p)) (fun p => N.to_nat (r_least (row_at sys p))) inner.

Definition f_first (one : flow) : place := List.last (f_hops one) (0, 0)%nat.
Definition f_last (one : flow) : place := hd (0, 0)%nat (f_hops one).

(* Each item that comes to the end of a flow is through by its deadline. *)
Definition through_in_time (one : flow) (inner : nat -> run) : Prop := forall k,
  let p := f_first one in
  let q := f_last one in
  (0 < work (inner (fst q)) (snd q, k))%nat ->
  complete (inner (fst q)) (snd q, k)
    (release (inner (fst p)) (snd p, k) + N.to_nat (f_deadline one)).

(* Items that come at an instant, dropped ones too, and those that are on their way then are no more
   than the queue holds: it drops none. *)
Definition in_queue (one : flow) (inner : nat -> run) : Prop := forall x, exists k, forall l,
  let p := f_first one in
  let q := f_last one in
  release (inner (fst p)) (snd p, l) = x \/
    ((release (inner (fst p)) (snd p, l) <= x)%nat /\ ~ complete (inner (fst q)) (snd q, l) x) ->
  (k <= l < k + N.to_nat (f_queue one))%nat.
