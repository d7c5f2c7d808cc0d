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

#include "vcpu.h"

/* Every grant was made under what no longer holds: all pcpus pick again. */
HP_FN void hp_expire_grants(struct hp_core *core) {
    HP_FOR (pcpu, hp_pcpus(core)) {
        hp_expire(hp_pcpu_of(core, pcpu), core->now_ns);
    }
    hp_replan_all(core);
}

/* The last word of the old rules on a server: its next refill is where its period ends. */
HP_FN void hp_swap_out(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 end_ns;

    HP_ASSERT(hp_is_served(core, vcpu));
    hp_catch_up(core, vcpu, core->now_ns);
    end_ns = hp_settled_at(core, vcpu);
    server->deadline_ns = end_ns > core->now_ns ? end_ns : core->now_ns + server->params.period_ns;
}

/* Brings a server under the new rules, with no more than these let it have. */
HP_ONCE hp_u32 hp_swap_in(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_i64 most_ns = hp_most_ns(core, server);
    const hp_i64 left_ns = server->remaining_ns < most_ns ? server->remaining_ns : most_ns;

    HP_ASSERT(hp_is_served(core, vcpu) && !core->swapping);
    hp_start_server(core, vcpu, left_ns, server->deadline_ns);
    server->never_ran = 0;
    server->idle_from_ns = core->now_ns; /* into polling: lost when this instant is over */
    if (server->change_at_ns != HP_NEVER)
        hp_schedule_change(core, vcpu);
    else
        hp_requeue(core, vcpu);
    return 0;
}

HP_RARE hp_u32 hp_set_policy(struct hp_core *core, const struct hp_policy *policy, hp_u64 now_ns) {
    if (!hp_policy_legal(policy, hp_pcpus(core)))
        return HP_ERROR_POLICY;
    if (hp_slack_traits(policy->slack) & HP_HAS_SPARE && core->spare.period_ns == 0)
        return HP_ERROR_SPARE;
    if (HP_ONE_POLICY)
        return HP_OK;
    hp_tell_time(core, now_ns);
    hp_charge_all(core);
    if (HP_SOME_TRAITS & HP_HAS_SPARE && core->spare.period_ns > 0)
        hp_spare_catch_up(core);
    /* What is due at this instant is done as each server leaves the old rules; the queues are told
     * as it comes under the new ones. */
    core->swapping = 1;
    HP_FOR (vcpu, core->numbers) {
        hp_forget_shares(hp_server_of(core, vcpu));
        if (hp_is_served(core, vcpu))
            hp_swap_out(core, vcpu);
    }
    core->swapping = 0;
    hp_set_rules(core, policy);
    hp_expire_grants(core);
    HP_FOR (vcpu, core->numbers) {
        if (hp_is_served(core, vcpu))
            hp_swap_in(core, vcpu);
    }
    hp_end_shares(core);
    core->effort_waits = 0;
    core->due_ns = 0; /* the spare's refill counts from now on, or does no more */
    return HP_OK;
}

HP_RARE hp_u32 hp_set_spare(struct hp_core *core, hp_u64 period_ns, hp_u64 budget_ns,
                            hp_u64 now_ns) {
    if (period_ns == 0 || period_ns > HP_TIME_MAX || budget_ns > period_ns
        || period_ns < HP_QUARTER * core->decision_ns)
        return HP_ERROR_SPARE;
    hp_settle_now(core, now_ns);
    core->spare.period_ns = period_ns;
    core->spare.budget_ns = budget_ns;
    core->spare.remaining_ns = core->spare.remaining_ns < 0 ? core->spare.remaining_ns : 0;
    core->spare.deadline_ns = hp_first_refill(core, period_ns);
    core->due_ns = 0;
    hp_expire_grants(core);
    return HP_OK;
}
