// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The account of one server: what a nanosecond costs it, what happens when nothing is left, and
 * who has to look after its next refill. The budget rules are written in these verbs.
 *
 * A server of 3 ms in 10 ms that is charged for 4 ms, as its pick came 1 ms late, has -1 ms: a
 * debt. Its refill gives it 2 ms (hp_after_refills). With extra time the 1 ms is taken from a
 * budget of the level below instead: 2 ms are left there, and the refill brings it back up with 3
 * ms.
 */
#pragma once

#include "order.h"
#include "wide.h"

/*
 * Whether the server's next refill can change a grant: it pays whether it has work or not, or
 * it has work. Any other server can be caught up when work arrives for it.
 */
HP_FN hp_u32 hp_needs_refill_timer(const struct hp_core *core, const struct hp_server *server) {
    return server->runnable || hp_has(core, HP_PAYS_IDLE);
}

/* When somebody must look after the server, or HP_NEVER. */
HP_FN hp_u64 hp_due_key(const struct hp_core *core, const struct hp_server *server) {
    if (!hp_needs_refill_timer(core, server)
        || (server->remaining_ns > 0 && hp_has(core, HP_WHEN_EMPTY)))
        return server->change_at_ns;
    return hp_min(server->deadline_ns, server->change_at_ns);
}

/*
 * Puts the server where its account says. Called whenever 'remaining' has passed zero in either
 * direction, or work, level, deadline or parameters have changed.
 */
HP_ONCE hp_u32 hp_requeue(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 due_ns;

    HP_ASSERT(hp_is_served(core, vcpu));
    if (!HP_ONE_POLICY && core->swapping)
        return 0;
    due_ns = hp_due_key(core, server);
    hp_queue_put(&core->ready, vcpu, hp_ready_key(core, server));
    hp_queue_put(&core->due, vcpu, due_ns);
    core->planned = 0;
    /* Who wakes up for this refill, if it is before all that is waited for, is found out anew. */
    if (due_ns < core->due_ns) {
        core->due_ns = due_ns;
        core->suspects = hp_all_pcpus(core);
    } else if (!core->alone) {
        core->suspects |= hp_bit_of(server->last_pcpu); /* where it may pay */
    }
    return 0;
}

/*
 * Whether this server may go on at a lower level when its budget is gone: extra time, the slack
 * rule of RTDS. Who is on a level never runs before one with budget of its own, and a refill brings
 * it back up. With S of 2 ms in 10 ms and T of 3 ms in 12 ms under edf on one pcpu, both with work
 * all the time: [0, 2) S and [2, 5) T on their own budgets; then both are on level 1, so [5, 7) S,
 * whose deadline is first, and [7, 10) T, as S is on level 2 by then; [10, 12) S with its refill.
 */
HP_FN hp_u32 hp_may_drop(const struct hp_core *core, const struct hp_server *server) {
    return hp_has(core, HP_HAS_LEVELS) && (server->params.flags & HP_EXTRA);
}

/*
 * Extra time as RTDS gives it: the vcpu drops one level and has a fresh budget there. 'over' is
 * what was used past the end of the level before; it is paid from the new one, and from as many
 * below it as it takes.
 */
HP_RARE void hp_drop_level(struct hp_server *server, hp_u64 over_ns) {
    const hp_u64 budget_ns = server->params.budget_ns;
    hp_u64 levels = 1;

    HP_ASSERT(budget_ns > 0);
    if (over_ns >= budget_ns) {
        levels += hp_parts(over_ns, budget_ns);
        over_ns = hp_modulo(over_ns, budget_ns);
    }
    server->level = (hp_u32)hp_min(server->level + levels, HP_NONE);
    server->extra_ns = (hp_i64)(budget_ns - over_ns);
}

/* The level that the server is on is used up. 'funded': it had budget of its own until now. */
HP_STEP void hp_deplete(struct hp_core *core, hp_u32 vcpu, hp_u32 funded) {
    struct hp_server *server = hp_server_of(core, vcpu);

    HP_ASSERT(server->level > 0 ? server->extra_ns <= 0 : server->remaining_ns <= 0);
    if (hp_may_drop(core, server)) {
        hp_drop_level(server,
                      (hp_u64) - (server->level > 0 ? server->extra_ns : server->remaining_ns));
        server->remaining_ns = 0;
    }
    if (funded)
        HP_NOTE(core, HP_NOTE_DEPLETE, core->now_ns, vcpu, 0);
    hp_requeue(core, vcpu);
}

/* Charges a span of time to the level that the server is on, which may be used up by that. */
HP_FN void hp_spend(struct hp_core *core, hp_u32 vcpu, hp_u64 span_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u32 funded = server->remaining_ns > 0;

    if (hp_has(core, HP_HAS_LEVELS) && server->level > 0) {
        server->extra_ns -= (hp_i64)span_ns;
        if (server->extra_ns > 0)
            return;
    } else {
        server->remaining_ns -= (hp_i64)span_ns;
        if (server->remaining_ns > 0)
            return;
    }
    if (span_ns > 0)
        hp_deplete(core, vcpu, funded);
}

/* The parameters that hp_update left take effect; who calls requeues the server. */
HP_RARE void hp_apply_params(struct hp_core *core, struct hp_server *server) {
    if (server->change_at_ns == HP_NEVER)
        return;
    core->planned = 0;
    hp_copy_params(&server->params, &server->wanted);
    server->change_at_ns = HP_NEVER;
}

/*
 * What remains after so many refills, one at least. A debt is paid back and never forgiven: after
 * a pick that came late it may take more than one.
 */
HP_FN hp_i64 hp_after_refills(hp_i64 remaining_ns, hp_u64 budget_ns, hp_u64 refills) {
    HP_ASSERT(refills > 0);
    if (remaining_ns >= 0)
        return (hp_i64)budget_ns;
    /* refills * budget <= refills * period <= now + period: no overflow */
    remaining_ns += (hp_i64)hp_times(refills, budget_ns);
    return remaining_ns > (hp_i64)budget_ns ? (hp_i64)budget_ns : remaining_ns;
}

/* Closes a refill: back at the server's own level, and eligible if anything remains. */
HP_FN void hp_refilled(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);

    HP_ASSERT(server->remaining_ns <= hp_most_ns(core, server));
    server->level = 0;
    server->extra_ns = 0;
    HP_NOTE(core, HP_NOTE_REPLENISH, core->now_ns, vcpu, server->remaining_ns);
    hp_requeue(core, vcpu);
}

/* The first multiple of the period at or after now: every server's grid starts at 0. */
HP_FN hp_u64 hp_first_refill(const struct hp_core *core, hp_u64 period_ns) {
    const hp_u64 past_ns = hp_modulo(core->now_ns, period_ns);

    return past_ns == 0 ? core->now_ns : core->now_ns - past_ns + period_ns;
}

/* What a share (slack/weights.h) costs one that has 'part' of 'whole' < 2^62, in 1/1024. */
HP_FN hp_u64 hp_share_cost(hp_u64 whole, hp_u64 part) {
    const hp_u32 shift = whole >> 53 ? 10u : 0u;

    return hp_parts((whole >> shift) << 10, hp_max(part >> shift, 1u));
}

/* What most rules have beside the account: nothing to do when work arrives, ... */
HP_FN void hp_no_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    (void)core, (void)vcpu, (void)now_ns;
}

/* ... no account of its own to start a server with, ... */
HP_FN void hp_plain_start(struct hp_core *core, hp_u32 vcpu, hp_i64 left_ns, hp_u64 refill_ns) {
    (void)core, (void)vcpu, (void)left_ns, (void)refill_ns;
}

/* ... a refill at the deadline that gives everything back, ... */
HP_FN hp_u64 hp_plain_settled_at(struct hp_core *core, hp_u32 vcpu) {
    return hp_server_of(core, vcpu)->deadline_ns;
}

/* ... and no law of its own. */
HP_FN hp_u32 hp_plain_holds(struct hp_core *core, hp_u32 vcpu) {
    (void)core, (void)vcpu;
    return 1;
}
