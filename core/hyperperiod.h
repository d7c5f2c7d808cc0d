// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hyperperiod's core: who runs, who pays, until when. This page is its contract.
 *
 * The core is told the time and never asks; it has no clock, lock, heap or floating point, and
 * calls nobody. One struct hp_core is one lock domain: a pcpu of a partitioned host, or all
 * pcpus of a global one. The host takes its lock, calls one of these, releases the lock and
 * acts on what came back.
 *
 * Within one instant: departures, arrivals, parameters, thefts, returns, kicks and picks. Charges
 * and refills happen inside the calls. Times must not go back; one that does counts as the
 * latest time the core was told. What returns hp_u32 returns an error (types.h: HP_OK, ...), which
 * leaves everything as it was. Files stand in reading order: types, queue, order, account, budget/,
 * placement, slack/, plan, grant; what changes a lock domain: vcpu, pcpu, swap, move; and beside
 * them what is asked of it: look, law, check.
 */
#pragma once

#include "types.h"

/* --- a lock domain --- */

/* Makes a lock domain without vcpus. Until its first pick a pcpu idles. */
HP_RARE hp_u32 hp_init(struct hp_core *core, const struct hp_config *config, hp_u64 now_ns);

/* Replaces the running policy: accounts and deadlines are kept, all pcpus are to pick again. */
HP_RARE hp_u32 hp_set_policy(struct hp_core *core, const struct hp_policy *policy, hp_u64 now_ns);

/* Gives the spare new parameters; it has nothing until its next refill. */
HP_RARE hp_u32 hp_set_spare(struct hp_core *core, hp_u64 period_ns, hp_u64 budget_ns,
                            hp_u64 now_ns);

/* --- vcpus --- */

/* Adds a vcpu, without work, under a number that is free. Its server has no budget until its first
 * refill, at the first multiple of its period that is not in the past. */
HP_RARE hp_u32 hp_add(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                      hp_u64 now_ns);

/* Gives a server new parameters. They take effect at its next refill, which becomes its origin;
 * a second change before that replaces the first. A vcpu keeps being best effort, or not. */
HP_RARE hp_u32 hp_update(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                         hp_u64 now_ns);

/* Takes a vcpu away. Where it ran a pick is asked for. */
HP_RARE hp_u32 hp_remove(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns);

/* Takes a vcpu out with its budget and work, and brings it into another lock domain under a number
 * that is free. */
struct hp_moving;
HP_RARE hp_u32 hp_leave(struct hp_core *core, hp_u32 vcpu, struct hp_moving *moving, hp_u64 now_ns);
HP_RARE hp_u32 hp_join(struct hp_core *core, hp_u32 vcpu, const struct hp_moving *moving,
                       hp_u64 now_ns);

/* The vcpu may run on these pcpus only, as a mask of their numbers. None, or none that is here, is
 * no bound at all. When pcpus come and go, and numbers change, the host says all of it again. */
HP_RARE void hp_bind(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus);

/* The vcpu has work; nothing if it had some. Afterwards the host asks for kicks. */
HP_FN void hp_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns);

/* The vcpu has no work any more. Refills of this instant come after this. Afterwards the host asks
 * for kicks; where the vcpu ran it picks. */
HP_FN void hp_depart(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns);

/* --- pcpus --- */

/* One more pcpu, which idles until its first pick. Its number is that of pcpus before. */
HP_RARE hp_u32 hp_add_pcpu(struct hp_core *core, hp_u64 now_ns);

/* This pcpu is gone, whoever ran there does not any more, and the last pcpu has its number now.
 * The only one stays: a lock domain without pcpus is none. Where contexts take time to save, that
 * of who ran there is on a pcpu without a number: nobody is granted the vcpu until hp_saved. A host
 * that never switched to it has nothing to save and says so at once. */
HP_RARE hp_u32 hp_drop_pcpu(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns);

/* From now on this pcpu runs what nobody granted, and nobody pays for that: an interrupt, a
 * tasklet, threads above the servers. Who ran there is charged up to now. It keeps its budget for
 * what the other pcpus have left, or for later; refills come by the clock. A share ends. Where
 * contexts take time to save, who ran there is held until hp_saved, or until it is granted this
 * pcpu again. */
HP_FN void hp_steal(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns);

/* The pcpu is back: nobody runs there before its next pick, which hp_kicks asks for if need be. */
HP_FN void hp_return(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns);

/* The vcpu is on this pcpu, whatever the grants say, until hp_saved. */
HP_FN void hp_hold(struct hp_core *core, hp_u32 vcpu, hp_u32 pcpu);

/* The vcpu's context is off the pcpu that it ran on: another may have it now. */
HP_FN void hp_saved(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns);

/* --- decisions --- */

/* Ends the grant of this pcpu, which is not stolen, and makes the next one: who runs, who pays,
 * until when. It is in force until the next call. A pick that comes late charges for the time until
 * it; one too many changes nothing. */
HP_FN const struct hp_grant *hp_pick(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns);

/* The pcpus whose grant is no longer right, as a mask: somebody else should run or pay, or the
 * grant must end sooner. A pcpu whose time is up is not named for that alone. One that waits
 * for a vcpu to leave another pcpu is named once that has happened. */
HP_FN hp_u64 hp_kicks(struct hp_core *core, hp_u64 now_ns);

/* Brings all accounts up to now, and returns the first of the laws (check.h) that is broken, or
 * HP_LAW_HOLDS. */
HP_RARE hp_u32 hp_check(struct hp_core *core, hp_u64 now_ns);

/* What a host may look at: look.h. */

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
    core->reports_saved = config->holds;
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
    core->share.until_ns = now_ns;
    core->share.key = HP_NEVER;
    core->share.vcpu = HP_NONE;
    core->share.planned = 0;
    hp_queue_clear(&core->ready);
    hp_queue_clear(&core->due);
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
    hp_ensure_plan(core);
    hp_put_in_force(core, pcpu);
    return hp_granted(core, pcpu);
}

HP_FN hp_u64 hp_kicks(struct hp_core *core, hp_u64 now_ns) {
    hp_u64 kicks = 0;

    hp_settle(core, now_ns);
    hp_ensure_plans(core);
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
    return kicks;
}
