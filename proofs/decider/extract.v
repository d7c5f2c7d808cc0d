(* SPDX-License-Identifier: BSD-2-Clause *)
(* The decider of laws.v as a program of OCaml, for tests: small numbers, so that nat is int. *)

From Coq Require Import NArith Extraction ExtrOcamlBasic ExtrOcamlNativeString ExtrOcamlNatInt.
From Hyperperiod Require Import laws.

Extract Inlined Constant Nat.leb => "(<=)".
Extract Inlined Constant Nat.ltb => "(<)".

Extraction "decider.ml" lawful N.of_nat.
