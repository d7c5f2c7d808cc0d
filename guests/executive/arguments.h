/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a guest is told: words KEY=VALUE separated by blanks (docs/xen/guests.md). All that is
 * wrong is found here, before anything runs.
 */
#ifndef GUESTS_ARGUMENTS_H
#define GUESTS_ARGUMENTS_H

#include "guests/board/card.h"
#include "guests/executive/domain.h"
#include "guests/executive/flow.h"
#include "words/words.h"

#define MAX_WIRES 32u

enum workload {
    WORKLOAD_TASKS,
    WORKLOAD_CLOCKTICK,
    WORKLOAD_RESPONSE,
    WORKLOAD_DEVICE,
    WORKLOAD_OUTSIDE,
    WORKLOAD_SPIN,
    WORKLOAD_YIELD_STORM,
    WORKLOAD_WAKE_STORM,
    WORKLOAD_HYPERCALL_STORM,
    WORKLOAD_TIMER_STORM,
};

/* The way to another domain (wire.h). */
struct wire {
    hp_u32 domain;
    hp_u32 port;   /* the event channel of this domain that goes there */
    hp_u64 offset; /* of the memory, from the start of all that is shared */
    hp_u64 room;   /* messages in each direction */
};

/* A card of this domain (board/card.h). */
struct card {
    hp_u64 interrupt; /* 0: there is none of this number */
    hp_u64 address;   /* of the registers */
    hp_u64 place;     /* of the guest's memory, as the card sees it */
    hp_u64 ring;      /* so many items may be at a hop that they come to by it */
};

struct arguments {
    enum workload workload;
    enum domain_scheduler scheduler;
    hp_u64 domain;
    hp_u64 vcpus;
    hp_u64 epoch_ticks; /* HP_NEVER: not given */
    hp_u64 horizon_ns;  /* HP_NEVER: not given */
    hp_u64 seed;
    hp_u64 memory_bytes;
    hp_u64 rate; /* instructions of a busy loop per 1000 ns; 0: to be measured */
    hp_u64 loop_ns;
    hp_u64 task_time_ns;
    hp_u64 task_period_ns;
    hp_u64 period_ns;
    hp_u64 forks; /* processes beside a measurement in Linux that do nothing but fork */
    hp_u32 tasks;
    hp_u32 flows; /* in which the domain has a part; their numbers are those of the system */
    hp_u32 hops;
    hp_u32 wires;
    hp_u32 cards; /* their numbers are those of the system's devices */
    struct task task[MAX_TASKS];
    struct flow flow[MAX_FLOWS];
    struct hop hop[MAX_HOPS];
    struct wire wire[MAX_WIRES];
    struct card card[MAX_CARDS];
};

/* Something wrong: the word, and what would have been right. */
struct arguments_error {
    struct word word;
    const char *message; /* a null pointer: all is well */
};

void arguments_init(struct arguments *arguments);
/* Reads some text; may be called for several, one after the other. */
struct arguments_error arguments_read(struct arguments *arguments, struct word text);
/* To be called at the end: what has to be there, and what does not go together. */
struct arguments_error arguments_check(const struct arguments *arguments);
/* Where items go between domains over wires: whether the flows of this one have theirs. */
struct arguments_error arguments_check_wires(const struct arguments *arguments);

#endif /* GUESTS_ARGUMENTS_H */
