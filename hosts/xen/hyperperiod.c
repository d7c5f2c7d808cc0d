/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hyperperiod's core as a Xen scheduler.
 *
 * The core (core/hyperperiod.h) says who runs, who pays and until when. This file tells it the
 * time and what happens to vcpus, and does what it says. It decides nothing.
 *
 * Words. A *unit* is Xen's; with core scheduling it is several vcpus that run together, and the
 * core sees it as one. A *lock domain* is one core and what belongs to it: under a partitioned
 * policy each pcpu has one, under a global policy the pool has one for all its pcpus. A *place*
 * is the number by which the core knows a unit: units of a pool get places in order of
 * creation, and keep them wherever they go inside the pool. A *seat* is the number by which the
 * core knows a pcpu.
 *
 * Time. The core's time counts from an instant of Xen's time, its base. With an epoch on the
 * command line a lock domain has two lives: until the epoch all units are best effort and take
 * turns, so that guests get ready; at the epoch the core begins anew at time 0, with the
 * servers that the command line names.
 *
 * A lock domain is *dormant* until a pcpu of the pool first schedules, and again when the last
 * one has left. Seats follow the pool's valid pcpus: whoever schedules looks whether it is one.
 *
 * Locking. The schedule lock of a pcpu is its own under a partitioned policy, the pool's under a
 * global one; it guards the lock domain. private->places_lock guards the places and is taken
 * alone or inside a schedule lock, never around one.
 */
#include <xen/cpumask.h>
#include <xen/errno.h>
#include <xen/event.h>
#include <xen/guest_access.h>
#include <xen/init.h>
#include <xen/mm.h>
#include <xen/rcupdate.h>
#include <xen/sched.h>
#include <xen/softirq.h>
#include <xen/time.h>
#include <xen/xmalloc.h>

#include <public/hyperperiod.h>

#include "private.h"
#include "options.h"
#include "recorder.h"

#ifdef CONFIG_ARM
#include <asm/time.h>
#endif

/* Off the scheduling path: made small rather than fast. */
#define COLD __attribute__((__cold__, __noinline__))

/* The scheduler of one pool. */
struct private {
    spinlock_t lock; /* the schedule lock of all pcpus under a global policy */
    spinlock_t places_lock;
    uint64_t places; /* taken, as a mask */
    struct hp_config config; /* what lock domains start with; pcpus is set when they do */
    bool global;
    unsigned int ended; /* lock domains that have reached the horizon */
    unsigned int pcpus; /* that have not left entirely, whatever the pool says */
    struct lock_domain *all; /* under a global policy */
    struct place *at[HP_VCPUS];
    struct rcu_head rcu;
};

enum life {
    DORMANT,
    BOOTING,
    RUNNING,
};

struct lock_domain {
    struct private *private;
    enum life life;
    s_time_t base; /* Xen's time at the core's time 0 */
    uint64_t next_ns; /* when the next of the events below is due */
    unsigned int next_event; /* of the options */
    bool ended;
    struct hp_ring *ring;
    struct hp_ring *open; /* the ring, from the epoch to the horizon */
    unsigned int ring_order;
    unsigned int cpu_of[HP_PCPUS]; /* by seat */
    struct place *at[HP_VCPUS]; /* who is here */
    struct hp_core core;
};

/* A unit, as this scheduler knows it. Idle units have one without a number. */
struct place {
    struct sched_unit *unit;
    unsigned int number; /* or HP_NONE */
    struct server_option server;
    struct lock_domain *home; /* while it is inserted */
};

/* What later vcpus of a domain start with, if a toolstack has said so. */
struct domain_default {
    bool given;
    struct server_option server;
};

static struct private *private_of(const struct scheduler *ops)
{
    return ops->sched_data;
}

static struct place *place_of(const struct sched_unit *unit)
{
    return unit->priv;
}

/* The lock domain of a pcpu of this pool. */
static struct lock_domain *lock_domain_of(const struct scheduler *ops, unsigned int cpu)
{
    struct private *private = private_of(ops);

    return private->global ? private->all : get_sched_res(cpu)->sched_priv;
}

/* --- time and records ------------------------------------------------------------------------ */

/* What the core is told. Pcpus may differ by a little; the core's time does not go back. */
static uint64_t core_time(const struct lock_domain *ld, s_time_t now)
{
    const uint64_t told = now > ld->base ? now - ld->base : 0;

    return max_t(uint64_t, told, ld->core.now_ns);
}

static inline void note(struct lock_domain *ld, enum hp_record_kind kind, hp_u32 place,
                        uint64_t value, uint32_t job)
{
    record(ld->open, ld->core.now_ns, value, name_word(job, 0, place),
           kind_word(kind, HP_NONE, 0));
}

static COLD void note_server(struct lock_domain *ld, enum hp_record_kind kind, hp_u32 place,
                             const struct hp_params *params)
{
    const bool effort = params->flags & HP_BEST_EFFORT;

    note(ld, HP_RECORD_BUDGET, place, params->budget_ns, 0);
    record(ld->open, ld->core.now_ns, effort ? params->weight : params->period_ns,
           name_word(params->priority, 0, place),
           kind_word(kind, HP_NONE, params->flags));
}

static uint32_t policy_word(const struct hp_policy *policy)
{
    return policy->budget | policy->order << 8 | policy->slack << 16;
}

static COLD void note_start(struct lock_domain *ld, const struct hp_config *config)
{
    note(ld, HP_RECORD_QUANTUM, HP_NONE, config->quantum_ns, 0);
    note(ld, HP_RECORD_BUDGET, HP_NONE, config->spare_budget_ns, 0);
    note(ld, HP_RECORD_SET_SPARE, HP_NONE, config->spare_period_ns, 0);
    note(ld, HP_RECORD_START, HP_NONE,
         policy_word(&config->policy) | (uint64_t)config->holds << 24, config->pcpus);
}

static void note_grant(struct lock_domain *ld, unsigned int seat, const struct hp_grant *grant,
                       bool host)
{
    const enum hp_record_kind kind = grant->run == HP_NONE ? HP_RECORD_IDLE : HP_RECORD_RUN;
    unsigned int flags = host ? HP_RECORD_HOST : 0;

    if ( grant->also != HP_NONE )
        flags |= HP_RECORD_ALSO;
    if ( grant->level )
        flags |= HP_RECORD_EXTRA;
    record(ld->open, ld->core.now_ns, grant->until_ns, name_word(grant->level, seat, grant->run),
           kind_word(kind, grant->pay, flags));
}

/* The epoch in Xen's time. */
static s_time_t epoch(void)
{
    const s_time_t epoch_ns = hyperperiod_options.epoch_ns;

#ifdef CONFIG_ARM
    /* It is given on the system counter, which guests see too and which Xen found running. */
    return epoch_ns ? epoch_ns - (s_time_t)ticks_to_ns(boot_count) : 0;
#else
    return epoch_ns;
#endif
}

/* --- seats and kicks ------------------------------------------------------------------------- */

static unsigned int seat_of(const struct lock_domain *ld, unsigned int cpu)
{
    unsigned int seat;

    if ( likely(ld->cpu_of[0] == cpu) )
        return 0;
    for ( seat = 0; seat < ld->core.pcpus; seat++ )
        if ( ld->cpu_of[seat] == cpu )
            return seat;
    return HP_NONE;
}

/* The context of this vcpu is off the pcpu that it was on: another may have it now. */
static noinline void release(struct lock_domain *ld, hp_u32 number, uint64_t now_ns)
{
    hp_saved(&ld->core, number, now_ns);
    note(ld, HP_RECORD_SAVED, number, 0, 0);
}

/* Interrupts the pcpus whose grant is no longer right. */
static void kick(struct lock_domain *ld)
{
    uint64_t mask;

    if ( ld->life == DORMANT )
        return;
    mask = hp_kicks(&ld->core, ld->core.now_ns);
    while ( mask )
    {
        cpu_raise_softirq(ld->cpu_of[__builtin_ctzll(mask)], SCHEDULE_SOFTIRQ);
        mask &= mask - 1;
    }
}

/* --- units in the core ----------------------------------------------------------------------- */

/* The server of a place in this life. */
static const struct hp_params *params_of(const struct lock_domain *ld, const struct place *place)
{
    static const struct hp_params effort = { .flags = HP_BEST_EFFORT };

    return ld->life == BOOTING ? &effort : &place->server.params;
}

static noinline void arrive(struct lock_domain *ld, const struct place *place, uint64_t now_ns)
{
    hp_arrive(&ld->core, place->number, now_ns);
    note(ld, HP_RECORD_ARRIVE, place->number, 0, 0);
}

static COLD void add_to_core(struct lock_domain *ld, struct place *place, uint64_t at_ns)
{
    const struct hp_params *params = params_of(ld, place);
    unsigned int error = hp_add(&ld->core, place->number, params, at_ns);

    if ( error )
    {
        printk(XENLOG_ERR "hyperperiod: %pdv%u: %s; it is best effort now\n",
               place->unit->domain, place->unit->unit_id, hyperperiod_error(error));
        place->server.params = (struct hp_params){ .flags = HP_BEST_EFFORT };
        params = &place->server.params;
        error = hp_add(&ld->core, place->number, params, at_ns);
        ASSERT(!error);
    }
    note_server(ld, HP_RECORD_ADD, place->number, params);
    /* It may be on a pcpu: only a global policy could give it another meanwhile. */
    if ( ld->core.holds && place->unit->is_running )
    {
        const unsigned int seat = seat_of(ld, sched_unit_master(place->unit));

        if ( seat != HP_NONE )
        {
            hp_hold(&ld->core, place->number, seat);
            note(ld, HP_RECORD_HOLD, place->number, seat, 0);
        }
    }
    if ( unit_runnable(place->unit) )
        arrive(ld, place, at_ns);
}

static COLD void remove_from_core(struct lock_domain *ld, const struct place *place, uint64_t at_ns)
{
    const unsigned int error = hp_remove(&ld->core, place->number, at_ns);

    ASSERT(!error);
    note(ld, HP_RECORD_REMOVE, place->number, 0, 0);
}

/* The unit is this lock domain's to schedule. */
static COLD void attach(struct lock_domain *ld, struct place *place)
{
    place->home = ld;
    ld->at[place->number] = place;
    if ( ld->life == DORMANT )
    {
        cpu_raise_softirq(sched_unit_master(place->unit), SCHEDULE_SOFTIRQ);
        return;
    }
    add_to_core(ld, place, core_time(ld, NOW()));
    kick(ld);
}

static COLD void detach(struct place *place)
{
    struct lock_domain *ld = place->home;

    place->home = NULL;
    ld->at[place->number] = NULL;
    if ( ld->life == DORMANT )
        return;
    remove_from_core(ld, place, core_time(ld, NOW()));
    kick(ld);
}

/* Gives a place another server. From best effort to served, or back, is a new start. */
static COLD unsigned int install(struct place *place, const struct hp_params *params)
{
    struct lock_domain *ld = place->home;
    const bool effort = place->server.params.flags & HP_BEST_EFFORT;
    unsigned int error;
    uint64_t now_ns;

    if ( !ld || ld->life != RUNNING )
    {
        place->server.params = *params;
        return HP_OK;
    }
    error = hp_validate(&ld->core, place->number, params);
    if ( error )
        return error;
    now_ns = core_time(ld, NOW());
    if ( effort != (params->flags & HP_BEST_EFFORT) )
    {
        remove_from_core(ld, place, now_ns);
        place->server.params = *params;
        add_to_core(ld, place, now_ns);
    }
    else
    {
        error = hp_update(&ld->core, place->number, params, now_ns);
        if ( !error )
        {
            place->server.params = *params;
            note_server(ld, HP_RECORD_UPDATE, place->number, params);
        }
    }
    kick(ld);
    return error;
}

/* --- the lives of a lock domain -------------------------------------------------------------- */

static uint64_t event_time(const struct lock_domain *ld)
{
    const struct options *options = &hyperperiod_options;
    uint64_t at_ns = HP_NEVER;

    if ( ld->next_event < options->events )
        at_ns = options->event[ld->next_event].at_ns;
    if ( options->horizon_ns && !ld->ended )
        at_ns = hp_least(at_ns, options->horizon_ns);
    return at_ns;
}

/* Begins a life of the core, with this pcpu as its first seat. */
static COLD void begin(struct lock_domain *ld, enum life life, unsigned int cpu,
                       s_time_t base)
{
    struct private *private = ld->private;
    struct hp_config config = private->config;
    unsigned int number, error;

    if ( life == BOOTING )
        config.policy = (struct hp_policy){ HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_NONE };
    config.holds = private->global;
    config.pcpus = ld->life == DORMANT ? 1 : ld->core.pcpus;
    if ( ld->life == DORMANT )
        ld->cpu_of[0] = cpu;
    ld->life = life;
    ld->open = life == RUNNING && !ld->ended ? ld->ring : NULL;
    ld->base = base;
    error = hp_init(&ld->core, &config, 0);
    ASSERT(!error);
    ld->next_ns = life == BOOTING ? epoch() - base : event_time(ld);
    note_start(ld, &config);
    for ( number = 0; number < HP_VCPUS; number++ )
        if ( ld->at[number] )
            add_to_core(ld, ld->at[number], 0);
}

static COLD void end(struct lock_domain *ld, const struct cpumask *cpus)
{
    struct private *private = ld->private;
    unsigned int all = private->global ? 1 : cpumask_weight(cpus);
    bool last;

    note(ld, HP_RECORD_END, HP_NONE, 0, 0);
    ld->ended = true;
    ld->open = NULL;
    if ( ld->ring )
        ld->ring->flags |= HP_RING_ENDED;
    spin_lock(&private->places_lock);
    last = ++private->ended == all;
    spin_unlock(&private->places_lock);
    if ( last )
        printk("hyperperiod: horizon reached\n");
}

static COLD void swap_policy(struct lock_domain *ld, const struct hp_policy *policy,
                             uint64_t now_ns)
{
    const unsigned int error = hp_set_policy(&ld->core, policy, now_ns);

    if ( error )
        printk(XENLOG_ERR "hyperperiod: swap: %s\n", hyperperiod_error(error));
    else
        note(ld, HP_RECORD_SWAP, HP_NONE, policy_word(policy), 0);
}

static COLD void change_servers(struct lock_domain *ld, const struct domain_option *change)
{
    unsigned int number;

    for ( number = 0; number < HP_VCPUS; number++ )
    {
        struct place *place = ld->at[number];
        unsigned int error;

        if ( !place || place->unit->domain->domain_id != change->domain
             || (change->vcpu != ANY_VCPU && place->unit->unit_id != change->vcpu) )
            continue;
        error = install(place, &change->server.params);
        if ( error )
            printk(XENLOG_ERR "hyperperiod: change: %s\n", hyperperiod_error(error));
    }
}

/* What the command line has for this time. */
static COLD void handle_events(struct lock_domain *ld, const struct cpumask *cpus, uint64_t now_ns)
{
    const struct options *options = &hyperperiod_options;

    while ( ld->next_event < options->events
            && options->event[ld->next_event].at_ns <= now_ns )
    {
        const struct event_option *event = &options->event[ld->next_event++];

        switch ( event->kind )
        {
        case EVENT_SWAP:
            swap_policy(ld, &event->policy, now_ns);
            break;
        case EVENT_CHANGE:
            change_servers(ld, &event->change);
            break;
        }
    }
    if ( options->horizon_ns && now_ns >= options->horizon_ns && !ld->ended )
        end(ld, cpus);
    ld->next_ns = event_time(ld);
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
        if ( ld->at[number] && ld->at[number]->unit->is_running
             && ld->core.seat[0].grant.run != number )
        {
            hp_hold(&ld->core, number, 0);
            note(ld, HP_RECORD_HOLD, number, 0, 0);
        }
}

/*
 * Who was granted a seat and is on no pcpu never got there: its context needs no saving, so nobody
 * will say that it is saved.
 */
static COLD void release_absent(struct lock_domain *ld, hp_u32 number, uint64_t now_ns)
{
    if ( number != HP_NONE && ld->at[number] && !ld->at[number]->unit->is_running )
        release(ld, number, now_ns);
}

/*
 * Gives up a seat. Whoever was granted it keeps its context there until that is saved, unless it
 * never got there: then nobody would ever say so. Pairs with the barrier before context_saved: that
 * either sees that the unit is held, or has cleared is_running before it is read here.
 */
static COLD void give_up_seat(struct lock_domain *ld, unsigned int seat, uint64_t now_ns)
{
    const hp_u32 ran = ld->core.seat[seat].grant.run;

    hp_drop_pcpu(&ld->core, seat, now_ns);
    note(ld, HP_RECORD_DROP_PCPU, HP_NONE, seat, 0);
    ld->cpu_of[seat] = ld->cpu_of[ld->core.pcpus];
    smp_mb();
    release_absent(ld, ran, now_ns);
    kick(ld);
}

/* Takes or gives up the seat of a pcpu, as the pool has it; returns the seat, or HP_NONE. */
static COLD unsigned int move_seat(struct lock_domain *ld, unsigned int cpu, unsigned int seat,
                                   bool valid, s_time_t now)
{
    if ( valid && ld->life == DORMANT )
    {
        const bool booting = now < epoch();

        begin(ld, booting ? BOOTING : RUNNING, cpu, booting ? now : epoch());
        seat = 0;
    }
    else if ( valid )
    {
        if ( hp_add_pcpu(&ld->core, core_time(ld, now)) )
            return HP_NONE;
        seat = ld->core.pcpus - 1;
        ld->cpu_of[seat] = cpu;
        note(ld, HP_RECORD_ADD_PCPU, HP_NONE, seat, 0);
        if ( seat == 1 )
            hold_running(ld);
    }
    else if ( seat != HP_NONE )
    {
        if ( ld->core.pcpus == 1 )
            ld->life = DORMANT;
        else
            give_up_seat(ld, seat, core_time(ld, now));
        seat = HP_NONE;
    }
    return seat;
}

static unsigned int take_seat(struct lock_domain *ld, unsigned int cpu, bool valid,
                              s_time_t now)
{
    const unsigned int seat = ld->life == DORMANT ? HP_NONE : seat_of(ld, cpu);

    if ( likely(valid == (seat != HP_NONE)) )
        return seat;
    return move_seat(ld, cpu, seat, valid, now);
}

/* --- scheduling ------------------------------------------------------------------------------ */

static void depart(struct lock_domain *ld, const struct place *place, uint64_t now_ns)
{
    if ( !ld->core.server[place->number].working )
        return;
    hp_depart(&ld->core, place->number, now_ns);
    note(ld, HP_RECORD_DEPART, place->number, 0, 0);
}

/*
 * The grant of this seat. A unit may have lost its work without telling: it blocks, or is being
 * paused at this moment. Then that is told now, and the core asked again.
 */
static struct sched_unit *pick(struct lock_domain *ld, unsigned int seat, uint64_t now_ns,
                               struct hp_grant *grant, bool host)
{
    for ( ; ; )
    {
        struct place *place;

        hp_pick(&ld->core, seat, now_ns, grant);
        note_grant(ld, seat, grant, host);
        if ( grant->run == HP_NONE )
            return NULL;
        place = ld->at[grant->run];
        if ( host || unit_runnable_state(place->unit) )
            return place->unit;
        depart(ld, place, now_ns);
    }
}

static struct sched_unit *decide(struct lock_domain *ld, unsigned int seat,
                                 struct sched_unit *curr, s_time_t now, bool host,
                                 const struct cpumask *cpus, s_time_t *next_time)
{
    const uint64_t told_ns = core_time(ld, now);
    const hp_u32 before = ld->core.seat[seat].grant.run;
    struct sched_unit *next;
    struct hp_grant grant;

    if ( unlikely(ld->next_ns <= told_ns) )
        handle_events(ld, cpus, told_ns);
    if ( !is_idle_unit(curr) && !unit_runnable(curr) && place_of(curr)->home == ld )
        depart(ld, place_of(curr), told_ns);
    next = pick(ld, seat, told_ns, &grant, host);
    if ( ld->core.pcpus > 1 )
    {
        release_absent(ld, before, told_ns);
        kick(ld);
    }
    *next_time = min_t(uint64_t, grant.until_ns, ld->next_ns) - told_ns;
    if ( grant.until_ns == HP_NEVER && ld->next_ns == HP_NEVER )
        *next_time = -1;
    return next;
}

static void cf_check hyp_do_schedule(const struct scheduler *ops, struct sched_unit *curr,
                                     s_time_t now, bool tasklet_work_scheduled)
{
    const unsigned int cpu = sched_get_resource_cpu(smp_processor_id());
    const struct cpumask *cpus = ops->cpupool->res_valid;
    struct lock_domain *ld = lock_domain_of(ops, cpu);
    struct sched_unit *next = NULL;
    s_time_t next_time = -1;
    unsigned int seat;

    seat = take_seat(ld, cpu, cpumask_test_cpu(cpu, cpus), now);
    if ( unlikely(ld->life == BOOTING) && now >= epoch() )
        begin(ld, RUNNING, cpu, epoch());
    if ( likely(seat != HP_NONE) )
        next = decide(ld, seat, curr, now, tasklet_work_scheduled, cpus, &next_time);
    if ( !next || tasklet_work_scheduled )
        next = sched_idle_unit(cpu);
    next->migrated = false;
    if ( !is_idle_unit(next) && sched_unit_master(next) != cpu )
    {
        sched_set_res(next, get_sched_res(cpu));
        next->migrated = true;
    }
    curr->next_time = next_time;
    curr->next_task = next;
    ASSERT(ld->life == DORMANT || hp_check(&ld->core, ld->core.now_ns) == HP_LAW_HOLDS);
}

static void cf_check hyp_wake(const struct scheduler *ops, struct sched_unit *unit)
{
    struct place *place = place_of(unit);
    struct lock_domain *ld = place->home;

    if ( !ld || !unit_runnable(unit) )
        return;
    if ( ld->life == DORMANT )
    {
        cpu_raise_softirq(sched_unit_master(unit), SCHEDULE_SOFTIRQ);
        return;
    }
    if ( ld->core.server[place->number].working )
        return;
    arrive(ld, place, core_time(ld, NOW()));
    kick(ld);
}

static void cf_check hyp_sleep(const struct scheduler *ops, struct sched_unit *unit)
{
    struct place *place = place_of(unit);
    struct lock_domain *ld = place->home;

    if ( ld && ld->life != DORMANT )
    {
        depart(ld, place, core_time(ld, NOW()));
        kick(ld);
    }
    if ( curr_on_cpu(sched_unit_master(unit)) == unit )
        cpu_raise_softirq(sched_unit_master(unit), SCHEDULE_SOFTIRQ);
}

/*
 * Whether others may wait for this unit: where there are several pcpus, or where one that has left
 * meanwhile still holds it. Without the lock: what holds it was written on this very pcpu, or
 * before a barrier by who gave up the seat for it (give_up_seat).
 */
static bool may_be_waited_for(const struct lock_domain *all, const struct place *place)
{
    return all->core.pcpus > 1
           || (place->number < HP_VCPUS && all->core.server[place->number].held_on != HP_NONE);
}

/* Under a global policy another pcpu may wait for this unit. */
static void cf_check hyp_context_saved(const struct scheduler *ops, struct sched_unit *unit)
{
    struct place *place = place_of(unit);
    struct lock_domain *ld;
    spinlock_t *lock;

    if ( !private_of(ops)->global || is_idle_unit(unit)
         || !may_be_waited_for(private_of(ops)->all, place) )
        return;
    lock = unit_schedule_lock_irq(unit);
    ld = place->home;
    if ( ld && ld->life != DORMANT && ld->core.server[place->number].held_on != HP_NONE )
    {
        release(ld, place->number, core_time(ld, NOW()));
        kick(ld);
    }
    unit_schedule_unlock_irq(lock, unit);
}

/* --- where a unit belongs -------------------------------------------------------------------- */

/* The share of this pcpu that is promised to units there other than this one, in millionths. */
static COLD unsigned int load_of(struct private *private, unsigned int cpu,
                            const struct sched_unit *unit)
{
    unsigned int number, load = 0;

    for ( number = 0; number < HP_VCPUS; number++ )
    {
        const struct place *place = private->at[number];

        /* One without a server weighs a little: such units should spread too. */
        if ( place && place->unit != unit && place->home
             && sched_unit_master(place->unit) == cpu )
            load += 1 + (place->server.params.period_ns
                         ? place->server.params.budget_ns * 1000 /
                           max_t(uint64_t, place->server.params.period_ns / 1000, 1) : 0);
    }
    return load;
}

static COLD unsigned int least_loaded(struct private *private, const struct cpumask *cpus,
                                 const struct sched_unit *unit)
{
    unsigned int cpu, best = cpumask_first(cpus), least = ~0U;
    unsigned long flags;

    spin_lock_irqsave(&private->places_lock, flags);
    for_each_cpu ( cpu, cpus )
    {
        const unsigned int load = load_of(private, cpu, unit);

        if ( load < least )
        {
            least = load;
            best = cpu;
        }
    }
    spin_unlock_irqrestore(&private->places_lock, flags);
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
    const struct place *place = place_of(unit);
    cpumask_t *cpus = cpumask_scratch_cpu(locked_cpu);

    cpumask_and(cpus, cpupool_domain_master_cpumask(unit->domain), unit->cpu_hard_affinity);
    if ( cpumask_empty(cpus) )
        return sched_unit_master(unit);
    if ( place->server.cpu != ANY_CPU && cpumask_test_cpu(place->server.cpu, cpus) )
        return place->server.cpu;
    if ( !anew && cpumask_test_cpu(sched_unit_master(unit), cpus) )
        return sched_unit_master(unit);
    return least_loaded(private_of(ops), cpus, unit);
}

static COLD struct sched_resource *cf_check hyp_pick_resource(const struct scheduler *ops,
                                                         const struct sched_unit *unit)
{
    return get_sched_res(choose_cpu(ops, unit, sched_unit_master(unit), false));
}

/* Both locks are held, and the unit does not run. */
static COLD void cf_check hyp_migrate(const struct scheduler *ops, struct sched_unit *unit,
                                 unsigned int new_cpu)
{
    struct place *place = place_of(unit);
    struct lock_domain *to = lock_domain_of(ops, new_cpu);

    if ( !place->home || place->home == to )
    {
        sched_set_res(unit, get_sched_res(new_cpu));
        return;
    }
    detach(place);
    sched_set_res(unit, get_sched_res(new_cpu));
    attach(to, place);
}

static COLD void cf_check hyp_insert_unit(const struct scheduler *ops, struct sched_unit *unit)
{
    const unsigned int cpu = smp_processor_id();
    struct place *place = place_of(unit);
    spinlock_t *lock;

    if ( is_idle_unit(unit) )
        return;
    /* This is safe: nobody schedules the unit yet. */
    lock = pcpu_schedule_lock_irq(cpu);
    sched_set_res(unit, get_sched_res(choose_cpu(ops, unit, cpu, true)));
    pcpu_schedule_unlock_irq(lock, cpu);

    lock = unit_schedule_lock_irq(unit);
    attach(lock_domain_of(ops, sched_unit_master(unit)), place);
    unit_schedule_unlock_irq(lock, unit);
}

static COLD void cf_check hyp_remove_unit(const struct scheduler *ops, struct sched_unit *unit)
{
    spinlock_t *lock = unit_schedule_lock_irq(unit);

    if ( place_of(unit)->home )
        detach(place_of(unit));
    unit_schedule_unlock_irq(lock, unit);
}

/* --- memory ---------------------------------------------------------------------------------- */

static COLD int take_place(struct private *private, struct place *place)
{
    unsigned long flags;
    int rc = -ENOSPC;

    spin_lock_irqsave(&private->places_lock, flags);
    if ( ~private->places )
    {
        place->number = __builtin_ctzll(~private->places);
        private->places |= 1ULL << place->number;
        private->at[place->number] = place;
        rc = 0;
    }
    spin_unlock_irqrestore(&private->places_lock, flags);
    return rc;
}

static COLD void leave_place(struct private *private, const struct place *place)
{
    unsigned long flags;

    spin_lock_irqsave(&private->places_lock, flags);
    private->places &= ~(1ULL << place->number);
    private->at[place->number] = NULL;
    spin_unlock_irqrestore(&private->places_lock, flags);
}

static COLD void *cf_check hyp_alloc_udata(const struct scheduler *ops, struct sched_unit *unit,
                                      void *domain_data)
{
    const struct domain_default *fallback = domain_data;
    struct place *place = xzalloc(struct place);

    if ( !place )
        return NULL;
    place->unit = unit;
    place->number = HP_NONE;
    if ( is_idle_unit(unit) )
        return place;
    place->server = fallback && fallback->given
                    ? fallback->server
                    : *server_option_of(unit->domain->domain_id, unit->unit_id);
    if ( take_place(private_of(ops), place) )
    {
        printk(XENLOG_WARNING "hyperperiod: %pdv%u: all %u places of the pool are taken\n",
               unit->domain, unit->unit_id, HP_VCPUS);
        XFREE(place);
    }
    return place;
}

static COLD void cf_check hyp_free_udata(const struct scheduler *ops, void *priv)
{
    struct place *place = priv;

    if ( place && place->number != HP_NONE )
        leave_place(private_of(ops), place);
    xfree(place);
}

static COLD void *cf_check hyp_alloc_domdata(const struct scheduler *ops, struct domain *domain)
{
    struct domain_default *fallback = xzalloc(struct domain_default);

    return fallback ?: ERR_PTR(-ENOMEM);
}

static COLD void cf_check hyp_free_domdata(const struct scheduler *ops, void *data)
{
    xfree(data);
}

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
    ld->ring->epoch_ticks = epoch();
    ld->ring->source = source;
    printk("hyperperiod: ring of pcpu %u at %#"PRIpaddr", %lu bytes\n", source,
           virt_to_maddr(ld->ring), PAGE_SIZE << order);
}

static COLD struct lock_domain *make_lock_domain(struct private *private, unsigned int source)
{
    struct lock_domain *ld = xzalloc(struct lock_domain);

    if ( !ld )
        return NULL;
    ld->private = private;
    make_ring(ld, source);
    return ld;
}

static COLD void free_lock_domain(struct lock_domain *ld)
{
    if ( ld && ld->ring )
        free_xenheap_pages(ld->ring, ld->ring_order);
    xfree(ld);
}

static COLD void *cf_check hyp_alloc_pdata(const struct scheduler *ops, int cpu)
{
    struct private *private = private_of(ops);
    struct lock_domain *ld;

    if ( private->global && private->all )
    {
        private->pcpus++;
        return NULL;
    }
    ld = make_lock_domain(private, cpu);
    if ( !ld )
        return ERR_PTR(-ENOMEM);
    private->pcpus++;
    if ( !private->global )
        return ld;
    /* The pool's, made with its first pcpu. */
    private->all = ld;
    return NULL;
}

static COLD void cf_check hyp_free_pdata(const struct scheduler *ops, void *pdata, int cpu)
{
    private_of(ops)->pcpus--;
    free_lock_domain(pdata);
}

/* The pcpu has left: if it has not noticed itself, its seat is given up for it. */
static COLD void cf_check hyp_deinit_pdata(const struct scheduler *ops, void *pdata, int cpu)
{
    struct private *private = private_of(ops);
    struct lock_domain *ld = private->global ? private->all : pdata;
    unsigned long flags;

    if ( !private->global )
    {
        ld->life = DORMANT;
        return;
    }
    spin_lock_irqsave(&private->lock, flags);
    take_seat(ld, cpu, false, NOW());
    spin_unlock_irqrestore(&private->lock, flags);
}

static COLD spinlock_t *cf_check hyp_switch_sched(struct scheduler *new_ops, unsigned int cpu,
                                             void *pdata, void *vdata)
{
    struct private *private = private_of(new_ops);

    sched_idle_unit(cpu)->priv = vdata;
    return private->global ? &private->lock : &get_sched_res(cpu)->_lock;
}

/* Whether a pool can start like this; if not, the part that is wrong goes back to its default. */
static COLD void check_config(struct hp_config *config, bool *global)
{
    const struct hp_policy plain = { HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_NONE };
    unsigned int error;

    config->pcpus = *global ? 2 : 1;
    while ( (error = hp_validate_config(config)) != HP_OK )
    {
        printk(XENLOG_ERR "hyperperiod: %s\n", hyperperiod_error(error));
        if ( error == HP_ERROR_SPARE && config->spare_period_ns )
            config->spare_period_ns = config->spare_budget_ns = 0;
        else if ( error == HP_ERROR_QUANTUM )
            config->quantum_ns = 0;
        else
        {
            printk(XENLOG_ERR "hyperperiod: the policy is ptps instead\n");
            config->policy = plain;
            *global = false;
            config->pcpus = 1;
        }
    }
}

static COLD int cf_check hyp_init(struct scheduler *ops)
{
    const struct options *options = &hyperperiod_options;
    struct private *private = xzalloc(struct private);

    if ( !private )
        return -ENOMEM;
    spin_lock_init(&private->lock);
    spin_lock_init(&private->places_lock);
    private->global = options->global;
    private->config.policy = options->policy;
    private->config.quantum_ns = options->quantum_ns;
    private->config.spare_period_ns = options->spare_period_ns;
    private->config.spare_budget_ns = options->spare_budget_ns;
    private->config.decision_ns = XEN_HYPERPERIOD_DECISION_NS;
    check_config(&private->config, &private->global);
    ops->sched_data = private;
    return 0;
}

static COLD void cf_check free_private(struct rcu_head *head)
{
    struct private *private = container_of(head, struct private, rcu);

    free_lock_domain(private->all);
    xfree(private);
}

/*
 * A pcpu that has left may still wait for the lock that was its own, to find that it has another
 * now. It does so inside of a read side of RCU.
 */
static COLD void cf_check hyp_deinit(struct scheduler *ops)
{
    call_rcu(&private_of(ops)->rcu, free_private);
    ops->sched_data = NULL;
}

/* --- a toolstack ----------------------------------------------------------------------------- */

/* A server as a toolstack writes it. False: what it says does not hold. */
static COLD bool read_server(const struct xen_domctl_sched_hyperperiod *from, uint64_t quantum_ns,
                        struct hp_params *params)
{
    const uint32_t known = XEN_HYPERPERIOD_BEST_EFFORT | XEN_HYPERPERIOD_EXTRA |
                           XEN_HYPERPERIOD_PRIORITY;

    if ( from->order & ~known )
        return false;
    *params = (struct hp_params){ .flags = HP_BEST_EFFORT };
    if ( from->order & XEN_HYPERPERIOD_BEST_EFFORT )
    {
        params->weight = from->budget_us;
        return !from->period_us && params->weight <= HP_WEIGHT_MAX
               && !(from->order & XEN_HYPERPERIOD_EXTRA);
    }
    params->period_ns = MICROSECS((uint64_t)from->period_us);
    params->budget_ns = MICROSECS((uint64_t)from->budget_us);
    params->flags = from->order & XEN_HYPERPERIOD_EXTRA ? HP_EXTRA : 0;
    params->priority = from->order & XEN_HYPERPERIOD_PRIORITY;
    if ( quantum_ns && (params->period_ns % quantum_ns || params->budget_ns % quantum_ns) )
        return false;
    return params->period_ns && params->budget_ns && params->budget_ns <= params->period_ns;
}

static COLD void write_server(const struct hp_params *params,
                              struct xen_domctl_sched_hyperperiod *to)
{
    to->period_us = params->period_ns / MICROSECS(1);
    to->budget_us = params->budget_ns / MICROSECS(1);
    to->order = params->priority;
    if ( params->flags & HP_BEST_EFFORT )
    {
        to->budget_us = params->weight;
        to->order |= XEN_HYPERPERIOD_BEST_EFFORT;
    }
    if ( params->flags & HP_EXTRA )
        to->order |= XEN_HYPERPERIOD_EXTRA;
}

static COLD int install_locked(struct sched_unit *unit, const struct hp_params *params)
{
    unsigned long flags;
    spinlock_t *lock = unit_schedule_lock_irqsave(unit, &flags);
    const unsigned int error = install(place_of(unit), params);

    unit_schedule_unlock_irqrestore(lock, flags, unit);
    if ( error >= HP_ERROR_SHORT )
        return -ERANGE;
    return error ? -EINVAL : 0;
}

static COLD int adjust_all(const struct scheduler *ops, struct domain *d,
                      struct xen_domctl_scheduler_op *op)
{
    struct domain_default *fallback = d->sched_priv;
    struct sched_unit *unit;
    struct hp_params params;

    if ( op->cmd == XEN_DOMCTL_SCHEDOP_getinfo )
    {
        write_server(fallback->given ? &fallback->server.params
                                     : &server_option_of(d->domain_id, ANY_VCPU)->params,
                     &op->u.hyperperiod);
        return 0;
    }
    if ( !read_server(&op->u.hyperperiod, private_of(ops)->config.quantum_ns, &params) )
        return -EINVAL;
    for_each_sched_unit ( d, unit )
    {
        const int rc = install_locked(unit, &params);

        if ( rc )
            return rc;
    }
    fallback->given = true;
    fallback->server = (struct server_option){ params, ANY_CPU };
    return 0;
}

static COLD int adjust_one(const struct scheduler *ops, struct domain *d, uint32_t cmd,
                      struct xen_domctl_schedparam_vcpu *to)
{
    struct sched_unit *unit;
    struct hp_params params;
    unsigned long flags;
    spinlock_t *lock;

    if ( to->vcpuid >= d->max_vcpus || !d->vcpu[to->vcpuid] )
        return -EINVAL;
    unit = d->vcpu[to->vcpuid]->sched_unit;
    if ( cmd == XEN_DOMCTL_SCHEDOP_putvcpuinfo )
    {
        if ( !read_server(&to->u.hyperperiod, private_of(ops)->config.quantum_ns, &params) )
            return -EINVAL;
        return install_locked(unit, &params);
    }
    lock = unit_schedule_lock_irqsave(unit, &flags);
    params = place_of(unit)->server.params;
    unit_schedule_unlock_irqrestore(lock, flags, unit);
    write_server(&params, &to->u.hyperperiod);
    return 0;
}

static COLD int cf_check hyp_adjust(const struct scheduler *ops, struct domain *d,
                               struct xen_domctl_scheduler_op *op)
{
    struct xen_domctl_schedparam_vcpu one;
    uint32_t done = 0;
    int rc = 0;

    if ( op->cmd == XEN_DOMCTL_SCHEDOP_getinfo || op->cmd == XEN_DOMCTL_SCHEDOP_putinfo )
        return adjust_all(ops, d, op);
    while ( !rc && done < op->u.v.nr_vcpus )
    {
        if ( copy_from_guest_offset(&one, op->u.v.vcpus, done, 1) )
            rc = -EFAULT;
        else
            rc = adjust_one(ops, d, op->cmd, &one);
        if ( !rc && op->cmd == XEN_DOMCTL_SCHEDOP_getvcpuinfo
             && copy_to_guest_offset(op->u.v.vcpus, done, &one, 1) )
            rc = -EFAULT;
        /* As many as a pool can have, and then only while nothing else waits. */
        if ( !rc && ++done >= HP_VCPUS && hypercall_preempt_check() )
            break;
    }
    if ( !rc )
        op->u.v.nr_vcpus = done;
    return rc;
}

static COLD void write_info(const struct scheduler *ops, struct xen_sysctl_hyperperiod *info)
{
    struct private *private = private_of(ops);

    info->budget = private->config.policy.budget;
    info->order = private->config.policy.order;
    info->slack = private->config.policy.slack;
    info->global = private->global;
    info->pcpus = cpumask_weight(ops->cpupool->res_valid);
    info->vcpus = hweight64(private->places);
    info->capacity = HP_VCPUS;
    info->quantum_ns = private->config.quantum_ns;
    info->spare_period_ns = private->config.spare_period_ns;
    info->spare_budget_ns = private->config.spare_budget_ns;
}

/* Calls 'act' for every lock domain that is alive, with its lock held. */
static COLD void for_each_lock_domain(const struct scheduler *ops,
                                 void (*act)(struct lock_domain *ld, const struct private *private))
{
    const struct private *private = private_of(ops);
    unsigned int cpu;

    for_each_cpu ( cpu, ops->cpupool->res_valid )
    {
        unsigned long flags;
        spinlock_t *lock = pcpu_schedule_lock_irqsave(cpu, &flags);
        struct lock_domain *ld = lock_domain_of(ops, cpu);

        if ( ld && ld->life == RUNNING )
        {
            act(ld, private);
            kick(ld);
        }
        pcpu_schedule_unlock_irqrestore(lock, flags, cpu);
        if ( private->global )
            break;
    }
}

static COLD void act_swap(struct lock_domain *ld, const struct private *private)
{
    swap_policy(ld, &private->config.policy, core_time(ld, NOW()));
}

static COLD void act_spare(struct lock_domain *ld, const struct private *private)
{
    const struct hp_config *config = &private->config;

    if ( hp_set_spare(&ld->core, config->spare_period_ns, config->spare_budget_ns,
                      core_time(ld, NOW())) )
        return;
    note(ld, HP_RECORD_BUDGET, HP_NONE, config->spare_budget_ns, 0);
    note(ld, HP_RECORD_SET_SPARE, HP_NONE, config->spare_period_ns, 0);
}

/*
 * Another scope means other locks: only a pool without pcpus can change it. One that is about to
 * leave is not valid any more, but still here.
 */
static COLD int set_scope(const struct scheduler *ops, bool global)
{
    struct private *private = private_of(ops);

    if ( global == private->global )
        return 0;
    if ( private->pcpus )
        return -EBUSY;
    private->global = global;
    return 0;
}

static COLD int set_config(const struct scheduler *ops, const struct xen_sysctl_hyperperiod *wanted)
{
    struct private *private = private_of(ops);
    struct hp_config config = private->config;
    const bool policy = wanted->op == XEN_HYPERPERIOD_OP_POLICY;
    const bool global = policy ? wanted->global : private->global;
    int rc;

    if ( policy )
        config.policy = (struct hp_policy){ wanted->budget, wanted->order, wanted->slack };
    else
    {
        config.spare_period_ns = wanted->spare_period_ns;
        config.spare_budget_ns = wanted->spare_budget_ns;
    }
    if ( wanted->global > 1 || (!policy && !config.spare_period_ns) )
        return -EINVAL;
    config.pcpus = global ? 2 : 1;
    if ( hp_validate_config(&config) )
        return -EINVAL;
    rc = set_scope(ops, global);
    if ( rc )
        return rc;
    private->config = config;
    for_each_lock_domain(ops, policy ? act_swap : act_spare);
    return 0;
}

/* As many as fit on the stack are copied while the lock is held. */
#define COPY_AT_ONCE 16U

static COLD unsigned int copy_records(const struct hp_ring *ring, uint64_t *from,
                                 struct hp_record *to, unsigned int count)
{
    unsigned int i;

    if ( ring->written - *from > ring->capacity )
        *from = ring->written - ring->capacity;
    count = min_t(uint64_t, min(count, COPY_AT_ONCE), ring->written - *from);
    for ( i = 0; i < count; i++ )
        to[i] = ((const struct hp_record *)(ring + 1))[(*from + i) & (ring->capacity - 1)];
    return count;
}

static COLD int read_records(const struct scheduler *ops, struct xen_sysctl_hyperperiod *info)
{
    struct hp_record records[COPY_AT_ONCE];
    const unsigned int wanted = min(info->ring_count, 4096U);
    uint64_t from = info->ring_from;
    unsigned int count, done = 0;

    if ( info->ring_pcpu >= nr_cpu_ids
         || !cpumask_test_cpu(info->ring_pcpu, ops->cpupool->res_valid) )
        return -EINVAL;
    do {
        unsigned long flags;
        spinlock_t *lock = pcpu_schedule_lock_irqsave(info->ring_pcpu, &flags);
        const struct lock_domain *ld = lock_domain_of(ops, info->ring_pcpu);
        const struct hp_ring *ring = ld ? ld->ring : NULL;

        info->ring_written = ring ? ring->written : 0;
        if ( from > info->ring_written )
            from = info->ring_written;
        count = ring ? copy_records(ring, &from, records, wanted - done) : 0;
        pcpu_schedule_unlock_irqrestore(lock, flags, info->ring_pcpu);

        if ( done == 0 )
            info->ring_from = from;
        /* Overtaken while copying: what is here is in one piece, and the rest is for later. */
        if ( from != info->ring_from + done )
            break;
        if ( copy_to_guest_offset(info->ring_records, done * sizeof(*records),
                                  (uint8_t *)records, count * sizeof(*records)) )
            return -EFAULT;
        done += count;
        from += count;
    } while ( count && done < wanted );
    info->ring_count = done;
    return 0;
}

static COLD int cf_check hyp_adjust_global(const struct scheduler *ops,
                                      struct xen_sysctl_scheduler_op *sc)
{
    struct xen_sysctl_hyperperiod info;
    const bool put = sc->cmd == XEN_SYSCTL_SCHEDOP_putinfo;
    int rc;

    if ( copy_from_guest(&info, sc->u.hyperperiod, 1) )
        return -EFAULT;
    if ( put && (info.op == XEN_HYPERPERIOD_OP_POLICY || info.op == XEN_HYPERPERIOD_OP_SPARE) )
        rc = set_config(ops, &info);
    else if ( !put && info.op == XEN_HYPERPERIOD_OP_RING )
        rc = read_records(ops, &info);
    else
        rc = !put && info.op == XEN_HYPERPERIOD_OP_INFO ? 0 : -EINVAL;
    if ( rc )
        return rc;
    write_info(ops, &info);
    return copy_to_guest(sc->u.hyperperiod, &info, 1) ? -EFAULT : 0;
}

/* --- looking --------------------------------------------------------------------------------- */

static COLD void cf_check hyp_dump_settings(const struct scheduler *ops)
{
    struct private *private = private_of(ops);
    unsigned long flags;
    unsigned int number;

    printk("rules %u+%u+%u (core/types.h), %s, quantum %llu ns\n",
           private->config.policy.budget, private->config.policy.order,
           private->config.policy.slack, private->global ? "global" : "partitioned",
           private->config.quantum_ns);
    spin_lock_irqsave(&private->places_lock, flags);
    for ( number = 0; number < HP_VCPUS; number++ )
    {
        const struct place *place = private->at[number];

        if ( place )
            printk("  %2u: %pdv%u on %u, %llu ns in %llu ns, priority %u, flags %#x\n",
                   number, place->unit->domain, place->unit->unit_id,
                   sched_unit_master(place->unit), place->server.params.budget_ns,
                   place->server.params.period_ns, place->server.params.priority,
                   place->server.params.flags);
    }
    spin_unlock_irqrestore(&private->places_lock, flags);
}

static COLD void cf_check hyp_dump_cpu_state(const struct scheduler *ops, int cpu)
{
    unsigned long flags;
    spinlock_t *lock = pcpu_schedule_lock_irqsave(cpu, &flags);
    const struct lock_domain *ld = lock_domain_of(ops, cpu);
    const unsigned int seat = ld && ld->life != DORMANT ? seat_of(ld, cpu) : HP_NONE;

    if ( seat == HP_NONE )
        printk("\tdormant\n");
    else
    {
        const struct hp_grant *grant = &ld->core.seat[seat].grant;

        printk("\tat %llu ns: runs %d, pays %d and %d, from %llu until %llu ns\n",
               ld->core.now_ns, (int)grant->run, (int)grant->pay, (int)grant->also,
               grant->start_ns, grant->until_ns);
    }
    pcpu_schedule_unlock_irqrestore(lock, flags, cpu);
}

static const struct scheduler sched_hyperperiod_def = {
    .name           = "Hyperperiod: servers, computed and enforced",
    .opt_name       = "hyperperiod",
    .sched_id       = XEN_SCHEDULER_HYPERPERIOD,
    .sched_data     = NULL,

    .init           = hyp_init,
    .deinit         = hyp_deinit,
    .switch_sched   = hyp_switch_sched,

    .alloc_pdata    = hyp_alloc_pdata,
    .free_pdata     = hyp_free_pdata,
    .deinit_pdata   = hyp_deinit_pdata,
    .alloc_domdata  = hyp_alloc_domdata,
    .free_domdata   = hyp_free_domdata,
    .alloc_udata    = hyp_alloc_udata,
    .free_udata     = hyp_free_udata,
    .insert_unit    = hyp_insert_unit,
    .remove_unit    = hyp_remove_unit,

    .sleep          = hyp_sleep,
    .wake           = hyp_wake,
    .context_saved  = hyp_context_saved,
    .do_schedule    = hyp_do_schedule,
    .pick_resource  = hyp_pick_resource,
    .migrate        = hyp_migrate,

    .adjust         = hyp_adjust,
    .adjust_global  = hyp_adjust_global,
    .dump_settings  = hyp_dump_settings,
    .dump_cpu_state = hyp_dump_cpu_state,
};

REGISTER_SCHEDULER(sched_hyperperiod_def);
