/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A wire: memory that two domains share, with a ring of messages (flow.h) for each direction.
 *
 * One domain writes into a ring, the other one takes from it, and each has an index of its own that
 * only it writes: a message is complete before the index of the writer says that it is there, and
 * it is read before the index of the reader says that its place is free. Indices count on and are
 * cut to the ring's room, a power of two, where they are used.
 *
 * Both sides start with their own index at 0 before the epoch and use the other's only after it.
 */
#ifndef GUESTS_WIRE_H
#define GUESTS_WIRE_H

#include "guests/executive/flow.h"

#define WIRE_LINE 64u /* bytes between the two indices, so that they are in lines of their own */

struct wire_ring {
    hp_u64 written;
    hp_u64 before_taken[WIRE_LINE / sizeof(hp_u64) - 1u];
    hp_u64 taken;
    hp_u64 before_messages[WIRE_LINE / sizeof(hp_u64) - 1u];
    struct message message[];
};

/* Bytes of one ring with room for so many messages. */
static inline hp_u64 wire_ring_bytes(hp_u64 room) {
    return sizeof(struct wire_ring) + room * sizeof(struct message);
}

/* Writes a message; 0 if there was no room. */
static inline hp_u32 wire_put(struct wire_ring *ring, hp_u64 room, struct message message) {
    hp_u64 written = ring->written;

    if (written - __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE) >= room)
        return 0;
    ring->message[written & (room - 1u)] = message;
    __atomic_store_n(&ring->written, written + 1u, __ATOMIC_RELEASE);
    return 1;
}

/* The oldest message, which stays where it is, or a null pointer. */
static inline const struct message *wire_look(const struct wire_ring *ring, hp_u64 room) {
    hp_u64 taken = ring->taken;

    if (__atomic_load_n(&ring->written, __ATOMIC_ACQUIRE) == taken)
        return 0;
    return &ring->message[taken & (room - 1u)];
}

/* Takes the oldest message, of which there is one. */
static inline struct message wire_take(struct wire_ring *ring, hp_u64 room) {
    hp_u64 taken = ring->taken;
    struct message message = ring->message[taken & (room - 1u)];

    __atomic_store_n(&ring->taken, taken + 1u, __ATOMIC_RELEASE);
    return message;
}

#endif /* GUESTS_WIRE_H */
