// SPDX-License-Identifier: BSD-2-Clause
/*
 * The world of a proof about accounts: a core in which every number is unknown, and one of its two
 * vcpus, which has a server whose account keeps the law.
 *
 * The queues of the core are not in it. A proof about an account takes the verb that tells them of
 * a change (hp_requeue) for a notebook: the keys that were last told have to be what the account
 * says in the end.
 */
#pragma once

#define HP_VCPUS 2u
#define HP_PCPUS 1u
#define HP_ASSERT(condition) __CPROVER_assert((condition), "the core asserts: " #condition)
#include "../../core/hyperperiod.h"

#include "arithmetic.h"

/* The vcpu that proofs speak of; the verbs ask of a number only that it names one. */
#define VCPU 1u

#define SHOW(condition, what) __CPROVER_assert((condition), what)
#define TAKE(condition) __CPROVER_assume(condition)

hp_u64 nondet_u64(void);
hp_i64 nondet_i64(void);
hp_u32 nondet_u32(void);
struct hp_core nondet_core(void);
struct hp_server nondet_server(void);

/* What the queues were last told of the server. */
static struct told {
    hp_u64 ready;
    hp_u64 due;
} told;

static void tell(struct hp_core *core) {
    const struct hp_server *server = hp_server_of(core, VCPU);

    told.ready = hp_ready_key(core, server);
    told.due = hp_due_key(core, server);
}

/* What takes the place of hp_requeue. */
hp_u32 prove_requeue(struct hp_core *core, hp_u32 vcpu) {
    SHOW(vcpu == VCPU, "it is told of the server at hand");
    tell(core);
    core->planned = 0;
    return 0;
}

/* The law of one account that is charged up to 'at', as hp_check asks for it (core/law.h). */
static hp_u32 account_holds(const struct hp_core *core, const struct hp_server *server,
                            hp_u64 at_ns) {
    return hp_keeps_law(core, server, at_ns) && hp_level_holds(core, server);
}

/* Whether the queues know the keys of the server: where it stands, and when it is due. */
static hp_u32 queues_know(struct hp_core *core) {
    const struct hp_server *server = hp_server_of(core, VCPU);

    return told.ready == hp_ready_key(core, server) && told.due == hp_due_key(core, server);
}

/* Any budget rule. */
static hp_u32 any_rule(void) {
    const hp_u32 rule = nondet_u32();

    TAKE(rule < HP_BUDGET_RULES);
    return rule;
}

/* Any core under a legal policy with this budget rule. */
static struct hp_core any_core(hp_u32 budget) {
    struct hp_core core = nondet_core();
    const struct hp_policy policy = {budget, nondet_u32(), nondet_u32()};

    core.pcpus = 1;
    TAKE(hp_policy_legal(&policy, 1));
    hp_set_rules(&core, &policy);
    TAKE(core.now_ns < HP_TIME_MAX);
    return core;
}

/* Any of its servers, which keeps the law, and which the queues know. */
static struct hp_server *any_server(struct hp_core *core, hp_u64 at_ns) {
    struct hp_server *server = hp_server_of(core, VCPU);

    TAKE(server->present == 1 && server->runnable <= 1u);
    TAKE(!(server->params.flags & HP_BEST_EFFORT));
    TAKE(server->params.priority <= HP_PRIORITY_MAX);
    TAKE(server->wanted.priority <= HP_PRIORITY_MAX);
    TAKE(account_holds(core, server, at_ns));
    tell(core);
    the_budget_ns = &server->params.budget_ns;
    the_period_ns = &server->params.period_ns;
    return server;
}

/* The time up to which the server is charged, where contracts take the place of charges. */
static hp_u64 the_time_ns;

/* Nothing is known of what the server has and when it gets more. */
static void any_account(struct hp_server *server) {
    server->remaining_ns = nondet_i64();
    server->extra_ns = nondet_i64();
    server->deadline_ns = nondet_u64();
    server->level = nondet_u32();
}

/* Nor of its parameters. */
static void any_parameters(struct hp_server *server) {
    server->params.period_ns = nondet_u64();
    server->params.budget_ns = nondet_u64();
    server->params.priority = nondet_u32();
    TAKE(server->params.priority <= HP_PRIORITY_MAX);
    server->params.flags = nondet_u32();
    server->change_at_ns = nondet_u64();
}

static hp_u32 same_parameters(const struct hp_server *before, const struct hp_server *after) {
    const struct hp_params *was = &before->params;
    const struct hp_params *is = &after->params;

    return was->period_ns == is->period_ns && was->budget_ns == is->budget_ns
           && was->priority == is->priority && was->flags == is->flags
           && before->change_at_ns == after->change_at_ns;
}

static hp_u32 same_account(const struct hp_server *before, const struct hp_server *after) {
    return before->remaining_ns == after->remaining_ns && before->extra_ns == after->extra_ns
           && before->deadline_ns == after->deadline_ns && before->level == after->level
           && same_parameters(before, after);
}

/* Any instant. */
static hp_u64 any_time(void) {
    const hp_u64 time_ns = nondet_u64();

    TAKE(time_ns < HP_TIME_MAX);
    return time_ns;
}

/* What follows every verb: the law, and queues that know. */
static void show_account(struct hp_core *core, hp_u64 at_ns) {
    SHOW(account_holds(core, &core->server[VCPU], at_ns), "the law of the account");
    SHOW(queues_know(core), "the queues are told");
}

/* What takes the place of a verb that calls hp_requeue where it has to: the queues know of what was
 * before it, and of what it leaves. */
static void show_told(struct hp_core *core) {
    SHOW(queues_know(core), "the queues are told before");
}
