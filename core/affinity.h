// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Affinity: a vcpu may be bound to some of the pcpus of its lock domain. Who is first in order
 * gets a pcpu then if those before it, and it, can all have one that they may run on: one that
 * could run elsewhere makes room. (The literature calls that strong affinity scheduling: Gujarati,
 * Cerqueira and Brandenburg, "Multiprocessor real-time scheduling with arbitrary processor
 * affinities".) So a vcpu waits only while all pcpus that could be made free for it are given to
 * vcpus before it, and for one that is not bound those are all pcpus.
 *
 * The pcpus that the chosen get are a matching. It grows by one vcpu at a time, along a path: the
 * newcomer takes the pcpu of another, which takes that of the next, whose last takes a free one.
 */
#pragma once

#include "budget.h"

/* Which of these pcpus the vcpu may run on. Bound to none that is here, it may run on all. */
HP_FN hp_u64 hp_allowed(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus) {
    const hp_u64 here = hp_pcpus(core) >= 64u ? ~0ull : (1ull << hp_pcpus(core)) - 1u;
    const hp_u64 bound_to = core->affinity[HP_INDEX(vcpu, HP_VCPUS)] & here;

    return bound_to ? pcpus & bound_to : pcpus;
}

/* The pcpu that this vcpu should get out of the free ones, of which there is at least one. */
HP_FN hp_u32 hp_free_pcpu(struct hp_core *core, hp_u32 vcpu, hp_u64 free) {
    const hp_u32 last = hp_server_of(core, vcpu)->last_pcpu;

    HP_ASSERT(free != 0);
    if (free >> (last % 64u) & 1u)
        return last;
    return (hp_u32)__builtin_ctzll(free);
}

/* The vcpu gets a pcpu that nobody has yet. */
HP_FN void hp_match_free(struct hp_core *core, hp_u32 pcpu, hp_u32 vcpu) {
    core->match[HP_INDEX(pcpu % 64u, HP_PCPUS)] = vcpu;
    core->matched |= 1ull << (pcpu % 64u);
}

/*
 * Finds a free pcpu that the vcpu could get because others make room: from the pcpus that it may
 * run on to those that who has one of these may run on, and so on. Returns it, or HP_NONE.
 * core->via says of each pcpu that was found so from which one.
 */
HP_RARE hp_u32 hp_find_room(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus) {
    hp_u64 reached = HP_FORGET(hp_allowed(core, vcpu, pcpus));
    hp_u64 ahead = HP_FORGET(reached);

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
            if (found >> (other % 64u) & 1u)
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
HP_RARE_ONCE hp_u32 hp_match_one(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu, hp_u64 pcpus) {
    const hp_u64 allowed = hp_allowed(core, vcpu, pcpus);
    hp_u32 pcpu;

    if (allowed & ~core->matched) {
        hp_match_free(core, hp_free_pcpu(core, vcpu, allowed & ~core->matched), vcpu);
        return 1;
    }
    pcpu = HP_FORGET(hp_find_room(core, vcpu, pcpus));
    if (pcpu == HP_NONE)
        return 0;
    core->matched |= 1ull << (pcpu % 64u);
    HP_FOR (step, HP_PCPUS) {
        hp_u32 from;

        if (allowed >> (pcpu % 64u) & 1u)
            break;
        from = core->via[HP_INDEX(pcpu % 64u, HP_PCPUS)];
        core->match[HP_INDEX(pcpu % 64u, HP_PCPUS)] = core->match[HP_INDEX(from % 64u, HP_PCPUS)];
        pcpu = HP_FORGET(from);
    }
    core->match[HP_INDEX(pcpu % 64u, HP_PCPUS)] = vcpu;
    return 1;
}
