// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Random draws that do not depend on the schedule: a number is a function of (seed, domain,
 * task, job, stream) and of nothing else, in integers, so that a simulator and a guest on real
 * hardware give the same job the same execution time whatever happened before.
 */
#pragma once

#include "wide.h"

enum hp_stream {
    HP_DRAW_EXECUTION,
    HP_DRAW_JITTER,
    HP_DRAW_GAP,
};

/* One round of mixing: odd multiplications and shifts, each of which can be undone. */
HP_FN hp_u64 hp_mix(hp_u64 x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    x ^= x >> 32;
    return x;
}

/* 64 random bits for this job; domain is its number in the system, task that in the domain. */
HP_FN hp_u64 hp_draw(hp_u64 seed, hp_u32 domain, hp_u32 task, hp_u64 job, hp_u32 stream) {
    hp_u64 who = (hp_u64)domain << 40 | (hp_u64)task << 8 | stream;

    return hp_mix(hp_mix(hp_mix(seed + 0x9e3779b97f4a7c15ull) ^ who) + job);
}

/* Jobs that take longer than their task allows: which ones, and how much longer. */
struct hp_overrun {
    hp_u64 thousandths; /* what execution times are multiplied by, 1000 for once; 0: no overrun */
    hp_u64 from_ns;     /* jobs released from here on ... */
    hp_u64 to_ns;       /* ... and before this */
    hp_u64 every;       /* and of these jobs every - 1, 2 * every - 1, ...; at least 1 */
};

/* How long a job runs that would run for `execution_ns`, rounded up; below 2^64 if in range. */
HP_FN hp_u64 hp_overrun_ns(const struct hp_overrun *overrun, hp_u64 execution_ns, hp_u64 job,
                           hp_u64 release_ns) {
    if (overrun->thousandths == 0 || release_ns < overrun->from_ns || release_ns >= overrun->to_ns
        || (job + 1u) % overrun->every != 0)
        return execution_ns;
    return execution_ns / 1000u * overrun->thousandths
           + (execution_ns % 1000u * overrun->thousandths + 999u) / 1000u;
}

/* The draw as a number from low to high, both included, all as likely up to one part in 2^64. */
HP_FN hp_u64 hp_draw_between(hp_u64 draw, hp_u64 low, hp_u64 high) {
    HP_ASSERT(low <= high && high - low < HP_TIME_MAX);
    return low + hp_product_high(draw, high - low + 1u);
}
