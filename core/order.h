// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who is first among the eligible: the level, then the order rule, and then the rule for equals.
 *
 * The order rule is one number, the urgency, the lowest first: the priority under fixed priority
 * and the deadline under EDF; fp-edf has first those with a priority, by it, and then the ordinary
 * ones, by deadline.
 *
 * Equals: the one that pays (or runs) goes on; else, with a quantum, the one whose last turn is
 * longest ago (of two given at one instant, the one that was chosen first); else the lower vcpu
 * number. With a quantum a turn lasts that long, and who has had his turn is no longer
 * preferred. Best-effort vcpus take turns of their own length.
 *
 * All that can be a candidate has its refill in the queue (account.h), so deadlines are never out
 * of date here.
 */
#pragma once

#include "set.h"

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

/* The same where it is asked seldom: of equals, on extra levels, and of those without budget. */
HP_SHARED hp_u64 hp_rank(struct hp_core *core, hp_u32 vcpu) {
    return hp_urgency(core, vcpu);
}

/* The role in which the servers are ordered: periodic servers pay even when they cannot run. */
HP_FN hp_u32 hp_holder_role(const struct hp_core *core) {
    return hp_has(core, HP_PAYS_IDLE) ? HP_PAYER : HP_RUNNER;
}

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
    const struct hp_pcpu *slot = hp_pcpu_of(core, hp_server_of(core, vcpu)->last_pcpu);

    return slot->last[HP_INDEX(role, HP_ROLES)] == vcpu;
}

/* Whether this vcpu was the last in that role on its pcpu, and may go on. */
HP_SHARED hp_u32 hp_goes_on(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    return hp_was_last(core, vcpu, role) && core->now_ns < hp_turn_end(core, vcpu, role);
}

/* Whether a comes before b, who are equal but for whose turn it is. */
HP_FN hp_u32 hp_before_equal(struct hp_core *core, hp_u32 a, hp_u32 b, hp_u32 role) {
    const hp_u32 goes_on = hp_goes_on(core, a, role);
    const struct hp_server *left = hp_server_of(core, a);
    const struct hp_server *right = hp_server_of(core, b);
    const hp_u32 slot = HP_INDEX(role, HP_ROLES);

    if (goes_on != hp_goes_on(core, b, role))
        return goes_on;
    if (hp_turn_length(core, role) == 0)
        return a < b;
    if (left->turn_ns[slot] != right->turn_ns[slot])
        return left->turn_ns[slot] < right->turn_ns[slot];
    if (left->turn_place[slot] != right->turn_place[slot])
        return left->turn_place[slot] < right->turn_place[slot];
    return a < b;
}
