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
// The clients of a closed source send an item each, wait until it has left, and think. Items of a
// flow leave in the order in which they came, so who waits is a list.
//
// Between domains an item is a message in a wire and an event that says to look. Whoever looks has
// taken the event before, so that what is written later brings another one. Messages, sources and
// the releases of other tasks are handled in the order of their instants: a late look changes
// nothing. That an item left is an event for clients only: any other source looks when it releases
// the next one.

#include "guests/executive/flows.h"

#include "guests/executive/guest.h"
#include "guests/executive/wire.h"

struct queue {
    hp_u32 first; /* HP_NONE: empty */
    hp_u32 last;
};

struct source {
    struct job next;      /* of an open one */
    struct queue waiting; /* clients whose item is on its way */
    hp_u64 items;         /* that came */
    hp_u64 under_way;     /* that have not left yet */
};

struct client {
    hp_u32 flow;
    hp_u32 number;   /* in its flow */
    hp_u32 thoughts; /* it has begun */
    hp_u32 next;     /* behind it among those that wait */
};

struct end {
    hp_u32 port;
    hp_u64 room;
    struct wire_ring *in;
    struct wire_ring *out;
};

static struct source sources[MAX_FLOWS];
static struct client clients[MAX_CLIENTS];
static struct heap releases; /* of open sources, by flow */
static struct heap sending;  /* when clients that think will send */
static struct queue queues[MAX_TASKS];
static struct item items[MAX_ITEMS];
static hp_u32 unused; /* the first item that is nowhere; the others follow */
static struct end ends[MAX_WIRES];
static hp_u32 next_end; /* whose message is what happens next; HP_NONE: a source's release */

static void think(hp_u32 at, hp_u64 now_ns) {
    struct client *client = &clients[at];
    hp_u64 think_for_ns = think_ns(&guest.arguments.flow[client->flow], guest.arguments.seed,
                                   client->flow, client->number, client->thoughts++);

    heap_push(&sending, now_ns + think_for_ns, at);
}

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

/* A source of this domain; `used` clients belong to those before it. Returns how many do then. */
static hp_u32 init_source(hp_u32 number, hp_u32 used) {
    const struct flow *flow = &guest.arguments.flow[number];
    struct source *source = &sources[number];

    if (flow->clients == 0) {
        source->next = task_first_job(&flow->source, source_name(guest.arguments.seed, number));
        heap_push(&releases, source->next.release_ns, number);
    }
    source->waiting.first = HP_NONE;
    for (hp_u32 i = 0; i < flow->clients; i++) {
        clients[used + i] = (struct client){number, i, 0, HP_NONE};
        think(used + i, flow->source.offset_ns);
    }
    return used + (hp_u32)flow->clients;
}

void flows_init(void) {
    const struct arguments *told = &guest.arguments;
    hp_u32 used = 0;

    heap_init(&releases);
    heap_init(&sending);
    for (hp_u32 i = 0; i < MAX_FLOWS; i++) {
        if (told->flow[i].hops > 0 && is_here(&told->flow[i], 0))
            used = init_source(i, used);
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
    hp_u64 next_ns = flows_next_release_ns();

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

hp_u64 flows_next_release_ns(void) {
    return hp_min(heap_key(&releases), heap_key(&sending));
}

hp_u32 flows_release(hp_u32 index, hp_u64 *release_ns, hp_u32 *task) {
    const struct heap *heap = index < releases.count ? &releases : &sending;
    hp_u32 flow;

    if (heap == &sending)
        index -= releases.count;
    if (index >= heap->count)
        return 0;
    flow = heap->entry[index].task;
    if (heap == &sending)
        flow = clients[flow].flow;
    *release_ns = heap->entry[index].key;
    *task = hop_of(&guest.arguments.flow[flow], 0)->task;
    return 1;
}

static void reach(hp_u32 vcpu, hp_u64 place, hp_u64 release_ns) {
    executive_reach(vcpu, hop_of(flow_of(place), place_hop(place))->task, place, release_ns);
}

/* The first client in turn sends its next item. */
static void send(hp_u32 vcpu) {
    struct heap_entry first = sending.entry[0];
    hp_u32 number = clients[first.task].flow;
    struct source *source = &sources[number];

    heap_pop(&sending);
    clients[first.task].next = HP_NONE;
    if (source->waiting.first == HP_NONE)
        source->waiting.first = first.task;
    else
        clients[source->waiting.last].next = first.task;
    source->waiting.last = first.task;
    reach(vcpu, place_of(number, 0, source->items++), first.key);
}

/* The first open source in turn releases its next items. */
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

/* The oldest item of a flow has left. */
static void leave(hp_u64 place, hp_u64 now_ns) {
    struct source *source = &sources[place_flow(place)];
    hp_u32 client = source->waiting.first;

    if (flow_of(place)->clients == 0) {
        source->under_way--;
        return;
    }
    source->waiting.first = clients[client].next;
    think(client, now_ns);
}

_Noreturn static void refuse_message(const char *what) {
    print("executive: ");
    print(what);
    print("\n");
    stop();
}

static hp_u32 has_items_under_way(const struct source *source) {
    return source->under_way > 0 || source->waiting.first != HP_NONE;
}

/* What another domain writes is looked at before it is used. */
static hp_u32 is_for_us(hp_u64 place) {
    hp_u32 hop = place_hop(place);

    if (place_flow(place) >= MAX_FLOWS || hop == 0 || hop > flow_of(place)->hops)
        return 0;
    if (hop < flow_of(place)->hops)
        return is_here(flow_of(place), hop);
    return is_here(flow_of(place), 0) && has_items_under_way(&sources[place_flow(place)]);
}

void flows_happen(hp_u32 vcpu) {
    struct message message;
    hp_u64 came_ns;

    if (next_end == HP_NONE) {
        if (heap_key(&releases) <= heap_key(&sending))
            come(vcpu);
        else
            send(vcpu);
        return;
    }
    message = wire_take(ends[next_end].in, ends[next_end].room);
    if (!is_for_us(message.place))
        refuse_message("a wire brings what is not for this domain");
    came_ns = clock_ns(&guest.clock, message.ticks);
    if (place_hop(message.place) == flow_of(message.place)->hops)
        leave(message.place, came_ns);
    else
        reach(vcpu, message.place, came_ns);
}

void flows_wait(hp_u32 task, hp_u64 place, hp_u64 release_ns) {
    struct queue *queue = &queues[task];
    hp_u32 at = unused;

    if (at == MAX_ITEMS)
        refuse_message("more items are on their way than were to be");
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

hp_u32 flows_leaves(hp_u64 place) {
    const struct flow *flow = flow_of(place);
    hp_u32 hop = place_hop(place) + 1u;

    if (hop < flow->hops)
        return !is_here(flow, hop);
    return flow->clients > 0 && !is_here(flow, 0);
}

hp_u32 flows_pass_on(hp_u32 vcpu, hp_u64 place, hp_u64 ticks, hp_u64 now_ns) {
    const struct flow *flow = flow_of(place);
    hp_u32 hop = place_hop(place) + 1u;
    hp_u32 has_left = hop == flow->hops;
    const struct end *end;

    place = place_next(place);
    if (is_here(flow, has_left ? 0 : hop)) {
        if (has_left)
            leave(place, now_ns);
        else
            reach(vcpu, place, now_ns);
        return 0;
    }
    end = end_to(hop_of(flow, has_left ? 0 : hop)->domain);
    if (!wire_put(end->out, end->room, (struct message){place, ticks}))
        refuse_message("a wire is full");
    return has_left && flow->clients == 0 ? 0 : end->port;
}
