/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a guest's ring (record/ring.h). Whoever reads the memory at any moment sees whole
 * records only: the count is stored last. A full ring stays as it is and is marked; one that has
 * ended takes no more.
 */
#ifndef GUESTS_WRITER_H
#define GUESTS_WRITER_H

#include "core/types.h"
#include "record/ring.h"

/* A record, which is written as four words: those of its fields, lowest byte first. */
struct record {
    hp_u64 word[sizeof(struct hp_record) / sizeof(hp_u64)];
};

struct writer {
    struct hp_ring *ring;
    struct record *records;
};

/* A ring in `bytes` of memory. */
static inline struct writer writer_init(void *memory, hp_u64 bytes, hp_u32 source, hp_u64 hz,
                                        hp_u64 epoch_ticks) {
    struct hp_ring *ring = (struct hp_ring *)memory;
    struct writer writer = {ring, (struct record *)(ring + 1)};

    ring->written = 0;
    for (hp_u32 i = 0; i < sizeof ring->magic; i++)
        ring->magic[i] = (hp_u8)HP_RING_MAGIC[i];
    ring->header_bytes = sizeof *ring;
    ring->record_bytes = sizeof(struct record);
    ring->capacity = (bytes - sizeof *ring) / sizeof(struct record);
    ring->frequency_hz = hz;
    ring->epoch_ticks = epoch_ticks;
    ring->source = source;
    ring->flags = 0;
    ring->reserved = 0;
    return writer;
}

static inline void writer_put(struct writer *writer, struct record record) {
    struct hp_ring *ring = writer->ring;
    hp_u64 written = ring->written;

    if ((ring->flags & HP_RING_ENDED) != 0)
        return;
    if (written == ring->capacity) {
        ring->flags |= HP_RING_OVERFLOW;
        return;
    }
    writer->records[written] = record;
    __atomic_store_n(&ring->written, written + 1u, __ATOMIC_RELEASE);
}

/* A record of a job, or with HP_RECORD_NONE for the task, of none. Nobody pays; pcpu 0. */
static inline struct record record_of(hp_u8 kind, hp_u64 ticks, hp_u32 vcpu, hp_u32 task,
                                      hp_u64 job, hp_u64 value) {
    struct record record = {{ticks, value, hp_record_who((hp_u32)job, 0, vcpu),
                             hp_record_what(kind, HP_RECORD_NONE, task, 0)}};

    return record;
}

/* The last record of a run. */
static inline void writer_end(struct writer *writer, hp_u64 ticks) {
    writer_put(writer, record_of(HP_RECORD_END, ticks, HP_RECORD_NONE, HP_RECORD_NONE, 0, 0));
    writer->ring->flags |= HP_RING_ENDED;
}

#endif /* GUESTS_WRITER_H */
