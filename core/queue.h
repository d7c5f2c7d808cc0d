// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The queues of a lock domain: who may be given a pcpu (ready), whose refill somebody must look
 * after (due), and which best-effort vcpus have work (effort).
 *
 * Every vcpu has a key in each, by which it stands in the order, the lowest first; HP_NEVER says
 * that it is not in the queue. Vcpus stand in groups of eight. The first of a group is remembered,
 * and so is the first of all. Who gets a lower key than these takes their place; only when one of
 * them gets a higher key somebody else may be first, and then that group is in doubt, and looked at
 * when it is asked for. So a new key costs a few instructions, however many change at once, and
 * asking who is first then costs one look at each group in doubt and one at all groups' firsts.
 *
 * Of two with the same key the lower number is first; on an extra level, where the level is the
 * key, the order rule comes before that. Whose turn it is among equals is not in the key: it
 * changes with the clock, or when another vcpu has been given a pcpu, and is seen to when the first
 * is asked for (hp_ready_first; placement.h).
 *
 * Many refills change nothing at the instant they are due: an idle deferrable server can be caught
 * up by arithmetic when work arrives for it. Only the others are in the queue of those due.
 */
#pragma once

#include "order.h"

/* Keys from here on are of servers on an extra level, by that level. */
#define HP_BELOW (3ull << 62)

/* As users of time those who are depleted are behind all that are not. */
#define HP_DEPLETED (1ull << 63)

HP_FN hp_u64 hp_key_of(const struct hp_queue *queue, hp_u32 vcpu) {
    return queue->key[HP_INDEX(vcpu, HP_GROUPS * HP_GROUP)];
}

/* Whether this key is of servers on an extra level, among whom the order rule decides. */
HP_FN hp_u32 hp_is_level(hp_u64 key) {
    return (HP_SOME_TRAITS & HP_HAS_LEVELS) != 0 && key >= HP_BELOW && key != HP_NEVER;
}

/* Whether vcpu a comes before b on the same extra level, whoever ran last. */
HP_ASIDE hp_u32 hp_leads_level(struct hp_core *core, hp_u32 a, hp_u32 b) {
    const hp_u64 urgency = hp_rank(core, a);
    const hp_u64 other = hp_rank(core, b);

    return urgency != other ? urgency < other : a < b;
}

/* Whether vcpu a with this key comes before b with the other one, whoever ran last. */
HP_FN hp_u32 hp_leads(struct hp_core *core, hp_u32 a, hp_u64 key, hp_u32 b, hp_u64 other) {
    if (key > other)
        return 0;
    if (key < other)
        return 1;
    return HP_SELDOM(hp_is_level(key)) ? hp_leads_level(core, a, b) : a < b;
}

/* A vcpu has a higher key than before: who was first because of it may be so no more. */
HP_FN void hp_queue_back(struct hp_queue *queue, hp_u32 vcpu) {
    const hp_u32 group = HP_INDEX(vcpu / HP_GROUP, HP_GROUPS);

    if (queue->first[group] == vcpu)
        queue->doubted |= 1ull << (group % 64u);
    if (queue->best == vcpu)
        queue->known = 0;
}

/* A vcpu has a lower key than before: it may be first now. */
HP_FN void hp_queue_ahead(struct hp_core *core, struct hp_queue *queue, hp_u32 vcpu, hp_u64 key) {
    const hp_u32 group = HP_INDEX(vcpu / HP_GROUP, HP_GROUPS);

    if (!hp_leads(core, vcpu, key, queue->first[group], queue->low[group]))
        return;
    queue->first[group] = vcpu;
    queue->low[group] = key;
    if (!hp_leads(core, vcpu, key, queue->best, queue->lowest))
        return;
    queue->best = vcpu;
    queue->lowest = key;
}

/* Gives a vcpu another key. */
HP_SHARED void hp_queue_move(struct hp_core *core, struct hp_queue *queue, hp_u32 vcpu,
                             hp_u64 key) {
    hp_u64 *place = &queue->key[HP_INDEX(vcpu, HP_GROUPS * HP_GROUP)];
    const hp_u64 before = *place;

    *place = key;
    if (key > before)
        hp_queue_back(queue, vcpu);
    else
        hp_queue_ahead(core, queue, vcpu, key);
}

/* The same where all get new keys (hp_queue_renew): who is first is found afterwards. */
HP_FN void hp_queue_set(struct hp_queue *queue, hp_u32 vcpu, hp_u64 key) {
    queue->key[HP_INDEX(vcpu, HP_GROUPS * HP_GROUP)] = key;
}

/* Nothing is known of who is first in any group. */
HP_COLD void hp_queue_renew(const struct hp_core *core, struct hp_queue *queue) {
    hp_u64 groups = HP_FORGET(0ull);

    HP_FOR (group, core->groups) {
        queue->low[HP_INDEX(group, HP_GROUPS)] = 0;
        groups = HP_FORGET(groups | 1ull << (group % 64u));
    }
    queue->lowest = 0;
    queue->doubted = groups;
    queue->known = 0;
}

/* Gives a vcpu its key, if it has another one. */
HP_FN void hp_queue_put(struct hp_core *core, struct hp_queue *queue, hp_u32 vcpu, hp_u64 key) {
    if (key != hp_key_of(queue, vcpu))
        hp_queue_move(core, queue, vcpu, key);
}

/* Which of so many keys is the lowest, the first of equals, and which key that is; there is one at
 * least, and behind them HP_NEVER up to 'most'. */
HP_FN hp_u32 hp_lowest_of(const hp_u64 *keys, hp_u32 count, hp_u32 most, hp_u64 *key) {
    hp_u32 best = 0;
    hp_u64 lowest = keys[0];

    HP_FEW(i, count - 1u, most - 1u) {
        if (keys[i + 1u] < lowest) {
            HP_JUMP();
            best = i + 1u;
            lowest = keys[best];
        }
    }
    *key = lowest;
    return best;
}

/* Who is first of all on this extra level, of whom one is known. */
HP_RARE hp_u32 hp_first_on_level(struct hp_core *core, const struct hp_queue *queue, hp_u32 one) {
    const hp_u64 key = hp_key_of(queue, one);
    hp_u32 first = HP_FORGET(one);

    HP_FOR (vcpu, core->numbers) {
        if (hp_key_of(queue, vcpu) == key && hp_leads_level(core, vcpu, first))
            first = vcpu;
        first = HP_FORGET(first);
    }
    return first;
}

/* How many numbers of a group are in use. */
HP_FN hp_u32 hp_members(const struct hp_core *core, hp_u32 group) {
    return (hp_u32)hp_least(core->numbers - group * HP_GROUP, HP_GROUP);
}

/* Finds the first of a group anew. */
HP_FN void hp_queue_look(struct hp_core *core, struct hp_queue *queue, hp_u32 group) {
    const hp_u32 zeroth = group * HP_GROUP;

    queue->first[group] =
        zeroth
        + hp_lowest_of(&queue->key[zeroth], hp_members(core, group), HP_GROUP, &queue->low[group]);
}

/* Finds the first of all anew. */
HP_APART hp_u32 hp_queue_find(struct hp_core *core HP_NOT_NULL,
                              struct hp_queue *queue HP_NOT_NULL) {
    const hp_u64 doubted = queue->doubted;
    hp_u64 lowest;
    hp_u32 best;

    if (HP_SHORT_WAY(core->groups == 1u)) {
        hp_queue_look(core, queue, 0);
        lowest = queue->low[0];
        best = queue->first[0];
    } else {
        HP_EACH_OF (group, doubted, HP_GROUPS)
            hp_queue_look(core, queue, group);
        best = hp_lowest_of(queue->low, core->groups, HP_GROUPS, &lowest);
        best = queue->first[HP_INDEX(best, HP_GROUPS)];
    }
    if (hp_is_level(lowest))
        best = hp_first_on_level(core, queue, best);
    queue->doubted = 0;
    queue->known = 1;
    queue->best = best;
    queue->lowest = lowest;
    return best;
}

/* Who is first in the queue but for whose turn it is, or would be if anybody were in it. */
HP_FN hp_u32 hp_queue_best(struct hp_core *core, struct hp_queue *queue) {
    return queue->known ? queue->best : hp_queue_find(core, queue);
}

/* The lowest key of all. */
HP_FN hp_u64 hp_queue_lowest(struct hp_core *core, struct hp_queue *queue) {
    if (!queue->known)
        hp_queue_find(core, queue);
    return queue->lowest;
}

/*
 * Whether vcpu a comes before b with the same key, among turns or on an extra level: only there may
 * the order rule tell them apart. To it all best-effort vcpus are equal.
 */
HP_ONCE hp_u32 hp_break_tie(struct hp_core *core HP_NOT_NULL, hp_u32 a, hp_u32 b, hp_u32 role) {
    const hp_u64 urgency = hp_rank(core, a);
    const hp_u64 other = hp_rank(core, b);

    return urgency != other ? urgency < other : hp_before_equal(core, a, b, role);
}

/* Whether vcpu a comes before b, which has the same key, in this role. */
HP_SHARED hp_u32 hp_wins_tie(struct hp_core *core, hp_u64 key, hp_u32 a, hp_u32 b, hp_u32 role) {
    hp_u32 goes_on;

    if (hp_turn_length(core, role) > 0 || hp_is_level(key))
        return hp_break_tie(core, a, b, role);
    goes_on = hp_was_last(core, a, role);
    return goes_on != hp_was_last(core, b, role) ? goes_on : a < b;
}

/* The first server that is ready, or HP_NONE; where there are no turns who was last goes on. */
HP_SHARED hp_u32 hp_ready_first(struct hp_core *core, hp_u32 last) {
    const hp_u32 best = hp_queue_best(core, &core->ready);
    const hp_u64 key = core->ready.lowest;

    if (key == HP_NEVER)
        return HP_NONE;
    if (last != best && hp_is_vcpu(last) && hp_key_of(&core->ready, last) == key
        && (!hp_is_level(key) || hp_break_tie(core, last, best, HP_RUNNER)))
        return last;
    return best;
}

HP_COLD void hp_queue_clear(struct hp_queue *queue) {
    HP_FOR (vcpu, HP_GROUPS * HP_GROUP)
        queue->key[HP_INDEX(vcpu, HP_GROUPS * HP_GROUP)] = HP_NEVER;
    HP_FOR (group, HP_GROUPS) {
        queue->first[HP_INDEX(group, HP_GROUPS)] = group * HP_GROUP;
        queue->low[HP_INDEX(group, HP_GROUPS)] = HP_NEVER;
    }
    queue->lowest = HP_NEVER;
    queue->doubted = 0;
    queue->known = 0;
    queue->best = 0;
}

/*
 * Whether the deadline by which servers stand in the queue of those that are ready is when they are
 * refilled: then they are not among those due as well.
 */
HP_FN hp_u32 hp_ready_is_due(const struct hp_core *core) {
    return hp_has(core, HP_TIMED | HP_BY_DEADLINE) == (HP_TIMED | HP_BY_DEADLINE);
}

/* When somebody must look after a refill next, or HP_NEVER. */
HP_SHARED hp_u64 hp_first_due_ns(struct hp_core *core) {
    const hp_u64 due_ns = hp_queue_lowest(core, &core->due);

    return hp_ready_is_due(core) ? hp_least(due_ns, hp_queue_lowest(core, &core->ready)) : due_ns;
}

/* The same of the vcpu of this number, which a verifier knows, for one who has asked whether those
 * ready are due; above HP_BELOW there is none. */
HP_FN hp_u64 hp_alarm_at(const struct hp_core *core, hp_u32 number, hp_u32 ready_is_due) {
    const hp_u64 due_ns = core->due.key[number];

    return ready_is_due ? hp_least(due_ns, core->ready.key[number]) : due_ns;
}

/* The same of any vcpu. */
HP_FN hp_u64 hp_alarm_of(const struct hp_core *core, hp_u32 vcpu) {
    return hp_alarm_at(core, HP_INDEX(vcpu, HP_GROUPS * HP_GROUP), hp_ready_is_due(core));
}

/* Where a server stands among those that may be given a pcpu: those that would pay, or run. */
HP_SHARED hp_u64 hp_ready_key(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (!server->runnable && !hp_has(core, HP_PAYS_IDLE))
        return HP_NEVER;
    if (server->remaining_ns > 0)
        return hp_urgency(core, vcpu);
    return server->level > 0 ? HP_BELOW + server->level : HP_NEVER;
}

/* Where a depleted server stands among those that may use what an owner leaves. */
HP_FN hp_u64 hp_depleted_key(struct hp_core *core, hp_u32 vcpu) {
    if (hp_server_of(core, vcpu)->flags & HP_BEST_EFFORT)
        return HP_NEVER;
    return HP_DEPLETED + hp_rank(core, vcpu);
}

/*
 * The first server with work that may use what an owner leaves, or HP_NONE: of those that are
 * funded, or, if they are asked too, of the depleted ones where there is none. All are on one
 * level, and pay when it is their turn: so who is funded is ready.
 */
HP_RARE hp_u32 hp_first_user(struct hp_core *core, hp_u32 depleted_too) {
    hp_u32 best = HP_FORGET(HP_NONE);
    hp_u64 lowest = HP_FORGET(HP_NEVER);

    HP_EACH_WORD (core, w) {
        hp_u64 bits = HP_FORGET(core->work[w]);

        HP_FOR (step, 64u) {
            const hp_u32 vcpu = w * 64u + (hp_u32)__builtin_ctzll(bits | 1ull << 63);
            hp_u64 key;

            if (bits == 0)
                break;
            bits = HP_FORGET(bits & (bits - 1u));
            key = hp_key_of(&core->ready, vcpu);
            if (key == HP_NEVER && depleted_too && lowest >= HP_DEPLETED)
                key = hp_depleted_key(core, vcpu);
            if (key < lowest
                || (key == lowest && best != HP_NONE
                    && hp_break_tie(core, vcpu, best, HP_RUNNER))) {
                best = vcpu;
                lowest = key;
            }
            best = HP_FORGET(best);
            lowest = HP_FORGET(lowest);
        }
    }
    return best;
}

/*
 * The server has budget now, or has none. The plan may be another one then; so it may where a
 * depleted server or one on an extra level has a new deadline: the spare helps by deadline.
 */
HP_FN void hp_fund(struct hp_core *core, struct hp_server *server, hp_u32 funded) {
    if (server->funded != funded || hp_has(core, HP_BY_DEADLINE | HP_HAS_LEVELS | HP_HAS_SPARE))
        core->planned = 0;
    server->funded = funded;
}

/* Puts the server where its account says. */
HP_FN void hp_requeue_ready(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);

    hp_queue_put(core, &core->ready, vcpu, hp_ready_key(core, vcpu));
    hp_fund(core, server, server->remaining_ns > 0);
}

/* The same of a server that has used up its budget and has no extra level to go on at. */
HP_PART_ONCE HP_NOTHING hp_dequeue(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu) {
    hp_queue_set(&core->ready, vcpu, HP_NEVER);
    hp_queue_back(&core->ready, vcpu);
    hp_server_of(core, vcpu)->funded = 0;
    core->planned = 0;
    HP_DONE();
}

/* Where a best-effort vcpu stands: who goes on with its turn is first, then by turns. */
HP_FN hp_u64 hp_effort_key(struct hp_core *core, hp_u32 vcpu) {
    if (!hp_server_of(core, vcpu)->runnable)
        return HP_NEVER;
    return hp_goes_on(core, vcpu, HP_EFFORT) ? 0 : hp_server_of(core, vcpu)->turn_ns[HP_EFFORT];
}

HP_SHARED void hp_requeue_effort(struct hp_core *core, hp_u32 vcpu) {
    if (hp_is_vcpu(vcpu) && hp_server_of(core, vcpu)->flags & HP_BEST_EFFORT)
        hp_queue_put(core, &core->effort, vcpu, hp_effort_key(core, vcpu));
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
    core->overdue = 1;
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
