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
    const hp_u64 all = hp_pcpus(core) >= 64u ? ~0ull : (1ull << hp_pcpus(core)) - 1u;

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

/* The queue of those who are asked in this role. */
HP_FN struct hp_queue *hp_queue_of(struct hp_core *core, hp_u32 role) {
    return role == HP_EFFORT ? &core->effort : &core->ready;
}

/* Takes the first out of the queue while a choice is made; the how manieth that is. */
HP_FN hp_u32 hp_ask(struct hp_core *core, hp_u32 asked, hp_u32 role) {
    struct hp_queue *queue = hp_queue_of(core, role);
    const hp_u32 vcpu = hp_queue_first(core, queue, role);

    if (vcpu == HP_NONE)
        return HP_NONE;
    core->asked[HP_INDEX(asked, HP_VCPUS)] = vcpu;
    core->asked_key[HP_INDEX(asked, HP_VCPUS)] = hp_key_of(queue, vcpu);
    hp_queue_put(queue, vcpu, HP_NEVER);
    return vcpu;
}

/* All that were asked are back in the queue: from the last to the first, so that each is first. */
HP_FN void hp_end_choice(struct hp_core *core, hp_u32 asked, hp_u32 role) {
    HP_FOR (i, HP_VCPUS) {
        const hp_u32 last = asked - 1u - i;

        if (i >= asked)
            break;
        hp_queue_put(hp_queue_of(core, role), core->asked[HP_INDEX(last, HP_VCPUS)],
                     core->asked_key[HP_INDEX(last, HP_VCPUS)]);
    }
}

/*
 * Chooses the first 'limit' of the queue that fit on the free pcpus; returns how many there are.
 */
HP_RARE hp_u32 hp_choose(struct hp_core *core, hp_u32 limit, hp_u64 free, hp_u32 role) {
    hp_u32 count = HP_FORGET(0u);
    hp_u32 asked = HP_FORGET(0u);

    core->skipped = 0;
    core->matched = 0;
    HP_FOR (i, HP_VCPUS) {
        const hp_u32 vcpu = count < limit ? hp_ask(core, asked, role) : HP_NONE;

        if (vcpu == HP_NONE)
            break;
        asked = HP_FORGET(asked + 1u);
        if (HP_PCPUS > 1u && core->bound && !hp_match_one(core, vcpu, free)) {
            core->skipped = 1;
            continue;
        }
        core->chosen[HP_INDEX(count, HP_PCPUS)] = vcpu;
        hp_server_of(core, vcpu)->place = count;
        count = HP_FORGET(count + 1u);
    }
    core->others_wait = hp_queue_first(core, hp_queue_of(core, role), role) != HP_NONE;
    hp_end_choice(core, asked, role);
    return count;
}

/*
 * Gives the chosen, all of whom fit, pcpus that they may run on; returns the pcpus that are left.
 * Those that are seated are matched first, so that they move only where one has to make room.
 */
HP_RARE hp_u64 hp_place(struct hp_core *core, hp_u32 count, hp_u64 free, hp_u32 role) {
    hp_u64 newcomers = 0;

    if (HP_PCPUS == 1u) {
        if (count > 0)
            hp_assign(core, 0, core->chosen[0], role);
        return count > 0 ? 0 : free;
    }
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
        if (pcpu >= hp_pcpus(core))
            break;
        if (core->matched >> (pcpu % 64u) & 1u)
            hp_assign(core, pcpu, core->match[HP_INDEX(pcpu, HP_PCPUS)], role);
    }
    return free & ~core->matched;
}
