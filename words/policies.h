/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Policies as they are written: a name, such as ptps, or rules, such as deferrable+edf+none, with
 * +partitioned or +global behind them if it is said where they decide. Names and rules are those of
 * the rows in core/policy.h and core/rules.h.
 */
#ifndef WORDS_POLICIES_H
#define WORDS_POLICIES_H

#include "core/policy.h"
#include "words/words.h"

/* Where a policy decides: on the only pcpu, on each for itself, on all together, or not said. */
enum word_scope {
    WORD_SCOPE_any,
    WORD_SCOPE_one,
    WORD_SCOPE_partitioned,
    WORD_SCOPE_global,
};

struct word_policy {
    struct hp_policy rules;
    enum word_scope scope;
    hp_u32 scope_said; /* behind the rules, and not by a name */
};

WORDS_TABLE struct word_named_policy {
    const char *name;
    struct word_policy policy;
} word_policies[] = {
#define WORDS_ROW(name, scope, budget, order, slack)                                               \
    {name, {{budget, order, slack}, WORD_SCOPE_##scope, 0}},
    HP_POLICIES(WORDS_ROW)
#undef WORDS_ROW
};
#define WORD_POLICIES (sizeof(word_policies) / sizeof(word_policies[0]))

WORDS_TABLE char *const word_budgets[] = {HP_BUDGETS(HP_RULE_NAME) 0};
WORDS_TABLE char *const word_orders[] = {HP_ORDERS(HP_RULE_NAME) 0};
WORDS_TABLE char *const word_slacks[] = {HP_SLACKS(HP_RULE_NAME) 0};
WORDS_TABLE char *const word_scopes[] = {"partitioned", "global", 0};

/* Reads all of the word as a policy; whether it is one. Nobody has asked yet whether its rules go
 * together. */
WORDS_FN hp_u32 word_policy(struct word word, struct word_policy *policy) {
    struct hp_policy *rules = &policy->rules;
    hp_u32 scope;

    for (hp_u32 i = 0; i < WORD_POLICIES; i++) {
        if (word_is(word, word_policies[i].name)) {
            *policy = word_policies[i].policy;
            return 1;
        }
    }
    policy->scope = WORD_SCOPE_any;
    rules->budget = word_choice(word_cut(&word, '+'), word_budgets);
    rules->order = word_choice(word_cut(&word, '+'), word_orders);
    rules->slack = word_choice(word_cut(&word, '+'), word_slacks);
    if (rules->budget == HP_NONE || rules->order == HP_NONE || rules->slack == HP_NONE)
        return 0;
    policy->scope_said = word.start != 0;
    if (word.start == 0)
        return 1;
    scope = word_choice(word, word_scopes);
    policy->scope = scope == 0 ? WORD_SCOPE_partitioned : WORD_SCOPE_global;
    return scope != HP_NONE;
}

/* Appends BUDGET+ORDER+SLACK. */
WORDS_FN char *word_put_rules(char *at, const char *end, const struct hp_policy *rules) {
    at = word_put(at, end, rules->budget < HP_BUDGET_RULES ? word_budgets[rules->budget] : "?");
    at = word_put(at, end, "+");
    at = word_put(at, end, rules->order < HP_ORDER_RULES ? word_orders[rules->order] : "?");
    at = word_put(at, end, "+");
    return word_put(at, end, rules->slack < HP_SLACK_RULES ? word_slacks[rules->slack] : "?");
}

/* Appends what a policy may be, for the end of a message. */
WORDS_FN char *word_put_policies(char *at, const char *end) {
    for (hp_u32 i = 0; i < WORD_POLICIES; i++) {
        at = word_put(at, end, word_policies[i].name);
        at = word_put(at, end, ", ");
    }
    return word_put(at, end, "or rules such as deferrable+edf+none, with +global or +partitioned");
}

#endif /* WORDS_POLICIES_H */
