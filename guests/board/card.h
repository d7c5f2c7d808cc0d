/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network cards that a guest has for itself, by number: frames of a fixed size go out and come in.
 *
 * Each is one of virtio's (version 1, on memory-mapped registers), whose registers and interrupt
 * the hypervisor gave to the guest. A card reads and writes the machine's memory by itself and
 * knows nothing of what a guest calls its addresses; so the guest is told where its memory is.
 */
#ifndef GUESTS_CARD_H
#define GUESTS_CARD_H

#include "core/env.h"

#define CARD_ETHER_TYPE 0xb588u /* for experiments (IEEE 802), in the order of the wire */
#define CARD_PAD 6u             /* bytes of a frame before what it carries, which are aligned */
#define CARD_BYTES 16u          /* what it carries of ours */
#define CARD_ROOM 256u          /* frames in each direction, a power of two */
#define MAX_CARDS 8u

/* The registers at `address`; for the card the guest's memory is `shift` further on. Whether it is
 * such a card and takes what is asked of it. */
hp_u32 card_init(hp_u32 card, hp_u64 address, hp_u64 shift);

/* Sends a frame; 0 if so many are under way that there is no room. */
hp_u32 card_send(hp_u32 card, const void *bytes);
/* What the oldest frame that came carries, which stays where it is; or a null pointer, and from
 * then on the next one interrupts. */
const void *card_look(hp_u32 card);
/* Gives the place of the oldest frame, of which there is one, back to the card. */
void card_drop(hp_u32 card);

#endif /* GUESTS_CARD_H */
