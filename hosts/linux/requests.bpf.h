/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What user space asks for: the programs that shared.h names. None of them needs a kernel that has
 * sched_ext, only one that runs BPF programs.
 */
#ifndef HYPERPERIOD_LINUX_REQUESTS_BPF_H
#define HYPERPERIOD_LINUX_REQUESTS_BPF_H

#include "hosts/linux/threads.bpf.h"

#define NOT_THERE (-2) /* errno, as user space knows it */
#define BUSY (-16)
#define WRONG (-22)

static __always_inline bool has_existed(hp_u32 id) {
    const struct server *server = bpf_map_lookup_elem(&servers, &id);

    return server && server->birth > 0;
}

/* Has the kernel put all threads into the queues where they belong now; also those that wait for a
 * server that is no more. */
static __noinline hp_u32 refill_queues(void) {
    if (!can_refill())
        return 0;
    HP_FOR (cache, lx.caches)
        scx_bpf_dsq_reenq(BACKGROUND + cache, 0);
    scx_bpf_dsq_reenq(HELD, 0);
    HP_FOR (id, LX_SERVERS) {
        if (id >= ids())
            break;
        if (has_existed(id))
            scx_bpf_dsq_reenq(id, 0);
    }
    return 0;
}

/*
 * All threads, running or not, look anew where they belong. One that a higher class has preempted
 * does so when it goes on: else it might never. One that another cpu is about to put where it
 * belonged so far is found when that cpu comes to its next dispatch: else it might wait for a
 * server that nobody looks at any more.
 */
static __noinline hp_u32 refresh(void) {
    __sync_fetch_and_add(&lx.generation, 1);
    if (!lx.attached)
        return 0;
    refill_queues();
    if (!bpf_ksym_exists(scx_bpf_nr_cpu_ids))
        return 0;
    HP_FOR (number, scx_bpf_nr_cpu_ids()) {
        struct managed *cpu = any_cpu(number);

        if (cpu) {
            cpu->look_owed = 1;
            cpu->pick_owed = 1;
        }
        kick((s32)number, SCX_KICK_PREEMPT);
    }
    return 0;
}

/* An empty ring, which its reader can tell from one that was never used. */
static __always_inline void clear_ring(hp_u32 lock) {
    struct lx_ring *ring = bpf_map_lookup_elem(&rings, &lock);

    if (!ring)
        return;
    __builtin_memcpy(ring->head.magic, HP_RING_MAGIC, sizeof(ring->head.magic));
    ring->head.header_bytes = sizeof(ring->head);
    ring->head.record_bytes = sizeof(ring->records[0]);
    ring->head.capacity = LX_RECORDS;
    ring->head.written = 0;
    ring->head.frequency_hz = 1000000000;
    ring->head.epoch_ticks = lx.base_ns;
    ring->head.source = lock;
    ring->head.flags = 0;
}

static __always_inline void keep_rules(struct lock_domain *domain, const struct hp_policy *policy) {
    domain->policy.budget = policy->budget;
    domain->policy.order = policy->order;
    domain->policy.slack = policy->slack;
}

SEC("syscall")
int lx_start(struct lx_start *to) {
    const hp_u32 lock = to->lock;
    struct lock_domain *domain = domain_by(lock);
    struct hp_config config;
    hp_u32 error;

    if (!domain || lx.places == 0 || lx.places > LX_CPUS)
        return WRONG;
    if (lx.attached)
        return BUSY;
    config.policy.budget = to->policy.budget;
    config.policy.order = to->policy.order;
    config.policy.slack = to->policy.slack;
    config.pcpus = lx.global ? lx.places : 1;
    config.reports_saved = lx.global != 0;
    config.quantum_ns = to->quantum_ns;
    config.decision_ns = to->decision_ns;
    config.spare_period_ns = to->spare_period_ns;
    config.spare_budget_ns = to->spare_budget_ns;
    error = hp_init(&domain->core, &config, 0);
    if (error)
        return (int)error;
    domain->held = 0;
    domain->given_up = 0;
    keep_rules(domain, &config.policy);
    HP_FOR (vcpu, HP_VCPUS) {
        hp_u32 id = LX_ID(lock, vcpu);
        struct server *server = bpf_map_lookup_elem(&servers, &id);

        if (server)
            server->present = 0;
    }
    HP_FOR (pcpu, HP_PCPUS)
        domain->picked_ns[HP_INDEX(pcpu, HP_PCPUS)] = 0;
    clear_ring(lock);
    record_call(lock, HP_RECORD_QUANTUM, HP_NONE, config.quantum_ns);
    record_call(lock, HP_RECORD_BUDGET, HP_NONE, config.spare_budget_ns);
    record_call(lock, HP_RECORD_SET_SPARE, HP_NONE, config.spare_period_ns);
    record(lock, policy_word(&config.policy) | (hp_u64)config.reports_saved << 24,
           hp_record_who(config.pcpus, 0, HP_NONE),
           hp_record_what(HP_RECORD_START, HP_NONE, HP_RECORD_NONE, 0));
    return 0;
}

/* The part of a cpu that a server is promised; both times a microsecond at least. */
static __always_inline hp_u32 share_of(const struct hp_params *params) {
    if (params->flags & HP_BEST_EFFORT)
        return 0;
    return (hp_u32)((((params->budget_ns >> 10) + 1) * WHOLE_CPU) / ((params->period_ns >> 10) + 1))
           + 1;
}

/* Gives a server its parameters: one of the core's errors, or 0. With the lock held. */
static __always_inline hp_u32 give(struct lock_domain *domain, struct server *server, hp_u32 id,
                                   const struct hp_params *params, hp_u64 now_ns) {
    const hp_u32 lock = LX_LOCK_OF(id), vcpu = LX_NUMBER_OF(id);
    const hp_u32 is_new = !server->present;
    hp_u32 error;

    if (is_new)
        error = hp_add(&domain->core, vcpu, params, now_ns);
    else
        error = hp_update(&domain->core, vcpu, params, now_ns);
    if (error)
        return error;
    record_server(lock, is_new ? HP_RECORD_ADD : HP_RECORD_UPDATE, vcpu, params);
    server->period_ns = params->period_ns;
    server->budget_ns = params->budget_ns;
    server->weight = params->weight;
    server->priority = params->priority;
    server->flags = params->flags;
    server->share = share_of(params);
    if (is_new) {
        __builtin_memset(usage_of(domain, vcpu), 0, sizeof(struct lx_usage));
        __builtin_memset(waits_of(domain, vcpu), 0, sizeof(struct lx_waits));
        usage_of(domain, vcpu)->supplied_ns = HP_NEVER;
        server->birth++;
        server->present = 1;
    }
    supply_with(domain, vcpu, params->period_ns, params->budget_ns);
    return HP_OK;
}

/* Adds the server, or changes it: one of the core's errors, or an errno, or 0. */
VERB int change_server(hp_u32 id, hp_u32 inside, const struct hp_params *params HP_NOT_NULL,
                       hp_u64 cpus) {
    const hp_u32 lock = LX_LOCK_OF(id);
    struct lock_domain *domain = domain_by(lock);
    struct server *server = bpf_map_lookup_elem(&servers, &id);
    const hp_u64 now_ns = core_time();
    unsigned long flags;
    hp_u64 kicks = 0;
    hp_u32 error;

    if (!domain || !server || inside >= LX_INSIDES)
        return WRONG;
    if (!ENTER(domain, flags))
        return BUSY;
    account_all(domain, id, now_ns);
    error = give(domain, server, id, params, now_ns);
    if (!error) {
        server->inside = inside;
        server->cpus = cpus;
        bind_server(domain, server, LX_NUMBER_OF(id));
        kicks = kicks_of(domain);
    }
    LEAVE(domain, flags);
    ask_all(lock, kicks);
    return (int)error;
}

SEC("syscall")
int lx_set(struct lx_set *to) {
    const struct server *before = server_by(to->server);
    const bool moves = before && before->cpus != to->cpus;
    struct hp_params params;
    int error;

    params.period_ns = to->period_ns;
    params.budget_ns = to->budget_ns;
    params.priority = to->priority;
    params.flags = to->flags;
    params.weight = to->weight;
    error = change_server(to->server, to->inside, &params, to->cpus);
    if (!error && moves)
        refresh();
    return error;
}

SEC("syscall")
int lx_remove(struct lx_name *to) {
    const hp_u32 id = to->server, lock = LX_LOCK_OF(to->server);
    struct lock_domain *domain = domain_by(lock);
    struct server *server = server_by(id);
    const hp_u64 now_ns = core_time();
    unsigned long flags;
    hp_u64 kicks;

    if (!domain || !server)
        return NOT_THERE;
    if (!ENTER(domain, flags))
        return BUSY;
    hp_remove(&domain->core, LX_NUMBER_OF(id), now_ns);
    record_call(lock, HP_RECORD_REMOVE, LX_NUMBER_OF(id), 0);
    server->present = 0;
    kicks = kicks_of(domain);
    LEAVE(domain, flags);
    ask_all(lock, kicks);
    refresh();
    return 0;
}

/* Another policy: each server is in a period of that. With the lock held. */
VERB hp_u32 supply_all(struct lock_domain *domain HP_NOT_NULL, hp_u32 lock) {
    HP_FOR (vcpu, HP_VCPUS) {
        const struct server *server = server_by(LX_ID(lock, vcpu));

        if (server)
            supply_with(domain, vcpu, server->period_ns, supply_of(domain, vcpu)->budget_ns);
    }
    return 0;
}

SEC("syscall")
int lx_swap(struct lx_swap *to) {
    const hp_u32 lock = to->lock;
    struct lock_domain *domain = domain_by(lock);
    const hp_u64 now_ns = core_time();
    struct hp_policy policy;
    unsigned long flags;
    hp_u64 kicks = 0;
    hp_u32 error;

    if (!domain)
        return WRONG;
    policy.budget = to->policy.budget;
    policy.order = to->policy.order;
    policy.slack = to->policy.slack;
    if (!ENTER(domain, flags))
        return BUSY;
    account_all(domain, LX_ID(lock, 0), now_ns);
    error = hp_set_policy(&domain->core, &policy, now_ns);
    if (!error) {
        record_call(lock, HP_RECORD_SWAP, HP_NONE, policy_word(&policy));
        keep_rules(domain, &policy);
        kicks = kicks_of(domain);
        supply_all(domain, lock);
    }
    LEAVE(domain, flags);
    ask_all(lock, kicks);
    return (int)error;
}

SEC("syscall")
int lx_spare(struct lx_spare *to) {
    const hp_u32 lock = to->lock;
    struct lock_domain *domain = domain_by(lock);
    const hp_u64 now_ns = core_time();
    unsigned long flags;
    hp_u64 kicks = 0;
    hp_u32 error;

    if (!domain)
        return WRONG;
    if (!ENTER(domain, flags))
        return BUSY;
    error = hp_set_spare(&domain->core, to->period_ns, to->budget_ns, now_ns);
    if (!error) {
        record_call(lock, HP_RECORD_BUDGET, HP_NONE, to->budget_ns);
        record_call(lock, HP_RECORD_SET_SPARE, HP_NONE, to->period_ns);
        kicks = kicks_of(domain);
    }
    LEAVE(domain, flags);
    ask_all(lock, kicks);
    return (int)error;
}

/* What is granted now is in the account as far as it has got, which is when this look is. */
SEC("syscall")
int lx_look(struct lx_look *to) {
    const hp_u32 id = to->server, vcpu = LX_NUMBER_OF(to->server);
    struct lock_domain *domain = domain_by(LX_LOCK_OF(id));
    const struct server *server = server_by(id);
    const hp_u64 now_ns = core_time();
    unsigned long flags;

    if (!domain)
        return WRONG;
    if (!ENTER(domain, flags))
        return BUSY;
    to->runs_at = LX_NOBODY;
    account_all(domain, id, now_ns);
    HP_FOR (pcpu, lx.global ? lx.places : 1) {
        if (hp_running(&domain->core, pcpu) == vcpu)
            to->runs_at = cpu_at(lx.global ? pcpu : LX_LOCK_OF(id));
    }
    to->present = server != 0;
    if (server) {
        to->asked.server = id;
        to->asked.inside = server->inside;
        to->asked.priority = server->priority;
        to->asked.flags = server->flags;
        to->asked.weight = server->weight;
        to->asked.period_ns = server->period_ns;
        to->asked.budget_ns = server->budget_ns;
        to->asked.cpus = server->cpus;
    }
    __builtin_memcpy(&to->policy, &domain->policy, sizeof(to->policy));
    to->now_ns = hp_max(now_ns, hp_now_ns(&domain->core));
    to->remaining_ns = hp_remaining_ns(&domain->core, vcpu);
    __builtin_memcpy(&to->usage, usage_of(domain, vcpu), sizeof(to->usage));
    __builtin_memcpy(&to->waits, waits_of(domain, vcpu), sizeof(to->waits));
    LEAVE(domain, flags);
    return 0;
}

SEC("syscall")
int lx_refresh(struct lx_name *to) {
    refresh();
    return 0;
}

#endif
