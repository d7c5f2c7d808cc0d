/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources: which item of a flow comes next, when, and whether its queue is full then. They are
 * those of all flows that begin in a domain, or at one task of it.
 *
 * An item that comes while `queue` others are on their way is dropped; so every item that leaves
 * is told to its source, and never more than `queue` of a flow are anywhere. Where items come by a
 * card, it is whoever is at its other end that sends them; they are let in and counted here.
 *
 * The clients of a closed source send an item each, wait until it has left, and think. Items of a
 * flow leave in the order in which they came, so who waits is a list.
 */
#ifndef GUESTS_SOURCES_H
#define GUESTS_SOURCES_H

#include "guests/executive/arguments.h"
#include "guests/executive/heap.h"

_Static_assert(MAX_FLOWS <= MAX_TASKS && MAX_CLIENTS <= MAX_TASKS,
               "a heap has room for all sources, and one for all clients");

struct source {
    struct job next; /* of an open one */
    hp_u64 of_burst; /* so many items of its latest release have come */
    hp_u32 first;    /* of the clients whose item is on its way, or HP_NONE */
    hp_u32 last;
    hp_u64 items;     /* that came */
    hp_u64 under_way; /* that have not left yet */
};

struct client {
    hp_u32 flow;
    hp_u32 number;   /* in its flow */
    hp_u32 thoughts; /* it has begun */
    hp_u32 next;     /* behind it among those that wait */
};

struct sources {
    const struct arguments *told;
    struct heap releases; /* of open sources, by flow */
    struct heap sending;  /* when clients that think will send */
    struct source of_flow[MAX_FLOWS];
    struct client client[MAX_CLIENTS];
};

static inline void sources_think(struct sources *sources, hp_u32 at, hp_u64 now_ns) {
    struct client *client = &sources->client[at];
    hp_u64 think_for_ns = think_ns(&sources->told->flow[client->flow], sources->told->seed,
                                   client->flow, client->number, client->thoughts++);

    heap_push(&sources->sending, now_ns + think_for_ns, at);
}

/* The source of a flow; `used` clients belong to those before it. Returns how many do then. */
static inline hp_u32 sources_begin(struct sources *sources, hp_u32 number, hp_u32 used) {
    const struct flow *flow = &sources->told->flow[number];
    struct source *source = &sources->of_flow[number];

    source->first = HP_NONE;
    if (flow->clients == 0
        && (flow->comes == HP_NONE || sources->told->workload == WORKLOAD_OUTSIDE)) {
        source->next = task_first_job(&flow->source, source_name(sources->told->seed, number));
        heap_push(&sources->releases, source->next.release_ns, number);
    }
    for (hp_u32 i = 0; i < flow->clients; i++) {
        sources->client[used + i] = (struct client){number, i, 0, HP_NONE};
        sources_think(sources, used + i, flow->source.offset_ns);
    }
    return used + (hp_u32)flow->clients;
}

/* Whether the source of a flow is here. */
static inline hp_u32 sources_have(const struct arguments *told, const struct flow *flow,
                                  hp_u32 task) {
    const struct hop *first = &told->hop[flow->first_hop];

    if (told->workload == WORKLOAD_OUTSIDE)
        return flow->comes != HP_NONE;
    return first->domain == told->domain && (task == HP_NONE || first->task == task);
}

/* Those of flows that begin at this task of the domain, or at any if it is HP_NONE; the memory is
 * zero before. */
static inline void sources_init(struct sources *sources, const struct arguments *told,
                                hp_u32 task) {
    hp_u32 used = 0;

    sources->told = told;
    heap_init(&sources->releases);
    heap_init(&sources->sending);
    for (hp_u32 i = 0; i < MAX_FLOWS; i++) {
        if (told->flow[i].hops > 0 && sources_have(told, &told->flow[i], task))
            used = sources_begin(sources, i, used);
    }
}

/* When the next item comes, as it stands now, or HP_NEVER. */
static inline hp_u64 sources_next_ns(const struct sources *sources) {
    return hp_min(heap_key(&sources->releases), heap_key(&sources->sending));
}

/* The first client in turn sends its next item, whose place it returns. */
static inline hp_u64 sources_send(struct sources *sources) {
    hp_u32 at = sources->sending.entry[0].task, number = sources->client[at].flow;
    struct source *source = &sources->of_flow[number];

    heap_pop(&sources->sending);
    sources->client[at].next = HP_NONE;
    if (source->first == HP_NONE)
        source->first = at;
    else
        sources->client[source->last].next = at;
    source->last = at;
    return place_of(number, 0, source->items++);
}

/* Lets an item in; 0: its queue is full, and it is nowhere. */
static inline hp_u32 sources_admit(struct sources *sources, hp_u32 number) {
    const struct flow *flow = &sources->told->flow[number];
    struct source *source = &sources->of_flow[number];
    hp_u32 has_room = source->under_way < flow->queue;

    if (flow->clients > 0)
        return 1;
    source->under_way += has_room;
    return has_room;
}

/* Lets the next item come, and returns its place. */
static inline hp_u64 sources_release(struct sources *sources) {
    hp_u32 number = sources->releases.entry[0].task;
    const struct flow *flow = &sources->told->flow[number];
    struct source *source = &sources->of_flow[number];
    hp_u64 place;

    if (heap_key(&sources->sending) < heap_key(&sources->releases))
        return sources_send(sources);
    place = place_of(number, 0, source->items++);
    if (++source->of_burst >= flow->burst) {
        source->of_burst = 0;
        source->next =
            task_next_job(&flow->source, source_name(sources->told->seed, number), source->next);
        heap_replace(&sources->releases, (struct heap_entry){source->next.release_ns, number});
    }
    return place;
}

/* Whether an item of a flow has come that has not left. */
static inline hp_u32 sources_await(const struct sources *sources, hp_u32 flow) {
    return sources->of_flow[flow].under_way > 0 || sources->of_flow[flow].first != HP_NONE;
}

/* The oldest item of a flow has left. */
static inline void sources_left(struct sources *sources, hp_u32 flow, hp_u64 now_ns) {
    struct source *source = &sources->of_flow[flow];
    hp_u32 client = source->first;

    if (sources->told->flow[flow].clients == 0) {
        source->under_way--;
        return;
    }
    source->first = sources->client[client].next;
    sources_think(sources, client, now_ns);
}

#endif /* GUESTS_SOURCES_H */
