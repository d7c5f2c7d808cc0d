/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing the ring of a lock domain (ring.h): one store after the other, and the count last.
 * The same record, less its time, goes into Xen's own trace buffer when that is on: the event
 * is the kind, the payload 24 bytes.
 */
#ifndef HYPERPERIOD_RECORDER_H
#define HYPERPERIOD_RECORDER_H

#include <xen/trace.h>

#include "environment.h"
#include "ring.h"

/* 16 bits for a vcpu or payer: HP_NONE and HP_SPARE become their short forms. */
static inline uint16_t short_name(hp_u32 vcpu)
{
    return vcpu;
}

static inline void record(struct hp_ring *ring, uint64_t now_ns, enum hp_record_kind kind,
                          hp_u32 vcpu, uint64_t value, uint32_t job)
{
    struct hp_record *to;

    BUILD_BUG_ON(sizeof(struct hp_ring) != 64 || sizeof(struct hp_record) != 32);
    BUILD_BUG_ON((uint16_t)HP_NONE != HP_RECORD_NONE || (uint16_t)HP_SPARE != HP_RECORD_SPARE);
    if ( !ring )
        return;
    to = (struct hp_record *)(ring + 1) + (ring->written & (ring->capacity - 1));
    to->time = now_ns;
    to->value = value;
    to->job = job;
    to->pcpu = 0;
    to->vcpu = short_name(vcpu);
    to->payer = HP_RECORD_NONE;
    to->task = HP_RECORD_NONE;
    to->kind = kind;
    to->flags = 0;
    to->reserved = 0;
    smp_wmb();
    ring->written++;
    if ( unlikely(tb_init_done) )
        trace_time(TRC_SCHED_CLASS_EVT(HYPERPERIOD, kind), 24, &to->value);
}

#endif /* HYPERPERIOD_RECORDER_H */
