// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Best-effort vcpus: they have no server, run exactly where the grant would be idle, in turns
 * of 1 ms, and leave at once. Who pays for the idle time goes on paying. They leave no trace in
 * the order of the others.
 *
 * With H of 2 ms in 10 ms under periodic, without work, E and F run in turn: [0, 1) E and [1, 2) F
 * while H pays, [2, 3) E while nobody does. Work for H at 1.4 ms has F leave at once.
 */
#pragma once

#include "../placement.h"

/* Plans who fills the pcpus on which no server runs. */
HP_RARE void hp_plan_efforts(struct hp_core *core) {
    hp_u64 idle = 0;
    hp_u32 idle_pcpus = HP_FORGET(0u);

    HP_FOR (pcpu, hp_pcpus(core)) {
        if (hp_pcpu_of(core, pcpu)->plan.run == HP_NONE && !hp_is_stolen(core, pcpu)) {
            idle |= hp_bit_of(pcpu);
            idle_pcpus++;
        }
        idle_pcpus = HP_FORGET(idle_pcpus);
    }
    core->effort_waits = 0;
    if (idle_pcpus == 0)
        return;
    HP_ASSERT(idle_pcpus <= hp_pcpus(core));
    hp_place(core, hp_choose(core, idle_pcpus, idle, HP_EFFORT), idle, HP_EFFORT);
    core->effort_waits = core->others_wait;
}
