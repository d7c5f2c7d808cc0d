// SPDX-License-Identifier: BSD-2-Clause
/* What a nanosecond costs a server, under every rule, and what happens when nothing is left. */
#include "world.h"

/* What is past the end of a level is paid from the next one, and from as many as it takes. */
void drop_level(void) {
    struct hp_core core = any_core(any_rule());
    struct hp_server *server = any_server(&core, 0);
    const struct hp_server before = *server;
    const hp_u64 over_ns = any_time();

    hp_drop_level(server, over_ns);
    SHOW(server->extra_ns > 0 && server->extra_ns <= (hp_i64)server->params.budget_ns,
         "something is left on the level that is reached, and no more than a budget");
    SHOW(server->level > before.level || server->level == HP_NONE, "it is a lower one");
    if (over_ns < server->params.budget_ns)
        SHOW(server->extra_ns == (hp_i64)(server->params.budget_ns - over_ns),
             "one level pays all");
    else
        SHOW(server->extra_ns
                 == (hp_i64)(server->params.budget_ns
                             - (over_ns
                                - PRODUCT(QUOTIENT(over_ns, server->params.budget_ns),
                                          server->params.budget_ns))),
             "whole budgets are paid by whole levels");
}

/* A server whose account has been emptied by a rule (polling, slice-once) has an extra level. */
void deplete(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(any_rule());
    struct hp_server *server = any_server(&core, now_ns);

    TAKE(server->level == 0);
    server->remaining_ns = 0;
    hp_deplete(&core, VCPU, 1);
    show_account(&core, now_ns);
    SHOW(server->remaining_ns == 0, "nothing of its own");
    SHOW((server->level > 0) == (hp_may_drop(&core, server) != 0), "extra time if it may");
}

/* Arithmetic on its own: n refills. */
void after_refills(void) {
    const hp_u64 budget_ns = nondet_u64();
    const hp_u64 now_ns = any_time();
    const hp_u64 count = nondet_u64();
    const hp_i64 before_ns = (hp_i64)any_time() - (hp_i64)now_ns;

    TAKE(budget_ns > 0 && budget_ns < HP_TIME_MAX && before_ns <= (hp_i64)budget_ns);
    TAKE(count > 0 && FITS(count, budget_ns) && PRODUCT(count, budget_ns) < 2u * HP_TIME_MAX);
    law_growth(count, budget_ns);
    const hp_i64 after_ns = hp_after_refills(before_ns, budget_ns, count);

    SHOW(after_ns <= (hp_i64)budget_ns && after_ns >= before_ns, "never more than a budget");
    if (before_ns >= 0)
        SHOW(after_ns == (hp_i64)budget_ns, "to full");
    else if (before_ns + (hp_i64)PRODUCT(count, budget_ns) <= (hp_i64)budget_ns)
        SHOW(after_ns == before_ns + (hp_i64)PRODUCT(count, budget_ns), "a debt is not forgiven");
    else
        SHOW(after_ns == (hp_i64)budget_ns, "to full, once a debt is paid back");
}

/* What a share of time costs: never nothing (a claim of 0 is none), for any part of any whole. */
void share_cost(void) {
    const hp_u64 whole = nondet_u64();
    const hp_u64 part = nondet_u64();

    TAKE(whole < HP_TIME_MAX && part > 0 && part <= whole);
    SHOW(hp_share_cost(whole, part) > 0, "a share costs something");
}
