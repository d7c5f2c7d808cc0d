/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of a pcpu's time servers have been promised: the sum of budget / period, exactly.
 *
 * Periods have 32 bits and need have nothing in common, so the sum of some dozens is no fraction of
 * 64 bits. It is kept as one of as many bits as it takes; nothing is rounded before it is compared.
 */
#ifndef CONTROL_LOAD_H
#define CONTROL_LOAD_H

#include <stdbool.h>
#include <stdint.h>

/* What one server is promised; a period of 0 is best effort, which is promised nothing. */
struct share {
    uint32_t budget_us;
    uint32_t period_us;
};

/* Whether the shares add up to more than so many pcpus have. */
bool overbooks(const struct share *shares, unsigned int count, uint32_t pcpus);

/* The sum in millionths of a pcpu, rounded down: to be shown, not to be judged by. */
uint64_t load_ppm(const struct share *shares, unsigned int count);

/* Whether the first is a larger part of a pcpu than the second. */
bool larger_share(struct share first, struct share second);

#endif
