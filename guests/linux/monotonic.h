/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux's monotonic clock in whole nanoseconds, for programs that act at given instants.
 */
#ifndef GUESTS_LINUX_MONOTONIC_H
#define GUESTS_LINUX_MONOTONIC_H

#include <time.h>

#define NS_PER_SECOND 1000000000ll

static inline struct timespec time_of(long long ns) {
    return (struct timespec){ns / NS_PER_SECOND, ns % NS_PER_SECOND};
}

static inline long long now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static inline void sleep_until(long long at_ns) {
    const struct timespec then = time_of(at_ns);

    while (now_ns() < at_ns)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, 0);
}

#endif
