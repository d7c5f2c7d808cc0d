/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a toolstack speaks to the scheduler. Installed in Xen as xen/include/public/hyperperiod.h.
 *
 * Two ways in, both Xen's own: XEN_DOMCTL_scheduler_op for the vcpus of a domain and
 * XEN_SYSCTL_scheduler_op for a cpupool. Neither makes a structure of theirs larger, so that
 * stock tools go on working: a server fits into the 12 bytes of a schedparam_vcpu, and what
 * belongs to the pool is behind a pointer.
 */
#ifndef __XEN_PUBLIC_HYPERPERIOD_H__
#define __XEN_PUBLIC_HYPERPERIOD_H__

#define XEN_SCHEDULER_HYPERPERIOD 72

#if defined(__XEN__) || defined(__XEN_TOOLS__)

/*
 * XEN_DOMCTL_scheduler_op, in op.u and in xen_domctl_schedparam_vcpu.u.
 * putinfo: all vcpus of the domain, and those that it will get; getinfo: what those would get.
 * putvcpuinfo, getvcpuinfo: the vcpus that are named.
 * Errors: EINVAL (what is said below does not hold, or no such vcpu), ESRCH (vcpu not present),
 * ERANGE (the scheduler has no time for it; vcpus before the one that was too much are changed).
 */
struct xen_domctl_sched_hyperperiod {
    uint32_t period_us; /* above 0; 0 for best effort */
    uint32_t budget_us; /* 1 to period_us; of best effort: its weight, at most 65535; 0 is 1 */
    uint32_t order;     /* priority, smaller is higher, in the low 24 bits; flags in the high 8 */
};
#define XEN_HYPERPERIOD_BEST_EFFORT 0x01000000U /* no server: runs where others leave it idle */
#define XEN_HYPERPERIOD_EXTRA       0x02000000U /* may use extra time, if the policy has it */
#define XEN_HYPERPERIOD_PRIORITY    0x00ffffffU /* this value: none (core/types.h, HP_ORDINARY) */

/*
 * What a decision takes: interrupt, scheduler, switch, timer. Measured on arm64 with 2 to 32 vcpus
 * (docs/benchmarks.md): all that Xen executes in a second over its decisions is 3,700 to 5,200
 * instructions, here at one a nanosecond. A budget has to outlast one, and those of all
 * periods of a lock domain, two a period, may take half the time: so no period is below 4 of them
 * (of a spare 8).
 */
#define XEN_HYPERPERIOD_DECISION_NS 4200U

/* XEN_SYSCTL_scheduler_op: what sched_op.u.hyperperiod points to. */
#define XEN_HYPERPERIOD_OP_INFO   0 /* getinfo: fills everything but the ring's part */
#define XEN_HYPERPERIOD_OP_RING   1 /* getinfo: copies records of a ring */
#define XEN_HYPERPERIOD_OP_POLICY 2 /* putinfo: budget, order, slack; global if no pcpu is in */
#define XEN_HYPERPERIOD_OP_SPARE  3 /* putinfo: spare_period_ns, spare_budget_ns */
#define XEN_HYPERPERIOD_OP_USAGE  4 /* getinfo: what a vcpu has had: usage */
#define XEN_HYPERPERIOD_OP_RECORD 5 /* putinfo: ring_open */

/*
 * What a vcpu has had, given and been refused, since it is in its lock domain and that has a pcpu.
 * A change of the policy does not begin anew.
 */
struct xen_hyperperiod_usage {
    uint16_t domain;
    uint16_t vcpu; /* with core scheduling the first of its unit */
    uint32_t pcpu; /* where it is, or was last */
    uint64_aligned_t used_ns; /* charged to its own budget ... */
    uint64_aligned_t donated_ns; /* ... of that, while others ran */
    uint64_aligned_t extra_ns; /* it ran, and its own budget did not pay */
    uint64_aligned_t overrun_ns; /* charged past the end of its budget, because picks came late */
    uint64_aligned_t overrun_ns_max; /* by one pick */
    uint32_t depleted; /* how often its budget was used up */
    uint32_t refilled;
    uint32_t missed; /* refills with work waiting, and the budget before not used up */
    uint32_t reserved;
};

struct xen_sysctl_hyperperiod {
    uint32_t op; /* IN */
    uint32_t budget; /* IN (POLICY), OUT (INFO): the three rules, as numbered in core/types.h */
    uint32_t order;
    uint32_t slack;
    uint32_t global; /* one lock domain for all pcpus of the pool, not one for each */
    uint32_t pcpus; /* OUT (INFO) */
    uint32_t vcpus; /* OUT (INFO): places taken ... */
    uint32_t capacity; /* OUT (INFO): ... of so many */
    uint64_aligned_t quantum_ns; /* OUT (INFO) */
    uint64_aligned_t spare_period_ns; /* IN (SPARE), OUT (INFO) */
    uint64_aligned_t spare_budget_ns;
    /* RING. Records are those of record/ring.h, 32 bytes each. */
    uint32_t ring_pcpu; /* IN (RING, USAGE): whose lock domain */
    uint32_t ring_count; /* IN: room for so many; OUT: copied so many; OUT (USAGE): 1, 0: no more */
    uint64_aligned_t ring_from; /* IN: the first wanted; OUT: the first that is still there */
    uint64_aligned_t ring_written; /* OUT: records written so far */
    XEN_GUEST_HANDLE_64(uint8) ring_records; /* IN: where to */
    uint32_t ring_open; /* IN (RECORD), OUT (INFO): 1: rings take records; 0: they stand still */
    uint32_t timer_slop_ns; /* OUT (INFO): how late Xen may let a timer be; should be 0 */
    /* OUT (USAGE): of the first vcpu of the lock domain from the number ring_from on; that is IN
     * the number to look from, at first 0, and OUT its own, so that one more is where to go on. */
    struct xen_hyperperiod_usage usage;
};
typedef struct xen_sysctl_hyperperiod xen_sysctl_hyperperiod_t;
DEFINE_XEN_GUEST_HANDLE(xen_sysctl_hyperperiod_t);

#endif /* __XEN__ || __XEN_TOOLS__ */

#endif /* __XEN_PUBLIC_HYPERPERIOD_H__ */
