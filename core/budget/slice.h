// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The slice rules (SEDF, SEDF' and PSEDF; the PSEDF paper, sections III to VI; Xen's SEDF).
 *
 * A server's budget is its slice of each of its periods; a period ends at its deadline. A server
 * that still has work then begins its next period there, with a full slice. One that has used its
 * slice, or lost it, is in its next period already, and waits for that to begin.
 *
 * Work that arrives
 *  - before the server's period has begun waits for that;
 *  - at or after the deadline begins a period at once (long unblocking);
 *  - in between finds what is left of the slice, if that is kept over a block (slice: SEDF', the
 *    real-time servers of PSEDF), or loses it and waits for the deadline (short unblocking:
 *    slice-once, SEDF, and the ordinary servers of PSEDF, which has the order rule fp-edf). What is
 *    lost makes a claim, which the slack rule weights looks at.
 *
 * The first work of all begins a period at once; of a server whose slices are not kept it waits as
 * long as its slice is (in Xen it is a short unblocking, with a deadline one slice away). A debt is
 * never forgiven.
 *
 * So a slice that is kept may be spent at the end of one period and the next one right after it,
 * as by a deferrable server. One that is lost at a block makes the server a sporadic task.
 *
 * A server of 2 ms in 10 ms has its first work, 1 ms, at 3 ms. slice: the period [3, 13) begins at
 * once, and the work runs in [3, 4). More at 6 ms runs in [6, 7); what is then left waits for 13
 * ms. slice-once: the period begins one slice later, [5, 15), and the work runs in [5, 6). More at
 * 8 ms loses the other 1 ms, for a claim of 10/1, and waits for 15 ms. Had it come at 20 ms, past
 * the deadline, it would begin a period [20, 30) with 2 ms.
 */
#pragma once

#include "timed.h"

/* Whether what is left of the slice is kept over a block. */
HP_FN hp_u32 hp_slice_is_kept(struct hp_core *core, hp_u32 vcpu) {
    if (core->policy.order == HP_ORDER_FP_EDF
        && hp_server_of(core, vcpu)->params.priority == HP_ORDINARY)
        return 0;
    return hp_has(core, HP_KEEPS) != 0;
}

/* Without work no period begins; parameters that are due take effect, for the one to come. */
HP_RARE void hp_slice_rest(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (server->change_at_ns > now_ns)
        return;
    hp_apply_params(core, server);
    if (server->remaining_ns > (hp_i64)server->params.budget_ns)
        server->remaining_ns = (hp_i64)server->params.budget_ns;
    server->level = 0;
    server->extra_ns = 0;
    hp_requeue(core, vcpu);
}

HP_RARE void hp_slice_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    if (hp_server_of(core, vcpu)->runnable)
        hp_timed_catch_up(core, vcpu, now_ns);
    else
        hp_slice_rest(core, vcpu, now_ns);
}

/* A period begins with the work: as many refills as there were deadlines since pay off a debt. */
HP_RARE void hp_slice_begin(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 refills = hp_parts(now_ns - server->deadline_ns, server->params.period_ns) + 1u;

    HP_ASSERT(server->deadline_ns <= now_ns);
    server->remaining_ns =
        hp_after_refills(server->remaining_ns, server->params.budget_ns, refills);
    server->deadline_ns = now_ns + server->params.period_ns;
    server->claim = HP_NEVER;
    hp_refilled(core, vcpu);
}

/* What is left of the slice is lost by a block; that makes a claim to time that nobody wants. */
HP_RARE void hp_slice_lose(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);

    HP_ASSERT(server->remaining_ns > 0);
    server->claim = hp_share_cost(server->params.period_ns, (hp_u64)server->remaining_ns);
    server->remaining_ns = 0;
    hp_deplete(core, vcpu, 1);
}

/* The first work of all: unless slices are kept, its period begins one slice later. */
HP_RARE void hp_slice_first(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    server->never_ran = 0;
    if (server->deadline_ns > now_ns)
        return;
    if (hp_slice_is_kept(core, vcpu)) {
        hp_slice_begin(core, vcpu, now_ns);
        return;
    }
    server->deadline_ns = now_ns + server->params.budget_ns;
    hp_requeue(core, vcpu);
}

/* Work arrives where there was none. */
HP_RARE void hp_slice_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (server->never_ran) {
        hp_slice_first(core, vcpu, now_ns);
        return;
    }
    /* One that has used its slice entered its next period when that began. */
    if (server->remaining_ns <= 0 && server->deadline_ns <= now_ns
        && now_ns - server->deadline_ns < server->params.period_ns)
        hp_timed_catch_up(core, vcpu, now_ns);
    if (server->deadline_ns <= now_ns)
        hp_slice_begin(core, vcpu, now_ns);
    else if (!hp_slice_is_kept(core, vcpu) && server->remaining_ns > 0)
        hp_slice_lose(core, vcpu);
}
