(* SPDX-License-Identifier: BSD-2-Clause *)
(* A checker of certificates: a program, which soundness.v is about.

   It computes with binary numbers and finds the first line that does not hold, in words.

   EDF is decided up to the horizon L at points s: dbf(L) <= sbf(s), then with s - 1 in place of L
   at the next point, until nothing is asked for; both bounds grow, so no other window matters.
   Beyond L both bounds repeat with a common multiple M of all periods, if L is as long after the
   last deadline and after the blackout; or they keep on their sides of two straight lines. *)

From Coq Require Import Bool NArith String DecimalString List.
Import ListNotations.
From Hyperperiod Require Import model flows system.

Local Open Scope N_scope.

(* * Numbers *)

Fixpoint total {A : Type} (f : A -> N) (l : list A) : N :=
  match l with
  | [] => 0
  | one :: rest => f one + total f rest
  end.

Definition up (a b : N) : N := (a + b - 1) / b.

Definition request (rows : list (N * row)) (rank t : N) : N :=
  total (fun '(k, one) =>
    if k <=? rank then up (t + r_jitter one) (r_period one) * r_cost one else 0) rows.

(* The same, with q jobs of one of the rows in place of all of its own. *)
Definition job_request (rows : list (N * row)) (one : N * row) (q t : N) : N :=
  let its := snd one in
  request rows (fst one) t + q * r_cost its - up (t + r_jitter its) (r_period its) * r_cost its.

Definition demand (rows : list (N * row)) (t : N) : N :=
  total (fun '(_, one) =>
    if r_deadline one <=? t
    then ((t - r_deadline one + r_jitter one) / r_period one + 1) * r_cost one
    else 0) rows.

Definition supplied (P B x t : N) : N := (t - x) / P * B + N.min ((t - x) mod P) B.

(* What is asked for in M at most, M a multiple of all periods. *)
Definition load (M : N) (rows : list (N * row)) : N :=
  total (fun '(_, one) => M / r_period one * r_cost one) rows.

(* The straight line above the demand, times M. *)
Definition line (M : N) (rows : list (N * row)) (t : N) : N :=
  total (fun '(_, one) =>
    M / r_period one * r_cost one * (t - r_deadline one + r_jitter one + r_period one)) rows.

Definition repeats (rows : list (N * row)) (M x L : N) : bool :=
  (M + x <=? L) && forallb (fun '(_, one) => M + r_deadline one <=? L) rows.

Definition below_lines (rows : list (N * row)) (P B M x L : N) : bool :=
  (x <=? L) && forallb (fun '(_, one) => r_deadline one <=? L) rows &&
  (line M rows L + M / P * B * (P - B) <=? M / P * B * (L - x)).

Definition divided (a b : N) : bool := (a mod b =? 0) || (b mod a =? 0).

(* * The checker *)

(* The first failure, in words; None if all hold. *)
Fixpoint first {A : Type} (fails : A -> option string) (l : list A) : option string :=
  match l with
  | [] => None
  | one :: rest => match fails one with None => first fails rest | found => found end
  end.

Definition also_if (condition : bool) (next : option string) : option string :=
  if condition then next else None.

Local Open Scope string_scope.
Local Open Scope N_scope.

Definition show (n : N) : string := NilEmpty.string_of_uint (N.to_uint n).

Definition told_otherwise (told : option N) (really : N) : bool :=
  match told with
  | Some n => negb (n =? really)
  | None => false
  end.

(* Fixed priority: some window in which no more is asked for than there is. *)
Definition window_fails (rows : list (N * row)) (bound : N -> N) (most : N) (one : N * row)
  : option string :=
  let t := r_window (snd one) in
  if t =? 0 then Some (r_name (snd one) ++ ": no window")
  else if most <? t
  then Some (r_name (snd one) ++ ": window " ++ show t ++ " is above the deadline " ++ show most)
  else if bound t <? request rows (fst one) t
  then Some (r_name (snd one) ++ ": window " ++ show t ++ ": demand "
             ++ show (request rows (fst one) t) ++ " is above supply " ++ show (bound t))
  else if told_otherwise (r_demand (snd one)) (request rows (fst one) t)
          || told_otherwise (r_supply (snd one)) (bound t)
  then Some (r_name (snd one) ++ ": window " ++ show t ++ ": demand is "
             ++ show (request rows (fst one) t) ++ " and supply " ++ show (bound t))
  else None.

(* Windows of jobs, from the q-th on: up to its deadline, if it comes as early as it may. *)
Fixpoint jobs_fail (rows : list (N * row)) (bound : N -> N) (one : N * row) (q : N)
  (windows : list N) : option string :=
  match windows with
  | [] => None
  | t :: rest =>
      let most := (q - 1) * r_period (snd one) - r_jitter (snd one) + r_deadline (snd one) in
      if most <? t
      then Some (r_name (snd one) ++ ": job " ++ show q ++ ": window " ++ show t
                 ++ " is above the deadline " ++ show most)
      else if bound t <? job_request rows one q t
      then Some (r_name (snd one) ++ ": job " ++ show q ++ ": window " ++ show t ++ ": demand "
                 ++ show (job_request rows one q t) ++ " is above supply " ++ show (bound t))
      else jobs_fail rows bound one (q + 1) rest
  end.

(* One window up to the deadline for all jobs, or one for each job that comes in it. *)
Definition task_fails (rows : list (N * row)) (bound : N -> N) (one : N * row) : option string :=
  let its := snd one in
  match r_jobs its with
  | [] => window_fails rows bound (r_deadline its) one
  | windows =>
      let come := up (r_window its + r_jitter its) (r_period its) in
      match window_fails rows bound (r_window its) one with
      | None => if N.of_nat (length windows) =? come then jobs_fail rows bound one 1 windows
                else Some (r_name its ++ ": window " ++ show (r_window its) ++ ": jobs are "
                           ++ show come)
      | found => found
      end
  end.

Fixpoint points_fail (rows : list (N * row)) (P B x top : N) (points : list N) : option string :=
  match points with
  | [] => if demand rows top =? 0 then None
          else Some ("no point for windows up to " ++ show top ++ ", demand "
                     ++ show (demand rows top))
  | s :: rest =>
      if s =? 0 then Some "point 0"
      else if supplied P B x s <? demand rows top
      then Some ("windows from " ++ show s ++ " to " ++ show top ++ ": demand "
                 ++ show (demand rows top) ++ " is above supply " ++ show (supplied P B x s))
      else points_fail rows P B x (s - 1) rest
  end.

Definition edf_fails (rows : list (N * row)) (P B x M L : N) (points : list N) : option string :=
  if negb ((0 <? M) && (M mod P =? 0) && forallb (fun one => M mod r_period (snd one) =? 0) rows)
  then Some ("multiple " ++ show M ++ " is none of all periods")
  else if M / P * B <? load M rows
  then Some ("in " ++ show M ++ ": demand " ++ show (load M rows) ++ " is above supply "
             ++ show (M / P * B))
  else if negb (repeats rows M x L || below_lines rows P B M x L)
  then Some ("horizon " ++ show L ++ " is too short")
  else points_fail rows P B x L points.

Definition blackout_of (by_policy : policy) (f : form) (P B : N) : N :=
  match f, by_policy with
  | General, Periods Polling _ => P + (P - B)
  | General, _ => P - B + (P - B)
  | Harmonic, _ => P - B
  end.

Definition harmonic_fails (P : N) (one : N * row) : option string :=
  if r_strict (snd one) && (r_jitter (snd one) =? 0)
     && (r_deadline (snd one) <=? r_period (snd one)) && divided P (r_period (snd one))
  then None
  else Some (r_name (snd one) ++ ": not for the harmonic supply: offset, jitter, not periodic, "
             ++ "deadline above the period, or periods that do not divide each other").

Definition domain_fails (by_policy : policy) (one : vm) : option string :=
  let P := r_period (v_server one) in
  let B := r_cost (v_server one) in
  let rows := ranked (v_tasks one) in
  let x := blackout_of by_policy (v_form one) P B in
  let failed :=
    match first (fun each => if r_period (snd each) =? 0
                             then Some (r_name (snd each) ++ ": period 0") else None) rows with
    | None =>
        match (match v_form one, by_policy with
               | General, _ => None
               | Harmonic, Periods Polling _ | Harmonic, Bandwidth =>
                   Some "the harmonic supply is for periodic and deferrable servers alone"
               | Harmonic, _ => first (harmonic_fails P) rows
               end) with
        | None =>
            match v_order one with
            | Fixed => first (task_fails rows (supplied P B x)) rows
            | Edf => edf_fails rows P B x (v_multiple one) (v_horizon one) (v_points one)
            end
        | found => found
        end
    | found => found
    end in
  match failed with
  | None => None
  | Some why => Some (r_name (v_server one) ++ ": " ++ why)
  end.

Definition numbers_fail (one : row) : option string :=
  if (0 <? r_cost one) && (r_cost one <=? r_period one) && (r_deadline one =? r_period one)
     && (r_jitter one =? 0)
  then None
  else Some (r_name one ++ ": budget " ++ show (r_cost one) ++ " in period "
             ++ show (r_period one)).

(* The sum of budgets over periods, times the product of all periods. *)
Definition product (rows : list row) : N := fold_right (fun one all => r_period one * all) 1 rows.

(* What a deferrable server can spend in a window that begins with a period of length P. *)
Definition spent (one : row) (r t : N) : N :=
  N.min (N.min (r_cost one) r) t + supplied (r_period one) (r_cost one) r t.

Definition grid_spent (P : N) (one : row) (t : N) : N :=
  let g := N.gcd P (r_period one) in
  N.max (spent one (r_cost one / g * g) t) (spent one (up (r_cost one) g * g) t).

(* With the budget of one server in place of what it could spend. *)
Definition grid_request (servers : list row) (own : row) (t : N) : N :=
  total (fun one => if r_number one <=? r_number own
                    then grid_spent (r_period own) one t else 0) servers
  + r_cost own - grid_spent (r_period own) own t.

(* The window of a server under fixed priority. *)
Definition server_fails (by_rule : rule) (servers : list row) (own : row) : option string :=
  let t := r_window own in
  match by_rule with
  | Deferrable =>
      if r_period own <? t
      then Some (r_name own ++ ": window " ++ show t ++ " is above the period "
                 ++ show (r_period own))
      else if t <? grid_request servers own t
      then Some (r_name own ++ ": window " ++ show t ++ ": servers spend "
                 ++ show (grid_request servers own t))
      else None
  | _ => window_fails (ranked servers) (fun t => t) (r_deadline own) (r_number own, own)
  end.

(* Deferrable servers under EDF: what all spend in the period of one, with deadlines inside. *)
Definition spending_fails (servers : list row) (own : row) : option string :=
  let spent := total (fun one => supplied (r_period one) (r_cost one) 0 (r_period own)) servers in
  if spent <=? r_period own then None
  else Some (r_name own ++ ": in its period of " ++ show (r_period own) ++ " servers spend "
             ++ show spent).

Definition pcpu_fails (sys : system) (p : N) : option string :=
  let vms := on_pcpu sys p in
  let servers := map v_server vms in
  let told_of (failed : option string) :=
    match failed with
    | None => None
    | Some why => Some ("server of " ++ why)
    end in
  match first numbers_fail servers with
  | None =>
      match s_policy sys with
      | Periods by_rule ByRank => first (fun one =>
          also_if (v_judged one || negb (r_window (v_server one) =? 0))
            (told_of (server_fails by_rule servers (v_server one)))) vms
      | Periods Deferrable ByDeadline => first (fun one =>
          also_if (v_judged one) (told_of (spending_fails servers (v_server one)))) vms
      | Periods _ ByDeadline | Bandwidth =>
          let all := product servers in
          also_if (existsb v_judged vms)
            (if total (fun one => r_cost one * (all / r_period one)) servers <=? all then None
             else Some ("pcpu " ++ show p ++ ": budgets over periods add up to more than 1"))
      end
  | found => found
  end.

(* A row that may be a hop: it is judged, and its supply is one of any window. *)
Definition hop_at (sys : system) (p : place) : option row :=
  let its := judged_vm sys (fst p) in
  match v_form its with
  | General => nth_error (v_tasks its) (snd p)
  | Harmonic => None
  end.

(* Releases at a hop spread by the response of the one before, less the least that it takes. *)
Definition spread_fails (sys : system) (here : vm) (one : row) : option string :=
  match r_before one with
  | None => None
  | Some q =>
      match v_form here, hop_at sys q with
      | General, Some its =>
          let least := r_jitter its + r_deadline its - r_least its in
          if least <=? r_jitter one then None
          else Some (r_name one ++ ": jitter " ++ show (r_jitter one) ++ " is below " ++ show least)
      | _, _ => Some (r_name one ++ ": comes from no hop that is certified")
      end
  end.

Definition same_place (p q : place) : bool :=
  Nat.eqb (fst p) (fst q) && Nat.eqb (snd p) (snd q).

(* Each hop comes from the next one of the list, and the last one from the source. *)
Fixpoint linked (sys : system) (hops : list place) : bool :=
  match hops with
  | [] => false
  | p :: rest =>
      match hop_at sys p, rest with
      | None, _ => false
      | Some its, [] => match r_before its with None => true | Some _ => false end
      | Some its, q :: _ =>
          match r_before its with
          | Some before => same_place q before && linked sys rest
          | None => false
          end
      end
  end.

Definition flow_fails (sys : system) (one : flow) : option string :=
  let bound := total (fun p => r_deadline (row_at sys p)) (f_hops one) in
  let source := row_at sys (f_first one) in
  let most := up (N.max 1 bound + r_jitter source) (r_period source) in
  if negb (linked sys (f_hops one)) then Some (f_name one ++ ": hops that are not certified")
  else if f_deadline one <? bound
  then Some (f_name one ++ ": responses add up to " ++ show bound ++ ", above the deadline "
             ++ show (f_deadline one))
  else if most <=? f_queue one then None
  else Some (f_name one ++ ": " ++ show most ++ " items are on their way, above the queue of "
             ++ show (f_queue one)).

Definition check (sys : system) : option string :=
  let judged (fails : vm -> option string) :=
    first (fun one => also_if (v_judged one) (fails one)) (s_vms sys) in
  match first (pcpu_fails sys) (nodup N.eq_dec (map v_pcpu (s_vms sys))) with
  | None =>
      match judged (domain_fails (s_policy sys)) with
      | None =>
          match judged (fun one => first (spread_fails sys one) (v_tasks one)) with
          | None => first (flow_fails sys) (s_flows sys)
          | found => found
          end
      | found => found
      end
  | found => found
  end.
