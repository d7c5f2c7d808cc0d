/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring: how events leave a machine without disturbing it.
 *
 * The hypervisor keeps one ring for each lock domain (a pcpu, or a whole pool under a global
 * policy), each guest keeps one of its own. A ring is a header and an array of records in plain
 * memory; whoever reads it does so from outside, after the run. Records are 32 bytes, little
 * endian, with the same fields as those of a trace file (docs/formats.md).
 *
 * What the hypervisor writes is every call of its core that changes something, in order, with
 * all arguments, and the answer of every pick: a reader can make the same calls again, asking
 * for kicks after each (which changes nothing), and must get the same answers.
 *
 * The hypervisor's ring goes round: 'written' counts on, and the last 'capacity' records are
 * there. A guest's ring ends when it is full, and says so.
 */
#ifndef HP_RING_H
#define HP_RING_H

#define HP_RING_MAGIC "HPRING01"

#define HP_RING_OVERFLOW 1u /* flag of a guest's ring: records were lost */
#define HP_RING_ENDED 2u    /* flag: the horizon was reached */
#define HP_RING_PAUSED 4u   /* flag: it stood still for a time: what follows cannot be replayed */

/* 64 bytes; the records follow. */
struct hp_ring {
    unsigned char magic[8];
    unsigned int header_bytes; /* where the records begin */
    unsigned int record_bytes;
    unsigned long long capacity; /* records */
    unsigned long long written;  /* records so far; the last store of every record */
    unsigned long long frequency_hz;
    unsigned long long epoch_ticks; /* the instant 0 of the run, on the system counter */
    unsigned int source;            /* hypervisor: the lock domain; guest: the domain */
    unsigned int flags;
    unsigned long long reserved;
};

struct hp_record {
    unsigned long long time; /* hypervisor: ns since the epoch; guest: the system counter */
    unsigned long long value;
    unsigned int job;
    unsigned short pcpu;
    unsigned short vcpu;
    unsigned short payer;
    unsigned short task;
    unsigned char kind;
    unsigned char flags;
    unsigned short reserved;
};

#define HP_RECORD_NONE 0xffffu  /* vcpu, payer or task: nobody */
#define HP_RECORD_SPARE 0xfffeu /* payer: the spare */

#define HP_RECORD_ALSO 1u  /* RUN: the vcpu pays as well (lend) */
#define HP_RECORD_EXTRA 2u /* RUN: extra time */
#define HP_RECORD_HOST 4u  /* RUN: the hypervisor took the pcpu for work of its own */

/* Kinds below 32 are those of a trace file. */
enum hp_record_kind {
    /* The hypervisor: the answer of a pick. value: until when; job: level of extra time.
     * A guest: a job goes on or begins on this vcpu (RUN), or the vcpu has nothing (IDLE). */
    HP_RECORD_RUN = 1,
    HP_RECORD_IDLE = 2,
    HP_RECORD_ARRIVE = 6,
    HP_RECORD_DEPART = 7,
    HP_RECORD_RELEASE = 8,  /* guest: time is when the job was due for release */
    HP_RECORD_COMPLETE = 9, /* guest */
    HP_RECORD_SWAP = 12,    /* hypervisor: value = budget | order << 8 | slack << 16 */
    HP_RECORD_END = 13,     /* the horizon was reached */
    HP_RECORD_ITEM = 14,    /* guest: the job, released before, is for the item in value */
    HP_RECORD_DROP = 15,    /* guest: its queue was full */

    /* The hypervisor's other calls of the core. */
    HP_RECORD_START = 32,     /* hp_init; value as SWAP, | global << 24 (hp_config.holds is 1 if
                                 global); job: pcpus */
    HP_RECORD_QUANTUM = 33,   /* before START: value = quantum_ns */
    HP_RECORD_BUDGET = 34,    /* before START, SET_SPARE, ADD, ...: value = the budget in it */
    HP_RECORD_SET_SPARE = 35, /* before START or later, hp_set_spare: value = period_ns */
    HP_RECORD_ADD = 36,       /* hp_add: value = period_ns (of best effort: its weight), job:
                                 priority, flags: HP_EXTRA, ... */
    HP_RECORD_UPDATE = 37,    /* hp_update: as ADD */
    HP_RECORD_REMOVE = 38,    /* hp_remove */
    HP_RECORD_ADD_PCPU = 39,  /* hp_add_pcpu */
    HP_RECORD_DROP_PCPU = 40, /* hp_drop_pcpu */
    HP_RECORD_SAVED = 41,     /* hp_saved */
    HP_RECORD_HOLD = 42,      /* hp_hold; value: the pcpu */
    HP_RECORD_BIND = 43,      /* hp_bind; value: the pcpus that the vcpu may run on, a mask */
    HP_RECORD_LEAVE = 44,     /* hp_leave */
    HP_RECORD_WANTED = 45,    /* before JOIN, of one with new parameters that wait: as ADD */
    HP_RECORD_REFILL = 46,    /* before JOIN: value = the server's next refill */
    HP_RECORD_LEFT = 47,      /* before JOIN: value = what is left of its budget, signed; job: 1
                                 with work */
    HP_RECORD_JOIN = 48,      /* hp_join: as ADD */
    HP_RECORD_STEAL = 49,     /* hp_steal; value: the pcpu */
    HP_RECORD_RETURN = 50,    /* hp_return; value: the pcpu */

    /* A guest's measurements. */
    HP_RECORD_SAMPLE = 64,   /* a timed busy loop; time: its start, value: its length in ticks */
    HP_RECORD_RESPONSE = 65, /* an interrupt; time: when it was due, value: ticks until handled */
};

#endif /* HP_RING_H */
