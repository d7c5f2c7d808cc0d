/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decisions of the Linux host's programs, timed one by one, without a scheduler in force.
 *
 * The core's time is the kernel's clock since an instant that the state has: before each decision
 * that is set so that the time is the end of the grant before. So nothing is waited for; but the
 * core's time cannot come to more than the kernel's. Decisions are timed with interrupts off.
 */
#include "hosts/linux/requests.bpf.h"

#include "bench/linux_pick.h"

char _license[] SEC("license") = "GPL";

/* Before lx_start: this machine's only cpu is managed, and the core's time stands still at 0. */
SEC("syscall")
int bench_begin(struct bench_picks *to) {
    struct managed *cpu = any_cpu(0);

    if (!cpu)
        return WRONG;
    lx.base_ns = HP_NEVER;
    lx.global = 0;
    lx.places = 1;
    lx.cpu_at[0] = 0;
    lx.place_of[0] = 0;
    lx.recording = 1;
    cpu->place = 0;
    cpu->is_stolen = 0;
    cpu->context = LX_NOBODY;
    return 0;
}

/* After lx_set of each server: all get work. */
SEC("syscall")
int bench_work(struct bench_picks *to) {
    unsigned long flags;

    bpf_local_irq_save(&flags);
    HP_FOR (id, to->servers)
        arrive(id, 0);
    bpf_local_irq_restore(&flags);
    return 0;
}

/* What the stack has room for is the core's: sums are kept in the request. */
SEC("syscall")
int bench_picks(struct bench_picks *to) {
    to->clock_ns = bpf_ktime_get_ns();
    to->clock_ns = bpf_ktime_get_ns() - to->clock_ns;
    HP_FOR (round, to->picks) {
        struct managed *cpu = any_cpu(0);
        unsigned long flags;
        hp_u64 took_ns;

        if (!cpu || (round && cpu->until_ns > bpf_ktime_get_ns()))
            return WRONG;
        bpf_local_irq_save(&flags);
        lx.base_ns = bpf_ktime_get_ns() - (round ? cpu->until_ns : 0);
        took_ns = bpf_ktime_get_ns();
        pick(0);
        took_ns = bpf_ktime_get_ns() - took_ns;
        bpf_local_irq_restore(&flags);
        to->total_ns += took_ns;
        if (took_ns > to->longest_ns)
            to->longest_ns = took_ns;
    }
    return 0;
}
