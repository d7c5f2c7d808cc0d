// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One pcpu, and nothing on it but servers that take no turns (hp_core.alone): who is first has it,
 * and nobody has to let go of anything first. This is what a partitioned host decides most of the
 * time, so it is short; it is what the plan and the grants of several pcpus come to here.
 */
#pragma once

#include "grant.h"

/* Sees that there is a plan for the pcpu. */
HP_FN void hp_ensure_plan_alone(struct hp_core *core) {
    if (core->planned)
        return;
    hp_plan_only(core);
    hp_plan_pcpu(core, &hp_pcpu_of(core, 0)->plan);
    core->planned = 1;
    core->suspects = 1;
}

/* Sees that there is a plan, whatever there is on the pcpus. */
HP_FN void hp_ensure_plan(struct hp_core *core) {
    if (core->alone)
        hp_ensure_plan_alone(core);
    else
        hp_ensure_plan_of_all(core);
}

/* Who should run on the pcpu, as soon as its context is there. */
HP_FN hp_u32 hp_only_run(struct hp_core *core, const struct hp_plan *plan) {
    return hp_reports_saved(core) ? hp_able_to_run(core, plan->run, 0) : plan->run;
}

/* Makes the planned grant the grant in force, until its payers or an alarm end it. */
HP_FN void hp_pick_alone(struct hp_core *core) {
    struct hp_pcpu *only = hp_pcpu_of(core, 0);
    struct hp_grant *grant = &only->grant;
    const hp_u32 pay = only->plan.pay;
    const hp_u32 run = hp_only_run(core, &only->plan);
    const hp_u32 also = only->plan.also == HP_NONE ? HP_NONE : run;
    hp_u64 end_ns = HP_NEVER;

    HP_ASSERT(core->alone && core->planned);
    grant->start_ns = core->now_ns;
    grant->run = run;
    grant->pay = pay;
    grant->also = also;
    grant->level = 0;
    if (pay != HP_NONE) {
        const struct hp_server *payer = hp_server_of(core, pay);

        grant->level = payer->level;
        only->last[HP_PAYER] = pay;
        end_ns = hp_server_pays_until(payer, only->charged_ns);
    }
    if (run != HP_NONE)
        only->last[HP_RUNNER] = run;
    if (also != HP_NONE)
        end_ns = hp_payers_end(core, only);
    end_ns = hp_refill_until(core, end_ns);
    grant->until_ns = end_ns;
    only->holder = only->plan.holder;
    only->must_repick = 0;
    only->invalid_since_ns = HP_NEVER;
    core->due_ns = end_ns;
    core->suspects = run != only->plan.run;
    HP_ASSERT(grant->until_ns > core->now_ns);
}

/* Whether the grant in force is not what is planned, or ends too late: 1 is the pcpu's bit. It
 * stays suspected until it is neither. */
HP_FN hp_u64 hp_kicks_alone(struct hp_core *core) {
    const struct hp_pcpu *only = hp_pcpu_of(core, 0);
    const struct hp_grant *grant = &only->grant;
    const struct hp_plan *plan = &only->plan;
    const hp_u32 run = hp_only_run(core, plan);
    const hp_u32 also = plan->also == HP_NONE ? HP_NONE : run;
    const hp_u32 level = hp_level_of(core, plan->pay);

    HP_ASSERT(core->alone && core->planned);
    core->suspects = 1;
    if ((grant->run ^ run) | (grant->pay ^ plan->pay) | (grant->also ^ also)
        | (grant->level ^ level) | only->must_repick)
        return 1;
    core->due_ns = hp_refill_until(core, grant->until_ns);
    if (core->due_ns < grant->until_ns || hp_payers_end(core, only) < grant->until_ns)
        return 1;
    core->suspects = run != plan->run;
    return 0;
}
