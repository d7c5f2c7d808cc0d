// SPDX-License-Identifier: BSD-2-Clause
//
// A card: two queues, one of frames that come and one of frames that go. A queue is a table of
// buffers, a ring in which the guest says which of them the card may use, and a ring in which the
// card says which it has used. Numbers of the specification are those of virtio 1.2, sections 2.7
// (queues), 4.2 (registers) and 5.1 (network cards).

#include "guests/board/card.h"

#define MAGIC 0x000u
#define VERSION 0x004u
#define DEVICE 0x008u
#define DRIVER_FEATURES 0x020u
#define DRIVER_FEATURES_WORD 0x024u
#define QUEUE 0x030u
#define QUEUE_MOST 0x034u
#define QUEUE_SIZE 0x038u
#define QUEUE_READY 0x044u
#define QUEUE_NOTIFY 0x050u
#define INTERRUPT_STATUS 0x060u
#define INTERRUPT_ACKNOWLEDGE 0x064u
#define STATUS 0x070u
#define QUEUE_TABLE 0x080u
#define QUEUE_OFFERED 0x090u
#define QUEUE_USED 0x0a0u

#define IS_VIRTIO 0x74726976u
#define IS_CARD 1u
/* Features, in the second word of them: version 1, and addresses are those of the machine. */
#define VERSION_1 1u
#define ACCESS_PLATFORM 2u

#define FOUND 1u
#define DRIVEN 2u
#define RUNS 4u
#define AGREED 8u

#define COMES 0u
#define GOES 1u

#define CARD_WRITES 2u /* a buffer's flag */
#define SILENT 1u      /* a ring's flag: who reads it needs no notice */

/* Before the frame itself is what the card is told of it: nothing. */
struct frame {
    hp_u8 header[12];
    hp_u8 to[6], from[6];
    unsigned short type;
    hp_u8 before[CARD_PAD];
    hp_u8 carried[CARD_BYTES];
    hp_u8 behind[24]; /* no frame is shorter than 60 bytes */
} __attribute__((aligned(8)));
_Static_assert(__builtin_offsetof(struct frame, carried) % 8u == 0, "struct message is read there");

struct queue_of_card {
    struct {
        hp_u64 address;
        hp_u32 length;
        unsigned short flags, next;
    } table[CARD_ROOM];
    struct {
        unsigned short flags, count, entry[CARD_ROOM];
    } offered;
    struct {
        unsigned short flags, count;
        struct {
            hp_u32 entry, length;
        } entry[CARD_ROOM];
    } used;
    struct frame frame[CARD_ROOM];
    unsigned short seen; /* of what was used */
} __attribute__((aligned(16)));

static struct queue_of_card queues[MAX_CARDS][2];
static hp_u64 registers[MAX_CARDS];

static void set(hp_u32 card, hp_u64 at, hp_u32 value) {
    *(volatile hp_u32 *)(registers[card] + at) = value;
}

static hp_u32 get(hp_u32 card, hp_u64 at) {
    return *(volatile hp_u32 *)(registers[card] + at);
}

static void set_address(hp_u32 card, hp_u64 at, const void *address, hp_u64 shift) {
    hp_u64 place = (hp_u64)address + shift;

    set(card, at, (hp_u32)place);
    set(card, at + 4u, (hp_u32)(place >> 32));
}

/* What was written before is seen by the card before what is written after. */
static void in_order(void) {
    __asm__ volatile("dmb osh" : : : "memory");
}

static void offer_frame(hp_u32 card, hp_u32 number, hp_u32 entry) {
    struct queue_of_card *queue = &queues[card][number];

    queue->offered.entry[queue->offered.count % CARD_ROOM] = (unsigned short)entry;
    in_order();
    queue->offered.count++;
    in_order();
    if ((*(volatile unsigned short *)&queue->used.flags & SILENT) == 0)
        set(card, QUEUE_NOTIFY, number);
}

static hp_u32 used_count(const struct queue_of_card *queue) {
    hp_u32 count = *(const volatile unsigned short *)&queue->used.count;

    in_order();
    return count;
}

static hp_u32 init_queue(hp_u32 card, hp_u32 number, hp_u64 shift) {
    struct queue_of_card *queue = &queues[card][number];

    set(card, QUEUE, number);
    if (get(card, QUEUE_MOST) < CARD_ROOM)
        return 0;
    for (hp_u32 i = 0; i < CARD_ROOM; i++) {
        queue->table[i].address = (hp_u64)&queue->frame[i] + shift;
        queue->table[i].length = sizeof queue->frame[i];
        queue->table[i].flags = number == COMES ? CARD_WRITES : 0;
    }
    set(card, QUEUE_SIZE, CARD_ROOM);
    set_address(card, QUEUE_TABLE, queue->table, shift);
    set_address(card, QUEUE_OFFERED, &queue->offered, shift);
    set_address(card, QUEUE_USED, &queue->used, shift);
    set(card, QUEUE_READY, 1);
    return 1;
}

hp_u32 card_init(hp_u32 card, hp_u64 address, hp_u64 shift) {
    registers[card] = address;
    if (get(card, MAGIC) != IS_VIRTIO || get(card, VERSION) != 2u || get(card, DEVICE) != IS_CARD)
        return 0;
    set(card, STATUS, 0);
    set(card, STATUS, FOUND | DRIVEN);
    set(card, DRIVER_FEATURES_WORD, 1);
    set(card, DRIVER_FEATURES, VERSION_1 | ACCESS_PLATFORM);
    set(card, STATUS, FOUND | DRIVEN | AGREED);
    if ((get(card, STATUS) & AGREED) == 0 || !init_queue(card, COMES, shift)
        || !init_queue(card, GOES, shift))
        return 0;
    queues[card][GOES].offered.flags = SILENT;
    set(card, STATUS, FOUND | DRIVEN | AGREED | RUNS);
    for (hp_u32 i = 0; i < CARD_ROOM; i++)
        offer_frame(card, COMES, i);
    return 1;
}

hp_u32 card_send(hp_u32 card, const void *bytes) {
    struct queue_of_card *queue = &queues[card][GOES];
    hp_u32 entry = queue->offered.count % CARD_ROOM;
    struct frame *frame = &queue->frame[entry];

    if ((unsigned short)(queue->offered.count - used_count(queue)) >= CARD_ROOM)
        return 0;
    for (hp_u32 i = 0; i < sizeof frame->to; i++)
        frame->to[i] = 0xff;
    frame->from[0] = 2; /* an address that nobody else gave out */
    frame->type = CARD_ETHER_TYPE;
    for (hp_u32 i = 0; i < CARD_BYTES; i++)
        frame->carried[i] = ((const hp_u8 *)bytes)[i];
    offer_frame(card, GOES, entry);
    return 1;
}

/* Whether there are frames. The line is up from the first one on until it is acknowledged; one that
 * came before that is here, one that comes later raises it again. */
static hp_u32 has_frames(hp_u32 card) {
    const struct queue_of_card *queue = &queues[card][COMES];
    hp_u32 status;

    if (used_count(queue) != queue->seen)
        return 1;
    status = get(card, INTERRUPT_STATUS);
    if (status == 0)
        return 0;
    set(card, INTERRUPT_ACKNOWLEDGE, status);
    return used_count(queue) != queue->seen;
}

const void *card_look(hp_u32 card) {
    struct queue_of_card *queue = &queues[card][COMES];

    if (!has_frames(card))
        return 0;
    return queue->frame[queue->used.entry[queue->seen % CARD_ROOM].entry].carried;
}

void card_drop(hp_u32 card) {
    struct queue_of_card *queue = &queues[card][COMES];
    hp_u32 entry = queue->used.entry[queue->seen % CARD_ROOM].entry;

    queue->seen++;
    offer_frame(card, COMES, entry);
}
