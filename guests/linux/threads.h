/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the Linux guest share. */
#ifndef GUESTS_LINUX_THREADS_H
#define GUESTS_LINUX_THREADS_H

#include "guests/executive/arguments.h"

/* Says on the console what is wrong, and stops. */
_Noreturn void give_up(const char *what);

/* What the hypervisor has noted where the ring is to be: the system counter is so far ahead of the
 * one that can be read here. */
struct ring_memory {
    void *start;
    hp_u64 bytes;
    hp_u64 ahead_ticks;
};

/* Makes a thread of each task, and writes the ring up to the horizon. */
_Noreturn void run_threads(const struct arguments *told, struct ring_memory memory);

#endif /* GUESTS_LINUX_THREADS_H */
