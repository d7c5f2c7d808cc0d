// SPDX-License-Identifier: BSD-2-Clause
#include "clock.h"

#include <errno.h>
#include <time.h>

#define NS_PER_S 1000000000ull

uint64_t rt_clock_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void rt_clock_wait_ns(uint64_t until_ns) {
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / NS_PER_S),
        .tv_nsec = (long)(until_ns % NS_PER_S),
    };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}
