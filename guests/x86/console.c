// SPDX-License-Identifier: BSD-2-Clause
/*
 * A line is put together first and handed to dom0 whole. A line that finds no room in the ring is
 * lost: measuring must not wait for dom0.
 */
#include "console.h"

#include <xen/io/console.h>

#include "xen.h"

#define LINE_BYTES 512

static struct xencons_interface *ring;
static evtchn_port_t port;
static char line[LINE_BYTES];
static unsigned int length;

void open_console(const struct start_info *info) {
    ring = page_at(info->console.domU.mfn);
    port = info->console.domU.evtchn;
}

void put_text(const char *text) {
    while (*text && length < LINE_BYTES)
        line[length++] = *text++;
}

void put_value(const char *name, uint64_t value) {
    char digits[24];
    unsigned int at = sizeof(digits) - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put_text(" ");
    put_text(name);
    put_text("=");
    put_text(digits + at);
}

void end_line(void) {
    struct evtchn_send send = {.port = port};
    XENCONS_RING_IDX from = ring->out_prod;
    put_text("\n");
    if (sizeof(ring->out) - (from - __atomic_load_n(&ring->out_cons, __ATOMIC_ACQUIRE)) >= length) {
        for (unsigned int i = 0; i < length; i++)
            ring->out[MASK_XENCONS_IDX(from + i, ring->out)] = line[i];
        __atomic_store_n(&ring->out_prod, from + length, __ATOMIC_RELEASE);
        event_op(EVTCHNOP_send, &send);
    }
    length = 0;
}
