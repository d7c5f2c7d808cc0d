/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kernels do not have in common, from 6.16 on: one function for each thing that changed.
 *
 * The newest way stands first. A function of the kernel's that is not there is one that the loader
 * knows nothing of; so the kernel chooses when the programs are loaded, and its verifier takes the
 * other ways out: on the newest kernel none of them costs anything.
 */
#ifndef HYPERPERIOD_LINUX_KERNELS_BPF_H
#define HYPERPERIOD_LINUX_KERNELS_BPF_H

#include <vmlinux.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* --- threads: functions since 6.19 ------------------------------------------------------------ */

static __noinline struct task_struct *first_of(u64 queue) {
    struct task_struct *first = 0, *each;

    bpf_for_each(scx_dsq, each, queue, 0) {
        first = each;
        break;
    }
    return first;
}

/* The first thread of a queue, or nothing. */
static __always_inline struct task_struct *dsq_peek(u64 queue) {
    return bpf_ksym_exists(scx_bpf_dsq_peek) ? scx_bpf_dsq_peek(queue) : first_of(queue);
}

static __always_inline void set_slice(struct task_struct *p, u64 slice_ns) {
    if (bpf_ksym_exists(scx_bpf_task_set_slice))
        scx_bpf_task_set_slice(p, slice_ns);
    else
        p->scx.slice = slice_ns;
}

/* --- limits of cgroups: since 6.17 ------------------------------------------------------------ */

/* The quota (us) of a cgroup that comes in each period, or what stands for none. */
static __always_inline u64 first_quota_us(const struct scx_cgroup_init_args *args) {
    return bpf_core_field_exists(args->bw_quota_us) ? args->bw_quota_us : ~0ull;
}

static __always_inline u64 first_period_us(const struct scx_cgroup_init_args *args) {
    return bpf_core_field_exists(args->bw_period_us) ? args->bw_period_us : 0;
}

/* --- queues filled anew: since 7.1 ------------------------------------------------------------ */

/* Whether the kernel can put all threads of a queue into queues anew. */
static __always_inline bool can_refill(void) {
    return bpf_ksym_exists(scx_bpf_dsq_reenq);
}

#endif
