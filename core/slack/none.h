// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No slack rule (PTPS, DS, polling, sporadic, RTDS, cbs, hsf-fp): who holds the pcpu pays, and
 * runs if it has work. Time whose owner does not need it is idle; under the periodic rule the
 * owner pays for it all the same.
 *
 * The slack rules that follow begin with such a plan and say what becomes of the time of an owner
 * without work. With H of 2 ms in 10 ms, idle until 1 ms, L behind it with work: in [0, 1) ms none
 * has nobody run and H pay; lend has L run, and both pay; reclaim has L run and H pay alone.
 */
#pragma once

#include "../placement.h"

/*
 * The first server with work that may use what an owner leaves, or HP_NONE: of those with budget,
 * or, if they are asked too, of the depleted ones where there is none. All are on one level, and
 * pay when it is their turn: so who has budget is ready.
 */
HP_RARE hp_u32 hp_first_user(struct hp_core *core, hp_u32 depleted_too) {
    const hp_u64 depleted = 1ull << 63; /* as users of time these are behind all with budget */
    hp_u32 best = HP_FORGET(HP_NONE);
    hp_u64 lowest = HP_FORGET(HP_NEVER);

    HP_FOR (vcpu, core->numbers) {
        const struct hp_server *server = hp_server_of(core, vcpu);

        if (server->runnable) {
            hp_u64 key = hp_key_of(&core->ready, vcpu);

            if (key == HP_NEVER && depleted_too && lowest >= depleted && !hp_is_effort(server))
                key = depleted + hp_urgency(core, server);
            if (key < lowest
                || (key == lowest && key != HP_NEVER && hp_wins_tie(core, vcpu, best, HP_RUNNER))) {
                best = vcpu;
                lowest = key;
            }
        }
        best = HP_FORGET(best);
        lowest = HP_FORGET(lowest);
    }
    return best;
}

/* Nobody else uses what the owner leaves. */
HP_FN void hp_no_use(struct hp_core *core, struct hp_plan *plan) {
    (void)core, (void)plan;
}

/* Who runs pays, alone. */
HP_FN hp_u32 hp_own_pays(const struct hp_pcpu *pcpu) {
    return pcpu->grant.pay == pcpu->grant.run && pcpu->grant.also == HP_NONE;
}
