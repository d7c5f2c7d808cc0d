// SPDX-License-Identifier: BSD-2-Clause
/*
 * A thread sleeps until the grant of its cpu ends. It is of the class SCHED_FIFO, for which alone
 * PREEMPT_RT lets a timer wake a thread in the interrupt itself, and of the lowest priority there:
 * while any other thread of that class runs the cpu is nobody's, and there is no grant to end. When
 * the kernel makes a grant that ends before that it rings the thread's bell.
 */
#include "enders.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "hosts/linux/shared.h"

#define LOWEST 1
#define STACK_BYTES 65536

static struct ender {
    pthread_t thread;
    uint32_t cpu;
    int program, bell;
    struct ring_buffer *ring;
} enders[CPU_LIMIT];
static uint32_t ender_count;
static int ending = -1; /* what they wait for besides: it can be read when they are to end */

bool enders_are_needed(void) {
    struct utsname kernel;

    return uname(&kernel) == 0 && strstr(kernel.version, "PREEMPT_RT") != NULL;
}

static bool bind_to(uint32_t cpu) {
    cpu_set_t own;

    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    return sched_setaffinity(0, sizeof(own), &own) == 0;
}

/* When the grant of the cpu ends, which is made if the last one is over; or 0. */
static uint64_t next_end(const struct ender *ender) {
    struct lx_end end = {.cpu = ender->cpu};
    LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &end, .ctx_size_in = sizeof(end));

    return bpf_prog_test_run_opts(ender->program, &options) == 0 ? end.next_ns : 0;
}

/* Sleeps until then, or until the bell rings. Returns whether the thread goes on. */
static bool sleep_until(const struct ender *ender, uint64_t end_ns) {
    struct pollfd files[] = {{.fd = ender->bell, .events = POLLIN},
                             {.fd = ending, .events = POLLIN}};
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    const uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
    const struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_S),
                                  .tv_nsec = (long)(left_ns % NS_PER_S)};

    ppoll(files, 2, end_ns != 0 ? &left : NULL, NULL);
    ring_buffer__consume(ender->ring);
    return files[1].revents == 0;
}

/* A cpu that is offline takes no thread: then this one is on another, bound to none, and goes back
 * when it can. Threads of the same priority that the same interrupt has woken, as that of the
 * kernel's timers, come first: who is awake at the end of a grant is to be so when the next one is
 * made. */
static void *end_grants(void *argument) {
    const struct ender *ender = argument;
    bool is_bound = false;

    do {
        sched_yield();
        if (!is_bound || sched_getcpu() != (int)ender->cpu)
            is_bound = bind_to(ender->cpu);
    } while (sleep_until(ender, next_end(ender)));
    return NULL;
}

static int nothing_to_take(void *context, void *data, size_t bytes) {
    (void)context;
    (void)data;
    (void)bytes;
    return 0;
}

static int start(struct ender *ender, int bells) {
    const struct sched_param lowest = {.sched_priority = LOWEST};
    pthread_attr_t attributes;

    ender->bell = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "bell", 0, 0, LX_BELL_BYTES, NULL);
    if (ender->bell < 0)
        return errno;
    ender->ring = ring_buffer__new(ender->bell, nothing_to_take, NULL, NULL);
    if (ender->ring == NULL || bpf_map_update_elem(bells, &ender->cpu, &ender->bell, 0) != 0)
        return errno;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &lowest);
    const int error = pthread_create(&ender->thread, &attributes, end_grants, ender);
    pthread_attr_destroy(&attributes);
    return error;
}

static void forget(const struct ender *ender) {
    ring_buffer__free(ender->ring);
    if (ender->bell >= 0)
        close(ender->bell);
}

const char *enders_start(const struct bpf_object *object, const struct system *system) {
    static char why[256];
    const int bells = bpf_object__find_map_fd_by_name(object, "bells");
    const struct bpf_program *program = bpf_object__find_program_by_name(object, ENDER);

    ending = eventfd(0, EFD_CLOEXEC);
    for (uint32_t cpu = 0; cpu < CPU_LIMIT; cpu++) {
        struct ender *ender = &enders[ender_count];
        if (!(system->cpus >> cpu & 1))
            continue;
        *ender = (struct ender){.cpu = cpu, .program = bpf_program__fd(program), .bell = -1};
        const int error = start(ender, bells);
        if (error == 0) {
            ender_count++;
            continue;
        }
        forget(ender);
        snprintf(why, sizeof(why),
                 "no thread that ends the grants of cpu %u, as PREEMPT_RT needs "
                 "(%s); allowed: LimitRTPRIO=1 or CAP_SYS_NICE",
                 cpu, strerror(error));
        return why;
    }
    return NULL;
}

void enders_stop(void) {
    if (ending < 0)
        return;
    eventfd_write(ending, 1);
    for (; ender_count > 0; ender_count--) {
        const struct ender *ender = &enders[ender_count - 1];

        pthread_join(ender->thread, NULL);
        forget(ender);
    }
    close(ending);
    ending = -1;
}
