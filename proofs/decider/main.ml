(* SPDX-License-Identifier: BSD-2-Clause *)
(* Schedules on standard input, one in a line; for each a line that says `lawful`, or which law is
   broken. Exit code 2: a line is none. All that decides is Decider, which Coq has made (extract.v).

   A line has words with a blank between them, numbers or `-` for nobody:

     periodic|deferrable|polling rank|deadline idle|lend|reclaim|behind
     servers, and of each: its place among priorities, period, budget, judged (0, 1), fixed|edf,
       tasks, and of each: place, cost, period, deadline, jitter, strict (0, 1),
         jobs, and of each: arrival, release, work
     instants, and of each: who pays, who pays as well, who has the processor, the task and the
       number of the job that runs, how many domains that are not judged have work, and which *)

open Decider

exception Wrong of string

let read line =
  let rest = ref (String.split_on_char ' ' line) in
  let word () =
    match !rest with
    | [] -> raise (Wrong "too few words")
    | one :: others ->
        rest := others;
        one
  in
  let wrong found allowed = raise (Wrong ("found " ^ found ^ "; allowed: " ^ allowed)) in
  let number_of text =
    match int_of_string_opt text with
    | Some n when n >= 0 && n < 1 lsl 30 -> n
    | _ -> wrong text "a number below 2^30"
  in
  let number () = number_of (word ()) in
  let who () = match word () with "-" -> None | text -> Some (number_of text) in
  let yes () = match word () with "0" -> false | "1" -> true | text -> wrong text "0, 1" in
  let binary () = N.of_nat (number ()) in
  let many one =
    let rec go n = if n = 0 then [] else let first = one () in first :: go (n - 1) in
    go (number ())
  in
  let row name number cost period deadline jitter strict =
    { r_name = name; r_number = number; r_cost = cost; r_period = period; r_deadline = deadline;
      r_jitter = jitter; r_strict = strict; r_least = N0; r_before = None; r_window = N0;
      r_demand = None; r_supply = None; r_jobs = [] }
  in
  let job () =
    let arrives = number () in
    let released_at = number () in
    { arrives; released_at; works_for = number () }
  in
  let task () =
    let place = binary () in
    let cost = binary () in
    let period = binary () in
    let deadline = binary () in
    let jitter = binary () in
    let strict = yes () in
    (row "" place cost period deadline jitter strict, many job)
  in
  let server () =
    let place = binary () in
    let period = binary () in
    let budget = binary () in
    let judged = yes () in
    let ordering =
      match word () with "fixed" -> Fixed | "edf" -> Edf | text -> wrong text "fixed, edf"
    in
    let tasks = many task in
    ( { v_server = row "server" place budget period period N0 false; v_pcpu = N0;
        v_judged = judged; v_order = ordering; v_tasks = List.map fst tasks; v_form = General;
        v_horizon = N0; v_multiple = N0; v_points = [] },
      List.map snd tasks )
  in
  let moment () =
    let payer = who () in
    let second = who () in
    let owner = who () in
    let task_job = match who () with None -> None | Some task -> Some (task, number ()) in
    { payer; second; owner; task_job; others = many number }
  in
  let by_rule =
    match word () with
    | "periodic" -> Periodic
    | "deferrable" -> Deferrable
    | "polling" -> Polling
    | text -> wrong text "periodic, deferrable, polling"
  in
  let by_order =
    match word () with
    | "rank" -> ByRank
    | "deadline" -> ByDeadline
    | text -> wrong text "rank, deadline"
  in
  let s_slack =
    match word () with
    | "idle" -> Idle
    | "lend" -> Lend
    | "reclaim" -> Reclaim
    | "behind" -> Behind
    | text -> wrong text "idle, lend, reclaim, behind"
  in
  let servers = many server in
  let instants = many moment in
  if !rest <> [] then raise (Wrong "too many words");
  lawful
    { s_policy = Periods (by_rule, by_order); s_slack; s_vms = List.map fst servers; s_flows = [] }
    N0 (List.map snd servers) (List.rev instants)

let () =
  try
    while true do
      print_endline (Option.value (read (read_line ())) ~default:"lawful")
    done
  with
  | End_of_file -> ()
  | Wrong why ->
      prerr_endline why;
      exit 2
