/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a toolstack reads and sets servers, policies and the ring (public.h), and what the debug keys
 * of Xen's console print. What is said is judged whole before anything changes.
 */
#include <xen/errno.h>
#include <xen/guest_access.h>
#include <xen/softirq.h>

#include "scheduler.h"

/* Whether something else waits for this pcpu. An event for who asks is not that: it may wait. */
static bool is_wanted_elsewhere(void)
{
    return softirq_pending(smp_processor_id());
}

/* A server as a toolstack writes it. False: what it says does not hold. */
static COLD bool read_server(const struct xen_domctl_sched_hyperperiod *from, uint64_t quantum_ns,
                             struct hp_params *params)
{
    const uint32_t known = XEN_HYPERPERIOD_BEST_EFFORT | XEN_HYPERPERIOD_EXTRA |
                           XEN_HYPERPERIOD_PRIORITY;

    if ( from->order & ~known )
        return false;
    *params = (struct hp_params){ .flags = HP_BEST_EFFORT };
    if ( from->order & XEN_HYPERPERIOD_BEST_EFFORT )
    {
        params->weight = from->budget_us;
        return !from->period_us && params->weight <= HP_WEIGHT_MAX
               && !(from->order & XEN_HYPERPERIOD_EXTRA);
    }
    params->period_ns = MICROSECS((uint64_t)from->period_us);
    params->budget_ns = MICROSECS((uint64_t)from->budget_us);
    params->flags = from->order & XEN_HYPERPERIOD_EXTRA ? HP_EXTRA : 0;
    params->priority = from->order & XEN_HYPERPERIOD_PRIORITY;
    if ( quantum_ns && (params->period_ns % quantum_ns || params->budget_ns % quantum_ns) )
        return false;
    return params->period_ns && params->budget_ns && params->budget_ns <= params->period_ns;
}

static COLD void write_server(const struct hp_params *params,
                              struct xen_domctl_sched_hyperperiod *to)
{
    to->period_us = params->period_ns / MICROSECS(1);
    to->budget_us = params->budget_ns / MICROSECS(1);
    to->order = params->priority;
    if ( params->flags & HP_BEST_EFFORT )
    {
        to->budget_us = params->weight;
        to->order |= XEN_HYPERPERIOD_BEST_EFFORT;
    }
    if ( params->flags & HP_EXTRA )
        to->order |= XEN_HYPERPERIOD_EXTRA;
}

static COLD int install_locked(struct sched_unit *unit, const struct hp_params *params)
{
    spinlock_t *lock = hyperperiod_lock_unit(unit);
    const unsigned int error = hyperperiod_change_server(slot_of(unit), params);

    spin_unlock_irq(lock);
    if ( error >= HP_ERROR_SHORT )
        return -ERANGE;
    return error ? -EINVAL : 0;
}

static COLD int adjust_all(const struct scheduler *ops, struct domain *d,
                           struct xen_domctl_scheduler_op *op)
{
    struct domain_default *fallback = d->sched_priv;
    struct sched_unit *unit;
    struct hp_params params;

    if ( op->cmd == XEN_DOMCTL_SCHEDOP_getinfo )
    {
        write_server(fallback->given ? &fallback->server.params
                                     : &server_option_of(d->domain_id, ANY_VCPU)->params,
                     &op->u.hyperperiod);
        return 0;
    }
    if ( !read_server(&op->u.hyperperiod, pool_of(ops)->config.quantum_ns, &params) )
        return -EINVAL;
    for_each_sched_unit ( d, unit )
    {
        const int rc = install_locked(unit, &params);

        if ( rc )
            return rc;
    }
    fallback->given = true;
    fallback->server = (struct server_option){ params, ANY_CPU };
    return 0;
}

static COLD int adjust_one(const struct scheduler *ops, struct domain *d, uint32_t cmd,
                           struct xen_domctl_schedparam_vcpu *to)
{
    const struct vcpu *vcpu = domain_vcpu(d, to->vcpuid);
    struct sched_unit *unit;
    struct hp_params params;
    spinlock_t *lock;

    if ( !vcpu )
        return -EINVAL;
    unit = vcpu->sched_unit;
    if ( cmd == XEN_DOMCTL_SCHEDOP_putvcpuinfo )
    {
        if ( !read_server(&to->u.hyperperiod, pool_of(ops)->config.quantum_ns, &params) )
            return -EINVAL;
        return install_locked(unit, &params);
    }
    lock = hyperperiod_lock_unit(unit);
    params = slot_of(unit)->server.params;
    spin_unlock_irq(lock);
    write_server(&params, &to->u.hyperperiod);
    return 0;
}

COLD int cf_check hyperperiod_adjust_domain(const struct scheduler *ops, struct domain *d,
                                            struct xen_domctl_scheduler_op *op)
{
    struct xen_domctl_schedparam_vcpu one;
    uint32_t done = 0;
    int rc = 0;

    if ( op->cmd == XEN_DOMCTL_SCHEDOP_getinfo || op->cmd == XEN_DOMCTL_SCHEDOP_putinfo )
        return adjust_all(ops, d, op);
    while ( !rc && done < op->u.v.nr_vcpus )
    {
        if ( copy_from_guest_offset(&one, op->u.v.vcpus, done, 1) )
            rc = -EFAULT;
        else
            rc = adjust_one(ops, d, op->cmd, &one);
        if ( !rc && op->cmd == XEN_DOMCTL_SCHEDOP_getvcpuinfo
             && copy_to_guest_offset(op->u.v.vcpus, done, &one, 1) )
            rc = -EFAULT;
        /* As many as a pool can have, and then only while nothing else waits. */
        if ( !rc && ++done >= HP_VCPUS && is_wanted_elsewhere() )
            break;
    }
    if ( !rc )
        op->u.v.nr_vcpus = done;
    return rc;
}

static COLD void write_info(const struct scheduler *ops, struct xen_sysctl_hyperperiod *info)
{
    struct pool *pool = pool_of(ops);

    info->budget = pool->config.policy.budget;
    info->order = pool->config.policy.order;
    info->slack = pool->config.policy.slack;
    info->global = pool->global;
    info->pcpus = cpumask_weight(ops->cpupool->res_valid);
    info->vcpus = hweight64(pool->taken);
    info->capacity = HP_VCPUS;
    info->timer_slop_ns = hyperperiod_timer_slop_ns;
    info->ring_open = !pool->paused;
    info->quantum_ns = pool->config.quantum_ns;
    info->spare_period_ns = pool->config.spare_period_ns;
    info->spare_budget_ns = pool->config.spare_budget_ns;
}

/*
 * Takes the lock of a pcpu; the lock domain that it guards. NULL, and no lock is taken, if the pcpu
 * is not this pool's: one that was so before the lock may have left it meanwhile.
 */
static COLD struct lock_domain *lock_domain(const struct scheduler *ops, unsigned int cpu,
                                            spinlock_t **lock)
{
    if ( cpu >= nr_cpu_ids || !cpumask_test_cpu(cpu, ops->cpupool->res_valid) )
        return NULL;
    *lock = hyperperiod_lock_cpu(cpu);
    if ( get_sched_res(cpu)->scheduler == ops )
        return lock_domain_of(ops, cpu);
    spin_unlock_irq(*lock);
    return NULL;
}

/* Calls 'act' for every lock domain that is alive, with its lock held. */
static COLD void for_each_lock_domain(const struct scheduler *ops,
                                      void (*act)(struct lock_domain *ld))
{
    const struct pool *pool = pool_of(ops);
    unsigned int cpu;

    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
    {
        spinlock_t *lock;
        struct lock_domain *ld = lock_domain(ops, cpu, &lock);

        if ( !ld )
            continue;
        if ( ld->phase == PHASE_RUNNING )
            act(ld);
        spin_unlock_irq(lock);
        if ( is_global(pool) )
            break;
    }
}

/*
 * Another scope means other locks: only a pool without pcpus can change it. One that is about to
 * leave is not valid any more, but still here.
 */
static COLD int set_scope(const struct scheduler *ops, bool global)
{
    struct pool *pool = pool_of(ops);

    if ( global == pool->global )
        return 0;
    if ( pool->pcpus )
        return -EBUSY;
    pool->global = global;
    return 0;
}

static COLD int set_config(const struct scheduler *ops, const struct xen_sysctl_hyperperiod *wanted)
{
    struct pool *pool = pool_of(ops);
    struct hp_config config = pool->config;
    const bool policy = wanted->op == XEN_HYPERPERIOD_OP_POLICY;
    const bool global = policy ? wanted->global : pool->global;
    int rc;

    if ( policy )
        config.policy = (struct hp_policy){ wanted->budget, wanted->order, wanted->slack };
    else
    {
        config.spare_period_ns = wanted->spare_period_ns;
        config.spare_budget_ns = wanted->spare_budget_ns;
    }
    if ( wanted->global > 1 || (!policy && !config.spare_period_ns) )
        return -EINVAL;
    config.pcpus = global ? 2 : 1;
    if ( hyperperiod_validate(&config) )
        return -EINVAL;
    rc = set_scope(ops, global);
    if ( rc )
        return rc;
    /* A pcpu that starts has the old one and is here when it is asked, or has the new one. */
    spin_lock_irq(&pool->slots_lock);
    pool->config = config;
    spin_unlock_irq(&pool->slots_lock);
    for_each_lock_domain(ops, policy ? hyperperiod_apply_policy : hyperperiod_apply_spare);
    return 0;
}

/* As many as fit on the stack are copied while the lock is held. */
#define COPY_AT_ONCE 16U

static COLD unsigned int copy_records(const struct hp_ring *ring, uint64_t *from,
                                      struct hp_record *to, unsigned int count)
{
    unsigned int i;

    if ( ring->written - *from > ring->capacity )
        *from = ring->written - ring->capacity;
    count = min_t(uint64_t, min(count, COPY_AT_ONCE), ring->written - *from);
    for ( i = 0; i < count; i++ )
        to[i] = ((const struct hp_record *)(ring + 1))[(*from + i) & (ring->capacity - 1)];
    return count;
}

static COLD int read_records(const struct scheduler *ops, struct xen_sysctl_hyperperiod *info)
{
    struct hp_record records[COPY_AT_ONCE];
    const unsigned int wanted = min(info->ring_count, 4096U);
    uint64_t from = info->ring_from;
    unsigned int count, done = 0;

    do {
        spinlock_t *lock;
        const struct lock_domain *ld = lock_domain(ops, info->ring_pcpu, &lock);
        const struct hp_ring *ring;

        if ( !ld )
            return -EINVAL;
        ring = ld->ring;
        info->ring_written = ring ? ring->written : 0;
        if ( from > info->ring_written )
            from = info->ring_written;
        count = ring ? copy_records(ring, &from, records, wanted - done) : 0;
        spin_unlock_irq(lock);

        if ( done == 0 )
            info->ring_from = from;
        /* Overtaken while copying: what is here is in one piece, and the rest is for later. */
        if ( from != info->ring_from + done )
            break;
        if ( copy_to_guest_offset(info->ring_records, done * sizeof(*records),
                                  (uint8_t *)records, count * sizeof(*records)) )
            return -EFAULT;
        done += count;
        from += count;
    } while ( count && done < wanted && !is_wanted_elsewhere() );
    info->ring_count = done;
    return 0;
}

static COLD int read_usage(const struct scheduler *ops, struct xen_sysctl_hyperperiod *info)
{
    spinlock_t *lock;
    struct lock_domain *ld = lock_domain(ops, info->ring_pcpu, &lock);
    unsigned int number = min_t(uint64_t, info->ring_from, HP_VCPUS);

    if ( !ld )
        return -EINVAL;
    while ( number < HP_VCPUS && !ld->slot[number] )
        number++;
    info->ring_count = number < HP_VCPUS;
    info->ring_from = number;
    if ( info->ring_count )
        hyperperiod_read_usage(ld, number, &info->usage);
    spin_unlock_irq(lock);
    return 0;
}

static COLD int set_ring(const struct scheduler *ops, uint32_t open)
{
    if ( open > 1 )
        return -EINVAL;
    pool_of(ops)->paused = !open;
    for_each_lock_domain(ops, hyperperiod_apply_ring);
    return 0;
}

COLD int cf_check hyperperiod_adjust_pool(const struct scheduler *ops,
                                          struct xen_sysctl_scheduler_op *sc)
{
    struct xen_sysctl_hyperperiod info;
    const bool put = sc->cmd == XEN_SYSCTL_SCHEDOP_putinfo;
    int rc = -EINVAL;

    if ( copy_from_guest(&info, sc->u.hyperperiod, 1) )
        return -EFAULT;
    if ( put && (info.op == XEN_HYPERPERIOD_OP_POLICY || info.op == XEN_HYPERPERIOD_OP_SPARE) )
        rc = set_config(ops, &info);
    else if ( put && info.op == XEN_HYPERPERIOD_OP_RECORD )
        rc = set_ring(ops, info.ring_open);
    else if ( !put && info.op == XEN_HYPERPERIOD_OP_RING )
        rc = read_records(ops, &info);
    else if ( !put && info.op == XEN_HYPERPERIOD_OP_USAGE )
        rc = read_usage(ops, &info);
    else if ( !put && info.op == XEN_HYPERPERIOD_OP_INFO )
        rc = 0;
    if ( rc )
        return rc;
    write_info(ops, &info);
    return copy_to_guest(sc->u.hyperperiod, &info, 1) ? -EFAULT : 0;
}

/* --- looking: a serial line takes milliseconds, so nothing is printed while a lock is held ---- */

COLD void cf_check hyperperiod_dump_pool(const struct scheduler *ops)
{
    struct pool *pool = pool_of(ops);
    unsigned long flags;
    unsigned int number;

    printk("rules %u+%u+%u (core/types.h), %s, quantum %llu ns\n",
           pool->config.policy.budget, pool->config.policy.order,
           pool->config.policy.slack, pool->global ? "global" : "partitioned",
           pool->config.quantum_ns);
    for ( number = 0; number < HP_VCPUS; number++ )
    {
        const struct vcpu_slot *slot;
        char line[160];

        spin_lock_irqsave(&pool->slots_lock, flags);
        slot = pool->slot[number];
        if ( slot )
            snprintf(line, sizeof(line),
                     "  %2u: %pdv%u on %u, %llu ns in %llu ns, priority %u, flags %#x\n", number,
                     slot->unit->domain, slot->unit->unit_id, sched_unit_master(slot->unit),
                     slot->server.params.budget_ns, slot->server.params.period_ns,
                     slot->server.params.priority, slot->server.params.flags);
        spin_unlock_irqrestore(&pool->slots_lock, flags);
        if ( slot )
            printk("%s", line);
    }
}

COLD void cf_check hyperperiod_dump_pcpu(const struct scheduler *ops, int cpu)
{
    char line[160];
    spinlock_t *lock;
    /* With interrupts off somebody panics, and may hold a lock. */
    const struct lock_domain *ld = local_irq_is_enabled() ? lock_domain(ops, cpu, &lock) : NULL;
    unsigned int pcpu;

    if ( !ld )
        return;
    pcpu = ld->phase == PHASE_DORMANT ? HP_NONE : hyperperiod_pcpu_slot(ld, cpu);
    if ( pcpu != HP_NONE )
    {
        const struct hp_grant *grant = hp_granted(&ld->core, pcpu);

        snprintf(line, sizeof(line),
                 "\tat %llu ns: runs %d, pays %d and %d, from %llu until %llu ns\n",
                 hp_now_ns(&ld->core), (int)grant->run, (int)grant->pay, (int)grant->also,
                 grant->start_ns, grant->until_ns);
    }
    spin_unlock_irq(lock);
    printk("%s", pcpu != HP_NONE ? line : "\tdormant\n");
}
