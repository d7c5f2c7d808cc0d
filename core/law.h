// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The law of one account, as a function of it: what is true of a server whenever it is charged up
 * to some time.
 *
 * The proofs (tests/prove) show of each verb that an account that kept the law keeps it; hp_check
 * asks for it between any two calls into the core. So what the proofs take for granted is looked at
 * in every test that checks.
 */
#pragma once

#include "account.h"

/* Parameters as hp_validate lets them in. */
HP_FN hp_u32 hp_parameters_hold(hp_u64 period_ns, hp_u64 budget_ns) {
    return period_ns < HP_TIME_MAX && budget_ns > 0 && budget_ns <= period_ns;
}

/* New parameters, if there are any, are legal, and come at a time that is one. */
HP_FN hp_u32 hp_change_holds(const struct hp_server *server) {
    return server->change_at_ns == HP_NEVER
           || (hp_parameters_hold(server->wanted.period_ns, server->wanted.budget_ns)
               && server->change_at_ns < 2u * HP_TIME_MAX);
}

/* Who is on an extra level has nothing of its own and no debt, and something left there. */
HP_FN hp_u32 hp_level_holds(const struct hp_core *core, const struct hp_server *server) {
    if (server->level == 0)
        return server->extra_ns == 0;
    return hp_may_drop(core, server) && server->remaining_ns == 0 && server->extra_ns > 0
           && server->extra_ns <= (hp_i64)server->params.budget_ns;
}

/*
 * The account of a server that is charged up to 'at': no more than a budget, and no more debt than
 * there was time. Under the timed rules a period that gave budget has begun at time 0 or later.
 */
HP_FN hp_u32 hp_keeps_law(const struct hp_core *core, const struct hp_server *server,
                          hp_u64 at_ns) {
    if (!hp_parameters_hold(server->params.period_ns, server->params.budget_ns)
        || !hp_change_holds(server))
        return 0;
    if (server->remaining_ns > hp_most_ns(core, server) || server->remaining_ns < -(hp_i64)at_ns)
        return 0;
    if (hp_has(core, HP_TIMED) && server->remaining_ns > 0
        && server->deadline_ns < server->params.period_ns)
        return 0;
    return server->deadline_ns < 2u * HP_TIME_MAX;
}
