// SPDX-License-Identifier: BSD-2-Clause
//
// A guest from its first line of C: reads what it is told, prepares its clock and its ring, and
// begins its workload. What is wrong with its arguments it says on the console, and stops.

#include "guests/board/card.h"
#include "guests/executive/guest.h"
#include "guests/executive/tree.h"

struct guest guest;

#define MEASUREMENTS 20u
#define MEASURED_ROUNDS 250000u /* a tenth of a millisecond: shorter than a turn of the pcpu */

_Noreturn static void refuse(struct arguments_error error) {
    print("executive: ");
    print_part(error.word.start, error.word.length);
    print(": ");
    print(error.message);
    print("\n");
    stop();
}

static void read_text(struct word text) {
    struct arguments_error error = arguments_read(&guest.arguments, text);

    if (error.message != 0)
        refuse(error);
}

/* The boot arguments, then the text that came as an initial ramdisk. */
static void read_arguments(const void *tree) {
    struct tree_value line = tree_chosen(tree, "bootargs");
    hp_u64 start = tree_number(tree_chosen(tree, "linux,initrd-start"));
    hp_u64 end = tree_number(tree_chosen(tree, "linux,initrd-end"));
    struct arguments_error error;

    arguments_init(&guest.arguments);
    if (line.bytes != 0)
        read_text((struct word){(const char *)line.bytes, line.length});
    if (start < end)
        read_text((struct word){(const char *)start, end - start});
    error = arguments_check(&guest.arguments);
    if (error.message == 0)
        error = arguments_check_wires(&guest.arguments);
    if (error.message == 0 && guest.arguments.scheduler == DOMAIN_FAIR)
        error.message = "scheduler=fair: only Linux guests have that";
    if (error.message != 0)
        refuse(error);
}

/* The best of a few short measurements: one that was preempted is slower. */
static hp_u64 measure_rate(void) {
    hp_u64 best = 0;

    for (hp_u32 i = 0; i < MEASUREMENTS; i++) {
        hp_u64 before = counter();
        hp_u64 ns;

        busy_loop(MEASURED_ROUNDS);
        ns = ratio_times(guest.clock.ns_per_tick, counter() - before);
        if (ns > 0)
            best = hp_max(best, MEASURED_ROUNDS * LOOP_INSTRUCTIONS * 1000ull / ns);
    }
    return best;
}

static void prepare_clock(void) {
    hp_u64 epoch = guest.arguments.epoch_ticks;

    clock_init(&guest.clock, counter_hz(), epoch == HP_NEVER ? counter() : epoch);
    if (epoch != HP_NEVER && counter() > epoch)
        print("executive: the epoch has passed already\n");
}

static void prepare_events(void) {
    if (guest.arguments.wires > 0 && !events_init()) {
        print("executive: no events of other domains\n");
        stop();
    }
}

static void prepare_cards(void) {
    for (hp_u32 i = 0; i < MAX_CARDS; i++) {
        const struct card *card = &guest.arguments.card[i];

        if (card->interrupt == 0)
            continue;
        if (!card_init(i, card->address, card->place - RAM_START)) {
            print("executive: no network card\n");
            stop();
        }
        enable_device((hp_u32)card->interrupt);
    }
}

static void start_others(void) {
    for (hp_u32 vcpu = 1; vcpu < guest.arguments.vcpus; vcpu++) {
        if (!start_vcpu(vcpu)) {
            print("executive: no vcpu ");
            print_number(vcpu);
            print("\n");
            stop();
        }
    }
}

_Noreturn void guest_main(const void *tree) {
    const struct arguments *told = &guest.arguments;

    board_init(0);
    read_arguments(tree);
    prepare_clock();
    guest.instructions_per_ns = ratio_of(told->rate == 0 ? measure_rate() : told->rate, 1000);
    guest.writer = writer_init((void *)RING_START, told->memory_bytes - RING_OFFSET,
                               (hp_u32)told->domain, guest.clock.hz, guest.clock.epoch_ticks);
    switch (told->workload) {
    case WORKLOAD_TASKS:
        executive_init();
        prepare_events();
        prepare_cards();
        start_others();
        executive_run(0);
    case WORKLOAD_CLOCKTICK:
        run_clocktick();
    case WORKLOAD_RESPONSE:
        run_response();
    case WORKLOAD_DEVICE:
        prepare_cards();
        run_device();
    case WORKLOAD_OUTSIDE:
        prepare_cards();
        run_outside();
    case WORKLOAD_SPIN:
    case WORKLOAD_YIELD_STORM:
    case WORKLOAD_WAKE_STORM:
    case WORKLOAD_HYPERCALL_STORM:
    case WORKLOAD_TIMER_STORM:
        run_hostile();
    }
    stop();
}

_Noreturn void guest_main_of_vcpu(hp_u64 vcpu) {
    board_init((hp_u32)vcpu);
    executive_run((hp_u32)vcpu);
}
