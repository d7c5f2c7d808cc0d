// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hot swap: the rules change while vcpus run.
 *
 * All time so far is charged under the old rules. Each server keeps what remains of its budget,
 * and the end of its period, which becomes its next refill and its new origin; levels of extra
 * time, claims and scores are gone. So nobody gets more than its budget in the period in which the
 * swap happens, no arrival is lost, and guarantees resume at each server's first refill after it.
 */
#pragma once

#include "policy.h"
#include "vcpu.h"

/* Every grant was made under what no longer holds: all pcpus pick again. */
HP_FN void hp_expire_grants(struct hp_core *core) {
    HP_FOR (pcpu, HP_PCPUS) {
        if (pcpu >= core->pcpus)
            break;
        hp_expire(hp_seat_of(core, pcpu), core->now_ns);
    }
    core->planned = 0;
}

/* Brings one server under the new rules. */
HP_FN void hp_swap_server(struct hp_core *core, hp_u32 vcpu, const struct hp_policy *policy) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const struct hp_policy old = {core->policy.budget, core->policy.order, core->policy.slack};
    hp_i64 left_ns;
    hp_u64 refill_ns;

    hp_catch_up(core, vcpu, core->now_ns);
    left_ns = server->remaining_ns;
    refill_ns = hp_period_end(core, vcpu);
    core->policy.budget = policy->budget;
    core->policy.order = policy->order;
    core->policy.slack = policy->slack;
    hp_start_server(core, vcpu, left_ns, refill_ns);
    server->fresh = 0;
    if (server->change_at_ns != HP_NEVER)
        hp_schedule_change(core, vcpu);
    core->policy.budget = old.budget;
    core->policy.order = old.order;
    core->policy.slack = old.slack;
}

/* Replaces the running policy. */
HP_COLD hp_u32 hp_set_policy(struct hp_core *core, const struct hp_policy *policy, hp_u64 now_ns) {
    if (!hp_policy_legal(policy, core->pcpus))
        return HP_ERROR_POLICY;
    if (policy->slack == HP_SLACK_SPARE && core->spare.period_ns == 0)
        return HP_ERROR_SPARE;
    hp_settle(core, now_ns);
    if (core->spare.period_ns > 0)
        hp_spare_catch_up(core);
    HP_FOR (vcpu, HP_VCPUS) {
        struct hp_server *server = hp_server_of(core, vcpu);

        hp_forget_shares(server);
        if (server->present && !(server->flags & HP_BEST_EFFORT))
            hp_swap_server(core, vcpu, policy);
    }
    core->share.vcpu = HP_NONE;
    core->policy.budget = policy->budget;
    core->policy.order = policy->order;
    core->policy.slack = policy->slack;
    hp_sort(core);
    hp_expire_grants(core);
    return HP_OK;
}

/* Gives the spare new parameters; it has nothing until its next refill. */
HP_COLD hp_u32 hp_set_spare(struct hp_core *core, hp_u64 period_ns, hp_u64 budget_ns,
                            hp_u64 now_ns) {
    if (period_ns == 0 || period_ns > HP_TIME_MAX || budget_ns > period_ns
        || period_ns < HP_QUARTER * core->decision_ns)
        return HP_ERROR_SPARE;
    hp_settle(core, now_ns);
    core->spare.period_ns = period_ns;
    core->spare.budget_ns = budget_ns;
    core->spare.remaining_ns = core->spare.remaining_ns < 0 ? core->spare.remaining_ns : 0;
    core->spare.deadline_ns = hp_first_refill(core, period_ns);
    hp_expire_grants(core);
    return HP_OK;
}
