// SPDX-License-Identifier: BSD-2-Clause
#include "room.h"

/* So many steps of the busy period before it counts as without end. */
#define STEPS 20000u

/*
 * What a server may ask for until an instant, that instant included: it serves its budget at the
 * end of one period and again at the beginning of the next, so at the worst its periods count as if
 * each began T - C earlier. No rule serves more in any window.
 */
static uint64_t demand_ns(const struct hp_params *params, uint64_t until_ns) {
    const uint64_t shift_ns = params->period_ns - params->budget_ns;
    uint64_t demand;

    if (__builtin_mul_overflow((until_ns + shift_ns) / params->period_ns + 1, params->budget_ns,
                               &demand))
        return WATCHDOG_NS * CPU_LIMIT;
    return demand;
}

static uint64_t total_ns(const struct system *system, uint32_t lock, uint64_t until_ns) {
    const uint64_t enough = WATCHDOG_NS * CPU_LIMIT;
    uint64_t total = 0;

    for (uint32_t i = 0; i < SERVER_LIMIT && total < enough; i++) {
        const struct server *server = &system->server[i];
        if (server->present && server->lock == lock && !(server->params.flags & HP_BEST_EFFORT))
            total += demand_ns(&server->params, until_ns);
    }
    return total;
}

uint64_t longest_busy_ns(const struct system *system, uint32_t lock) {
    const uint64_t pcpus = system->config.pcpus;
    uint64_t busy_ns = 0, next_ns = total_ns(system, lock, 0) / pcpus;

    for (unsigned int step = 0; next_ns > busy_ns; step++) {
        busy_ns = next_ns;
        if (busy_ns >= WATCHDOG_NS || step == STEPS)
            return WATCHDOG_NS;
        next_ns = total_ns(system, lock, busy_ns) / pcpus;
    }
    return busy_ns;
}
