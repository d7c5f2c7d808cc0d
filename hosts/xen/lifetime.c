/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pools and their pcpus come and go: what is made for them, when it is freed; and what Xen calls.
 */
#include <xen/errno.h>
#include <xen/mm.h>
#include <xen/xmalloc.h>

#include "scheduler.h"

static COLD void make_ring(struct lock_domain *ld, unsigned int source)
{
    const unsigned int bytes = hyperperiod_options.ring_bytes;
    unsigned int order;
    uint64_t capacity = 1;

    if ( bytes < PAGE_SIZE )
        return;
    order = get_order_from_bytes(bytes);
    ld->ring = alloc_xenheap_pages(order, 0);
    if ( !ld->ring )
    {
        printk(XENLOG_WARNING "hyperperiod: no memory for a ring of %u bytes\n", bytes);
        return;
    }
    ld->ring_order = order;
    memset(ld->ring, 0, PAGE_SIZE << order);
    while ( sizeof(*ld->ring) + 2 * capacity * sizeof(struct hp_record) <= PAGE_SIZE << order )
        capacity *= 2;
    memcpy(ld->ring->magic, HP_RING_MAGIC, sizeof(ld->ring->magic));
    ld->ring->header_bytes = sizeof(*ld->ring);
    ld->ring->record_bytes = sizeof(struct hp_record);
    ld->ring->capacity = capacity;
    ld->ring->frequency_hz = 1000000000;
    ld->ring->epoch_ticks = hyperperiod_epoch();
    ld->ring->source = source;
    printk("hyperperiod: ring of pcpu %u at %#"PRIpaddr", %lu bytes\n", source,
           virt_to_maddr(ld->ring), PAGE_SIZE << order);
}

static COLD struct lock_domain *make_lock_domain(struct pool *pool, unsigned int source)
{
    struct lock_domain *ld = xzalloc(struct lock_domain);

    if ( !ld )
        return NULL;
    ld->pool = pool;
    make_ring(ld, source);
    return ld;
}

static COLD void free_lock_domain(struct lock_domain *ld)
{
    if ( ld && ld->ring )
        free_xenheap_pages(ld->ring, ld->ring_order);
    xfree(ld);
}

static COLD void *cf_check hyperperiod_alloc_pcpu(const struct scheduler *ops, int cpu)
{
    struct pool *pool = pool_of(ops);
    struct lock_domain *ld;

    if ( is_global(pool) && pool->shared )
    {
        if ( pool->pcpus++ >= HP_PCPUS )
            printk(XENLOG_WARNING "hyperperiod: pcpu %d will idle: a global pool has room for %u\n",
                   cpu, HP_PCPUS);
        return NULL;
    }
    ld = make_lock_domain(pool, cpu);
    if ( !ld )
        return ERR_PTR(-ENOMEM);
    pool->pcpus++;
    if ( !is_global(pool) )
        return ld;
    /* The pool's, made with its first pcpu. */
    pool->shared = ld;
    return NULL;
}

static COLD void cf_check hyperperiod_free_pcpu(const struct scheduler *ops, void *pdata, int cpu)
{
    pool_of(ops)->pcpus--;
    free_lock_domain(pdata);
}

static COLD void cf_check hyperperiod_deinit_pcpu(const struct scheduler *ops, void *pdata, int cpu)
{
    struct pool *pool = pool_of(ops);
    struct lock_domain *ld = is_global(pool) ? pool->shared : pdata;
    unsigned long flags;

    if ( !is_global(pool) )
    {
        ld->phase = PHASE_DORMANT;
        return;
    }
    spin_lock_irqsave(&pool->lock, flags);
    hyperperiod_pcpu_left(ld, cpu);
    spin_unlock_irqrestore(&pool->lock, flags);
}

static COLD spinlock_t *cf_check hyperperiod_switch_pcpu(struct scheduler *new_ops,
                                                         unsigned int cpu, void *pdata, void *vdata)
{
    struct pool *pool = pool_of(new_ops);

    sched_idle_unit(cpu)->priv = vdata;
    return is_global(pool) ? &pool->lock : &get_sched_res(cpu)->_lock;
}

/* If a pool cannot start like this, the part that is wrong goes back to its default. */
static COLD int check_config(struct hp_config *config, bool *global)
{
    unsigned int error;
    bool replaced = false;

    config->pcpus = *global ? 2 : 1;
    while ( (error = hyperperiod_validate(config)) != HP_OK )
    {
        printk(XENLOG_ERR "hyperperiod: %s\n", hyperperiod_error(error));
        if ( error == HP_ERROR_SPARE && config->spare_period_ns )
        {
            config->spare_period_ns = 0;
            config->spare_budget_ns = 0;
        }
        else if ( error == HP_ERROR_QUANTUM )
            config->quantum_ns = 0;
        else
        {
            *global = false;
            config->pcpus = 1;
            /* Built without global policies, with the rules that are asked for. */
            if ( error == HP_ERROR_PCPUS )
                continue;
            /* Another one may ask for what is not given, such as a spare. */
            if ( replaced || !hyperperiod_default_policy(&config->policy, config->pcpus) )
                return -EOPNOTSUPP;
            replaced = true;
            printk(XENLOG_ERR "hyperperiod: partitioned rules %u+%u+%u instead\n",
                   config->policy.budget, config->policy.order, config->policy.slack);
        }
    }
    return 0;
}

static COLD int cf_check hyperperiod_make_pool(struct scheduler *ops)
{
    const struct options *options = &hyperperiod_options;
    struct pool *pool = xzalloc(struct pool);
    int rc;

    if ( !pool )
        return -ENOMEM;
    spin_lock_init(&pool->lock);
    spin_lock_init(&pool->slots_lock);
    pool->global = options->global;
    pool->config.policy = options->policy;
    pool->config.quantum_ns = options->quantum_ns;
    pool->config.spare_period_ns = options->spare_period_ns;
    pool->config.spare_budget_ns = options->spare_budget_ns;
    pool->config.decision_ns = XEN_HYPERPERIOD_DECISION_NS;
    rc = check_config(&pool->config, &pool->global);
    if ( rc )
    {
        xfree(pool);
        return rc;
    }
    ops->sched_data = pool;
    if ( hyperperiod_timer_slop_ns > XEN_HYPERPERIOD_DECISION_NS )
        printk(XENLOG_WARNING "hyperperiod: budgets may end %u ns late: timer_slop=0 mends it\n",
               hyperperiod_timer_slop_ns);
    return 0;
}

static COLD void cf_check free_pool(struct rcu_head *head)
{
    struct pool *pool = container_of(head, struct pool, rcu);

    free_lock_domain(pool->shared);
    xfree(pool);
}

/*
 * A pcpu that has left may still wait for the lock that was its own, to find that it has another
 * now. It does so inside of a read side of RCU.
 */
static COLD void cf_check hyperperiod_end_pool(struct scheduler *ops)
{
    call_rcu(&pool_of(ops)->rcu, free_pool);
    ops->sched_data = NULL;
}

/* --- what Xen calls --------------------------------------------------------------------------- */

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

    .global_init    = hyperperiod_prepare,
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
