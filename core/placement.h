// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Placement: the first m in order get the m pcpus. One that is seated already stays where it
 * is; a newcomer takes its last pcpu if that is free, else the lowest free one.
 *
 * Servers and best-effort vcpus are placed by the same rule, the latter on what is left idle.
 */
#pragma once

#include "order.h"

/* Whether this pcpu is stolen: whatever is granted there would not run. */
HP_FN hp_u32 hp_is_stolen(const struct hp_core *core, hp_u32 pcpu) {
    return hp_stolen(core) >> (pcpu % 64u) & 1u;
}

/* The pcpus of the lock domain that are there to be granted, as a mask. */
HP_FN hp_u64 hp_pcpu_mask(const struct hp_core *core) {
    const hp_u64 all = core->pcpus >= 64u ? ~0ull : (1ull << core->pcpus) - 1u;

    return all & ~hp_stolen(core);
}

/* Whether this vcpu has a pcpu now, in this role. */
HP_FN hp_u32 hp_has_seat(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    const struct hp_seat *seat = hp_seat_of(core, hp_server_of(core, vcpu)->last_pcpu);

    return (role == HP_EFFORT ? seat->effort : seat->holder) == vcpu;
}

/* The pcpu that this vcpu should get out of the free ones, of which there is at least one. */
HP_FN hp_u32 hp_free_pcpu(struct hp_core *core, hp_u32 vcpu, hp_u64 free) {
    const hp_u32 last = hp_server_of(core, vcpu)->last_pcpu;

    HP_ASSERT(free != 0);
    if (free >> (last % 64u) & 1u)
        return last;
    return (hp_u32)__builtin_ctzll(free);
}

HP_FN void hp_assign(struct hp_core *core, hp_u32 pcpu, hp_u32 vcpu, hp_u32 role) {
    struct hp_seat *seat = hp_seat_of(core, pcpu);

    if (role == HP_EFFORT)
        seat->plan_effort = vcpu;
    else
        seat->plan_holder = vcpu;
}

/* The first of the pool, or of those that only extra time is left for. */
HP_FN hp_u32 hp_choose_one(struct hp_core *core, hp_u32 role) {
    hp_u32 vcpu = hp_first(core, &core->pool, role);

    if (vcpu == HP_NONE && hp_has(core, HP_HAS_LEVELS) && role != HP_EFFORT)
        vcpu = hp_walk_first(core, &core->below, 0, role, 0);
    return vcpu;
}

/* Chooses the first 'limit' of the pool, and of those below it; returns how many there are. */
HP_RARE hp_u32 hp_choose(struct hp_core *core, hp_u32 limit, hp_u32 role) {
    hp_u32 count = HP_FORGET(0u);

    HP_FOR (i, HP_PCPUS) {
        const hp_u32 vcpu = count < limit ? hp_choose_one(core, role) : HP_NONE;

        if (vcpu == HP_NONE)
            break;
        hp_set_drop(&core->pool, hp_server_of(core, vcpu)->rank);
        hp_set_drop(&core->below, hp_server_of(core, vcpu)->rank);
        core->chosen[HP_INDEX(count, HP_PCPUS)] = vcpu;
        hp_server_of(core, vcpu)->place = count;
        count = HP_FORGET(count + 1u);
    }
    return count;
}

/* Gives the chosen their pcpus; returns the pcpus that are left. */
HP_RARE hp_u64 hp_place(struct hp_core *core, hp_u32 count, hp_u64 free, hp_u32 role) {
    hp_u64 newcomers = 0;

    HP_FOR (i, HP_PCPUS) {
        hp_u32 vcpu = core->chosen[HP_INDEX(i, HP_PCPUS)];
        hp_u32 last;

        if (i >= count)
            break;
        last = hp_server_of(core, vcpu)->last_pcpu;
        if (hp_has_seat(core, vcpu, role) && (free >> (last % 64u) & 1u)) {
            hp_assign(core, last, vcpu, role);
            free &= ~(1ull << (last % 64u));
        } else {
            newcomers |= 1ull << (i % 64u);
        }
    }
    HP_FOR (i, HP_PCPUS) {
        hp_u32 vcpu = core->chosen[HP_INDEX(i, HP_PCPUS)];
        hp_u32 pcpu;

        if (i >= count || newcomers == 0)
            break;
        if (!(newcomers >> (i % 64u) & 1u))
            continue;
        pcpu = hp_free_pcpu(core, vcpu, free);
        hp_assign(core, pcpu, vcpu, role);
        free &= ~(1ull << (pcpu % 64u));
    }
    return free;
}
