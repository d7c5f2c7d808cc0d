// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Placement: the first m in order get the m pcpus. One that has one already stays where it
 * is; a newcomer takes its last pcpu if that is free, else the lowest free one (affinity.h).
 *
 * Servers and best-effort vcpus are placed by the same rule, the latter on what is left idle.
 * Where vcpus are bound to pcpus the first in order may be passed over, and one that has one may
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
HP_FN hp_u32 hp_has_pcpu(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    const struct hp_pcpu *slot = hp_pcpu_of(core, hp_server_of(core, vcpu)->last_pcpu);

    return (role == HP_EFFORT ? slot->effort : slot->holder) == vcpu;
}

HP_FN void hp_assign(struct hp_core *core, hp_u32 pcpu, hp_u32 vcpu, hp_u32 role) {
    struct hp_pcpu *slot = hp_pcpu_of(core, pcpu);

    if (role == HP_EFFORT)
        slot->plan_effort = vcpu;
    else
        slot->plan_holder = vcpu;
}

/* The queue of those who are asked in this role. */
HP_FN struct hp_queue *hp_queue_of(struct hp_core *core, hp_u32 role) {
    return role == HP_EFFORT ? &core->effort : &core->ready;
}

/* Finds who is next in a group of those who were not asked yet. */
HP_RARE void hp_look_ahead(struct hp_core *core, const struct hp_queue *queue, hp_u32 group,
                           hp_u32 role) {
    const hp_u32 slot = HP_INDEX(group, HP_GROUPS);
    const hp_u32 members = hp_members(core, group);
    const hp_u32 asked = core->asked[slot];
    hp_u32 next = HP_FORGET(group * HP_GROUP);
    hp_u64 lowest = HP_FORGET(HP_NEVER);

    HP_FOR (i, members) {
        const hp_u32 vcpu = group * HP_GROUP + i;
        const hp_u64 key = hp_key_of(queue, vcpu);

        if (key < lowest ? !(asked >> (i % 32u) & 1u)
                         : key == lowest && key != HP_NEVER && !(asked >> (i % 32u) & 1u)
                               && hp_wins_tie(core, key, vcpu, next, role)) {
            next = vcpu;
            lowest = key;
        }
        next = HP_FORGET(next);
        lowest = HP_FORGET(lowest);
    }
    core->next[slot] = next;
    core->next_key[slot] = lowest;
}

/* Nobody was asked yet. */
HP_ASIDE void hp_begin_choice(struct hp_core *core, const struct hp_queue *queue, hp_u32 role) {
    HP_FOR (group, core->groups) {
        core->asked[HP_INDEX(group, HP_GROUPS)] = 0;
        hp_look_ahead(core, queue, group, role);
    }
}

/* The group of who is next of all, if anybody is. */
HP_RARE hp_u32 hp_next_group(struct hp_core *core, hp_u32 role) {
    hp_u32 best = HP_FORGET(0u);
    hp_u64 lowest = HP_FORGET(core->next_key[0]);

    HP_FOR (i, core->groups - 1u) {
        const hp_u32 slot = HP_INDEX(i + 1u, HP_GROUPS);
        const hp_u64 key = core->next_key[slot];

        if (key < lowest
            || (key == lowest && key != HP_NEVER
                && hp_wins_tie(core, key, core->next[slot], core->next[HP_INDEX(best, HP_GROUPS)],
                               role))) {
            best = slot;
            lowest = key;
        }
        best = HP_FORGET(best);
        lowest = HP_FORGET(lowest);
    }
    return best;
}

/* Asks who is next of all in the queue, or HP_NONE. */
HP_FN hp_u32 hp_ask(struct hp_core *core, const struct hp_queue *queue, hp_u32 role) {
    const hp_u32 group = hp_next_group(core, role);
    const hp_u32 slot = HP_INDEX(group, HP_GROUPS);
    const hp_u32 vcpu = core->next[slot];

    if (core->next_key[slot] == HP_NEVER)
        return HP_NONE;
    core->asked[slot] |= 1u << (vcpu % HP_GROUP % 32u);
    hp_look_ahead(core, queue, group, role);
    return vcpu;
}

/*
 * Chooses the first 'limit' of the queue that fit on the free pcpus; returns how many there are.
 */
HP_RARE_ONCE hp_u32 hp_choose(struct hp_core *core HP_NOT_NULL, hp_u32 limit, hp_u64 free,
                              hp_u32 role) {
    const struct hp_queue *queue = hp_queue_of(core, role);
    hp_u32 count = HP_FORGET(0u);

    core->skipped = 0;
    core->matched = 0;
    hp_begin_choice(core, queue, role);
    HP_FOR (i, HP_VCPUS) {
        const hp_u32 vcpu = count < limit ? hp_ask(core, queue, role) : HP_NONE;

        if (vcpu == HP_NONE)
            break;
        if (HP_PCPUS > 1u && core->bound && !hp_match_one(core, vcpu, free)) {
            core->skipped = 1;
            continue;
        }
        core->chosen[HP_INDEX(count, HP_PCPUS)] = vcpu;
        hp_server_of(core, vcpu)->place = count;
        count = HP_FORGET(count + 1u);
    }
    core->others_wait = core->next_key[HP_INDEX(hp_next_group(core, role), HP_GROUPS)] != HP_NEVER;
    return count;
}

/*
 * Gives the chosen, all of whom fit, pcpus that they may run on, and the other pcpus to nobody;
 * returns the pcpus that are left.
 * Those that have one are matched first, so that they move only where one has to make room.
 */
HP_RARE_ONCE hp_u64 hp_place(struct hp_core *core HP_NOT_NULL, hp_u32 count, hp_u64 free,
                             hp_u32 role) {
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
        if (hp_has_pcpu(core, vcpu, role) && (hp_allowed(core, vcpu, free) >> (last % 64u) & 1u))
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
        hp_assign(core, pcpu,
                  core->matched >> (pcpu % 64u) & 1u ? core->match[HP_INDEX(pcpu, HP_PCPUS)]
                                                     : HP_NONE,
                  role);
    }
    return free & ~core->matched;
}
