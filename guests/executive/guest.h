/* SPDX-License-Identifier: BSD-2-Clause */
/* What the workloads of a guest share: what it was told, its clock and its ring. */
#ifndef GUESTS_GUEST_H
#define GUESTS_GUEST_H

#include "guests/board/board.h"
#include "guests/executive/arguments.h"
#include "guests/executive/clock.h"
#include "guests/executive/writer.h"

_Static_assert(DOMAIN_VCPUS <= MAX_VCPUS, "every vcpu has a stack");

struct guest {
    struct arguments arguments;
    struct clock clock;
    struct writer writer;
    struct ratio instructions_per_ns; /* of the busy loop */
};

extern struct guest guest;

#define LOOP_INSTRUCTIONS 2u /* of one round of busy_loop */

static inline hp_u64 instructions_in(hp_u64 ns) {
    return ratio_times(guest.instructions_per_ns, ns);
}

static inline void put(hp_u8 kind, hp_u64 ticks, hp_u32 vcpu, hp_u32 task, hp_u64 job,
                       hp_u64 value) {
    writer_put(&guest.writer, record_of(kind, ticks, vcpu, task, job, value));
}

/* Sleeps until the counter has come to `ticks`, and leaves no alarm; how far it is then. */
static inline hp_u64 sleep_until(hp_u64 ticks) {
    hp_u64 now;

    while ((now = counter()) < ticks) {
        set_alarm(ticks);
        sleep();
        take_interrupts();
    }
    stop_alarm();
    return now;
}

/* The first instant at or after which nothing new begins, on the counter. */
static inline hp_u64 horizon_ticks(void) {
    return guest.arguments.horizon_ns == HP_NEVER
               ? HP_NEVER
               : clock_ticks(&guest.clock, guest.arguments.horizon_ns);
}

/* The workloads. None comes back; those of one vcpu only are run by the first. */
void executive_init(void);
_Noreturn void executive_run(hp_u32 vcpu);
_Noreturn void run_clocktick(void);
_Noreturn void run_response(void);
_Noreturn void run_device(void);
_Noreturn void run_outside(void);
_Noreturn void run_hostile(void);

#endif /* GUESTS_GUEST_H */
