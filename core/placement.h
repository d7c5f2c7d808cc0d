// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Placement: the first m in order get the m pcpus. One that is seated already stays where it
 * is; a newcomer takes its last pcpu if that is free, else the lowest free one (affinity.h).
 *
 * Servers and best-effort vcpus are placed by the same rule, the latter on what is left idle.
 * Where vcpus are bound to pcpus the first in order may be passed over, and one that is seated may
 * have to make room.
 */
#pragma once

#include "affinity.h"

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

/*
 * Chooses the first 'limit' of the pool, and of those below it, that fit on the free pcpus; returns
 * how many there are.
 */
HP_RARE hp_u32 hp_choose(struct hp_core *core, hp_u32 limit, hp_u64 free, hp_u32 role) {
    hp_u32 count = HP_FORGET(0u);

    core->skipped = 0;
    core->matched = 0;
    HP_FOR (i, HP_VCPUS) {
        const hp_u32 vcpu = count < limit ? hp_choose_one(core, role) : HP_NONE;

        if (vcpu == HP_NONE)
            break;
        hp_set_drop(&core->pool, hp_server_of(core, vcpu)->rank);
        hp_set_drop(&core->below, hp_server_of(core, vcpu)->rank);
        if (core->bound && !hp_match_one(core, vcpu, free)) {
            core->skipped = 1;
            continue;
        }
        core->chosen[HP_INDEX(count, HP_PCPUS)] = vcpu;
        hp_server_of(core, vcpu)->place = count;
        count = HP_FORGET(count + 1u);
    }
    return count;
}

/*
 * Gives the chosen, all of whom fit, pcpus that they may run on; returns the pcpus that are left.
 * Those that are seated are matched first, so that they move only where one has to make room.
 */
HP_RARE hp_u64 hp_place(struct hp_core *core, hp_u32 count, hp_u64 free, hp_u32 role) {
    hp_u64 newcomers = 0;

    core->matched = 0;
    HP_FOR (i, HP_PCPUS) {
        const hp_u32 vcpu = core->chosen[HP_INDEX(i, HP_PCPUS)];
        hp_u32 last;

        if (i >= count)
            break;
        last = hp_server_of(core, vcpu)->last_pcpu;
        if (hp_has_seat(core, vcpu, role) && (hp_allowed(core, vcpu, free) >> (last % 64u) & 1u))
            hp_match_free(core, last, vcpu);
        else
            newcomers |= 1ull << (i % 64u);
    }
    HP_FOR (i, HP_PCPUS) {
        if (i >= count || newcomers == 0)
            break;
        if (newcomers >> (i % 64u) & 1u)
            hp_match_one(core, core->chosen[HP_INDEX(i, HP_PCPUS)], free);
    }
    HP_FOR (pcpu, HP_PCPUS) {
        if (pcpu >= core->pcpus)
            break;
        if (core->matched >> (pcpu % 64u) & 1u)
            hp_assign(core, pcpu, core->match[HP_INDEX(pcpu, HP_PCPUS)], role);
    }
    return free & ~core->matched;
}
