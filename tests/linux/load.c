// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that want the cpu, for tests of the scheduler in Linux.
 *
 *   load hog                  never sleeps
 *   load fifo RUN_US WAIT_US  of the class SCHED_FIFO: runs so long, waits so long, and again
 *   load storm CHILDREN       that many children at a time, each of which runs for a moment
 *   load pin PROCESS CPU      gives a process another affinity
 *   load queues COUNT         fills so many message queues, which a thread of the kernel, bound to
 *                             this cpu, removes when it has ended
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pass_time.h"

#define MOMENT 1500 /* rounds: 600 us */

static uint64_t now_us(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static int fail(const char *what) {
    perror(what);
    return 1;
}

static int fifo(uint64_t run_us, useconds_t wait_us) {
    const struct sched_param first = {.sched_priority = 50};

    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        return fail("sched_setscheduler");
    for (;;) {
        const uint64_t end_us = now_us() + run_us;

        while (now_us() < end_us)
            pass_time(1);
        usleep(wait_us);
    }
}

static int storm(int children) {
    for (;;) {
        const pid_t child = children > 0 ? fork() : -1;

        if (child == 0) {
            pass_time(MOMENT);
            _exit(0);
        }
        if (child > 0)
            children--;
        else if (wait(NULL) > 0)
            children++;
    }
}

static int pin(pid_t process, int cpu) {
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    CPU_SET(cpu, &allowed);
    return sched_setaffinity(process, sizeof(allowed), &allowed) == 0 ? 0 : fail("pin");
}

/* They are of a namespace that goes with the process. */
static int queues(int count) {
    const struct msgbuf empty = {.mtype = 1};

    if (unshare(CLONE_NEWIPC) != 0)
        return fail("unshare");
    for (; count > 0; count--) {
        const int queue = msgget(IPC_PRIVATE, 0600);

        while (msgsnd(queue, &empty, 0, IPC_NOWAIT) == 0)
            ;
        if (errno != EAGAIN)
            return fail("msgsnd");
    }
    return 0;
}

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "hog") == 0)
        for (;;)
            pass_time(1);
    if (count == 4 && strcmp(words[1], "fifo") == 0)
        return fifo(strtoull(words[2], NULL, 10), (useconds_t)strtoul(words[3], NULL, 10));
    if (count == 3 && strcmp(words[1], "storm") == 0)
        return storm(atoi(words[2]));
    if (count == 4 && strcmp(words[1], "pin") == 0)
        return pin(atoi(words[2]), atoi(words[3]));
    if (count == 3 && strcmp(words[1], "queues") == 0)
        return queues(atoi(words[2]));
    fprintf(stderr, "load: found %d words, allowed: hog | fifo | storm | pin | queues\n",
            count - 1);
    return 2;
}
