(* SPDX-License-Identifier: BSD-2-Clause *)
(* The model that all theorems in this folder are about: definitions, and no proof.

   Time is in whole nanoseconds and begins with the first period of the server. Instant x stands
   for the nanosecond [x, x + 1): whoever has the processor has it for all of that.

   A domain runs on a server, which has a budget in every period. To the domain's tasks the
   scheduler around the server is no more than when the server has the processor: a `supply` says so
   of each instant. Three laws say what schedulers keep, `periodic`, `deferrable` and `polling`,
   after the budget rules of that name. That servers on one pcpu keep theirs is proved of a `host`,
   at the end of this file.

   The domain has `tasks`, numbered from 0. Job (i, k) is the k-th of task i. A `run` says when
   jobs arrive, when they are released, how long each really works, and which one runs at each
   instant. Arrivals of a task are at least its period apart, the first may come at any time, a
   release may be late by the jitter, a job works for its cost or less: for nothing at all if it
   never comes, so that a run with few jobs is one with many jobs of no work. Deadlines count from
   the release.

   Jobs are independent, preempted at no cost, never suspend themselves and end when their work is
   done; those of one task run in their order. A domain has one vcpu. A quantum only decides between
   equal tasks or servers, which is left open here. Not in the model: overheads, blocking, stolen
   time, flows, several vcpus, changes while it runs. *)

From Coq Require Import Arith.

(* How many of the t instants from a on have the property f. *)
Fixpoint amount (f : nat -> bool) (a t : nat) : nat :=
  match t with
  | 0 => 0
  | S u => amount f a u + (if f (a + u) then 1 else 0)
  end.

(* f 0 + ... + f (n - 1). *)
Fixpoint sum (n : nat) (f : nat -> nat) : nat :=
  match n with
  | 0 => 0
  | S m => sum m f + f m
  end.

(* Division, rounded up. *)
Definition ceiling (a b : nat) : nat := (a + b - 1) / b.

(* * Servers *)

(* Whether the server has the processor at an instant. *)
Definition supply := nat -> bool.

(* In every period of length P the server has the processor for B at least in the first D. With D
   = P that is anywhere in the period. Whether there is work for it does not matter: an idle
   server pays. *)
Definition periodic (P B D : nat) (gets : supply) : Prop :=
  forall k, B <= amount gets (k * P) D.

(* The property holds all the time in [a, a + t). *)
Definition throughout (busy : nat -> Prop) (a t : nat) : Prop :=
  forall x, a <= x < a + t -> busy x.

(* Budget that is not needed is kept to the end of the period. So a server that has work all the
   time in [a, a + t), within one period, goes without the processor for at most P - B of that, be
   it that others have it or that the budget is used up. *)
Definition deferrable (P B : nat) (busy : nat -> Prop) (gets : supply) : Prop :=
  forall k a t, k * P <= a -> a + t <= k * P + P -> throughout busy a t ->
    t <= amount gets a t + (P - B).

(* Budget that is not needed is lost. So the same is known only of work that is there when the
   period begins. *)
Definition polling (P B : nat) (busy : nat -> Prop) (gets : supply) : Prop :=
  forall k t, t <= P -> throughout busy (k * P) t -> t <= amount gets (k * P) t + (P - B).

(* The supply bound function, as the analysis computes it (domains/supply_bound.py): nothing during
   the blackout x, then the budget at the beginning of every period. Subtraction ends at 0. *)
Definition sbf (P B x t : nat) : nat := (t - x) / P * B + min ((t - x) mod P) B.

(* The blackouts of its three shapes. *)
Definition general (P B D : nat) : nat := (P - B) + (D - B).
Definition harmonic (P B : nat) : nat := P - B.
Definition late (P B : nat) : nat := P + (P - B).

(* The budget rules of which there is a law, and the blackout of each. Only periodic servers have
   an explicit deadline D. *)
Inductive rule := Periodic | Deferrable | Polling.

Definition keeps (P B D : nat) (by_rule : rule) (busy : nat -> Prop) (gets : supply) : Prop :=
  match by_rule with
  | Periodic => periodic P B D gets
  | Deferrable => deferrable P B busy gets
  | Polling => polling P B busy gets
  end.

Definition blackout (P B D : nat) (by_rule : rule) : nat :=
  match by_rule with
  | Periodic => general P B D
  | Deferrable => general P B P
  | Polling => late P B
  end.

(* Every window in which there is work throughout holds so much supply. *)
Definition supplies (busy : nat -> Prop) (gets : supply) (bound : nat -> nat) : Prop :=
  forall a t, throughout busy a t -> bound t <= amount gets a t.

(* * Tasks *)

Record task := { cost : nat; period : nat; deadline : nat; jitter : nat }.

Definition job := (nat * nat)%type.

Record run := {
  arrival : job -> nat;
  release : job -> nat;
  work : job -> nat;
  runs : nat -> option job
}.

Definition is (j : job) (who : option job) : bool :=
  match who with
  | Some (i, k) => (i =? fst j) && (k =? snd j)
  | None => false
  end.

(* How long the job has run before instant x. *)
Definition service (r : run) (j : job) (x : nat) : nat := amount (fun y => is j (runs r y)) 0 x.

Definition complete (r : run) (j : job) (x : nat) : Prop := work r j <= service r j x.

(* Job j of the n tasks is released and not complete. *)
Definition pending (n : nat) (r : run) (j : job) (x : nat) : Prop :=
  fst j < n /\ release r j <= x /\ ~ complete r j x.

(* The domain has work. *)
Definition busy (n : nat) (r : run) (x : nat) : Prop := exists j, pending n r j x.

(* The jobs are those of the first n tasks. *)
Definition jobs_of (n : nat) (tasks : nat -> task) (r : run) : Prop :=
  forall i k, i < n ->
    arrival r (i, k) + period (tasks i) <= arrival r (i, S k) /\
    arrival r (i, k) <= release r (i, k) <= arrival r (i, k) + jitter (tasks i) /\
    work r (i, k) <= cost (tasks i).

(* Who runs has the processor and is pending; while the domain has the processor and work, one runs,
   and it is one with the lowest key. Of those of one task with equal keys it is the first. *)
Definition scheduled (n : nat) (key : job -> nat) (gets : supply) (r : run) : Prop :=
  (forall x j, runs r x = Some j -> gets x = true /\ pending n r j x) /\
  (forall x j, gets x = true -> pending n r j x ->
     exists other, runs r x = Some other /\ key other <= key j /\
       (fst other = fst j -> key other = key j -> snd other <= snd j)).

Definition due (tasks : nat -> task) (r : run) (j : job) : nat :=
  release r j + deadline (tasks (fst j)).

(* What the harmonic form needs of tasks: deadlines no later than the next release. *)
Definition constrained (n : nat) (tasks : nat -> task) : Prop :=
  forall i, i < n -> 0 < period (tasks i) /\
    deadline (tasks i) + jitter (tasks i) <= period (tasks i).

(* And of jobs: all are released at multiples of their task's period, no offset, no jitter. *)
Definition in_phase (n : nat) (tasks : nat -> task) (r : run) : Prop :=
  forall i k, i < n -> release r (i, k) = k * period (tasks i).

(* The period of each task divides P, or P divides it. *)
Definition divides (n : nat) (tasks : nat -> task) (P : nat) : Prop :=
  forall i, i < n -> (exists m, P = m * period (tasks i)) \/ (exists m, period (tasks i) = m * P).

(* Preemptive fixed priority, the lowest rank first, and EDF. Nothing is said of equal keys of two
   tasks: of tasks of one rank either may go first, at every instant anew. Jobs of one task run in
   their order. *)
Definition fixed_priority (n : nat) (rank : nat -> nat) (gets : supply) (r : run) : Prop :=
  scheduled n (fun j => rank (fst j)) gets r.
Definition edf (n : nat) (tasks : nat -> task) (gets : supply) (r : run) : Prop :=
  scheduled n (due tasks r) gets r.

(* No job misses its deadline. *)
Definition in_time (n : nat) (tasks : nat -> task) (r : run) : Prop :=
  forall j, fst j < n -> complete r j (due tasks r j).

(* The most work of all of the n tasks that are not lower than task i, itself among them, that is
   released in a window of length t, as the analysis computes it (tasks/request_bound.py). *)
Definition rbf (n : nat) (tasks : nat -> task) (rank : nat -> nat) (i t : nat) : nat :=
  sum n (fun h =>
    if rank h <=? rank i
    then ceiling (t + jitter (tasks h)) (period (tasks h)) * cost (tasks h)
    else 0).

(* The same, with q jobs of task i in place of all of its own. *)
Definition job_rbf (n : nat) (tasks : nat -> task) (rank : nat -> nat) (i q t : nat) : nat :=
  sum n (fun h =>
    if rank h <=? rank i
    then (if h =? i then q else ceiling (t + jitter (tasks h)) (period (tasks h))) * cost (tasks h)
    else 0).

(* The test of task i under fixed priority. As long as there is work that is not lower, it is done
   within L. Of the task's jobs that come meanwhile the q-th comes no earlier than (q - 1) periods
   after the beginning, but for the jitter; a window up to its deadline holds what is to be done
   until then. *)
Definition in_windows (n : nat) (tasks : nat -> task) (rank : nat -> nat) (bound : nat -> nat)
  (i : nat) : Prop :=
  let own := tasks i in
  exists L (t : nat -> nat), 0 < L /\ rbf n tasks rank i L <= bound L /\
    forall q, 0 < q <= ceiling (L + jitter own) (period own) ->
      t q <= (q - 1) * period own - jitter own + deadline own /\
      job_rbf n tasks rank i q (t q) <= bound (t q).

(* The most work of n tasks that is released and due in a window of length t
   (tasks/demand_bound.py). *)
Definition dbf (n : nat) (tasks : nat -> task) (t : nat) : nat :=
  sum n (fun h =>
    if deadline (tasks h) <=? t
    then ((t - deadline (tasks h) + jitter (tasks h)) / period (tasks h) + 1) * cost (tasks h)
    else 0).

(* * Servers on a pcpu *)

(* A server has a budget in every period. Periods begin at multiples of their length; what is not
   used of a budget by the end is lost. It is to have all in the first `within` of a period. *)
Record server := { every : nat; budget : nat; within : nat; rank : nat }.

(* Who comes first: a lower rank, or an earlier end of the period. Of equals either may, at every
   instant anew. *)
Inductive order := ByRank | ByDeadline.

Definition place (by_order : order) (servers : nat -> server) (s x : nat) : nat :=
  match by_order with
  | ByRank => rank (servers s)
  | ByDeadline => (x / every (servers s) + 1) * every (servers s)
  end.

(* At each instant: whose time it is, who pays beside that one, whose domain has the processor, and
   whether the domain of a server has work. *)
Record host := {
  pays : nat -> option nat;
  also : nat -> option nat;
  has : nat -> option nat;
  wants : nat -> nat -> Prop
}.

Definition here (s : nat) (who : option nat) : bool :=
  match who with
  | Some other => other =? s
  | None => false
  end.

Definition charged (h : host) (s x : nat) : bool := here s (pays h x) || here s (also h x).

(* Less than the budget was charged since the period began. *)
Definition unspent (servers : nat -> server) (h : host) (s x : nat) : Prop :=
  let P := every (servers s) in
  amount (charged h s) (x / P * P) (x mod P) < budget (servers s).

(* Of those that may, the first pays: at one instant, and at all. *)
Definition first_pays_at (m : nat) (servers : nat -> server) (by_order : order)
  (may : nat -> nat -> Prop) (h : host) (x : nat) : Prop :=
  (forall s, pays h x = Some s -> s < m /\ may s x) /\
  (forall s, s < m -> may s x -> exists other, pays h x = Some other /\
     place by_order servers other x <= place by_order servers s x).

Definition first_pays (m : nat) (servers : nat -> server) (by_order : order)
  (may : nat -> nat -> Prop) (h : host) : Prop :=
  forall x, first_pays_at m servers by_order may h x.

(* Who has budget may pay: a periodic server whether there is work for it or not, a deferrable one
   if there is, a polling one if there has been all the time since its period began, since it loses
   its budget at the first instant at which there is none. *)
Definition may_pay (by_rule : rule) (servers : nat -> server) (h : host) (s x : nat) : Prop :=
  let P := every (servers s) in
  unspent servers h s x /\
  match by_rule with
  | Periodic => True
  | Deferrable => wants h s x
  | Polling => throughout (wants h s) (x / P * P) (S (x mod P))
  end.

Definition paying (by_rule : rule) (m : nat) (servers : nat -> server) (by_order : order)
  (h : host) : Prop := first_pays m servers by_order (may_pay by_rule servers h) h.

(* The slack rules, for time whose payer has no work. None: it is idle. Lend: another one with work
   and budget of its own may have it, and pays as well. Reclaim: anybody with work may have it, and
   does not pay. Spare and extra come behind all servers that may pay: anybody with work may have
   time that nobody pays for. Which one that is, and that time is not left idle while somebody may
   have it, is not said: no theorem needs it. *)
Inductive slack := Idle | Lend | Reclaim | Behind.

Definition shares_at (by_slack : slack) (servers : nat -> server) (h : host) (x : nat) : Prop :=
  (forall s, has h x = Some s -> wants h s x) /\
  (forall s, pays h x = Some s -> wants h s x -> has h x = Some s) /\
  (forall s, has h x = Some s -> pays h x <> Some s ->
     match by_slack with
     | Idle => False
     | Lend => pays h x <> None /\ also h x = Some s
     | Reclaim => pays h x <> None
     | Behind => pays h x = None
     end) /\
  (forall s, also h x = Some s ->
     by_slack = Lend /\ has h x = Some s /\ pays h x <> Some s /\ unspent servers h s x).

Definition sharing (by_slack : slack) (servers : nat -> server) (h : host) : Prop :=
  forall x, shares_at by_slack servers h x.

(* * Domains on the servers *)

Inductive local := FixedPriority (ranks : nat -> nat) | EarliestDeadline.

Record domain := { size : nat; members : nat -> task; scheduler : local }.

Definition local_key (d : domain) (r : run) (j : job) : nat :=
  match scheduler d with
  | FixedPriority ranks => ranks (fst j)
  | EarliestDeadline => due (members d) r j
  end.

(* The test of the domain's scheduler, on a supply with a bound. *)
Definition fits (d : domain) (bound : nat -> nat) : Prop :=
  match scheduler d with
  | FixedPriority ranks => forall i, i < size d -> in_windows (size d) (members d) ranks bound i
  | EarliestDeadline => forall t, dbf (size d) (members d) t <= bound t
  end.

(* The domain of server s has work when one of its jobs is pending, and when it has the processor,
   its own scheduler says which one runs. *)
Definition hosted (h : host) (s : nat) (d : domain) (r : run) : Prop :=
  (forall x, wants h s x <-> busy (size d) r x) /\
  scheduled (size d) (local_key d r) (fun x => here s (has h x)) r.

Definition inside (h : host) (s : nat) (d : domain) (r : run) : Prop :=
  jobs_of (size d) (members d) r /\ hosted h s d r.

(* A server as a task of the pcpu, as the tests of the host level see it (servers/host_level.py). *)
Definition as_task (one : server) : task :=
  {| cost := budget one; period := every one; deadline := within one; jitter := 0 |}.

(* A deferrable server as one above it sees it, under fixed priority: it may spend a budget at the
   end of a period and the next one right after it (servers/deferrable_fp.py). *)
Definition as_deferrable (one : server) : task :=
  {| cost := budget one; period := every one; deadline := every one;
     jitter := every one - budget one |}.

(* What a deferrable server can spend in a window of length t if its next period begins r after the
   window does: a budget before that, and those of its periods from there on. *)
Definition spends (one : server) (r t : nat) : nat :=
  min (min (budget one) r) t + sbf (every one) (budget one) r t.

(* The most if the window begins with a period of length P, and all periods begin together: r is a
   multiple of what divides both periods, and one of the two next to the budget is the worst
   (servers/deferrable_grid.py). *)
Definition grid_spends (P : nat) (one : server) (t : nat) : nat :=
  let g := Nat.gcd P (every one) in
  max (spends one (budget one / g * g) t) (spends one (ceiling (budget one) g * g) t).

(* So what server s and those that are not lower can spend in the first t of a period of its own, in
   which it spends one budget. *)
Definition grid_rbf (m : nat) (servers : nat -> server) (s t : nat) : nat :=
  sum m (fun o =>
    if rank (servers o) <=? rank (servers s)
    then (if o =? s then budget (servers s) else grid_spends (every (servers s)) (servers o) t)
    else 0).

(* The test of server s under EDF: its budget, and what each other one can spend in a window of the
   length of its period, with deadlines inside (servers/deferrable_edf.py, for one pcpu). *)
Definition edf_spends (m : nat) (servers : nat -> server) (s : nat) : nat :=
  sum m (fun o =>
    if o =? s then budget (servers s)
    else sbf (every (servers o)) (budget (servers o)) 0 (every (servers s))).

(* The bandwidths, budgets over periods, add up to 1 at most: M is any common multiple of the
   periods. *)
Definition bandwidth_at_most_1 (m : nat) (servers : nat -> server) : Prop :=
  exists M, 0 < M /\ (forall i, i < m -> exists q, M = q * every (servers i)) /\
    sum m (fun i => budget (servers i) * (M / every (servers i))) <= M.
