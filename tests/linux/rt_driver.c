// SPDX-License-Identifier: BSD-2-Clause
/*
 * A task whose clock stands still but for what it is told: each line of the standard input is a
 * call of the task API (hyperperiod_rt.h) or "work NS", and each line of the output its result and
 * what the clock then says.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hyperperiod_rt.h"

static uint64_t clock_ns;

uint64_t rt_clock_ns(void) {
    return clock_ns;
}

void rt_clock_wait_ns(uint64_t until_ns) {
    if (until_ns > clock_ns)
        clock_ns = until_ns;
}

static int call(const char *name, const char *word) {
    const unsigned long long number = strtoull(word, NULL, 10);

    if (strcmp(name, "enter") == 0)
        return rt_enter();
    if (strcmp(name, "server") == 0)
        return rt_set_server(word);
    if (strcmp(name, "period") == 0)
        return rt_set_period(number);
    if (strcmp(name, "deadline") == 0)
        return rt_set_deadline(number);
    if (strcmp(name, "priority") == 0)
        return rt_set_priority((unsigned int)number);
    if (strcmp(name, "wait") == 0)
        return rt_wait_for_period();
    if (strcmp(name, "exit") == 0)
        return rt_exit();
    clock_ns += number;
    return 0;
}

int main(void) {
    char line[256], name[32], word[128];

    while (fgets(line, sizeof(line), stdin) != NULL) {
        word[0] = 0;
        if (sscanf(line, "%31s %127s", name, word) < 1)
            abort();
        const int result = call(name, word);
        printf("%d %llu%s%s\n", result, (unsigned long long)clock_ns, result < 0 ? " " : "",
               result < 0 ? rt_error() : "");
    }
    return 0;
}
