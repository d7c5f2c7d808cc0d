/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A record: one call of the core, one answer of it, or one event of a job, in 32 bytes.
 *
 * Everything that writes or reads records is made of the rows here: the rings of Xen, Linux and
 * guests (ring.h), trace files (record.hpp, docs/formats.md), and the package's readers, which get
 * the rows from the native module _check. A kind, a flag or a field is added here and nowhere else.
 *
 * A ring holds what a host did: every call of its core that changes something, in order, with all
 * arguments, and the answer of every pick. A trace file holds what follows from that by making the
 * same calls again: who ran, who paid, which refills came. Kinds below 32 mean the same in both.
 *
 * This header needs no other, so that hypervisors, BPF programs and guests can include it.
 */
#ifndef HP_RECORD_H
#define HP_RECORD_H

/*
 * The fields, in the order in which they lie there, little endian: FIELD(type, name). Times are in
 * nanoseconds since the beginning of the run; in a guest's ring they are ticks of its counter.
 */
#define HP_RECORD_FIELDS(FIELD)                                                                    \
    FIELD(unsigned long long, time)                                                                \
    FIELD(unsigned long long, value) /* meaning by kind */                                         \
    FIELD(unsigned int, job)         /* number of the job in its task, from 0 */                   \
    FIELD(unsigned short, pcpu)                                                                    \
    FIELD(unsigned short, vcpu)                                                                    \
    FIELD(unsigned short, payer)                                                                   \
    FIELD(unsigned short, task)                                                                    \
    FIELD(unsigned char, kind)                                                                     \
    FIELD(unsigned char, flags)                                                                    \
    FIELD(unsigned short, reserved)

#define HP_RECORD_DECLARE(type, name) type name;
struct hp_record {
    HP_RECORD_FIELDS(HP_RECORD_DECLARE)
};

#define HP_RECORD_NONE 0xffffu  /* pcpu, vcpu, payer or task: nobody */
#define HP_RECORD_SPARE 0xfffeu /* vcpu or payer: the spare */

/* What a record must name: a field that its row does not list may also be HP_RECORD_NONE. */
#define HP_NAMES_PCPU 1u
#define HP_NAMES_VCPU 2u   /* in vcpu: a vcpu, and not the spare */
#define HP_NAMES_SERVER 4u /* in vcpu: a vcpu or the spare */
#define HP_NAMES_PAYER 8u
#define HP_NAMES_TASK 16u
#define HP_NAMES_JOB 32u /* where there is a task, the job is one of its */

/*
 * Kinds that trace files have: ROW(number, NAME, name, step, names). Within one instant records of
 * a trace stand in the order of their steps, in which a host acts.
 */
#define HP_TRACE_KINDS(ROW)                                                                        \
    /* The answer of a pick. value: until when at the latest; in a ring, job: level of extra time. \
     * A guest's ring: a job goes on or begins on this vcpu (run), or it has nothing (idle). */    \
    ROW(1, RUN, run, 7, HP_NAMES_PCPU | HP_NAMES_VCPU | HP_NAMES_JOB)                              \
    ROW(2, IDLE, idle, 7, HP_NAMES_PCPU)                                                           \
    ROW(3, CHARGE, charge, 1, HP_NAMES_PCPU | HP_NAMES_PAYER) /* value: how much (ns) */           \
    ROW(4, REPLENISH, replenish, 3, HP_NAMES_SERVER)          /* value: remaining, signed */       \
    ROW(5, DEPLETE, deplete, 1, HP_NAMES_SERVER)                                                   \
    ROW(6, ARRIVE, arrive, 4, HP_NAMES_VCPU)                                                       \
    ROW(7, DEPART, depart, 2, HP_NAMES_VCPU)                                                       \
    ROW(8, RELEASE, release, 4, HP_NAMES_TASK | HP_NAMES_JOB)   /* value: deadline, 0: none */     \
    ROW(9, COMPLETE, complete, 2, HP_NAMES_TASK | HP_NAMES_JOB) /* value: response time */         \
    ROW(10, MISS, miss, 2, HP_NAMES_TASK | HP_NAMES_JOB)        /* value: deadline */              \
    ROW(11, KICK, kick, 6, 0)                                                                      \
    ROW(12, SWAP, swap, 5, 0) /* value: budget | order << 8 | slack << 16 */                       \
    ROW(13, END, end, 8, 0)   /* the horizon was reached */                                        \
    ROW(14, ITEM, item, 4, HP_NAMES_TASK | HP_NAMES_JOB) /* the job is for the item in value */    \
    ROW(15, DROP, drop, 4, 0)                            /* a queue was full for that item */      \
    ROW(16, MOVE, move, 5, 0)                            /* to another pcpu, or on its way */

/* Kinds that only rings have: ROW(number, NAME, text). Other calls of the core: */
#define HP_CALL_KINDS(ROW)                                                                         \
    /* hp_init; value as SWAP, | global << 24 (and reports_saved); job: pcpus */                   \
    ROW(32, START, "start")                                                                        \
    ROW(33, QUANTUM, "quantum") /* before START: value = quantum_ns */                             \
    /* before START, SET_SPARE, ADD, ...: value = the budget in it */                              \
    ROW(34, BUDGET, "budget")                                                                      \
    /* before START or later, hp_set_spare: value = period_ns */                                   \
    ROW(35, SET_SPARE, "spare")                                                                    \
    /* hp_add: value = period_ns (of best effort: its weight), job: priority, flags: those of      \
     * struct hp_params */                                                                         \
    ROW(36, ADD, "add")                                                                            \
    ROW(37, UPDATE, "update") /* hp_update: as ADD */                                              \
    ROW(38, REMOVE, "remove")                                                                      \
    ROW(39, ADD_PCPU, "add-pcpu")                                                                  \
    ROW(40, DROP_PCPU, "drop-pcpu")                                                                \
    ROW(41, SAVED, "saved")                                                                        \
    ROW(42, HOLD, "hold") /* value: the pcpu */                                                    \
    ROW(43, BIND, "bind") /* value: the pcpus that the vcpu may run on, a mask */                  \
    ROW(44, LEAVE, "leave")                                                                        \
    ROW(45, WANTED, "wanted") /* before JOIN, of one with new parameters that wait: as ADD */      \
    ROW(46, REFILL, "refill") /* before JOIN: value = the server's next refill */                  \
    ROW(47, LEFT, "left")     /* before JOIN: value = budget left, signed; job: 1 with work */     \
    ROW(48, JOIN, "join")     /* hp_join: as ADD */                                                \
    ROW(49, STEAL, "steal")   /* value: the pcpu */                                                \
    ROW(50, RETURN, "return") /* value: the pcpu */                                                \
    /* Measurements of guests: */                                                                  \
    ROW(64, SAMPLE, "sample")     /* a timed busy loop; time: its start, value: ticks */           \
    ROW(65, RESPONSE, "response") /* an interrupt; time: when due, value: ticks until handled */

#define HP_RECORD_KIND(number, NAME, ...) HP_RECORD_##NAME = (number),
enum hp_record_kind { HP_TRACE_KINDS(HP_RECORD_KIND) HP_CALL_KINDS(HP_RECORD_KIND) };

/* Flags of all kinds but those of calls, whose are the core's: ROW(bit, NAME). */
#define HP_RECORD_FLAGS(ROW)                                                                       \
    ROW(1, SECOND_PAYER) /* run: the vcpu pays as well, beside the payer (lend) */                 \
    ROW(2, EXTRA)        /* run, charge: at an extra-time level */                                 \
    ROW(4, STOLEN)       /* idle: the pcpu is not there to be granted */                           \
    ROW(8, AFTER_PICK)   /* depart: after picks of its instant, and so after its refills */        \
    ROW(16, HOST)        /* run, in a ring: the hypervisor took the pcpu for work of its own */

#define HP_RECORD_FLAG(bit, NAME) HP_RECORD_##NAME = (bit),
enum hp_record_flag { HP_RECORD_FLAGS(HP_RECORD_FLAG) };

/*
 * The last 16 bytes of a record as two words, lowest byte first: two stores instead of seven. The
 * first word has job, pcpu and vcpu, the second payer, task, kind and flags.
 */
static inline unsigned long long hp_record_who(unsigned int job, unsigned int pcpu,
                                               unsigned int vcpu) {
    return job | (unsigned long long)(pcpu & 0xffffu) << 32
           | (unsigned long long)(vcpu & 0xffffu) << 48;
}

static inline unsigned long long hp_record_what(unsigned int kind, unsigned int payer,
                                                unsigned int task, unsigned int flags) {
    return (payer & 0xffffu) | (unsigned long long)(task & 0xffffu) << 16
           | (unsigned long long)kind << 32 | (unsigned long long)flags << 40;
}

#endif /* HP_RECORD_H */
