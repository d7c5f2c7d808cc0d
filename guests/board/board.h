/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a guest has of its machine: the counter, the alarm, interrupts, sleep, other vcpus, and
 * the hypervisor's console. Everything else of a guest is plain C that runs anywhere.
 */
#ifndef GUESTS_BOARD_H
#define GUESTS_BOARD_H

#include "core/env.h"

#define MAX_VCPUS 16u /* as many as start.S has stacks for */

#define RAM_START 0x40000000ull
#define RING_START 0x40400000ull
#define RING_OFFSET (RING_START - RAM_START)

/* 1 GiB for what is shared: a page with the hypervisor, then memory with other domains. */
#define SHARED_START 0x100000000ull

/* Two instructions each round. Ends early if there is an interrupt; returns what is left. */
hp_u64 busy_loop(hp_u64 rounds);

/* The system counter: the same for all guests and the hypervisor. */
static inline hp_u64 counter(void) {
    hp_u64 ticks;

    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}

static inline hp_u64 counter_hz(void) {
    hp_u64 hz;

    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    return hz;
}

/* Prepares the interrupts of a vcpu; the first one to come also those that all have. */
void board_init(hp_u32 vcpu);

/* An interrupt when the counter has come to `ticks`, at once if it has already. */
void set_alarm(hp_u64 ticks);
void stop_alarm(void);

/* Takes all interrupts that are pending; whether there was one. What they are for is for the
 * caller to find out. One that came by the alarm silences it until it is set again. */
hp_u32 take_interrupts(void);
/* The devices that interrupted since this was last asked: for each the bit of its interrupt's
 * number, modulo 64. */
hp_u64 take_devices(void);

/* Has the first vcpu interrupted by a device. */
void enable_device(hp_u32 interrupt);

/* Sleeps until an interrupt is pending. */
static inline void sleep(void) {
    __asm__ volatile("dsb sy\n\twfi" : : : "memory");
}

/* Prepares for events of other domains, which interrupt the first vcpu. Whether the hypervisor
 * agreed. An event is taken together with its interrupt. */
hp_u32 events_init(void);
/* Interrupts whoever is on the other side of an event channel of this domain. */
void send_event(hp_u32 port);

/* Lets guest_main_of_vcpu run on another vcpu; whether the hypervisor agreed. */
hp_u32 start_vcpu(hp_u32 vcpu);
/* Interrupts another vcpu. */
void poke_vcpu(hp_u32 vcpu);

/* hvc with up to three arguments. */
hp_i64 hypercall(hp_u64 number, hp_u64 first, hp_u64 second, hp_u64 third);

/* Onto the hypervisor's console; a line appears when it is complete. */
void print(const char *text);
void print_part(const char *text, hp_u64 length);
void print_number(hp_u64 number);

/* Sleeps for good. */
_Noreturn void stop(void);

/* What start.S calls: the first vcpu, the others, and on a fault of ours. */
_Noreturn void guest_main(const void *tree);
_Noreturn void guest_main_of_vcpu(hp_u64 vcpu);
_Noreturn void guest_exception(hp_u64 syndrome, hp_u64 address, hp_u64 fault_address);

#endif /* GUESTS_BOARD_H */
