/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Locks and places of units that come as loops in Xen's own headers: here they are once.
 */
#include "scheduler.h"

COLD spinlock_t *hyperperiod_lock_cpu(unsigned int cpu)
{
    return pcpu_schedule_lock_irq(cpu);
}

COLD spinlock_t *hyperperiod_lock_unit(const struct sched_unit *unit)
{
    for ( ; ; )
    {
        const unsigned int cpu = sched_unit_master(unit);
        spinlock_t *lock = hyperperiod_lock_cpu(cpu);

        if ( likely(cpu == sched_unit_master(unit)) )
            return lock;
        spin_unlock_irq(lock);
    }
}

COLD void hyperperiod_set_pcpu(struct sched_unit *unit, struct sched_resource *res)
{
    sched_set_res(unit, res);
}
