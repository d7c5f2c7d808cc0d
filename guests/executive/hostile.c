// SPDX-License-Identifier: BSD-2-Clause
//
// Workloads that do nothing but take what they can get, from the epoch to the horizon. The field
// `reserved` of the ring's header counts what each has done: milliseconds of a busy loop, yields,
// wakes, hypercalls, alarms.

#include "guests/executive/guest.h"

#define XEN_MEMORY_OP 12u
#define XEN_VERSION 17u
#define XEN_CONSOLE_IO 18u
#define XEN_GRANT_TABLE_OP 20u
#define XEN_VCPU_OP 24u
#define XEN_SCHED_OP 29u
#define XEN_EVENT_CHANNEL_OP 32u
#define XEN_HVM_OP 34u
#define XEN_SYSCTL 35u
#define XEN_DOMCTL 36u

#define XEN_SCHED_YIELD 0u

#define STORM_ROUND 64u /* actions between two looks at the clock */

static void spin(void) {
    busy_loop(instructions_in(1000000u) / LOOP_INSTRUCTIONS);
    guest.writer.ring->reserved++;
}

static void yield(void) {
    hypercall(XEN_SCHED_OP, XEN_SCHED_YIELD, 0, 0);
    guest.writer.ring->reserved++;
}

static hp_u64 draw(hp_u64 low, hp_u64 high) {
    return hp_draw_between(hp_draw(guest.arguments.seed, (hp_u32)guest.arguments.domain, 0,
                                   guest.writer.ring->reserved, 0),
                           low, high);
}

/* Asleep for 1 to 20 us, over and over. */
static void wake(void) {
    hp_u64 ticks = counter() + draw(guest.clock.hz / 1000000u, guest.clock.hz / 50000u);

    sleep_until(ticks);
    guest.writer.ring->reserved++;
}

/* What cannot end this domain: good, bad and privileged operations with good and bad pointers. */
static void call(void) {
    static const struct {
        hp_u64 number, first, second, third;
    } calls[] = {
        {XEN_VERSION, 0, 0, 0},
        {XEN_VERSION, 1, 0xdead000000000000ull, 0},
        {XEN_VERSION, ~0ull, 0, 0},
        {XEN_SCHED_OP, 99, 0, 0},
        {XEN_SCHED_OP, 3, 0xffffffff00000000ull, 0}, /* poll */
        {XEN_MEMORY_OP, 6, 0, 0},
        {XEN_MEMORY_OP, 63, RAM_START, 0},
        {XEN_EVENT_CHANNEL_OP, 4, 0x10, 0},
        {XEN_EVENT_CHANNEL_OP, ~0ull, RAM_START, 0},
        {XEN_VCPU_OP, 77, 1u << 20, 0},
        {XEN_GRANT_TABLE_OP, 6, 0, 0},
        {XEN_HVM_OP, 0, RAM_START, 0},
        {XEN_SYSCTL, RAM_START, 0, 0},
        {XEN_DOMCTL, RAM_START, 0, 0},
        {XEN_CONSOLE_IO, 17, 0, 0},
        {63, 1, 2, 3},
        {~0ull, ~0ull, ~0ull, ~0ull},
    };
    hp_u64 which = guest.writer.ring->reserved % (sizeof calls / sizeof calls[0]);

    hypercall(calls[which].number, calls[which].first, calls[which].second, calls[which].third);
    guest.writer.ring->reserved++;
}

/* Alarms in the past and up to 20 us ahead. */
static void alarm(void) {
    hp_u64 ahead = draw(0, guest.clock.hz / 25000u);

    set_alarm(counter() + ahead - guest.clock.hz / 50000u);
    take_interrupts();
    guest.writer.ring->reserved++;
}

/* Repeats an action to the horizon. */
_Noreturn static void repeat(void (*action)(void), hp_u32 at_once) {
    hp_u64 horizon = horizon_ticks();

    put(HP_RECORD_RUN, sleep_until(guest.clock.epoch_ticks), 0, HP_RECORD_NONE, 0, 0);
    while (counter() < horizon) {
        for (hp_u32 i = 0; i < at_once; i++)
            action();
    }
    writer_end(&guest.writer, horizon);
    stop();
}

_Noreturn void run_hostile(void) {
    switch (guest.arguments.workload) {
    case WORKLOAD_YIELD_STORM:
        repeat(yield, STORM_ROUND);
    case WORKLOAD_WAKE_STORM:
        repeat(wake, STORM_ROUND);
    case WORKLOAD_HYPERCALL_STORM:
        repeat(call, STORM_ROUND);
    case WORKLOAD_TIMER_STORM:
        repeat(alarm, STORM_ROUND);
    case WORKLOAD_SPIN:
    case WORKLOAD_TASKS:
    case WORKLOAD_CLOCKTICK:
    case WORKLOAD_RESPONSE:
    case WORKLOAD_DEVICE:
    case WORKLOAD_OUTSIDE:
        break;
    }
    repeat(spin, 1);
}
