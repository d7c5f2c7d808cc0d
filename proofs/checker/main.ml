(* SPDX-License-Identifier: BSD-2-Clause *)
(* hyperperiod-check SYSTEM CERTIFICATE: two files in, a line and an exit code out.

   0: proved, all but best effort; 1: something does not hold, or is left out; 2: a file cannot be
   read. All that decides is Checker, which Coq has made (extract.v). *)

let fail text =
  prerr_endline text;
  exit 2

let characters name =
  match open_in_bin name with
  | exception Sys_error why -> fail why
  | channel ->
      let text =
        try really_input_string channel (in_channel_length channel)
        with Sys_error why -> fail (name ^ ": " ^ why) | End_of_file -> fail (name ^ ": not a file")
      in
      close_in channel;
      List.init (String.length text) (String.get text)

let () =
  match Sys.argv with
  | [| _; system; certificate |] -> (
      let system = characters system in
      match Checker.answer system (characters certificate) with
      | exception Stack_overflow -> fail "the files are too long"
      | code, said ->
          let line = String.of_seq (List.to_seq said) in
          if Big_int_Z.int_of_big_int code = 2 then fail line else print_endline line;
          exit (Big_int_Z.int_of_big_int code))
  | _ -> fail "usage: hyperperiod-check SYSTEM CERTIFICATE"
