// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A vcpu moves from one lock domain to another, as from pcpu to pcpu under a partitioned policy.
 *
 * All time so far is charged where it was. As in a hot swap its server keeps what remains of its
 * budget and the end of its period, which becomes its next refill and its new origin; levels of
 * extra time, turns, claims and scores are gone. So it gets no more than its budget in the period
 * in which it moves, wherever that is spent. It keeps its work, too: that is no arrival.
 */
#pragma once

#include "swap.h"

/* What a vcpu takes along. Best effort has neither the budget nor the wanted parameters. */
struct hp_moving {
    struct hp_params params;
    struct hp_params wanted; /* if any are */
    hp_u32 waits;            /* whether any are */
    hp_u32 runnable;
    hp_i64 left_ns;
    hp_u64 refill_ns;
};

HP_RARE hp_u32 hp_leave(struct hp_core *core, hp_u32 vcpu, struct hp_moving *moving,
                        hp_u64 now_ns) {
    const struct hp_server *server;

    if (!hp_present(core, vcpu))
        return HP_ERROR_VCPU;
    server = hp_server_of(core, vcpu);
    hp_settle_now(core, now_ns);
    if (hp_is_served(core, vcpu))
        hp_swap_out(core, vcpu);
    hp_copy_params(&moving->params, &server->params);
    hp_copy_params(&moving->wanted, &server->wanted);
    moving->waits = server->change_at_ns != HP_NEVER;
    moving->runnable = server->runnable;
    moving->left_ns = server->level == 0 ? server->remaining_ns : 0;
    moving->refill_ns = server->deadline_ns;
    return hp_remove(core, vcpu, now_ns);
}

HP_RARE hp_u32 hp_join(struct hp_core *core, hp_u32 vcpu, const struct hp_moving *moving,
                       hp_u64 now_ns) {
    const hp_u32 error = hp_add(core, vcpu, &moving->params, now_ns);
    struct hp_server *server;

    if (error)
        return error;
    server = hp_server_of(core, vcpu);
    if (moving->runnable)
        hp_get_work(core, vcpu);
    if (!hp_is_served(core, vcpu))
        return HP_OK;
    hp_copy_params(&server->wanted, &moving->wanted);
    server->change_at_ns = moving->waits ? core->now_ns : HP_NEVER;
    server->remaining_ns = moving->left_ns;
    /* What it owes was explained where it came from. */
    server->late_ns = moving->left_ns < 0 ? (hp_u64)-moving->left_ns : 0;
    server->deadline_ns = moving->refill_ns;
    hp_swap_in(core, vcpu);
    return HP_OK;
}
