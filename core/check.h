// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The conservation laws, as one function: what is true between any two calls into the core.
 *
 * Tests, fuzzers and debug builds call it; a law that does not hold is named, and nothing is
 * repaired. It brings the accounts up to now and makes the plan, as asking for kicks does; a
 * server that nobody watches is left as stale as it is.
 */
#pragma once

#include "alone.h"
#include "law.h"

enum hp_law {
    HP_LAW_HOLDS,
    HP_LAW_ACCOUNT,  /* nobody has more than its budget, nor owes more than a late pick explains */
    HP_LAW_LEVEL,    /* who is on an extra level has none of its own left, and may be there */
    HP_LAW_QUEUE,    /* queues and masks say what the servers say, and who is first */
    HP_LAW_REFILLS,  /* sporadic refills are in order and add up to the budget */
    HP_LAW_ALARM,    /* nobody's refill is overlooked */
    HP_LAW_ONE_PCPU, /* a vcpu runs on one pcpu */
    HP_LAW_PAYER,    /* who runs is paid for by whom the policy names */
    HP_LAW_SPARE,    /* the spare is on one pcpu at most and within its budget */
    HP_LAW_SHARE,    /* a share is of one that has work, and no longer than shares are */
    HP_LAW_STOLEN,   /* nobody runs or pays on a stolen pcpu, and their number is right */
    HP_LAW_AFFINITY, /* nobody runs, once all have picked, where it may not */
};

HP_FN hp_u32 hp_account_holds(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (!hp_keeps_law(core, server, core->now_ns))
        return 0;
    if (server->remaining_ns > 0 && hp_has(core, HP_TIMED) && server->deadline_ns <= core->now_ns
        && hp_needs_refill_timer(core, server))
        return 0;
    return server->remaining_ns >= 0 || (hp_u64)-server->remaining_ns <= server->late_ns;
}

/* The queues, and the mask of those with work, say what the servers say; and who is first. */
HP_FN hp_u32 hp_queues_hold(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u32 is_effort = hp_is_effort(server);

    return hp_key_of(&core->ready, vcpu) == (is_effort ? HP_NEVER : hp_ready_key(core, server))
           && hp_key_of(&core->due, vcpu) == (is_effort ? HP_NEVER : hp_due_key(core, server))
           && (core->work[vcpu / 64u] >> (vcpu % 64u) & 1u) == server->runnable
           && hp_queue_holds(&core->ready, vcpu) && hp_queue_holds(&core->due, vcpu);
}

/* What a server has beside its account keeps the law of the rule. */
#define HP_RULE_HOLDS(name, NAME, catch_up, charge, arrive, account, ...)                          \
    HP_CASE(BUDGET_##NAME)                                                                         \
    return hp_##account##_holds(core, vcpu);
HP_FN hp_u32 hp_rule_holds(struct hp_core *core, hp_u32 vcpu) {
    switch ((enum hp_budget)core->policy.budget) { HP_BUDGETS(HP_RULE_HOLDS) }
    return 0;
}

/* When the rule gives budget back next, if nothing else happens. */
HP_FN hp_u64 hp_next_refill(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (hp_has(core, HP_WHEN_EMPTY) && server->remaining_ns > 0)
        return HP_NEVER;
    return server->deadline_ns;
}

HP_FN hp_u32 hp_check_server(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (!hp_queues_hold(core, vcpu))
        return HP_LAW_QUEUE;
    if (hp_is_effort(server))
        return server->remaining_ns == 0 ? HP_LAW_HOLDS : HP_LAW_ACCOUNT;
    if (!hp_account_holds(core, vcpu))
        return HP_LAW_ACCOUNT;
    if (!hp_level_holds(core, server))
        return HP_LAW_LEVEL;
    if (!hp_rule_holds(core, vcpu))
        return HP_LAW_REFILLS;
    if (hp_needs_refill_timer(core, server)
        && hp_key_of(&core->due, vcpu) > hp_next_refill(core, vcpu))
        return HP_LAW_ALARM;
    return HP_LAW_HOLDS;
}

/* Whether the payers of a grant are those that the policy names for who runs. */
#define HP_PAYS(name, NAME, use, pays, traits)                                                     \
    HP_CASE(SLACK_##NAME)                                                                          \
    return hp_##pays##_pays(pcpu);
HP_FN hp_u32 hp_payer_holds(struct hp_core *core, const struct hp_pcpu *pcpu) {
    const struct hp_grant *grant = &pcpu->grant;

    if (grant->run == HP_NONE || hp_is_effort(hp_server_of(core, grant->run)))
        return grant->also == HP_NONE;
    switch ((enum hp_slack)core->policy.slack) { HP_SLACKS(HP_PAYS) }
    return 0;
}

/* Whether the vcpu that this pcpu runs runs here alone. */
HP_FN hp_u32 hp_runs_alone(struct hp_core *core, hp_u32 pcpu) {
    const hp_u32 run = hp_pcpu_of(core, pcpu)->grant.run;

    HP_FOR (other, hp_pcpus(core)) {
        if (run != HP_NONE && other != pcpu && hp_pcpu_of(core, other)->grant.run == run)
            return 0;
    }
    return 1;
}

/* Whether who runs on this pcpu, if anybody does, may run there. */
HP_FN hp_u32 hp_runs_where_allowed(struct hp_core *core, hp_u32 pcpu) {
    const hp_u32 run = hp_pcpu_of(core, pcpu)->grant.run;

    return run == HP_NONE || hp_pcpus(core) == 1
           || hp_allowed(core, run, 1ull << (pcpu % 64u)) != 0;
}

/* Whether no refill of one that pays lies before what it is charged for: charges rely on that. */
HP_FN hp_u32 hp_charge_is_due(struct hp_core *core, hp_u32 payer, hp_u64 from_ns) {
    return !hp_is_vcpu(payer) || hp_has(core, HP_WHEN_EMPTY)
           || hp_server_of(core, payer)->deadline_ns >= from_ns;
}

HP_FN hp_u32 hp_check_pcpus(struct hp_core *core) {
    hp_u32 spares = 0;
    hp_u32 thefts = 0;

    HP_FOR (number, hp_pcpus(core)) {
        const struct hp_pcpu *pcpu = hp_pcpu_of(core, number);

        if (!hp_runs_alone(core, number))
            return HP_LAW_ONE_PCPU;
        if (hp_is_stolen(core, number)) {
            if ((pcpu->grant.run & pcpu->grant.pay & pcpu->grant.also) != HP_NONE)
                return HP_LAW_STOLEN;
            thefts++;
            continue;
        }
        if (!hp_charge_is_due(core, pcpu->grant.pay, pcpu->charged_ns)
            || !hp_charge_is_due(core, pcpu->grant.also, pcpu->charged_ns))
            return HP_LAW_ALARM;
        /* A grant that a removal or a swap has made wrong waits for its pick. */
        if (!hp_grant_wrong(core, number) && !hp_payer_holds(core, pcpu))
            return HP_LAW_PAYER;
        if (!hp_grant_wrong(core, number) && !hp_runs_where_allowed(core, number))
            return HP_LAW_AFFINITY;
        spares += !hp_grant_wrong(core, number) && hp_is_spare(pcpu->grant.pay);
    }
    if (thefts != core->thefts)
        return HP_LAW_STOLEN;
    return spares > 1u ? HP_LAW_SPARE : HP_LAW_HOLDS;
}

HP_FN hp_u32 hp_share_holds(struct hp_core *core) {
    const struct hp_share *share = &core->share;

    if (!(HP_SOME_TRAITS & HP_HAS_SHARES) || share->vcpu == HP_NONE)
        return 1;
    return hp_has(core, HP_HAS_SHARES) && hp_server_of(core, share->vcpu)->runnable
           && share->until_ns <= core->now_ns + HP_SHARE_NS;
}

/*
 * The laws of a core whose accounts and plan are up to date, as a function of it: returns the first
 * that is broken, or HP_LAW_HOLDS.
 */
HP_FN hp_u32 hp_laws(struct hp_core *core) {
    hp_u32 law = HP_LAW_HOLDS;

    HP_FOR (vcpu, HP_VCPUS) {
        const struct hp_server *server = hp_server_of(core, vcpu);

        if (!server->present)
            continue;
        law = hp_check_server(core, vcpu);
        if (law != HP_LAW_HOLDS)
            return law;
    }
    if (core->spare.remaining_ns > (hp_i64)core->spare.budget_ns
        || core->spare.remaining_ns < -(hp_i64)core->spare.late_ns)
        return HP_LAW_SPARE;
    if (!hp_share_holds(core))
        return HP_LAW_SHARE;
    return hp_check_pcpus(core);
}

/* Returns the first law that is found broken, or HP_LAW_HOLDS. */
HP_RARE hp_u32 hp_check(struct hp_core *core, hp_u64 now_ns) {
    hp_settle_now(core, now_ns);
    hp_ensure_plan(core);
    return hp_laws(core);
}
