// SPDX-License-Identifier: BSD-2-Clause
//
// The measurements of latency.h as workloads of a guest, and one that only a guest can make.

#include "guests/board/card.h"
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

/* The same with interrupts of the card, by frames of the machine outside. */
_Noreturn void run_device(void) {
    const hp_u64 horizon = horizon_ticks();
    const struct message *message;

    set_alarm(horizon);
    while (counter() < horizon) {
        sleep();
        take_interrupts();
        while ((message = (const struct message *)card_look(0)) != 0) {
            hp_u64 due = clock_ticks(&guest.clock, message->ns);

            put(HP_RECORD_RESPONSE, due, 0, HP_RECORD_NONE, place_number(message->place),
                counter() - due);
            card_drop(0);
        }
    }
    end();
}

_Noreturn void run_response(void) {
    const struct measurement responses = measurement();

    measure_responses(&responses);
    end();
}
