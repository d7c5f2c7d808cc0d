// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Best-effort vcpus: they have no server, run exactly where the grant would be idle, in turns
 * of 1 ms, and leave at once. Who pays for the idle time goes on paying. They leave no trace in
 * the order of the others.
 */
#pragma once

#include "placement.h"

/* Who ran last on a pcpu may go on with its turn there, or not: the queue is told. */
HP_PART void hp_requeue_last_efforts(struct hp_core *core) {
    HP_FOR (pcpu, HP_PCPUS) {
        if (pcpu >= hp_pcpus(core))
            break;
        hp_requeue_effort(core, hp_pcpu_of(core, pcpu)->last[HP_EFFORT]);
    }
}

HP_RARE void hp_plan_effort(struct hp_core *core) {
    hp_u64 idle = 0;
    hp_u32 idle_pcpus = 0;
    hp_u32 count;

    core->effort_waits = 0;
    HP_FOR (pcpu, HP_PCPUS) {
        if (pcpu >= hp_pcpus(core))
            break;
        if (hp_pcpu_of(core, pcpu)->plan_run == HP_NONE && !hp_is_stolen(core, pcpu)) {
            idle |= 1ull << pcpu;
            idle_pcpus++;
        }
    }
    if (idle == 0)
        return;
    hp_requeue_last_efforts(core);
    count = hp_choose(core, idle_pcpus, idle, HP_EFFORT);
    core->effort_waits = core->skipped || core->others_wait;
    hp_place(core, count, idle, HP_EFFORT);
}
