/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flows that pass through this domain: their sources, the items that wait at its tasks, and
 * the wires on which they come and go. All of it is called with the executive's lock held.
 */
#ifndef GUESTS_FLOWS_H
#define GUESTS_FLOWS_H

#include "guests/executive/flow.h"
#include "guests/executive/heap.h"

/* An item that waits at a task, or is being worked on there. */
struct item {
    hp_u64 place;
    hp_u64 release_ns;
    hp_u32 next; /* behind it at the same task */
};

void flows_init(void);

/* When the next thing happens: a source releases, or a message says that an item came. */
hp_u64 flows_next_ns(void);
/* Lets it happen; on `vcpu`. */
void flows_happen(hp_u32 vcpu);
/* When the next message is of, if nothing comes before it, or HP_NEVER. */
hp_u64 flows_next_message_ns(void);
/* When sources of this domain release next, as it stands now. */
hp_u64 flows_next_release_ns(void);
/* When each one will, one after the other, and the task at which its items begin; 0: no more. */
hp_u32 flows_release(hp_u32 index, hp_u64 *release_ns, hp_u32 *task);

/* An item has to wait for its turn at a task. */
void flows_wait(hp_u32 task, hp_u64 place, hp_u64 release_ns);
/* The oldest item at a task, where there is one. */
const struct item *flows_oldest(hp_u32 task);
void flows_drop_oldest(hp_u32 task, hp_u64 now_ns);
/* Whether another domain is told when an item is done at this hop. */
hp_u32 flows_leaves(hp_u64 place);
/* An item is done at a hop of this domain: it goes on, or leaves. Returns the port of whoever is
 * to be told, when the lock is free again, or 0. */
hp_u32 flows_pass_on(hp_u32 vcpu, hp_u64 place, hp_u64 ticks, hp_u64 now_ns);

/* What the executive does when an item is at one of its tasks. */
void executive_reach(hp_u32 vcpu, hp_u32 task, hp_u64 place, hp_u64 release_ns);

#endif /* GUESTS_FLOWS_H */
