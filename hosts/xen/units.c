/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Units: the slots in which the scheduler knows them, and the pcpu that each of them belongs to.
 */
#include <xen/errno.h>
#include <xen/xmalloc.h>

#include "scheduler.h"

COLD spinlock_t *hyperperiod_lock_cpu(unsigned int cpu)
{
    return pcpu_schedule_lock_irq(cpu);
}

COLD spinlock_t *hyperperiod_lock_unit(const struct sched_unit *unit)
{
    return unit_schedule_lock_irq(unit);
}

COLD void hyperperiod_set_pcpu(struct sched_unit *unit, struct sched_resource *res)
{
    sched_set_res(unit, res);
}

/* --- where a unit belongs -------------------------------------------------------------------- */

/* The share of this pcpu that is promised to units there other than this one, in millionths. */
static COLD unsigned int load_of(struct pool *pool, unsigned int cpu,
                                 const struct sched_unit *unit)
{
    unsigned int number, load = 0;

    for ( number = 0; number < HP_VCPUS; number++ )
    {
        const struct vcpu_slot *slot = pool->slot[number];

        /* One without a server weighs a little: such units should spread too. */
        if ( slot && slot->unit != unit && slot->home
             && sched_unit_master(slot->unit) == cpu )
            load += 1 + (slot->server.params.period_ns
                         ? slot->server.params.budget_ns * 1000 /
                           max_t(uint64_t, slot->server.params.period_ns / 1000, 1) : 0);
    }
    return load;
}

static COLD unsigned int least_loaded(struct pool *pool, const struct cpumask *cpus,
                                      const struct sched_unit *unit)
{
    unsigned int cpu, best = cpumask_first(cpus), least = ~0U;
    unsigned long flags;

    spin_lock_irqsave(&pool->slots_lock, flags);
    for_each_cpu ( cpu, cpus )
    {
        const unsigned int load = load_of(pool, cpu, unit);

        if ( load < least )
        {
            least = load;
            best = cpu;
        }
    }
    spin_unlock_irqrestore(&pool->slots_lock, flags);
    return best;
}

/*
 * The pcpu of a unit that does not run. Under a global policy it says little: the core places
 * the unit wherever there is room. Under a partitioned one it is where the unit is and stays:
 * the one that its options name, else the one it is on, else the least loaded.
 */
static COLD unsigned int choose_cpu(const struct scheduler *ops, const struct sched_unit *unit,
                                    unsigned int locked_cpu, bool anew)
{
    const struct vcpu_slot *slot = slot_of(unit);
    cpumask_t *cpus = cpumask_scratch_cpu(locked_cpu);

    cpumask_and(cpus, cpupool_domain_master_cpumask(unit->domain), unit->cpu_hard_affinity);
    if ( cpumask_empty(cpus) )
        return sched_unit_master(unit);
    if ( slot->server.cpu != ANY_CPU && cpumask_test_cpu(slot->server.cpu, cpus) )
        return slot->server.cpu;
    if ( !anew && cpumask_test_cpu(sched_unit_master(unit), cpus) )
        return sched_unit_master(unit);
    return least_loaded(pool_of(ops), cpus, unit);
}

COLD struct sched_resource *cf_check hyperperiod_pick_resource(const struct scheduler *ops,
                                                               const struct sched_unit *unit)
{
    return get_sched_res(choose_cpu(ops, unit, sched_unit_master(unit), false));
}

/* Both locks are held, and the unit does not run. */
COLD void cf_check hyperperiod_migrate_unit(const struct scheduler *ops, struct sched_unit *unit,
                                            unsigned int new_cpu)
{
    struct vcpu_slot *slot = slot_of(unit);
    struct lock_domain *to = lock_domain_of(ops, new_cpu);
    const bool inserted = slot->home || slot->moves;

    if ( slot->home && slot->home != to )
        hyperperiod_detach(slot);
    hyperperiod_set_pcpu(unit, get_sched_res(new_cpu));
    if ( inserted && slot->home != to )
        hyperperiod_attach(to, slot);
}

COLD void cf_check hyperperiod_insert_unit(const struct scheduler *ops, struct sched_unit *unit)
{
    const unsigned int cpu = smp_processor_id();
    struct vcpu_slot *slot = slot_of(unit);
    spinlock_t *lock;

    if ( is_idle_unit(unit) )
        return;
    /* This is safe: nobody schedules the unit yet. */
    lock = hyperperiod_lock_cpu(cpu);
    hyperperiod_set_pcpu(unit, get_sched_res(choose_cpu(ops, unit, cpu, true)));
    spin_unlock_irq(lock);

    lock = hyperperiod_lock_unit(unit);
    hyperperiod_attach(lock_domain_of(ops, sched_unit_master(unit)), slot);
    spin_unlock_irq(lock);
}

COLD void cf_check hyperperiod_remove_unit(const struct scheduler *ops, struct sched_unit *unit)
{
    spinlock_t *lock = hyperperiod_lock_unit(unit);

    hyperperiod_detach(slot_of(unit));
    spin_unlock_irq(lock);
}

/* --- slots ----------------------------------------------------------------------------------- */

static COLD int take_slot(struct pool *pool, struct vcpu_slot *slot)
{
    unsigned long flags;
    int rc = -ENOSPC;

    spin_lock_irqsave(&pool->slots_lock, flags);
    if ( ~pool->taken )
    {
        slot->number = __builtin_ctzll(~pool->taken);
        pool->taken |= 1ULL << slot->number;
        pool->slot[slot->number] = slot;
        rc = 0;
    }
    spin_unlock_irqrestore(&pool->slots_lock, flags);
    return rc;
}

static COLD void leave_slot(struct pool *pool, const struct vcpu_slot *slot)
{
    unsigned long flags;

    spin_lock_irqsave(&pool->slots_lock, flags);
    pool->taken &= ~(1ULL << slot->number);
    pool->slot[slot->number] = NULL;
    spin_unlock_irqrestore(&pool->slots_lock, flags);
}

COLD void *cf_check hyperperiod_alloc_unit(const struct scheduler *ops, struct sched_unit *unit,
                                           void *domain_data)
{
    const struct domain_default *fallback = domain_data;
    struct vcpu_slot *slot = xzalloc(struct vcpu_slot);

    if ( !slot )
        return NULL;
    slot->unit = unit;
    slot->number = HP_NONE;
    if ( is_idle_unit(unit) )
        return slot;
    slot->server = fallback && fallback->given
                    ? fallback->server
                    : *server_option_of(unit->domain->domain_id, unit->unit_id);
    if ( take_slot(pool_of(ops), slot) )
    {
        printk(XENLOG_WARNING "hyperperiod: %pdv%u: all %u places of the pool are taken\n",
               unit->domain, unit->unit_id, HP_VCPUS);
        XFREE(slot);
    }
    return slot;
}

COLD void cf_check hyperperiod_free_unit(const struct scheduler *ops, void *priv)
{
    struct vcpu_slot *slot = priv;

    if ( slot && slot->number != HP_NONE )
        leave_slot(pool_of(ops), slot);
    xfree(slot);
}

COLD void *cf_check hyperperiod_alloc_domain(const struct scheduler *ops, struct domain *domain)
{
    struct domain_default *fallback = xzalloc(struct domain_default);

    return fallback ?: ERR_PTR(-ENOMEM);
}

COLD void cf_check hyperperiod_free_domain(const struct scheduler *ops, void *data)
{
    xfree(data);
}
