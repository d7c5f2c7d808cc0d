(* SPDX-License-Identifier: BSD-2-Clause *)
(* Flows: ways of items through tasks of several domains. Definitions, and no proof. What is proved
   of them stands in flow_bounds.v.

   A flow is a way through hops, each a task of a domain. Item k is job k of each. At the first
   hop it is released as a job of any task is; at each later one at the very instant at which it is
   done at the hop before. So a task is a hop behind another one, or it has releases of its own, as
   a first hop and a task beside flows have. Ways may lead through one domain several times, and
   around in circles between domains. A task that items visit twice or that several flows share is
   here a task for each visit, of one rank: of equals any may go first. A burst is as many flows.

   An item that never comes, as one that a queue drops, has jobs of no work, and one that leaves at
   a hop has none at those behind it: a job that works for something has come.

   A later hop has the period of its source. An item arrives there when it might be released at the
   earliest, `least` after it arrives at the hop before, where it works for no less. The jitter of a
   later hop and all deadlines are what the analysis says: how far releases spread there, and how
   long a response may be. Under EDF deadlines order the jobs as well.

   Of the domains no more is said than how their schedulers and supplies serve them. `arrives` are
   instants across which a supply need not hold, as that of constant bandwidth servers: at which
   work arrives where all other is done. Where there are none, `served` asks what `supplies` does.

   Not in the model: what clients and queues bound. *)

From Coq Require Import Arith.
From Hyperperiod Require Import model cbs.

(* A domain, and a task of it. *)
Definition place := (nat * nat)%type.

(* The job has run until its work is done, at instant x. *)
Definition ends (r : run) (j : job) (x : nat) : Prop :=
  exists y, x = S y /\ runs r y = Some j /\ complete r j x.

Section Flows.
(* There are m domains, each with a run. *)
Context (m : nat) (domains : nat -> domain) (before : place -> option place).
Context (least : place -> nat) (inner : nat -> run).

Definition real (p : place) : Prop := fst p < m /\ snd p < size (domains (fst p)).

Definition member (p : place) : task := members (domains (fst p)) (snd p).

(* The law of item k at a hop: the job there is `handed` on from the hop before. *)
Definition comes (handed : run -> job -> nat -> Prop) (p : place) (k : nat) : Prop :=
  let r := inner (fst p) in
  let j := (snd p, k) in
  arrival r j + period (member p) <= arrival r (snd p, S k) /\
  work r j <= cost (member p) /\
  match before p with
  | None => arrival r j <= release r j <= arrival r j + jitter (member p)
  | Some q =>
      let r' := inner (fst q) in
      let j' := (snd q, k) in
      arrival r j = arrival r' j' + least q /\
      (0 < work r j -> least q <= work r' j' /\ handed r' j' (release r j))
  end.

Definition passed_on : Prop := forall p k, real p -> comes ends p k.

(* The same but for when items come to later hops: what is given of a run before it is run. *)
Definition planned : Prop := forall p k, real p -> comes (fun _ _ _ => True) p k.

Definition served (arrives : nat -> supply) (gets : nat -> supply) (bound : nat -> nat -> nat)
  : Prop :=
  forall s, s < m -> 0 < size (domains s) ->
    scheduled (size (domains s)) (local_key (domains s) (inner s)) (gets s) (inner s) /\
    anew arrives s (domains s) (inner s) /\
    forall a t, throughout (busy (size (domains s)) (inner s)) a t ->
      (forall x, a < x < a + t -> arrives s x = false) -> bound s t <= amount (gets s) a t.

(* Under EDF all tasks are of one level. *)
Definition levels (d : domain) : nat -> nat :=
  match scheduler d with
  | FixedPriority ranks => ranks
  | EarliestDeadline => fun _ => 0
  end.

(* Hops in domain s, one right behind the other from place o to place q, none lower than task i. An
   item works for c there at least. *)
Inductive row (s i : nat) : place -> place -> nat -> Prop :=
| one_hop p : real p -> fst p = s -> levels (domains s) (snd p) <= levels (domains s) i ->
    row s i p p (least p)
| one_more o q p c : row s i o q c -> before p = Some q ->
    real p -> fst p = s -> levels (domains s) (snd p) <= levels (domains s) i ->
    row s i o p (c + least p).

Section Supplied.
Context (arrives : nat -> supply) (bound : nat -> nat -> nat).

(* An item is through within W from its release at place o on: one hop within the bound on its
   response, where the domain passes its test, and a row if all work that is no lower, and comes in
   a window of length W or at its end, is done in it. That asks for a supply which holds across the
   ends of hops. *)
Definition through (o q : place) (c W : nat) : Prop :=
  let d := domains (fst q) in
  (o = q /\ c = least q /\ W = deadline (member q) /\ fits d (bound (fst q))) \/
  (exists i, row (fst q) i o q c /\ (forall x, arrives (fst q) x = false) /\
     rbf (size d) (members d) (levels d) i (S W) <= bound (fst q) W).

(* Releases at a hop spread as far as where the hop or a row of hops before it begins, and by the
   difference of the longest time for that and the shortest. *)
Definition spread : Prop := forall p q, real p -> before p = Some q ->
  real q /\ exists o c W, through o q c W /\ jitter (member o) + W <= jitter (member p) + c.

(* The ways of items, each with the sum of the bounds of its pieces, hops and rows. *)
Inductive way : place -> place -> nat -> Prop :=
| one_piece o q c W : through o q c W -> way o q W
| next_piece o q p r c V W : way o q V -> before p = Some q -> through p r c W ->
    way o r (V + W).

End Supplied.

End Flows.
