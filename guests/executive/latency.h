/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two measurements of what a vcpu feels of its scheduler and of the other domains, as the executive
 * on Xen (latency.c) and a thread on the Linux host (guests/linux/threads.c) make them.
 *
 * clocktick: every task-period, for task-time, a busy loop of `loop` is timed again and again
 * (task-period 0: without a pause). Each is a SAMPLE; `job` is the number of the period. Whatever
 * a loop took longer than the shortest was stolen.
 *
 * response: an alarm every `period`, for which the vcpu sleeps. Each is a RESPONSE: how long after
 * it was due it was seen. One that is seen after the next was due counts for all of them.
 *
 * Whoever includes this has counter(), put(), sleep_until(ticks), which returns how far it is then,
 * and execute_loop(rounds), which is the busy loop.
 */
#ifndef GUESTS_LATENCY_H
#define GUESTS_LATENCY_H

#include "guests/executive/arguments.h"
#include "guests/executive/clock.h"

/* What is to be measured, up to which tick of which clock. */
struct measurement {
    const struct arguments *told;
    const struct clock *clock;
    hp_u64 horizon;
    hp_u64 rounds; /* of the busy loop that is timed */
};

/* One task: timed loops until `until`. */
static void time_loops(const struct measurement *measurement, hp_u64 job, hp_u64 until) {
    hp_u64 before = counter();

    while (before < until) {
        hp_u64 after;

        execute_loop(measurement->rounds);
        after = counter();
        put(HP_RECORD_SAMPLE, before, 0, HP_RECORD_NONE, job, after - before);
        before = counter();
    }
}

/* Comes back at the horizon. */
static void measure_loops(const struct measurement *measurement) {
    const struct clock *clock = measurement->clock;
    hp_u64 length = ratio_times(clock->ticks_per_ns, measurement->told->task_time_ns);
    hp_u64 period_ns = measurement->told->task_period_ns, horizon = measurement->horizon;
    hp_u64 now = sleep_until(clock->epoch_ticks);

    if (period_ns == 0) {
        time_loops(measurement, 0, horizon);
        return;
    }
    for (hp_u64 job = 0; now < horizon; job++) {
        put(HP_RECORD_RUN, now, 0, HP_RECORD_NONE, job, 0);
        time_loops(measurement, job, hp_min(now + length, horizon));
        put(HP_RECORD_IDLE, counter(), 0, HP_RECORD_NONE, 0, 0);
        now = sleep_until(clock_ticks(clock, (job + 1u) * period_ns));
    }
}

/* Comes back when the next alarm would be at the horizon or later. */
static void measure_responses(const struct measurement *measurement) {
    const struct clock *clock = measurement->clock;
    hp_u64 period_ns = measurement->told->period_ns;
    hp_u64 due;

    sleep_until(clock->epoch_ticks);
    for (hp_u64 job = 1; (due = clock_ticks(clock, job * period_ns)) < measurement->horizon;) {
        hp_u64 now = sleep_until(due);

        do {
            put(HP_RECORD_RESPONSE, due, 0, HP_RECORD_NONE, job, now - due);
            job++;
            due = clock_ticks(clock, job * period_ns);
        } while (due <= now && due < measurement->horizon);
    }
}

#endif /* GUESTS_LATENCY_H */
