// SPDX-License-Identifier: BSD-2-Clause
//
// The measurement of a Linux guest that has a network card: how long after the card's line rose
// Linux's handler of that interrupt began, and how long until a thread had the frame.
//
// A frame of the machine outside (guests/executive/outside.c) says when it was sent, which is when
// the line rises. The thread waits for it at a packet socket. When the handler began says the
// kernel's tracepoint irq_handler_entry, which is in interrupt context with every kernel, also
// where the driver's own part is a thread; the kernel notes it in a ring of its perf events.
//
// Each frame is two RESPONSEs: that of the handler has no task, that of the thread is of task 0. A
// frame that the driver took before its own interrupt was handled has the second one only.

#include "guests/linux/threads.h"

#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/record.h"

#define ENTRY_ID "/sys/kernel/debug/tracing/events/irq/irq_handler_entry/id"
#define ENTRIES_BYTES 65536u /* a power of two; a VM may be away for a thousand frames */
#define NETWORK "eth0"

static int frames;
static struct perf_event_mmap_page *entries;

/* The modules are numbered in the order in which they need one another. */
static void load_modules(void) {
    char path[32];
    int module;

    for (int number = 0;; number++) {
        snprintf(path, sizeof path, "/modules/%d", number);
        module = open(path, O_RDONLY);
        if (module < 0)
            return;
        if (syscall(SYS_finit_module, module, "", 0) != 0)
            give_up("the driver of the card cannot be loaded");
        close(module);
    }
}

static void open_frames(void) {
    struct ifreq network = {.ifr_name = NETWORK, .ifr_flags = IFF_UP};
    struct sockaddr_ll from = {.sll_family = AF_PACKET, .sll_protocol = CARD_ETHER_TYPE};

    frames = socket(AF_PACKET, SOCK_DGRAM, CARD_ETHER_TYPE);
    from.sll_ifindex = (int)if_nametoindex(NETWORK);
    if (frames < 0 || from.sll_ifindex == 0 || ioctl(frames, SIOCSIFFLAGS, &network) != 0
        || bind(frames, (const struct sockaddr *)&from, sizeof from) != 0)
        give_up("there is no card");
}

static hp_u64 entry_id(void) {
    char text[16] = "";
    int file = open(ENTRY_ID, O_RDONLY);

    if (file < 0 || read(file, text, sizeof text - 1u) <= 0)
        give_up("the kernel does not say when handlers begin");
    close(file);
    return strtoull(text, 0, 10);
}

static void open_entries(void) {
    struct perf_event_attr wanted = {.size = sizeof wanted,
                                     .type = PERF_TYPE_TRACEPOINT,
                                     .config = entry_id(),
                                     .sample_period = 1,
                                     .sample_type = PERF_SAMPLE_TIME,
                                     .use_clockid = 1,
                                     .clockid = CLOCK_MONOTONIC,
                                     .watermark = 1, /* nobody waits for them */
                                     .wakeup_watermark = ENTRIES_BYTES};
    int event = (int)syscall(SYS_perf_event_open, &wanted, -1, 0, -1, 0);
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE) + ENTRIES_BYTES;

    if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_FILTER, "name ~ \"virtio*\"") != 0)
        give_up("the kernel does not note when handlers begin");
    entries = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (entries == MAP_FAILED)
        give_up("what the kernel notes of handlers cannot be read");
}

void device_open(void) {
    load_modules();
    open_frames();
}

/* When the first handler began from `due` on, or 0: none yet. What began before is forgotten. */
static hp_u64 entry_from(hp_u64 due) {
    const char *data = (const char *)entries + entries->data_offset;
    hp_u64 head = __atomic_load_n(&entries->data_head, __ATOMIC_ACQUIRE);

    while (entries->data_tail < head) {
        hp_u64 at = entries->data_tail;
        const struct perf_event_header *header = (const void *)&data[at % ENTRIES_BYTES];
        const hp_u64 *ns = (const void *)&data[(at + sizeof *header) % ENTRIES_BYTES];

        if (header->type == PERF_RECORD_SAMPLE && ticks_at(*ns) >= due)
            return ticks_at(*ns);
        __atomic_store_n(&entries->data_tail, at + header->size, __ATOMIC_RELEASE);
    }
    return 0;
}

_Noreturn void device_measure(void) {
    struct __attribute__((packed)) {
        hp_u8 before[CARD_PAD];
        struct message message;
    } frame;

    open_entries(); /* what is noted before the clocks are known has no time */
    while (1) {
        ssize_t bytes = recv(frames, &frame, sizeof frame, 0);
        hp_u64 now = counter(), due, entered, number = place_number(frame.message.place);

        if (bytes != sizeof frame)
            give_up("a frame is too short");
        due = clock_ticks(&clock_of_all, frame.message.ns);
        entered = entry_from(due);
        if (entered != 0)
            put(HP_RECORD_RESPONSE, due, 0, HP_RECORD_NONE, number, entered - due);
        put(HP_RECORD_RESPONSE, due, 0, 0, number, now - due);
    }
}
