/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flows: items come from a source, pass through tasks (hops) of several domains, and leave. The
 * draws are those of the simulator, so that the same item comes at the same time here and there,
 * and takes as long at each of its hops.
 *
 * A flow draws like a task of a domain that there is not: its source as task flow << 16, its hop k
 * (from 1) as task flow << 16 | k, with the item's number for the job's. The k-th time for which a
 * client thinks (from 0) is the gap of job client << 32 | k of the source.
 *
 * Where an item is fits into one number, its place: flow << 48 | hop << 32 | number. A hop behind
 * the last one means that the item has left, and is of interest to the domain of the source.
 */
#ifndef GUESTS_FLOW_H
#define GUESTS_FLOW_H

#include "guests/executive/task.h"

#define MAX_FLOWS 256u
#define MAX_HOPS 1024u   /* of all flows together */
#define MAX_ITEMS 16384u /* on their way in all flows together */

#define MAX_CLIENTS 256u /* of all closed sources together */

#define FLOWS_DOMAIN 0xffffffu

struct hop {
    hp_u32 domain;
    hp_u32 task; /* in that domain */
};

struct flow {
    struct task source; /* when items come: periodic or sporadic; its wcet means nothing */
    hp_u64 burst;       /* how many come together */
    hp_u64 clients; /* closed, if above 0: so many send them, the source has their offset only */
    hp_u64 think_least_ns;
    hp_u64 think_most_ns;
    hp_u64 queue;     /* how many may be on their way */
    hp_u32 first_hop; /* in a list of all hops */
    hp_u32 hops;      /* 0: the domain has no part in this flow */
    hp_u32 comes;     /* by which card of the first hop's domain its items come, or HP_NONE */
    hp_u32 goes;      /* and by which of the last one's they leave */
};

/* What is told where an item goes: its place, and the instant at which it got there, in ticks of
 * the system counter; in a frame to its first hop, in nanoseconds after the epoch. */
struct message {
    hp_u64 place;
    union {
        hp_u64 ticks;
        hp_u64 ns;
    };
};

static inline hp_u64 place_of(hp_u32 flow, hp_u32 hop, hp_u64 number) {
    return (hp_u64)flow << 48 | (hp_u64)hop << 32 | (hp_u32)number;
}

static inline hp_u32 place_flow(hp_u64 place) {
    return (hp_u32)(place >> 48);
}

static inline hp_u32 place_hop(hp_u64 place) {
    return (hp_u32)(place >> 32) & 0xffffu;
}

static inline hp_u64 place_number(hp_u64 place) {
    return (hp_u32)place;
}

/* The same item at its next hop. */
static inline hp_u64 place_next(hp_u64 place) {
    return place + (1ull << 32);
}

/* What the draws of the source are made from. */
static inline struct task_name source_name(hp_u64 seed, hp_u32 flow) {
    return (struct task_name){seed, FLOWS_DOMAIN, flow << 16};
}

/* For how long a client thinks, the count-th time from 0. */
static inline hp_u64 think_ns(const struct flow *flow, hp_u64 seed, hp_u32 number, hp_u32 client,
                              hp_u32 count) {
    return task_draw(source_name(seed, number), (hp_u64)client << 32 | count, HP_DRAW_GAP,
                     flow->think_least_ns, flow->think_most_ns);
}

/* How long an item takes at a hop that it reaches at `release_ns`. */
static inline hp_u64 item_execution_ns(const struct task *task, hp_u64 seed, hp_u64 place,
                                       hp_u64 release_ns) {
    struct task_name name = {seed, FLOWS_DOMAIN, place_flow(place) << 16 | (place_hop(place) + 1u)};

    return task_execution_ns(task, name, place_number(place), release_ns);
}

#endif /* GUESTS_FLOW_H */
