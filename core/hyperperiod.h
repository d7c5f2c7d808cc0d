// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The core as a host includes it: its contract (contract.h), what a host may look at (look.h), and
 * the entries that all else comes together in: a lock domain is made, a pcpu picks, and pcpus whose
 * grant is no longer right are named.
 */
#pragma once

#include "contract.h"

#include "check.h"
#include "look.h"
#include "move.h"
#include "pcpu.h"

HP_COLD hp_u32 hp_validate_config(const struct hp_config *config) {
    if (config->pcpus == 0 || config->pcpus > HP_PCPUS)
        return HP_ERROR_PCPUS;
    if (!hp_policy_legal(&config->policy, config->pcpus))
        return HP_ERROR_POLICY;
    if (config->quantum_ns >= HP_TIME_MAX)
        return HP_ERROR_QUANTUM;
    if (config->spare_period_ns > HP_TIME_MAX || config->spare_budget_ns > config->spare_period_ns
        || (hp_slack_traits(config->policy.slack) & HP_HAS_SPARE && config->spare_period_ns == 0))
        return HP_ERROR_SPARE;
    if (config->quantum_ns > 0 && config->quantum_ns < HP_QUARTER * config->decision_ns)
        return HP_ERROR_QUANTUM;
    if (config->spare_period_ns > 0 && config->spare_period_ns < HP_QUARTER * config->decision_ns)
        return HP_ERROR_SPARE;
    return HP_OK;
}

HP_COLD hp_u32 hp_init(struct hp_core *core, const struct hp_config *config, hp_u64 now_ns) {
    const hp_u32 error = hp_validate_config(config);

    if (error)
        return error;
    hp_set_rules(core, &config->policy);
    core->pcpus = config->pcpus;
    core->holds = config->holds;
    core->quantum_ns = config->quantum_ns;
    core->decision_ns = config->decision_ns;
    core->now_ns = now_ns;
    core->planned_ns = now_ns;
    HP_FOR (vcpu, HP_VCPUS) {
        hp_clear_server(hp_server_of(core, vcpu));
        hp_server_of(core, vcpu)->present = 0;
        core->affinity[HP_INDEX(vcpu, HP_VCPUS)] = 0;
    }
    HP_FOR (pcpu, HP_PCPUS) {
        hp_clear_pcpu(hp_pcpu_of(core, pcpu), now_ns);
    }
    core->share.vcpu = HP_NONE;
    core->share.planned = 0;
    core->share.until_ns = now_ns;
    core->share.key = HP_NEVER;
    core->spare.period_ns = config->spare_period_ns;
    core->spare.budget_ns = config->spare_budget_ns;
    core->spare.remaining_ns = 0;
    core->spare.late_ns = 0;
    core->spare.deadline_ns = HP_NEVER;
    if (config->spare_period_ns > 0)
        core->spare.deadline_ns = hp_first_refill(core, config->spare_period_ns);
    core->bound = 0;
    core->stolen = 0;
    core->thefts = 0;
    hp_clear_queues(core);
    hp_see_plain(core);
    return HP_OK;
}

HP_FN void hp_pick(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns, struct hp_grant *out) {
    HP_ASSERT(pcpu < hp_pcpus(core) && !hp_is_stolen(core, pcpu));
    if (core->plain) {
        hp_pick_plain(core, now_ns, out);
    } else {
        hp_settle(core, now_ns);
        hp_plan(core);
        hp_put_in_force(core, pcpu);
        hp_copy_grant(out, &hp_pcpu_of(core, pcpu)->grant);
    }
}

/* Whether the only pcpu has to pick again: nothing can keep it from what the plan says. */
HP_FN hp_u32 hp_kick_alone(struct hp_core *core) {
    struct hp_pcpu *slot = hp_only_pcpu(core);
    const struct hp_grant *grant = &slot->grant;
    const hp_u32 planned = slot->plan_run != HP_NONE ? slot->plan_run : slot->plan_effort;
    const hp_u32 run = hp_holds(core) ? hp_able_to_run(core, planned, 0) : planned;

    if (hp_stolen(core))
        return 0;
    if (slot->must_repick)
        return 1;
    if (slot->plan_new
        && (((grant->run ^ run) | (grant->pay ^ slot->plan_pay)
             | (grant->also ^ hp_also_pays(slot, run))
             | (grant->level ^ hp_level_of(core, slot->plan_pay)))
            || hp_grant_end(core, slot) < grant->until_ns))
        return 1;
    return grant->until_ns > hp_next_alarm(core);
}

HP_FN hp_u64 hp_kicks(struct hp_core *core, hp_u64 now_ns) {
    hp_u64 kicks = 0;

    hp_settle(core, now_ns);
    hp_plan(core);
    if (hp_pcpus(core) == 1)
        return hp_kick_alone(core);
    HP_FOR (pcpu, HP_PCPUS) {
        if (pcpu >= hp_pcpus(core))
            break;
        if (hp_grant_wrong(core, pcpu))
            kicks |= 1ull << pcpu;
    }
    /* Somebody must wake up for the next alarm; a pcpu that picks takes care of it. */
    if (kicks == 0 && hp_first_end(core, HP_NONE) > hp_next_alarm(core))
        kicks = hp_pcpu_mask(core) & -hp_pcpu_mask(core);
    return kicks;
}
