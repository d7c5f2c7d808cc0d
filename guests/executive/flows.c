// SPDX-License-Identifier: BSD-2-Clause
//
// Items between the hops of their flows.
//
// A source belongs to the domain of the first hop, which is woken for it by its timer like for any
// release. It drops an item that comes while `queue` others are on their way; every item that
// leaves is told to it, if need be through the wire of the last hop's domain. So never more than
// `queue` items of a flow are anywhere, and wires and lists that have room for these are never
// full.
//
// Between domains an item is a message in a wire and an event that says to look. Whoever looks has
// taken the event before, so that what is written later brings another one. Messages, sources and
// the releases of other tasks are handled in the order of their instants: a late look changes
// nothing. That an item left is no event: the source looks when it releases the next one.

#include "guests/executive/flows.h"

#include "guests/executive/guest.h"
#include "guests/executive/wire.h"

struct source {
    struct job next;
    hp_u64 items;     /* that came */
    hp_u64 under_way; /* that have not left yet */
};

struct queue {
    hp_u32 first; /* HP_NONE: empty */
    hp_u32 last;
};

struct end {
    hp_u32 port;
    hp_u64 room;
    struct wire_ring *in;
    struct wire_ring *out;
};

static struct source sources[MAX_FLOWS];
static struct heap releases; /* of sources */
static struct queue queues[MAX_TASKS];
static struct item items[MAX_ITEMS];
static hp_u32 unused; /* the first item that is nowhere; the others follow */
static struct end ends[MAX_WIRES];
static hp_u32 next_end; /* whose message is what happens next; HP_NONE: a source's release */

static const struct flow *flow_of(hp_u64 place) {
    return &guest.arguments.flow[place_flow(place)];
}

static const struct hop *hop_of(const struct flow *flow, hp_u32 hop) {
    return &guest.arguments.hop[flow->first_hop + hop];
}

static hp_u32 is_here(const struct flow *flow, hp_u32 hop) {
    return hop_of(flow, hop)->domain == guest.arguments.domain;
}

/* The ring of the domain with the lower number comes first. */
static void init_end(struct end *end, const struct wire *wire) {
    hp_u64 start = SHARED_START + wire->offset;
    struct wire_ring *lower = (struct wire_ring *)start;
    struct wire_ring *higher = (struct wire_ring *)(start + wire_ring_bytes(wire->room));
    hp_u32 is_lower = guest.arguments.domain < wire->domain;

    end->port = wire->port;
    end->room = wire->room;
    end->in = is_lower ? higher : lower;
    end->out = is_lower ? lower : higher;
    end->in->taken = 0;
    end->out->written = 0;
}

void flows_init(void) {
    const struct arguments *told = &guest.arguments;

    heap_init(&releases);
    for (hp_u32 i = 0; i < MAX_FLOWS; i++) {
        const struct flow *flow = &told->flow[i];

        if (flow->hops == 0 || !is_here(flow, 0))
            continue;
        sources[i].next = task_first_job(&flow->source, source_name(told->seed, i));
        heap_push(&releases, sources[i].next.release_ns, i);
    }
    for (hp_u32 i = 0; i < told->tasks; i++)
        queues[i].first = HP_NONE;
    if (told->flows == 0)
        return;
    for (hp_u32 i = 0; i < MAX_ITEMS; i++)
        items[i].next = i + 1u;
    for (hp_u32 i = 0; i < told->wires; i++)
        init_end(&ends[i], &told->wire[i]);
}

hp_u64 flows_next_ns(void) {
    hp_u64 next_ns = heap_key(&releases);

    next_end = HP_NONE;
    for (hp_u32 i = 0; i < guest.arguments.wires; i++) {
        const struct message *message = wire_look(ends[i].in, ends[i].room);
        hp_u64 came_ns;

        if (message == 0)
            continue;
        came_ns = clock_ns(&guest.clock, message->ticks);
        if (came_ns <= next_ns) {
            next_ns = came_ns;
            next_end = i;
        }
    }
    return next_ns;
}

const struct heap *flows_sources(void) {
    return &releases;
}

hp_u32 flows_first_task(hp_u32 flow) {
    return hop_of(&guest.arguments.flow[flow], 0)->task;
}

static void reach(hp_u32 vcpu, hp_u64 place, hp_u64 release_ns) {
    executive_reach(vcpu, hop_of(flow_of(place), place_hop(place))->task, place, release_ns);
}

/* The first source in turn releases its next items. */
static void come(hp_u32 vcpu) {
    hp_u32 number = releases.entry[0].task;
    const struct flow *flow = &guest.arguments.flow[number];
    struct source *source = &sources[number];
    hp_u64 release_ns = source->next.release_ns;

    for (hp_u64 i = 0; i < flow->burst; i++) {
        hp_u64 place = place_of(number, 0, source->items++);

        if (source->under_way == flow->queue) {
            put(HP_RECORD_DROP, clock_ticks(&guest.clock, release_ns), HP_RECORD_NONE,
                HP_RECORD_NONE, 0, place);
            continue;
        }
        source->under_way++;
        reach(vcpu, place, release_ns);
    }
    source->next =
        task_next_job(&flow->source, source_name(guest.arguments.seed, number), source->next);
    heap_replace(&releases, (struct heap_entry){source->next.release_ns, number});
}

static void leave(hp_u64 place) {
    sources[place_flow(place)].under_way--;
}

void flows_happen(hp_u32 vcpu) {
    struct message message;

    if (next_end == HP_NONE) {
        come(vcpu);
        return;
    }
    message = wire_take(ends[next_end].in, ends[next_end].room);
    if (place_hop(message.place) == flow_of(message.place)->hops)
        leave(message.place);
    else
        reach(vcpu, message.place, clock_ns(&guest.clock, message.ticks));
}

void flows_wait(hp_u32 task, hp_u64 place, hp_u64 release_ns) {
    struct queue *queue = &queues[task];
    hp_u32 at = unused;

    HP_ASSERT(at < MAX_ITEMS);
    unused = items[at].next;
    items[at] = (struct item){place, release_ns, HP_NONE};
    if (queue->first == HP_NONE)
        queue->first = at;
    else
        items[queue->last].next = at;
    queue->last = at;
}

const struct item *flows_oldest(hp_u32 task) {
    return &items[queues[task].first];
}

void flows_drop_oldest(hp_u32 task) {
    hp_u32 at = queues[task].first;

    queues[task].first = items[at].next;
    items[at].next = unused;
    unused = at;
}

/* The wire to a domain, to which there is one. */
static const struct end *end_to(hp_u32 domain) {
    hp_u32 i = 0;

    while (guest.arguments.wire[i].domain != domain)
        i++;
    return &ends[i];
}

_Noreturn static void refuse_message(void) {
    print("executive: a wire is full\n");
    stop();
}

hp_u32 flows_leaves(hp_u64 place) {
    const struct flow *flow = flow_of(place);
    hp_u32 hop = place_hop(place) + 1u;

    return hop < flow->hops && !is_here(flow, hop);
}

hp_u32 flows_pass_on(hp_u32 vcpu, hp_u64 place, hp_u64 ticks, hp_u64 now_ns) {
    const struct flow *flow = flow_of(place);
    hp_u32 hop = place_hop(place) + 1u;
    hp_u32 has_left = hop == flow->hops;
    const struct end *end;

    place = place_next(place);
    if (is_here(flow, has_left ? 0 : hop)) {
        if (has_left)
            leave(place);
        else
            reach(vcpu, place, now_ns);
        return 0;
    }
    end = end_to(hop_of(flow, has_left ? 0 : hop)->domain);
    if (!wire_put(end->out, end->room, (struct message){place, ticks}))
        refuse_message();
    return has_left ? 0 : end->port;
}
