// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The cbs rule: the hard constant bandwidth server (Abeni and Buttazzo, RTSS 1998, with the
 * hard reservation of Linux SCHED_DEADLINE).
 *
 * Work that arrives at t, where there was none, finds what remains, q, and a deadline d. If q
 * is more than the bandwidth allows until then, q > (d - t) * budget / period, a new period
 * starts: deadline t + period, full budget. Otherwise both are kept. A depleted server waits
 * for its deadline; there it gets its budget and the deadline moves on by one period. One that
 * is depleted only after its deadline (the pcpu was overbooked) gets it at once. A debt is
 * never forgiven. Budget = period never interrupts service.
 *
 * New parameters (hp_update) take effect where a period starts: at the deadline, or at an arrival
 * that starts one before. Were they to wait for a deadline that an arrival has moved, the server
 * would be refilled there a second time in one period.
 *
 * Under EDF the sum of the bandwidths is an exact test on one pcpu.
 *
 * A server of 2 ms in 10 ms has 1 ms of work at 0: it runs in [0, 1), and 1 ms is left until 10 ms.
 * Work that arrives at 4 ms finds both kept, as 1 <= (10 - 4) * 2 / 10; used up at 5 ms, the server
 * has 2 ms and the deadline 20 ms at 10 ms. Work at 6 ms instead finds too much for 10 ms, 1 > (10
 * - 6) * 2 / 10: it has 2 ms and the deadline 16 ms. Charged up to 6 ms in the first case, as a
 * pick came late, it owes 1 ms, and has 1 ms at 10 ms.
 */
#pragma once

#include "../account.h"

/* Gives a depleted server whose deadline has come what is due, or what it needs to have budget. */
HP_FN void hp_cbs_refill(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 refills = 1;
    hp_u64 late_ns;

    if (server->remaining_ns > 0 || server->deadline_ns > now_ns)
        return;
    late_ns = now_ns - server->deadline_ns;
    if (late_ns >= server->params.period_ns)
        refills += hp_min(hp_parts((hp_u64)-server->remaining_ns, server->params.budget_ns),
                          hp_parts(late_ns, server->params.period_ns));
    server->remaining_ns += (hp_i64)hp_times(refills, server->params.budget_ns);
    server->deadline_ns += hp_times(refills, server->params.period_ns);
    hp_refilled(core, vcpu);
}

/* A period starts with the new parameters. Apart, so that the common refill keeps nothing over a
 * call. */
HP_RARE void hp_cbs_change(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_i64 debt_ns = server->remaining_ns < 0 ? server->remaining_ns : 0;
    const hp_u64 at_ns = server->change_at_ns;

    hp_apply_params(core, server);
    server->remaining_ns = (hp_i64)server->params.budget_ns + debt_ns;
    server->deadline_ns = at_ns + server->params.period_ns;
    hp_refilled(core, vcpu);
    hp_cbs_refill(core, vcpu, now_ns);
}

HP_RARE void hp_cbs_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    if (hp_server_of(core, vcpu)->change_at_ns <= now_ns)
        hp_cbs_change(core, vcpu, now_ns);
    else
        hp_cbs_refill(core, vcpu, now_ns);
}

/* Whole periods of service that begin and end with a full budget cost nothing in the end. */
HP_FN hp_u64 hp_cbs_charge_periods(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns,
                                   hp_u64 to_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 periods = hp_parts(to_ns - from_ns, server->params.period_ns);

    if (periods == 0 || server->remaining_ns != (hp_i64)server->params.budget_ns
        || server->deadline_ns != from_ns + server->params.period_ns)
        return 0;
    server->deadline_ns += hp_times(periods, server->params.period_ns);
    hp_requeue(core, vcpu);
    return hp_times(periods, server->params.period_ns);
}

/*
 * One piece of a charge with extra time: to the end of what the server's level has, to its next
 * refill, or to 'to'. Returns where it ends.
 */
HP_FN hp_u64 hp_cbs_charge_piece(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 end_ns = to_ns;

    hp_cbs_catch_up(core, vcpu, from_ns);
    from_ns += hp_cbs_charge_periods(core, vcpu, from_ns, to_ns);
    /* A debt from before new parameters allowed extra time is paid on the first level of it. */
    if (server->level == 0 && server->remaining_ns <= 0)
        hp_deplete(core, vcpu, 0);
    if (server->level == 0 && server->remaining_ns > 0)
        end_ns = from_ns + (hp_u64)server->remaining_ns;
    else if (server->level > 0 && server->deadline_ns > from_ns)
        end_ns = server->deadline_ns;
    end_ns = hp_min(end_ns, to_ns);
    hp_spend(core, vcpu, end_ns - from_ns);
    return end_ns;
}

/*
 * Charges the time from 'from' to 'to'. Without extra time an overrun is a debt, and the refills
 * that fall due pay it back one by one (hp_cbs_catch_up). With extra time the charge goes to the
 * level that the server is on, piece by piece between refills; whole periods at a stroke, and a
 * server far behind its deadline in a bounded number of pieces.
 */
HP_RARE void hp_cbs_charge(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    if (!hp_may_drop(core, hp_server_of(core, vcpu))) {
        hp_spend(core, vcpu, to_ns - from_ns);
        return;
    }
    from_ns = HP_FORGET(from_ns);
    to_ns = HP_FORGET(to_ns);
    HP_FOR (piece, 16u) {
        if (from_ns >= to_ns)
            break;
        from_ns = HP_FORGET(hp_cbs_charge_piece(core, vcpu, from_ns, to_ns));
        to_ns = HP_FORGET(to_ns);
    }
    hp_spend(core, vcpu, to_ns - from_ns);
}

/* Work arrives where there was none: the rule of the bandwidth. */
HP_RARE void hp_cbs_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (server->remaining_ns <= 0)
        return;
    if (server->deadline_ns > now_ns
        && !hp_product_above((hp_u64)server->remaining_ns, server->params.period_ns,
                             server->deadline_ns - now_ns, server->params.budget_ns))
        return;
    hp_apply_params(core, server);
    server->remaining_ns = (hp_i64)server->params.budget_ns;
    server->deadline_ns = now_ns + server->params.period_ns;
    hp_refilled(core, vcpu);
}
