// SPDX-License-Identifier: BSD-2-Clause
//
// Items between the hops of their flows.
//
// A source (sources.h) belongs to the domain of the first hop, which is woken for it by its timer
// like for any release. Every item that leaves is told to it, if need be through the wire of the
// last hop's domain. Wires and lists have room for all that can be on their way, and are never
// full.
//
// Between domains an item is a message in a wire and an event that says to look. Whoever looks has
// taken the event before, so that what is written later brings another one. What comes by a card is
// a message in a frame and an interrupt, and the same from there on. Messages, sources and
// the releases of other tasks are handled in the order of their instants: a late look changes
// nothing. That an item left is an event for clients only: any other source looks when it releases
// the next one.

#include "guests/executive/flows.h"

#include "guests/board/card.h"
#include "guests/executive/guest.h"
#include "guests/executive/sources.h"
#include "guests/executive/wire.h"

struct queue {
    hp_u32 first; /* HP_NONE: empty */
    hp_u32 last;
    hp_u32 count;
};

#define CARDS MAX_WIRES /* as the next end: the first of them */

struct end {
    hp_u32 port;
    hp_u64 room;
    struct wire_ring *in;
    struct wire_ring *out;
};

static struct sources sources;
static struct queue queues[MAX_TASKS];
static struct item items[MAX_ITEMS];
static hp_u32 unused; /* the first item that is nowhere; the others follow */
static struct end ends[MAX_WIRES];
static hp_u32 next_end; /* whose message is what happens next; HP_NONE: a source's release */
static struct {
    hp_u64 received_ns[CARD_ROOM]; /* when the latest of its items were */
    hp_u32 received;
} cards[MAX_CARDS];
static hp_u32 filled; /* a bit per card: it has interrupted and was not found empty since */

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

    sources_init(&sources, told, HP_NONE);
    for (hp_u32 i = 0; i < told->tasks; i++)
        queues[i].first = HP_NONE;
    if (told->flows == 0)
        return;
    for (hp_u32 i = 0; i < MAX_ITEMS; i++)
        items[i].next = i + 1u;
    for (hp_u32 i = 0; i < told->wires; i++)
        init_end(&ends[i], &told->wire[i]);
}

/* The cards whose interrupts were taken, a bit each. */
static hp_u32 interrupting_cards(void) {
    hp_u64 devices = take_devices();
    hp_u32 found = 0;

    for (hp_u32 i = 0; devices != 0 && i < MAX_CARDS; i++) {
        hp_u64 interrupt = guest.arguments.card[i].interrupt;

        if (interrupt != 0 && (devices >> interrupt % 64u & 1u) != 0)
            found |= 1u << i;
    }
    return found;
}

/* When the oldest frame came, or what else happens next if that is earlier. On its own, so that
 * only who has cards saves registers for it: this is on the way of every wake-up. */
__attribute__((noinline)) static hp_u64 next_with_cards(hp_u64 next_ns) {
    filled |= interrupting_cards();
    for (hp_u32 left = filled; left != 0; left &= left - 1u) {
        hp_u32 i = (hp_u32)__builtin_ctz(left);
        const struct message *frame = (const struct message *)card_look(i);

        if (frame == 0)
            filled &= ~(1u << i);
        if (frame == 0 || frame->ns > next_ns)
            continue;
        next_ns = frame->ns;
        next_end = CARDS + i;
    }
    return next_ns;
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
    return guest.arguments.cards > 0 ? next_with_cards(next_ns) : next_ns;
}

hp_u64 flows_next_message_ns(void) {
    hp_u64 next_ns = flows_next_ns();

    return next_end == HP_NONE ? HP_NEVER : next_ns;
}

hp_u64 flows_next_release_ns(void) {
    return sources_next_ns(&sources);
}

hp_u32 flows_release(hp_u32 index, hp_u64 *release_ns, hp_u32 *task) {
    hp_u32 open = sources.releases.count, is_open = index < open, flow;
    const struct heap *heap = is_open ? &sources.releases : &sources.sending;

    if (!is_open)
        index -= open;
    if (index >= heap->count)
        return 0;
    flow = heap->entry[index].task;
    if (!is_open)
        flow = sources.client[flow].flow;
    *release_ns = heap->entry[index].key;
    *task = hop_of(&guest.arguments.flow[flow], 0)->task;
    return 1;
}

static void reach(hp_u32 vcpu, hp_u64 place, hp_u64 release_ns) {
    executive_reach(vcpu, hop_of(flow_of(place), place_hop(place))->task, place, release_ns);
}

/* Whether the ring of the card, where items wait that came by it, had room for one more then. A
 * frame may be seen late: what has been received since was still there. */
static hp_u32 ring_has_room(hp_u64 place, hp_u64 release_ns) {
    const struct flow *flow = flow_of(place);
    hp_u32 card = flow->comes, since = 0;

    if (card == HP_NONE)
        return 1;
    while (since < CARD_ROOM
           && cards[card].received_ns[(cards[card].received - since - 1u) % CARD_ROOM] > release_ns)
        since++;
    return queues[hop_of(flow, 0)->task].count + since < guest.arguments.card[card].ring;
}

/* An item comes to its first hop, if there is room for it. A drop names that task if it is the
 * ring that has none. */
static void come_in(hp_u32 vcpu, hp_u64 place, hp_u64 release_ns) {
    hp_u32 has_room = ring_has_room(place, release_ns);

    if (has_room && sources_admit(&sources, place_flow(place)))
        reach(vcpu, place, release_ns);
    else
        put(HP_RECORD_DROP, clock_ticks(&guest.clock, release_ns), HP_RECORD_NONE,
            has_room ? HP_RECORD_NONE : hop_of(flow_of(place), 0)->task, 0, place);
}

/* The next item of a source here comes. */
static void come(hp_u32 vcpu) {
    hp_u64 release_ns = sources_next_ns(&sources);

    come_in(vcpu, sources_release(&sources), release_ns);
}

_Noreturn static void refuse_message(const char *what) {
    print("executive: ");
    print(what);
    print("\n");
    stop();
}

/* What another domain writes is looked at before it is used. */
static hp_u32 is_for_us(hp_u64 place) {
    hp_u32 hop = place_hop(place);

    if (place_flow(place) >= MAX_FLOWS || hop == 0 || hop > flow_of(place)->hops)
        return 0;
    if (hop < flow_of(place)->hops)
        return is_here(flow_of(place), hop);
    return is_here(flow_of(place), 0) && sources_await(&sources, place_flow(place));
}

/* So is what another machine sends. */
static void come_by_card(hp_u32 vcpu, hp_u32 card) {
    const struct message message = *(const struct message *)card_look(card);
    hp_u32 flow = place_flow(message.place);

    card_drop(card);
    if (flow >= MAX_FLOWS || place_hop(message.place) > 0
        || guest.arguments.flow[flow].comes != card || !is_here(flow_of(message.place), 0))
        refuse_message("the card brings what is not for this domain");
    come_in(vcpu, message.place, message.ns);
}

void flows_happen(hp_u32 vcpu) {
    struct message message;
    hp_u64 came_ns;

    if (next_end == HP_NONE) {
        come(vcpu);
        return;
    }
    if (next_end >= CARDS) {
        come_by_card(vcpu, next_end - CARDS);
        return;
    }
    message = wire_take(ends[next_end].in, ends[next_end].room);
    if (!is_for_us(message.place))
        refuse_message("a wire brings what is not for this domain");
    came_ns = clock_ns(&guest.clock, message.ticks);
    if (place_hop(message.place) == flow_of(message.place)->hops)
        sources_left(&sources, place_flow(message.place), came_ns);
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
    queue->count++;
}

const struct item *flows_oldest(hp_u32 task) {
    return &items[queues[task].first];
}

void flows_drop_oldest(hp_u32 task, hp_u64 now_ns) {
    hp_u32 at = queues[task].first, card = flow_of(items[at].place)->comes;

    if (card != HP_NONE && place_hop(items[at].place) == 0)
        cards[card].received_ns[cards[card].received++ % CARD_ROOM] = now_ns;
    queues[task].count--;
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
    if (has_left && flow->goes != HP_NONE
        && !card_send(flow->goes, &(struct message){place, {ticks}}))
        refuse_message("the card takes no more");
    if (is_here(flow, has_left ? 0 : hop)) {
        if (has_left)
            sources_left(&sources, place_flow(place), now_ns);
        else
            reach(vcpu, place, now_ns);
        return 0;
    }
    end = end_to(hop_of(flow, has_left ? 0 : hop)->domain);
    if (!wire_put(end->out, end->room, (struct message){place, {ticks}}))
        refuse_message("a wire is full");
    return has_left && flow->clients == 0 ? 0 : end->port;
}
