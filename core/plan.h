// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The plan: what every pcpu of the lock domain should be granted now. First the pcpus go to the
 * servers that are first in order, then the slack rule says what becomes of time that its owner
 * does not need, then best-effort vcpus fill what is idle.
 */
#pragma once

#include "effort.h"
#include "slack/lend.h"
#include "slack/none.h"
#include "slack/reclaim.h"
#include "slack/spare.h"
#include "slack/weights.h"

/* The server that is first on the only pcpu. */
HP_FN hp_u32 hp_plan_alone(struct hp_core *core, hp_u32 role) {
    if (hp_stolen(core))
        return HP_NONE;
    if (core->quantum_ns > 0)
        return hp_choose(core, 1, 1, role) > 0 ? core->chosen[0] : HP_NONE;
    return hp_ready_first(core, hp_only_pcpu(core)->last[HP_INDEX(role, HP_ROLES)]);
}

/* Gives the pcpus to the servers that are first; returns the pcpus that nobody holds. */
HP_FN hp_u64 hp_plan_holders(struct hp_core *core) {
    const hp_u32 role = hp_holder_role(core);
    hp_u32 count;

    if (hp_pcpus(core) == 1) {
        hp_only_pcpu(core)->plan_holder = hp_plan_alone(core, role);
        return hp_only_pcpu(core)->plan_holder == HP_NONE ? hp_pcpu_mask(core) : 0;
    }
    count =
        hp_choose(core, hp_pcpus(core) - (HP_STEALS ? core->thefts : 0), hp_pcpu_mask(core), role);
    return hp_place(core, count, hp_pcpu_mask(core), role);
}

/* What becomes of the time of one pcpu. */
#define HP_USE(name, NAME, use, ...)                                                               \
    HP_CASE(SLACK_##NAME)                                                                          \
    hp_##use##_use(core, slot);                                                                    \
    break;
HP_FN void hp_plan_pcpu(struct hp_core *core, struct hp_pcpu *slot) {
    slot->plan_effort = HP_NONE;
    hp_owner_use(core, slot);
    switch ((enum hp_slack)core->policy.slack) { HP_SLACKS(HP_USE) }
}

/* Whether the plan still stands: with the clock alone only a turn or a share can end. */
HP_FN hp_u32 hp_plan_stands(const struct hp_core *core) {
    if (!core->planned)
        return 0;
    if (core->plain || core->planned_ns == core->now_ns)
        return 1;
    return core->quantum_ns == 0 && !core->effort_waits && !hp_has(core, HP_HAS_SHARES);
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

HP_RARE void hp_plan_turns(struct hp_core *core) {
    HP_FOR (pcpu, HP_PCPUS) {
        struct hp_pcpu *slot = hp_pcpu_of(core, pcpu);

        if (pcpu >= hp_pcpus(core))
            break;
        slot->plan_keeps[HP_PAYER] = hp_keeps_turn(core, slot->plan_pay, HP_PAYER);
        slot->plan_keeps[HP_RUNNER] = hp_keeps_turn(core, slot->plan_run, HP_RUNNER);
        slot->plan_keeps[HP_EFFORT] = hp_keeps_turn(core, slot->plan_effort, HP_EFFORT);
    }
}

/*
 * Whether a plan that stands could be another one now that this vcpu has work. On one pcpu that
 * can be told from who holds it and who runs; elsewhere, and among turns, a new plan is made.
 */
HP_FN hp_u32 hp_arrival_matters(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);
    const struct hp_pcpu *slot = hp_only_pcpu(core);
    hp_u64 holders;
    hp_u64 key;

    if (hp_pcpus(core) > 1 || core->quantum_ns > 0 || slot->plan_run == HP_NONE
        || hp_is_spare(slot->plan_pay))
        return 1;
    if (server->flags & HP_BEST_EFFORT)
        return 0;
    /* Who pays does not depend on work; who runs does, if the payer left its time to others. */
    if (hp_has(core, HP_PAYS_IDLE))
        return slot->plan_run != slot->plan_holder;
    key = hp_key_of(&core->ready, vcpu);
    holders = hp_key_of(&core->ready, slot->plan_holder);
    if (key != holders)
        return key < holders;
    return hp_break_tie(core, vcpu, slot->plan_holder, HP_RUNNER);
}

HP_RARE void hp_plan_all(struct hp_core *core) {
    const hp_u64 free = hp_plan_holders(core);

    HP_FOR (pcpu, HP_PCPUS) {
        if (pcpu >= hp_pcpus(core))
            break;
        hp_pcpu_of(core, pcpu)->plan_new = 1;
        hp_plan_pcpu(core, hp_pcpu_of(core, pcpu));
    }
    if (hp_has(core, HP_HAS_SPARE))
        hp_spare_use(core, free);
    if (hp_has(core, HP_HAS_SHARES))
        hp_weights_use(core, hp_only_pcpu(core));
    else if (core->efforts > 0)
        hp_plan_effort(core);
    if (core->quantum_ns > 0 || core->efforts > 0)
        hp_plan_turns(core);
}

/* The plan is made, and stands until something changes. */
HP_FN void hp_plan_made(struct hp_core *core) {
    core->planned = 1;
    core->planned_ns = core->now_ns;
}

/* The same where there is one pcpu and neither turns, best effort, a spare nor shares. */
HP_SHARED void hp_plan_plain(struct hp_core *core) {
    struct hp_pcpu *slot = hp_only_pcpu(core);

    slot->plan_holder = hp_ready_first(core, slot->last[hp_holder_role(core)]);
    slot->plan_new = 1;
    hp_plan_pcpu(core, slot);
    hp_plan_made(core);
}

HP_ONCE HP_NOTHING hp_make_plan(struct hp_core *core HP_NOT_NULL) {
    if (core->plain) {
        hp_plan_plain(core);
    } else {
        hp_plan_all(core);
        hp_plan_made(core);
    }
    HP_DONE();
}

HP_FN void hp_plan(struct hp_core *core) {
    if (!hp_plan_stands(core))
        hp_make_plan(core);
}
