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
        if (pcpu >= hp_pcpus(core))
            break;
        hp_expire(hp_pcpu_of(core, pcpu), core->now_ns);
    }
    core->planned = 0;
}

/* Whether rules are about this vcpu: it is there, and has a server. */
HP_FN hp_u32 hp_is_served(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    return server->present && !(server->flags & HP_BEST_EFFORT);
}

/* The last word of the old rules on a server: its next refill is where its period ends. */
HP_ONCE HP_NOTHING hp_swap_out(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu) {
    hp_catch_up(core, vcpu, core->now_ns);
    hp_server_of(core, vcpu)->deadline_ns = hp_period_end(core, vcpu);
    HP_DONE();
}

/* Brings a server under the new rules, with no more than these let it have. */
HP_ONCE HP_NOTHING hp_swap_in(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);

    const hp_i64 most_ns = hp_most_held(core, server);
    const hp_i64 left_ns = server->remaining_ns < most_ns ? server->remaining_ns : most_ns;

    hp_start_server(core, vcpu, left_ns, server->deadline_ns);
    server->never_ran = 0;
    server->idle_from_ns = core->now_ns; /* into polling: lost when this instant is over */
    if (server->change_at_ns != HP_NEVER)
        hp_schedule_change(core, vcpu);
    server->funded = server->remaining_ns > 0;
    hp_queue_set(&core->ready, vcpu, hp_ready_key(core, vcpu));
    hp_queue_set(&core->due, vcpu, hp_due_ns(core, vcpu));
    HP_DONE();
}

/*
 * Takes all servers out of the rules in force and brings them under others. What is due at this
 * instant is done as each leaves the old rules, and the queues are told of all of them at once: so
 * a swap takes one look at each.
 */
HP_FN void hp_swap_all(struct hp_core *core, const struct hp_policy *policy) {
    const hp_u32 numbers = (hp_u32)hp_least(core->numbers, HP_VCPUS);

    core->swapping = 1;
    HP_FOR (vcpu, numbers) {
        hp_forget_shares(hp_server_of(core, vcpu));
        if (hp_is_served(core, vcpu))
            hp_swap_out(core, vcpu);
    }
    hp_set_rules(core, policy);
    HP_FOR (vcpu, numbers) {
        if (hp_is_served(core, vcpu))
            hp_swap_in(core, vcpu);
    }
    core->swapping = 0;
    hp_queue_renew(core, &core->ready);
    hp_queue_renew(core, &core->due);
}

HP_COLD hp_u32 hp_set_policy(struct hp_core *core, const struct hp_policy *policy, hp_u64 now_ns) {
    if (!hp_policy_legal(policy, hp_pcpus(core)))
        return HP_ERROR_POLICY;
    if (hp_slack_traits(policy->slack) & HP_HAS_SPARE && core->spare.period_ns == 0)
        return HP_ERROR_SPARE;
    if (HP_ONE_POLICY)
        return HP_OK;
    hp_charge_all(core, now_ns);
    if (HP_SOME_TRAITS & HP_HAS_SPARE && core->spare.period_ns > 0)
        hp_spare_catch_up(core);
    hp_swap_all(core, policy);
    core->share.vcpu = HP_NONE;
    hp_see_plain(core);
    core->effort_waits = 0;
    hp_expire_grants(core);
    return HP_OK;
}

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
    core->overdue = 1;
    hp_expire_grants(core);
    return HP_OK;
}
