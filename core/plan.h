// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The plan: what every pcpu of the lock domain should be granted now. First the pcpus go to the
 * servers that are first in order, then the slack rule says what becomes of time that its owner
 * does not need, then best-effort vcpus fill what is idle.
 */
#pragma once

#include "slack/effort.h"
#include "slack/lend.h"
#include "slack/none.h"
#include "slack/reclaim.h"
#include "slack/spare.h"
#include "slack/weights.h"

/* Gives the only pcpu to the server that is first, where there are no turns. */
HP_FN void hp_plan_only(struct hp_core *core) {
    struct hp_pcpu *only = hp_pcpu_of(core, 0);

    HP_ASSERT(hp_pcpus(core) == 1 && core->quantum_ns == 0);
    only->plan.holder = hp_ready_first(core, only->last[hp_holder_role(core)]);
    core->weakest = only->plan.holder;
}

/*
 * Gives the pcpus to the servers that are first; returns the pcpus that nobody holds. An arrival
 * that comes behind the last of them changes nothing (hp_arrival_matters).
 */
HP_FN hp_u64 hp_plan_holders(struct hp_core *core) {
    const hp_u64 free = hp_pcpu_mask(core);
    const hp_u32 limit = hp_pcpus(core) - (HP_STEALS ? core->thefts : 0);
    const hp_u32 role = hp_holder_role(core);
    hp_u32 count;

    core->weakest = HP_NONE;
    if (hp_pcpus(core) == 1 && limit == 1u && core->quantum_ns == 0) {
        hp_plan_only(core);
        return hp_pcpu_of(core, 0)->plan.holder == HP_NONE ? free : 0;
    }
    count = hp_choose(core, limit, free, role);
    if (count > 0 && count == limit)
        core->weakest = core->chosen[HP_INDEX(limit - 1u, HP_VCPUS)];
    return hp_place(core, count, free, role);
}

/* Who holds the pcpu has its time; the slack rule says who uses what it leaves. */
#define HP_USE(name, NAME, use, ...)                                                               \
    HP_CASE(SLACK_##NAME)                                                                          \
    hp_##use##_use(core, plan);                                                                    \
    break;
HP_FN void hp_plan_pcpu(struct hp_core *core, struct hp_plan *plan) {
    const hp_u32 holder = plan->holder;

    HP_ASSERT(holder == HP_NONE || hp_is_served(core, holder));
    plan->pay = holder;
    plan->run = holder != HP_NONE && hp_server_of(core, holder)->runnable ? holder : HP_NONE;
    plan->also = HP_NONE;
    plan->effort = HP_NONE;
    switch ((enum hp_slack)core->policy.slack) { HP_SLACKS(HP_USE) }
}

/*
 * Whether the one planned in this role goes on with its turn, wherever it had it. A best-effort
 * vcpu that nobody waits for just goes on. This is settled for all pcpus before any of them
 * picks: a pick forgets who was last there.
 */
HP_FN hp_u32 hp_keeps_turn(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    if (!hp_is_vcpu(vcpu))
        return 0;
    return hp_goes_on(core, vcpu, role)
           || (role == HP_EFFORT && !core->effort_waits && hp_was_last(core, vcpu, role));
}

/* What is planned for all pcpus together, and depends on others, or on the clock. */
HP_RARE void hp_plan_rest(struct hp_core *core, hp_u64 free) {
    core->suspects = hp_all_pcpus(core);
    if (hp_has(core, HP_HAS_SPARE))
        hp_plan_spare(core, free);
    if (hp_has(core, HP_HAS_SHARES))
        hp_plan_share(core);
    else if (core->efforts > 0)
        hp_plan_efforts(core);
    if (core->quantum_ns == 0 && core->efforts == 0)
        return;
    HP_FOR (pcpu, hp_pcpus(core)) {
        struct hp_plan *plan = &hp_pcpu_of(core, pcpu)->plan;

        plan->keeps[HP_PAYER] = hp_keeps_turn(core, plan->pay, HP_PAYER);
        plan->keeps[HP_RUNNER] = hp_keeps_turn(core, plan->run, HP_RUNNER);
        plan->keeps[HP_EFFORT] = hp_keeps_turn(core, plan->effort, HP_EFFORT);
    }
}

/* Makes the plan, which stands until something changes. */
HP_ONCE hp_u32 hp_make_plan(struct hp_core *core HP_NOT_NULL) {
    const hp_u64 free = hp_plan_holders(core);

    HP_FOR (pcpu, hp_pcpus(core)) {
        struct hp_plan *plan = &hp_pcpu_of(core, pcpu)->plan;
        const hp_u32 run = plan->run;
        const hp_u32 pay = plan->pay;
        const hp_u32 also = plan->also;

        hp_plan_pcpu(core, plan);
        if ((plan->run ^ run) | (plan->pay ^ pay) | (plan->also ^ also))
            core->suspects |= hp_bit_of(pcpu);
    }
    if (core->quantum_ns > 0 || core->efforts > 0 || hp_has(core, HP_HAS_SPARE | HP_HAS_SHARES))
        hp_plan_rest(core, free);
    core->planned = 1;
    core->planned_ns = core->now_ns;
    return 0;
}

/* Sees that there is a plan for all pcpus. With the clock alone only a turn or a share can end. */
HP_FN void hp_ensure_plan_of_all(struct hp_core *core) {
    if (!core->planned
        || (core->planned_ns != core->now_ns
            && (core->quantum_ns > 0 || core->effort_waits || hp_has(core, HP_HAS_SHARES))))
        hp_make_plan(core);
}

/*
 * Whether a plan that stands could be another one now that this vcpu has work: not if all pcpus run
 * somebody who comes before it.
 */
HP_FN hp_u32 hp_arrival_matters(struct hp_core *core, hp_u32 vcpu) {
    const hp_u32 weakest = core->weakest;
    const struct hp_plan *only = &hp_pcpu_of(core, 0)->plan;

    if (weakest == HP_NONE || core->quantum_ns > 0 || core->bound > 0)
        return 1;
    HP_ASSERT(hp_server_of(core, vcpu)->runnable && hp_present(core, weakest));
    /* Who pays does not depend on work; who runs does, where a payer has none. */
    if (hp_has(core, HP_PAYS_IDLE))
        return hp_pcpus(core) > 1 || only->run != only->holder;
    if (hp_is_effort(hp_server_of(core, vcpu)))
        return 0;
    return hp_precedes(core, vcpu, hp_key_of(&core->ready, vcpu), weakest, HP_RUNNER);
}
