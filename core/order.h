// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who is first among the eligible: the level, then the order rule, and then the rule for equals.
 *
 * The order rule is one number, the urgency, the lowest first: the priority under fixed priority
 * and the deadline under EDF; fp-edf has first those with a priority, by it, and then the ordinary
 * ones, by deadline. With (budget, period) = (2, 10) and priority 3, and (1, 4) and priority 7,
 * both at the start of a period at time 0: fp has 3 before 7, edf has 4 before 10.
 *
 * Equals: the one that pays (or runs) goes on; else, with a quantum, the one whose last turn is
 * longest ago (of two given at one instant, the one that was chosen first); else the lower vcpu
 * number. With a quantum a turn lasts that long, and who has had his turn is no longer
 * preferred. Best-effort vcpus take turns of their own length. A and B of 3 ms in 10 ms and of one
 * priority, with work all the time: [0, 3) A, [3, 6) B; with a quantum of 1 ms A, B, A, B, A, B.
 *
 * All that can be a candidate has its refill in the queue (account.h), so deadlines are never out
 * of date here.
 */
#pragma once

#include "policy.h"
#include "queue.h"

/* The order rule as one number, above 0: the lowest is first. */
HP_FN hp_u64 hp_urgency(const struct hp_core *core, const struct hp_server *server) {
    const hp_u64 priority = server->params.priority;

    HP_ASSERT(priority <= HP_PRIORITY_MAX);
    if (hp_has(core, HP_BY_PRIORITY) && !(hp_has(core, HP_BY_DEADLINE) && priority == HP_ORDINARY))
        return priority + 1u;
    return HP_ORDINARY + 1u + server->deadline_ns;
}

/* Keys from here on are of servers on an extra level, by that level; there the order rule decides
 * among those with the same key. */
#define HP_BELOW (3ull << 62)

/* Where a server stands among those that may be given a pcpu: those that would pay, or run. Under
 * fp priority 3 is key 4, under edf a deadline of 10 ms is 2^24 + 10^7, level 1 is 3 * 2^62 + 1,
 * and who has no work or no budget is at HP_NEVER: first priorities, then deadlines, then levels.
 */
HP_FN hp_u64 hp_ready_key(const struct hp_core *core, const struct hp_server *server) {
    if (!server->runnable && !hp_has(core, HP_PAYS_IDLE))
        return HP_NEVER;
    if (server->remaining_ns > 0)
        return hp_urgency(core, server);
    return server->level > 0 ? HP_BELOW + server->level : HP_NEVER;
}

/* The role in which the servers are ordered: periodic servers pay even when they cannot run. */
HP_FN hp_u32 hp_holder_role(const struct hp_core *core) {
    return hp_has(core, HP_PAYS_IDLE) ? HP_PAYER : HP_RUNNER;
}

/* How long a turn among equals lasts; 0: for ever. */
HP_FN hp_u64 hp_turn_length(const struct hp_core *core, hp_u32 role) {
    return role == HP_EFFORT ? HP_EFFORT_TURN_NS : core->quantum_ns;
}

/* When the turn is over of a vcpu that has had one, or HP_NEVER. */
HP_FN hp_u64 hp_turn_end(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    const hp_u64 length_ns = hp_turn_length(core, role);

    if (length_ns == 0)
        return HP_NEVER;
    HP_ASSERT(hp_server_of(core, vcpu)->turn_ns[HP_INDEX(role, HP_ROLES)] > 0);
    return hp_server_of(core, vcpu)->turn_ns[HP_INDEX(role, HP_ROLES)] - 1u + length_ns;
}

/* Whether this vcpu was the last in that role on its pcpu. */
HP_FN hp_u32 hp_was_last(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    const struct hp_pcpu *pcpu = hp_pcpu_of(core, hp_server_of(core, vcpu)->last_pcpu);

    return pcpu->last[HP_INDEX(role, HP_ROLES)] == vcpu;
}

/* Whether this vcpu was the last in that role on its pcpu, and may go on. */
HP_STEP hp_u32 hp_goes_on(struct hp_core *core, hp_u32 vcpu, hp_u32 role) {
    return hp_was_last(core, vcpu, role) && core->now_ns < hp_turn_end(core, vcpu, role);
}

/* Whether vcpu a comes before b, which has the same key, in this role. */
HP_ONCE hp_u32 hp_wins_tie(struct hp_core *core HP_NOT_NULL, hp_u32 a, hp_u32 b, hp_u32 role) {
    const struct hp_server *left = hp_server_of(core, a);
    const struct hp_server *right = hp_server_of(core, b);
    const hp_u32 slot = HP_INDEX(role, HP_ROLES);
    hp_u32 goes_on;

    HP_ASSERT(a != b && hp_present(core, a) && hp_present(core, b));
    if (role != HP_EFFORT && hp_urgency(core, left) != hp_urgency(core, right))
        return hp_urgency(core, left) < hp_urgency(core, right);
    goes_on = hp_goes_on(core, a, role);
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

/* Of the servers on the same extra level as the first that is ready the one that comes first. */
HP_RARE hp_u32 hp_first_on_level(struct hp_core *core) {
    const hp_u64 key = core->ready.lowest;
    hp_u32 first = HP_FORGET(core->ready.first);

    HP_ASSERT(core->ready.known && key >= HP_BELOW);
    HP_FOR (vcpu, core->numbers) {
        if (vcpu != first && hp_key_of(&core->ready, vcpu) == key
            && hp_wins_tie(core, vcpu, first, HP_RUNNER))
            first = vcpu;
        first = HP_FORGET(first);
    }
    return first;
}

/* The first server that is ready, or HP_NONE, where one pcpu is given and there are no turns: among
 * equals the last one goes on, else the lowest number is first. */
HP_FN hp_u32 hp_ready_first(struct hp_core *core, hp_u32 last) {
    const hp_u64 key = hp_queue_lowest(&core->ready);

    if (key >= HP_BELOW)
        return key == HP_NEVER || !hp_has(core, HP_HAS_LEVELS) ? HP_NONE : hp_first_on_level(core);
    return hp_is_vcpu(last) && hp_key_of(&core->ready, last) == key ? last : core->ready.first;
}
