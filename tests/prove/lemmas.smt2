; SPDX-License-Identifier: BSD-2-Clause
;
; The laws that arithmetic.h takes for granted, each by its name there, of integers of any size. Each
; is asserted to fail, and a solver has to find that impossible (unsat). In 64 bits a law speaks of
; products that fit; what it says of fitting follows from the bounds it gives.
(set-logic QF_NIA)
(declare-const x Int)
(declare-const p Int)
(declare-const b Int)
(declare-const q Int)
(declare-const m Int)
(declare-const n Int)
(define-fun quotient ((a Int) (c Int)) Int (div a c))

(push) ; division
(assert (and (>= x 0) (> p 0) (= q (quotient x p))))
(assert (not (and (<= (* q p) x) (< (- x (* q p)) p) (<= 0 q x) (= (> q 0) (<= p x)))))
(check-sat)
(pop)

(push) ; successor
(assert (and (>= q 0) (>= b 0)))
(assert (not (= (* (+ q 1) b) (+ (* q b) b))))
(check-sat)
(pop)

(push) ; monotony
(assert (and (>= q 0) (<= 0 b p)))
(assert (not (<= 0 (* q b) (* q p))))
(check-sat)
(pop)

(push) ; growth
(assert (and (> q 0) (>= b 0)))
(assert (not (>= (* q b) b)))
(check-sat)
(pop)

(push) ; nothing
(assert (not (= (* 0 b) 0)))
(check-sat)
(pop)

(push) ; distribution
(assert (and (>= q 0) (<= 0 b p)))
(assert (not (and (<= 0 (* q b) (* q p)) (= (* q (- p b)) (- (* q p) (* q b))))))
(check-sat)
(pop)

(push) ; order
(assert (and (<= 0 m n) (>= b 0)))
(assert (not (<= 0 (* m b) (* n b))))
(check-sat)
(pop)

(push) ; unit
(assert (not (= (* 1 b) b)))
(check-sat)
(pop)
