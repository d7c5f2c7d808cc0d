// SPDX-License-Identifier: BSD-2-Clause
/*
 * The whole core at a small size, by induction: from any state that keeps the invariant, and any
 * legal arguments, an entry leads to a state that keeps it; after picks and kicks all laws hold.
 *
 * Two servers on one pcpu, under one policy that is given to the compiler, without best effort,
 * turns, spare and theft. Times are below 2^WIDTH. Nothing takes the place of accounts, queues or
 * the plan: the entries run as they are.
 */
#define HP_VCPUS 2u
#define HP_PCPUS 1u
#define HP_REFILLS 1u
#define HP_ASSERT(condition) __CPROVER_assert((condition), "the core asserts: " #condition)
#define SHOW(condition, what) __CPROVER_assert((condition), what)
#define TAKE(condition) __CPROVER_assume(condition)

/* Two vcpus are one group of the queues: a set of groups that is not empty has the first one. */
static inline unsigned first_group(unsigned long long groups) {
    SHOW(groups == 1u, "there is one group");
    return 0;
}
#define __builtin_ctzll(groups) first_group(groups)
#include "../../core/hyperperiod.h"

#ifndef VCPU
#define VCPU 0u
#endif
#ifndef PAYER
#define PAYER HP_NONE
#endif
#ifndef WIDTH
#define WIDTH 4
#endif
#define TIMES (1ull << WIDTH)

struct hp_core nondet_core(void);
struct hp_server nondet_server(void);
hp_u64 nondet_u64(void);
hp_u32 nondet_u32(void);

/*
 * The servers, each a place of its own: the model checker tells two places apart at once, and two
 * elements of an array only by arithmetic on pointers. The core asks hp_server_of for a server and
 * nothing else, so those that are in it are never looked at.
 */
static struct hp_server server_0;
static struct hp_server server_1;

struct hp_server *one_of_two(struct hp_core *core, hp_u32 vcpu) {
    (void)core;
    SHOW(vcpu < HP_VCPUS, "no array of servers is left");
    return vcpu == 0 ? &server_0 : &server_1;
}

/* The key of one in a queue, by cases. */
static hp_u64 key_by_case(const struct hp_queue *queue, hp_u32 vcpu) {
    return vcpu == 0 ? queue->key[0] : queue->key[1];
}

hp_u64 one_key(const struct hp_queue *queue, hp_u32 vcpu) {
    SHOW(vcpu < HP_VCPUS, "no array of keys is left");
    return key_by_case(queue, vcpu);
}

/* Products and quotients, of as many bits as there can be. */
typedef unsigned __CPROVER_bitvector[WIDTH + 2] narrow;
typedef unsigned __CPROVER_bitvector[2 * WIDTH + 4] wide;

hp_u64 narrow_parts(hp_u64 span_ns, hp_u64 part_ns) {
    SHOW(span_ns < 4u * TIMES && part_ns > 0 && part_ns < 4u * TIMES, "a quotient is narrow");
    return (hp_u64)((narrow)span_ns / (narrow)part_ns);
}

hp_u64 narrow_times(hp_u64 count, hp_u64 length_ns) {
    SHOW(count < 4u * TIMES && length_ns < 4u * TIMES, "a product is narrow");
    return (hp_u64)((wide)count * (wide)length_ns);
}

static hp_u32 is_none_or_present(const struct hp_core *core, hp_u32 vcpu) {
    return vcpu == HP_NONE || (vcpu == 0 && server_0.present) || (vcpu == 1u && server_1.present);
}

/* What stays as it is as long as no other entry is called. */
static void settle_size(struct hp_core *core) {
    const struct hp_policy policy = {BUDGET, HP_ORDER_FP, HP_SLACK_NONE};

    hp_set_rules(core, &policy);
    core->pcpus = 1;
    core->holds = 0;
    core->words = 1;
    core->numbers = HP_VCPUS;
    core->groups = 1;
    core->efforts = 0;
    core->plain = 1;
    core->effort_waits = 0;
    core->thefts = 0;
    core->swapping = 0;
    core->quantum_ns = 0;
    core->stolen = 0;
    core->bound = 0;
    core->spare = (struct hp_spare){0};
    core->share = (struct hp_share){0, HP_NEVER, HP_NONE, 0};
}

static hp_u32 same_size(const struct hp_core *core) {
    return core->pcpus == 1 && core->numbers == HP_VCPUS && core->groups == 1 && core->words == 1
           && core->efforts == 0 && core->plain && !core->effort_waits && core->thefts == 0
           && !core->swapping && core->quantum_ns == 0 && core->stolen == 0
           && core->spare.remaining_ns == 0 && core->share.vcpu == HP_NONE;
}

/* Times and parameters are below their bounds. */
static hp_u32 server_is_narrow(const struct hp_server *server) {
    return server->period_ns < TIMES && server->budget_ns < TIMES && server->late_ns < TIMES
           && server->deadline_ns < 2u * TIMES;
}

/*
 * A server that is charged up to now, though what is due may not be done: its account keeps the
 * law, a debt is no longer than a pick was late.
 */
static hp_u32 server_holds(const struct hp_core *core, const struct hp_server *server) {
    return hp_keeps_law(core, server, core->now_ns) && hp_level_holds(core, server)
           && server->level == 0 && server_is_narrow(server) && server->runnable <= 1u
           && server->flags <= HP_EXTRA && !(server->flags & HP_BEST_EFFORT)
           && server->priority < 4u && server->last_pcpu == 0 && server->change_at_ns == HP_NEVER
           && server->funded == (server->remaining_ns > 0)
           && (server->remaining_ns >= 0 || (hp_u64)-server->remaining_ns <= server->late_ns);
}

/* The keys of a vcpu are what its server says, and none for a number that nobody has. */
static hp_u32 keys_hold(struct hp_core *core, hp_u32 vcpu) {
    const hp_u32 present = one_of_two(core, vcpu)->present;

    return core->ready.key[vcpu] == (present ? hp_ready_key(core, vcpu) : HP_NEVER)
           && core->due.key[vcpu] == (present ? hp_due_ns(core, vcpu) : HP_NEVER)
           && core->effort.key[vcpu] == HP_NEVER;
}

/*
 * A queue remembers who is first in its only group, with its key; while that is in doubt nobody has
 * a lower key. Who is known as first of all is the first of the group.
 */
static hp_u32 queue_holds(const struct hp_queue *queue) {
    hp_u32 holds = queue->doubted <= 1u && queue->known <= 1u && queue->first[0] < HP_VCPUS
                   && queue->best < HP_VCPUS;

    for (hp_u32 vcpu = 0; vcpu < HP_GROUP; vcpu++) {
        if (vcpu >= HP_VCPUS)
            holds &= queue->key[vcpu] == HP_NEVER;
        holds &= queue->low[0] <= queue->key[vcpu];
    }
    if (!queue->doubted)
        holds &= key_by_case(queue, queue->first[0]) == queue->low[0];
    if (queue->known)
        holds &=
            !queue->doubted && queue->best == queue->first[0] && queue->lowest == queue->low[0];
    return holds;
}

/* A plan that stands gives the pcpu to who is first, who pays, and runs if it has work. */
static hp_u32 plan_holds(struct hp_core *core, const struct hp_pcpu *slot) {
    const hp_u32 holder = slot->plan_holder;
    const hp_u64 key = holder < HP_VCPUS ? key_by_case(&core->ready, holder) : HP_NEVER;

    if (!core->planned)
        return 1;
    if (!is_none_or_present(core, holder) || (holder != HP_NONE && key == HP_NEVER))
        return 0;
    return key <= core->ready.key[0] && key <= core->ready.key[1] && slot->plan_pay == holder
           && slot->plan_also == HP_NONE && slot->plan_effort == HP_NONE
           && slot->plan_run
                  == ((holder == 0 && server_0.runnable) || (holder == 1u && server_1.runnable)
                          ? holder
                          : HP_NONE);
}

/*
 * The grant in force is charged up to now. Who runs pays; its next refill does not lie before now;
 * and what it has reaches to where it should pick again.
 */
static hp_u32 grant_holds(struct hp_core *core, const struct hp_pcpu *slot) {
    const struct hp_grant *grant = &slot->grant;
    const hp_u64 due_ns = hp_least(grant->until_ns, slot->invalid_since_ns);
    const struct hp_server *payer = grant->pay == 0 ? &server_0 : &server_1;

    if (grant->start_ns != core->now_ns || grant->also != HP_NONE
        || (grant->run != HP_NONE && grant->run != grant->pay)
        || !is_none_or_present(core, grant->pay))
        return 0;
    if (grant->pay == HP_NONE)
        return 1;
    return payer->deadline_ns >= core->now_ns && due_ns < 4u * TIMES
           && (hp_i64)core->now_ns + payer->remaining_ns >= (hp_i64)due_ns;
}

/* Whether all refills that somebody has to look after are done. */
static hp_u32 is_settled(const struct hp_core *core) {
    return core->due.key[0] > core->now_ns && core->due.key[1] > core->now_ns;
}

/* Unless the core says that something may be due, nothing is. */
static hp_u32 overdue_holds(const struct hp_core *core) {
    return core->overdue <= 1u && (core->overdue || is_settled(core));
}

/* The invariant: a pure predicate of the state between any two calls. */
static hp_u32 invariant(struct hp_core *core) {
    hp_u32 holds = same_size(core) && core->now_ns < TIMES && core->planned <= 1u
                   && core->work[0] == (server_0.runnable | server_1.runnable << 1u);

    for (hp_u32 vcpu = 0; vcpu < HP_VCPUS; vcpu++) {
        const struct hp_server *server = one_of_two(core, vcpu);

        holds &= server->present ? server->present == 1u && server_holds(core, server)
                                 : !server->runnable && server->last_pcpu == 0;
        holds &= keys_hold(core, vcpu);
    }
    return holds && queue_holds(&core->ready) && queue_holds(&core->due)
           && queue_holds(&core->effort) && overdue_holds(core) && plan_holds(core, core->pcpu)
           && grant_holds(core, core->pcpu);
}

/* Shows the invariant part by part, so that one that is broken is named. */
static void show_invariant(struct hp_core *core) {
    SHOW(same_size(core), "the size");
    SHOW(!server_0.present || server_holds(core, &server_0), "the account of the first server");
    SHOW(!server_1.present || server_holds(core, &server_1), "the account of the second server");
    SHOW(keys_hold(core, 0) && keys_hold(core, 1), "the keys");
    SHOW(queue_holds(&core->ready), "the queue of those who may pay");
    SHOW(queue_holds(&core->due), "the queue of refills");
    SHOW(queue_holds(&core->effort), "the queue of best effort");
    SHOW(overdue_holds(core), "what may be due");
    SHOW(plan_holds(core, core->pcpu), "the plan");
    SHOW(grant_holds(core, core->pcpu), "the grant");
    SHOW(invariant(core), "the invariant");
}

/* Nothing is known of the state but the invariant. */
static void forget(struct hp_core *core) {
    *core = nondet_core();
    server_0 = nondet_server();
    server_1 = nondet_server();
    server_0.change_at_ns = HP_NEVER;
    server_1.change_at_ns = HP_NEVER;
    settle_size(core);
    TAKE(invariant(core));
}

/* Any state that keeps the invariant. */
static struct hp_core any_whole(void) {
    struct hp_core core;

    forget(&core);
    return core;
}

/* What charges and refills leave as it is, and what time it is then. */
static hp_u32 frame_holds(const struct hp_core *core, hp_u64 work, hp_u32 first, hp_u32 second,
                          hp_u64 now_ns) {
    return core->work[0] == work && server_0.present == first && server_1.present == second
           && core->now_ns == now_ns;
}

/* The contracts of hp_charge_all and hp_settle. */
static void any_later(struct hp_core *core, hp_u64 now_ns) {
    const hp_u64 work = core->work[0];
    const hp_u32 first = server_0.present;
    const hp_u32 second = server_1.present;
    const hp_u64 later_ns = hp_most(core->now_ns, now_ns);

    SHOW(now_ns < TIMES, "times are narrow");
    show_invariant(core);
    forget(core);
    TAKE(frame_holds(core, work, first, second, later_ns));
}

void prove_charge_all(struct hp_core *core, hp_u64 now_ns) {
    any_later(core, now_ns);
}

void prove_settle(struct hp_core *core, hp_u64 now_ns) {
    any_later(core, now_ns);
    TAKE(is_settled(core) && !core->overdue);
}

/* Any time that a host may tell, also an earlier one. */
static hp_u64 any_now(void) {
    const hp_u64 now_ns = nondet_u64();

    TAKE(now_ns < TIMES);
    return now_ns;
}

static struct hp_server *the_server(void) {
    return VCPU == 0 ? &server_0 : &server_1;
}

static hp_u32 any_present(struct hp_core *core) {
    (void)core;
    TAKE(the_server()->present);
    return VCPU;
}

void whole_charge_all(void) {
    struct hp_core core = any_whole();
    const hp_u64 work = core.work[0];
    const hp_u32 first = server_0.present;
    const hp_u32 second = server_1.present;
    const hp_u64 now_ns = any_now();
    const hp_u64 later_ns = hp_most(core.now_ns, now_ns);

    TAKE(core.pcpu[0].grant.pay == PAYER);
    core.pcpu[0].grant.pay = PAYER; /* the same, as a constant */
    hp_charge_all(&core, now_ns);
    show_invariant(&core);
    SHOW(frame_holds(&core, work, first, second, later_ns), "all else is as it was");
}

void whole_settle(void) {
    struct hp_core core = any_whole();
    const hp_u64 work = core.work[0];
    const hp_u32 first = server_0.present;
    const hp_u32 second = server_1.present;
    const hp_u64 now_ns = any_now();
    const hp_u64 later_ns = hp_most(core.now_ns, now_ns);

    hp_settle(&core, now_ns);
    show_invariant(&core);
    SHOW(frame_holds(&core, work, first, second, later_ns), "all else is as it was");
    SHOW(is_settled(&core) && !core.overdue, "what is due is done");
}

void whole_arrive(void) {
    struct hp_core core = any_whole();
    const hp_u32 vcpu = any_present(&core);

    hp_arrive(&core, vcpu, any_now());
    show_invariant(&core);
    SHOW(the_server()->runnable, "it has work");
}

void whole_depart(void) {
    struct hp_core core = any_whole();
    const hp_u32 vcpu = any_present(&core);

    hp_depart(&core, vcpu, any_now());
    show_invariant(&core);
    SHOW(!the_server()->runnable, "it has no work");
}

void whole_pick(void) {
    struct hp_core core = any_whole();
    struct hp_grant grant;

    hp_pick(&core, 0, any_now(), &grant);
    show_invariant(&core);
    SHOW(hp_laws(&core) == HP_LAW_HOLDS, "the laws");
}

void whole_kicks(void) {
    struct hp_core core = any_whole();

    hp_kicks(&core, any_now());
    show_invariant(&core);
    SHOW(hp_laws(&core) == HP_LAW_HOLDS, "the laws");
}

void whole_check(void) {
    struct hp_core core = any_whole();

    SHOW(hp_check(&core, any_now()) == HP_LAW_HOLDS, "the laws");
    show_invariant(&core);
}

/* Where the induction begins: two servers are added, and work arrives. So there are such states. */
void whole_init(void) {
    struct hp_core core = nondet_core();
    const struct hp_config config = {.policy = {BUDGET, HP_ORDER_FP, HP_SLACK_NONE}, .pcpus = 1};
    hp_u64 now_ns = any_now();

    SHOW(hp_init(&core, &config, now_ns) == HP_OK, "a lock domain");
    for (hp_u32 vcpu = 0; vcpu < HP_VCPUS; vcpu++) {
        const struct hp_params params = {
            .period_ns = nondet_u64(), .budget_ns = nondet_u64(), .priority = nondet_u32()};

        TAKE(params.period_ns < TIMES && params.priority < 4u);
        TAKE(params.budget_ns > 0 && params.budget_ns <= params.period_ns);
        SHOW(hp_add(&core, vcpu, &params, now_ns) == HP_OK, "a vcpu");
    }
    show_invariant(&core);
}
