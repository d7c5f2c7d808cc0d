// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The budget rules as one: which rule is asked is a switch over a closed list, so that a new
 * rule breaks the build wherever a decision is missing.
 */
#pragma once

#include "budget/cbs.h"
#include "budget/deferrable.h"
#include "budget/periodic.h"
#include "budget/polling.h"
#include "budget/slice.h"
#include "budget/sporadic.h"

/* Does what is due for this server at 'now' or before: refills, changes, losses. */
HP_STEP void hp_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    switch ((enum hp_budget)core->policy.budget) {
    case HP_BUDGET_PERIODIC:
    case HP_BUDGET_DEFERRABLE:
        hp_timed_catch_up(core, vcpu, now_ns);
        break;
    case HP_BUDGET_POLLING:
        hp_polling_catch_up(core, vcpu, now_ns);
        break;
    case HP_BUDGET_SPORADIC:
        hp_sporadic_catch_up(core, vcpu, now_ns);
        break;
    case HP_BUDGET_CBS:
        hp_cbs_catch_up(core, vcpu, now_ns);
        break;
    case HP_BUDGET_SLICE:
    case HP_BUDGET_SLICE_ONCE:
        hp_slice_catch_up(core, vcpu, now_ns);
        break;
    }
}

HP_RARE void hp_charge_rule(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    switch ((enum hp_budget)core->policy.budget) {
    case HP_BUDGET_PERIODIC:
    case HP_BUDGET_DEFERRABLE:
    case HP_BUDGET_POLLING:
    case HP_BUDGET_SLICE:
    case HP_BUDGET_SLICE_ONCE:
        hp_timed_charge(core, vcpu, from_ns, to_ns);
        break;
    case HP_BUDGET_SPORADIC:
        hp_sporadic_charge(core, vcpu, from_ns, to_ns);
        break;
    case HP_BUDGET_CBS:
        hp_cbs_charge(core, vcpu, from_ns, to_ns);
        break;
    }
}

/* The server pays for the time from 'from' to 'to', with new parameters from their time on. */
HP_FN void hp_charge(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    const hp_u64 change_ns = hp_server_of(core, vcpu)->change_at_ns;

    /* The common case: no refill, and so no change, in between. */
    if (core->policy.budget <= HP_BUDGET_POLLING
        && to_ns <= hp_server_of(core, vcpu)->deadline_ns) {
        hp_spend(core, vcpu, to_ns - from_ns);
        return;
    }
    if (change_ns < to_ns && change_ns > from_ns) {
        hp_charge_rule(core, vcpu, from_ns, change_ns);
        hp_catch_up(core, vcpu, change_ns);
        from_ns = change_ns;
    }
    hp_charge_rule(core, vcpu, HP_FORGET(from_ns), HP_FORGET(to_ns));
}

/* What a rule does when work arrives where there was none; the server is caught up already. */
HP_FN void hp_activate(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    switch ((enum hp_budget)core->policy.budget) {
    case HP_BUDGET_PERIODIC:
    case HP_BUDGET_DEFERRABLE:
    case HP_BUDGET_POLLING:
        break;
    case HP_BUDGET_SPORADIC:
        hp_sporadic_arrive(core, vcpu, now_ns);
        break;
    case HP_BUDGET_CBS:
        hp_cbs_arrive(core, vcpu, now_ns);
        break;
    case HP_BUDGET_SLICE:
    case HP_BUDGET_SLICE_ONCE:
        hp_slice_arrive(core, vcpu, now_ns);
        break;
    }
}

/* The servers that may be given a pcpu: those that would pay, or those that would run. */
HP_FN void hp_candidates(struct hp_core *core) {
    switch ((enum hp_budget)core->policy.budget) {
    case HP_BUDGET_PERIODIC:
        hp_periodic_candidates(core);
        break;
    case HP_BUDGET_DEFERRABLE:
    case HP_BUDGET_POLLING:
    case HP_BUDGET_SPORADIC:
    case HP_BUDGET_CBS:
    case HP_BUDGET_SLICE:
    case HP_BUDGET_SLICE_ONCE:
        hp_working_candidates(core);
        break;
    }
}

/*
 * Puts the server under the rule in force: 'left' of its budget now, the next refill at
 * 'refill'. This is how a server is added (nothing now) and how one comes in by a swap.
 */
HP_FN void hp_start_server(struct hp_core *core, hp_u32 vcpu, hp_i64 left_ns, hp_u64 refill_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    server->level = 0;
    server->extra_ns = 0;
    server->remaining_ns = left_ns;
    server->deadline_ns = refill_ns;
    if (core->policy.budget == HP_BUDGET_SPORADIC) {
        hp_sporadic_start(core, vcpu, core->now_ns, left_ns > 0 ? (hp_u64)left_ns : 0, refill_ns);
        if (left_ns < 0) {
            hp_sporadic_use(core, vcpu, core->now_ns, (hp_u64)-left_ns);
            hp_sporadic_account(core, vcpu, core->now_ns);
        }
    }
    hp_enlist(core, vcpu);
}

/* When the server's current period ends, whatever the rule: its first refill under a new one. */
HP_FN hp_u64 hp_period_end(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 end_ns = server->deadline_ns;

    if (core->policy.budget == HP_BUDGET_SPORADIC)
        end_ns = hp_sporadic_settled_at(core, vcpu, core->now_ns);
    return end_ns > core->now_ns ? end_ns : core->now_ns + server->period_ns;
}

/* When parameters given now take effect: at the next refill, which gives everything back. */
HP_FN hp_u64 hp_change_time(struct hp_core *core, hp_u32 vcpu) {
    const hp_u64 deadline_ns = hp_server_of(core, vcpu)->deadline_ns;

    switch ((enum hp_budget)core->policy.budget) {
    case HP_BUDGET_PERIODIC:
    case HP_BUDGET_DEFERRABLE:
    case HP_BUDGET_POLLING:
        return deadline_ns;
    case HP_BUDGET_SPORADIC:
        return hp_sporadic_settled_at(core, vcpu, core->now_ns);
    case HP_BUDGET_CBS:
    case HP_BUDGET_SLICE:
    case HP_BUDGET_SLICE_ONCE:
        return hp_most(deadline_ns, core->now_ns);
    }
    return deadline_ns;
}
