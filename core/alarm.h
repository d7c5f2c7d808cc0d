// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The next refill that anybody must look after.
 *
 * Many refills change nothing at the instant they are due: an idle deferrable server can be
 * caught up by arithmetic when work arrives for it. Only the others are watched. Their times
 * stand in a tournament tree over the vcpu numbers: the root names the vcpu with the earliest
 * one, and a change replays one path of the tree.
 */
#pragma once

#include "set.h"

/* More levels than a tree over the largest capacity has. */
#define HP_ALARM_LEVELS 16u

/* The vcpu that won the match at this node; the leaves are the vcpus themselves. */
HP_FN hp_u32 *hp_alarm_node(struct hp_core *core, hp_u32 node) {
    return &core->alarm_tree[HP_INDEX(node, 2u * HP_VCPUS)];
}

/* When the refill of this vcpu must be looked after. */
HP_FN hp_u64 hp_alarm_ns(const struct hp_core *core, hp_u32 vcpu) {
    return core->alarm_ns[HP_INDEX(vcpu, HP_VCPUS)];
}

/* Plays the match at this node; returns who won. */
HP_FN hp_u32 hp_alarm_match(struct hp_core *core, hp_u32 node) {
    const hp_u32 left = *hp_alarm_node(core, 2u * node);
    const hp_u32 right = *hp_alarm_node(core, 2u * node + 1u);

    return hp_alarm_ns(core, right) < hp_alarm_ns(core, left) ? right : left;
}

/* Sets when this vcpu's refill must be looked after; HP_NEVER takes it off the watch. */
HP_FN void hp_alarm_set(struct hp_core *core, hp_u32 vcpu, hp_u64 alarm_ns) {
    hp_u32 node = core->leaves + vcpu;
    hp_u32 winner = vcpu;

    if (hp_alarm_ns(core, vcpu) == alarm_ns)
        return;
    core->alarm_ns[HP_INDEX(vcpu, HP_VCPUS)] = alarm_ns;
    alarm_ns = HP_FORGET(alarm_ns);
    node = HP_FORGET(node);
    winner = HP_FORGET(winner);
    HP_FOR (level, HP_ALARM_LEVELS) {
        const hp_u32 rival = *hp_alarm_node(core, node ^ 1u);
        const hp_u64 rival_ns = hp_alarm_ns(core, rival);

        if (rival_ns <= alarm_ns) {
            winner = rival;
            alarm_ns = rival_ns;
        }
        node /= 2u;
        /* Above a match that somebody else has won before and wins again nothing changes. */
        if (winner != vcpu && *hp_alarm_node(core, node) == winner)
            break;
        *hp_alarm_node(core, node) = winner;
        if (node == 1u)
            break;
    }
}

/* The vcpu whose refill is due first. */
HP_FN hp_u32 hp_alarm_first(struct hp_core *core) {
    return *hp_alarm_node(core, 1u);
}

/* Plays all matches. */
HP_RARE void hp_alarm_replay(struct hp_core *core) {
    HP_FOR (vcpu, HP_VCPUS) {
        if (vcpu >= core->leaves)
            break;
        *hp_alarm_node(core, core->leaves + vcpu) = vcpu;
    }
    HP_FOR (step, HP_VCPUS) {
        const hp_u32 node = core->leaves - 1u - step;

        if (step + 1u >= core->leaves)
            break;
        *hp_alarm_node(core, node) = hp_alarm_match(core, node);
    }
}

/* Makes room for this vcpu: the tree has a power of two of leaves, at least two. */
HP_FN void hp_alarm_grow(struct hp_core *core, hp_u32 vcpu) {
    HP_ASSERT(vcpu < HP_VCPUS);
    if (vcpu < core->leaves)
        return;
    HP_FOR (level, HP_ALARM_LEVELS) {
        if (vcpu < core->leaves)
            break;
        core->leaves *= 2u;
    }
    hp_alarm_replay(core);
}
