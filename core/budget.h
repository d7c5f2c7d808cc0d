// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The budget rules as one: who does what for a rule is said by its row (rules.h). Each of these
 * functions is a switch over all rows, and calls by name: where a rule's file is not included, or
 * has no function that its row names, the build breaks.
 */
#pragma once

#include "budget/cbs.h"
#include "budget/deferrable.h"
#include "budget/periodic.h"
#include "budget/polling.h"
#include "budget/slice.h"
#include "budget/sporadic.h"

/* Does what is due for this server at 'now' or before: refills, changes, losses. */
#define HP_CATCH_UP(name, NAME, catch_up, ...)                                                     \
    HP_CASE(BUDGET_##NAME)                                                                         \
    hp_##catch_up##_catch_up(core, vcpu, now_ns);                                                  \
    break;
HP_ONCE hp_u32 hp_catch_up(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu, hp_u64 now_ns) {
    switch ((enum hp_budget)core->policy.budget) { HP_BUDGETS(HP_CATCH_UP) }
    return 0;
}

#define HP_CHARGE(name, NAME, catch_up, charge, ...)                                               \
    HP_CASE(BUDGET_##NAME)                                                                         \
    hp_##charge##_charge(core, vcpu, from_ns, to_ns);                                              \
    break;
HP_ONCE hp_u32 hp_charge_rule(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu, hp_u64 from_ns,
                              hp_u64 to_ns) {
    switch ((enum hp_budget)core->policy.budget) { HP_BUDGETS(HP_CHARGE) }
    return 0;
}

/* A charge where refills or new parameters may come in between. */
HP_ONCE hp_u32 hp_charge_events(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu, hp_u64 from_ns,
                                hp_u64 to_ns) {
    const hp_u64 change_ns = hp_server_of(core, vcpu)->change_at_ns;

    if (change_ns < to_ns && change_ns >= from_ns) {
        hp_charge_rule(core, vcpu, from_ns, change_ns);
        hp_catch_up(core, vcpu, change_ns);
        from_ns = change_ns;
    }
    hp_charge_rule(core, vcpu, HP_FORGET(from_ns), HP_FORGET(to_ns));
    return 0;
}

/* Whether nothing comes in between that splits a charge up to 'to': no refill, and so no change;
 * or, where refills do not, just no change. */
HP_FN hp_u32 hp_charges_whole(const struct hp_core *core, const struct hp_server *server,
                              hp_u64 to_ns) {
    if (hp_has(core, HP_TIMED))
        return to_ns <= server->deadline_ns;
    return hp_has(core, HP_CARRIES) && !hp_has(core, HP_HAS_LEVELS)
           && to_ns <= server->change_at_ns;
}

/* The server pays for the time from 'from' to 'to', with new parameters from their time on. Nearly
 * always that is one subtraction. */
HP_FN void hp_charge(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    HP_ASSERT(from_ns <= to_ns && hp_is_served(core, vcpu));
    if (hp_charges_whole(core, hp_server_of(core, vcpu), to_ns))
        hp_spend(core, vcpu, to_ns - from_ns);
    else
        hp_charge_events(core, vcpu, from_ns, to_ns);
}

/* What a rule does when work arrives where there was none; the server is caught up already. */
#define HP_ARRIVE(name, NAME, catch_up, charge, arrive, ...)                                       \
    HP_CASE(BUDGET_##NAME)                                                                         \
    hp_##arrive##_arrive(core, vcpu, now_ns);                                                      \
    break;
HP_FN void hp_activate(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    HP_ASSERT(hp_server_of(core, vcpu)->change_at_ns > now_ns);
    switch ((enum hp_budget)core->policy.budget) { HP_BUDGETS(HP_ARRIVE) }
}

/*
 * Puts the server under the rule in force: 'left' of its budget now, the next refill at
 * 'refill'. This is how a server is added (nothing now) and how one comes in by a swap. Who asks
 * tells the queues.
 */
#define HP_START(name, NAME, catch_up, charge, arrive, account, ...)                               \
    HP_CASE(BUDGET_##NAME)                                                                         \
    hp_##account##_start(core, vcpu, left_ns, refill_ns);                                          \
    break;
HP_FN void hp_start_server(struct hp_core *core, hp_u32 vcpu, hp_i64 left_ns, hp_u64 refill_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    HP_ASSERT(left_ns <= hp_most_ns(core, server));
    server->level = 0;
    server->extra_ns = 0;
    server->remaining_ns = left_ns;
    server->deadline_ns = refill_ns;
    switch ((enum hp_budget)core->policy.budget) { HP_BUDGETS(HP_START) }
}

/* When nothing is owed any more of what was used so far, if that is to come. */
#define HP_SETTLED_AT(name, NAME, catch_up, charge, arrive, account, ...)                          \
    HP_CASE(BUDGET_##NAME)                                                                         \
    return hp_##account##_settled_at(core, vcpu);
HP_FN hp_u64 hp_settled_at(struct hp_core *core, hp_u32 vcpu) {
    switch ((enum hp_budget)core->policy.budget) { HP_BUDGETS(HP_SETTLED_AT) }
    return HP_NEVER;
}
