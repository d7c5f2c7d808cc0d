/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Units: the slots in which the scheduler knows them, and the pcpu that each of them belongs to.
 */
#include <xen/errno.h>
#include <xen/xmalloc.h>

#include "scheduler.h"

/* --- where a unit belongs -------------------------------------------------------------------- */

/* The pcpu on which least is promised to units other than this one. */
static COLD unsigned int least_loaded(const struct cpumask *cpus, const struct vcpu_slot *slot)
{
    unsigned int cpu, best = 0, least = ~0U;

    for ( cpu = 0; cpu < nr_cpu_ids; cpu++ )
    {
        const unsigned int own = cpu == slot->load_cpu ? slot->share : 0;
        const unsigned int load = read_atomic(&slot->pool->load[cpu]) - own;

        if ( load < least && cpumask_test_cpu(cpu, cpus) )
        {
            least = load;
            best = cpu;
        }
    }
    return best;
}

/*
 * The pcpu of a unit that does not run. Under a global policy it says little: the core places
 * the unit wherever there is room. Under a partitioned one it is where the unit is and stays:
 * the one that its options name, else the one it is on, else the least loaded.
 */
static COLD unsigned int choose_cpu(const struct sched_unit *unit, unsigned int locked_cpu,
                                    bool anew)
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
    return least_loaded(cpus, slot);
}

COLD struct sched_resource *cf_check hyperperiod_pick_resource(const struct scheduler *ops,
                                                               const struct sched_unit *unit)
{
    return get_sched_res(choose_cpu(unit, sched_unit_master(unit), false));
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
    hyperperiod_set_pcpu(unit, get_sched_res(choose_cpu(unit, cpu, true)));
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

COLD void *cf_check hyperperiod_alloc_unit(const struct scheduler *ops, struct sched_unit *unit,
                                           void *domain_data)
{
    const struct domain_default *fallback = domain_data;
    struct pool *pool = pool_of(ops);
    struct vcpu_slot *slot = xzalloc(struct vcpu_slot);

    if ( !slot )
        return NULL;
    slot->unit = unit;
    slot->pool = pool;
    slot->number = HP_NONE;
    if ( is_idle_unit(unit) )
        return slot;
    slot->server = fallback && fallback->given
                    ? fallback->server
                    : *server_option_of(unit->domain->domain_id, unit->unit_id);
    spin_lock_irq(&pool->slots_lock);
    if ( ~pool->taken )
    {
        slot->number = __builtin_ctzll(~pool->taken);
        pool->taken |= 1ULL << slot->number;
        pool->slot[slot->number] = slot;
    }
    spin_unlock_irq(&pool->slots_lock);
    if ( slot->number == HP_NONE )
    {
        printk(XENLOG_WARNING "hyperperiod: %pdv%u: all %u places of the pool are taken\n",
               unit->domain, unit->unit_id, HP_VCPUS);
        XFREE(slot);
    }
    return slot;
}

COLD void cf_check hyperperiod_free_unit(const struct scheduler *ops, void *priv)
{
    struct pool *pool = pool_of(ops);
    struct vcpu_slot *slot = priv;

    if ( slot && slot->number != HP_NONE )
    {
        spin_lock_irq(&pool->slots_lock);
        pool->taken &= ~(1ULL << slot->number);
        pool->slot[slot->number] = NULL;
        spin_unlock_irq(&pool->slots_lock);
    }
    xfree(slot);
}

/* A domain that does not fit is refused whole, before any of its vcpus is made or moved. At boot
 * nobody could ask for fewer: then it gets the places that there are. */
COLD void *cf_check hyperperiod_alloc_domain(const struct scheduler *ops, struct domain *domain)
{
    const unsigned int units = DIV_ROUND_UP(domain->max_vcpus,
                                            cpupool_get_granularity(ops->cpupool));

    if ( units > HP_VCPUS - hweight64(pool_of(ops)->taken) && system_state == SYS_STATE_active )
        return ERR_PTR(-ENOSPC);
    return xzalloc(struct domain_default) ?: ERR_PTR(-ENOMEM);
}

COLD void cf_check hyperperiod_free_domain(const struct scheduler *ops, void *data)
{
    xfree(data);
}
