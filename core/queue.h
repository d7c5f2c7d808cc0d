// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A queue of vcpus: every vcpu has a key, the lowest is first, and HP_NEVER says that it is not in
 * the queue. Of two with the same key the lower number is first.
 *
 * Who is first is remembered until that one gets a higher key, and then found anew when it is asked
 * for, by one look at those in the queue. So a new key costs a few instructions, however many
 * change at once.
 *
 * A lock domain has two: those that may be given a pcpu (ready), by level and urgency (order.h),
 * and those whose refill somebody must look after (due), by when that is (account.h). Many refills
 * change nothing at the instant they are due: an idle deferrable server can be caught up by
 * arithmetic when work arrives for it. Only the others are in the queue of those due.
 */
#pragma once

#include "types.h"

HP_FN hp_u64 hp_key_of(const struct hp_queue *queue, hp_u32 vcpu) {
    return queue->key[HP_INDEX(vcpu, HP_KEYS)];
}

/* Gives a vcpu its key. */
HP_FN void hp_queue_put(struct hp_queue *queue, hp_u32 vcpu, hp_u64 key) {
    hp_u64 *own = &queue->key[HP_INDEX(vcpu, HP_KEYS)];
    const hp_u64 before = *own;

    if (key == before)
        return;
    *own = key;
    if (before == HP_NEVER)
        queue->blocks |= 1ull << (vcpu / HP_BLOCK % 64u);
    /* All others are behind 'lowest', even where who had that key is not there any more. */
    if (key < queue->lowest || (key == queue->lowest && vcpu <= queue->first)) {
        queue->first = vcpu;
        queue->lowest = key;
        queue->known = 1;
    } else if (vcpu == queue->first) {
        queue->known = 0;
    }
}

/* Blocks of keys that are in use. */
HP_FN hp_u32 hp_blocks(const struct hp_core *core) {
    return (core->numbers + HP_BLOCK - 1u) / HP_BLOCK;
}

/* Whether anybody of this block of numbers may be in the queue. */
HP_FN hp_u32 hp_has_members(const struct hp_queue *queue, hp_u32 block) {
    return queue->blocks >> (block % 64u) & 1u;
}

/* Finds who is first, and in which blocks nobody is. */
HP_ONCE hp_u32 hp_queue_find(const struct hp_core *core HP_NOT_NULL,
                             struct hp_queue *queue HP_NOT_NULL) {
    const hp_u32 blocks = hp_blocks(core);
    hp_u64 lowest = HP_FORGET(HP_NEVER);
    hp_u32 first = HP_FORGET(0u);

    HP_FOR (block, blocks) {
        const hp_u32 zeroth = HP_INDEX(block, HP_KEYS / HP_BLOCK) * HP_BLOCK;
        hp_u64 members = 0;

        if (hp_has_members(queue, block)) {
            HP_FEW(i, HP_BLOCK) {
                const hp_u64 key = queue->key[zeroth + i];

                members |= ~key;
                if (key < lowest) {
                    HP_JUMP();
                    lowest = key;
                    first = zeroth + i;
                }
            }
            if (members == 0)
                queue->blocks &= ~(1ull << (block % 64u));
        }
        lowest = HP_FORGET(lowest);
        first = HP_FORGET(first);
    }
    queue->lowest = lowest;
    queue->first = first;
    queue->known = 1;
    return 0;
}

/* The lowest key of all, or HP_NEVER; whose it is stands in queue->first. */
HP_FN hp_u64 hp_queue_lowest(const struct hp_core *core, struct hp_queue *queue) {
    if (!queue->known)
        hp_queue_find(core, queue);
    HP_ASSERT(queue->lowest == hp_key_of(queue, queue->first));
    return queue->lowest;
}

HP_FN void hp_queue_clear(struct hp_queue *queue) {
    HP_FOR (vcpu, HP_KEYS)
        queue->key[HP_INDEX(vcpu, HP_KEYS)] = HP_NEVER;
    queue->blocks = 0;
    queue->lowest = HP_NEVER;
    queue->first = 0;
    queue->known = 1;
}

/* What is remembered of a queue is true. Of one vcpu: it is not before the first. */
HP_FN hp_u32 hp_queue_holds(const struct hp_queue *queue, hp_u32 vcpu) {
    const hp_u64 key = hp_key_of(queue, vcpu);

    if (key != HP_NEVER && !hp_has_members(queue, vcpu / HP_BLOCK))
        return 0;
    if (key < queue->lowest || (key == queue->lowest && key != HP_NEVER && vcpu < queue->first))
        return 0;
    return !queue->known || hp_key_of(queue, queue->first) == queue->lowest;
}
