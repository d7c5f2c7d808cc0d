/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What threads.c asks of the machine: a counter, and a loop whose instructions are known.
 *
 * In a VM under Xen (arm64; UNDER_XEN) the counter is the virtual one, which the hypervisor's is
 * paired with. On the Linux host it is Linux's own monotonic clock, which the BPF programs read as
 * well.
 */
#ifndef GUESTS_LINUX_MACHINE_H
#define GUESTS_LINUX_MACHINE_H

#include <time.h>

#include "guests/executive/clock.h"

#define LOOP_INSTRUCTIONS 60u
/* All but six of them: a machine that counts instructions is through those at once. */
#define REST_OF_ROUND ".rept 54\n\tnop\n\t.endr\n\t"
#define PAIR_TRIALS 20u

/* A reading of the counter, and what Linux's clock said then. */
struct clock_pair {
    hp_u64 ticks, ns;
};

static inline hp_u64 linux_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (hp_u64)now.tv_sec * NS_PER_SECOND + (hp_u64)now.tv_nsec;
}

#ifdef UNDER_XEN

static inline hp_u64 machine_counter(void) {
    hp_u64 ticks;

    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}

static inline hp_u64 machine_hz(void) {
    hp_u64 hz;

    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    return hz;
}

/* Reads both clocks as close together as it gets. */
static inline struct clock_pair pair_clocks(void) {
    struct clock_pair pair = {0, 0};
    hp_u64 narrowest = ~0ull;

    for (hp_u32 trial = 0; trial < PAIR_TRIALS; trial++) {
        hp_u64 before = machine_counter(), middle_ns = linux_ns(), after = machine_counter();

        if (after - before < narrowest) {
            narrowest = after - before;
            pair = (struct clock_pair){before + (after - before) / 2u, middle_ns};
        }
    }
    return pair;
}

#else

static inline hp_u64 machine_counter(void) {
    return linux_ns();
}

static inline hp_u64 machine_hz(void) {
    return NS_PER_SECOND;
}

/* The two are one clock. */
static inline struct clock_pair pair_clocks(void) {
    return (struct clock_pair){0, 0};
}

#endif

/* LOOP_INSTRUCTIONS each round. Ends early where another token than `token` stands in `tokens` at
 * the place that `place` holds; returns how many rounds are left. */
#ifdef __aarch64__

static inline hp_u64 busy_loop(hp_u64 rounds, const volatile hp_u32 *place, const void *tokens,
                               hp_u64 token) {
    hp_u64 at, found;

    __asm__ volatile("1:\tldr %w1, [%3]\n\t"
                     "ldr %2, [%4, %1, lsl #3]\n\t"
                     "cmp %2, %5\n\t"
                     "b.ne 2f\n\t" REST_OF_ROUND "subs %0, %0, #1\n\t"
                     "b.ne 1b\n"
                     "2:"
                     : "+&r"(rounds), "=&r"(at), "=&r"(found)
                     : "r"(place), "r"(tokens), "r"(token)
                     : "cc", "memory");
    return rounds;
}

#else

static inline hp_u64 busy_loop(hp_u64 rounds, const volatile hp_u32 *place, const void *tokens,
                               hp_u64 token) {
    hp_u64 at, found;

    __asm__ volatile("1:\tmovl (%3), %k1\n\t"
                     "movq (%4,%1,8), %2\n\t"
                     "cmpq %5, %2\n\t"
                     "jne 2f\n\t" REST_OF_ROUND "decq %0\n\t"
                     "jne 1b\n"
                     "2:"
                     : "+&r"(rounds), "=&r"(at), "=&r"(found)
                     : "r"(place), "r"(tokens), "r"(token)
                     : "cc", "memory");
    return rounds;
}

#endif

#endif /* GUESTS_LINUX_MACHINE_H */
