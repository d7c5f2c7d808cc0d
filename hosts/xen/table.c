/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler as Xen knows it: what it is called, and which of our functions Xen calls for what.
 */
#include <xen/errno.h>

#include "scheduler.h"

#ifndef CONFIG_HYPERPERIOD_CHANGES

/* A scheduler without these two would be taken to have done what it was asked. */
COLD int cf_check hyperperiod_adjust_domain(const struct scheduler *ops, struct domain *d,
                                            struct xen_domctl_scheduler_op *op)
{
    return -EOPNOTSUPP;
}

COLD int cf_check hyperperiod_adjust_pool(const struct scheduler *ops,
                                          struct xen_sysctl_scheduler_op *sc)
{
    return -EOPNOTSUPP;
}

#endif

static const struct scheduler sched_hyperperiod_def = {
    .name           = "Hyperperiod: servers, computed and enforced",
    .opt_name       = "hyperperiod",
    .sched_id       = XEN_SCHEDULER_HYPERPERIOD,
    .sched_data     = NULL,

    .init           = hyperperiod_make_pool,
    .deinit         = hyperperiod_end_pool,
    .switch_sched   = hyperperiod_switch_pcpu,

    .alloc_pdata    = hyperperiod_alloc_pcpu,
    .free_pdata     = hyperperiod_free_pcpu,
    .deinit_pdata   = hyperperiod_deinit_pcpu,
    .alloc_domdata  = hyperperiod_alloc_domain,
    .free_domdata   = hyperperiod_free_domain,
    .alloc_udata    = hyperperiod_alloc_unit,
    .free_udata     = hyperperiod_free_unit,
    .insert_unit    = hyperperiod_insert_unit,
    .remove_unit    = hyperperiod_remove_unit,

    .sleep          = hyperperiod_sleep,
    .wake           = hyperperiod_wake,
    .context_saved  = hyperperiod_context_saved,
    .do_schedule    = hyperperiod_schedule,
    .pick_resource  = hyperperiod_pick_resource,
    .migrate        = hyperperiod_migrate_unit,
    .adjust_affinity = hyperperiod_adjust_affinity,

    .adjust         = hyperperiod_adjust_domain,
    .adjust_global  = hyperperiod_adjust_pool,
#ifdef CONFIG_HYPERPERIOD_CHANGES
    .dump_settings  = hyperperiod_dump_pool,
    .dump_cpu_state = hyperperiod_dump_pcpu,
#endif
};

REGISTER_SCHEDULER(sched_hyperperiod_def);
