// SPDX-License-Identifier: BSD-2-Clause
//
// The measurements of latency.h as workloads of a guest.

#include "guests/executive/guest.h"

static inline void execute_loop(hp_u64 rounds) {
    busy_loop(rounds);
}

#include "guests/executive/latency.h"

static struct measurement measurement(void) {
    return (struct measurement){&guest.arguments, &guest.clock, horizon_ticks(),
                                instructions_in(guest.arguments.loop_ns) / LOOP_INSTRUCTIONS};
}

_Noreturn static void end(void) {
    writer_end(&guest.writer, horizon_ticks());
    stop();
}

_Noreturn void run_clocktick(void) {
    const struct measurement loops = measurement();

    measure_loops(&loops);
    end();
}

_Noreturn void run_response(void) {
    const struct measurement responses = measurement();

    measure_responses(&responses);
    end();
}
