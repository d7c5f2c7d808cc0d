/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing the ring of a lock domain (record/ring.h): one store after the other, and the count last.
 * The same record, less its time, goes into Xen's own trace buffer when that is on, whether or not
 * a ring runs: the event is the kind, the payload 24 bytes.
 */
#ifndef HYPERPERIOD_RECORDER_H
#define HYPERPERIOD_RECORDER_H

#include <xen/trace.h>

#include "environment.h"
#include "record/ring.h"

static __attribute__((__cold__, __noinline__)) void trace_record(uint64_t value, uint64_t name,
                                                                 uint64_t kind)
{
    const uint64_t words[] = { value, name, kind };

    trace_time(TRC_SCHED_CLASS_EVT(HYPERPERIOD, (kind >> 32) & 0xff), sizeof(words), words);
}

static inline void record(struct hp_ring *ring, uint64_t now_ns, uint64_t value, uint64_t name,
                          uint64_t kind)
{
    BUILD_BUG_ON(sizeof(struct hp_ring) != 64 || sizeof(struct hp_record) != 32);
    BUILD_BUG_ON((uint16_t)HP_NONE != HP_RECORD_NONE || (uint16_t)HP_SPARE != HP_RECORD_SPARE);
    if ( ring )
    {
        const uint64_t written = ring->written;
        uint64_t *to = (uint64_t *)(ring + 1) + 4 * (written & (ring->capacity - 1));

        to[0] = now_ns;
        to[1] = value;
        to[2] = name;
        to[3] = kind;
        smp_wmb();
        ring->written = written + 1;
    }
    if ( unlikely(tb_init_done) )
        trace_record(value, name, kind);
}

#endif /* HYPERPERIOD_RECORDER_H */
