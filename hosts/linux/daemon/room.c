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

/* The servers of a lock domain that have budgets: few of all that there can be. */
static uint32_t find_budgets(const struct system *system, uint32_t lock,
                             const struct hp_params *found[HP_VCPUS]) {
    uint32_t count = 0;

    for (uint32_t i = 0; i < SERVER_LIMIT && count < HP_VCPUS; i++) {
        const struct server *server = &system->server[i];
        if (server->present && server->lock == lock && !(server->params.flags & HP_BEST_EFFORT))
            found[count++] = &server->params;
    }
    return count;
}

static uint64_t total_ns(const struct hp_params *const params[], uint32_t count,
                         uint64_t until_ns) {
    const uint64_t enough = WATCHDOG_NS * CPU_LIMIT;
    uint64_t total = 0;

    for (uint32_t i = 0; i < count && total < enough; i++)
        total += demand_ns(params[i], until_ns);
    return total;
}

uint64_t longest_busy_ns(const struct system *system, uint32_t lock) {
    const struct hp_params *params[HP_VCPUS];
    const uint32_t count = find_budgets(system, lock, params);
    const uint64_t pcpus = system->config.pcpus;
    uint64_t busy_ns = 0, next_ns = total_ns(params, count, 0) / pcpus;

    for (unsigned int step = 0; next_ns > busy_ns; step++) {
        busy_ns = next_ns;
        if (busy_ns >= WATCHDOG_NS || step == STEPS)
            return WATCHDOG_NS;
        next_ns = total_ns(params, count, busy_ns) / pcpus;
    }
    return busy_ns;
}

bool leave_a_twentieth(const struct system *system, uint32_t lock) {
    const struct hp_params *params[HP_VCPUS];
    const uint32_t count = find_budgets(system, lock, params);
    uint64_t taken = 0; /* in millionths of a cpu, each rounded up */

    for (uint32_t i = 0; i < count; i++)
        taken += (uint64_t)(((unsigned __int128)params[i]->budget_ns * 1000000u
                             + params[i]->period_ns - 1)
                            / params[i]->period_ns);
    return taken <= system->config.pcpus * 950000ull + count;
}
