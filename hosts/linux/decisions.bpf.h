/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that calls the core: its lock, its record, and one function for each of its verbs.
 *
 * The kernel's locks for BPF forbid to call functions that its verifier looks at on their own, of
 * which the core is made. So the lock of a lock domain is a word, taken with interrupts off. They
 * are off in the operations of sched_ext that the kernel calls under the lock of a run queue, and
 * in sched_switch: verbs that only these call just take the lock. All others turn them off first.
 *
 * Each verb is a function that the verifier looks at on its own, for any numbers: a program pays
 * for the verbs that it calls, once each. It takes the lock, tells the core, writes the record,
 * and returns the pcpus that the core asks for, as a mask.
 */
#ifndef HYPERPERIOD_LINUX_DECISIONS_BPF_H
#define HYPERPERIOD_LINUX_DECISIONS_BPF_H

#include "hosts/linux/state.bpf.h"

/* A function that the verifier looks at once. */
#define VERB __attribute__((__noinline__))

/* Ends the scheduler: the kernel's own goes on. */
#define FAIL(text)                                                                                 \
    ({                                                                                             \
        static char why[] = text;                                                                  \
        unsigned long long none[1] = {0};                                                          \
                                                                                                   \
        if (bpf_ksym_exists(scx_bpf_error_bstr))                                                   \
            scx_bpf_error_bstr(why, none, sizeof(none));                                           \
    })

/* --- the lock ------------------------------------------------------------------------------- */

/* Looks at a lock that is taken before it is given up. Who holds it is in the core: microseconds,
 * unless that cpu is a virtual one which its host keeps waiting. So it is about a quarter of a
 * second, as the kernel's own locks for BPF have it. */
#define ROUNDS (1u << 25)

/* Waits for the lock, which somebody else had when it was looked at. Once in vain is enough: if
 * each switch of threads waited so long, the kernel would never come to end the scheduler. */
static __noinline hp_u32 wait_for(struct lock_domain *domain) {
    hp_u64 round = 1 + hp_zero;

    if (domain->given_up)
        return 0;
    for (; HP_MAY_LOOP() && round < ROUNDS; round++) {
        if (!__sync_lock_test_and_set(&domain->held, 1)) {
            if (round > lx.rounds)
                lx.rounds = round;
            return 1;
        }
    }
    domain->given_up = 1;
    FAIL("the lock of a lock domain could not be had");
    return 0;
}

/* Takes the lock, with interrupts off until release(); without it nothing may be done. */
static __always_inline hp_u32 take(struct lock_domain *domain) {
    return !__sync_lock_test_and_set(&domain->held, 1) || wait_for(domain);
}

static __always_inline void release(struct lock_domain *domain) {
    __sync_lock_test_and_set(&domain->held, 0);
}

/* Turns interrupts off and takes the lock, until LEAVE(). */
#define ENTER(domain, flags)                                                                       \
    ({                                                                                             \
        hp_u32 entered_;                                                                           \
                                                                                                   \
        bpf_local_irq_save(&(flags));                                                              \
        entered_ = take(domain);                                                                   \
        if (!entered_)                                                                             \
            bpf_local_irq_restore(&(flags));                                                       \
        entered_;                                                                                  \
    })

#define LEAVE(domain, flags)                                                                       \
    ({                                                                                             \
        release(domain);                                                                           \
        bpf_local_irq_restore(&(flags));                                                           \
    })

/* --- the record ----------------------------------------------------------------------------- */

/* The core's time. */
static __always_inline hp_u64 core_time(void) {
    const hp_u64 now_ns = bpf_ktime_get_ns(), base_ns = lx.base_ns;

    if (now_ns <= base_ns)
        return 0;
    HP_JUMP();
    return now_ns - base_ns;
}

/* The ring of a lock domain, if its calls are recorded. */
static __always_inline struct lx_ring *ring_of(hp_u32 lock) {
    struct lx_ring *ring = bpf_map_lookup_elem(&rings, &lock);

    if (ring && !lx.recording) {
        ring->head.flags |= HP_RING_PAUSED;
        return 0;
    }
    return ring;
}

/* Where the next record goes. */
static __always_inline struct hp_record *next_of(struct lx_ring *ring) {
    return &ring->records[ring->head.written & (LX_RECORDS - 1)];
}

/* The next record is there to be read. */
static __always_inline void pass_on(struct lx_ring *ring) {
    __sync_fetch_and_add(&ring->head.written, 1);
}

/* Writes a record as four words: the fields of struct hp_record, and its order of bytes. */
static __always_inline void write_record(const struct lock_domain *domain, hp_u32 lock,
                                         hp_u64 value, hp_u64 name, hp_u64 kind) {
    struct lx_ring *ring = ring_of(lock);
    hp_u64 *words;

    if (!ring)
        return;
    words = (hp_u64 *)next_of(ring);
    words[0] = hp_now_ns(&domain->core);
    words[1] = value;
    words[2] = name;
    words[3] = kind;
    pass_on(ring);
}

/* The same off the common path. */
VERB hp_u32 record(hp_u32 lock, hp_u64 value, hp_u64 name, hp_u64 kind) {
    const struct lock_domain *domain = domain_by(lock);

    if (domain)
        write_record(domain, lock, value, name, kind);
    return 0;
}

static __always_inline void record_call(hp_u32 lock, hp_u32 kind, hp_u32 vcpu, hp_u64 value) {
    record(lock, value, hp_record_who(0, 0, vcpu),
           hp_record_what(kind, HP_NONE, HP_RECORD_NONE, 0));
}

/* Work comes or goes. */
static __always_inline void record_work(const struct lock_domain *domain, hp_u32 lock, hp_u32 kind,
                                        hp_u32 vcpu) {
    write_record(domain, lock, 0, hp_record_who(0, 0, vcpu),
                 hp_record_what(kind, HP_NONE, HP_RECORD_NONE, 0));
}

/* The answer of a pick, as four words. */
static __always_inline void record_grant(const struct lock_domain *domain, hp_u32 lock, hp_u32 pcpu,
                                         const struct hp_grant *grant) {
    struct lx_ring *ring = ring_of(lock);
    hp_u64 *words, kind;
    hp_u32 run;

    if (!ring)
        return;
    words = (hp_u64 *)next_of(ring);
    words[0] = hp_now_ns(&domain->core);
    words[1] = grant->until_ns;
    run = grant->run;
    words[2] = hp_record_who(grant->level, pcpu, run);
    kind = hp_record_what(HP_RECORD_RUN, 0, HP_RECORD_NONE, 0);
    if (run == HP_NONE)
        kind = hp_record_what(HP_RECORD_IDLE, 0, HP_RECORD_NONE, 0);
    if (grant->also != HP_NONE)
        kind |= hp_record_what(0, 0, 0, HP_RECORD_SECOND_PAYER);
    if (grant->level)
        kind |= hp_record_what(0, 0, 0, HP_RECORD_EXTRA);
    words[3] = kind | hp_record_what(0, grant->pay, 0, 0);
    pass_on(ring);
}

static __always_inline void record_server(hp_u32 lock, hp_u32 kind, hp_u32 vcpu,
                                          const struct hp_params *params) {
    const hp_u32 effort = params->flags & HP_BEST_EFFORT;

    record_call(lock, HP_RECORD_BUDGET, vcpu, params->budget_ns);
    record(lock, effort ? params->weight : params->period_ns,
           hp_record_who(params->priority, 0, vcpu),
           hp_record_what(kind, HP_NONE, HP_RECORD_NONE, params->flags));
}

static __always_inline hp_u64 policy_word(const struct hp_policy *policy) {
    return policy->budget | policy->order << 8 | policy->slack << 16;
}

/* --- usage ---------------------------------------------------------------------------------- */

static __always_inline struct served *served_of(struct lock_domain *domain, hp_u32 vcpu) {
    return &domain->served[HP_INDEX(vcpu, HP_VCPUS)];
}

static __always_inline struct lx_usage *usage_of(struct lock_domain *domain, hp_u32 vcpu) {
    return &served_of(domain, vcpu)->usage;
}

static __always_inline struct lx_waits *waits_of(struct lock_domain *domain, hp_u32 vcpu) {
    return &domain->waits[HP_INDEX(vcpu, HP_VCPUS)];
}

static __always_inline struct supply *supply_of(struct lock_domain *domain, hp_u32 vcpu) {
    return &served_of(domain, vcpu)->supply;
}

/* So many periods of a server end, one after the other; by their end it had used so much. */
static __always_inline void close_periods(struct supply *supply, struct lx_usage *usage,
                                          hp_u64 used_ns, hp_u64 periods) {
    const hp_u64 goal_ns = supply->base_ns + supply->budget_ns;
    const hp_u64 left_ns = used_ns < goal_ns ? goal_ns - used_ns : 0;

    if (usage->threads > 0 && supply->end_ns >= supply->first_ns + supply->period_ns) {
        usage->supplied_ns =
            hp_min(usage->supplied_ns, supply->budget_ns - hp_min(supply->budget_ns, left_ns));
        if (left_ns > supply->budget_ns / LX_SHORT_PARTS)
            usage->shorts += periods;
    }
    supply->end_ns += periods * supply->period_ns;
    supply->base_ns = hp_min(goal_ns, used_ns);
}

/* How many periods of a server have ended from the end of the one that was looked after last. */
static __always_inline hp_u64 ended_by(const struct supply *supply, hp_u64 now_ns) {
    return (now_ns - supply->end_ns) / supply->period_ns + 1;
}

/* The periods of a server that have ended by now, up to which it has paid for so long. Several have
 * only where it waited for long, or a pick comes very late. */
VERB hp_u32 end_periods(struct lock_domain *domain HP_NOT_NULL, hp_u32 vcpu, hp_u64 paid_ns,
                        hp_u64 now_ns) {
    struct supply *supply = supply_of(domain, vcpu);
    struct lx_usage *usage = usage_of(domain, vcpu);
    const hp_u64 from_ns = now_ns - paid_ns, used_ns = usage->used_ns - paid_ns;

    if (from_ns >= supply->end_ns)
        close_periods(supply, usage, used_ns, 1);
    if (from_ns >= supply->end_ns)
        close_periods(supply, usage, used_ns, ended_by(supply, from_ns));
    if (now_ns >= supply->end_ns)
        close_periods(supply, usage, used_ns + supply->end_ns - from_ns, 1);
    if (now_ns >= supply->end_ns)
        close_periods(supply, usage, usage->used_ns, ended_by(supply, now_ns));
    return 0;
}

/* Whole periods that have ended by now, and were looked after, are counted. */
VERB hp_u32 count_periods(struct lock_domain *domain HP_NOT_NULL, hp_u32 vcpu, hp_u64 now_ns) {
    struct supply *supply = supply_of(domain, vcpu);
    struct lx_usage *usage = usage_of(domain, vcpu);
    hp_u64 periods;

    if (!supply->period_ns || !usage->threads || now_ns < supply->first_ns + supply->period_ns)
        return 0;
    periods = (now_ns - supply->first_ns) / supply->period_ns;
    usage->periods += periods;
    usage->supplied_ns = hp_min(usage->supplied_ns, supply->budget_ns);
    supply->first_ns += periods * supply->period_ns;
    return 0;
}

/* A server gets work, or comes under other rules: what period it is in. After the core was told. */
static __always_inline void begin_supply(struct lock_domain *domain, hp_u32 vcpu) {
    const struct hp_core *core = &domain->core;
    const hp_u64 end_ns = hp_deadline_ns(core, vcpu);
    struct supply *supply = supply_of(domain, vcpu);

    if (!supply->period_ns)
        return;
    supply->end_ns = end_ns;
    supply->first_ns = end_ns;
    if (hp_now_ns(core) + hp_period_ns(core, vcpu) <= end_ns)
        supply->first_ns -= hp_period_ns(core, vcpu);
    supply->base_ns =
        usage_of(domain, vcpu)->used_ns + (hp_u64)hp_remaining_ns(core, vcpu) - supply->budget_ns;
}

/* A server has other parameters from its next period on, or comes under other rules: the period
 * that it is in is not whole. */
static __always_inline void supply_with(struct lock_domain *domain, hp_u32 vcpu, hp_u64 period_ns,
                                        hp_u64 budget_ns) {
    struct supply *supply = supply_of(domain, vcpu);

    supply->period_ns = hp_refills_whole(&domain->core) ? period_ns : 0;
    supply->budget_ns = budget_ns;
    supply->end_ns = HP_NEVER;
    begin_supply(domain, vcpu);
    supply->first_ns = supply->end_ns;
}

/* A server has paid for so long, up to now. */
static __always_inline void look_after(struct lock_domain *domain, hp_u32 vcpu, hp_u64 paid_ns,
                                       hp_u64 now_ns) {
    if (now_ns >= supply_of(domain, vcpu)->end_ns)
        end_periods(domain, vcpu, paid_ns, now_ns);
}

/* Who pays for a grant of its own budget, or nobody. */
static __always_inline struct served *payer_of(struct lock_domain *domain,
                                               const struct hp_grant *grant) {
    return grant->pay < HP_VCPUS && !grant->level ? served_of(domain, grant->pay) : 0;
}

/* A server has run for so long on this pcpu, up to now, and another pays, or pays as well, or none
 * does. */
VERB hp_u32 account_runner(struct lock_domain *domain HP_NOT_NULL, hp_u32 pcpu, hp_u32 is_lent,
                           hp_u64 span_ns, hp_u64 now_ns) {
    const struct hp_grant *grant = hp_granted(&domain->core, pcpu);
    struct served *payer = payer_of(domain, grant);

    if (payer)
        payer->usage.donated_ns += span_ns;
    if (grant->also < HP_VCPUS) {
        usage_of(domain, grant->also)->used_ns += span_ns;
        look_after(domain, grant->also, span_ns, now_ns);
    } else if (grant->run < HP_VCPUS && !is_lent) {
        usage_of(domain, grant->run)->extra_ns += span_ns;
    }
    return 0;
}

/* The grant of a pcpu lasted until now, since the last account: whose time was it, and who ran?
 * While this cpu waited for the lock another may have told the core a later instant: for the core,
 * now is not before that. */
static __always_inline void account_grant(struct lock_domain *domain, const struct hp_grant *grant,
                                          struct served *payer, hp_u32 pcpu, hp_u32 is_lent,
                                          hp_u64 now_ns) {
    hp_u64 *since_ns = &domain->picked_ns[HP_INDEX(pcpu, HP_PCPUS)];
    hp_u64 span_ns;

    now_ns = hp_max(hp_max(now_ns, hp_now_ns(&domain->core)), *since_ns);
    span_ns = now_ns - *since_ns;
    *since_ns = now_ns;
    if (payer) {
        payer->usage.used_ns += span_ns;
        if (now_ns >= payer->supply.end_ns)
            end_periods(domain, grant->pay, span_ns, now_ns);
        if (grant->run == grant->pay)
            return;
    }
    if (grant->run != HP_NONE)
        account_runner(domain, pcpu, is_lent, span_ns, now_ns);
}

/* The same off the common path. */
VERB hp_u32 account(struct lock_domain *domain HP_NOT_NULL, hp_u32 pcpu, hp_u32 is_lent,
                    hp_u64 now_ns) {
    const struct hp_grant *grant = hp_granted(&domain->core, pcpu);

    account_grant(domain, grant, payer_of(domain, grant), pcpu, is_lent, now_ns);
    return 0;
}

/* All that is known of a server is brought up to now. With the lock held. */
VERB hp_u32 account_all(struct lock_domain *domain HP_NOT_NULL, hp_u32 id, hp_u64 now_ns) {
    const hp_u32 vcpu = LX_NUMBER_OF(id);

    HP_FOR (pcpu, lx.global ? lx.places : 1) {
        const struct managed *cpu = any_cpu(cpu_at(lx.global ? pcpu : LX_LOCK_OF(id)));

        account(domain, pcpu, cpu && cpu->is_lent, now_ns);
    }
    now_ns = hp_max(now_ns, hp_now_ns(&domain->core));
    look_after(domain, vcpu, 0, now_ns);
    count_periods(domain, vcpu, now_ns);
    return 0;
}

/* A grant ended for which this server has paid, and is charged: what it owes is what the pick was
 * late. If its budget is used up its period is done, and the next one has so much less. */
static __always_inline void end_payment(struct lock_domain *domain, struct served *payer,
                                        hp_u32 vcpu) {
    const hp_i64 left_ns = hp_remaining_ns(&domain->core, vcpu);
    hp_u64 owed_ns;

    if (left_ns > 0)
        return;
    owed_ns = (hp_u64)-left_ns;
    if (owed_ns > 0) {
        payer->usage.overruns++;
        payer->usage.overrun_ns += owed_ns;
        if (owed_ns > payer->usage.overrun_ns_max)
            payer->usage.overrun_ns_max = owed_ns;
    }
    payer->supply.end_ns += payer->supply.period_ns;
    payer->supply.base_ns = payer->usage.used_ns - owed_ns;
}

/* --- asking for picks ----------------------------------------------------------------------- */

/*
 * Whether this cpu takes no interrupts any more, on its last way to be offline. To kick is work
 * that an interrupt to itself begins: what is put off here then is never done, nor what comes after
 * it.
 */
static __always_inline bool is_dying(void) {
    const hp_u32 here = bpf_get_smp_processor_id();
    const struct managed *cpu = any_cpu(here);
    const struct cpumask *online;
    bool is_online;

    if (!cpu || !cpu->is_away)
        return false;
    online = scx_bpf_get_online_cpumask();
    is_online = bpf_cpumask_test_cpu(here, online);
    scx_bpf_put_cpumask(online);
    return !is_online;
}

/* Interrupts a cpu, unless this one cannot: whoever wakes up on an idle cpu wakes that as well. */
static __always_inline void kick(s32 number, hp_u64 flags) {
    if (bpf_ksym_exists(scx_bpf_kick_cpu) && !is_dying())
        scx_bpf_kick_cpu(number, flags);
}

/* Asks a cpu for a pick. The flag is for a thread there that the interrupt does not reach. */
static __always_inline void ask(hp_u32 number) {
    struct managed *cpu = cpu_by(number);

    if (!cpu)
        return;
    cpu->pick_owed = 1;
    kick((s32)number, SCX_KICK_PREEMPT);
}

/* Asks the pcpus of a lock domain whose grants are no longer right. */
static __noinline hp_u32 ask_all(hp_u32 lock, hp_u64 pcpus) {
    if (!lx.attached)
        return 0;
    HP_FOR (step, LX_CPUS) {
        if (pcpus == 0)
            break;
        ask(cpu_at(lx.global ? (hp_u32)__builtin_ctzll(pcpus) : lock));
        pcpus = HP_FORGET(pcpus & (pcpus - 1));
    }
    return 0;
}

/* Which pcpus have to pick again. With the lock held. */
static __always_inline hp_u64 kicks_of(struct lock_domain *domain) {
    return hp_kicks(&domain->core, hp_now_ns(&domain->core));
}

/* --- the verbs ------------------------------------------------------------------------------ */

/* One more thread of this server wants to run; `wakes` says that it slept. */
VERB hp_u64 arrive(hp_u32 id, hp_u32 wakes) {
    const hp_u32 lock = LX_LOCK_OF(id), vcpu = LX_NUMBER_OF(id);
    struct lock_domain *domain = domain_by(lock);
    const hp_u64 now_ns = core_time();
    hp_u64 kicks = 0;

    if (!domain || !take(domain))
        return 0;
    if (usage_of(domain, vcpu)->threads++ == 0 && hp_present(&domain->core, vcpu)) {
        usage_of(domain, vcpu)->arrivals++;
        hp_arrive(&domain->core, vcpu, now_ns);
        record_work(domain, lock, HP_RECORD_ARRIVE, vcpu);
        begin_supply(domain, vcpu);
        kicks = kicks_of(domain);
    }
    if (wakes && hp_remaining_ns(&domain->core, vcpu) <= 0 && hp_period_ns(&domain->core, vcpu))
        waits_of(domain, vcpu)->depleted++;
    release(domain);
    return kicks;
}

/* One thread less of this server, of this birth, wants to run. `alone` says that the domain has one
 * pcpu, which can pick at once: so it does, whether it has to or not. */
VERB hp_u64 depart(hp_u32 id, hp_u32 birth, hp_u32 alone) {
    const hp_u32 lock = LX_LOCK_OF(id), vcpu = LX_NUMBER_OF(id);
    struct lock_domain *domain = domain_by(lock);
    struct server *server = server_by(id);
    const hp_u64 now_ns = core_time();
    hp_u64 kicks = 0;

    if (!domain || !take(domain))
        return 0;
    if (server && server->birth == birth) {
        const struct supply *supply = supply_of(domain, vcpu);

        /* It had work throughout periods that are not counted yet. */
        if (now_ns >= supply->first_ns + supply->period_ns)
            account_all(domain, id, now_ns);
        if (--usage_of(domain, vcpu)->threads == 0) {
            hp_depart(&domain->core, vcpu, now_ns);
            record_work(domain, lock, HP_RECORD_DEPART, vcpu);
            kicks = alone ? 1 : kicks_of(domain);
        }
    }
    release(domain);
    return kicks;
}

/* The context of this server is off its cpu: another may have it now. */
VERB hp_u64 saved(hp_u32 id) {
    const hp_u32 lock = LX_LOCK_OF(id), vcpu = LX_NUMBER_OF(id);
    struct lock_domain *domain = domain_by(lock);
    const hp_u64 now_ns = core_time();
    hp_u64 kicks = 0;

    if (!domain || !take(domain))
        return 0;
    if (hp_held(&domain->core, vcpu)) {
        hp_saved(&domain->core, vcpu, now_ns);
        record_call(lock, HP_RECORD_SAVED, vcpu, 0);
        kicks = kicks_of(domain);
    }
    release(domain);
    return kicks;
}

/* A server whose context never got to this cpu has nothing to save there. With the lock held. */
static __always_inline void release_if_absent(struct lock_domain *domain, hp_u32 lock,
                                              const struct managed *cpu, hp_u32 vcpu) {
    if (vcpu >= HP_VCPUS || cpu->context == LX_ID(lock, vcpu) || !hp_held(&domain->core, vcpu))
        return;
    hp_saved(&domain->core, vcpu, hp_now_ns(&domain->core));
    record_call(lock, HP_RECORD_SAVED, vcpu, 0);
}

/* From now on this cpu runs what nobody granted. */
VERB hp_u64 steal(hp_u32 number) {
    struct managed *cpu = cpu_by(number);
    const hp_u64 now_ns = core_time();
    struct lock_domain *domain;
    hp_u32 lock, pcpu, victim;
    struct theft *theft;
    hp_u64 kicks;

    if (!cpu)
        return 0;
    lock = lock_at(cpu->place);
    domain = domain_by(lock);
    if (!domain || !take(domain))
        return 0;
    pcpu = pcpu_at(cpu->place);
    theft = &domain->theft[HP_INDEX(pcpu, HP_PCPUS)];
    victim = hp_running(&domain->core, pcpu);
    account(domain, pcpu, cpu->is_lent, now_ns);
    hp_steal(&domain->core, pcpu, now_ns);
    record_call(lock, HP_RECORD_STEAL, HP_NONE, pcpu);
    theft->from_ns = hp_now_ns(&domain->core);
    theft->victim = victim;
    if (victim < HP_VCPUS)
        usage_of(domain, victim)->thefts++;
    release_if_absent(domain, lock, cpu, victim);
    cpu->is_stolen = 1;
    cpu->fired_ns = 0;
    kicks = kicks_of(domain);
    release(domain);
    return kicks;
}

/* The pcpu is back. With the lock held. */
static __always_inline void end_theft(struct lock_domain *domain, hp_u32 lock, hp_u32 pcpu,
                                      hp_u64 now_ns) {
    const struct theft *theft = &domain->theft[HP_INDEX(pcpu, HP_PCPUS)];

    hp_return(&domain->core, pcpu, now_ns);
    record_call(lock, HP_RECORD_RETURN, HP_NONE, pcpu);
    if (theft->victim < HP_VCPUS)
        usage_of(domain, theft->victim)->stolen_ns += hp_now_ns(&domain->core) - theft->from_ns;
    domain->picked_ns[HP_INDEX(pcpu, HP_PCPUS)] = hp_now_ns(&domain->core);
}

/* This cpu is there to be granted again. */
VERB hp_u64 give_back(hp_u32 number) {
    struct managed *cpu = cpu_by(number);
    const hp_u64 now_ns = core_time();
    struct lock_domain *domain;
    hp_u64 kicks;
    hp_u32 lock;

    if (!cpu)
        return 0;
    lock = lock_at(cpu->place);
    domain = domain_by(lock);
    if (!domain || !take(domain))
        return 0;
    end_theft(domain, lock, pcpu_at(cpu->place), now_ns);
    cpu->is_stolen = 0;
    cpu->pick_owed = 1;
    kicks = kicks_of(domain);
    release(domain);
    return kicks;
}

/*
 * Makes the grant of this cpu from now on: who is in cpu->granted, until when in cpu->until_ns.
 * Returns the other pcpus that have to pick again, which only a global policy has.
 */
static __always_inline hp_u64 pick_on(struct managed *cpu, hp_u32 lock, bool global) {
    const hp_u64 now_ns = core_time();
    struct lock_domain *domain = domain_by(lock);
    const struct hp_grant *grant;
    struct served *payer;
    hp_u32 pcpu, before, pay;
    hp_u64 kicks = 0;

    cpu->granted = LX_NOBODY;
    cpu->picked_ns = now_ns;
    if (!domain || !take(domain)) {
        cpu->until_ns = HP_NEVER;
        return 0;
    }
    /* Another cpu that goes gives this one its number. */
    pcpu = global ? cpu->place : 0;
    if (cpu->is_stolen) {
        end_theft(domain, lock, pcpu, now_ns);
        cpu->is_stolen = 0;
    }
    grant = global ? hp_granted(&domain->core, pcpu) : hp_only_granted(&domain->core);
    before = grant->run;
    pay = grant->pay;
    payer = payer_of(domain, grant);
    account_grant(domain, grant, payer, pcpu, cpu->is_lent, now_ns);
    cpu->is_lent = 0;
    grant = hp_pick(&domain->core, pcpu, now_ns);
    cpu->until_ns = grant->until_ns;
    cpu->alarm_ns = hp_found_alarm(&domain->core);
    cpu->payer = grant->pay;
    if (grant->run != HP_NONE)
        cpu->granted = LX_ID(lock, grant->run);
    record_grant(domain, lock, pcpu, grant);
    if (payer)
        end_payment(domain, payer, pay);
    if (global) {
        if (before != grant->run)
            release_if_absent(domain, lock, cpu, before);
        kicks = kicks_of(domain) & ~(1ull << (pcpu & 63));
    }
    release(domain);
    return kicks;
}

/* The same on the only pcpu of its lock domain, and on one of several. */
VERB hp_u64 pick_alone(hp_u32 number) {
    struct managed *cpu = cpu_by(number);

    return cpu ? pick_on(cpu, cpu->place, false) : 0;
}

VERB hp_u64 pick_among(hp_u32 number) {
    struct managed *cpu = cpu_by(number);

    return cpu ? pick_on(cpu, 0, true) : 0;
}

static __always_inline hp_u64 pick(hp_u32 number) {
    return lx.global ? pick_among(number) : pick_alone(number);
}

/* --- cpus of a global policy ------------------------------------------------------------------ */

/* The places where a server may run, as a mask; 0: all that there are, or none. */
static __always_inline hp_u64 places_of(const struct server *server) {
    hp_u64 places = hp_zero;

    HP_FOR (place, LX_CPUS) {
        if (place >= lx.places)
            break;
        if (may_have(server, cpu_at(place)))
            places = HP_FORGET(places | 1ull << (place % LX_CPUS));
    }
    return places == ~0ull >> ((LX_CPUS - lx.places) % LX_CPUS) ? 0 : places;
}

/* Tells the core on which of its pcpus a server may run. With the lock held. */
static __noinline int bind_server(struct lock_domain *domain, const struct server *server,
                                  hp_u32 vcpu) {
    const hp_u64 places = places_of(server);

    if (!lx.global || places == hp_bound_to(&domain->core, vcpu))
        return 0;
    hp_bind(&domain->core, vcpu, places);
    record_call(0, HP_RECORD_BIND, vcpu, places);
    return 0;
}

/* The numbers of pcpus are others now. With the lock held. */
static __always_inline void bind_all(struct lock_domain *domain) {
    HP_FOR (id, LX_SERVERS_PER_LOCK) {
        const struct server *server = server_by(id);

        if (server)
            bind_server(domain, server, id);
    }
}

/* What is known of a pcpu is known of the one whose number it gets. With the lock held. */
static __always_inline void rename_pcpu(struct lock_domain *domain, hp_u32 from, hp_u32 to) {
    const hp_u32 old = HP_INDEX(from, HP_PCPUS), new = HP_INDEX(to, HP_PCPUS);
    struct managed *moved = any_cpu(cpu_at(from));

    domain->picked_ns[new] = domain->picked_ns[old];
    domain->theft[new].from_ns = domain->theft[old].from_ns;
    domain->theft[new].victim = domain->theft[old].victim;
    lx.cpu_at[HP_INDEX(to, LX_CPUS)] = cpu_at(from);
    if (moved)
        moved->place = to;
}

/* This cpu is no pcpu any more; the last one takes over its number. The only one stays. */
VERB hp_u64 drop_cpu(hp_u32 number) {
    struct lock_domain *domain = domain_by(0);
    struct managed *cpu = cpu_by(number);
    const hp_u64 now_ns = core_time();
    hp_u32 pcpu, before;
    unsigned long flags;
    hp_u64 kicks = 0;

    if (!cpu || !domain || !ENTER(domain, flags))
        return 0;
    pcpu = cpu->place;
    before = hp_running(&domain->core, pcpu);
    account(domain, pcpu, cpu->is_lent, now_ns);
    if (hp_drop_pcpu(&domain->core, pcpu, now_ns) == HP_OK) {
        record_call(0, HP_RECORD_DROP_PCPU, HP_NONE, pcpu);
        lx.places--;
        if (pcpu != lx.places)
            rename_pcpu(domain, lx.places, pcpu);
        cpu->place = LX_NOBODY;
        cpu->is_stolen = 0;
        cpu->granted = LX_NOBODY;
        release_if_absent(domain, 0, cpu, before);
        bind_all(domain);
        kicks = kicks_of(domain);
    }
    LEAVE(domain, flags);
    return kicks;
}

/* Who is on the first pcpu while that is not alone any more is held there: the switch that takes it
 * away says that it is saved, and waits for the lock if it is under way. With the lock held. */
static __always_inline void hold_running(struct lock_domain *domain) {
    const struct managed *first = any_cpu(cpu_at(0));
    hp_u32 vcpu;

    if (!first || first->context == LX_NOBODY)
        return;
    vcpu = LX_NUMBER_OF(first->context);
    if (!hp_present(&domain->core, vcpu) || hp_running(&domain->core, 0) == vcpu)
        return;
    hp_hold(&domain->core, vcpu, 0);
    record_call(0, HP_RECORD_HOLD, vcpu, 0);
}

/* This cpu is the last pcpu. */
VERB hp_u64 add_cpu(hp_u32 number) {
    struct lock_domain *domain = domain_by(0);
    struct managed *cpu = any_cpu(number);
    const hp_u64 now_ns = core_time();
    unsigned long flags;
    hp_u64 kicks = 0;

    if (!cpu || !domain || !ENTER(domain, flags))
        return 0;
    if (cpu->place == LX_NOBODY && hp_add_pcpu(&domain->core, now_ns) == HP_OK) {
        const hp_u32 pcpu = lx.places;

        record_call(0, HP_RECORD_ADD_PCPU, HP_NONE, pcpu);
        domain->picked_ns[HP_INDEX(pcpu, HP_PCPUS)] = hp_now_ns(&domain->core);
        lx.cpu_at[HP_INDEX(pcpu, LX_CPUS)] = number;
        lx.places++;
        cpu->is_stolen = 0;
        cpu->granted = LX_NOBODY;
        cpu->pick_owed = 1;
        cpu->place = pcpu;
        if (pcpu == 1)
            hold_running(domain);
        bind_all(domain);
        kicks = kicks_of(domain);
    }
    LEAVE(domain, flags);
    return kicks;
}

#endif
