(* SPDX-License-Identifier: BSD-2-Clause *)
(* A decider: whether a schedule keeps the laws of model.v. Definitions, and no proof.

   A schedule is what happened at the first instants on a pcpu, and the jobs of its judged domains.
   `lawful` says which law is broken first, in words, or None. By `lawful_begins` (beginnings.v) it
   says None of just those schedules that a run begins with.

   So what a scheduler did can be held against the model that the theorems are about. The past is a
   list, the last instant first. *)

From Coq Require Import Arith Bool NArith String List.
Import ListNotations.
From Hyperperiod Require Import model system check.

(* The first of a list among those that are open: one with the lowest key. *)
Fixpoint best {A : Type} (key : A -> nat) (open : A -> bool) (l : list A) : option A :=
  match l with
  | [] => None
  | one :: rest =>
      match best key open rest with
      | Some other => if open one && (key one <=? key other) then Some one else Some other
      | None => if open one then Some one else None
      end
  end.

(* How often a job is among those that ran at each instant of the past. *)
Fixpoint times (j : job) (past : list (option job)) : nat :=
  match past with
  | [] => 0
  | who :: rest => times j rest + (if is j who then 1 else 0)
  end.

(* Job j is released by x and not done. *)
Definition open (release work : job -> nat) (x : nat) (past : list (option job)) (j : job) : bool :=
  (release j <=? x) && (times j past <? work j).

(* Who pays, who pays beside that one, whose domain has the processor, which of its jobs runs, and
   which domains that are not judged have work. *)
Record moment := {
  payer : option nat; second : option nat; owner : option nat; task_job : option job;
  others : list nat
}.

Definition charge (s : nat) (one : moment) : bool := here s (payer one) || here s (second one).
Definition ran (s : nat) (one : moment) : option job :=
  if here s (owner one) then task_job one else None.

(* What server s was charged in the last u instants. *)
Fixpoint spent (s u : nat) (past : list moment) : nat :=
  match u, past with
  | S v, one :: rest => spent s v rest + (if charge s one then 1 else 0)
  | _, _ => 0
  end.

(* Whether f holds of who it is, if it is anybody. *)
Definition each {A : Type} (who : option A) (f : A -> bool) : bool :=
  match who with
  | Some one => f one
  | None => true
  end.

Definition some {A : Type} (who : option A) : bool :=
  match who with
  | Some _ => true
  | None => false
  end.

Local Open Scope string_scope.
Local Open Scope nat_scope.

Section Instant.
Context (by_rule : rule) (m : nat) (servers : nat -> server) (by_order : order) (by_slack : slack).

(* Which servers have judged domains, those, their releases and work, and jobs of a domain among
   which are all that are pending at an instant. *)
Context (judged : nat -> bool) (domains : nat -> domain) (given : nat -> run).
Context (candidates : nat -> nat -> list job).

Definition rich (x : nat) (past : list moment) (s : nat) : bool :=
  spent s (x mod every (servers s)) past <? budget (servers s).

Definition is_open (x : nat) (past : list moment) (s : nat) : job -> bool :=
  open (release (given s)) (work (given s)) x (map (ran s) past).

Definition key_of (s : nat) : job -> nat := local_key (domains s) (given s).

(* The first of the open jobs of j's task that have its key. *)
Definition first_alike (x : nat) (past : list moment) (s : nat) (j : job) : option job :=
  best snd (fun other => is_open x past s other && (fst other =? fst j)
                         && (key_of s other =? key_of s j)) (candidates s x).

Definition next_job (x : nat) (past : list moment) (s : nat) : option job :=
  match best (key_of s) (is_open x past s) (candidates s x) with
  | Some j => first_alike x past s j
  | None => None
  end.

Definition works (x : nat) (past : list moment) (not_judged : list nat) (s : nat) : bool :=
  if judged s then some (next_job x past s) else existsb (Nat.eqb s) not_judged.

(* Server s had work at each of the last u instants. *)
Fixpoint worked (s u : nat) (past : list moment) : bool :=
  match u, past with
  | S v, one :: rest => works (length rest) rest (others one) s && worked s v rest
  | _, _ => true
  end.

(* Whether server s may pay if it has budget. *)
Definition ready (x : nat) (past : list moment) (not_judged : list nat) (s : nat) : bool :=
  match by_rule with
  | Periodic => true
  | Deferrable => works x past not_judged s
  | Polling => works x past not_judged s && worked s (x mod every (servers s)) past
  end.

(* What is kept, if the law is kept, of `first_pays`, `sharing` and `scheduled`, in their order. *)
Definition laws (x : nat) (past : list moment) (one : moment) : list (string * bool) :=
  let working := works x past (others one) in
  let has_budget := rich x past in
  let may s := has_budget s && ready x past (others one) s in
  [("who pays has no budget",
    each (payer one) (fun s => (s <? m) && may s));
   ("one with budget comes before who pays",
    each (best (fun s => place by_order servers s x) may (seq 0 m)) (fun s =>
      match payer one with
      | Some other => place by_order servers other x <=? place by_order servers s x
      | None => false
      end));
   ("who has the processor has no work",
    each (owner one) working);
   ("who pays has work, and not the processor",
    each (payer one) (fun s => negb (working s) || here s (owner one)));
   ("who has the processor may not have the time of who pays",
    each (owner one) (fun s => here s (payer one) ||
      match by_slack with
      | Idle => false
      | Lend => some (payer one) && here s (second one)
      | Reclaim => some (payer one)
      | Behind => negb (some (payer one))
      end));
   ("who pays as well should not, or has no budget",
    each (second one) (fun s =>
      match by_slack with Lend => true | _ => false end && here s (owner one)
      && negb (here s (payer one)) && has_budget s));
   ("the job that runs is not released, or done",
    each (owner one) (fun s => negb (judged s) ||
      each (task_job one) (fun j => (fst j <? size (domains s)) && is_open x past s j)));
   ("a job comes before the one that runs",
    each (owner one) (fun s => negb (judged s) ||
      each (next_job x past s) (fun first =>
        match task_job one with
        | Some j => key_of s j <=? key_of s first
        | None => false
        end)));
   ("an earlier job of the task that runs is not done",
    each (owner one) (fun s => negb (judged s) ||
      each (task_job one) (fun j =>
        each (first_alike x past s j) (fun first => snd j <=? snd first))))].

Definition broken (x : nat) (past : list moment) (one : moment) : option string :=
  first (fun law => if snd law : bool then None
                    else Some ("at " ++ show (N.of_nat x) ++ ": " ++ fst law))
    (laws x past one).

Fixpoint history_broken (past : list moment) : option string :=
  match past with
  | [] => None
  | one :: rest =>
      match history_broken rest with
      | None => broken (length rest) rest one
      | found => found
      end
  end.

End Instant.

(* * Jobs *)

Record entry := { arrives : nat; released_at : nat; works_for : nat }.

(* The k-th job of a task whose period is P and which comes at `from` at the earliest. The list has
   the first ones; those behind it come as soon as they may, and have no work. *)
Fixpoint entry_of (P from : nat) (entries : list entry) (k : nat) : entry :=
  match entries, k with
  | [], _ => {| arrives := from + k * P; released_at := from + k * P; works_for := 0 |}
  | one :: _, 0 => one
  | one :: rest, S l => entry_of P (arrives one + P) rest l
  end.

(* What `jobs_of` asks for, and of strict tasks without jitter `punctual`. *)
Fixpoint entries_right (T : task) (strict : bool) (from : nat) (entries : list entry) : bool :=
  match entries with
  | [] => true
  | one :: rest =>
      (from <=? arrives one) && (arrives one <=? released_at one)
      && (released_at one <=? arrives one + jitter T) && (works_for one <=? cost T)
      && (negb strict || (released_at one =? from))
      && entries_right T strict (arrives one + period T) rest
  end.

(* The jobs of a domain: of each task the first ones. *)
Definition entries_run (d : domain) (entries : list (list entry)) : run :=
  let its (j : job) := entry_of (period (members d (fst j))) 0 (nth (fst j) entries []) (snd j) in
  {| arrival := fun j => arrives (its j); release := fun j => released_at (its j);
     work := fun j => works_for (its j); runs := fun _ => None |}.

Definition entries_jobs (d : domain) (entries : list (list entry)) : list job :=
  flat_map (fun i => map (pair i) (seq 0 (length (nth i entries [])))) (seq 0 (size d)).

Definition strict_task (one : vm) (i : nat) : bool :=
  let its := snd (nth i (ranked (v_tasks one)) (0%N, no_row)) in
  r_strict its && (r_jitter its =? 0)%N.

Definition entries_fail (one : vm) (entries : list (list entry)) : option string :=
  first (fun i =>
      if entries_right (members (domain_of one) i) (strict_task one i) 0 (nth i entries [])
      then None
      else Some (r_name (v_server one) ++ ": task " ++ show (N.of_nat i)
                 ++ ": no such releases or work"))
    (seq 0 (size (domain_of one))).

(* The first law that is broken on pcpu p of a system, by the jobs of its domains, in the order of
   the servers, or at an instant. *)
Definition judged_on (vms : list vm) (s : nat) : bool :=
  (s <? length vms) && v_judged (nth s vms no_vm).

Definition given_on (vms : list vm) (entries : list (list (list entry))) (s : nat) : run :=
  entries_run (domain_of (nth s vms no_vm)) (nth s entries []).

Definition lawful (sys : system) (p : N) (entries : list (list (list entry)))
    (schedule : list moment) : option string :=
  let vms := on_pcpu sys p in
  match first (fun s => also_if (judged_on vms s)
                (entries_fail (nth s vms no_vm) (nth s entries []))) (seq 0 (length vms)) with
  | None =>
      match s_policy sys with
      | Periods by_rule by_order =>
          history_broken by_rule (length vms) (fun i => server_of (nth i vms no_vm)) by_order
            (s_slack sys) (judged_on vms) (fun s => domain_of (nth s vms no_vm))
            (given_on vms entries)
            (fun s _ => entries_jobs (domain_of (nth s vms no_vm)) (nth s entries [])) schedule
      | Bandwidth => Some "constant bandwidth servers are not decided"
      end
  | found => found
  end.
