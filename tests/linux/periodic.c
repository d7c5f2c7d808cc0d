// SPDX-License-Identifier: BSD-2-Clause
/*
 * A task of the task API, as a user without privileges: periodic SERVER JOBS PERIOD_NS ROUNDS.
 *
 * Each job is so many rounds of `pass_time`. Says how many deadlines were met; SERVER may be "-":
 * none.
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hyperperiod_rt.h"
#include "pass_time.h"

#define SOMEBODY 54321

static int failed(const char *what) {
    fprintf(stderr, "%s: %s\n", what, rt_error());
    return 1;
}

int main(int count, char **words) {
    const long jobs = count == 5 ? strtol(words[2], NULL, 10) : 0;
    const long rounds = count == 5 ? strtol(words[4], NULL, 10) : 0;
    long met = 0;

    if (rounds <= 0 || setgroups(0, NULL) != 0 || setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0)
        return 2;
    rt_enter();
    if (strcmp(words[1], "-") != 0 && rt_set_server(words[1]) != 0)
        return failed(words[1]);
    if (rt_set_period(strtoull(words[3], NULL, 10)) != 0)
        return failed(words[3]);
    for (long job = 0; job < jobs; job++) {
        pass_time((unsigned long)rounds);
        met += rt_wait_for_period();
    }
    rt_exit();
    printf("%ld\n", met);
    return 0;
}
