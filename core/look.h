// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a host may look at. How the state is laid out is the core's own business: a host that reads
 * a field of it is found by tools/check_layers.py.
 */
#pragma once

#include "order.h"

/* The latest time that the core was told. */
HP_FN hp_u64 hp_now_ns(const struct hp_core *core) {
    return core->now_ns;
}

/* The grant in force on this pcpu. */
HP_FN const struct hp_grant *hp_granted(const struct hp_core *core, hp_u32 pcpu) {
    return &core->pcpu[HP_INDEX(pcpu, HP_PCPUS)].grant;
}

/* The same on the first pcpu, which may be the only one. */
HP_FN const struct hp_grant *hp_only_granted(const struct hp_core *core) {
    return &core->pcpu[0].grant;
}

/* When somebody must look after a refill next, or sooner; if that is before the end of the grant
 * that the last pick made it is that time. It holds until the core is told of anything. */
HP_FN hp_u64 hp_found_alarm(const struct hp_core *core) {
    const hp_u64 due_ns = core->due.lowest;

    return hp_has(core, HP_HAS_SPARE) ? hp_min(due_ns, core->spare.deadline_ns) : due_ns;
}

/* Who runs on this pcpu: a vcpu, or HP_NONE. */
HP_FN hp_u32 hp_running(const struct hp_core *core, hp_u32 pcpu) {
    return hp_granted(core, pcpu)->run;
}

/* Whether this vcpu has work. */
HP_FN hp_u32 hp_runnable(const struct hp_core *core, hp_u32 vcpu) {
    return core->server[HP_INDEX(vcpu, HP_VCPUS)].runnable;
}

/* Whether this vcpu's context is on a pcpu still, or again by hp_hold. */
HP_FN hp_u32 hp_held(const struct hp_core *core, hp_u32 vcpu) {
    return core->server[HP_INDEX(vcpu, HP_VCPUS)].held_on != HP_NONE;
}

/* The pcpus that this vcpu is bound to, as a mask; 0: to none. */
HP_FN hp_u64 hp_bound_to(const struct hp_core *core, hp_u32 vcpu) {
    return core->bound_to[HP_INDEX(vcpu, HP_VCPUS)];
}

/* The end of the server's period; of a depleted one its next refill. */
HP_FN hp_u64 hp_deadline_ns(const struct hp_core *core, hp_u32 vcpu) {
    return core->server[HP_INDEX(vcpu, HP_VCPUS)].deadline_ns;
}

/* Whether a server that has work gets its whole budget at each of its deadlines, and nothing
 * between two of them. */
HP_FN hp_u32 hp_refills_whole(const struct hp_core *core) {
    return hp_has(core, HP_TIMED | HP_CARRIES);
}

/* The server's budget and period, as they are until its next refill. */
HP_FN hp_u64 hp_budget_ns(const struct hp_core *core, hp_u32 vcpu) {
    return core->server[HP_INDEX(vcpu, HP_VCPUS)].params.budget_ns;
}

HP_FN hp_u64 hp_period_ns(const struct hp_core *core, hp_u32 vcpu) {
    return core->server[HP_INDEX(vcpu, HP_VCPUS)].params.period_ns;
}

/* What remained of this server's budget when it was last charged, as by a pick of the pcpu that it
 * pays for; below zero: its debt. */
HP_FN hp_i64 hp_remaining_ns(const struct hp_core *core, hp_u32 vcpu) {
    return core->server[HP_INDEX(vcpu, HP_VCPUS)].remaining_ns;
}
