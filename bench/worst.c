// SPDX-License-Identifier: BSD-2-Clause
/*
 * Decisions at the worst instant: worst SERVERS BUDGET ORDER SLACK ENTRY...
 *
 * Servers with up to sixteen different periods run on one pcpu until an instant at which every one
 * of them is refilled. All but the first have work; every grant up to there is picked when the one
 * before ends. At that instant one thing happens that a host does with interrupts off, and that
 * stands in the function decide(): count what is executed in there (callgrind:
 * --toggle-collect=decide). Each ENTRY has a process of its own, one after the other, so all begin
 * alike and are counted each for itself. It says what happens:
 *
 *   pick     the timer fires: the next grant
 *   wake     the first vcpu gets work: an arrival, and the pcpus to kick
 *   sleep    who runs loses its work: a departure, and the next grant
 *   swap     another policy takes over, and the pcpus to kick
 *   set      a server gets new parameters, and the pcpus to kick
 *   add      one more server comes, remove: one goes
 *
 * The rules are the numbers of core/rules.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/hyperperiod.h"

/* A common multiple of 1 to 16. */
#define INSTANT_NS 720720000ull

static struct hp_core core;
static struct hp_config config = {
    .pcpus = 1,
    .spare_period_ns = INSTANT_NS / 8u,
    .spare_budget_ns = INSTANT_NS / 80u,
};
static const struct hp_policy other = {HP_BUDGET_DEFERRABLE, HP_ORDER_EDF, HP_SLACK_EXTRA};
static const struct hp_policy plain = {HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_NONE};

static struct hp_params params_of(hp_u32 vcpu, hp_u32 servers) {
    struct hp_params params = {0};

    params.period_ns = INSTANT_NS / (1u + vcpu % 16u);
    params.budget_ns = params.period_ns * 9u / (servers * 10u);
    params.priority = vcpu % 16u;
    params.flags = HP_EXTRA;
    return params;
}

static void require(hp_u32 error) {
    if (error) {
        fprintf(stderr, "worst: the core refuses this with error %u\n", error);
        exit(2);
    }
}

static void start(hp_u32 servers) {
    struct hp_grant grant = {0};

    require(hp_init(&core, &config, 0));
    for (hp_u32 vcpu = 0; vcpu < servers; vcpu++) {
        const struct hp_params params = params_of(vcpu, servers);

        require(hp_add(&core, vcpu, &params, 0));
        if (vcpu > 0)
            hp_arrive(&core, vcpu, 0);
    }
    for (hp_u64 now_ns = 0; now_ns < INSTANT_NS; now_ns = grant.until_ns)
        grant = *hp_pick(&core, 0, now_ns);
}

/* What is counted. */
__attribute__((__noinline__)) hp_u64 decide(const char *entry, hp_u32 servers) {
    const hp_u32 is_other =
        config.policy.budget == other.budget && config.policy.order == other.order;
    const struct hp_params params = params_of(3, servers);

    switch (entry[0] | entry[1] << 8) {
    case 'p' | 'i' << 8:
        return hp_pick(&core, 0, INSTANT_NS)->until_ns;
    case 'w' | 'a' << 8:
        hp_arrive(&core, 0, INSTANT_NS);
        return hp_kicks(&core, INSTANT_NS);
    case 's' | 'l' << 8:
        hp_depart(&core, servers - 1u, INSTANT_NS);
        return hp_pick(&core, 0, INSTANT_NS)->until_ns;
    case 's' | 'w' << 8:
        require(hp_set_policy(&core, is_other ? &plain : &other, INSTANT_NS));
        return hp_kicks(&core, INSTANT_NS);
    case 's' | 'e' << 8:
        require(hp_update(&core, 5, &params, INSTANT_NS));
        return hp_kicks(&core, INSTANT_NS);
    case 'a' | 'd' << 8:
        require(hp_add(&core, servers, &params, INSTANT_NS));
        return hp_kicks(&core, INSTANT_NS);
    case 'r' | 'e' << 8:
        require(hp_remove(&core, 5, INSTANT_NS));
        return hp_kicks(&core, INSTANT_NS);
    }
    fprintf(stderr, "worst: no such entry: %s\n", entry);
    exit(2);
}

int main(int count, char **arguments) {
    hp_u32 servers;

    if (count < 6) {
        fprintf(stderr, "usage: worst SERVERS BUDGET ORDER SLACK ENTRY...\n");
        return 2;
    }
    servers = (hp_u32)atoi(arguments[1]);
    config.policy.budget = (hp_u32)atoi(arguments[2]);
    config.policy.order = (hp_u32)atoi(arguments[3]);
    config.policy.slack = (hp_u32)atoi(arguments[4]);
    start(servers);
    for (int each = 5; each < count; each++) {
        int status = 1;

        if (fork() == 0) {
            printf("%llu\n", decide(arguments[each], servers));
            return 0;
        }
        if (wait(&status) < 0 || status)
            return 2;
    }
    return 0;
}
