// SPDX-License-Identifier: BSD-2-Clause
/*
 * The longest time that servers can keep one cpu, or several, busy, as the daemon computes it:
 * busy PCPUS PERIOD_NS:BUDGET_NS... prints it in ns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "room.h"

int main(int count, char **words) {
    static struct system system;

    system.config.pcpus = (hp_u32)strtoul(words[1], NULL, 10);
    for (int i = 2; i < count; i++) {
        struct server *server = &system.server[i - 2];
        char *end;
        server->present = true;
        server->params.period_ns = strtoull(words[i], &end, 10);
        server->params.budget_ns = strtoull(end + 1, NULL, 10);
    }
    printf("%llu\n", (unsigned long long)longest_busy_ns(&system, 0));
    return 0;
}
