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

HP_RARE void hp_lend_use(struct hp_core *core, struct hp_pcpu *slot) {
    if (slot->plan_holder == HP_NONE || slot->plan_run != HP_NONE)
        return;
    slot->plan_run = hp_first_user(core, 0);
    slot->plan_also = slot->plan_run;
}

/* A server pays, and so does who runs if that is another one. */
HP_FN hp_u32 hp_lend_pays(const struct hp_pcpu *slot) {
    const struct hp_grant *grant = &slot->grant;

    return hp_is_vcpu(grant->pay)
           && grant->also == (grant->pay == grant->run ? HP_NONE : grant->run);
}
