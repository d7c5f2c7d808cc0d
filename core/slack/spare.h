// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Spare (ERTDS: Wu and Li, sections III and IV): a budget that nobody owns, below every vcpu
 * with budget whatever its deadline, on at most one pcpu at a time: one that is left free when
 * all vcpus with work and budget have theirs. There it runs a depleted vcpu that has work, the
 * one with the latest deadline first, because that one would wait longest for its refill; among
 * equals the one that runs, else the lower number. With no such vcpu the spare idles away.
 *
 * Two pcpus, a spare of 1 ms in 4 ms, and A of 2 ms in 10 ms with work all the time: in [0, 1) the
 * spare idles away beside A. At 4 ms it runs A, where A was, in [4, 5), and again in [8, 9); from
 * 10 ms on A has its own budget.
 *
 * The vcpu is placed like any other: it stays on its pcpu if that is free. Being behind all
 * others, the spare cannot reduce what is guaranteed to them.
 */
#pragma once

#include "none.h"

/* Refills the spare at the multiples of its period that have passed. */
HP_RARE void hp_spare_catch_up(struct hp_core *core) {
    struct hp_spare *spare = &core->spare;
    hp_u64 refills;

    if (spare->deadline_ns > core->now_ns)
        return;
    HP_ASSERT(spare->budget_ns <= spare->period_ns);
    refills = hp_parts(core->now_ns - spare->deadline_ns, spare->period_ns) + 1u;
    spare->remaining_ns = hp_after_refills(spare->remaining_ns, spare->budget_ns, refills);
    spare->deadline_ns += hp_times(refills, spare->period_ns);
    core->planned = 0;
    HP_NOTE(core, HP_NOTE_REPLENISH, core->now_ns, HP_SPARE, spare->remaining_ns);
}

/* Charges the spare for the time from 'from' to 'to', split at its refills. */
HP_RARE void hp_spare_charge(struct hp_core *core, hp_u64 from_ns, hp_u64 to_ns) {
    struct hp_spare *spare = &core->spare;

    if (to_ns > spare->deadline_ns) {
        hp_u64 whole = hp_parts(to_ns - spare->deadline_ns, spare->period_ns);

        spare->remaining_ns -= (hp_i64)(spare->deadline_ns - from_ns);
        if (spare->remaining_ns > 0)
            spare->remaining_ns = 0;
        spare->remaining_ns += (hp_i64)spare->budget_ns;
        spare->remaining_ns -= (hp_i64)hp_times(whole, spare->period_ns - spare->budget_ns);
        from_ns = spare->deadline_ns + hp_times(whole, spare->period_ns);
        spare->deadline_ns = from_ns + spare->period_ns;
        core->planned = 0;
    }
    spare->remaining_ns -= (hp_i64)(to_ns - from_ns);
    if (spare->remaining_ns <= 0) {
        HP_NOTE(core, HP_NOTE_DEPLETE, core->now_ns, HP_SPARE, 0);
        core->planned = 0;
    }
}

/* Whether depleted vcpu a is helped before b. */
HP_FN hp_u32 hp_helped_before(struct hp_core *core, hp_u32 a, hp_u32 b) {
    const hp_u64 deadline_ns = hp_server_of(core, a)->deadline_ns;
    const hp_u32 runs = hp_has_pcpu(core, a, HP_RUNNER);

    if (deadline_ns != hp_server_of(core, b)->deadline_ns)
        return deadline_ns > hp_server_of(core, b)->deadline_ns;
    if (runs != hp_has_pcpu(core, b, HP_RUNNER))
        return runs;
    return a < b;
}

/* The depleted vcpu with work that the spare should run on one of these pcpus, or HP_NONE. */
HP_FN hp_u32 hp_spare_first(struct hp_core *core, hp_u64 free) {
    hp_u32 best = HP_FORGET(HP_NONE);

    HP_FOR (vcpu, core->numbers) {
        const struct hp_server *server = hp_server_of(core, vcpu);

        if (server->runnable && server->remaining_ns <= 0 && !hp_is_effort(server)
            && hp_allowed(core, vcpu, free)
            && (best == HP_NONE || hp_helped_before(core, vcpu, best)))
            best = vcpu;
        best = HP_FORGET(best);
    }
    return best;
}

/* Gives the spare one of the free pcpus, if it has budget. */
HP_RARE void hp_plan_spare(struct hp_core *core, hp_u64 free) {
    struct hp_plan *plan;
    hp_u32 vcpu;

    if (free == 0 || core->spare.remaining_ns <= 0)
        return;
    vcpu = hp_spare_first(core, free);
    if (vcpu == HP_NONE) {
        plan = &hp_pcpu_of(core, (hp_u32)__builtin_ctzll(free))->plan;
    } else {
        plan = &hp_pcpu_of(core, hp_free_pcpu(core, vcpu, hp_allowed(core, vcpu, free)))->plan;
        hp_server_of(core, vcpu)->place = 0;
    }
    HP_ASSERT(plan->pay == HP_NONE && plan->run == HP_NONE);
    plan->pay = HP_SPARE;
    plan->run = vcpu;
}

/* Who runs pays, or the spare does. */
HP_FN hp_u32 hp_spare_pays(const struct hp_pcpu *pcpu) {
    const struct hp_grant *grant = &pcpu->grant;

    return (grant->pay == grant->run || grant->pay == HP_SPARE) && grant->also == HP_NONE;
}
