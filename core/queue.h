// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A queue of vcpus: every vcpu has a key, the lowest is first, and HP_NEVER says that it is not in
 * the queue. Of two with the same key the lower number is first.
 *
 * Who is first is remembered until that one gets a higher key, and the lowest key of a block of
 * vcpus until one of them gets another; both are found anew when who is first is asked for. So a
 * new key costs a few instructions, however many change at once. With keys A 4 and B 7, A is first.
 * When A gets 9 it is not known who is, only that nobody is below 4; asked for, it is B, with 7.
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
    hp_u64 *low = &queue->low[HP_INDEX(vcpu / HP_BLOCK, HP_BLOCKS)];

    HP_ASSERT(vcpu / HP_BLOCK < queue->blocks);
    if (key == *own)
        return;
    *own = key;
    *low = 0;
    /* All others are behind 'lowest', even where who had that key is not there any more. */
    if (key < queue->lowest || (key == queue->lowest && vcpu <= queue->first)) {
        queue->first = vcpu;
        queue->lowest = key;
        queue->known = 1;
    } else if (vcpu == queue->first) {
        queue->known = 0;
    }
}

/* Finds the lowest key of a block. */
HP_FN void hp_block_find(struct hp_queue *queue, hp_u32 index) {
    const hp_u64 *key = &queue->key[index * HP_BLOCK];
    hp_u64 low = HP_NEVER;
    hp_u32 of_low = 0;

    HP_FEW(i, HP_BLOCK) {
        if (key[i] < low) {
            HP_JUMP();
            low = key[i];
            of_low = i;
        }
    }
    queue->low[index] = low;
    queue->of_low[index] = index * HP_BLOCK + of_low;
}

/* Finds who is first: in the blocks with new keys, then among all blocks. */
HP_ONCE hp_u32 hp_queue_find(struct hp_queue *queue HP_NOT_NULL) {
    hp_u64 lowest = HP_NEVER;
    hp_u32 first = 0;

    HP_ASSERT(!queue->known);
    HP_UP_TO (block, queue->blocks, HP_BLOCKS) {
        if (queue->low[block] == 0)
            hp_block_find(queue, block);
        if (queue->low[block] < lowest) {
            HP_JUMP();
            lowest = queue->low[block];
            first = queue->of_low[block];
        }
    }
    HP_ASSERT(lowest >= queue->lowest);
    queue->lowest = lowest;
    queue->first = first;
    queue->known = 1;
    return 0;
}

/* The lowest key of all, or HP_NEVER; whose it is stands in queue->first. */
HP_FN hp_u64 hp_queue_lowest(struct hp_queue *queue) {
    if (!queue->known)
        hp_queue_find(queue);
    HP_ASSERT(queue->lowest == hp_key_of(queue, queue->first));
    return queue->lowest;
}

/* There are vcpus with numbers below 'numbers'. */
HP_FN void hp_queue_grow(struct hp_queue *queue, hp_u32 numbers) {
    HP_ASSERT(numbers <= HP_VCPUS);
    queue->blocks = (numbers + HP_BLOCK - 1u) / HP_BLOCK;
}

HP_FN void hp_queue_clear(struct hp_queue *queue) {
    HP_FOR (vcpu, HP_KEYS)
        queue->key[HP_INDEX(vcpu, HP_KEYS)] = HP_NEVER;
    HP_FOR (block, HP_BLOCKS)
        queue->low[HP_INDEX(block, HP_BLOCKS)] = HP_NEVER;
    queue->blocks = 0;
    queue->lowest = HP_NEVER;
    queue->first = 0;
    queue->known = 1;
}

/* What is remembered of a queue is true. Of one vcpu: it is not before the first. */
HP_FN hp_u32 hp_queue_holds(const struct hp_queue *queue, hp_u32 vcpu) {
    const hp_u64 key = hp_key_of(queue, vcpu);

    if (key < queue->low[vcpu / HP_BLOCK])
        return 0;
    if (key < queue->lowest || (key == queue->lowest && key != HP_NEVER && vcpu < queue->first))
        return 0;
    return !queue->known || hp_key_of(queue, queue->first) == queue->lowest;
}
