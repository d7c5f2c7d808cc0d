// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The polling rule: as deferrable, but a server that has no work loses what is left.
 *
 * The loss happens at any instant at which the server has no work after the arrivals of that
 * instant; it then stays empty until its next refill. Work that arrives at the very instant of
 * a refill, or of the departure of the work before it, finds the budget untouched. Nobody needs
 * to act at the instant of the loss: it is found out when the server is looked at again, from
 * when it became idle and when it was last refilled.
 *
 * A server of 3 ms in 10 ms is refilled at 0 without work: work that arrives at 4 ms waits for 10
 * ms. Work at 10 ms sharp finds all 3 ms. If it ends at 11 ms, work that arrives at 11 ms sharp
 * finds 2 ms, and work that arrives at 12 ms finds nothing and waits for 20 ms.
 */
#pragma once

#include "timed.h"

/* A server without work has its refills, and loses what it had no work for. */
HP_RARE void hp_polling_rest(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 idle_ns;

    hp_timed_catch_up(core, vcpu, now_ns);
    if (server->remaining_ns <= 0)
        return;
    idle_ns = hp_max(server->idle_from_ns, server->deadline_ns - server->params.period_ns);
    if (idle_ns < now_ns) {
        server->remaining_ns = 0;
        hp_deplete(core, vcpu, 1);
    }
}

HP_RARE void hp_polling_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    if (hp_server_of(core, vcpu)->runnable)
        hp_timed_catch_up(core, vcpu, now_ns);
    else
        hp_polling_rest(core, vcpu, now_ns);
}
