// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Vcpus come, change and go. Parameters are validated whole and then installed whole; an error
 * leaves everything as it was.
 */
#pragma once

#include "grant.h"

/*
 * What deciding costs.
 *
 * A period brings two decisions, its refill and the end of its budget. All pcpus of a lock domain
 * decide under one lock, one after the other. On a host where that takes time
 * (hp_config.decision_ns) periods may be so short, or so many, that nothing is ever done but
 * decide. So all servers together may take half the time for it, turns another quarter and the
 * spare the last one at most (hp_validate_config), and a budget has to outlast the decision that
 * ends it. What arrivals and departures cost is not in this: they come as fast as the guests run.
 */
#define HP_DECISIONS 2ull /* in a period */
#define HP_WHOLE (1u << 20)
#define HP_QUARTER (4ull * HP_DECISIONS) /* so many decisions a period: a quarter of the time */

/* The part of the time that the decisions of such a period take, in 1/HP_WHOLE, rounded down. */
HP_FN hp_u64 hp_deciding(const struct hp_core *core, hp_u64 period_ns) {
    return HP_DECISIONS * core->decision_ns * HP_WHOLE / period_ns;
}

/* The period of a server, the shorter one while a new one waits; HP_NEVER if there is no server. */
HP_FN hp_u64 hp_shortest_period(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (!server->present || server->flags & HP_BEST_EFFORT)
        return HP_NEVER;
    if (server->change_at_ns == HP_NEVER)
        return server->period_ns;
    return hp_least(server->period_ns, server->new_period_ns);
}

/* Whether the host has the time for a vcpu with this period beside all others. */
HP_FN hp_u32 hp_keeps_up(struct hp_core *core, hp_u32 own, hp_u64 period_ns) {
    hp_u64 sum = 0;

    HP_FOR (vcpu, HP_VCPUS)
        sum += hp_deciding(core, vcpu == own ? period_ns : hp_shortest_period(core, vcpu));
    return sum <= HP_WHOLE / 2u;
}

/* Whether a vcpu can have these parameters, and the host the time for them. */
HP_COLD hp_u32 hp_validate(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params) {
    if (params->flags & ~(HP_BEST_EFFORT | HP_EXTRA))
        return HP_ERROR_FLAGS;
    if (params->weight > HP_WEIGHT_MAX)
        return HP_ERROR_WEIGHT;
    if (params->flags & HP_BEST_EFFORT)
        return params->period_ns || params->budget_ns ? HP_ERROR_FLAGS : HP_OK;
    if (params->weight > 0)
        return HP_ERROR_WEIGHT;
    if (params->priority > HP_PRIORITY_MAX)
        return HP_ERROR_PRIORITY;
    if (params->period_ns == 0 || params->period_ns >= HP_TIME_MAX)
        return HP_ERROR_PERIOD;
    if (params->budget_ns == 0 || params->budget_ns > params->period_ns)
        return HP_ERROR_BUDGET;
    if (core->quantum_ns > 0
        && (params->period_ns % core->quantum_ns != 0 || params->budget_ns % core->quantum_ns != 0))
        return HP_ERROR_QUANTUM;
    if (params->budget_ns < core->decision_ns)
        return HP_ERROR_SHORT;
    if (core->decision_ns > 0 && !hp_keeps_up(core, vcpu, params->period_ns))
        return HP_ERROR_RATE;
    return HP_OK;
}

/* Whether this number names a vcpu that was added. */
HP_FN hp_u32 hp_present(struct hp_core *core, hp_u32 vcpu) {
    return vcpu < HP_VCPUS && hp_server_of(core, vcpu)->present;
}

/* The first multiple of the period at or after now: every server's grid starts at 0. */
HP_FN hp_u64 hp_first_refill(const struct hp_core *core, hp_u64 period_ns) {
    const hp_u64 past_ns = core->now_ns % period_ns;

    return past_ns == 0 ? core->now_ns : core->now_ns - past_ns + period_ns;
}

HP_FN void hp_clear_server(struct hp_server *server) {
    server->remaining_ns = 0;
    server->extra_ns = 0;
    server->deadline_ns = 0;
    server->late_ns = 0;
    server->change_at_ns = HP_NEVER;
    HP_EACH_ROLE (role) {
        server->turn_ns[role] = 0;
        server->turn_place[role] = 0;
    }
    server->place = 0;

    server->level = 0;
    server->runnable = 0;
    server->last_pcpu = 0;
    server->held_on = HP_NONE;
    server->refill_head = 0;
    server->refill_count = 0;
    server->never_ran = 1;
    server->funded = 0;
    hp_forget_shares(server);
}

HP_COLD hp_u32 hp_add(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                      hp_u64 now_ns) {
    const hp_u32 error = hp_validate(core, vcpu, params);
    struct hp_server *server;

    if (vcpu >= HP_VCPUS)
        return HP_ERROR_VCPU;
    if (hp_present(core, vcpu))
        return HP_ERROR_PRESENT;
    if (error)
        return error;
    server = hp_server_of(core, vcpu);
    hp_settle(core, now_ns);
    hp_clear_server(server);
    server->present = 1;
    server->period_ns = params->period_ns;
    server->budget_ns = params->budget_ns;
    server->flags = params->flags;
    server->priority = params->priority;
    server->weight = params->weight;
    server->idle_from_ns = core->now_ns;
    if (params->flags & HP_BEST_EFFORT)
        server->priority = HP_PRIORITY_MAX + 1u;
    core->efforts += params->flags & HP_BEST_EFFORT;
    hp_make_room(core, vcpu);
    hp_see_plain(core);
    core->planned = 0;
    if (params->flags & HP_BEST_EFFORT)
        return HP_OK;
    hp_start_server(core, vcpu, 0, hp_first_refill(core, params->period_ns));
    hp_requeue(core, vcpu);
    return HP_OK;
}

/* The grant of this pcpu cannot be relied on from this time on: it has to pick again. */
HP_FN void hp_expire(struct hp_pcpu *slot, hp_u64 from_ns) {
    slot->invalid_since_ns = hp_least(slot->invalid_since_ns, from_ns);
    slot->must_repick = 1;
}

/* The new parameters wait for their time; a grant that the server pays for ends there. */
HP_FN void hp_schedule_change(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);
    struct hp_pcpu *slot = hp_pcpu_of(core, server->last_pcpu);

    server->change_at_ns = hp_change_time(core, vcpu);
    hp_requeue(core, vcpu);
    core->overdue = 1;
    if (slot->grant.pay == vcpu || slot->grant.also == vcpu)
        hp_expire(slot, server->change_at_ns);
}

HP_COLD hp_u32 hp_update(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                         hp_u64 now_ns) {
    const hp_u32 error = hp_validate(core, vcpu, params);
    struct hp_server *server;

    if (!hp_present(core, vcpu))
        return HP_ERROR_VCPU;
    if (error)
        return error;
    server = hp_server_of(core, vcpu);
    if ((params->flags ^ server->flags) & HP_BEST_EFFORT)
        return HP_ERROR_FLAGS;
    if (params->flags & HP_BEST_EFFORT) {
        server->weight = params->weight;
        return HP_OK;
    }
    hp_settle(core, now_ns);
    hp_catch_up(core, vcpu, core->now_ns);
    server->new_period_ns = params->period_ns;
    server->new_budget_ns = params->budget_ns;
    server->new_priority = params->priority;
    server->new_flags = params->flags;
    hp_schedule_change(core, vcpu);
    return HP_OK;
}

/* The vcpu is gone: nobody is granted it, and it pays for nothing any more. */
HP_FN void hp_leave_pcpus(struct hp_core *core, hp_u32 vcpu) {
    HP_FOR (pcpu, HP_PCPUS) {
        struct hp_pcpu *slot = hp_pcpu_of(core, pcpu);

        if (pcpu >= hp_pcpus(core))
            break;
        if (slot->grant.run == vcpu || slot->grant.pay == vcpu)
            hp_expire(slot, core->now_ns);
        slot->grant.run = slot->grant.run == vcpu ? HP_NONE : slot->grant.run;
        slot->grant.pay = slot->grant.pay == vcpu ? HP_NONE : slot->grant.pay;
        slot->grant.also = slot->grant.also == vcpu ? HP_NONE : slot->grant.also;
        slot->holder = slot->holder == vcpu ? HP_NONE : slot->holder;
        slot->effort = slot->effort == vcpu ? HP_NONE : slot->effort;
        HP_EACH_ROLE (role)
            slot->last[role] = slot->last[role] == vcpu ? HP_NONE : slot->last[role];
    }
    hp_end_share(core, vcpu);
}

HP_COLD hp_u32 hp_remove(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server;

    if (!hp_present(core, vcpu))
        return HP_ERROR_VCPU;
    server = hp_server_of(core, vcpu);
    hp_settle(core, now_ns);
    hp_leave_pcpus(core, vcpu);
    core->efforts -= server->flags & HP_BEST_EFFORT;
    core->bound -= core->affinity[HP_INDEX(vcpu, HP_VCPUS)] != 0;
    core->affinity[HP_INDEX(vcpu, HP_VCPUS)] = 0;
    hp_clear_server(server);
    server->present = 0;
    hp_set_idle(core, vcpu);
    hp_queue_put(core, &core->ready, vcpu, HP_NEVER);
    hp_queue_put(core, &core->due, vcpu, HP_NEVER);
    hp_queue_put(core, &core->effort, vcpu, HP_NEVER);
    hp_see_plain(core);
    core->planned = 0;
    return HP_OK;
}

HP_FN void hp_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    hp_u32 planned;

    HP_ASSERT(server->present);
    hp_settle(core, now_ns);
    if (server->runnable)
        return;
    planned = core->planned;
    if (!(server->flags & HP_BEST_EFFORT)) {
        /* These rules do not ask for work; so a refill sets the alarm once and for good. */
        server->runnable = hp_has(core, HP_TIMED) && hp_has(core, HP_KEEPS);
        hp_catch_up(core, vcpu, core->now_ns);
        hp_activate(core, vcpu, core->now_ns);
    }
    hp_set_runnable(core, vcpu);
    if (server->flags & HP_BEST_EFFORT)
        hp_requeue_effort(core, vcpu);
    else if (!hp_has(core, HP_PAYS_IDLE) && hp_key_of(&core->ready, vcpu) == HP_NEVER)
        hp_requeue(core, vcpu);
    core->planned = planned && !hp_arrival_matters(core, vcpu);
}

HP_FN void hp_depart(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    struct hp_pcpu *slot = hp_pcpu_of(core, server->last_pcpu);

    HP_ASSERT(server->present);
    hp_charge_all(core, now_ns);
    if (!server->runnable)
        return;
    if (slot->grant.run == vcpu)
        slot->invalid_since_ns = hp_least(slot->invalid_since_ns, core->now_ns);
    server->idle_from_ns = core->now_ns;
    hp_set_idle(core, vcpu);
    hp_end_share(core, vcpu);
    if (server->flags & HP_BEST_EFFORT)
        hp_requeue_effort(core, vcpu);
    else if (!hp_has(core, HP_PAYS_IDLE))
        hp_delist(core, vcpu);
    core->planned = 0;
}
