// SPDX-License-Identifier: BSD-2-Clause
/*
 * Time, sleep and further vcpus of a paravirtual guest.
 *
 * Events stay masked for good. A vcpu sleeps by polling for the event of its timer, so no
 * handler of events is needed.
 */
#include "xen.h"

#define PAGE 4096
#define STACK_BYTES 16384
#define WRITABLE 3u /* present, writable */
#define USER 4u

struct shared_info shared __attribute__((aligned(PAGE)));

static evtchn_port_t alarm_port[MAX_VCPUS];

void open_shared_page(const struct start_info *info) {
    hypercall(__HYPERVISOR_update_va_mapping, (uint64_t)&shared,
              info->shared_info | WRITABLE | USER, UVMF_INVLPG, 0);
}

/* Scales ticks as the hypervisor says: shift, then the high part of a product. */
static uint64_t scale(uint64_t ticks, uint32_t factor, int8_t shift) {
    ticks = shift < 0 ? ticks >> -shift : ticks << shift;
    return (uint64_t)(((unsigned __int128)ticks * factor) >> 32);
}

uint64_t ticks_to_ns(unsigned int vcpu, uint64_t ticks) {
    const struct vcpu_time_info *time = &shared.vcpu_info[vcpu].time;
    return scale(ticks, time->tsc_to_system_mul, time->tsc_shift);
}

uint64_t system_time_ns(unsigned int vcpu) {
    volatile const struct vcpu_time_info *time = &shared.vcpu_info[vcpu].time;
    uint32_t version;
    uint64_t now_ns;
    do {
        version = time->version;
        asm volatile("" ::: "memory");
        now_ns =
            time->system_time
            + scale(read_ticks() - time->tsc_timestamp, time->tsc_to_system_mul, time->tsc_shift);
        asm volatile("" ::: "memory");
    } while ((version & 1) != 0 || version != time->version);
    return now_ns;
}

void open_alarm(unsigned int vcpu) {
    struct evtchn_bind_virq bind = {.virq = VIRQ_TIMER, .vcpu = vcpu};
    event_op(EVTCHNOP_bind_virq, &bind);
    alarm_port[vcpu] = bind.port;
}

void sleep_until(unsigned int vcpu, uint64_t time_ns) {
    evtchn_port_t port = alarm_port[vcpu];
    uint64_t bit = 1ull << (port % 64);
    struct sched_poll poll = {.nr_ports = 1};
    set_xen_guest_handle(poll.ports, &port);
    while (system_time_ns(vcpu) < time_ns) {
        __atomic_and_fetch(&shared.evtchn_pending[port / 64], ~bit, __ATOMIC_SEQ_CST);
        hypercall(__HYPERVISOR_set_timer_op, time_ns, 0, 0, 0);
        sched_op(SCHEDOP_poll, &poll);
    }
}

void start_vcpu(const struct start_info *info, unsigned int vcpu, void (*entry)(uint64_t)) {
    static struct vcpu_guest_context context;
    static char stacks[MAX_VCPUS][STACK_BYTES] __attribute__((aligned(16)));
    uint64_t stack = (uint64_t)stacks[vcpu] + STACK_BYTES - 8;
    uint64_t tables = ((const uint64_t *)info->mfn_list)[info->pt_base / PAGE];

    context.flags = VGCF_in_kernel;
    context.user_regs.rip = (uint64_t)entry;
    context.user_regs.rdi = vcpu;
    context.user_regs.rsp = stack;
    context.user_regs.cs = FLAT_KERNEL_CS;
    context.user_regs.ss = FLAT_KERNEL_SS;
    context.kernel_ss = FLAT_KERNEL_SS;
    context.kernel_sp = stack;
    context.ctrlreg[3] = xen_pfn_to_cr3(tables);
    if (vcpu_op(VCPUOP_initialise, vcpu, &context) == 0)
        vcpu_op(VCPUOP_up, vcpu, 0);
}
