// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The slice rules (SEDF, SEDF' and PSEDF; the PSEDF paper, sections III to VI).
 *
 * A server's budget is its slice of each of its periods; a period ends at its deadline. A server
 * that still has work then begins its next period there, with a full slice. Work that arrives at
 * or after the deadline begins a period at once (long unblocking). Work that arrives before it
 * finds what is left of the slice (slice: SEDF', PSEDF), or loses it and waits for the deadline
 * (slice-once: short unblocking, SEDF as it was). A depleted server waits for its deadline either
 * way. A debt is never forgiven.
 *
 * So a slice that is kept may be spent at the end of one period and the next one right after it,
 * as by a deferrable server. One that is lost at a block makes the server a sporadic task.
 */
#pragma once

#include "timed.h"

/* Without work no period begins; parameters that are due take effect, for the one to come. */
HP_RARE void hp_slice_rest(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (server->change_at_ns > now_ns)
        return;
    hp_take_change(core, server);
    if (server->remaining_ns > (hp_i64)server->budget_ns)
        server->remaining_ns = (hp_i64)server->budget_ns;
    server->level = 0;
    server->extra_ns = 0;
    hp_enlist(core, vcpu);
}

HP_RARE void hp_slice_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    if (hp_server_of(core, vcpu)->working)
        hp_timed_catch_up(core, vcpu, now_ns);
    else
        hp_slice_rest(core, vcpu, now_ns);
}

/* A period begins with the work: as many refills as there were deadlines since pay off a debt. */
HP_RARE void hp_slice_begin(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 refills = (now_ns - server->deadline_ns) / server->period_ns + 1u;

    if (server->remaining_ns < 0) {
        server->remaining_ns += (hp_i64)(refills * server->budget_ns);
        if (server->remaining_ns > (hp_i64)server->budget_ns)
            server->remaining_ns = (hp_i64)server->budget_ns;
    } else {
        server->remaining_ns = (hp_i64)server->budget_ns;
    }
    server->deadline_ns = now_ns + server->period_ns;
    hp_refilled(core, vcpu);
}

/* Work arrives where there was none. */
HP_RARE void hp_slice_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (server->deadline_ns <= now_ns) {
        hp_slice_begin(core, vcpu, now_ns);
    } else if (core->policy.budget == HP_BUDGET_SLICE_ONCE && server->remaining_ns > 0) {
        server->remaining_ns = 0;
        hp_deplete(core, vcpu);
    }
}
