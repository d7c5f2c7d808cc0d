/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring: how records (record.h) leave a machine without disturbing it.
 *
 * A host keeps one ring for each lock domain (a pcpu, or a whole pool under a global policy), each
 * guest keeps one of its own. A ring is a header and an array of records in plain memory; whoever
 * reads it does so from outside, after the run.
 *
 * What a host writes is every call of its core that changes something, in order, with all
 * arguments, and the answer of every pick: a reader can make the same calls again, asking for
 * kicks after each (which changes nothing), and must get the same answers.
 *
 * A host's ring goes round: 'written' counts on, and the last 'capacity' records are there. A
 * guest's ring ends when it is full, and says so.
 */
#ifndef HP_RING_H
#define HP_RING_H

#include "record/record.h"

#define HP_RING_MAGIC "HPRING01"

#define HP_RING_OVERFLOW 1u /* flag of a guest's ring: records were lost */
#define HP_RING_ENDED 2u    /* flag: the horizon was reached */
#define HP_RING_PAUSED 4u   /* flag: it stood still for a time: what follows cannot be replayed */

/* The header's fields, 64 bytes, as in record.h; 'magic' is before them, the records follow. */
#define HP_RING_FIELDS(FIELD)                                                                      \
    FIELD(unsigned int, header_bytes) /* where the records begin */                                \
    FIELD(unsigned int, record_bytes)                                                              \
    FIELD(unsigned long long, capacity) /* records */                                              \
    FIELD(unsigned long long, written)  /* records so far; the last store of every record */       \
    FIELD(unsigned long long, frequency_hz)                                                        \
    FIELD(unsigned long long, epoch_ticks) /* the instant 0 of the run, on the system counter */   \
    FIELD(unsigned int, source)            /* host: the lock domain; guest: the domain */          \
    FIELD(unsigned int, flags)                                                                     \
    FIELD(unsigned long long, reserved) /* a Linux guest: when it was ready, in ticks */

struct hp_ring {
    unsigned char magic[8];
    HP_RING_FIELDS(HP_RECORD_DECLARE)
};

#endif /* HP_RING_H */
