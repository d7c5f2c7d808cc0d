/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system counter and nanoseconds since the epoch.
 *
 * A ratio of the two units is kept as a whole number and a fraction of 2^64, rounded up, so that
 * a conversion is two multiplications exact at multiples of the counter's step.
 */
#ifndef GUESTS_CLOCK_H
#define GUESTS_CLOCK_H

#include "core/env.h"

#define NS_PER_SECOND 1000000000ull

struct ratio {
    hp_u64 whole;
    hp_u64 fraction;
};

struct clock {
    hp_u64 hz;
    hp_u64 epoch_ticks;
    struct ratio ticks_per_ns;
    struct ratio ns_per_tick;
};

/* a / b; both below 2^63. The fraction comes bit by bit, as in long division. */
static inline struct ratio ratio_of(hp_u64 a, hp_u64 b) {
    struct ratio ratio = {a / b, 0};
    hp_u64 rest = a % b;

    for (hp_u32 bit = 0; bit < 64u; bit++) {
        rest *= 2u;
        ratio.fraction = ratio.fraction << 1 | (rest >= b);
        if (rest >= b)
            rest -= b;
    }
    if (rest > 0)
        ratio.fraction++;
    return ratio;
}

static inline hp_u64 ratio_times(struct ratio ratio, hp_u64 n) {
    return ratio.whole * n + (hp_u64)((unsigned __int128)ratio.fraction * n >> 64);
}

static inline void clock_init(struct clock *clock, hp_u64 hz, hp_u64 epoch_ticks) {
    clock->hz = hz;
    clock->epoch_ticks = epoch_ticks;
    clock->ticks_per_ns = ratio_of(hz, NS_PER_SECOND);
    clock->ns_per_tick = ratio_of(NS_PER_SECOND, hz);
}

/* Nanoseconds since the epoch, 0 before it. */
static inline hp_u64 clock_ns(const struct clock *clock, hp_u64 ticks) {
    if (ticks <= clock->epoch_ticks)
        return 0;
    return ratio_times(clock->ns_per_tick, ticks - clock->epoch_ticks);
}

/* The first tick at which clock_ns is at least `ns`. */
static inline hp_u64 clock_ticks(const struct clock *clock, hp_u64 ns) {
    hp_u64 ticks = clock->epoch_ticks + ratio_times(clock->ticks_per_ns, ns);

    return clock_ns(clock, ticks) < ns ? ticks + 1u : ticks;
}

#endif /* GUESTS_CLOCK_H */
