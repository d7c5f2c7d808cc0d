// SPDX-License-Identifier: BSD-2-Clause
/*
 * A pcpu that picks whenever its grant is over: pick SERVERS PICKS BUDGET ORDER SLACK
 *
 * All servers have work, budgets that fill the pcpu to nine tenths and eight different periods,
 * so that picks find budgets used up, refills due and priorities changing hands. Nothing but
 * picks happens after the start: run with N and with 2 N picks under a counter of instructions,
 * the difference is the cost of N picks. The rules are the numbers of core/types.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/hyperperiod.h"

static struct hp_core core;

static void start(hp_u32 servers, const struct hp_config *config) {
    struct hp_params params = {0};
    hp_u32 error = hp_init(&core, config, 0);

    for (hp_u32 vcpu = 0; vcpu < servers && !error; vcpu++) {
        params.period_ns = 1000000ull * (1u + vcpu % 8u);
        params.budget_ns = params.period_ns * 9u / (servers * 10u);
        params.priority = vcpu % 8u;
        error = hp_add(&core, vcpu, &params, 0);
        hp_arrive(&core, vcpu, 0);
    }
    if (error) {
        fprintf(stderr, "pick: the core refuses this with error %u\n", error);
        exit(2);
    }
}

int main(int count, char **arguments) {
    struct hp_config config = {.pcpus = 1};
    struct hp_grant grant = {0};
    hp_u64 now_ns = 0, ran_ns = 0;

    if (count != 6) {
        fprintf(stderr, "usage: pick SERVERS PICKS BUDGET ORDER SLACK\n");
        return 2;
    }
    config.policy.budget = (hp_u32)atoi(arguments[3]);
    config.policy.order = (hp_u32)atoi(arguments[4]);
    config.policy.slack = (hp_u32)atoi(arguments[5]);
    start((hp_u32)atoi(arguments[1]), &config);
    for (long picks = atol(arguments[2]); picks > 0; picks--) {
        grant = *hp_pick(&core, 0, now_ns);
        ran_ns += grant.run == HP_NONE ? 0 : grant.until_ns - now_ns;
        now_ns = grant.until_ns;
    }
    printf("%.3f of the time somebody ran\n", (double)ran_ns / (double)now_ns);
    return 0;
}
