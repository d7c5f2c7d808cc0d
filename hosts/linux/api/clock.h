/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clock of tasks, CLOCK_MONOTONIC: apart from all else, so that tests have one of their own.
 */
#ifndef HYPERPERIOD_RT_CLOCK_H
#define HYPERPERIOD_RT_CLOCK_H

#include <stdint.h>

uint64_t rt_clock_ns(void);

/* Returns at this instant or later; signals do not end the wait. */
void rt_clock_wait_ns(uint64_t until_ns);

#endif
