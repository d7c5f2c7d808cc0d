/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hyperperiod's core as a Xen scheduler: what happens while guests run.
 *
 * The core (core/hyperperiod.h) says who runs, who pays and until when. This file tells it the
 * time and what happens to vcpus, and does what it says. It decides nothing. Everything that calls
 * the core is here, so that Xen has its text once; words, time and locks are in scheduler.h.
 *
 * Pcpu slots follow the pool's valid pcpus: whoever schedules looks whether it is one of them.
 */
#include <xen/event.h>
#include <xen/init.h>
#include <xen/softirq.h>
#include <xen/tasklet.h>

#include "recorder.h"
#include "scheduler.h"

#ifdef CONFIG_ARM
#include <asm/time.h>
#endif

/* --- locks and the console -------------------------------------------------------------------- */

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

/* What is to be said while a lock is held waits for a softirq: a serial line takes milliseconds, in
 * which all who wait for the lock would stand still. As many may wait as a pool has vcpus. */
static struct notice {
    const char *format; /* of the texts and numbers below, or of less */
    const char *error;
    unsigned int domain, unit;
} notices[HP_VCPUS];
static unsigned int given, printed; /* so far; the next stands at its number modulo HP_VCPUS */
static spinlock_t notices_lock;

int __init cf_check hyperperiod_prepare(void)
{
    spin_lock_init(&notices_lock);
    return 0;
}

static COLD void cf_check print_notices(void *unused)
{
    struct notice notice;

    spin_lock_irq(&notices_lock);
    while ( printed != given )
    {
        notice = notices[printed++ % HP_VCPUS];
        spin_unlock_irq(&notices_lock);
        printk(notice.format, notice.error, notice.domain, notice.unit);
        spin_lock_irq(&notices_lock);
    }
    spin_unlock_irq(&notices_lock);
}

static DECLARE_SOFTIRQ_TASKLET(printer, print_notices, NULL);

static COLD void give_notice(const char *format, unsigned int error, unsigned int domain,
                             unsigned int unit)
{
    spin_lock(&notices_lock);
    if ( given - printed < HP_VCPUS )
        notices[given++ % HP_VCPUS] = (struct notice){ format, hyperperiod_error(error), domain,
                                                       unit };
    spin_unlock(&notices_lock);
    tasklet_schedule(&printer);
}

/* --- time and records ------------------------------------------------------------------------ */

/* What the core is told. Pcpus may differ by a little; the core's time does not go back. */
static uint64_t core_time(const struct lock_domain *ld, s_time_t now)
{
    const uint64_t told = now > ld->base ? now - ld->base : 0;

    return max_t(uint64_t, told, hp_now_ns(&ld->core));
}

/* The same where it need not be fast. */
static COLD uint64_t time_now(const struct lock_domain *ld)
{
    return core_time(ld, NOW());
}

static noinline void record_call(struct lock_domain *ld, enum hp_record_kind kind, hp_u32 slot,
                               uint64_t value, uint32_t job)
{
    record(ld->open, hp_now_ns(&ld->core), value, hp_record_who(job, 0, slot),
           hp_record_what(kind, HP_NONE, HP_RECORD_NONE, 0));
}

static COLD void record_server(struct lock_domain *ld, enum hp_record_kind kind, hp_u32 slot,
                               const struct hp_params *params)
{
    const bool effort = params->flags & HP_BEST_EFFORT;

    record_call(ld, HP_RECORD_BUDGET, slot, params->budget_ns, 0);
    record(ld->open, hp_now_ns(&ld->core), effort ? params->weight : params->period_ns,
           hp_record_who(params->priority, 0, slot),
           hp_record_what(kind, HP_NONE, HP_RECORD_NONE, params->flags));
}

static uint32_t policy_word(const struct hp_policy *policy)
{
    return policy->budget | policy->order << 8 | policy->slack << 16;
}

static COLD void record_start(struct lock_domain *ld, const struct hp_config *config)
{
    record_call(ld, HP_RECORD_QUANTUM, HP_NONE, config->quantum_ns, 0);
    record_call(ld, HP_RECORD_BUDGET, HP_NONE, config->spare_budget_ns, 0);
    record_call(ld, HP_RECORD_SET_SPARE, HP_NONE, config->spare_period_ns, 0);
    record_call(ld, HP_RECORD_START, HP_NONE,
                policy_word(&config->policy) | (uint64_t)config->reports_saved << 24,
                config->pcpus);
}

static void record_grant(struct lock_domain *ld, unsigned int pcpu, const struct hp_grant *grant,
                         bool host)
{
    const enum hp_record_kind kind = grant->run == HP_NONE ? HP_RECORD_IDLE : HP_RECORD_RUN;
    unsigned int flags = host ? HP_RECORD_HOST : 0;

    if ( grant->also != HP_NONE )
        flags |= HP_RECORD_SECOND_PAYER;
    if ( grant->level )
        flags |= HP_RECORD_EXTRA;
    record(ld->open, hp_now_ns(&ld->core), grant->until_ns,
           hp_record_who(grant->level, pcpu, grant->run),
           hp_record_what(kind, grant->pay, HP_RECORD_NONE, flags));
}

COLD s_time_t hyperperiod_epoch(void)
{
    const s_time_t epoch_ns = hyperperiod_script.epoch_ns;

#ifdef CONFIG_ARM
    /* It is given on the system counter, which guests see too and which Xen found running. */
    return epoch_ns ? epoch_ns - (s_time_t)ticks_to_ns(boot_count) : 0;
#else
    return epoch_ns;
#endif
}

COLD unsigned int hyperperiod_pcpu_slot(const struct lock_domain *ld, unsigned int cpu)
{
    unsigned int pcpu = hp_pcpus(&ld->core);

    while ( pcpu-- )
        if ( ld->cpu_of[pcpu] == cpu )
            return pcpu;
    return HP_NONE;
}

/* --- kicks and contexts ---------------------------------------------------------------------- */

/* The context of this vcpu is off the pcpu that it was on: another may have it now. */
static noinline void context_left(struct lock_domain *ld, hp_u32 number, uint64_t now_ns)
{
    hp_saved(&ld->core, number, now_ns);
    record_call(ld, HP_RECORD_SAVED, number, 0, 0);
}

/* Interrupts the pcpus whose grant is no longer right. */
static noinline void kick_pcpus(struct lock_domain *ld)
{
    uint64_t mask;

    ASSERT(ld->phase != PHASE_DORMANT);
    for ( mask = hp_kicks(&ld->core, hp_now_ns(&ld->core)); mask; mask &= mask - 1 )
        cpu_raise_softirq(ld->cpu_of[__builtin_ctzll(mask)], SCHEDULE_SOFTIRQ);
}

/* --- usage ----------------------------------------------------------------------------------- */

/* The grant of this pcpu ends: whose time was it, and who ran? */
static always_inline void account(struct lock_domain *ld, unsigned int pcpu, uint64_t now_ns)
{
    const struct hp_grant *grant = hp_granted(&ld->core, pcpu);
    const uint64_t span_ns = now_ns - ld->picked_ns[pcpu];

    if ( !CHANGES )
        return;
    ld->picked_ns[pcpu] = now_ns;
    if ( grant->pay < HP_VCPUS && !grant->level )
    {
        struct xen_hyperperiod_usage *payer = &ld->slot[grant->pay]->usage.told;

        payer->used_ns += span_ns;
        if ( grant->run == grant->pay )
            return;
        if ( grant->run != HP_NONE )
            payer->donated_ns += span_ns;
    }
    if ( grant->also < HP_VCPUS )
        ld->slot[grant->also]->usage.told.used_ns += span_ns;
    else if ( grant->run != HP_NONE )
        ld->slot[grant->run]->usage.told.extra_ns += span_ns;
}

/* The same where no pick follows. */
static COLD void account_so_far(struct lock_domain *ld, unsigned int pcpu, uint64_t now_ns)
{
    account(ld, pcpu, now_ns);
}

/* --- units in the core ----------------------------------------------------------------------- */

static const struct hp_params no_server = { .flags = HP_BEST_EFFORT };

/* The server of a unit in this phase. */
static const struct hp_params *params_of(const struct lock_domain *ld, const struct vcpu_slot *slot)
{
    return ld->phase == PHASE_BOOTING ? &no_server : &slot->server.params;
}

static noinline void unit_arrives(struct lock_domain *ld, const struct vcpu_slot *slot,
                                  uint64_t now_ns)
{
    hp_arrive(&ld->core, slot->number, now_ns);
    record_call(ld, HP_RECORD_ARRIVE, slot->number, 0, 0);
}

/*
 * Tells the core on which of its pcpus a unit may run. One that may run on all is not bound; nor is
 * one that may run on none of them, as Xen has it.
 */
static COLD void bind_unit(struct lock_domain *ld, const struct vcpu_slot *slot,
                           const struct cpumask *hard)
{
    uint64_t allowed = 0;
    unsigned int pcpu;

    for ( pcpu = 0; pcpu < hp_pcpus(&ld->core); pcpu++ )
        if ( cpumask_test_cpu(ld->cpu_of[pcpu], hard) )
            allowed |= 1ULL << pcpu;
    if ( allowed == ~0ULL >> (64 - hp_pcpus(&ld->core)) )
        allowed = 0;
    if ( allowed == hp_bound_to(&ld->core, slot->number) )
        return;
    hp_bind(&ld->core, slot->number, allowed);
    record_call(ld, HP_RECORD_BIND, slot->number, allowed, 0);
}

/* The slots of pcpus are others now. */
static COLD void bind_all(struct lock_domain *ld)
{
    unsigned int number;

    for ( number = 0; number < HP_VCPUS; number++ )
        if ( ld->slot[number] )
            bind_unit(ld, ld->slot[number], ld->slot[number]->unit->cpu_hard_affinity);
}

/* Counts what a unit is promised of its pcpu, in millionths: nothing while it is in no lock domain.
 * One without a server weighs a little: such units should spread too. */
static COLD void count_share(struct vcpu_slot *slot)
{
    const struct hp_params *params = &slot->server.params;
    const unsigned int before = slot->share;

    slot->share = slot->home != NULL;
    if ( slot->home && params->period_ns )
        slot->share += params->budget_ns * 1000 / max_t(uint64_t, params->period_ns / 1000, 1);
    if ( slot->share != before ) /* else the lock of that pcpu may not be held */
        slot->pool->load[slot->load_cpu] += slot->share - before;
}

static COLD void set_params(struct vcpu_slot *slot, const struct hp_params *params)
{
    slot->server.params = *params;
    count_share(slot);
}

/* The unit is nowhere from now on, or on its way. */
static COLD void leave_home(struct vcpu_slot *slot)
{
    slot->home->slot[slot->number] = NULL;
    slot->home = NULL;
    count_share(slot);
}

static COLD void add_to_core(struct lock_domain *ld, struct vcpu_slot *slot, uint64_t at_ns)
{
    const struct hp_params *params = params_of(ld, slot);
    unsigned int error = hp_add(&ld->core, slot->number, params, at_ns);

    if ( error )
    {
        give_notice(XENLOG_ERR "hyperperiod: best effort from now on: %s: d%uv%u\n", error,
                    slot->unit->domain->domain_id, slot->unit->unit_id);
        set_params(slot, &no_server);
        params = &no_server;
        error = hp_add(&ld->core, slot->number, params, at_ns);
        ASSERT(!error);
    }
    record_server(ld, HP_RECORD_ADD, slot->number, params);
    if ( hp_reports_saved(&ld->core) )
        bind_unit(ld, slot, slot->unit->cpu_hard_affinity);
    /* It may be on a pcpu: only a global policy could give it another meanwhile. */
    if ( hp_reports_saved(&ld->core) && slot->unit->is_running )
    {
        const unsigned int pcpu = hyperperiod_pcpu_slot(ld, sched_unit_master(slot->unit));

        if ( pcpu != HP_NONE )
        {
            hp_hold(&ld->core, slot->number, pcpu);
            record_call(ld, HP_RECORD_HOLD, slot->number, pcpu, 0);
        }
    }
    if ( unit_runnable(slot->unit) )
        unit_arrives(ld, slot, at_ns);
}

static COLD void remove_from_core(struct lock_domain *ld, const struct vcpu_slot *slot,
                                  uint64_t at_ns)
{
    const unsigned int error = hp_remove(&ld->core, slot->number, at_ns);

    ASSERT(!error);
    record_call(ld, HP_RECORD_REMOVE, slot->number, 0, 0);
}

/* --- units on their way from one lock domain to another --------------------------------------- */

static noinline void unit_departs(struct lock_domain *ld, const struct vcpu_slot *slot,
                                  uint64_t now_ns)
{
    if ( !hp_runnable(&ld->core, slot->number) )
        return;
    hp_depart(&ld->core, slot->number, now_ns);
    record_call(ld, HP_RECORD_DEPART, slot->number, 0, 0);
}

/*
 * Xen has all of a unit wait while it looks for its pcpu. Under a global policy it stays where it
 * is.
 */
static inline bool is_to_move(const struct lock_domain *ld, const struct sched_unit *unit)
{
    return CHANGES && unlikely(unit->vcpu_list->pause_flags & VPF_migrating)
           && !is_global(ld->pool) && ld->phase == PHASE_RUNNING;
}

/* Whether the unit would run if it did not wait for its pcpu. */
static COLD bool has_work(const struct sched_unit *unit)
{
    const struct vcpu *v;

    for_each_sched_unit_vcpu ( unit, v )
        if ( !(v->pause_flags & ~VPF_migrating) && !atomic_read(&v->pause_count)
             && !atomic_read(&v->domain->pause_count) )
            return true;
    return false;
}

/* Takes the unit out of its lock domain, with its server and its work. */
static COLD void unit_leaves(struct lock_domain *ld, struct vcpu_slot *slot, uint64_t now_ns)
{
    unsigned int error;

    account_so_far(ld, 0, now_ns);
    if ( !has_work(slot->unit) )
        unit_departs(ld, slot, now_ns);
    error = hp_leave(&ld->core, slot->number, &slot->moving, now_ns);
    ASSERT(!error);
    record_call(ld, HP_RECORD_LEAVE, slot->number, 0, 0);
    slot->moves = true;
    leave_home(slot);
}

static COLD void record_join(struct lock_domain *ld, hp_u32 number, const struct hp_moving *moving)
{
    if ( moving->waits )
        record_server(ld, HP_RECORD_WANTED, number, &moving->wanted);
    record_call(ld, HP_RECORD_REFILL, number, moving->refill_ns, 0);
    record_call(ld, HP_RECORD_LEFT, number, moving->left_ns, moving->runnable);
    record_server(ld, HP_RECORD_JOIN, number, &moving->params);
}

/* Brings in a unit that is on its way. A lock domain that is not as far takes it as a new one. */
static COLD bool unit_joins(struct lock_domain *ld, struct vcpu_slot *slot, uint64_t now_ns)
{
    struct hp_moving *moving = &slot->moving;

    slot->moves = false;
    if ( ld->phase != PHASE_RUNNING || hp_join(&ld->core, slot->number, moving, now_ns) )
        return false;
    record_join(ld, slot->number, moving);
    if ( !unit_runnable(slot->unit) )
        unit_departs(ld, slot, now_ns);
    return true;
}

COLD void hyperperiod_attach(struct lock_domain *ld, struct vcpu_slot *slot)
{
    const bool comes = CHANGES && slot->moves;
    uint64_t now_ns;

    slot->home = ld;
    slot->load_cpu = sched_unit_master(slot->unit);
    count_share(slot);
    ld->slot[slot->number] = slot;
    if ( !comes )
        memset(&slot->usage, 0, sizeof(slot->usage));
    if ( ld->phase == PHASE_DORMANT )
    {
        slot->moves = false;
        cpu_raise_softirq(sched_unit_master(slot->unit), SCHEDULE_SOFTIRQ);
        return;
    }
    now_ns = time_now(ld);
    if ( !comes || !unit_joins(ld, slot, now_ns) )
        add_to_core(ld, slot, now_ns);
    kick_pcpus(ld);
}

COLD void hyperperiod_detach(struct vcpu_slot *slot)
{
    struct lock_domain *ld = slot->home;

    slot->moves = false;
    if ( !ld )
        return;
    if ( ld->phase != PHASE_DORMANT )
    {
        remove_from_core(ld, slot, time_now(ld));
        kick_pcpus(ld);
    }
    leave_home(slot);
}

/* --- changes while guests run, and what they have had: toolstacks, and the command line ------- */

#ifdef CONFIG_HYPERPERIOD_CHANGES

/* Called by the core, with the lock held. The spare has no account. */
noinline void hyperperiod_count(struct hp_core *core, unsigned int kind, unsigned int vcpu)
{
    struct lock_domain *ld = container_of(core, struct lock_domain, core);
    struct xen_hyperperiod_usage *usage;
    bool *spent;
    hp_i64 left_ns;

    if ( vcpu >= HP_VCPUS )
        return;
    usage = &ld->slot[vcpu]->usage.told;
    spent = &ld->slot[vcpu]->usage.spent;
    if ( kind == HP_NOTE_DEPLETE )
    {
        usage->depleted++;
        *spent = true;
        left_ns = hp_remaining_ns(core, vcpu);
        if ( left_ns < 0 )
        {
            usage->overrun_ns -= left_ns;
            usage->overrun_ns_max = max_t(uint64_t, usage->overrun_ns_max, -left_ns);
        }
        return;
    }
    usage->refilled++;
    usage->missed += hp_runnable(core, vcpu) && !*spent;
    *spent = false;
}

COLD void hyperperiod_read_usage(struct lock_domain *ld, unsigned int number,
                                 struct xen_hyperperiod_usage *to)
{
    const struct vcpu_slot *slot = ld->slot[number];
    const struct sched_unit *unit = slot->unit;
    unsigned int pcpu;

    if ( ld->phase != PHASE_DORMANT )
        for ( pcpu = 0; pcpu < hp_pcpus(&ld->core); pcpu++ )
            account_so_far(ld, pcpu, time_now(ld));
    *to = slot->usage.told;
    to->domain = unit->domain->domain_id;
    to->vcpu = unit->unit_id;
    to->pcpu = sched_unit_master(unit);
}

/* From best effort to served, or back, is a new start. */
COLD unsigned int hyperperiod_change_server(struct vcpu_slot *slot,
                                            const struct hp_params *params)
{
    struct lock_domain *ld = slot->home;
    const bool effort = slot->server.params.flags & HP_BEST_EFFORT;
    unsigned int error;
    uint64_t now_ns;

    if ( !ld || ld->phase != PHASE_RUNNING )
    {
        /* One that is on its way begins where it arrives. */
        slot->moves = false;
        set_params(slot, params);
        return HP_OK;
    }
    error = hp_validate(&ld->core, slot->number, params);
    if ( error )
        return error;
    now_ns = time_now(ld);
    if ( effort != (params->flags & HP_BEST_EFFORT) )
    {
        remove_from_core(ld, slot, now_ns);
        set_params(slot, params);
        add_to_core(ld, slot, now_ns);
    }
    else
    {
        error = hp_update(&ld->core, slot->number, params, now_ns);
        if ( !error )
        {
            set_params(slot, params);
            record_server(ld, HP_RECORD_UPDATE, slot->number, params);
        }
    }
    kick_pcpus(ld);
    return error;
}

static COLD void swap_policy(struct lock_domain *ld, const struct hp_policy *policy,
                             uint64_t now_ns)
{
    const unsigned int error = hp_set_policy(&ld->core, policy, now_ns);

    if ( error )
        give_notice(XENLOG_ERR "hyperperiod: swap: %s\n", error, 0, 0);
    else
        record_call(ld, HP_RECORD_SWAP, HP_NONE, policy_word(policy), 0);
}

static COLD void change_server(struct vcpu_slot *slot, const struct hp_params *params)
{
    const unsigned int error = hyperperiod_change_server(slot, params);

    if ( error )
        give_notice(XENLOG_ERR "hyperperiod: change: %s: d%uv%u\n", error,
                    slot->unit->domain->domain_id, slot->unit->unit_id);
}

/* Xen moves units, by calls that take locks: so not while we have one. */
static void cf_check move_units(void *unused);
static DECLARE_SOFTIRQ_TASKLET(mover, move_units, NULL);

/* Has Xen ask anew where the vcpu belongs if that is elsewhere. Its affinity stays what it is. */
static COLD void move_vcpu(struct vcpu *v)
{
    const struct cpumask *hard = v->sched_unit->cpu_hard_affinity;
    const unsigned int cpu = slot_of(v->sched_unit)->server.cpu;

    if ( cpu != ANY_CPU && cpu != v->processor && cpumask_test_cpu(cpu, hard) )
        vcpu_set_hard_affinity(v, hard);
}

static COLD void cf_check move_units(void *unused)
{
    struct domain *d;
    struct vcpu *v;

    rcu_read_lock(&domlist_read_lock);
    for_each_domain ( d )
    {
        const struct scheduler *sched = d->cpupool->sched;

        if ( sched->sched_id == XEN_SCHEDULER_HYPERPERIOD && !is_global(pool_of(sched)) )
            for_each_vcpu ( d, v )
                move_vcpu(v);
    }
    rcu_read_unlock(&domlist_read_lock);
}

/* What an event has for vcpus: other parameters, or another pcpu. */
static COLD void change_vcpus(struct lock_domain *ld, const struct event_option *event)
{
    const struct domain_option *change = &event->change;
    unsigned int number;

    for ( number = 0; number < HP_VCPUS; number++ )
    {
        struct vcpu_slot *slot = ld->slot[number];

        if ( !slot || slot->unit->domain->domain_id != change->domain
             || (change->vcpu != ANY_VCPU && slot->unit->unit_id != change->vcpu) )
            continue;
        if ( event->kind == EVENT_CHANGE )
            change_server(slot, &change->server.params);
        else
        {
            slot->server.cpu = change->server.cpu;
            tasklet_schedule(&mover);
        }
    }
}

COLD void hyperperiod_apply_policy(struct lock_domain *ld)
{
    swap_policy(ld, &ld->pool->config.policy, time_now(ld));
    kick_pcpus(ld);
}

COLD void hyperperiod_apply_spare(struct lock_domain *ld)
{
    const struct hp_config *config = &ld->pool->config;

    if ( hp_set_spare(&ld->core, config->spare_period_ns, config->spare_budget_ns,
                      time_now(ld)) )
        return;
    record_call(ld, HP_RECORD_BUDGET, HP_NONE, config->spare_budget_ns, 0);
    record_call(ld, HP_RECORD_SET_SPARE, HP_NONE, config->spare_period_ns, 0);
    kick_pcpus(ld);
}

/* The swaps and changes that the command line has for this time. */
static COLD void make_changes(struct lock_domain *ld, uint64_t now_ns)
{
    const struct script *script = &hyperperiod_script;

    while ( ld->next_event < script->events
            && script->event[ld->next_event].at_ns <= now_ns )
    {
        const struct event_option *event = &script->event[ld->next_event++];

        switch ( event->kind )
        {
        case EVENT_SWAP:
            swap_policy(ld, &event->policy, now_ns);
            break;
        case EVENT_CHANGE:
        case EVENT_MOVE:
            change_vcpus(ld, event);
            break;
        }
    }
}

#endif

/* --- the phases of a lock domain ------------------------------------------------------------- */

static COLD uint64_t event_time(const struct lock_domain *ld)
{
    const struct script *script = &hyperperiod_script;
    uint64_t at_ns = HP_NEVER;

    if ( ld->next_event < script->events )
        at_ns = script->event[ld->next_event].at_ns;
    if ( script->horizon_ns && !ld->ended )
        at_ns = hp_min(at_ns, script->horizon_ns);
    return at_ns;
}

/* The core begins anew; one that was dormant has this pcpu as its only one. */
static COLD void start_phase(struct lock_domain *ld, enum phase phase, unsigned int cpu,
                             s_time_t base)
{
    struct hp_config config;
    unsigned int number, error;

    spin_lock(&ld->pool->slots_lock);
    config = ld->pool->config;
    spin_unlock(&ld->pool->slots_lock);

    if ( phase == PHASE_BOOTING )
        hyperperiod_default_policy(&config.policy, is_global(ld->pool) ? 2 : 1);
    config.reports_saved = is_global(ld->pool);
    config.pcpus = ld->phase == PHASE_DORMANT ? 1 : hp_pcpus(&ld->core);
    if ( ld->phase == PHASE_DORMANT )
        ld->cpu_of[0] = cpu;
    ld->phase = phase;
    ld->base = base;
    memset(ld->picked_ns, 0, sizeof(ld->picked_ns));
    hyperperiod_apply_ring(ld);
    error = hp_init(&ld->core, &config, 0);
    ASSERT(!error);
    ld->next_event_ns = phase == PHASE_BOOTING ? hyperperiod_epoch() - base : event_time(ld);
    record_start(ld, &config);
    for ( number = 0; number < HP_VCPUS; number++ )
    {
        struct vcpu_slot *slot = ld->slot[number];

        if ( !slot )
            continue;
        memset(&slot->usage, 0, sizeof(slot->usage));
        add_to_core(ld, slot, 0);
    }
}

static COLD void reach_horizon(struct lock_domain *ld)
{
    struct pool *pool = ld->pool;
    bool last;

    record_call(ld, HP_RECORD_END, HP_NONE, 0, 0);
    ld->ended = true;
    ld->open = NULL;
    if ( ld->ring )
        ld->ring->flags |= HP_RING_ENDED;
    spin_lock(&pool->slots_lock);
    pool->ended++;
    last = is_global(pool) || pool->ended == pool->pcpus;
    spin_unlock(&pool->slots_lock);
    if ( last )
        give_notice("hyperperiod: horizon reached\n", HP_OK, 0, 0);
}

/* What the command line has for this time. */
static COLD void handle_events(struct lock_domain *ld, uint64_t now_ns)
{
    const struct script *script = &hyperperiod_script;

#ifdef CONFIG_HYPERPERIOD_CHANGES
    make_changes(ld, now_ns);
#endif
    if ( script->horizon_ns && now_ns >= script->horizon_ns && !ld->ended )
        reach_horizon(ld);
    ld->next_event_ns = event_time(ld);
}

/*
 * The first pcpu is not alone any more: whoever is on it now, or still has its context saved
 * there, is held. Pairs with the barrier before context_saved: that either sees two pcpus, or
 * is done with the unit.
 */
static COLD void hold_running(struct lock_domain *ld)
{
    unsigned int number;

    smp_mb();
    for ( number = 0; number < HP_VCPUS; number++ )
        if ( ld->slot[number] && ld->slot[number]->unit->is_running
             && hp_running(&ld->core, 0) != number )
        {
            hp_hold(&ld->core, number, 0);
            record_call(ld, HP_RECORD_HOLD, number, 0, 0);
        }
}

/*
 * Who was granted a pcpu and is on none never got there: its context needs no saving, so nobody
 * will say that it is saved.
 */
static COLD void release_if_absent(struct lock_domain *ld, hp_u32 number, uint64_t now_ns)
{
    if ( number != HP_NONE && ld->slot[number] && !ld->slot[number]->unit->is_running )
        context_left(ld, number, now_ns);
}

/*
 * Gives up a pcpu slot. Whoever was granted it keeps its context there until that is saved, unless
 * it never got there: then nobody would ever say so. Pairs with the barrier before context_saved:
 * that either sees that the unit is held, or has cleared is_running before it is read here.
 */
static COLD void drop_pcpu_slot(struct lock_domain *ld, unsigned int pcpu, uint64_t now_ns)
{
    const hp_u32 ran = hp_running(&ld->core, pcpu);

    account_so_far(ld, pcpu, now_ns);
    hp_drop_pcpu(&ld->core, pcpu, now_ns);
    record_call(ld, HP_RECORD_DROP_PCPU, HP_NONE, pcpu, 0);
    ld->cpu_of[pcpu] = ld->cpu_of[hp_pcpus(&ld->core)];
    ld->picked_ns[pcpu] = ld->picked_ns[hp_pcpus(&ld->core)];
    bind_all(ld);
    smp_mb();
    release_if_absent(ld, ran, now_ns);
    kick_pcpus(ld);
}

/* Takes or gives up the slot of a pcpu, as the pool has it; returns the slot, or HP_NONE. */
static COLD unsigned int move_pcpu_slot(struct lock_domain *ld, unsigned int cpu,
                                        unsigned int pcpu, bool valid, s_time_t now)
{
    if ( valid && ld->phase == PHASE_DORMANT )
    {
        const bool booting = now < hyperperiod_epoch();

        start_phase(ld, booting ? PHASE_BOOTING : PHASE_RUNNING, cpu,
                    booting ? now : hyperperiod_epoch());
        pcpu = 0;
    }
    else if ( valid )
    {
        if ( HP_PCPUS == 1 || hp_add_pcpu(&ld->core, core_time(ld, now)) )
            return HP_NONE;
        pcpu = hp_pcpus(&ld->core) - 1;
        ld->cpu_of[pcpu] = cpu;
        ld->picked_ns[pcpu] = hp_now_ns(&ld->core);
        record_call(ld, HP_RECORD_ADD_PCPU, HP_NONE, pcpu, 0);
        bind_all(ld);
        if ( pcpu == 1 )
        {
            ld->pool->had_several = true;
            hold_running(ld);
        }
    }
    else if ( pcpu != HP_NONE )
    {
        if ( hp_pcpus(&ld->core) == 1 )
            ld->phase = PHASE_DORMANT;
        else
            drop_pcpu_slot(ld, pcpu, core_time(ld, now));
        pcpu = HP_NONE;
    }
    return pcpu;
}

static inline unsigned int update_pcpu_slot(struct lock_domain *ld, unsigned int cpu, bool valid,
                                     s_time_t now)
{
    unsigned int pcpu = HP_NONE;

    if ( ld->phase != PHASE_DORMANT )
        pcpu = likely(ld->cpu_of[0] == cpu) ? 0 : hyperperiod_pcpu_slot(ld, cpu);
    if ( likely(valid == (pcpu != HP_NONE)) )
        return pcpu;
    return move_pcpu_slot(ld, cpu, pcpu, valid, now);
}

/* --- what other files ask of the core -------------------------------------------------------- */

COLD bool hyperperiod_default_policy(struct hp_policy *policy, unsigned int pcpus)
{
    return hp_first_policy(policy, pcpus);
}

COLD unsigned int hyperperiod_validate(const struct hp_config *config)
{
    return hp_validate_config(config);
}

COLD void hyperperiod_apply_ring(struct lock_domain *ld)
{
    const bool open = ld->phase == PHASE_RUNNING && !ld->ended && !ld->pool->paused;

    if ( ld->open && !open )
        ld->ring->flags |= HP_RING_PAUSED;
    ld->open = open ? ld->ring : NULL;
}

COLD void hyperperiod_pcpu_left(struct lock_domain *ld, unsigned int cpu)
{
    move_pcpu_slot(ld, cpu, hyperperiod_pcpu_slot(ld, cpu), false, NOW());
}

/* --- scheduling ------------------------------------------------------------------------------ */

/*
 * The grant of this pcpu. A unit may have lost its work without telling: it blocks, or is being
 * paused at this moment. Then that is told now, and the core asked again.
 */
static struct sched_unit *pick_runnable(struct lock_domain *ld, unsigned int pcpu,
                                        uint64_t now_ns, struct hp_grant *grant, bool host)
{
    for ( ; ; )
    {
        struct vcpu_slot *slot;

        *grant = *hp_pick(&ld->core, pcpu, now_ns);
        record_grant(ld, pcpu, grant, host);
        if ( grant->run == HP_NONE )
            return NULL;
        slot = ld->slot[grant->run];
        if ( host || unit_runnable_state(slot->unit) )
            return slot->unit;
        unit_departs(ld, slot, now_ns);
    }
}

/* Whom the core has run on this pcpu, if anybody; and how long, as Xen wants to be told. */
static struct sched_unit *decide_grant(struct lock_domain *ld, unsigned int pcpu,
                                       struct sched_unit *curr, uint64_t now_ns, bool host)
{
    const hp_u32 before = hp_running(&ld->core, pcpu);
    struct sched_unit *next;
    struct hp_grant grant;
    uint64_t until_ns;

    account(ld, pcpu, now_ns);
    if ( unlikely(ld->next_event_ns <= now_ns) )
        handle_events(ld, now_ns);
    if ( !is_idle_unit(curr) && !unit_runnable(curr) && slot_of(curr)->home == ld )
    {
        if ( is_to_move(ld, curr) )
            unit_leaves(ld, slot_of(curr), now_ns);
        else
            unit_departs(ld, slot_of(curr), now_ns);
    }
    next = pick_runnable(ld, pcpu, now_ns, &grant, host);
    if ( hp_pcpus(&ld->core) > 1 )
    {
        release_if_absent(ld, before, now_ns);
        kick_pcpus(ld);
    }
    until_ns = min_t(uint64_t, grant.until_ns, ld->next_event_ns);
    curr->next_time = until_ns == HP_NEVER ? -1 : (s_time_t)(until_ns - now_ns);
    return next;
}

/*
 * Xen has a pcpu schedule when it joins a pool, and says only then that it is the pool's: one that
 * was faster would idle for ever. One that has no place looks again as well.
 */
#define LOOK_AGAIN_NS (1 << 20)

void cf_check hyperperiod_schedule(const struct scheduler *ops, struct sched_unit *curr,
                                   s_time_t now, bool tasklet_work_scheduled)
{
    struct sched_resource *res = get_sched_res(smp_processor_id());
    const unsigned int cpu = res->master_cpu;
    const struct cpumask *cpus = ops->cpupool->res_valid;
    struct lock_domain *ld = lock_domain_of(ops, cpu);
    struct sched_unit *next = NULL;
    unsigned int pcpu;

    pcpu = update_pcpu_slot(ld, cpu, cpumask_test_cpu(cpu, cpus), now);
    if ( unlikely(ld->phase == PHASE_BOOTING) && now >= hyperperiod_epoch() )
        start_phase(ld, PHASE_RUNNING, cpu, hyperperiod_epoch());
    curr->next_time = LOOK_AGAIN_NS;
    if ( likely(pcpu != HP_NONE) )
        next = decide_grant(ld, pcpu, curr, core_time(ld, now), tasklet_work_scheduled);
    if ( !next || unlikely(tasklet_work_scheduled) )
        next = res->sched_unit_idle;
    next->migrated = false;
    if ( unlikely(next->res != res) )
    {
        hyperperiod_set_pcpu(next, res);
        next->migrated = true;
    }
    curr->next_task = next;
    ASSERT(ld->phase == PHASE_DORMANT || hp_check(&ld->core, hp_now_ns(&ld->core)) == HP_LAW_HOLDS);
}

/*
 * Xen calls this for a unit that was runnable when it looked, awake or not. A pause counts without
 * our lock, so it may not be any more: then Xen is waiting to put it to sleep, and it departs.
 */
void cf_check hyperperiod_wake(const struct scheduler *ops, struct sched_unit *unit)
{
    struct vcpu_slot *slot = slot_of(unit);
    struct lock_domain *ld = slot->home;

    if ( !ld )
        return;
    if ( ld->phase == PHASE_DORMANT )
    {
        cpu_raise_softirq(sched_unit_master(unit), SCHEDULE_SOFTIRQ);
        return;
    }
    if ( hp_runnable(&ld->core, slot->number) )
        return;
    unit_arrives(ld, slot, core_time(ld, NOW()));
    kick_pcpus(ld);
}

/* A vcpu that blocks of itself does not come here: only one that is paused or moved. */
COLD void cf_check hyperperiod_sleep(const struct scheduler *ops, struct sched_unit *unit)
{
    struct vcpu_slot *slot = slot_of(unit);
    struct lock_domain *ld = slot->home;
    const bool runs = curr_on_cpu(sched_unit_master(unit)) == unit;

    if ( ld && ld->phase != PHASE_DORMANT )
    {
        if ( !is_to_move(ld, unit) )
            unit_departs(ld, slot, time_now(ld));
        /* One that runs leaves when its pcpu has let go of it: until then the time is its own. */
        else if ( !runs )
            unit_leaves(ld, slot, time_now(ld));
        kick_pcpus(ld);
    }
    if ( runs )
        cpu_raise_softirq(sched_unit_master(unit), SCHEDULE_SOFTIRQ);
}

/*
 * Under a global policy the core has to know. Under a partitioned one Xen moves the unit to a pcpu
 * that it may run on. Xen calls this with the schedule lock held, or before the unit is inserted.
 */
COLD void cf_check hyperperiod_adjust_affinity(const struct scheduler *ops,
                                               struct sched_unit *unit,
                                               const struct cpumask *hard,
                                               const struct cpumask *soft)
{
    const struct vcpu_slot *slot = slot_of(unit);
    struct lock_domain *ld = slot->home;

    if ( !hard || !ld || ld->phase == PHASE_DORMANT || !hp_reports_saved(&ld->core) )
        return;
    bind_unit(ld, slot, hard);
    kick_pcpus(ld);
}

/*
 * Under a global policy another pcpu may wait for this unit, once the pool has had several. Whether
 * it has is looked at without the lock: what holds the unit was written on this very pcpu, or
 * behind a barrier by who added or gave up a pcpu (hold_running, drop_pcpu_slot).
 */
void cf_check hyperperiod_context_saved(const struct scheduler *ops, struct sched_unit *unit)
{
    struct vcpu_slot *slot = slot_of(unit);
    struct lock_domain *ld;
    spinlock_t *lock;

    if ( HP_PCPUS == 1 || !pool_of(ops)->had_several || is_idle_unit(unit) )
        return;
    lock = hyperperiod_lock_unit(unit);
    ld = slot->home;
    if ( ld && ld->phase != PHASE_DORMANT && hp_held(&ld->core, slot->number) )
    {
        context_left(ld, slot->number, core_time(ld, NOW()));
        kick_pcpus(ld);
    }
    spin_unlock_irq(lock);
}
