// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the periodic, the deferrable and the polling rule share: a server is refilled to full at
 * origin + k * period, whatever happened before, and the end of its period is its deadline.
 *
 * A refill never forgives a debt (time used past the end of the budget because a pick came
 * late): remaining = budget + min(0, remaining). Refills that nobody had to look after are
 * caught up here in one step, however many they are.
 */
#pragma once

#include "../account.h"

/* Does the refills that are due at 'now' or before, of which there is one at least. */
HP_FN void hp_timed_refill(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 refills = 1;

    HP_ASSERT(server->deadline_ns <= now_ns);
    if (now_ns - server->deadline_ns >= server->params.period_ns)
        refills += hp_parts(now_ns - server->deadline_ns, server->params.period_ns);
    server->remaining_ns =
        hp_after_refills(server->remaining_ns, server->params.budget_ns, refills);
    server->deadline_ns += hp_times(refills, server->params.period_ns);
    hp_refilled(core, vcpu);
}

/* The same with the new parameters. Apart, so that the common refill keeps nothing over a call. */
HP_RARE void hp_timed_change(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    hp_apply_params(core, hp_server_of(core, vcpu));
    hp_timed_refill(core, vcpu, now_ns);
}

/* Does what is due at 'now' or before. */
HP_STEP void hp_timed_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (server->deadline_ns > now_ns)
        return;
    if (server->change_at_ns != HP_NEVER)
        hp_timed_change(core, vcpu, now_ns);
    else
        hp_timed_refill(core, vcpu, now_ns);
}

/*
 * The server pays for n whole periods, each followed by its refill. At its own level it comes
 * out of each with at most budget - period <= 0 left before the refill, so every refill adds
 * the budget to what is then a debt. With extra time there is no debt to carry.
 */
HP_RARE void hp_timed_charge_periods(struct hp_core *core, hp_u32 vcpu, hp_u64 periods) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (hp_may_drop(core, server))
        server->remaining_ns = (hp_i64)server->params.budget_ns;
    else
        server->remaining_ns -=
            (hp_i64)hp_times(periods, server->params.period_ns - server->params.budget_ns);
    server->deadline_ns += hp_times(periods, server->params.period_ns);
    hp_refilled(core, vcpu);
}

/*
 * Charges the time from 'from' to 'to', split at each refill in between. A server of 3 ms in 10 ms
 * that has paid since 0 and is charged at 35 ms: 3 - 10 + 3 = -4 ms after the refill of 10 ms; two
 * whole periods take 7 ms each, -18 ms; and [30, 35) leaves -23 ms: 35 ms used of four budgets.
 */
HP_STEP void hp_timed_charge(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (to_ns > server->deadline_ns) {
        hp_u64 refill_ns = hp_max(server->deadline_ns, from_ns);

        hp_spend(core, vcpu, refill_ns - from_ns);
        hp_timed_catch_up(core, vcpu, refill_ns);
        from_ns = refill_ns;
    }
    if (to_ns > server->deadline_ns) {
        hp_u64 periods = hp_parts(to_ns - from_ns, server->params.period_ns);

        hp_timed_charge_periods(core, vcpu, periods);
        from_ns += hp_times(periods, server->params.period_ns);
    }
    hp_spend(core, vcpu, to_ns - from_ns);
}
