// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sporadic rule: verbs that go through a whole queue of refills.
 *
 * An index into the queue that is not known costs a model checker too much. So each proof is asked
 * for every number of refills (COUNT) in a queue that begins at a known place (HEAD) of its ring.
 */
#include "world.h"

/* The i-th refill, by the prose of the rule. */
static const struct hp_refill *refill(const struct hp_core *core, hp_u32 i) {
    return &core->refill[VCPU * HP_REFILLS + (core->server[VCPU].refill_head + i) % HP_REFILLS];
}

/*
 * The law of the queue: none of nothing, in order of time, the last no more than a period after the
 * first, none later than any clock, and together the budget.
 */
static hp_u32 queue_holds(const struct hp_core *core) {
    const struct hp_server *server = &core->server[VCPU];
    hp_u64 sum_ns = 0;
    hp_u64 last_ns = 0;

    for (hp_u32 i = 0; i < COUNT; i++) {
        if (refill(core, i)->amount_ns == 0 || refill(core, i)->time_ns < last_ns
            || refill(core, i)->amount_ns > server->params.budget_ns - sum_ns)
            return 0;
        last_ns = refill(core, i)->time_ns;
        sum_ns += refill(core, i)->amount_ns;
    }
    return sum_ns == server->params.budget_ns && last_ns <= HP_LATEST_NS
           && last_ns - refill(core, 0)->time_ns <= server->params.period_ns;
}

/* Any core in which the queue keeps its law. */
static struct hp_core any_queue(void) {
    struct hp_core core = any_core(HP_BUDGET_SPORADIC);

    core.server[VCPU].refill_head = HEAD;
    core.server[VCPU].refill_count = COUNT;
    any_server(&core, 0);
    TAKE(queue_holds(&core));
    return core;
}

void sporadic_usable(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_queue();
    const hp_u64 usable_ns = hp_sporadic_usable(&core, VCPU, now_ns);

    SHOW(usable_ns <= core.server[VCPU].params.budget_ns, "no more than the budget has come back");
    SHOW((usable_ns > 0) == (refill(&core, 0)->time_ns <= now_ns), "the first comes back first");
    SHOW((usable_ns == core.server[VCPU].params.budget_ns)
             == (refill(&core, COUNT - 1u)->time_ns <= now_ns),
         "all of it is there once the last has come");
}

/* An overrun of any number of rounds leaves a queue that keeps the law, however long the period. */
void sporadic_use_rounds(void) {
    struct hp_core core = any_queue();
    const hp_u64 rounds = nondet_u64();
    const hp_u64 period_ns = core.server[VCPU].params.period_ns;
    const hp_u64 first_ns = refill(&core, 0)->time_ns;

    law_division(HP_LATEST_NS, period_ns);
    law_order(rounds, QUOTIENT(HP_LATEST_NS, period_ns), period_ns);
    hp_sporadic_use_rounds(&core, VCPU, rounds);
    SHOW(queue_holds(&core), "the law of the queue");
    SHOW(refill(&core, 0)->time_ns >= first_ns, "nothing comes back sooner");
}
