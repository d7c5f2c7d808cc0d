(* SPDX-License-Identifier: BSD-2-Clause *)
(* The checker as a program of OCaml. What is trusted beside Coq's extraction: that binary numbers
   are those of Zarith, as Coq's own ExtrOcamlZBigInt says and the lines below it. *)

From Coq Require Import NArith Extraction ExtrOcamlBasic ExtrOcamlString ExtrOcamlZBigInt.
From Hyperperiod Require Import reader.

Extract Constant N.eqb => "Big_int_Z.eq_big_int".
Extract Constant N.leb => "Big_int_Z.le_big_int".
Extract Constant N.ltb => "Big_int_Z.lt_big_int".

Extraction "checker.ml" answer.
