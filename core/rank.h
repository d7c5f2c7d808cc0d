// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ranks: the order of the vcpus, by (urgency, number). Urgency is the priority under fixed priority
 * and the deadline under EDF; fp-edf has first those with a priority, by it, and then the ordinary
 * ones, by deadline. A vcpu's rank is its bit in every set, so the first of a set is a bit scan.
 * When a vcpu comes or goes, when a priority changes and when a swap changes the order rule, all
 * sets are made anew from the servers. One that gets a new deadline moves in the order, where
 * deadlines count.
 */
#pragma once

#include "alarm.h"

/* The order rule as one number: the lowest is first. */
HP_FN hp_u64 hp_urgency(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    switch ((enum hp_order)core->policy.order) {
        HP_CASE(ORDER_FP)
        return server->priority;
        HP_CASE(ORDER_EDF)
        return server->deadline_ns;
        HP_CASE(ORDER_FP_EDF)
        if (server->priority == HP_ORDINARY)
            return HP_ORDINARY + server->deadline_ns;
        return server->priority;
    }
    return 0;
}

/* Whether vcpu a is ranked before b. */
HP_FN hp_u32 hp_ranked_before(struct hp_core *core, hp_u32 a, hp_u32 b) {
    const hp_u64 left = hp_urgency(core, a);
    const hp_u64 right = hp_urgency(core, b);

    return left != right ? left < right : a < b;
}

/* Moves whoever has this rank to the rank beside it. */
HP_FN void hp_rank_shift(struct hp_core *core, hp_u32 from, hp_u32 to) {
    const hp_u32 vcpu = hp_vcpu_at(core, from);

    core->vcpu_at[HP_INDEX(to, HP_VCPUS)] = vcpu;
    hp_server_of(core, vcpu)->rank = to;
}

/* How far up the order the vcpu moves from its rank, past those that are more urgent. */
HP_FN hp_u32 hp_rank_rise(struct hp_core *core, hp_u32 vcpu) {
    const hp_u64 urgency = hp_urgency(core, vcpu);
    const hp_u32 from = hp_server_of(core, vcpu)->rank;
    hp_u32 to = from;

    HP_FOR (step, HP_VCPUS) {
        const hp_u32 here = from + step;
        hp_u64 there;
        hp_u32 next;

        if (here + 1u >= core->ranked)
            break;
        next = hp_vcpu_at(core, here + 1u);
        there = hp_urgency(core, next);
        if (there > urgency || (there == urgency && next > vcpu))
            break;
        hp_rank_shift(core, here + 1u, here);
        to = HP_FORGET(here + 1u);
    }
    return to;
}

/* How far down the order, past those that are less urgent. */
HP_FN hp_u32 hp_rank_fall(struct hp_core *core, hp_u32 vcpu) {
    const hp_u64 urgency = hp_urgency(core, vcpu);
    const hp_u32 from = hp_server_of(core, vcpu)->rank;
    hp_u32 to = from;

    HP_FOR (step, HP_VCPUS) {
        const hp_u32 here = from - step;
        hp_u64 there;
        hp_u32 last;

        if (here == 0)
            break;
        last = hp_vcpu_at(core, here - 1u);
        there = hp_urgency(core, last);
        if (there < urgency || (there == urgency && last < vcpu))
            break;
        hp_rank_shift(core, here - 1u, here);
        to = HP_FORGET(here - 1u);
    }
    return to;
}

/* The server's deadline has changed, and deadlines count: its rank becomes what the order says. */
HP_STEP void hp_rank_move(struct hp_core *core, hp_u32 vcpu) {
    const hp_u32 from = hp_server_of(core, vcpu)->rank;
    hp_u32 to = hp_rank_rise(core, vcpu);

    if (to == from)
        to = hp_rank_fall(core, vcpu);
    if (to == from)
        return;
    core->vcpu_at[HP_INDEX(to, HP_VCPUS)] = vcpu;
    hp_server_of(core, vcpu)->rank = to;
    hp_set_move(core, &core->work, from, to);
    hp_set_move(core, &core->funded, from, to);
    hp_set_move(core, &core->lowered, from, to);
    hp_set_move(core, &core->effort, from, to);
}

/* Puts the vcpu where it belongs among those that have a rank. */
HP_STEP void hp_rank_insert(struct hp_core *core, hp_u32 vcpu) {
    HP_ASSERT(core->ranked < HP_VCPUS);
    core->ranked++;
    HP_FOR (step, HP_VCPUS) {
        hp_u32 slot = core->ranked - 1u - step;

        if (step + 1u >= core->ranked
            || hp_ranked_before(core, hp_vcpu_at(core, slot - 1u), vcpu)) {
            core->vcpu_at[HP_INDEX(slot, HP_VCPUS)] = vcpu;
            break;
        }
        core->vcpu_at[HP_INDEX(slot, HP_VCPUS)] = hp_vcpu_at(core, slot - 1u);
    }
}

/* Takes the vcpu out of the order; the others close up. */
HP_FN void hp_rank_remove(struct hp_core *core, hp_u32 vcpu) {
    HP_FOR (rank, HP_VCPUS) {
        if (rank + 1u >= core->ranked)
            break;
        if (rank >= hp_server_of(core, vcpu)->rank)
            core->vcpu_at[HP_INDEX(rank, HP_VCPUS)] = hp_vcpu_at(core, rank + 1u);
    }
    core->ranked--;
}

HP_FN void hp_clear_sets(struct hp_core *core) {
    HP_FOR (w, HP_WORDS) {
        core->work.word[w] = 0;
        core->funded.word[w] = 0;
        core->lowered.word[w] = 0;
        core->effort.word[w] = 0;
        core->pool.word[w] = 0;
        core->below.word[w] = 0;
    }
    core->words = (core->ranked + 63u) / 64u;
    if (core->words == 0)
        core->words = 1;
    core->planned = 0;
    core->efforts = 0;
    core->effort_waits = 0;
}

/* Whether the vcpu at this rank is a server of the given priority. */
HP_FN hp_u32 hp_is_peer(struct hp_core *core, hp_u32 rank, hp_u32 priority) {
    if (rank >= core->ranked)
        return 0;
    return hp_server_of(core, hp_vcpu_at(core, rank))->priority == priority;
}

/* Finds out whether nothing but the order and the slack of one pcpu has to be looked at. */
HP_FN void hp_see_plain(struct hp_core *core) {
    core->plain = core->pcpus == 1 && core->quantum_ns == 0 && core->efforts == 0
                  && !hp_stolen(core) && !hp_has(core, HP_HAS_SPARE | HP_HAS_SHARES);
}

/* Gives every vcpu its rank, and makes the sets anew. */
HP_RARE void hp_rank_all(struct hp_core *core) {
    hp_clear_sets(core);
    HP_FOR (rank, HP_VCPUS) {
        struct hp_server *server;

        if (rank >= core->ranked)
            break;
        server = hp_server_of(core, hp_vcpu_at(core, rank));
        server->rank = rank;
        server->peers = hp_is_peer(core, rank + 1u, server->priority)
                        || (rank > 0 && hp_is_peer(core, rank - 1u, server->priority));
        core->efforts += server->flags & HP_BEST_EFFORT;
        hp_set_put(&core->work, rank, server->working);
        hp_set_put(&core->effort, rank, server->flags & HP_BEST_EFFORT);
        hp_set_put(&core->funded, rank, server->remaining_ns > 0);
        hp_set_put(&core->lowered, rank, server->level > 0);
    }
    hp_see_plain(core);
}

/* Ranks all vcpus from scratch. */
HP_RARE void hp_sort(struct hp_core *core) {
    core->ranked = 0;
    core->unsorted = 0;
    HP_FOR (vcpu, HP_VCPUS) {
        if (hp_server_of(core, vcpu)->present)
            hp_rank_insert(core, vcpu);
    }
    hp_rank_all(core);
}
