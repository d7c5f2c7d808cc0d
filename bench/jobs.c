// SPDX-License-Identifier: BSD-2-Clause
/*
 * A host that only decides: jobs PCPUS VCPUS JOBS BUDGET ORDER SLACK
 *
 * VCPUS vcpus on each of PCPUS pcpus of one lock domain have a task each, of 80 % of the server's
 * budget in each of its periods; the periods differ by a few per cent, so that releases drift
 * through each other. The program makes the calls that a host makes when a vcpu wakes up, goes to
 * sleep and when a grant ends; they stand in the function decide(): count what is executed in there
 * (callgrind: --toggle-collect=decide), with N and with 2 N jobs, the difference is the cost of N
 * jobs. The rules are the numbers of core/rules.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/hyperperiod.h"

static struct hp_core core;
static struct hp_grant granted[HP_PCPUS];
static hp_u64 ran_from_ns[HP_PCPUS];
static hp_u64 release_ns[HP_VCPUS];
static hp_u64 left_ns[HP_VCPUS]; /* of the job in hand; 0: none */
static struct hp_params params[HP_VCPUS];

static void start(hp_u32 pcpus, hp_u32 vcpus, struct hp_config *config) {
    hp_u32 error;

    config->pcpus = pcpus;
    error = hp_init(&core, config, 0);
    for (hp_u32 v = 0; v < pcpus * vcpus && !error; v++) {
        params[v].period_ns = 10000000ull + 37000ull * v;
        params[v].budget_ns = params[v].period_ns * 8u / (10u * vcpus);
        params[v].priority = v;
        release_ns[v] = 1000000ull + 113000ull * v;
        error = hp_add(&core, v, &params[v], 0);
    }
    if (error) {
        fprintf(stderr, "jobs: the core refuses this with error %u\n", error);
        exit(2);
    }
}

enum call { ARRIVE, DEPART, PICK, KICKS };

/* What is counted: a call about a vcpu, a pcpu, or all. */
__attribute__((__noinline__)) hp_u64 decide(enum call call, hp_u32 number, hp_u64 now_ns) {
    switch (call) {
    case ARRIVE:
        hp_arrive(&core, number, now_ns);
        return 0;
    case DEPART:
        hp_depart(&core, number, now_ns);
        return 0;
    case PICK:
        granted[number] = *hp_pick(&core, number, now_ns);
        return 0;
    case KICKS:
        return hp_kicks(&core, now_ns);
    }
    return 0;
}

/* Who ran on this pcpu has run up to now. */
static void account(hp_u32 pcpu, hp_u64 now_ns) {
    const hp_u32 run = granted[pcpu].run;

    if (run != HP_NONE)
        left_ns[run] -= now_ns - ran_from_ns[pcpu];
    ran_from_ns[pcpu] = now_ns;
}

static void pick(hp_u32 pcpu, hp_u64 now_ns) {
    account(pcpu, now_ns);
    decide(PICK, pcpu, now_ns);
}

static void kick(hp_u64 now_ns) {
    hp_u64 kicks = decide(KICKS, 0, now_ns);

    for (; kicks; kicks &= kicks - 1u)
        pick((hp_u32)__builtin_ctzll(kicks), now_ns);
}

/* When this pcpu has something to do: its grant ends, or the job that runs there. */
static hp_u64 next_ns(hp_u32 pcpu) {
    const hp_u32 run = granted[pcpu].run;
    const hp_u64 done_ns = run == HP_NONE ? HP_NEVER : ran_from_ns[pcpu] + left_ns[run];

    return hp_min(done_ns, granted[pcpu].until_ns);
}

static void look_after(hp_u32 pcpu, hp_u64 now_ns) {
    const hp_u32 run = granted[pcpu].run;

    account(pcpu, now_ns);
    if (run != HP_NONE && left_ns[run] == 0)
        decide(DEPART, run, now_ns);
    pick(pcpu, now_ns);
    kick(now_ns);
}

int main(int count, char **arguments) {
    struct hp_config config = {0};
    hp_u64 now_ns = 0;
    hp_u32 pcpus, vcpus;
    long jobs;

    if (count != 7) {
        fprintf(stderr, "usage: jobs PCPUS VCPUS JOBS BUDGET ORDER SLACK\n");
        return 2;
    }
    pcpus = (hp_u32)atoi(arguments[1]);
    vcpus = (hp_u32)atoi(arguments[2]);
    config.policy.budget = (hp_u32)atoi(arguments[4]);
    config.policy.order = (hp_u32)atoi(arguments[5]);
    config.policy.slack = (hp_u32)atoi(arguments[6]);
    start(pcpus, vcpus, &config);
    for (hp_u32 p = 0; p < pcpus; p++)
        pick(p, 0);
    for (jobs = atol(arguments[3]); jobs > 0;) {
        now_ns = HP_NEVER;
        for (hp_u32 p = 0; p < pcpus; p++)
            now_ns = hp_min(now_ns, next_ns(p));
        for (hp_u32 v = 0; v < pcpus * vcpus; v++)
            now_ns = hp_min(now_ns, release_ns[v]);
        for (hp_u32 p = 0; p < pcpus; p++) {
            if (next_ns(p) <= now_ns)
                look_after(p, now_ns);
        }
        for (hp_u32 v = 0; v < pcpus * vcpus; v++) {
            if (release_ns[v] > now_ns)
                continue;
            release_ns[v] += params[v].period_ns;
            if (left_ns[v] > 0)
                continue;
            left_ns[v] = params[v].budget_ns * 8u / 10u;
            jobs--;
            decide(ARRIVE, v, now_ns);
            kick(now_ns);
        }
    }
    printf("%llu ms\n", now_ns / 1000000u);
    return 0;
}
