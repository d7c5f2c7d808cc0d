/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of tasks: the one with the least key is at the top, the lower task on a tie. */
#ifndef GUESTS_HEAP_H
#define GUESTS_HEAP_H

#include "core/types.h"

#define MAX_TASKS 256u

struct heap_entry {
    hp_u64 key;
    hp_u32 task;
};

struct heap {
    hp_u32 count;
    struct heap_entry entry[MAX_TASKS];
};

static inline hp_u32 heap_before(struct heap_entry a, struct heap_entry b) {
    return a.key != b.key ? a.key < b.key : a.task < b.task;
}

static inline void heap_init(struct heap *heap) {
    heap->count = 0;
    heap->entry[0].key = HP_NEVER;
}

/* The least key, or HP_NEVER: an empty heap has that at its top. */
static inline hp_u64 heap_key(const struct heap *heap) {
    return heap->entry[0].key;
}

static inline void heap_push(struct heap *heap, hp_u64 key, hp_u32 task) {
    struct heap_entry entry = {key, task};
    hp_u32 at = heap->count++;

    HP_ASSERT(at < MAX_TASKS);
    while (at > 0 && heap_before(entry, heap->entry[(at - 1u) / 2u])) {
        heap->entry[at] = heap->entry[(at - 1u) / 2u];
        at = (at - 1u) / 2u;
    }
    heap->entry[at] = entry;
}

/* Puts `entry` in the place of the top and lets it sink to where it belongs. */
static inline void heap_replace(struct heap *heap, struct heap_entry entry) {
    hp_u32 at = 0;

    while (2u * at + 1u < heap->count) {
        hp_u32 child = 2u * at + 1u;

        if (child + 1u < heap->count && heap_before(heap->entry[child + 1u], heap->entry[child]))
            child++;
        if (!heap_before(heap->entry[child], entry))
            break;
        heap->entry[at] = heap->entry[child];
        at = child;
    }
    heap->entry[at] = entry;
}

static inline void heap_pop(struct heap *heap) {
    heap->count--;
    if (heap->count > 0)
        heap_replace(heap, heap->entry[heap->count]);
    else
        heap->entry[0].key = HP_NEVER;
}

#endif /* GUESTS_HEAP_H */
