/* SPDX-License-Identifier: BSD-2-Clause */
/* What linux_price.c asks of linux_pick.bpf.c: see there. */
#ifndef BENCH_LINUX_PICK_H
#define BENCH_LINUX_PICK_H

#include "hosts/linux/shared.h"

struct bench_picks {
    unsigned int servers; /* all get work at the start */
    unsigned int picks;
    unsigned long long total_ns;   /* that the picks took, with two readings of the clock each */
    unsigned long long longest_ns; /* that one took, with them */
    unsigned long long clock_ns;   /* that one reading of the clock takes */
};

#endif
