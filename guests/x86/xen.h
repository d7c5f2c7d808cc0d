/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hypercalls of a paravirtual x86 guest, and the few pages that it shares with Xen.
 */
#ifndef GUEST_X86_XEN_H
#define GUEST_X86_XEN_H

#include <stdint.h>

#include <xen/event_channel.h>
#include <xen/sched.h>
#include <xen/vcpu.h>
#include <xen/xen.h>

/* The vcpus whose clock and events are in the shared page; more do not fit into it. */
#define MAX_VCPUS XEN_LEGACY_MAX_VCPUS

extern char hypercall_page[];
extern struct shared_info shared;

/* A debug build of Xen destroys the registers of arguments: so all of them are outputs. */
static inline long hypercall(unsigned int number, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    register uint64_t fourth asm("r10") = d;
    long result;
    asm volatile("call *%[entry]"
                 : "=a"(result), "+D"(a), "+S"(b), "+d"(c), "+r"(fourth)
                 : [entry] "0"(hypercall_page + number * 32)
                 : "rcx", "r11", "r8", "r9", "memory");
    return result;
}

static inline long sched_op(int command, void *argument) {
    return hypercall(__HYPERVISOR_sched_op, (uint64_t)command, (uint64_t)argument, 0, 0);
}

static inline long event_op(int command, void *argument) {
    return hypercall(__HYPERVISOR_event_channel_op, (uint64_t)command, (uint64_t)argument, 0, 0);
}

static inline long vcpu_op(int command, unsigned int vcpu, void *argument) {
    return hypercall(__HYPERVISOR_vcpu_op, (uint64_t)command, vcpu, (uint64_t)argument, 0);
}

/* The address of a page that Xen names by its machine frame. */
static inline void *page_at(uint64_t mfn) {
    return (void *)(((const uint64_t *)MACH2PHYS_VIRT_START)[mfn] << 12);
}

void open_shared_page(const struct start_info *info);
uint64_t system_time_ns(unsigned int vcpu); /* since the machine started */
uint64_t ticks_to_ns(unsigned int vcpu, uint64_t ticks);
void open_alarm(unsigned int vcpu);
void sleep_until(unsigned int vcpu, uint64_t time_ns);
void start_vcpu(const struct start_info *info, unsigned int vcpu, void (*entry)(uint64_t));

static inline uint64_t read_ticks(void) {
    uint32_t low, high;
    asm volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

#endif
