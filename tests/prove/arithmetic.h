// SPDX-License-Identifier: BSD-2-Clause
/*
 * Products and quotients as the proofs see them.
 *
 * A bounded model checker multiplies and divides bit by bit, and about a product of two unknown
 * 64-bit numbers it never comes to an end. The core's accounts multiply and divide by the verbs of
 * core/wide.h alone. Here each verb is replaced by one that knows nothing but that equal arguments
 * give equal results; what else arithmetic says about the numbers in hand a proof has to name, as
 * one of the laws below. Each law is true of all integers: lemmas.smt2 states it, and z3 proves it
 * there without any bound on the size of numbers.
 *
 * That a product fits into 64 bits has to follow as well: a product that does not is worth
 * nothing, and asking for one fails the proof.
 */
#pragma once

hp_u64 __CPROVER_uninterpreted_quotient(hp_u64 span, hp_u64 part);
hp_u64 __CPROVER_uninterpreted_product(hp_u64 count, hp_u64 length);
hp_u32 __CPROVER_uninterpreted_fits(hp_u64 count, hp_u64 length);

#define QUOTIENT(span, part) __CPROVER_uninterpreted_quotient(span, part)
#define PRODUCT(count, length) __CPROVER_uninterpreted_product(count, length)
#define FITS(count, length) (__CPROVER_uninterpreted_fits(count, length) != 0)

/* division: x = q * p + r with 0 <= r < p; where p <= x there is one part at least. */
static void law_division(hp_u64 x, hp_u64 p) {
    const hp_u64 q = QUOTIENT(x, p);

    __CPROVER_assume(p > 0);
    __CPROVER_assume(FITS(q, p) && PRODUCT(q, p) <= x && x - PRODUCT(q, p) < p);
    __CPROVER_assume(q <= x && (q > 0) == (p <= x));
}

/* successor: (q + 1) * b = q * b + b, where that is below 2^64. */
static void law_successor(hp_u64 q, hp_u64 b) {
    if (FITS(q, b) && q + 1u > q && PRODUCT(q, b) + b >= b)
        __CPROVER_assume(FITS(q + 1u, b) && PRODUCT(q + 1u, b) == PRODUCT(q, b) + b);
}

/* monotony: b <= p gives q * b <= q * p. */
static void law_monotony(hp_u64 q, hp_u64 b, hp_u64 p) {
    if (b <= p && FITS(q, p))
        __CPROVER_assume(FITS(q, b) && PRODUCT(q, b) <= PRODUCT(q, p));
}

/* growth: q > 0 gives q * b >= b. */
static void law_growth(hp_u64 q, hp_u64 b) {
    if (q > 0 && FITS(q, b))
        __CPROVER_assume(PRODUCT(q, b) >= b);
}

/* nothing: 0 * b = 0 */
static void law_nothing(hp_u64 b) {
    __CPROVER_assume(FITS(0, b) && PRODUCT(0, b) == 0);
}

/* distribution: b <= p gives q * p = q * b + q * (p - b). */
static void law_distribution(hp_u64 q, hp_u64 p, hp_u64 b) {
    if (b <= p && FITS(q, p))
        __CPROVER_assume(FITS(q, b) && FITS(q, p - b) && PRODUCT(q, b) <= PRODUCT(q, p)
                         && PRODUCT(q, p - b) == PRODUCT(q, p) - PRODUCT(q, b));
}

/* order: m <= n gives m * b <= n * b. */
static void law_order(hp_u64 m, hp_u64 n, hp_u64 b) {
    if (m <= n && FITS(n, b))
        __CPROVER_assume(FITS(m, b) && PRODUCT(m, b) <= PRODUCT(n, b));
}

/* unit: 1 * b = b. */
static void law_unit(hp_u64 b) {
    __CPROVER_assume(FITS(1u, b) && PRODUCT(1u, b) == b);
}

/*
 * Who proves something about an account says before which lengths it multiplies by what it divides
 * for, and which laws it needs: each makes the search longer.
 */
enum laws {
    DIVISION_ALONE = 0,
    REFILLS = 1,      /* a count of periods and one more, times the period and the budget */
    COMPLEMENT = 2,   /* a count of periods, times the budget and the rest of the period */
    TWO_QUOTIENTS = 4 /* the lesser of two counts, each and one more */
};
static hp_u32 the_laws;
static const hp_u64 *the_budget_ns;
static const hp_u64 *the_period_ns;
static hp_u64 the_first_quotient;
static hp_u32 quotients;

static void know_count(hp_u64 count, hp_u64 part_ns) {
    if (the_laws & REFILLS) {
        law_successor(count, part_ns);
        law_monotony(count + 1u, *the_budget_ns, *the_period_ns);
        law_growth(count + 1u, *the_budget_ns);
        law_growth(count + 1u, part_ns);
    }
    if (the_laws & COMPLEMENT)
        law_distribution(count, part_ns, *the_budget_ns);
    if ((the_laws & TWO_QUOTIENTS) && quotients > 0) {
        law_order(count + 1u, the_first_quotient + 1u, *the_budget_ns);
        law_order(the_first_quotient + 1u, count + 1u, *the_period_ns);
    }
}

/* What takes the place of hp_parts. */
hp_u64 prove_parts(hp_u64 span_ns, hp_u64 part_ns) {
    const hp_u64 count = QUOTIENT(span_ns, part_ns);

    __CPROVER_assert(part_ns > 0, "nothing is divided by zero");
    law_division(span_ns, part_ns);
    know_count(count, part_ns);
    the_first_quotient = count;
    quotients++;
    return count;
}

/* What takes the place of hp_modulo: by the law of division it is what the whole parts leave. */
hp_u64 prove_modulo(hp_u64 span_ns, hp_u64 part_ns) {
    __CPROVER_assert(part_ns > 0, "nothing is divided by zero");
    law_division(span_ns, part_ns);
    return span_ns - PRODUCT(QUOTIENT(span_ns, part_ns), part_ns);
}

/* What takes the place of hp_times. */
hp_u64 prove_times(hp_u64 count, hp_u64 length_ns) {
    law_unit(length_ns);
    __CPROVER_assert(FITS(count, length_ns), "a product fits into 64 bits");
    return PRODUCT(count, length_ns);
}
