// SPDX-License-Identifier: BSD-2-Clause
//
// The machine at the other end of the networks: where the items of flows come from that enter by a
// card, and where those go that leave by one. It has a pcpu for itself, no tasks, and for each card
// of the system one with the same number.
//
// An item is sent at the instant at which its source releases it, to some instructions, and carries
// that instant: this machine wakes before and counts. Each that arrives is an ITEM in the ring,
// with the place behind its last hop.

#include "guests/board/card.h"
#include "guests/executive/flow.h"
#include "guests/executive/guest.h"
#include "guests/executive/sources.h"

#define AWAKE_NS 20000u /* longer than it takes to wake */

static struct sources sources;

static void take_arrivals(void) {
    const struct message *message;

    for (hp_u32 i = 0; i < guest.arguments.cards; i++) {
        while ((message = (const struct message *)card_look(i)) != 0) {
            put(HP_RECORD_ITEM, counter(), HP_RECORD_NONE, HP_RECORD_NONE, 0, message->place);
            card_drop(i);
        }
    }
}

/* When the next item is to be sent, or there is nothing to do any more. */
static hp_u64 next_ticks(void) {
    return clock_ticks(&guest.clock, hp_min(sources_next_ns(&sources), guest.arguments.horizon_ns));
}

static void send_next(void) {
    hp_u64 ticks = next_ticks(), release_ns = sources_next_ns(&sources);
    hp_u64 place = sources_release(&sources);
    hp_u32 card = guest.arguments.flow[place_flow(place)].comes;

    while (counter() < ticks)
        continue;
    while (!card_send(card, &(struct message){place, {.ns = release_ns}})
           && counter() < horizon_ticks())
        take_arrivals(); /* so that who is to receive this one need not wait to send */
}

_Noreturn void run_outside(void) {
    hp_u64 early = ratio_times(guest.clock.ticks_per_ns, AWAKE_NS);

    sources_init(&sources, &guest.arguments, HP_NONE);
    while (counter() < horizon_ticks()) {
        set_alarm(next_ticks() - early);
        sleep();
        take_interrupts();
        take_arrivals();
        while (next_ticks() < horizon_ticks() && next_ticks() - early <= counter()) {
            send_next();
            take_arrivals();
        }
    }
    writer_end(&guest.writer, horizon_ticks());
    stop();
}
