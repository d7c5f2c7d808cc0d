// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lend (WCPS in the CSA paper, section III.A): when the server H that holds the pcpu has no
 * work, the first vcpu with work and budget of its own runs instead, and both pay. It gives way
 * at once when H gets work, when H runs out of budget, or when it does so itself. Without such
 * a vcpu the pcpu idles and H pays.
 *
 * Lending spends the runner's budget early. Schedulability is kept (Lemma 2), but a job that
 * arrives later in the runner's period may wait longer than without lending.
 *
 * H has 2 ms in 10 ms, L behind it 3 ms in 10 ms. With work for L at 0 and for H at 1 ms: [0, 1) L,
 * and both pay; [1, 2) H; [2, 4) L, on the 2 ms that it has left; idle until 10 ms.
 */
#pragma once

#include "none.h"

/*
 * The first server with work that may use what an owner leaves, or HP_NONE: of those with budget,
 * or, if they are asked too, of the depleted ones where there is none. All are on one level, and
 * pay when it is their turn: so who has budget is ready.
 */
HP_ONCE hp_u32 hp_first_user(struct hp_core *core HP_NOT_NULL, hp_u32 depleted_too) {
    const hp_u64 depleted = 1ull << 63; /* as users of time these are behind all with budget */
    hp_u32 best = HP_FORGET(HP_NONE);
    hp_u64 lowest = HP_FORGET(HP_NEVER);

    HP_FOR (word, HP_WORDS) {
        hp_u64 left = HP_FORGET(core->work[word]);

        HP_FOR (step, 64u) {
            hp_u32 vcpu;
            hp_u64 key;

            if (left == 0)
                break;
            vcpu = word * 64u + (hp_u32)__builtin_ctzll(left);
            key = hp_key_of(&core->ready, vcpu);
            if (key == HP_NEVER && depleted_too && lowest >= depleted
                && !hp_is_effort(hp_server_of(core, vcpu)))
                key = depleted + hp_urgency(core, hp_server_of(core, vcpu));
            if (key < lowest
                || (key == lowest && key != HP_NEVER && hp_wins_tie(core, vcpu, best, HP_RUNNER))) {
                best = vcpu;
                lowest = key;
            }
            best = HP_FORGET(best);
            lowest = HP_FORGET(lowest);
            left = HP_FORGET(left & (left - 1u));
        }
    }
    return best;
}

HP_FN void hp_lend_use(struct hp_core *core, struct hp_plan *plan) {
    if (plan->holder == HP_NONE || plan->run != HP_NONE)
        return;
    plan->run = hp_first_user(core, 0);
    plan->also = plan->run;
    HP_ASSERT(plan->run != plan->holder);
}

/* A server pays, and so does who runs if that is another one. */
HP_FN hp_u32 hp_lend_pays(const struct hp_pcpu *pcpu) {
    const struct hp_grant *grant = &pcpu->grant;

    return hp_is_vcpu(grant->pay)
           && grant->also == (grant->pay == grant->run ? HP_NONE : grant->run);
}
