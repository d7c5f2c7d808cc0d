// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rules: one row each. Everything that has a word or a number for a rule is made of these
 * rows: the enums, who does what (budget.h, plan.h, check.h), which rules go together (policy.h),
 * the words of every host, and the tables of the Python package.
 *
 * A number is a row's place, and it stands in trace files: a new rule is a new last row.
 *
 * A budget rule is its file in core/budget and its row here. The row says
 *
 *   name      its word in files and on command lines
 *   NAME      its name in the enum
 *   catch_up  whose hp_*_catch_up does what is due, refills above all
 *   charge    whose hp_*_charge takes a span of time from the account
 *   arrive    whose hp_*_arrive acts when work arrives where there was none
 *   account   whose hp_*_start, hp_*_settled_at and hp_*_holds know what a server has besides
 *             what remains and its deadline: plain for nothing
 *   traits    what others must know of it (below)
 *   most      the most that a server can have, in budgets
 *   orders    the order rules that it goes with
 *   one       the slack rules that it goes with on one pcpu
 *   several   those on several pcpus together; 0: it is not defined there
 */
#pragma once

#include "env.h"

/* Traits of budget rules. */
#define HP_TIMED 1u      /* budget comes back at each deadline, whatever was used before */
#define HP_KEEPS 2u      /* a server without work loses nothing by that, but may pay for the time */
#define HP_PAYS_IDLE 4u  /* a server pays when it is its turn, whether or not it has work */
#define HP_WHEN_EMPTY 8u /* budget comes back only to a server that has used it up */
#define HP_CARRIES 256u  /* a charge is not split at refills: an overrun is a debt that they pay */

/* Traits of order and slack rules. */
#define HP_BY_PRIORITY 16u  /* who has a priority is ordered by it ... */
#define HP_BY_DEADLINE 512u /* ... and who has none by deadline */
#define HP_HAS_SPARE 32u    /* there is a budget that nobody owns */
#define HP_HAS_LEVELS 64u   /* who has used up its budget may go on at a lower level */
#define HP_HAS_SHARES 128u  /* time that nobody with budget asks for goes in shares */

/* Sets of rules that go with a rule. */
#define HP_BIT(rule) (1u << (rule))
#define HP_FP_OR_EDF (HP_BIT(HP_ORDER_FP) | HP_BIT(HP_ORDER_EDF))
#define HP_ANY_ORDER (HP_FP_OR_EDF | HP_BIT(HP_ORDER_FP_EDF))
/* Without a slack rule. */
#define HP_NO_SLACK HP_BIT(HP_SLACK_NONE)
/* Lending and reclaiming speak of idle budget, which only a server has that pays for idle time. */
#define HP_OF_IDLE (HP_NO_SLACK | HP_BIT(HP_SLACK_LEND) | HP_BIT(HP_SLACK_RECLAIM))
/* Spare and extra time speak of depleted servers, whose own time is not charged to anybody. */
#define HP_OF_DEMAND (HP_NO_SLACK | HP_BIT(HP_SLACK_SPARE) | HP_BIT(HP_SLACK_EXTRA))
/* Weights speak of slices. */
#define HP_OF_SLICES (HP_NO_SLACK | HP_BIT(HP_SLACK_EXTRA) | HP_BIT(HP_SLACK_WEIGHTS))

/* How is budget spent, and when does it come back? */
#define HP_BUDGETS(ROW)                                                                            \
    ROW("periodic", PERIODIC, timed, timed, no, plain, HP_TIMED | HP_KEEPS | HP_PAYS_IDLE, 1,      \
        HP_FP_OR_EDF, HP_OF_IDLE, HP_NO_SLACK)                                                     \
    ROW("deferrable", DEFERRABLE, timed, timed, no, plain, HP_TIMED | HP_KEEPS, 1, HP_FP_OR_EDF,   \
        HP_OF_DEMAND, HP_OF_DEMAND)                                                                \
    ROW("polling", POLLING, polling, timed, no, plain, HP_TIMED, 1, HP_FP_OR_EDF, HP_OF_DEMAND, 0) \
    ROW("sporadic", SPORADIC, sporadic, sporadic, sporadic, sporadic, HP_KEEPS | HP_WHEN_EMPTY, 1, \
        HP_FP_OR_EDF, HP_OF_DEMAND, 0)                                                             \
    ROW("cbs", CBS, cbs, cbs, cbs, plain, HP_KEEPS | HP_WHEN_EMPTY | HP_CARRIES, 1, HP_FP_OR_EDF,  \
        HP_OF_DEMAND, HP_OF_DEMAND)                                                                \
    ROW("slice", SLICE, slice, timed, slice, plain, HP_KEEPS, 1, HP_ANY_ORDER, HP_OF_SLICES, 0)    \
    ROW("slice-once", SLICE_ONCE, slice, timed, slice, plain, 0, 1, HP_FP_OR_EDF, HP_OF_SLICES, 0)

/* Who is first among the eligible? ROW(name, NAME, traits). */
#define HP_ORDERS(ROW)                                                                             \
    ROW("fp", FP, HP_BY_PRIORITY)                                                                  \
    ROW("edf", EDF, HP_BY_DEADLINE)                                                                \
    ROW("fp-edf", FP_EDF, HP_BY_PRIORITY | HP_BY_DEADLINE)

/*
 * What becomes of time whose owner does not need it? ROW(name, NAME, use: whose hp_*_use plans
 * the time that an owner leaves on its pcpu, pays: whose hp_*_pays says who may pay, traits).
 */
#define HP_SLACKS(ROW)                                                                             \
    ROW("none", NONE, no, own, 0)                                                                  \
    ROW("lend", LEND, lend, lend, 0)                                                               \
    ROW("reclaim", RECLAIM, reclaim, reclaim, 0)                                                   \
    ROW("spare", SPARE, no, spare, HP_HAS_SPARE)                                                   \
    ROW("extra", EXTRA, no, own, HP_HAS_LEVELS)                                                    \
    ROW("weights", WEIGHTS, no, weights, HP_HAS_SHARES)

#define HP_BUDGET_NUMBER(name, NAME, ...) HP_BUDGET_##NAME,
#define HP_ORDER_NUMBER(name, NAME, ...) HP_ORDER_##NAME,
#define HP_SLACK_NUMBER(name, NAME, ...) HP_SLACK_##NAME,
enum hp_budget { HP_BUDGETS(HP_BUDGET_NUMBER) };
enum hp_order { HP_ORDERS(HP_ORDER_NUMBER) };
enum hp_slack { HP_SLACKS(HP_SLACK_NUMBER) };

/* A row's case where a rule in force is looked up. One that is not offered is never in force. */
#define HP_CASE(RULE)                                                                              \
    case HP_##RULE:                                                                                \
        if (!HP_OFFERS(RULE))                                                                      \
            __builtin_unreachable();

/* The traits that some policy has of those that are offered, and those that all have. */
#define HP_OR_BUDGET(name, NAME, catch_up, charge, arrive, account, traits, ...)                   \
    | (HP_OFFERS(BUDGET_##NAME) ? (traits) : 0u)
#define HP_OR_ORDER(name, NAME, traits) | (HP_OFFERS(ORDER_##NAME) ? (traits) : 0u)
#define HP_OR_SLACK(name, NAME, use, pays, traits) | (HP_OFFERS(SLACK_##NAME) ? (traits) : 0u)
#define HP_AND_BUDGET(name, NAME, catch_up, charge, arrive, account, traits, ...)                  \
    &(HP_OFFERS(BUDGET_##NAME) ? (traits) : ~0u)
#define HP_AND_ORDER(name, NAME, traits) &(HP_OFFERS(ORDER_##NAME) ? (traits) : ~0u)
#define HP_AND_SLACK(name, NAME, use, pays, traits) &(HP_OFFERS(SLACK_##NAME) ? (traits) : ~0u)
enum hp_offered {
    HP_SOME_TRAITS = 0u HP_BUDGETS(HP_OR_BUDGET) HP_ORDERS(HP_OR_ORDER) HP_SLACKS(HP_OR_SLACK),
    HP_ALL_TRAITS = (~0u HP_BUDGETS(HP_AND_BUDGET)) | (~0u HP_ORDERS(HP_AND_ORDER))
                    | (~0u HP_SLACKS(HP_AND_SLACK)),
};

/* Whether one policy alone is offered: then there is none to swap it for. */
#define HP_PLUS_BUDGET(name, NAME, ...) +HP_OFFERS(BUDGET_##NAME)
#define HP_PLUS_ORDER(name, NAME, ...) +HP_OFFERS(ORDER_##NAME)
#define HP_PLUS_SLACK(name, NAME, ...) +HP_OFFERS(SLACK_##NAME)
#define HP_ONE_POLICY                                                                              \
    (0u HP_BUDGETS(HP_PLUS_BUDGET) == 1u && 0u HP_ORDERS(HP_PLUS_ORDER) == 1u                      \
     && 0u HP_SLACKS(HP_PLUS_SLACK) == 1u)

#define HP_ONE_MORE(...) +1u
#define HP_BUDGET_RULES (0u HP_BUDGETS(HP_ONE_MORE))
#define HP_ORDER_RULES (0u HP_ORDERS(HP_ONE_MORE))
#define HP_SLACK_RULES (0u HP_SLACKS(HP_ONE_MORE))

/* The words of the rules in the order of their numbers, for lists of a host. */
#define HP_RULE_NAME(name, ...) name,
