// SPDX-License-Identifier: BSD-2-Clause
/*
 * A random life of one lock domain, the same on both sides of the conformance test.
 *
 * This header is compiled by gcc into the driver and by clang into the BPF program. From one
 * seed both draw the same events - vcpus come, go, get work, lose it, change their parameters,
 * the policy is swapped, pcpus pick on time, early and late - and feed them to the core. All
 * that the core answers (grants, kicks, error codes) goes into a running hash. Two builds of the
 * core agree if the hashes and the final states do.
 *
 * Times are small multiples of a unit, so that refills, deadlines and budgets of different
 * servers often fall on the same instant: that is where builds would differ, if they did.
 */
#pragma once

#include "core/hyperperiod.h"

/*
 * A part of the scenario around one or two entries of the core. The BPF side makes each a global
 * function, which the verifier looks at once and on its own; so a part takes only numbers.
 */
#ifndef SCENARIO_PART
#define SCENARIO_PART static
#endif

/* Ids in use: few enough to meet one another often, spread over the whole range of ids. */
#define SCENARIO_VCPUS 12u
#define SCENARIO_PCPUS 4u
#define SCENARIO_STRIDE (HP_VCPUS / 16u)

/* Rounds in which pcpus pick until nobody wants another pick. */
#define SCENARIO_ROUNDS 4u

struct scenario {
    hp_u64 random; /* state of the generator */
    hp_u64 hash;   /* of every answer so far */
    hp_u64 now_ns;
    hp_u64 unit_ns; /* all parameters are multiples of it */
    hp_u64 present; /* ids that were added, as a mask of indices below SCENARIO_VCPUS */
    hp_u64 working; /* of those, the ones with work */
    hp_u64 events;  /* done so far */
    hp_u64 picks;
    hp_u64 quiet; /* how many pcpus in a row had no reason to pick */
    hp_u64 swaps; /* whether the policy is swapped now and then */
    struct hp_config config;
    struct hp_params params;
    struct hp_grant grant[HP_PCPUS];
    struct hp_core core;
};

/* The life that is being lived: the driver and the BPF program have one each. */
extern struct scenario life;

/* The next random number (splitmix64). */
HP_FN hp_u64 scenario_draw(void) {
    hp_u64 z = life.random += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

HP_FN hp_u32 scenario_below(hp_u32 limit) {
    return (hp_u32)((scenario_draw() >> 32) % (limit ? limit : 1u));
}

HP_FN void scenario_note(hp_u64 value) {
    life.hash = (life.hash ^ value) * 0x9e3779b97f4a7c15ull;
    life.hash ^= life.hash >> 29;
}

HP_FN hp_u32 scenario_vcpu(hp_u32 index) {
    return index * SCENARIO_STRIDE;
}

/* Random server parameters; now and then wrong ones, which the core must refuse alike. */
HP_FN void scenario_params(void) {
    hp_u32 periods = 1u + scenario_below(40u);
    hp_u32 budgets = 1u + scenario_below(periods);

    if (scenario_below(64u) == 0)
        budgets = scenario_below(2u) ? 0 : periods + 1u;
    life.params.period_ns = life.unit_ns * periods;
    life.params.budget_ns = life.unit_ns * budgets;
    life.params.priority = scenario_below(7u);
    if (life.params.priority == 6u)
        life.params.priority = HP_ORDINARY;
    life.params.flags = scenario_below(3u) ? 0 : HP_EXTRA;
    life.params.weight = 0;
    if (scenario_below(8u) == 0) {
        life.params.period_ns = 0;
        life.params.budget_ns = 0;
        life.params.flags = HP_BEST_EFFORT;
        life.params.weight = scenario_below(300u);
    }
}

/* Some time passes: often exactly until a grant ends, or a hair more or less; rarely long. */
HP_FN void scenario_pass(void) {
    hp_u32 kind = scenario_below(64u);
    hp_u64 until_ns = life.grant[scenario_below(SCENARIO_PCPUS)].until_ns;
    hp_u64 step_ns = 0;

    if (kind < 24u)
        step_ns = life.unit_ns * scenario_below(8u);
    else if (kind < 32u)
        step_ns = scenario_below((hp_u32)life.unit_ns * 4u);
    else if (kind < 52u && until_ns > life.now_ns && until_ns - life.now_ns < life.unit_ns * 64u)
        step_ns = until_ns - life.now_ns + (kind < 49u ? 0 : kind - 49u);
    else if (kind == 63u)
        step_ns = life.unit_ns * scenario_below(1000u);
    life.now_ns += step_ns;
}

/* One pcpu picks. */
SCENARIO_PART hp_u32 scenario_pick(hp_u32 pcpu) {
    struct hp_grant *grant = &life.grant[HP_INDEX(pcpu, HP_PCPUS)];

    hp_copy_grant(grant, hp_pick(&life.core, pcpu, life.now_ns));
    life.picks++;
    scenario_note(((hp_u64)pcpu << 32) | grant->level);
    scenario_note(((hp_u64)grant->run << 32) | grant->pay);
    scenario_note(grant->also);
    scenario_note(grant->start_ns);
    scenario_note(grant->until_ns);
    return 0;
}

/* Whether this pcpu should pick now: it is kicked, or its grant is over. */
SCENARIO_PART hp_u32 scenario_wants_pick(hp_u32 pcpu) {
    const hp_u64 kicked = hp_kicks(&life.core, life.now_ns);

    scenario_note(kicked);
    return ((kicked >> (pcpu % 64u)) & 1u)
           || life.grant[HP_INDEX(pcpu, HP_PCPUS)].until_ns <= life.now_ns;
}

/* Pcpus pick in turns until nobody has to. */
HP_FN void scenario_settle(void) {
    life.quiet = 0;
    HP_FOR (turn, SCENARIO_ROUNDS * SCENARIO_PCPUS) {
        const hp_u32 pcpu = turn % life.config.pcpus;

        if (life.quiet >= life.config.pcpus)
            break;
        life.quiet++;
        if (scenario_wants_pick(pcpu)) {
            scenario_pick(pcpu);
            life.quiet = 0;
        }
    }
}

/* A vcpu comes, goes, or gets other parameters. */
SCENARIO_PART hp_u32 scenario_change(hp_u32 index) {
    const hp_u32 vcpu = index * SCENARIO_STRIDE;
    const hp_u64 bit = 1ull << (index % 64u);

    if (!(life.present & bit)) {
        scenario_params();
        if (hp_add(&life.core, vcpu, &life.params, life.now_ns) == HP_OK)
            life.present |= bit;
        else
            scenario_note(~bit);
    } else if (scenario_below(2u)) {
        scenario_params();
        scenario_note(hp_update(&life.core, vcpu, &life.params, life.now_ns));
    } else {
        scenario_note(hp_remove(&life.core, vcpu, life.now_ns));
        life.present &= ~bit;
        life.working &= ~bit;
    }
    return 0;
}

/* A present vcpu without work gets some, one with work loses it. */
SCENARIO_PART hp_u32 scenario_toggle(hp_u32 index) {
    const hp_u32 vcpu = index * SCENARIO_STRIDE;
    const hp_u64 bit = 1ull << (index % 64u);

    if (!(life.present & bit))
        return 0;
    if (life.working & bit)
        hp_depart(&life.core, vcpu, life.now_ns);
    else
        hp_arrive(&life.core, vcpu, life.now_ns);
    life.working ^= bit;
    return 0;
}

/* Another policy takes over; one that does not fit must be refused alike. */
HP_FN void scenario_policy(void) {
    life.config.policy.budget = scenario_below(HP_BUDGET_RULES);
    life.config.policy.order = scenario_below(HP_ORDER_RULES);
    life.config.policy.slack = scenario_below(HP_SLACK_RULES);
}

SCENARIO_PART hp_u32 scenario_swap(void) {
    const struct hp_policy *policy = &life.config.policy;

    scenario_note(hp_set_policy(&life.core, policy, life.now_ns));
    return 0;
}

/* The spare gets other parameters, sometimes none. */
HP_FN void scenario_spare_params(void) {
    const hp_u32 periods = 1u + scenario_below(40u);

    life.config.spare_period_ns = life.unit_ns * periods;
    life.config.spare_budget_ns = life.unit_ns * scenario_below(periods + 1u);
}

SCENARIO_PART hp_u32 scenario_spare(void) {
    const struct hp_config *config = &life.config;

    scenario_note(
        hp_set_spare(&life.core, config->spare_period_ns, config->spare_budget_ns, life.now_ns));
    return 0;
}

/* A change of parameters: a vcpu's, the spare's, or the policy's. */
HP_FN void scenario_reconfigure(void) {
    const hp_u32 kind = scenario_below(8u);

    scenario_spare_params();
    scenario_policy();
    if (kind < 6u)
        scenario_change(scenario_below(SCENARIO_VCPUS));
    else if (kind == 6u)
        scenario_spare();
    else if (life.swaps)
        scenario_swap();
}

/* Time passes, work comes or goes or a pcpu picks, and usually all pick that should. */
HP_FN void scenario_live(void) {
    scenario_pass();
    if (scenario_below(8u))
        scenario_toggle(scenario_below(SCENARIO_VCPUS));
    else
        scenario_pick(scenario_below(life.config.pcpus));
    if (scenario_below(4u))
        scenario_settle();
    life.events++;
}

/* Starts a life from the configuration that was put into it, all else being zero. */
HP_FN hp_u32 scenario_start(void) {
    return hp_init(&life.core, &life.config, 0);
}
