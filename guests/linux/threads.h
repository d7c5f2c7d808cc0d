/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files share that run the tasks of a domain as threads of Linux. There are two programs
 * of them: the only one of a VM under Xen (init.c, classes.c), and a process on the Linux host
 * (process.c), whose servers are the domain's vcpus.
 */
#ifndef GUESTS_LINUX_THREADS_H
#define GUESTS_LINUX_THREADS_H

#include <time.h>

#include "guests/executive/arguments.h"
#include "guests/executive/clock.h"

/* Where the ring is to be, and how far the system counter is ahead of the one that can be read
 * here. */
struct ring_memory {
    void *start;
    hp_u64 bytes;
    hp_u64 ahead_ticks;
};

/* Makes a thread of each task, and writes the ring up to the horizon. */
void run_threads(const struct arguments *told, struct ring_memory memory);

/* The system counter, and nanoseconds since the epoch; the first is right before the epoch, too. */
extern struct clock clock_of_all;
hp_u64 counter(void);
/* What Linux's monotonic clock says when the counter has come to `ticks`. */
struct timespec linux_time(hp_u64 ticks);
/* How far the counter was when that clock said so; 0 of times before there was a domain. */
hp_u64 ticks_at(hp_u64 linux_ns);
/* Writes a record into the ring. */
void put(hp_u8 kind, hp_u64 ticks, hp_u32 vcpu, hp_u32 task, hp_u64 job, hp_u64 value);

/* hops.c: makes the ways on which items come to the hops of this domain and go on from there, in a
 * folder that all domains have. */
void hops_init(const struct arguments *told, const char *folder);
/* Waits for the next item at a task; it got there at that instant, which may be long ago. */
struct message hops_next(hp_u32 task);
/* An item is done at its place: it goes on to the next hop, or its source is told that it left. */
void hops_pass_on(hp_u64 place, hp_u64 ticks);

/* words.c: reads what is told in a file; what is wrong there is the end. */
void read_words(const char *path, struct arguments *told);

/* What sched_setattr takes; not every C library has it. */
struct attributes {
    hp_u32 size, policy;
    hp_u64 flags;
    int nice;
    hp_u32 priority;
    hp_u64 runtime_ns, deadline_ns, period_ns;
};

/* What each of the programs has of its own: */

/* Says what is wrong, and stops. */
_Noreturn void give_up(const char *what);

/* How many threads take the jobs of a task in turns, at most TURNS_MOST. With several, a job that
 * is released before the one before it has finished wakes up for itself, and has its own place. */
#define TURNS_MOST 4u
extern hp_u32 turns;

/* The threads of a task: one where a release hangs on the completion before it. */
static inline hp_u32 turns_of(const struct task *task) {
    return task_releases_ahead(task) ? turns : 1u;
}

/* The threads of all tasks. */
static inline hp_u32 threads_of(const struct arguments *told) {
    hp_u32 count = 0;

    for (hp_u32 number = 0; number < told->tasks; number++)
        count += turns_of(&told->task[number]);
    return count;
}

/* Measures how long a card's interrupts wait for the calling thread (device.c), if there is one. */
_Noreturn void device_measure(void);
/* device.c: has the kernel drive that card, before there are threads. */
void device_open(void);

/* Has the calling thread scheduled as its task says. */
void take_place(const struct arguments *told, const struct task *task);

/* The vcpu that executes the calling thread: a number that is kept up to date. */
const volatile hp_u32 *vcpu_here(void);

#endif /* GUESTS_LINUX_THREADS_H */
