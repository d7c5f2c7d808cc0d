// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The queues of a lock domain: who may be given a pcpu (ready), whose refill somebody must look
 * after (due), and which best-effort vcpus have work (effort).
 *
 * Every vcpu has a key in each, by which it stands in the order, the lowest first; HP_NEVER says
 * that it is not in the queue. Vcpus stand in groups of eight. The first of a group is remembered
 * and found anew only when it may be another one; the first of all is the first of these. So a new
 * key costs a few instructions, however many change at once, and asking who is first then costs
 * one look at each group with a change and one at each group's first.
 *
 * A key is the beginning of the order. Of two with the same key hp_before or hp_before_equal says
 * who is first, and that may change without a key: with the clock, or when another vcpu has been
 * given a pcpu. Groups in which it did count are doubted then (hp_queue_doubt).
 *
 * Many refills change nothing at the instant they are due: an idle deferrable server can be caught
 * up by arithmetic when work arrives for it. Only the others are in the queue of those due.
 */
#pragma once

#include "order.h"

/* Keys from here on are of servers on an extra level, by that level. */
#define HP_BELOW (3ull << 62)

/* As a role: no order among equals. */
#define HP_ANY HP_ROLES

HP_FN hp_u64 hp_key_of(const struct hp_queue *queue, hp_u32 vcpu) {
    return queue->key[HP_INDEX(vcpu, HP_GROUPS * HP_GROUP)];
}

HP_FN hp_u32 hp_first_of(const struct hp_queue *queue, hp_u32 group) {
    return queue->first[HP_INDEX(group, HP_GROUPS)];
}

/* Gives a vcpu its key; returns whether it had another one. */
HP_SHARED hp_u32 hp_queue_put(struct hp_queue *queue, hp_u32 vcpu, hp_u64 key) {
    const hp_u32 group = vcpu / HP_GROUP;
    const hp_u32 first = hp_first_of(queue, group);
    const hp_u64 before = hp_key_of(queue, vcpu);
    const hp_u64 lowest = hp_key_of(queue, first);

    if (key == before)
        return 0;
    queue->key[HP_INDEX(vcpu, HP_GROUPS * HP_GROUP)] = key;
    if (first != vcpu && key > lowest)
        return 1;
    queue->known = 0;
    if (key < lowest)
        queue->first[HP_INDEX(group, HP_GROUPS)] = vcpu;
    else
        queue->doubted |= 1ull << (group % 64u);
    return 1;
}

/* The same where all get new keys (hp_queue_renew): who is first is found afterwards. */
HP_FN void hp_queue_set(struct hp_queue *queue, hp_u32 vcpu, hp_u64 key) {
    queue->key[HP_INDEX(vcpu, HP_GROUPS * HP_GROUP)] = key;
}

/* Nothing is known of who is first in any group. */
HP_FN void hp_queue_renew(const struct hp_core *core, struct hp_queue *queue) {
    queue->doubted = ~0ull >> (64u - core->groups);
    queue->known = 0;
}

/* Who comes first of two with the same key. */
HP_STEP hp_u32 hp_break_tie(struct hp_core *core, hp_u32 a, hp_u32 b, hp_u32 role) {
    return role == HP_EFFORT ? hp_before_equal(core, a, b, role) : hp_before(core, a, b, role);
}

/* Whether vcpu a comes before b, which has the same key and a lower number. */
HP_FN hp_u32 hp_wins_tie(struct hp_core *core, hp_u32 a, hp_u32 b, hp_u32 role) {
    if (role == HP_ANY)
        return 0;
    /* The common case: no turns, no levels, and a did not run last. */
    if (role != HP_EFFORT && core->quantum_ns == 0 && !hp_has(core, HP_HAS_LEVELS)
        && !hp_was_last(core, a, role))
        return 0;
    return hp_break_tie(core, a, b, role);
}

/* How many numbers of a group are in use. */
HP_FN hp_u32 hp_members(const struct hp_core *core, hp_u32 group) {
    return (hp_u32)hp_least(core->numbers - group * HP_GROUP, HP_GROUP);
}

/* Finds the first of a group anew. */
HP_FN void hp_queue_look(struct hp_core *core, struct hp_queue *queue, hp_u32 group, hp_u32 role) {
    const hp_u32 members = hp_members(core, group) - 1u;
    hp_u32 best = HP_FORGET(group * HP_GROUP);
    hp_u64 lowest = HP_FORGET(hp_key_of(queue, best));
    hp_u64 tied = HP_FORGET(0ull);

    HP_FOR (i, members) {
        const hp_u32 vcpu = group * HP_GROUP + i + 1u;
        const hp_u64 key = hp_key_of(queue, vcpu);

        if (key > lowest)
            continue;
        if (key == lowest) {
            if (key == HP_NEVER)
                continue;
            tied = HP_FORGET(1ull);
            if (!hp_wins_tie(core, vcpu, best, role))
                continue;
        }
        best = HP_FORGET(vcpu);
        lowest = HP_FORGET(key);
    }
    queue->first[HP_INDEX(group, HP_GROUPS)] = best;
    queue->doubted &= ~(1ull << (group % 64u));
    queue->tied &= ~(1ull << (group % 64u));
    queue->tied |= tied << (group % 64u);
}

/* Finds the first of all anew. */
HP_STEP hp_u32 hp_queue_find(struct hp_core *core, struct hp_queue *queue, hp_u32 role) {
    hp_u32 best;
    hp_u64 lowest;

    HP_FOR (step, HP_GROUPS) {
        if (queue->doubted == 0)
            break;
        hp_queue_look(core, queue, (hp_u32)__builtin_ctzll(queue->doubted), role);
    }
    best = HP_FORGET(hp_first_of(queue, 0));
    lowest = HP_FORGET(hp_key_of(queue, best));
    HP_FOR (i, HP_GROUPS - 1u) {
        hp_u32 first;
        hp_u64 key;

        if (i + 1u >= core->groups)
            break;
        first = hp_first_of(queue, i + 1u);
        key = hp_key_of(queue, first);
        if (key > lowest || (key == lowest && !hp_wins_tie(core, first, best, role)))
            continue;
        best = HP_FORGET(first);
        lowest = HP_FORGET(key);
    }
    queue->best = best;
    queue->known = 1;
    return best;
}

/* Who is first in the queue, or would be if anybody were. */
HP_FN hp_u32 hp_queue_best(struct hp_core *core, struct hp_queue *queue, hp_u32 role) {
    return queue->known ? queue->best : hp_queue_find(core, queue, role);
}

/* Who is first in the queue, or HP_NONE. */
HP_FN hp_u32 hp_queue_first(struct hp_core *core, struct hp_queue *queue, hp_u32 role) {
    const hp_u32 vcpu = hp_queue_best(core, queue, role);

    return hp_key_of(queue, vcpu) == HP_NEVER ? HP_NONE : vcpu;
}

/* Who comes first among equals may have changed. */
HP_FN void hp_queue_doubt(struct hp_queue *queue) {
    queue->doubted |= queue->tied;
    queue->known = 0;
}

HP_COLD void hp_queue_clear(struct hp_queue *queue) {
    HP_FOR (vcpu, HP_GROUPS * HP_GROUP)
        queue->key[HP_INDEX(vcpu, HP_GROUPS * HP_GROUP)] = HP_NEVER;
    HP_FOR (group, HP_GROUPS)
        queue->first[HP_INDEX(group, HP_GROUPS)] = group * HP_GROUP;
    queue->doubted = 0;
    queue->tied = 0;
    queue->known = 0;
    queue->best = 0;
}

/* When somebody must look after a refill next, or HP_NEVER. */
HP_FN hp_u64 hp_first_due_ns(struct hp_core *core) {
    return hp_key_of(&core->due, hp_queue_best(core, &core->due, HP_ANY));
}

/* Where a server stands among those that may be given a pcpu: those that would pay, or run. */
HP_FN hp_u64 hp_ready_key(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (!server->working && !hp_has(core, HP_PAYS_IDLE))
        return HP_NEVER;
    if (server->remaining_ns > 0)
        return hp_urgency(core, vcpu);
    return server->level > 0 ? HP_BELOW + server->level : HP_NEVER;
}

/*
 * The first server with work that is funded, or that is not; or HP_NONE. All are on one level, and
 * pay when it is their turn: so who is funded is ready.
 */
HP_STEP hp_u32 hp_first_working(struct hp_core *core, hp_u32 funded, hp_u32 role) {
    hp_u32 best = HP_FORGET(HP_NONE);
    hp_u64 lowest = HP_FORGET(HP_NEVER);
    hp_u32 vcpu = HP_FORGET(0u);

    HP_FOR (step, HP_VCPUS) {
        hp_u64 key;

        vcpu = hp_next_working(core, vcpu);
        if (vcpu == HP_NONE)
            break;
        key = hp_key_of(&core->ready, vcpu);
        if (!funded)
            key = key == HP_NEVER && !(hp_server_of(core, vcpu)->flags & HP_BEST_EFFORT)
                      ? hp_urgency(core, vcpu)
                      : HP_NEVER;
        if (key < lowest
            || (key == lowest && best != HP_NONE && hp_before_equal(core, vcpu, best, role)))
            best = vcpu;
        lowest = HP_FORGET(hp_least(lowest, key));
        vcpu = HP_FORGET(vcpu + 1u);
        best = HP_FORGET(best);
    }
    return best;
}

/*
 * Puts the server where its account says. The plan may be another one then; so it may where a
 * depleted server or one on an extra level has a new deadline: the spare helps by deadline.
 */
HP_SHARED hp_u32 hp_requeue(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u32 moved = hp_queue_put(&core->ready, vcpu, hp_ready_key(core, vcpu));

    const hp_u32 was = server->funded;
    server->funded = server->remaining_ns > 0;
    if (was != server->funded || hp_has(core, HP_BY_DEADLINE | HP_HAS_LEVELS | HP_HAS_SPARE))
        core->planned = 0;
    return moved;
}

/* Where a best-effort vcpu stands: who goes on with its turn is first, then by turns. */
HP_FN hp_u64 hp_effort_key(struct hp_core *core, hp_u32 vcpu) {
    if (!hp_server_of(core, vcpu)->working)
        return HP_NEVER;
    return hp_goes_on(core, vcpu, HP_EFFORT) ? 0 : hp_server_of(core, vcpu)->turn_ns[HP_EFFORT];
}

HP_SHARED void hp_requeue_effort(struct hp_core *core, hp_u32 vcpu) {
    if (hp_is_vcpu(vcpu) && hp_server_of(core, vcpu)->flags & HP_BEST_EFFORT)
        hp_queue_put(&core->effort, vcpu, hp_effort_key(core, vcpu));
}

/* Puts everybody where they stand: parameters, pcpus or rules have changed. */
HP_RARE void hp_requeue_all(struct hp_core *core) {
    HP_FOR (vcpu, HP_VCPUS) {
        if (!hp_server_of(core, vcpu)->present)
            continue;
        if (hp_server_of(core, vcpu)->flags & HP_BEST_EFFORT)
            hp_requeue_effort(core, vcpu);
        else
            hp_requeue(core, vcpu);
    }
    hp_queue_doubt(&core->ready);
    hp_queue_doubt(&core->effort);
    core->effort_waits = 0;
    core->planned = 0;
}

/* Finds out whether nothing but the order and the slack of one pcpu has to be looked at. */
HP_FN void hp_see_plain(struct hp_core *core) {
    core->plain = hp_pcpus(core) == 1 && core->quantum_ns == 0 && core->efforts == 0
                  && !hp_stolen(core) && !hp_has(core, HP_HAS_SPARE | HP_HAS_SHARES);
}

/* The queues and the words of sets reach up to this vcpu. */
HP_FN void hp_make_room(struct hp_core *core, hp_u32 vcpu) {
    core->numbers = (hp_u32)hp_most(core->numbers, vcpu + 1u);
    core->groups = (core->numbers + HP_GROUP - 1u) / HP_GROUP;
    core->words = (hp_u32)hp_most(core->words, vcpu / 64u + 1u);
}

HP_FN void hp_clear_queues(struct hp_core *core) {
    hp_queue_clear(&core->ready);
    hp_queue_clear(&core->due);
    hp_queue_clear(&core->effort);
    HP_FOR (w, HP_WORDS)
        core->work[HP_INDEX(w, HP_WORDS)] = 0;
    core->numbers = 1;
    core->groups = 1;
    core->words = 1;
    core->swapping = 0;
    core->planned = 0;
    core->efforts = 0;
    core->effort_waits = 0;
}
