// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The next refill that anybody must look after.
 *
 * Most refills change nothing at the instant they are due: an idle deferrable server, or one
 * that still has budget, can be caught up by arithmetic when it is next looked at. Only the
 * others are watched. Their times stand in a tournament tree over the vcpu numbers: the root
 * names the vcpu with the earliest one, and a change replays one path of the tree.
 */
#pragma once

#include "set.h"

/* More levels than a tree over the largest capacity has. */
#define HP_ALARM_LEVELS 16u

/* The vcpu that won the match at this node; nodes from 'leaves' on are the vcpus themselves. */
HP_FN hp_u32 hp_alarm_winner(const struct hp_core *core, hp_u32 node) {
    if (node >= core->leaves)
        return node - core->leaves;
    return core->alarm_tree[HP_INDEX(node, HP_VCPUS)];
}

HP_FN void hp_alarm_match(struct hp_core *core, hp_u32 node) {
    hp_u32 left = hp_alarm_winner(core, 2u * node);
    hp_u32 right = hp_alarm_winner(core, 2u * node + 1u);
    hp_u32 wins = hp_server_of(core, right)->alarm_ns < hp_server_of(core, left)->alarm_ns;

    core->alarm_tree[HP_INDEX(node, HP_VCPUS)] = wins ? right : left;
}

/* Sets when this vcpu's refill must be looked after; HP_NEVER takes it off the watch. */
HP_FN void hp_alarm_set(struct hp_core *core, hp_u32 vcpu, hp_u64 alarm_ns) {
    hp_u32 node = (core->leaves + vcpu) / 2u;

    if (hp_server_of(core, vcpu)->alarm_ns == alarm_ns)
        return;
    hp_server_of(core, vcpu)->alarm_ns = alarm_ns;
    HP_FOR (level, HP_ALARM_LEVELS) {
        if (node == 0)
            break;
        hp_alarm_match(core, node);
        node /= 2u;
    }
}

/* The vcpu whose refill is due first. */
HP_FN hp_u32 hp_alarm_first(const struct hp_core *core) {
    return core->alarm_tree[HP_INDEX(1u, HP_VCPUS)];
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
    HP_FOR (node, HP_VCPUS) {
        if (node + 1u >= core->leaves)
            break;
        hp_alarm_match(core, core->leaves - 1u - node);
    }
}
