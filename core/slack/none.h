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

/* Nobody else uses what the owner leaves. */
HP_FN void hp_no_use(struct hp_core *core, struct hp_plan *plan) {
    (void)core, (void)plan;
}

/* Who runs pays, alone. */
HP_FN hp_u32 hp_own_pays(const struct hp_pcpu *pcpu) {
    return pcpu->grant.pay == pcpu->grant.run && pcpu->grant.also == HP_NONE;
}
