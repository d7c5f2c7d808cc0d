/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the scheduler share: pools, lock domains, vcpu slots, and who calls whom.
 *
 *   options.c     the command line
 *   scheduler.c   what happens while guests run; the only file that calls the core
 *   units.c       vcpu slots, and on which pcpu a unit is
 *   toolstack.c   domctl, sysctl and what the console's debug keys print
 *   lifetime.c    pools and their pcpus come and go; which of our functions Xen calls for what
 *
 * Each calls only those above it.
 *
 * Words. A *unit* is Xen's; with core scheduling it is several vcpus that run together, and the
 * core sees it as one. A *lock domain* is one core and what belongs to it: under a partitioned
 * policy each pcpu has one, under a global policy the pool has one for all its pcpus. A *vcpu slot*
 * has the number by which the core knows a unit: units of a pool get slots in order of creation,
 * and keep them wherever they go inside the pool. A *pcpu slot* is the number by which the core
 * knows a pcpu. Here `cpu` is always Xen's number of a pcpu and `pcpu` its slot.
 *
 * Time. The core's time counts from an instant of Xen's time, its base. With an epoch on the
 * command line a lock domain runs in two phases: until the epoch all units are best effort and
 * take turns, so that guests get ready; at the epoch the core begins anew at time 0, with the
 * servers that the command line names. A lock domain is *dormant* until a pcpu of the pool first
 * schedules, and again when the last one has left.
 *
 * Locking. The schedule lock of a pcpu is its own under a partitioned policy, the pool's under a
 * global one; it guards the lock domain. pool->slots_lock guards the vcpu slots and pool->config,
 * and is taken alone or inside a schedule lock, never around one. Nothing is printed under either.
 */
#ifndef HYPERPERIOD_SCHEDULER_H
#define HYPERPERIOD_SCHEDULER_H

#include <xen/cpumask.h>
#include <xen/rcupdate.h>
#include <xen/sched.h>
#include <xen/time.h>

#include <public/hyperperiod.h>

#include "private.h"
#include "options.h"
#include "record/ring.h"

/* Off the scheduling path: made small rather than fast. */
#define COLD __attribute__((__cold__, __noinline__))

/* The scheduler of one pool. */
struct pool {
    spinlock_t lock; /* the schedule lock of all pcpus under a global policy */
    spinlock_t slots_lock;
    uint64_t taken; /* vcpu slots, as a mask */
    struct hp_config config; /* what lock domains start with; pcpus is set when they do */
    bool global;
    bool paused; /* the rings of this pool: they take no records */
    bool had_several; /* pcpus under one lock, so that one may wait for what is on another */
    unsigned int ended; /* lock domains that have reached the horizon */
    unsigned int pcpus; /* that have not left entirely, whatever the pool says */
    struct lock_domain *shared; /* by all pcpus under a global policy */
    struct vcpu_slot *slot[HP_VCPUS];
    struct rcu_head rcu;
    /* By Xen's number of a pcpu, what units there are promised (struct vcpu_slot: share). Written
     * with the schedule lock of that pcpu, and read without: it is a hint where one should go. */
    unsigned int load[NR_CPUS];
};

enum phase {
    PHASE_DORMANT,
    PHASE_BOOTING,
    PHASE_RUNNING,
};

/* What a vcpu has had, given and been refused since it is there, for those who ask. */
struct usage {
    struct xen_hyperperiod_usage told; /* domain, vcpu and pcpu are filled in when it is read */
    bool spent; /* depleted since its last refill */
};

struct lock_domain {
    struct pool *pool;
    enum phase phase;
    s_time_t base; /* Xen's time at the core's time 0 */
    uint64_t next_event_ns; /* when the next of the events below is due */
    unsigned int next_event; /* of the options */
    bool ended;
    struct hp_ring *ring;
    struct hp_ring *open; /* the ring, from the epoch to the horizon */
    unsigned int ring_order;
    unsigned int cpu_of[HP_PCPUS]; /* by pcpu slot */
    uint64_t picked_ns[HP_PCPUS]; /* by pcpu slot: when its grant was made */
    struct vcpu_slot *slot[HP_VCPUS]; /* who is here */
    struct hp_core core;
};

/* A unit, as this scheduler knows it. Idle units have one without a number. */
struct vcpu_slot {
    struct sched_unit *unit;
    struct pool *pool;
    unsigned int number; /* or HP_NONE */
    struct server_option server;
    struct lock_domain *home; /* while it is inserted, and not on its way */
    struct usage usage;
    unsigned int share; /* what it is promised of a pcpu, in millionths, and of which */
    unsigned int load_cpu;
    bool moves; /* it is on its way from one lock domain to another, with its server */
    struct hp_moving moving; /* that server: where it arrives time begins at the epoch as well */
};

/* What later vcpus of a domain start with, if a toolstack has said so. */
struct domain_default {
    bool given;
    struct server_option server;
};

static inline struct pool *pool_of(const struct scheduler *ops)
{
    return ops->sched_data;
}

static inline struct vcpu_slot *slot_of(const struct sched_unit *unit)
{
    return unit->priv;
}

/* Whether all pcpus of the pool are under one lock. */
static inline bool is_global(const struct pool *pool)
{
    return HP_PCPUS > 1 && pool->global;
}

/* The lock domain of a pcpu of this pool. */
static inline struct lock_domain *lock_domain_of(const struct scheduler *ops, unsigned int cpu)
{
    struct pool *pool = pool_of(ops);

    return is_global(pool) ? pool->shared : get_sched_res(cpu)->sched_priv;
}

/* --- scheduler.c: with the lock of the lock domain held, except where it says otherwise ------- */

/* The epoch in Xen's time. Without a lock. */
s_time_t hyperperiod_epoch(void);

/* The slot of a pcpu, or HP_NONE. */
unsigned int hyperperiod_pcpu_slot(const struct lock_domain *ld, unsigned int cpu);

/* The first policy that is built in for so many pcpus: of all rules, periodic servers by priority.
 * False if there is none. Without a lock. */
bool hyperperiod_default_policy(struct hp_policy *policy, unsigned int pcpus);

/* The core's judgement of a configuration, an error of it. Without a lock. */
unsigned int hyperperiod_validate(const struct hp_config *config);

/* The unit is this lock domain's to schedule, and no longer. */
void hyperperiod_attach(struct lock_domain *ld, struct vcpu_slot *slot);
void hyperperiod_detach(struct vcpu_slot *slot);

/* Gives a unit another server, or returns an error of the core. */
unsigned int hyperperiod_change_server(struct vcpu_slot *slot, const struct hp_params *params);

/* Gives a lock domain that runs the policy, or the spare, that the pool has. */
void hyperperiod_apply_policy(struct lock_domain *ld);
void hyperperiod_apply_spare(struct lock_domain *ld);

/* Writes what a vcpu has had so far. */
void hyperperiod_read_usage(struct lock_domain *ld, unsigned int number,
                            struct xen_hyperperiod_usage *to);

/* The ring takes records or does not, as the pool has it. */
void hyperperiod_apply_ring(struct lock_domain *ld);

/* A pcpu has left: if it has not noticed itself, its slot is given up for it. */
void hyperperiod_pcpu_left(struct lock_domain *ld, unsigned int cpu);

/* Xen's own come as a loop each time, and are here once. Schedule locks are taken where interrupts
 * are on: spin_unlock_irq gives them back. */
spinlock_t *hyperperiod_lock_cpu(unsigned int cpu);
spinlock_t *hyperperiod_lock_unit(const struct sched_unit *unit);
void hyperperiod_set_pcpu(struct sched_unit *unit, struct sched_resource *res);

int cf_check hyperperiod_prepare(void);
void cf_check hyperperiod_schedule(const struct scheduler *ops, struct sched_unit *curr,
                                   s_time_t now, bool tasklet_work_scheduled);
void cf_check hyperperiod_wake(const struct scheduler *ops, struct sched_unit *unit);
void cf_check hyperperiod_sleep(const struct scheduler *ops, struct sched_unit *unit);
void cf_check hyperperiod_context_saved(const struct scheduler *ops, struct sched_unit *unit);
void cf_check hyperperiod_adjust_affinity(const struct scheduler *ops, struct sched_unit *unit,
                                          const struct cpumask *hard, const struct cpumask *soft);

/* --- units.c --------------------------------------------------------------------------------- */

struct sched_resource *cf_check hyperperiod_pick_resource(const struct scheduler *ops,
                                                          const struct sched_unit *unit);
void cf_check hyperperiod_migrate_unit(const struct scheduler *ops, struct sched_unit *unit,
                                       unsigned int new_cpu);
void cf_check hyperperiod_insert_unit(const struct scheduler *ops, struct sched_unit *unit);
void cf_check hyperperiod_remove_unit(const struct scheduler *ops, struct sched_unit *unit);
void *cf_check hyperperiod_alloc_unit(const struct scheduler *ops, struct sched_unit *unit,
                                      void *domain_data);
void cf_check hyperperiod_free_unit(const struct scheduler *ops, void *priv);
void *cf_check hyperperiod_alloc_domain(const struct scheduler *ops, struct domain *domain);
void cf_check hyperperiod_free_domain(const struct scheduler *ops, void *data);

/* --- toolstack.c ----------------------------------------------------------------------------- */

int cf_check hyperperiod_adjust_domain(const struct scheduler *ops, struct domain *d,
                                       struct xen_domctl_scheduler_op *op);
int cf_check hyperperiod_adjust_pool(const struct scheduler *ops,
                                     struct xen_sysctl_scheduler_op *sc);
void cf_check hyperperiod_dump_pool(const struct scheduler *ops);
void cf_check hyperperiod_dump_pcpu(const struct scheduler *ops, int cpu);

#endif /* HYPERPERIOD_SCHEDULER_H */
