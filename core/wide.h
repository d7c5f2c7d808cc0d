// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Products and quotients of 64-bit numbers.
 *
 * Accounts multiply and divide spans of time by these verbs alone, so that a proof about an account
 * can take from them what arithmetic says and need not multiply bit by bit (tests/prove).
 *
 * Two products are compared exactly. The BPF target has no 128-bit multiply, so the product is put
 * together from four products of halves.
 */
#pragma once

#include "types.h"

/* How many whole parts there are in a span; the part is not 0. */
HP_FN hp_u64 hp_parts(hp_u64 span_ns, hp_u64 part_ns) {
    HP_ASSERT(part_ns > 0);
    return span_ns / part_ns;
}

/* What is left of a span after its whole parts; the part is not 0. */
HP_FN hp_u64 hp_modulo(hp_u64 span_ns, hp_u64 part_ns) {
    HP_ASSERT(part_ns > 0);
    return span_ns % part_ns;
}

/* So many of one length, which together are below 2^64. */
HP_FN hp_u64 hp_times(hp_u64 count, hp_u64 length_ns) {
    return count * length_ns;
}

#define HP_LOW_HALF 0xffffffffull

/* The upper 64 bits of a * b. */
HP_FN hp_u64 hp_product_high(hp_u64 a, hp_u64 b) {
    hp_u64 low = (a & HP_LOW_HALF) * (b & HP_LOW_HALF);
    hp_u64 left = (a >> 32) * (b & HP_LOW_HALF);
    hp_u64 right = (a & HP_LOW_HALF) * (b >> 32);
    /* Each term is below 2^32 or 2^64 - 2^33 + 1, so the sum of these three fits. */
    hp_u64 middle = left + (low >> 32) + (right & HP_LOW_HALF);

    return (a >> 32) * (b >> 32) + (middle >> 32) + (right >> 32);
}

/* Whether a * b > c * d. */
HP_FN hp_u32 hp_product_above(hp_u64 a, hp_u64 b, hp_u64 c, hp_u64 d) {
    hp_u64 high = hp_product_high(a, b);
    hp_u64 other = hp_product_high(c, d);

    return high != other ? high > other : a * b > c * d;
}
