(* SPDX-License-Identifier: BSD-2-Clause *)
(* From two texts, a system file and its certificate, to the checker's answer. Programs without
   theorems: that the `system` made here says what the file says is to be read, not proved. They
   all end, since they go down a text, or a list of its tokens.

   Read is a part of TOML and JSON: tables, arrays of tables, inline tables, arrays, texts of one
   line, numbers and words. No name with a backslash is read: written in another way it might be
   that of something else. Whatever is not known is refused by name: a key of a domain that only its
   own tasks could mind, or of a task, makes the domain one that is not certified; one of a flow
   makes it and all domains on its way so; any other refuses the file. *)

From Coq Require Import Bool NArith Ascii String List.
Import ListNotations.
From Hyperperiod Require Import model flows system check.

Local Open Scope string_scope.
Local Open Scope N_scope.

Inductive result (A : Type) := Good (a : A) | Bad (why : string).
Arguments Good {A} a.
Arguments Bad {A} why.

Notation "x <- a ;; b" := (match a with Good x => b | Bad why => Bad why end)
  (at level 61, a at next level, right associativity).

Fixpoint each {A B : Type} (f : A -> result B) (l : list A) : result (list B) :=
  match l with
  | [] => Good []
  | one :: rest => first <- f one ;; others <- each f rest ;; Good (first :: others)
  end.

(* * Tokens *)

Inductive token := Word (s : string) | Text (s : string) | Sign (c : ascii) | Line.

Inductive place :=
  | Between | InComment
  | InWord (past : list ascii) | InText (past : list ascii) | Escaped (past : list ascii).

Definition among (c : ascii) (s : string) : bool :=
  existsb (Ascii.eqb c) (list_ascii_of_string s).

Definition between_codes (a b : N) (c : ascii) : bool :=
  (a <=? N_of_ascii c) && (N_of_ascii c <=? b).

Definition of_word (c : ascii) : bool :=
  between_codes 48 57 c || between_codes 65 90 c || between_codes 97 122 c || among c "_-+.".

Definition newline : ascii := ascii_of_N 10.
Definition quote : ascii := ascii_of_N 34.
Definition backslash : ascii := ascii_of_N 92.

Definition text_of (past : list ascii) : string := string_of_list_ascii (rev_append past []).

(* The state after a character that is in no word, text or comment, and what it adds. *)
Definition outside (c : ascii) (tokens : list token) : option (place * list token) :=
  if Ascii.eqb c newline then Some (Between, Line :: tokens)
  else if (N_of_ascii c =? 32) || (N_of_ascii c =? 9) || (N_of_ascii c =? 13)
  then Some (Between, tokens)
  else if Ascii.eqb c quote then Some (InText [], tokens)
  else if Ascii.eqb c "#" then Some (InComment, tokens)
  else if among c "[]{}=:," then Some (Between, Sign c :: tokens)
  else if of_word c then Some (InWord [c], tokens)
  else None.

Definition step (c : ascii) (at_place : place) (tokens : list token)
  : option (place * list token) :=
  match at_place with
  | Between => outside c tokens
  | InWord past =>
      if of_word c then Some (InWord (c :: past), tokens)
      else outside c (Word (text_of past) :: tokens)
  | InText past =>
      if Ascii.eqb c newline then None
      else if Ascii.eqb c quote then Some (Between, Text (text_of past) :: tokens)
      else if Ascii.eqb c backslash then Some (Escaped (c :: past), tokens)
      else Some (InText (c :: past), tokens)
  | Escaped past =>
      if Ascii.eqb c newline then None else Some (InText (c :: past), tokens)
  | InComment => if Ascii.eqb c newline then Some (Between, Line :: tokens)
                 else Some (InComment, tokens)
  end.

Definition lines (tokens : list token) : N :=
  total (fun one => match one with Line => 1 | _ => 0 end) tokens.

(* Tokens are collected last one first. *)
Fixpoint tokens_of (s : string) (at_place : place) (tokens : list token) : result (list token) :=
  match s with
  | EmptyString =>
      match at_place with
      | InWord past => Good (rev_append (Word (text_of past) :: tokens) [])
      | InText _ | Escaped _ => Bad "a text without an end"
      | _ => Good (rev_append tokens [])
      end
  | String c rest =>
      match step c at_place tokens with
      | Some (next, more) => tokens_of rest next more
      | None => Bad ("line " ++ show (lines tokens + 1) ++ ": found "
                     ++ (if Ascii.eqb c newline then "a text of several lines"
                         else if between_codes 33 126 c then String c EmptyString
                         else "byte " ++ show (N_of_ascii c))
                     ++ "; allowed: what this checker reads of TOML and JSON")
      end
  end.

(* * Values *)

Inductive value :=
  | Said (s : string) | Bare (s : string)
  | Many (l : list value) | Table (keys : list (string * value)).

Definition table := list (string * value).

Fixpoint find (k : string) (keys : table) : option value :=
  match keys with
  | [] => None
  | (other, v) :: rest => if String.eqb k other then Some v else find k rest
  end.

Fixpoint blank (tokens : list token) : list token :=
  match tokens with
  | Line :: rest => blank rest
  | _ => tokens
  end.

Inductive wanted := AValue | Items (past : list value) | Keys (past : table).

Definition key_of (one : token) : option string :=
  match one with
  | Word k | Text k => Some k
  | _ => None
  end.

Definition is_sign (c : ascii) (one : token) : bool :=
  match one with
  | Sign other => Ascii.eqb c other
  | _ => false
  end.

(* The first list is only there to end the recursion: one of it for every value, item and key,
   so twice the tokens are enough. *)
Fixpoint parse {F : Type} (fuel : list F) (what : wanted) (tokens : list token)
  : result (value * list token) :=
  match fuel with
  | [] => Bad "nothing where a value should be"
  | _ :: fuel =>
      match what, blank tokens with
      | AValue, Text s :: rest => Good (Said s, rest)
      | AValue, Word s :: rest => Good (Bare s, rest)
      | AValue, one :: rest =>
          if is_sign "[" one then parse fuel (Items []) rest
          else if is_sign "{" one then parse fuel (Keys []) rest
          else Bad "found a sign where a value should be"
      | Items past, one :: rest =>
          if is_sign "]" one then Good (Many (rev_append past []), rest)
          else
            found <- parse fuel AValue (one :: rest) ;;
            match blank (snd found) with
            | next :: others =>
                if is_sign "," next then parse fuel (Items (fst found :: past)) others
                else if is_sign "]" next
                then Good (Many (rev_append (fst found :: past) []), others)
                else Bad "a comma or ] is missing in an array"
            | [] => Bad "an array without an end"
            end
      | Keys past, one :: rest =>
          if is_sign "}" one then Good (Table (rev_append past []), rest)
          else
            match key_of one, rest with
            | Some k, assign :: rest =>
                if negb (is_sign "=" assign || is_sign ":" assign)
                then Bad (k ++ ": no value")
                else if match find k past with Some _ => true | None => false end
                then Bad (k ++ ": given twice")
                else
                  found <- parse fuel AValue rest ;;
                  match blank (snd found) with
                  | next :: others =>
                      if is_sign "," next then parse fuel (Keys ((k, fst found) :: past)) others
                      else if is_sign "}" next
                      then Good (Table (rev_append ((k, fst found) :: past) []), others)
                      else Bad (k ++ ": a comma or } is missing behind it")
                  | [] => Bad "a table without an end"
                  end
            | _, _ => Bad "found a sign where a key should be"
            end
      | _, [] => Bad "nothing where a value should be"
      end
  end.

(* A file of TOML: what stands before the first table, and the tables in order, with their names. *)
Record section := { named : string; listed : bool; keys : table }.

Definition close (one : section) : section :=
  {| named := named one; listed := listed one; keys := rev_append (keys one) [] |}.

Fixpoint sections {F : Type} (fuel : list F) (tokens : list token) (now : section)
  (past : list section) : result (list section) :=
  match fuel, blank tokens with
  | _, [] => Good (rev_append (close now :: past) [])
  | [], _ => Bad "too long"
  | _ :: fuel, one :: rest =>
      if is_sign "[" one then
        match rest with
        | Word name :: closing :: rest =>
            if is_sign "]" closing && match rest with [] | Line :: _ => true | _ => false end
            then sections fuel rest {| named := name; listed := false; keys := [] |}
                   (close now :: past)
            else Bad ("[" ++ name ++ "]: not the name of a table")
        | opening :: Word name :: closing :: last :: rest =>
            if is_sign "[" opening && is_sign "]" closing && is_sign "]" last
               && match rest with [] | Line :: _ => true | _ => false end
            then sections fuel rest {| named := name; listed := true; keys := [] |}
                   (close now :: past)
            else Bad ("[[" ++ name ++ "]]: not the name of a table")
        | _ => Bad "[ begins no table"
        end
      else
        match key_of one, rest with
        | Some k, assign :: rest =>
            if negb (is_sign "=" assign) then Bad (k ++ ": no value")
            else if match find k (keys now) with Some _ => true | None => false end
            then Bad (k ++ ": given twice")
            else
              match rest with
              | Line :: _ => Bad (k ++ ": no value")
              | _ =>
                  found <- parse fuel AValue rest ;;
                  match snd found with
                  | [] | Line :: _ =>
                      sections fuel (snd found)
                        {| named := named now; listed := listed now;
                           keys := (k, fst found) :: keys now |} past
                  | _ => Bad (k ++ ": something behind its value")
                  end
              end
        | _, _ => Bad "found a sign where a key should be"
        end
  end.

(* * What values say *)

Definition digit (c : ascii) : option N :=
  if between_codes 48 57 c then Some (N_of_ascii c - 48) else None.

(* The digits at the beginning of a text, as a number, how many they are, and the rest. *)
Fixpoint digits (s : string) (n count : N) : N * N * string :=
  match s with
  | String c rest =>
      match digit c with
      | Some d => digits rest (10 * n + d) (count + 1)
      | None => (n, count, s)
      end
  | EmptyString => (n, count, s)
  end.

Definition number (k : string) (v : value) : result N :=
  match v with
  | Bare s =>
      match digits s 0 0 with
      | (n, count, EmptyString) => if 0 <? count then Good n else Bad (k ++ ": no number")
      | _ => Bad (k ++ ": found " ++ s ++ "; allowed: a whole number from 0 on")
      end
  | _ => Bad (k ++ ": no number")
  end.

Definition unit_of (s : string) : option N :=
  let word := match s with String " " rest => rest | _ => s end in
  if String.eqb word "ns" then Some 1
  else if existsb (String.eqb word) ["us"; "µs"; "μs"] then Some 1000
  else if String.eqb word "ms" then Some 1000000
  else if String.eqb word "s" then Some 1000000000
  else None.

(* A number with decimals at the beginning of a text, as one over a power of ten, and the rest. *)
Definition decimal (s : string) : option (N * N * string) :=
  let '(whole, count, rest) := digits s 0 0 in
  if count =? 0 then None
  else
    match rest with
    | String "." after =>
        let '(n, decimals, behind) := digits after whole 0 in
        Some (if 0 <? decimals then (n, 10 ^ decimals, behind) else (whole, 1, rest))
    | _ => Some (whole, 1, rest)
    end.

Definition time (k : string) (v : value) : result N :=
  match v with
  | Said s =>
      match decimal s with
      | Some (n, parts, rest) =>
          match unit_of rest with
          | Some ns => if n * ns mod parts =? 0 then Good (n * ns / parts)
                       else Bad (k ++ ": found " ++ s ++ "; allowed: whole nanoseconds")
          | None => Bad (k ++ ": found " ++ s ++ "; allowed: a time such as 5ms, 1.5us, 7ns")
          end
      | None => Bad (k ++ ": found " ++ s ++ "; allowed: a time such as 5ms, 1.5us, 7ns")
      end
  | _ => Bad (k ++ ": no time")
  end.

(* A part of a whole, as a number over another one. *)
Definition share (k : string) (v : value) : result (N * N) :=
  match v with
  | Bare s =>
      match decimal s with
      | Some (n, parts, EmptyString) =>
          if n <=? parts then Good (n, parts) else Bad (k ++ ": above 1")
      | _ => Bad (k ++ ": found " ++ s ++ "; allowed: a number from 0 to 1")
      end
  | _ => Bad (k ++ ": no number")
  end.

Definition text (k : string) (v : value) : result string :=
  match v with
  | Said s =>
      if among backslash s then Bad (k ++ ": found " ++ s ++ "; allowed: a text without backslash")
      else Good s
  | _ => Bad (k ++ ": no text")
  end.

Definition keys_of (k : string) (v : value) : result table :=
  match v with
  | Table l => Good l
  | _ => Bad (k ++ ": no table")
  end.

Definition array {A : Type} (read : string -> value -> result A) (k : string) (v : value)
  : result (list A) :=
  match v with
  | Many l => each (read k) l
  | _ => Bad (k ++ ": no array")
  end.

Definition required {A : Type} (read : string -> value -> result A) (k : string) (l : table)
  : result A :=
  match find k l with
  | Some v => read k v
  | None => Bad (k ++ ": missing")
  end.

Definition optional {A : Type} (read : string -> value -> result A) (k : string) (l : table)
  : result (option A) :=
  match find k l with
  | Some v => found <- read k v ;; Good (Some found)
  | None => Good None
  end.

Definition with_default {A : Type} (read : string -> value -> result A) (k : string) (l : table)
  (otherwise : A) : result A :=
  found <- optional read k l ;;
  Good (match found with Some a => a | None => otherwise end).

Definition one_of (k : string) (words : list string) : bool := existsb (String.eqb k) words.

(* The first key of a table that is not among these. *)
Fixpoint stranger (words : list string) (l : table) : option string :=
  match l with
  | [] => None
  | (k, _) :: rest => if one_of k words then stranger words rest else Some k
  end.

Definition only (words : list string) (l : table) : result unit :=
  match stranger words l with
  | Some k => Bad (k ++ ": not known to this checker")
  | None => Good tt
  end.

Definition within {A : Type} (where_ : string) (r : result A) : result A :=
  match r with
  | Bad why => Bad (where_ ++ ": " ++ why)
  | good => good
  end.

(* * Certificates *)

Definition named_by (k name : string) (l : table) : bool :=
  match find k l with
  | Some (Said other) => String.eqb name other
  | _ => false
  end.

(* The table about a name, and the others. *)
Fixpoint taken (k name : string) (l : list table) : option table * list table :=
  match l with
  | [] => (None, [])
  | one :: rest =>
      if named_by k name one then (Some one, rest)
      else let '(found, others) := taken k name rest in (found, one :: others)
  end.

(* * Tasks *)

(* What the checker does not know of a task, if there is something: the key. *)
Definition beyond_task (hop : bool) (l : table) : option string :=
  let '(known, kinds) :=
    if hop then ([], ["event"]) else (["jitter"; "offset"], ["periodic"; "sporadic"]) in
  match stranger (["name"; "kind"; "period"; "wcet"; "deadline"; "priority"; "etf"] ++ known)%list
          l with
  | Some k => Some k
  | None =>
      match find "kind" l with
      | Some (Said kind) => if one_of kind kinds then None else Some "kind"
      | Some _ => Some "kind"
      | None => if hop then Some "kind" else None
      end
  end.

Definition periodic_kind (l : table) : bool :=
  match find "kind" l with
  | Some (Said kind) => String.eqb kind "periodic"
  | _ => true
  end.

(* A task of a domain of n tasks, and the windows that the certificate has. Of equal ranks the first
   in the file is higher. *)
Definition task_row (scheduler : string) (n place : N) (l said : table) : result row :=
  name <- required text "name" l ;;
  within ("task " ++ name) (
    period <- required time "period" l ;;
    cost <- required time "wcet" l ;;
    deadline <- with_default time "deadline" l period ;;
    jitter <- with_default time "jitter" l 0 ;;
    offset <- with_default time "offset" l 0 ;;
    rank <- (if String.eqb scheduler "rm" then Good period
             else if String.eqb scheduler "dm" then Good deadline
             else if String.eqb scheduler "fp" then required number "priority" l
             else Good 0) ;;
    window <- with_default number "window" said 0 ;;
    demand <- optional number "demand" said ;;
    supply <- optional number "supply" said ;;
    jobs <- with_default (array number) "jobs" said [] ;;
    Good {| r_name := name; r_number := rank * n + place; r_cost := cost; r_period := period;
            r_deadline := deadline; r_jitter := jitter;
            r_strict := periodic_kind l && (offset =? 0); r_least := 0; r_before := None;
            r_window := window; r_demand := demand; r_supply := supply; r_jobs := jobs |}).

Definition windows : list string := ["window"; "demand"; "supply"; "jobs"].

Fixpoint task_rows (scheduler : string) (n : N) (tasks : list (N * table)) (evidence : list table)
  : result (list row) :=
  match tasks, evidence with
  | [], [] => Good []
  | (place, one) :: rest, told :: others =>
      _ <- only ("task" :: windows) told ;;
      name <- required text "name" one ;;
      _ <- (if named_by "task" name told then Good tt
            else Bad ("task " ++ name ++ ": the certificate names another one in its place")) ;;
      row <- task_row scheduler n place one told ;;
      more <- task_rows scheduler n rest others ;;
      Good (row :: more)
  | _, _ => Bad "the certificate has not as many tasks as the domain"
  end.

(* * Domains *)

Record source := { keys_there : table; tasks_there : list table }.

(* The name of a task as flows have it, if it has one. *)
Definition hop_name (one : source) (l : table) : option string :=
  match find "name" (keys_there one), find "name" l with
  | Some (Said domain), Some (Said task) => Some (domain ++ "." ++ task)
  | _, _ => None
  end.

(* A task of a domain is one of these hops. *)
Definition is_hop (hops : list string) (one : source) (l : table) : bool :=
  match hop_name one l with
  | Some name => one_of name hops
  | None => false
  end.

Definition many_tasks (one : source) : N := N.of_nat (length (tasks_there one)).

(* The tasks with their places in the file. *)
Fixpoint numbered (place : N) (l : list table) : list (N * table) :=
  match l with
  | [] => []
  | one :: rest => (place, one) :: numbered (place + 1) rest
  end.

(* What is known of a domain, and what is not but speaks of its own tasks alone. Any other key might
   say something of other servers. *)
Definition server_keys : list string :=
  ["name"; "scheduler"; "pcpu"; "priority"; "interface"; "interface_period";
   "interface_period_range"; "best_effort"; "extra"; "spread"; "together"; "apart"].
Definition domain_keys : list string := "guest" :: server_keys.

(* What makes a domain one that is not certified, though its server is one like all others. *)
Definition beyond_domain (hops : list string) (one : source) : option string :=
  let beyond_tasks :=
    fold_right (fun l found => match beyond_task (is_hop hops one l) l with
                               | Some k => Some ("task." ++ k)
                               | None => found
                               end)
      (match tasks_there one with [] => Some "no tasks" | _ => None end) (tasks_there one) in
  match stranger server_keys (keys_there one), find "scheduler" (keys_there one) with
  | Some k, _ => Some k
  | None, None => beyond_tasks
  | None, Some (Said s) =>
      if one_of s ["rm"; "dm"; "fp"; "edf"] then beyond_tasks else Some ("scheduler " ++ s)
  | None, Some _ => Some "scheduler"
  end.

Definition truth (k : string) (v : value) : result bool :=
  match v with
  | Bare s => if String.eqb s "true" then Good true
              else if String.eqb s "false" then Good false else Bad (k ++ ": true or false")
  | _ => Bad (k ++ ": true or false")
  end.

Definition is_best_effort (one : source) : result bool :=
  with_default truth "best_effort" (keys_there one) false.

(* The server of a domain, as the certificate has it and the system file allows. *)
Definition server_row (by_period one_pcpu : bool) (one : source) (said : table)
  : result (row * N) :=
  let l := keys_there one in
  name <- required text "name" l ;;
  within ("server of " ++ name) (
    _ <- only ["domain"; "pcpu"; "period"; "budget"; "window"] said ;;
    _ <- (if named_by "domain" name said then Good tt
          else Bad "the certificate names another domain in its place") ;;
    pcpu <- required number "pcpu" said ;;
    home <- optional number "pcpu" l ;;
    period <- required number "period" said ;;
    budget <- required number "budget" said ;;
    given <- optional keys_of "interface" l ;;
    _ <- (match given with
          | None => Good tt
          | Some its =>
              _ <- only ["period"; "budget"] its ;;
              p <- required time "period" its ;;
              b <- required time "budget" its ;;
              if (p =? period) && (b =? budget) then Good tt
              else Bad "the certificate has another interface than the system"
          end) ;;
    chosen <- optional time "interface_period" l ;;
    _ <- (match chosen with
          | Some p => if p =? period then Good tt
                      else Bad "the certificate has another period than the system"
          | None => Good tt
          end) ;;
    _ <- (match home with
          | Some p => if p =? pcpu then Good tt
                      else Bad "the certificate has another pcpu than the system"
          | None => if one_pcpu && (pcpu =? 0) then Good tt
                    else Bad "the system does not say on which pcpu it is"
          end) ;;
    priority <- optional number "priority" l ;;
    rank <- (match priority, by_period with
             | Some n, false => Good n
             | None, true => Good period
             | _, _ => Bad "all servers have priorities, or none"
             end) ;;
    window <- with_default number "window" said 0 ;;
    Good ({| r_name := name; r_number := rank; r_cost := budget; r_period := period;
             r_deadline := period; r_jitter := 0; r_strict := true; r_least := 0; r_before := None;
             r_window := window; r_demand := None; r_supply := None; r_jobs := [] |}, pcpu)).

Definition unjudged (server : row) (pcpu : N) : vm :=
  {| v_server := server; v_pcpu := pcpu; v_judged := false; v_order := Fixed; v_tasks := [];
     v_form := General; v_horizon := 0; v_multiple := 0; v_points := [] |}.

(* A domain with its tasks that are no hops. *)
Definition judged (hops : list string) (one : source) (server : row) (pcpu : N) (told : table)
  : result vm :=
  within (r_name server) (
    scheduler <- with_default text "scheduler" (keys_there one) "rm" ;;
    supply <- required text "supply" told ;;
    form <- (if String.eqb supply "general" then Good General
             else if String.eqb supply "harmonic" then Good Harmonic
             else Bad ("supply " ++ supply ++ ": not known to this checker")) ;;
    let n := many_tasks one in
    let tasks := filter (fun '(_, l) => negb (is_hop hops one l)) (numbered 0 (tasks_there one)) in
    if String.eqb scheduler "edf" then
      _ <- only ["domain"; "supply"; "horizon"; "multiple"; "points"] told ;;
      rows <- each (fun '(place, l) => task_row scheduler n place l []) tasks ;;
      horizon <- required number "horizon" told ;;
      multiple <- required number "multiple" told ;;
      points <- required (array number) "points" told ;;
      Good {| v_server := server; v_pcpu := pcpu; v_judged := true; v_order := Edf;
              v_tasks := rows; v_form := form; v_horizon := horizon; v_multiple := multiple;
              v_points := points |}
    else
      _ <- only ["domain"; "supply"; "tasks"] told ;;
      evidence <- with_default (array keys_of) "tasks" told [] ;;
      rows <- task_rows scheduler n tasks evidence ;;
      Good {| v_server := server; v_pcpu := pcpu; v_judged := true; v_order := Fixed;
              v_tasks := rows; v_form := form; v_horizon := 0; v_multiple := 0; v_points := [] |}).

(* * Flows *)

(* What the checker does not know of a flow, if there is something: the key. *)
Definition beyond_flow (l : table) : option string :=
  match stranger ["name"; "source"; "hops"; "deadline"; "queue"] l, find "source" l with
  | Some k, _ => Some k
  | None, Some (Table its) =>
      match stranger ["kind"; "period"; "offset"; "jitter"; "burst"] its with
      | Some k => Some ("source." ++ k)
      | None =>
          match find "burst" its, find "kind" its with
          | None, None | Some (Bare "1"), None => None
          | None, Some (Said kind) | Some (Bare "1"), Some (Said kind) =>
              if one_of kind ["periodic"; "sporadic"] then None else Some "source.kind"
          | None, Some _ | Some (Bare "1"), Some _ => Some "source.kind"
          | Some _, _ => Some "source.burst"
          end
      end
  | None, _ => Some "source"
  end.

(* A visit of items to a task: behind the hop before, or as the source releases. *)
Definition hop_row (period jitter : N) (said : table) (before : option flows.place) (one : source)
  (place : N) (l : table) : result row :=
  scheduler <- with_default text "scheduler" (keys_there one) "rm" ;;
  let edf := String.eqb scheduler "edf" in
  _ <- only (["hop"; "jitter"; "response"] ++ if edf then [] else windows)%list said ;;
  its <- task_row scheduler (many_tasks one) place l said ;;
  spread <- required number "jitter" said ;;
  response <- required number "response" said ;;
  part <- with_default share "etf" l (1, 1) ;;
  let '(n, parts) := part in
  if match before with None => negb (spread =? jitter) | Some _ => false end
  then Bad "the certificate has another jitter than the source"
  else if (r_deadline its <? response) || edf && (response <? r_deadline its)
  then Bad ("response " ++ show response ++ " of a deadline " ++ show (r_deadline its))
  else Good {| r_name := r_name its; r_number := r_number its; r_cost := r_cost its;
               r_period := period; r_deadline := response; r_jitter := spread; r_strict := false;
               r_least := N.max 1 (up (n * r_cost its) parts); r_before := before;
               r_window := r_window its; r_demand := r_demand its; r_supply := r_supply its;
               r_jobs := r_jobs its |}.

Definition with_row (its : row) (one : vm) : vm :=
  {| v_server := v_server one; v_pcpu := v_pcpu one; v_judged := v_judged one;
     v_order := v_order one; v_tasks := (v_tasks one ++ [its])%list; v_form := v_form one;
     v_horizon := v_horizon one; v_multiple := v_multiple one; v_points := v_points one |}.

(* The domains from number s on, with a visit to a hop, if its domain is judged, and where it is. *)
Fixpoint visited (hop : string) (make : source -> N -> table -> result row) (s : nat)
  (l : list (source * vm)) : result (option flows.place * list (source * vm)) :=
  match l with
  | [] => Good (None, [])
  | (one, its) :: rest =>
      match filter (fun '(_, t) => v_judged its && is_hop [hop] one t)
              (numbered 0 (tasks_there one)) with
      | [] => more <- visited hop make (S s) rest ;; Good (fst more, (one, its) :: snd more)
      | (place, t) :: _ =>
          found <- within hop (make one place t) ;;
          Good (Some (s, length (v_tasks its)), (one, with_row found its) :: rest)
      end
  end.

(* The visits of a flow's items to hops, those before them there already, the last one first. The
   certificate tells of the first ones, and of all that are in domains that are judged. *)
Fixpoint visits (period jitter : N) (hops : list string) (told : list table)
  (past : list flows.place) (l : list (source * vm))
  : result (list flows.place * list (source * vm)) :=
  match hops, told with
  | [], [] => Good (past, l)
  | [], _ :: _ => Bad "more hops in the certificate than in the system"
  | hop :: rest, [] =>
      found <- visited hop (fun _ _ _ => Bad "missing in the certificate") 0 l ;;
      visits period jitter rest [] past l
  | hop :: rest, said :: others =>
      _ <- (if named_by "hop" hop said then Good tt
            else Bad (hop ++ ": the certificate names another hop in its place")) ;;
      found <- visited hop (hop_row period jitter said (hd_error past)) 0 l ;;
      match fst found with
      | Some p => visits period jitter rest others (p :: past) (snd found)
      | None => Bad (hop ++ ": not in a domain that is certified")
      end
  end.

(* A domain or a flow without a proof: the name, and why; None for best effort. *)
Definition left_out := (string * option string)%type.

(* The flows of a file, those that are certified and those that are left out, and all domains with
   the visits to their hops. *)
Fixpoint ways (l told : list table) (domains : list (source * vm))
  : result (list flow * list left_out * list (source * vm)) :=
  match l with
  | [] => match told with
          | [] => Good ([], [], domains)
          | _ => Bad "it speaks of more than the system's flows, each once"
          end
  | one :: rest =>
      name <- required text "name" one ;;
      let '(its, told) := taken "flow" name told in
      let said := match its with Some l => l | None => [] end in
      made <- within ("flow " ++ name) (
        _ <- only ["flow"; "hops"; "why"] said ;;
        hops <- required (array text) "hops" one ;;
        hops_told <- required (array keys_of) "hops" said ;;
        match beyond_flow one, hops_told with
        | Some k, [] => done <- visits 0 0 hops [] [] domains ;; Good (done, hops, 0, 0, k)
        | Some k, _ :: _ => Bad (k ++ ": not known to this checker")
        | None, _ =>
            source_ <- required keys_of "source" one ;;
            period <- required time "period" source_ ;;
            jitter <- with_default time "jitter" source_ 0 ;;
            deadline <- required time "deadline" one ;;
            queue <- with_default number "queue" one 1 ;;
            done <- visits period jitter hops hops_told [] domains ;;
            Good (done, hops, deadline, queue, "not in the certificate")
        end) ;;
      let '(past, domains, hops, deadline, queue, unproved) := made in
      more <- ways rest told domains ;;
      let '(proved, out, domains) := more in
      if match find "why" said with Some _ => true | None => false end
      then Good (proved, (name, Some unproved) :: out, domains)
      else if Nat.eqb (length past) (length hops)
      then Good ({| f_name := name; f_hops := past; f_deadline := deadline; f_queue := queue |}
                 :: proved, out, domains)
      else Bad ("flow " ++ name ++ ": hops are missing in the certificate")
  end.

(* * Systems *)

Definition add_task (l : table) (one : source) : source :=
  {| keys_there := keys_there one; tasks_there := (tasks_there one ++ [l])%list |}.

Definition add_key (k : string) (v : value) (one : source) : source :=
  {| keys_there := (keys_there one ++ [(k, v)])%list; tasks_there := tasks_there one |}.

(* The domains of a file, the last one first: [[domain]] and what belongs to it. *)
Fixpoint domains_of (l : list section) (past : list source) : result (list source) :=
  match l with
  | [] => Good (rev_append past [])
  | one :: rest =>
      if String.eqb (named one) "domain" && listed one
      then domains_of rest ({| keys_there := keys one; tasks_there := [] |} :: past)
      else
        match past with
        | last :: others =>
            if String.eqb (named one) "domain.task" && listed one
            then domains_of rest (add_task (keys one) last :: others)
            else if String.eqb (named one) "domain.interface" && negb (listed one)
            then match find "interface" (keys_there last) with
                 | None => domains_of rest (add_key "interface" (Table (keys one)) last :: others)
                 | Some _ => Bad "interface: given twice"
                 end
            else Bad (named one ++ ": not known to this checker")
        | [] => Bad (named one ++ ": not known to this checker")
        end
  end.

(* The flows of a file, the last one first: [[flow]], and [flow.source] behind it. *)
Fixpoint flows_of (l : list section) (past : list table) : result (list table) :=
  match l with
  | [] => Good (rev_append past [])
  | one :: rest =>
      if String.eqb (named one) "flow" && listed one then flows_of rest (keys one :: past)
      else
        match past with
        | last :: others =>
            match find "source" last with
            | None => flows_of rest ((last ++ [("source", Table (keys one))])%list :: others)
            | Some _ => Bad "source: given twice"
            end
        | [] => Bad (named one ++ ": not known to this checker")
        end
  end.

Definition of_flow (one : section) : bool :=
  String.eqb (named one) (if listed one then "flow" else "flow.source").

(* Tasks may also stand in the domain's own table. *)
Definition gathered (one : source) : result source :=
  match find "task" (keys_there one) with
  | None => Good one
  | Some v =>
      inline <- array keys_of "task" v ;;
      match tasks_there one with
      | [] =>
          Good {| keys_there := filter (fun '(k, _) => negb (String.eqb k "task")) (keys_there one);
                  tasks_there := inline |}
      | _ => Bad "task: given twice"
      end
  end.

Definition rules := (policy * slack)%type.

(* The presets. A global policy on one pcpu is as one that decides on each. *)
Definition presets (one_pcpu : bool) : list (string * rules) :=
  (if one_pcpu then [("rtds", (Periods Deferrable ByDeadline, Behind));
                     ("ertds", (Periods Deferrable ByDeadline, Behind))] else []) ++
  [("ptps", (Periods Periodic ByRank, Idle)); ("wcps", (Periods Periodic ByRank, Lend));
   ("crps", (Periods Periodic ByRank, Reclaim)); ("hsf-fp", (Periods Periodic ByRank, Idle));
   ("partitioned-hsf-fp", (Periods Periodic ByRank, Idle));
   ("ds", (Periods Deferrable ByRank, Idle)); ("polling", (Periods Polling ByRank, Idle));
   ("cbs", (Bandwidth, Idle))].

(* All others are budget+order, and behind it +slack, +scope or both. *)
Definition policies (one_pcpu : bool) : list (string * rules) :=
  presets one_pcpu ++
  flat_map (fun '(servers, by_policy) => flat_map (fun '(slack_, by_slack) =>
        map (fun scope => (servers ++ slack_ ++ scope, (by_policy, by_slack)))
          ("" :: "+partitioned" :: if one_pcpu then ["+global"] else []))
      (("", Idle) :: ("+none", Idle) :: match by_policy with
         | Periods Periodic _ => [("+lend", Lend); ("+reclaim", Reclaim)]
         | _ => [("+spare", Behind); ("+extra", Behind)]
         end))
    (("cbs+edf", Bandwidth) :: flat_map (fun '(budget, by_rule) =>
        [(budget ++ "+fp", Periods by_rule ByRank); (budget ++ "+edf", Periods by_rule ByDeadline)])
      [("periodic", Periodic); ("deferrable", Deferrable); ("polling", Polling)]).

(* The name of a policy, which may be given as a table of its rules. *)
Definition policy_name (k : string) (v : value) : result string :=
  match v with
  | Said name => Good name
  | _ =>
      its <- keys_of k v ;;
      _ <- within k (only ["budget"; "order"; "slack"; "scope"] its) ;;
      budget <- required text "budget" its ;;
      order_ <- required text "order" its ;;
      slack_ <- with_default text "slack" its "none" ;;
      scope <- with_default text "scope" its "partitioned" ;;
      Good (String.concat "+" [budget; order_; slack_; scope])
  end.

Fixpoint policy_of (name : string) (l : list (string * rules)) : result rules :=
  match l with
  | [] => Bad ("policy " ++ name ++ ": not known to this checker")
  | (known, found) :: rest => if String.eqb name known then Good found else policy_of name rest
  end.

(* Servers of the certificate are taken in the order of the domains that have one. *)
Fixpoint join (by_period one_pcpu : bool) (hops : list string) (domains : list source)
  (servers proofs gaps : list table) : result (list (source * vm) * list left_out) :=
  match domains with
  | [] => match servers, proofs, gaps with
          | [], [], [] => Good ([], [])
          | _, _, _ => Bad "it speaks of more than the system's domains, each once"
          end
  | one :: rest =>
      name <- required text "name" (keys_there one) ;;
      effort <- is_best_effort one ;;
      let '(proof, proofs) := taken "domain" name proofs in
      let '(gap, gaps) := taken "domain" name gaps in
      if (effort : bool) then
        match proof, gap with
        | None, Some _ =>
            more <- join by_period one_pcpu hops rest servers proofs gaps ;;
            Good (fst more, (name, None) :: snd more)
        | _, _ => Bad (name ++ ": best effort belongs to what is not certified")
        end
      else
        _ <- within name (only domain_keys (keys_there one)) ;;
        match servers with
        | [] => Bad (name ++ ": the certificate has no server for it")
        | said :: others =>
            placed <- server_row by_period one_pcpu one said ;;
            let '(server, pcpu) := placed in
            more <- join by_period one_pcpu hops rest others proofs gaps ;;
            let unproved why :=
              Good ((one, unjudged server pcpu) :: fst more, (name, Some why) :: snd more) in
            match proof, gap, beyond_domain hops one with
            | Some told, None, None =>
                found <- judged hops one server pcpu told ;;
                Good ((one, found) :: fst more, snd more)
            | Some _, None, Some k => unproved k
            | Some _, Some _, _ => Bad (name ++ ": both certified and not certified")
            | None, Some _, Some k => unproved k
            | None, Some _, None => unproved "not in the certificate"
            | None, None, _ => Bad (name ++ ": missing in the certificate")
            end
        end
  end.

Fixpoint repeated (l : list string) : option string :=
  match l with
  | [] => None
  | one :: rest => if one_of one rest then Some one else repeated rest
  end.

Definition unique (what : string) (l : list string) : result unit :=
  match repeated l with
  | Some twice => Bad (what ++ " " ++ twice ++ ": given twice")
  | None => Good tt
  end.

Definition below (count : N) (one : vm) : result unit :=
  if v_pcpu one <? count then Good tt
  else Bad (r_name (v_server one) ++ ": pcpu " ++ show (v_pcpu one) ++ " of " ++ show count).

(* A system file and a certificate as one `system`, how many of the file's tasks are judged, and
   what is left out of it. *)
Definition read (system_file certificate : string) : result (system * N * list left_out) :=
  whole <- within "system" (
    tokens <- tokens_of system_file Between [] ;;
    sections (Line :: Line :: tokens ++ tokens)%list tokens
      {| named := EmptyString; listed := false; keys := [] |} []) ;;
  match whole with
  | [] => Bad "system: empty"
  | head :: tail =>
      let top := keys head in
      made <- within "system" (
        _ <- only ["name"; "description"; "policy"; "pcpus"; "sbf"; "quantum"; "spare"] top ;;
        name <- required text "name" top ;;
        count <- with_default number "pcpus" top 1 ;;
        policy <- required policy_name "policy" top ;;
        rules <- policy_of policy (policies (count =? 1)) ;;
        loose <- domains_of (filter (fun one => negb (of_flow one)) tail) [] ;;
        domains <- each gathered loose ;;
        flows <- flows_of (filter of_flow tail) [] ;;
        hops <- each (required (array text) "hops") flows ;;
        let hops := concat hops in
        let visited := flat_map (fun one =>
          flat_map (fun l => match hop_name one l with
                             | Some hop => if one_of hop hops then [hop] else []
                             | None => []
                             end) (tasks_there one)) domains in
        _ <- unique "task" visited ;;
        names <- each (required text "name") flows ;;
        _ <- unique "flow" names ;;
        Good (name, rules, count, domains, flows, hops)) ;;
      let '(name, (by_policy, by_slack), count, domains, flows, hops) := made in
      joined <- within "certificate" (
        tokens <- tokens_of certificate Between [] ;;
        found <- parse (Line :: Line :: tokens ++ tokens)%list AValue tokens ;;
        _ <- (match blank (snd found) with
              | [] => Good tt
              | _ => Bad "something behind its end"
              end) ;;
        told <- keys_of "the file" (fst found) ;;
        _ <- only ["certificate"; "system"; "servers"; "domains"; "flows";
                   "not_certified"; "assumptions"] told ;;
        version <- required number "certificate" told ;;
        _ <- (if version =? 1 then Good tt else Bad "certificate: not 1") ;;
        about <- required keys_of "system" told ;;
        _ <- only ["name"; "sha256"] about ;;
        _ <- (if named_by "name" name about then Good tt else Bad "system: another name") ;;
        servers <- required (array keys_of) "servers" told ;;
        proofs <- required (array keys_of) "domains" told ;;
        gaps <- required (array keys_of) "not_certified" told ;;
        flows_told <- with_default (array keys_of) "flows" told [] ;;
        _ <- each (only ["domain"; "why"]) gaps ;;
        names <- each (fun one => required text "name" (keys_there one)) domains ;;
        _ <- unique "domain" names ;;
        efforts <- each is_best_effort domains ;;
        let by_period := negb (existsb (fun '(one, effort) => negb effort
          && match find "priority" (keys_there one) with Some _ => true | None => false end)
          (combine domains efforts)) in
        found <- join by_period (count =? 1) hops domains servers proofs gaps ;;
        done <- ways flows flows_told (fst found) ;;
        let '(proved, out, vms) := done in
        Good (proved, (snd found ++ out)%list, vms)) ;;
      let '(proved, out, vms) := joined in
      _ <- each (below count) (map snd vms) ;;
      Good ({| s_policy := by_policy; s_slack := by_slack; s_vms := map snd vms;
               s_flows := proved |},
            total (fun '(one, its) => if v_judged its then many_tasks one else 0) vms, out)
  end.

(* * The answer *)

Definition commas (l : list string) : string := String.concat ", " l.

Definition counted (n : N) (what : string) : string :=
  show n ++ " " ++ what ++ (if n =? 1 then "" else "s").

Definition summary (sys : system) (tasks : N) (gaps : list left_out) : N * string :=
  let proved := filter v_judged (s_vms sys) in
  let part := existsb (fun '(_, why) => match why with Some _ => true | None => false end) gaps in
  ((if part then 1 else 0),
   (if part then "proved in part: " else "proved: ")
   ++ counted tasks "task" ++ " of " ++ counted (N.of_nat (length proved)) "domain"
   ++ (match s_flows sys with
       | [] => ""
       | ways => ", " ++ counted (N.of_nat (length ways)) "flow"
       end)
   ++ match gaps with
      | [] => ""
      | _ => "; not certified: "
             ++ commas (map (fun '(name, why) => name ++ " ("
                  ++ match why with Some k => k | None => "best effort" end ++ ")") gaps)
      end).

(* The exit code, and the line that is printed: 0 if all is proved but best effort, 1 if something
   does not hold or is left out, 2 if a file cannot be read. *)
Definition answer (system_file certificate : string) : N * string :=
  match read system_file certificate with
  | Bad why => (2, why)
  | Good (sys, tasks, gaps) =>
      match check sys with
      | Some why => (1, "not proved: " ++ why)
      | None => summary sys tasks gaps
      end
  end.
