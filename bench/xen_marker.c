// SPDX-License-Identifier: BSD-2-Clause
//
// The guest that says when measuring begins and ends: at MARK_FIRST and at MARK_LAST, on the
// system counter, it asks Xen for its version, which nothing else does. Then it prints when that
// was to the tick, for a vcpu may have to wait.

#include "guests/board/board.h"

#define XEN_VERSION 17 /* hypercall number; 0: the version's number */

static hp_u64 mark(hp_u64 ticks) {
    set_alarm(ticks);
    while (counter() < ticks) {
        sleep();
        take_interrupts();
    }
    stop_alarm();
    ticks = counter();
    hypercall(XEN_VERSION, 0, 0, 0);
    return ticks;
}

_Noreturn void guest_main(const void *tree) {
    hp_u64 first, last;

    (void)tree;
    board_init(0);
    first = mark(MARK_FIRST);
    last = mark(MARK_LAST);
    print("marked ");
    print_number(first);
    print(" to ");
    print_number(last);
    print("\n");
    stop();
}

_Noreturn void guest_main_of_vcpu(hp_u64 vcpu) {
    (void)vcpu;
    stop();
}
