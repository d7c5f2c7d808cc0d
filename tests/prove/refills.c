// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sporadic rule: what is used is added to the end of a queue of refills.
 *
 * This is asked for every number of refills (COUNT) in a queue that begins at a known place (HEAD)
 * of its ring. That the amounts together grow by what is added is shown without adding them up:
 * the last refill has gained it, or there is one more, and all others are as they were.
 */
#include "world.h"

/* The i-th refill, by the prose of the rule. */
static const struct hp_refill *refill(const struct hp_core *core, hp_u32 i) {
    return &core->refill[VCPU * HP_REFILLS + (core->server[VCPU].refill_head + i) % HP_REFILLS];
}

static hp_u32 length(const struct hp_core *core) {
    return core->server[VCPU].refill_count;
}

/* Whether a refill of this queue is as one was. */
static hp_u32 same(const struct hp_core *core, hp_u32 i, const struct hp_core *before, hp_u32 j) {
    return refill(core, i)->time_ns == refill(before, j)->time_ns
           && refill(core, i)->amount_ns == refill(before, j)->amount_ns;
}

/*
 * The law of a queue, but for its sum: none of nothing and none of more than a budget; each comes
 * when the one before could be used up, or at a time that no clock reaches; the last comes a period
 * after the first at most.
 */
static hp_u32 queue_holds(const struct hp_core *core, hp_u32 count) {
    const struct hp_server *server = &core->server[VCPU];

    for (hp_u32 i = 0; i < HP_REFILLS; i++) {
        const struct hp_refill *one = refill(core, i);

        if (i >= count)
            break;
        if (one->amount_ns == 0 || one->amount_ns > server->params.budget_ns
            || one->time_ns > HP_LATEST_NS)
            return 0;
        if (i > 0 && one->time_ns != HP_LATEST_NS
            && refill(core, i - 1u)->time_ns + refill(core, i - 1u)->amount_ns > one->time_ns)
            return 0;
        if (one->time_ns < refill(core, 0)->time_ns
            || one->time_ns - refill(core, 0)->time_ns > server->params.period_ns)
            return 0;
    }
    return 1;
}

/* Any core with such a queue. */
static struct hp_core any_queue(void) {
    struct hp_core core = any_core(HP_BUDGET_SPORADIC);

    core.server[VCPU].refill_head = HEAD;
    core.server[VCPU].refill_count = COUNT;
    any_server(&core, 0);
    TAKE(queue_holds(&core, COUNT));
    return core;
}

/*
 * Whether this has been added at the end: there is one more refill, or the last one has grown,
 * where it stands if that is late enough, or at the later time.
 */
static hp_u32 has_gained(const struct hp_core *core, const struct hp_core *before, hp_u64 time_ns,
                         hp_u64 amount_ns) {
    const struct hp_refill *tail = refill(before, COUNT - 1u);
    const struct hp_refill *grown = refill(core, COUNT - 1u);

    if (length(core) == COUNT + 1u)
        return same(core, COUNT - 1u, before, COUNT - 1u) && refill(core, COUNT)->time_ns == time_ns
               && refill(core, COUNT)->amount_ns == amount_ns;
    return length(core) == COUNT && grown->amount_ns == tail->amount_ns + amount_ns
           && (grown->time_ns == time_ns
               || (grown->time_ns == tail->time_ns && time_ns <= tail->time_ns + tail->amount_ns));
}

void sporadic_append(void) {
    struct hp_core core = any_queue();
    const struct hp_core before = core;
    const hp_u64 time_ns = nondet_u64();
    const hp_u64 amount_ns = nondet_u64();
    const hp_u32 stays = nondet_u32();
    const hp_u64 budget_ns = core.server[VCPU].params.budget_ns;

    TAKE(stays <= 1u && COUNT - stays < HP_REFILLS);
    TAKE(amount_ns > 0 && time_ns <= HP_LATEST_NS);
    TAKE(time_ns >= refill(&core, COUNT - 1u)->time_ns);
    TAKE(time_ns - refill(&core, 0)->time_ns <= core.server[VCPU].params.period_ns);
    TAKE(amount_ns <= budget_ns && refill(&core, COUNT - 1u)->amount_ns <= budget_ns - amount_ns);
    /* Where the head alone stays, what is added comes when that could be used up. */
    if (stays && COUNT == 1u && time_ns < HP_LATEST_NS)
        TAKE(refill(&core, 0)->time_ns + refill(&core, 0)->amount_ns <= time_ns);
    hp_refill_append(&core, VCPU, time_ns, amount_ns, stays);
    for (hp_u32 i = 0; i + 1u < COUNT; i++)
        SHOW(same(&core, i, &before, i), "the others are as they were");
    SHOW(has_gained(&core, &before, time_ns, amount_ns), "what was added is there");
    SHOW(!(stays && COUNT == 1u) || same(&core, 0, &before, 0), "a head in use is never joined");
    SHOW(queue_holds(&core, length(&core)), "the law of the queue");
}
