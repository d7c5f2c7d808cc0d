// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Policies: the rows that have a name, and which rules go together at all.
 *
 * A policy is (budget, order, slack) and where it is decided: on each pcpu for itself, or on
 * all pcpus of the lock domain together.
 */
#pragma once

#include "types.h"

/* ROW(name, scope, budget, order, slack); scope is one, partitioned or global. */
#define HP_POLICIES(ROW)                                                                           \
    ROW("ptps", partitioned, HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_NONE)                       \
    ROW("wcps", partitioned, HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_LEND)                       \
    ROW("crps", partitioned, HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_RECLAIM)                    \
    ROW("ds", partitioned, HP_BUDGET_DEFERRABLE, HP_ORDER_FP, HP_SLACK_NONE)                       \
    ROW("polling", partitioned, HP_BUDGET_POLLING, HP_ORDER_FP, HP_SLACK_NONE)                     \
    ROW("sporadic", partitioned, HP_BUDGET_SPORADIC, HP_ORDER_FP, HP_SLACK_NONE)                   \
    ROW("rtds", global, HP_BUDGET_DEFERRABLE, HP_ORDER_EDF, HP_SLACK_EXTRA)                        \
    ROW("ertds", global, HP_BUDGET_DEFERRABLE, HP_ORDER_EDF, HP_SLACK_SPARE)                       \
    ROW("cbs", partitioned, HP_BUDGET_CBS, HP_ORDER_EDF, HP_SLACK_NONE)                            \
    ROW("sedf", partitioned, HP_BUDGET_SLICE_ONCE, HP_ORDER_EDF, HP_SLACK_WEIGHTS)                 \
    ROW("sedf-prime", partitioned, HP_BUDGET_SLICE, HP_ORDER_EDF, HP_SLACK_WEIGHTS)                \
    ROW("psedf", partitioned, HP_BUDGET_SLICE, HP_ORDER_FP_EDF, HP_SLACK_WEIGHTS)                  \
    ROW("hsf-fp", one, HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_NONE)                             \
    ROW("partitioned-hsf-fp", partitioned, HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_NONE)

/* The most that a server can have under a budget rule, in budgets. */
#define HP_MOST_BUDGETS(name, NAME, catch_up, charge, arrive, account, traits, most, ...)          \
    case HP_BUDGET_##NAME:                                                                         \
        return most;
HP_FN hp_u32 hp_most_budgets(hp_u32 budget) {
    switch ((enum hp_budget)budget) { HP_BUDGETS(HP_MOST_BUDGETS) }
    return 1;
}

/* The same in ns, for this server under the rule in force. */
HP_FN hp_i64 hp_most_ns(const struct hp_core *core, const struct hp_server *server) {
    return (hp_i64)(server->params.budget_ns * hp_most_budgets(core->policy.budget));
}

/* What a budget rule's row says in one number, 16 bits each from the lowest on: its traits, the
 * orders that it goes with, the slack rules on one pcpu, and on several; 0 of one that is not
 * offered. */
#define HP_BUDGET_ROW(name, NAME, catch_up, charge, arrive, account, traits, most, orders, one,    \
                      several)                                                                     \
    case HP_BUDGET_##NAME:                                                                         \
        return HP_OFFERS(BUDGET_##NAME) ? (traits) | (hp_u64)(orders) << 16 | (hp_u64)(one) << 32  \
                                              | (hp_u64)(several) << 48                            \
                                        : 0;
HP_FN hp_u64 hp_budget_row(hp_u32 budget) {
    switch ((enum hp_budget)budget) { HP_BUDGETS(HP_BUDGET_ROW) }
    return 0;
}

#define HP_ORDER_TRAITS(name, NAME, traits)                                                        \
    case HP_ORDER_##NAME:                                                                          \
        return traits;
HP_FN hp_u32 hp_order_traits(hp_u32 order) {
    switch ((enum hp_order)order) { HP_ORDERS(HP_ORDER_TRAITS) }
    return 0;
}

#define HP_SLACK_TRAITS(name, NAME, use, pays, traits)                                             \
    case HP_SLACK_##NAME:                                                                          \
        return traits;
HP_FN hp_u32 hp_slack_traits(hp_u32 slack) {
    switch ((enum hp_slack)slack) { HP_SLACKS(HP_SLACK_TRAITS) }
    return 0;
}

/* The rules in force from now on. */
HP_RARE void hp_set_rules(struct hp_core *core, const struct hp_policy *policy) {
    core->policy.budget = policy->budget;
    core->policy.order = policy->order;
    core->policy.slack = policy->slack;
    core->traits = (hp_u32)(hp_budget_row(policy->budget) & 0xffffu)
                   | hp_order_traits(policy->order) | hp_slack_traits(policy->slack);
}

/* Order and slack rules that are offered, as sets. */
#define HP_ORDER_BIT(name, NAME, ...) | HP_OFFERS(ORDER_##NAME) << HP_ORDER_##NAME
#define HP_SLACK_BIT(name, NAME, ...) | HP_OFFERS(SLACK_##NAME) << HP_SLACK_##NAME

/* Whether the rules are offered and go together, on so many pcpus. */
HP_RARE hp_u32 hp_policy_legal(const struct hp_policy *policy, hp_u32 pcpus) {
    const hp_u64 row = hp_budget_row(policy->budget);
    const hp_u32 orders = row >> 16 & 0xffffu;
    const hp_u32 slacks = pcpus == 1 ? row >> 32 & 0xffffu : (hp_u32)(row >> 48);

    if (policy->order >= HP_ORDER_RULES || policy->slack >= HP_SLACK_RULES)
        return 0;
    return (orders & (0u HP_ORDERS(HP_ORDER_BIT))) >> policy->order
           & (slacks & (0u HP_SLACKS(HP_SLACK_BIT))) >> policy->slack & 1u;
}

/* The first of the policies that are offered on so many pcpus; returns whether there is one. */
HP_RARE hp_u32 hp_first_policy(struct hp_policy *policy, hp_u32 pcpus) {
    HP_FOR (number, HP_BUDGET_RULES * HP_ORDER_RULES * HP_SLACK_RULES) {
        policy->budget = number % HP_BUDGET_RULES;
        policy->order = number / HP_BUDGET_RULES % HP_ORDER_RULES;
        policy->slack = number / HP_BUDGET_RULES / HP_ORDER_RULES;
        if (hp_policy_legal(policy, pcpus))
            return 1;
    }
    return 0;
}
