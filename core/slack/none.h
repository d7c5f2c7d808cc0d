// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No slack rule (PTPS, DS, polling, sporadic, RTDS, cbs, hsf-fp): who holds the pcpu pays, and
 * runs if it has work. Time whose owner does not need it is idle; under the periodic rule the
 * owner pays for it all the same.
 */
#pragma once

#include "../placement.h"

HP_FN void hp_none_use(struct hp_core *core, struct hp_seat *seat) {
    const hp_u32 holder = seat->plan_holder;

    seat->plan_pay = holder;
    seat->plan_run = HP_NONE;
    seat->plan_also = HP_NONE;
    if (holder != HP_NONE && hp_server_of(core, holder)->working)
        seat->plan_run = holder;
}
