// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Lend (WCPS in the CSA paper, section III.A): when the server H that holds the pcpu has no
 * work, the first vcpu with work and budget of its own runs instead, and both pay. It gives way
 * at once when H gets work, when H runs out of budget, or when it does so itself. Without such
 * a vcpu the pcpu idles and H pays.
 *
 * Lending spends the runner's budget early. Schedulability is kept (Lemma 2), but a job that
 * arrives later in the runner's period may wait longer than without lending.
 */
#pragma once

#include "none.h"

HP_FN void hp_lend_use(struct hp_core *core, struct hp_plan *plan) {
    if (plan->holder == HP_NONE || plan->run != HP_NONE)
        return;
    plan->run = hp_first_user(core, 0);
    plan->also = plan->run;
}

/* A server pays, and so does who runs if that is another one. */
HP_FN hp_u32 hp_lend_pays(const struct hp_pcpu *pcpu) {
    const struct hp_grant *grant = &pcpu->grant;

    return hp_is_vcpu(grant->pay)
           && grant->also == (grant->pay == grant->run ? HP_NONE : grant->run);
}
