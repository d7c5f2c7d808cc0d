// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No slack rule (PTPS, DS, polling, sporadic, RTDS, cbs, hsf-fp): who holds the pcpu pays, and
 * runs if it has work. Time whose owner does not need it is idle; under the periodic rule the
 * owner pays for it all the same.
 */
#pragma once

#include "../placement.h"

/* Who holds the pcpu has its time. */
HP_FN void hp_owner_use(struct hp_core *core, struct hp_pcpu *slot) {
    const hp_u32 holder = slot->plan_holder;

    slot->plan_pay = holder;
    slot->plan_run = HP_NONE;
    slot->plan_also = HP_NONE;
    if (holder != HP_NONE && hp_server_of(core, holder)->runnable)
        slot->plan_run = holder;
}

/* Nobody else uses what the owner leaves. */
HP_FN void hp_no_use(struct hp_core *core, struct hp_pcpu *slot) {
    (void)core, (void)slot;
}

/* Who runs pays, alone. */
HP_FN hp_u32 hp_own_pays(const struct hp_pcpu *slot) {
    return slot->grant.pay == slot->grant.run && slot->grant.also == HP_NONE;
}
