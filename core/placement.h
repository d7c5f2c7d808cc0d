// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Placement: the first m in order get the m pcpus. One that has a pcpu already stays where it is; a
 * newcomer takes its last pcpu if that is free, else the lowest free one. Servers and best-effort
 * vcpus are placed by the same rule, the latter on what is left idle.
 *
 * A vcpu may be bound to some of the pcpus. Who is first in order gets a pcpu then if those before
 * it, and it, can all have one that they may run on: one that could run elsewhere makes room. (The
 * literature calls that strong affinity scheduling: Gujarati, Cerqueira and Brandenburg,
 * "Multiprocessor real-time scheduling with arbitrary processor affinities".) So a vcpu waits only
 * while all pcpus that could be made free for it are given to vcpus before it, and for one that is
 * not bound those are all pcpus. With A and B in this order, B bound to pcpu 0 where A runs, and
 * pcpu 1 free: A moves to pcpu 1 and B gets pcpu 0.
 *
 * The pcpus that the chosen get are a matching. It grows by one vcpu at a time, along a path: the
 * newcomer takes the pcpu of another, which takes that of the next, whose last takes a free one.
 */
#pragma once

#include "budget.h"

/* Whether this vcpu has a pcpu now, in this role. */
HP_FN hp_u32 hp_has_pcpu(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    const struct hp_pcpu *pcpu = hp_pcpu_of(core, hp_server_of(core, vcpu)->last_pcpu);

    return (role == HP_EFFORT ? pcpu->effort : pcpu->holder) == vcpu;
}

/* The key by which a vcpu is a candidate in this role, or HP_NEVER. Of best-effort vcpus who goes
 * on with its turn is first, then by turns. */
HP_FN hp_u64 hp_candidate_key(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (role != HP_EFFORT)
        return hp_key_of(&core->ready, vcpu);
    if (!server->runnable || !hp_is_effort(server))
        return HP_NEVER;
    return hp_goes_on(core, vcpu, HP_EFFORT) ? 0 : server->turn_ns[HP_EFFORT];
}

/* Whether a vcpu with this key comes before another candidate. */
HP_FN hp_u32 hp_precedes(struct hp_core *core, hp_u32 vcpu, hp_u64 key, hp_u32 other, hp_u32 role) {
    const hp_u64 others = hp_candidate_key(core, other, role);

    return key != others ? key < others : hp_wins_tie(core, vcpu, other, role);
}

/* Puts a vcpu where it belongs among the first so many of the chosen, of which the last, if there
 * are that many, is lost. */
HP_STEP void hp_insert(struct hp_core *core, hp_u32 vcpu, hp_u32 count, hp_u32 role) {
    const hp_u64 key = hp_candidate_key(core, vcpu, role);
    hp_u32 place = HP_FORGET(count);

    HP_ASSERT(key != HP_NEVER && count < HP_VCPUS);
    HP_FOR (step, HP_VCPUS) {
        if (place == 0
            || !hp_precedes(core, vcpu, key, core->chosen[HP_INDEX(place - 1u, HP_VCPUS)], role))
            break;
        core->chosen[HP_INDEX(place, HP_VCPUS)] = core->chosen[HP_INDEX(place - 1u, HP_VCPUS)];
        place = HP_FORGET(place - 1u);
    }
    core->chosen[HP_INDEX(place, HP_VCPUS)] = vcpu;
}

/* Finds the first 'limit' candidates, at least one, in order; returns how many there are of all. */
HP_ONCE hp_u32 hp_sort_first(struct hp_core *core HP_NOT_NULL, hp_u32 limit, hp_u32 role) {
    hp_u32 count = HP_FORGET(0u);

    HP_ASSERT(limit > 0);
    HP_FOR (vcpu, core->numbers) {
        const hp_u64 key = hp_candidate_key(core, vcpu, role);

        if (key != HP_NEVER) {
            const hp_u32 last = core->chosen[HP_INDEX(limit - 1u, HP_VCPUS)];

            if (count < limit || hp_precedes(core, vcpu, key, last, role))
                hp_insert(core, vcpu, (hp_u32)hp_min(count, limit - 1u), role);
            count = HP_FORGET(count + 1u);
        }
        count = HP_FORGET(count);
    }
    return count;
}

/* Which of these pcpus the vcpu may run on. Bound to none that is here, it may run on all. */
HP_FN hp_u64 hp_allowed(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus) {
    const hp_u64 bound_to = core->bound_to[HP_INDEX(vcpu, HP_VCPUS)] & hp_all_pcpus(core);

    return bound_to ? pcpus & bound_to : pcpus;
}

/* The pcpu that this vcpu should get out of the free ones, of which there is at least one. */
HP_FN hp_u32 hp_free_pcpu(struct hp_core *core, hp_u32 vcpu, hp_u64 free) {
    const hp_u32 last = hp_server_of(core, vcpu)->last_pcpu;

    HP_ASSERT(free != 0);
    return free >> (last % 64u) & 1u ? last : (hp_u32)__builtin_ctzll(free);
}

/* The vcpu gets a pcpu that nobody has yet. */
HP_FN void hp_match_free(struct hp_core *core, hp_u32 pcpu, hp_u32 vcpu) {
    HP_ASSERT(!(core->matched & hp_bit_of(pcpu)));
    core->match[HP_INDEX(pcpu % 64u, HP_PCPUS)] = vcpu;
    core->matched |= hp_bit_of(pcpu);
}

/*
 * Finds a free pcpu that the vcpu could get because others make room: from the pcpus that it may
 * run on to those that who has one of these may run on, and so on. Returns it, or HP_NONE.
 * core->via says of each pcpu that was found so from which one.
 */
HP_RARE hp_u32 hp_find_room(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus) {
    hp_u64 reached = HP_FORGET(hp_allowed(core, vcpu, pcpus));
    hp_u64 ahead = HP_FORGET(reached);

    HP_ASSERT(!(reached & ~core->matched));
    HP_FOR (step, HP_PCPUS) {
        hp_u32 pcpu;
        hp_u64 found;

        if (ahead == 0)
            break;
        pcpu = (hp_u32)__builtin_ctzll(ahead);
        found = hp_allowed(core, core->match[HP_INDEX(pcpu % 64u, HP_PCPUS)], pcpus) & ~reached;
        reached = HP_FORGET(reached | found);
        ahead = HP_FORGET((ahead & (ahead - 1u)) | found);
        HP_FOR (other, HP_PCPUS) {
            if (found & hp_bit_of(other))
                core->via[HP_INDEX(other, HP_PCPUS)] = pcpu;
        }
        if (found & ~core->matched)
            return (hp_u32)__builtin_ctzll(found & ~core->matched);
    }
    return HP_NONE;
}

/*
 * Gives the vcpu one of the pcpus as well: its last one or the lowest, if one that it may run on is
 * free. Else everybody on the way to where there is room moves on by one. Returns whether all can
 * have a pcpu.
 */
HP_ONCE hp_u32 hp_match_one(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu, hp_u64 pcpus) {
    const hp_u64 allowed = hp_allowed(core, vcpu, pcpus);
    hp_u32 pcpu;

    if (allowed & ~core->matched) {
        hp_match_free(core, hp_free_pcpu(core, vcpu, allowed & ~core->matched), vcpu);
        return 1;
    }
    pcpu = HP_FORGET(hp_find_room(core, vcpu, pcpus));
    if (pcpu == HP_NONE)
        return 0;
    core->matched |= hp_bit_of(pcpu);
    HP_FOR (step, HP_PCPUS) {
        hp_u32 from;

        if (allowed & hp_bit_of(pcpu))
            break;
        from = core->via[HP_INDEX(pcpu % 64u, HP_PCPUS)];
        core->match[HP_INDEX(pcpu % 64u, HP_PCPUS)] = core->match[HP_INDEX(from % 64u, HP_PCPUS)];
        pcpu = HP_FORGET(from);
    }
    core->match[HP_INDEX(pcpu % 64u, HP_PCPUS)] = vcpu;
    return 1;
}

/*
 * Chooses the first 'limit' candidates that fit on the free pcpus, of which there are as many;
 * returns how many were chosen; core->others_wait says whether there are more. Who gets which pcpu
 * is said by hp_place.
 */
HP_RARE hp_u32 hp_choose(struct hp_core *core, hp_u32 limit, hp_u64 free, hp_u32 role) {
    const hp_u32 fits = HP_PCPUS > 1u && core->bound > 0;
    const hp_u32 all = limit > 0 ? hp_sort_first(core, fits ? HP_VCPUS : limit, role) : 0;
    hp_u32 count = HP_FORGET(0u);

    HP_ASSERT(limit <= hp_pcpus(core) && !(free & ~hp_pcpu_mask(core)));
    core->matched = 0;
    HP_FOR (i, all) {
        const hp_u32 vcpu = core->chosen[HP_INDEX(i, HP_VCPUS)];

        if (count >= limit)
            break;
        if (!fits || hp_match_one(core, vcpu, free)) {
            core->chosen[HP_INDEX(count, HP_VCPUS)] = vcpu;
            hp_server_of(core, vcpu)->place = count;
            count = HP_FORGET(count + 1u);
        }
        count = HP_FORGET(count);
    }
    core->others_wait = all > count;
    return count;
}

/* Writes down who is planned for this pcpu in this role. */
HP_FN void hp_assign(struct hp_core *core, hp_u32 pcpu, hp_u32 vcpu, hp_u32 role) {
    struct hp_plan *plan = &hp_pcpu_of(core, pcpu)->plan;

    if (role == HP_EFFORT)
        plan->effort = vcpu;
    else
        plan->holder = vcpu;
}

/*
 * Gives the chosen, all of whom fit, pcpus that they may run on, and the other pcpus to nobody;
 * returns the pcpus that are left. Those that have one are matched first, so that they move only
 * where one has to make room.
 */
HP_ONCE hp_u64 hp_place(struct hp_core *core HP_NOT_NULL, hp_u32 count, hp_u64 free, hp_u32 role) {
    hp_u64 newcomers = 0;

    HP_ASSERT(count <= hp_pcpus(core));
    core->matched = 0;
    HP_FOR (i, HP_PCPUS) {
        const hp_u32 vcpu = core->chosen[HP_INDEX(i, HP_VCPUS)];
        hp_u32 last;

        if (i >= count)
            break;
        last = hp_server_of(core, vcpu)->last_pcpu;
        if (hp_has_pcpu(core, vcpu, role) && (hp_allowed(core, vcpu, free) & hp_bit_of(last)))
            hp_match_free(core, last, vcpu);
        else
            newcomers |= hp_bit_of(i);
    }
    HP_FOR (i, HP_PCPUS) {
        if (i >= count || newcomers == 0)
            break;
        if (newcomers & hp_bit_of(i))
            hp_match_one(core, core->chosen[HP_INDEX(i, HP_VCPUS)], free);
    }
    HP_FOR (pcpu, hp_pcpus(core)) {
        const hp_u32 vcpu = core->match[HP_INDEX(pcpu, HP_PCPUS)];

        hp_assign(core, pcpu, core->matched & hp_bit_of(pcpu) ? vcpu : HP_NONE, role);
    }
    HP_ASSERT(!(core->matched & ~free));
    return free & ~core->matched;
}
