/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler inside a domain: which task's oldest job is on which vcpu. No clock, no lock.
 *
 * The key of a job says how good it is, the least is the best: the task's rank under rm, dm and
 * fp, the absolute deadline under edf, the release under fifo. Of equal keys the job that is being
 * executed goes on, otherwise the lower task is first.
 *
 * A job takes the lowest idle vcpu. If none is idle and it beats the worst job on one, it takes
 * that vcpu and the job there has to be placed again, never on a tie. A job stays on its vcpu
 * until it finishes or is displaced. A task that is pinned knows one vcpu only.
 */
#ifndef GUESTS_DOMAIN_H
#define GUESTS_DOMAIN_H

#include "guests/executive/heap.h"

#define DOMAIN_VCPUS 16u

enum domain_scheduler { DOMAIN_RANKED, DOMAIN_EDF, DOMAIN_FIFO, DOMAIN_FAIR /* Linux */ };

struct domain_slot {
    hp_u32 task;  /* whose job is on this vcpu, or HP_NONE */
    hp_u32 fresh; /* it has not been executed here yet */
};

struct domain {
    enum domain_scheduler scheduler;
    hp_u32 vcpus;
    struct domain_slot slot[DOMAIN_VCPUS];
    hp_u64 key[MAX_TASKS];
    hp_u32 pinned[MAX_TASKS];       /* a vcpu, or HP_NONE */
    struct heap anywhere;           /* jobs that wait for any vcpu */
    struct heap here[DOMAIN_VCPUS]; /* those that wait for one */
};

/* Tasks get their pins, and ranks for keys, from the caller. */
static inline void domain_init(struct domain *domain, enum domain_scheduler scheduler,
                               hp_u32 vcpus) {
    domain->scheduler = scheduler;
    domain->vcpus = vcpus;
    heap_init(&domain->anywhere);
    for (hp_u32 i = 0; i < vcpus; i++) {
        heap_init(&domain->here[i]);
        domain->slot[i] = (struct domain_slot){HP_NONE, 1};
    }
}

static inline hp_u32 domain_beats(const struct domain *domain, hp_u32 task,
                                  const struct domain_slot *slot) {
    hp_u64 mine = domain->key[task];
    hp_u64 theirs = domain->key[slot->task];

    return mine < theirs || (mine == theirs && slot->fresh && task < slot->task);
}

/* The lowest idle vcpu, or the one with the worst job that `task` beats, or HP_NONE. */
static inline hp_u32 domain_idle_or_worst(const struct domain *domain, hp_u32 task) {
    hp_u32 worst = HP_NONE;
    struct heap_entry worst_job = {0, 0};

    for (hp_u32 vcpu = 0; vcpu < domain->vcpus; vcpu++) {
        const struct domain_slot *slot = &domain->slot[vcpu];
        struct heap_entry job;

        if (slot->task == HP_NONE)
            return vcpu;
        if (!domain_beats(domain, task, slot))
            continue;
        job.key = domain->key[slot->task];
        job.task = slot->task;
        if (worst == HP_NONE || heap_before(worst_job, job)) {
            worst = vcpu;
            worst_job = job;
        }
    }
    return worst;
}

static inline hp_u32 domain_vcpu_for(const struct domain *domain, hp_u32 task) {
    hp_u32 pinned = domain->pinned[task];
    const struct domain_slot *slot;

    if (pinned == HP_NONE)
        return domain_idle_or_worst(domain, task);
    slot = &domain->slot[pinned];
    return slot->task == HP_NONE || domain_beats(domain, task, slot) ? pinned : HP_NONE;
}

/*
 * Places the oldest job of a task: on the vcpu that comes back, or, with HP_NONE, among those
 * that wait. *displaced is the task that lost that vcpu, or HP_NONE: it has to be placed next.
 */
static inline hp_u32 domain_place(struct domain *domain, hp_u32 task, hp_u32 *displaced) {
    hp_u32 vcpu = domain_vcpu_for(domain, task);
    hp_u32 pinned = domain->pinned[task];

    *displaced = HP_NONE;
    if (vcpu == HP_NONE) {
        heap_push(pinned == HP_NONE ? &domain->anywhere : &domain->here[pinned], domain->key[task],
                  task);
        return HP_NONE;
    }
    *displaced = domain->slot[vcpu].task;
    domain->slot[vcpu] = (struct domain_slot){task, 1};
    return vcpu;
}

/* An idle vcpu takes the best job that waits for it; whether there was one. */
static inline hp_u32 domain_fill(struct domain *domain, hp_u32 vcpu) {
    struct heap *from = &domain->anywhere;
    struct heap *here = &domain->here[vcpu];

    if (domain->slot[vcpu].task != HP_NONE)
        return 0;
    if (here->count > 0 && (from->count == 0 || heap_before(here->entry[0], from->entry[0])))
        from = here;
    if (from->count == 0)
        return 0;
    domain->slot[vcpu] = (struct domain_slot){from->entry[0].task, 1};
    heap_pop(from);
    return 1;
}

#endif /* GUESTS_DOMAIN_H */
