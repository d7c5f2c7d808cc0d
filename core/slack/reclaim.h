// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reclaim (CRPS in the CSA paper, section III.A): the server H that holds the pcpu always pays,
 * alone. When it has no work, the first vcpu that has some runs on H's budget and keeps its
 * own: those with budget of their own come before the depleted ones. When nobody has budget the
 * pcpu idles, even with work waiting: time is never taken from idle.
 *
 * H has 2 ms in 10 ms, L behind it 3 ms in 10 ms. With work for L at 0 and for H at 1 ms: [0, 1) L,
 * and H pays; [1, 2) H; [2, 5) L, on all of its 3 ms; idle until 10 ms. If L has 1 ms, is before H
 * in order, and H has no work: [0, 1) L pays; [1, 3) L, which is depleted, on H's budget; then the
 * pcpu idles.
 *
 * So the payer at every instant is the same as without any slack rule, and a vcpu has every
 * instant it would have had, and donated ones on top.
 */
#pragma once

#include "lend.h"

HP_FN void hp_reclaim_use(struct hp_core *core, struct hp_plan *plan) {
    if (plan->holder != HP_NONE && plan->run == HP_NONE)
        plan->run = hp_first_user(core, 1);
}

/* A server pays, alone. */
HP_FN hp_u32 hp_reclaim_pays(const struct hp_pcpu *pcpu) {
    return hp_is_vcpu(pcpu->grant.pay) && pcpu->grant.also == HP_NONE;
}
