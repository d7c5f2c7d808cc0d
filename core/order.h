// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who is first among the eligible: the level, then the order rule (rank.h), and then the rule for
 * equals.
 *
 * Equals: the one that pays (or runs) goes on; else, with a quantum, the one whose last turn is
 * longest ago (of two given at one instant, the one that was chosen first); else the lower vcpu
 * number. With a quantum a turn lasts that long, and who has had his turn is no longer
 * preferred. Best-effort vcpus take turns of their own length.
 *
 * Ranks follow the order (rank.h), so the first of a set is a bit scan, and only equals and
 * levels of extra time need a walk. All that can be a candidate is watched (account.h), so
 * deadlines are never stale here.
 */
#pragma once

#include "budget.h"

/* How long a turn among equals lasts; 0: for ever. */
HP_FN hp_u64 hp_turn_length(const struct hp_core *core, hp_u32 role) {
    return role == HP_EFFORT ? HP_EFFORT_TURN_NS : core->quantum_ns;
}

/* When this vcpu's turn is over, or HP_NEVER. */
HP_FN hp_u64 hp_turn_end(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    const hp_u64 length_ns = hp_turn_length(core, role);

    if (length_ns == 0)
        return HP_NEVER;
    return hp_server_of(core, vcpu)->turn_ns[HP_INDEX(role, HP_ROLES)] - 1u + length_ns;
}

/* Whether this vcpu was the last in that role on its pcpu. */
HP_FN hp_u32 hp_was_last(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    const struct hp_seat *seat = hp_seat_of(core, hp_server_of(core, vcpu)->last_pcpu);

    return seat->last[HP_INDEX(role, HP_ROLES)] == vcpu;
}

/* Whether this vcpu was the last in that role on its pcpu, and may go on. */
HP_FN hp_u32 hp_goes_on(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    return hp_was_last(core, vcpu, role) && core->now_ns < hp_turn_end(core, vcpu, role);
}

/* Whether a comes before b, who are equal but for whose turn it is. */
HP_FN hp_u32 hp_before_equal(struct hp_core *core, hp_u32 a, hp_u32 b, hp_u32 role) {
    const hp_u32 a_goes_on = hp_goes_on(core, a, role);
    const struct hp_server *left = hp_server_of(core, a);
    const struct hp_server *right = hp_server_of(core, b);
    const hp_u32 slot = HP_INDEX(role, HP_ROLES);

    if (a_goes_on != hp_goes_on(core, b, role))
        return a_goes_on;
    if (hp_turn_length(core, role) == 0)
        return a < b;
    if (left->turn_ns[slot] != right->turn_ns[slot])
        return left->turn_ns[slot] < right->turn_ns[slot];
    if (left->turn_place[slot] != right->turn_place[slot])
        return left->turn_place[slot] < right->turn_place[slot];
    return a < b;
}

/* Whether two vcpus on one level are equal in order, but for whose turn it is. */
HP_FN hp_u32 hp_equals(struct hp_core *core, hp_u32 a, hp_u32 b) {
    return hp_urgency(core, a) == hp_urgency(core, b);
}

/* Whether a comes before b. */
HP_FN hp_u32 hp_before(struct hp_core *core, hp_u32 a, hp_u32 b, hp_u32 role) {
    const struct hp_server *left = hp_server_of(core, a);
    const struct hp_server *right = hp_server_of(core, b);

    if (role == HP_EFFORT)
        return hp_before_equal(core, a, b, role);
    if (left->level != right->level)
        return left->level < right->level;
    if (!hp_equals(core, a, b))
        return hp_urgency(core, a) < hp_urgency(core, b);
    return hp_before_equal(core, a, b, role);
}

/* Walks the set from this rank on for one that comes before all others, or all its equals. */
HP_STEP hp_u32 hp_walk_first(struct hp_core *core, const struct hp_set *set, hp_u32 rank,
                             hp_u32 role, hp_u32 equals) {
    hp_u32 best = HP_FORGET(HP_NONE);

    rank = HP_FORGET(rank);
    HP_FOR (step, HP_VCPUS) {
        hp_u32 vcpu;

        rank = hp_set_next(core, set, rank);
        if (rank == HP_NONE)
            break;
        vcpu = hp_vcpu_at(core, rank);
        if (best == HP_NONE) {
            best = vcpu;
        } else {
            if (equals && !hp_equals(core, vcpu, best))
                break;
            if (hp_before(core, vcpu, best, role))
                best = vcpu;
        }
        rank = HP_FORGET(rank + 1u);
        best = HP_FORGET(best);
    }
    return best;
}

/*
 * Among members of the set that are equal to this one, which has the lowest number: the one that
 * goes on, if there is one, else this one.
 */
HP_STEP hp_u32 hp_first_equal(struct hp_core *core, const struct hp_set *set, hp_u32 vcpu,
                              hp_u32 role) {
    hp_u32 best = HP_NONE;

    HP_FOR (pcpu, HP_PCPUS) {
        hp_u32 last;

        if (pcpu >= core->pcpus)
            break;
        last = hp_seat_of(core, pcpu)->last[HP_INDEX(role, HP_ROLES)];
        if (last >= best || hp_server_of(core, last)->last_pcpu != pcpu
            || !hp_equals(core, last, vcpu))
            continue;
        if (hp_set_has(set, hp_server_of(core, last)->rank))
            best = last;
    }
    return best == HP_NONE ? vcpu : best;
}

/* Whether the set has another member equal to the first, which is at this rank. */
HP_FN hp_u32 hp_has_equal(struct hp_core *core, const struct hp_set *set, hp_u32 rank) {
    const hp_u32 first = hp_vcpu_at(core, rank);
    hp_u32 next;

    if (!hp_has(core, HP_BY_DEADLINE) && !hp_server_of(core, first)->peers)
        return 0;
    next = hp_set_next(core, set, rank + 1u);
    return next != HP_NONE && hp_equals(core, first, hp_vcpu_at(core, next));
}

/* The first of a set whose members are all at their own level (or all best effort). */
HP_FN hp_u32 hp_first(struct hp_core *core, const struct hp_set *set, hp_u32 role) {
    const hp_u32 rank = hp_set_next(core, set, 0);

    if (rank == HP_NONE)
        return HP_NONE;
    if (role == HP_EFFORT)
        return hp_walk_first(core, set, rank, role, 0);
    if (!hp_has_equal(core, set, rank))
        return hp_vcpu_at(core, rank);
    if (core->quantum_ns == 0)
        return hp_first_equal(core, set, hp_vcpu_at(core, rank), role);
    return hp_walk_first(core, set, rank, role, 1);
}
