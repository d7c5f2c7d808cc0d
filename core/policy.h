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

/* The slack rules of servers that are charged only for what they run. */
HP_FN hp_u32 hp_slack_of_demand(hp_u32 slack) {
    return slack == HP_SLACK_NONE || slack == HP_SLACK_SPARE || slack == HP_SLACK_EXTRA;
}

/*
 * Whether the rules go together. Lending and reclaiming speak of idle budget, which only the
 * periodic rule has, and of one pcpu. Spare and extra time speak of depleted servers whose own
 * time is not charged to anybody: the other rules. Weights speak of slices, and of one pcpu;
 * so do the two classes of fp-edf.
 * Across several pcpus at once only periodic, deferrable and cbs are defined.
 */
HP_FN hp_u32 hp_policy_legal(const struct hp_policy *policy, hp_u32 pcpus) {
    if (policy->budget > HP_BUDGET_SLICE_ONCE || policy->order > HP_ORDER_FP_EDF
        || policy->slack > HP_SLACK_WEIGHTS)
        return 0;
    if (policy->order == HP_ORDER_FP_EDF && policy->budget != HP_BUDGET_SLICE)
        return 0;
    switch ((enum hp_budget)policy->budget) {
    case HP_BUDGET_PERIODIC:
        if (policy->slack == HP_SLACK_LEND || policy->slack == HP_SLACK_RECLAIM)
            return pcpus == 1;
        return policy->slack == HP_SLACK_NONE;
    case HP_BUDGET_DEFERRABLE:
    case HP_BUDGET_CBS:
        return hp_slack_of_demand(policy->slack);
    case HP_BUDGET_POLLING:
    case HP_BUDGET_SPORADIC:
        return pcpus == 1 && hp_slack_of_demand(policy->slack);
    case HP_BUDGET_SLICE:
    case HP_BUDGET_SLICE_ONCE:
        return pcpus == 1
               && (policy->slack == HP_SLACK_NONE || policy->slack == HP_SLACK_EXTRA
                   || policy->slack == HP_SLACK_WEIGHTS);
    }
    return 0;
}
