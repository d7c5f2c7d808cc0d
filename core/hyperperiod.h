// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hyperperiod's core: who runs, who pays, until when. This is what a host includes; the calls are
 * those of contract.h, and what a host may look at is in look.h. Here stand how a lock domain is
 * made, and the two calls that decide.
 */
#pragma once

#include "contract.h"

#include "check.h"
#include "look.h"
#include "move.h"
#include "pcpu.h"

/* Whether a lock domain can have this configuration. */
HP_RARE hp_u32 hp_validate_config(const struct hp_config *config) {
    const hp_u32 has_spare = hp_slack_traits(config->policy.slack) & HP_HAS_SPARE;
    const hp_u64 shortest_ns = HP_QUARTER * config->decision_ns;

    if (config->pcpus == 0 || config->pcpus > HP_PCPUS)
        return HP_ERROR_PCPUS;
    if (!hp_policy_legal(&config->policy, config->pcpus))
        return HP_ERROR_POLICY;
    if (config->quantum_ns >= HP_TIME_MAX)
        return HP_ERROR_QUANTUM;
    if (config->spare_period_ns > HP_TIME_MAX || config->spare_budget_ns > config->spare_period_ns
        || (has_spare && config->spare_period_ns == 0))
        return HP_ERROR_SPARE;
    if (config->quantum_ns > 0 && config->quantum_ns < shortest_ns)
        return HP_ERROR_QUANTUM;
    if (config->spare_period_ns > 0 && config->spare_period_ns < shortest_ns)
        return HP_ERROR_SPARE;
    return HP_OK;
}

HP_RARE hp_u32 hp_init(struct hp_core *core, const struct hp_config *config, hp_u64 now_ns) {
    const hp_u32 error = hp_validate_config(config);

    if (error)
        return error;
    hp_set_rules(core, &config->policy);
    core->pcpus = config->pcpus;
    core->reports_saved = config->reports_saved;
    core->numbers = 0;
    core->efforts = 0;
    core->bound = 0;
    core->thefts = 0;
    core->swapping = 0;
    core->quantum_ns = config->quantum_ns;
    core->decision_ns = config->decision_ns;
    core->stolen = 0;
    core->now_ns = now_ns;
    core->due_ns = 0;
    core->effort_waits = 0;
    core->weakest = HP_NONE;
    core->planned_ns = now_ns;
    hp_replan_all(core);
    core->spare.period_ns = config->spare_period_ns;
    core->spare.budget_ns = config->spare_budget_ns;
    core->spare.remaining_ns = 0;
    core->spare.late_ns = 0;
    core->spare.deadline_ns = HP_NEVER;
    if (config->spare_period_ns > 0)
        core->spare.deadline_ns = hp_first_refill(core, config->spare_period_ns);
    hp_end_shares(core);
    hp_queue_clear(&core->ready);
    hp_queue_clear(&core->due);
    HP_FOR (word, HP_WORDS)
        core->work[word] = 0;
    HP_FOR (vcpu, HP_VCPUS) {
        hp_clear_server(hp_server_of(core, vcpu));
        core->bound_to[HP_INDEX(vcpu, HP_VCPUS)] = 0;
    }
    HP_FOR (pcpu, HP_PCPUS)
        hp_clear_pcpu(hp_pcpu_of(core, pcpu), now_ns);
    return HP_OK;
}

HP_FN const struct hp_grant *hp_pick(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    HP_ASSERT(pcpu < hp_pcpus(core) && !hp_is_stolen(core, pcpu));
    hp_settle(core, now_ns);
    if (core->alone) {
        hp_charge_pcpu(core, 0);
        hp_ensure_plan_alone(core);
        hp_pick_alone(core);
        return hp_only_granted(core);
    }
    hp_charge_pcpu(core, pcpu);
    hp_ensure_plan_of_all(core);
    hp_put_in_force(core, pcpu);
    return hp_granted(core, pcpu);
}

HP_FN hp_u64 hp_kicks(struct hp_core *core, hp_u64 now_ns) {
    hp_u64 kicks = 0;

    hp_settle(core, now_ns);
    hp_ensure_plan(core);
    HP_ASSERT(core->planned && !(core->suspects & ~hp_all_pcpus(core)));
    if (!core->suspects && core->due_ns > 0)
        return 0;
    if (core->alone)
        return hp_kicks_alone(core);
    HP_FOR (pcpu, hp_pcpus(core)) {
        if (!(core->suspects & hp_bit_of(pcpu)))
            continue;
        if (hp_grant_wrong(core, pcpu))
            kicks |= hp_bit_of(pcpu);
        else
            hp_clear_suspect(core, pcpu);
    }
    /* Somebody must wake up for the next alarm; a pcpu that picks takes care of it. */
    if (kicks == 0) {
        const hp_u64 end_ns = hp_first_end(core, HP_NONE);

        core->due_ns = hp_alarm_until(core, end_ns);
        if (core->due_ns < end_ns)
            kicks = hp_pcpu_mask(core) & -hp_pcpu_mask(core);
        core->suspects |= kicks;
    }
    HP_ASSERT(!(kicks & hp_stolen(core)));
    return kicks;
}
