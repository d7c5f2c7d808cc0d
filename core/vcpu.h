// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Vcpus come, change and go. Parameters are validated whole and then installed whole; an error
 * leaves everything as it was.
 */
#pragma once

#include "alone.h"

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
    HP_ASSERT(period_ns > 0);
    return HP_DECISIONS * core->decision_ns * HP_WHOLE / period_ns;
}

/* The period of a server, the shorter one while a new one waits; HP_NEVER if there is no server. */
HP_FN hp_u64 hp_shortest_period(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (!hp_is_served(core, vcpu))
        return HP_NEVER;
    if (server->change_at_ns == HP_NEVER)
        return server->params.period_ns;
    return hp_min(server->params.period_ns, server->wanted.period_ns);
}

/* Whether the host has the time for a vcpu with this period beside all others. */
HP_ONCE hp_u32 hp_keeps_up(struct hp_core *core HP_NOT_NULL, hp_u32 own, hp_u64 period_ns) {
    hp_u64 sum = 0;

    HP_FOR (vcpu, HP_VCPUS)
        sum += hp_deciding(core, vcpu == own ? period_ns : hp_shortest_period(core, vcpu));
    return sum <= HP_WHOLE / 2u;
}

/* Whether a vcpu can have these parameters, and the host the time for them. */
HP_RARE hp_u32 hp_validate(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params) {
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

/* A vcpu that is not there, as one is before it is added. */
HP_FN void hp_clear_server(struct hp_server *server) {
    server->change_at_ns = HP_NEVER;
    server->remaining_ns = 0;
    server->extra_ns = 0;
    server->deadline_ns = 0;
    server->late_ns = 0;
    server->level = 0;
    server->never_ran = 1;
    server->refill_head = 0;
    server->refill_count = 0;
    server->present = 0;
    server->runnable = 0;
    server->last_pcpu = 0;
    server->held_on = HP_NONE;
    HP_EACH_ROLE (role) {
        server->turn_ns[role] = 0;
        server->turn_place[role] = 0;
    }
    server->place = 0;
    hp_forget_shares(server);
}

HP_RARE hp_u32 hp_add(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                      hp_u64 now_ns) {
    const hp_u32 error = hp_validate(core, vcpu, params);
    struct hp_server *server;

    if (!hp_is_vcpu(vcpu))
        return HP_ERROR_VCPU;
    server = hp_server_of(core, vcpu);
    if (server->present)
        return HP_ERROR_PRESENT;
    if (error)
        return error;
    hp_settle_now(core, now_ns);
    hp_clear_server(server);
    hp_copy_params(&server->params, params);
    server->present = 1;
    server->idle_from_ns = core->now_ns;
    core->numbers = (hp_u32)hp_max(core->numbers, vcpu + 1u);
    hp_queue_grow(&core->ready, core->numbers);
    hp_queue_grow(&core->due, core->numbers);
    core->efforts += hp_is_effort(server);
    hp_replan_all(core);
    if (hp_is_effort(server))
        return HP_OK;
    hp_start_server(core, vcpu, 0, hp_first_refill(core, params->period_ns));
    hp_requeue(core, vcpu);
    return HP_OK;
}

/* The wanted parameters wait for the refill that gives everything back, and a grant that the server
 * pays for ends there. A server of 2 ms in 10 ms, refilled at 0 and told at 3 ms that it is to have
 * 4 ms in 20 ms, keeps what it has until 10 ms; then it has 4 ms, and its deadline is 30 ms. */
HP_FN void hp_schedule_change(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);
    struct hp_pcpu *pcpu = hp_pcpu_of(core, server->last_pcpu);

    HP_ASSERT(hp_is_served(core, vcpu));
    server->change_at_ns = hp_max(hp_settled_at(core, vcpu), core->now_ns);
    hp_requeue(core, vcpu);
    if (pcpu->grant.pay == vcpu || pcpu->grant.also == vcpu)
        hp_expire(pcpu, server->change_at_ns);
    hp_replan_all(core);
}

HP_RARE hp_u32 hp_update(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                         hp_u64 now_ns) {
    const hp_u32 error = hp_validate(core, vcpu, params);
    struct hp_server *server;

    if (!hp_present(core, vcpu))
        return HP_ERROR_VCPU;
    if (error)
        return error;
    server = hp_server_of(core, vcpu);
    if ((params->flags ^ server->params.flags) & HP_BEST_EFFORT)
        return HP_ERROR_FLAGS;
    if (hp_is_effort(server)) {
        server->params.weight = params->weight;
        return HP_OK;
    }
    hp_settle_now(core, now_ns);
    hp_catch_up(core, vcpu, core->now_ns);
    hp_copy_params(&server->wanted, params);
    hp_schedule_change(core, vcpu);
    return HP_OK;
}

/* No pcpu is granted to the vcpu any more, and it pays for none. */
HP_FN void hp_ungrant(struct hp_core *core, hp_u32 vcpu) {
    HP_ASSERT(hp_present(core, vcpu));
    HP_FOR (number, hp_pcpus(core)) {
        struct hp_pcpu *pcpu = hp_pcpu_of(core, number);

        if (pcpu->grant.run == vcpu || pcpu->grant.pay == vcpu)
            hp_expire(pcpu, core->now_ns);
        pcpu->grant.run = pcpu->grant.run == vcpu ? HP_NONE : pcpu->grant.run;
        pcpu->grant.pay = pcpu->grant.pay == vcpu ? HP_NONE : pcpu->grant.pay;
        pcpu->grant.also = pcpu->grant.also == vcpu ? HP_NONE : pcpu->grant.also;
        pcpu->holder = pcpu->holder == vcpu ? HP_NONE : pcpu->holder;
        pcpu->effort = pcpu->effort == vcpu ? HP_NONE : pcpu->effort;
        HP_EACH_ROLE (role)
            pcpu->last[role] = pcpu->last[role] == vcpu ? HP_NONE : pcpu->last[role];
    }
}

HP_RARE hp_u32 hp_remove(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server;

    if (!hp_present(core, vcpu))
        return HP_ERROR_VCPU;
    server = hp_server_of(core, vcpu);
    hp_settle_now(core, now_ns);
    hp_ungrant(core, vcpu);
    hp_end_share(core, vcpu);
    core->efforts -= hp_is_effort(server);
    core->bound -= core->bound_to[HP_INDEX(vcpu, HP_VCPUS)] != 0;
    core->bound_to[HP_INDEX(vcpu, HP_VCPUS)] = 0;
    if (!hp_is_effort(server)) {
        /* Without budget and never to have any, it is in no queue. */
        server->remaining_ns = 0;
        server->level = 0;
        server->deadline_ns = HP_NEVER;
        server->change_at_ns = HP_NEVER;
        hp_requeue(core, vcpu);
    }
    hp_lose_work(core, vcpu);
    hp_clear_server(server);
    hp_replan_all(core);
    return HP_OK;
}

HP_FN void hp_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const struct hp_grant *last = &hp_pcpu_of(core, server->last_pcpu)->grant;
    hp_u32 planned;

    HP_ASSERT(server->present);
    hp_settle(core, now_ns);
    if (server->runnable)
        return;
    planned = core->planned;
    if (!hp_is_effort(server)) {
        /* It still pays where it had work before, or without any: its account is looked at. */
        if (last->pay == vcpu || last->also == vcpu)
            hp_charge_pcpu(core, server->last_pcpu);
        /* Polling and slices are caught up as without work. For those that do not ask a refill
         * gives the keys of one with work at once. */
        if (hp_has(core, HP_TIMED) && hp_has(core, HP_KEEPS))
            server->runnable = 1;
        hp_catch_up(core, vcpu, core->now_ns);
        hp_activate(core, vcpu, core->now_ns);
    }
    hp_get_work(core, vcpu);
    if (!hp_is_effort(server) && !hp_has(core, HP_PAYS_IDLE)
        && hp_key_of(&core->ready, vcpu) == HP_NEVER)
        hp_requeue(core, vcpu);
    core->planned = planned && !hp_arrival_matters(core, vcpu);
}

HP_FN void hp_depart(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    struct hp_pcpu *pcpu = hp_pcpu_of(core, server->last_pcpu);

    HP_ASSERT(server->present);
    hp_tell_time(core, now_ns);
    if (!server->runnable)
        return;
    if (pcpu->grant.run == vcpu)
        pcpu->invalid_since_ns = hp_min(pcpu->invalid_since_ns, core->now_ns);
    server->idle_from_ns = core->now_ns;
    hp_lose_work(core, vcpu);
    hp_end_share(core, vcpu);
    /* Where a server stands that pays without work does not depend on it. */
    if (!hp_is_effort(server) && !hp_has(core, HP_PAYS_IDLE))
        hp_requeue(core, vcpu);
    core->planned = 0;
}
