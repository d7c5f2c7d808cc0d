// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reclaim (CRPS in the CSA paper, section III.A): the server H that holds the pcpu always pays,
 * alone. When it has no work, the first vcpu that has some runs on H's budget and keeps its
 * own: those with budget of their own come before the depleted ones. When nobody has budget the
 * pcpu idles, even with work waiting: time is never taken from idle.
 *
 * So the payer at every instant is the same as without any slack rule, and a vcpu has every
 * instant it would have had, and donated ones on top.
 */
#pragma once

#include "none.h"

HP_FN void hp_reclaim_use(struct hp_core *core, struct hp_plan *plan) {
    if (plan->holder != HP_NONE && plan->run == HP_NONE)
        plan->run = hp_first_user(core, 1);
}

/* A server pays, alone. */
HP_FN hp_u32 hp_reclaim_pays(const struct hp_pcpu *pcpu) {
    return hp_is_vcpu(pcpu->grant.pay) && pcpu->grant.also == HP_NONE;
}
