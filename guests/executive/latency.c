// SPDX-License-Identifier: BSD-2-Clause
//
// Two measurements of what a vcpu feels of the hypervisor and the other domains.
//
// clocktick: every task-period, for task-time, a busy loop of `loop` is timed again and again
// (task-period 0: without a pause). Each is a SAMPLE; `job` is the number of the period. Whatever
// a loop took longer than the shortest was stolen.
//
// response: an alarm every `period`, for which the vcpu sleeps. Each is a RESPONSE: how long after
// it was due it was seen. One that is seen after the next was due counts for all of them.

#include "guests/executive/guest.h"

_Noreturn static void end(void) {
    writer_end(&guest.writer, horizon_ticks());
    stop();
}

static hp_u64 span_ticks(hp_u64 ns) {
    return ratio_times(guest.clock.ticks_per_ns, ns);
}

/* One task: timed loops until `until` or the horizon. */
static void time_loops(hp_u64 job, hp_u64 until) {
    hp_u64 rounds = instructions_in(guest.arguments.loop_ns) / LOOP_INSTRUCTIONS;
    hp_u64 before = counter();

    while (before < until) {
        hp_u64 after;

        busy_loop(rounds);
        after = counter();
        put(HP_RECORD_SAMPLE, before, 0, HP_RECORD_NONE, job, after - before);
        before = counter();
    }
}

_Noreturn void run_clocktick(void) {
    const struct arguments *told = &guest.arguments;
    hp_u64 horizon = horizon_ticks();
    hp_u64 now = sleep_until(guest.clock.epoch_ticks);

    stop_alarm();
    if (told->task_period_ns == 0) {
        time_loops(0, horizon);
        end();
    }
    for (hp_u64 job = 0; now < horizon; job++) {
        stop_alarm();
        put(HP_RECORD_RUN, now, 0, HP_RECORD_NONE, job, 0);
        time_loops(job, hp_min(now + span_ticks(told->task_time_ns), horizon));
        put(HP_RECORD_IDLE, counter(), 0, HP_RECORD_NONE, 0, 0);
        now = sleep_until(clock_ticks(&guest.clock, (job + 1u) * told->task_period_ns));
    }
    end();
}

_Noreturn void run_response(void) {
    hp_u64 horizon = horizon_ticks();
    hp_u64 job = 1;

    sleep_until(guest.clock.epoch_ticks);
    while (1) {
        hp_u64 due = clock_ticks(&guest.clock, job * guest.arguments.period_ns);
        hp_u64 now;

        if (due >= horizon)
            end();
        now = sleep_until(due);
        do {
            put(HP_RECORD_RESPONSE, due, 0, HP_RECORD_NONE, job, now - due);
            job++;
            due = clock_ticks(&guest.clock, job * guest.arguments.period_ns);
        } while (due <= now && due < horizon);
    }
}
