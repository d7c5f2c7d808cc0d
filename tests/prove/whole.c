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

#include "../../core/hyperperiod.h"

#ifndef VCPU
#define VCPU 0u
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
    core->reports_saved = 0;
    core->numbers = HP_VCPUS;
    core->efforts = 0;
    core->bound = 0;
    core->thefts = 0;
    core->swapping = 0;
    core->alone = 1;
    core->quantum_ns = 0;
    core->decision_ns = 0;
    core->stolen = 0;
    core->effort_waits = 0;
    core->spare = (struct hp_spare){0};
    core->share = (struct hp_share){0, HP_NEVER, HP_NONE, 0};
}

static hp_u32 same_size(const struct hp_core *core) {
    return core->pcpus == 1 && !core->reports_saved && core->numbers == HP_VCPUS
           && core->efforts == 0 && core->bound == 0 && core->thefts == 0 && !core->swapping
           && core->alone == 1 && core->quantum_ns == 0 && core->decision_ns == 0
           && core->stolen == 0 && !core->effort_waits && core->spare.remaining_ns == 0
           && core->share.vcpu == HP_NONE;
}

/* Times and parameters are below their bounds. */
static hp_u32 server_is_narrow(const struct hp_server *server) {
    return server->params.period_ns < TIMES && server->params.budget_ns < TIMES
           && server->late_ns < TIMES && server->deadline_ns < 2u * TIMES;
}

/* Up to when a server is charged: who pays, up to where the grant is; who does not, up to now. */
static hp_u64 charged_up_to(const struct hp_core *core, hp_u32 vcpu) {
    return core->pcpu[0].grant.pay == vcpu ? core->pcpu[0].charged_ns : core->now_ns;
}

/* A server, though what is due may not be done: its account keeps the law at the time up to which
 * it is charged, and a debt is no longer than a pick was late. */
static hp_u32 server_holds(const struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = vcpu == 0 ? &server_0 : &server_1;

    return hp_keeps_law(core, server, charged_up_to(core, vcpu)) && hp_level_holds(core, server)
           && server->level == 0 && server_is_narrow(server) && server->runnable <= 1u
           && server->params.flags <= HP_EXTRA && !(server->params.flags & HP_BEST_EFFORT)
           && server->params.priority < 4u && server->last_pcpu == 0
           && server->change_at_ns == HP_NEVER
           && (server->remaining_ns >= 0 || (hp_u64)-server->remaining_ns <= server->late_ns);
}

/* The keys of a vcpu are what its server says, and none for a number that nobody has. */
static hp_u32 keys_hold(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = one_of_two(core, vcpu);

    return core->ready.key[vcpu] == (server->present ? hp_ready_key(core, server) : HP_NEVER)
           && core->due.key[vcpu] == (server->present ? hp_due_key(core, server) : HP_NEVER);
}

/* The lowest key of the only block, and whose it is: of two with the same key the first. */
static hp_u32 block_holds(const struct hp_queue *queue) {
    const hp_u32 of_low = queue->key[1] < queue->key[0];

    return queue->low[0] == key_by_case(queue, of_low)
           && (queue->low[0] == HP_NEVER || queue->of_low[0] == of_low);
}

/*
 * Nobody in a queue is before who is remembered as its first, by key and then by number; and if
 * that one is known its key is the one that is remembered.
 */
static hp_u32 queue_holds(const struct hp_queue *queue) {
    hp_u32 holds = queue->known <= 1u && queue->first < HP_VCPUS && queue->blocks == 1u
                   && (queue->low[0] == 0 || block_holds(queue));

    for (hp_u32 vcpu = 0; vcpu < HP_KEYS; vcpu++) {
        if (vcpu >= HP_VCPUS)
            holds &= queue->key[vcpu] == HP_NEVER;
        holds &= queue->key[vcpu] > queue->lowest
                 || (queue->key[vcpu] == queue->lowest
                     && (vcpu >= queue->first || queue->lowest == HP_NEVER));
    }
    if (queue->known)
        holds &= key_by_case(queue, queue->first) == queue->lowest;
    return holds;
}

/* Who should be given the pcpu by the prose of the order rule: the lowest key; of two equals the
 * one that had the pcpu last goes on, else the lower number is first. */
static hp_u32 first_in_order(const struct hp_core *core, hp_u32 last) {
    const hp_u64 *key = core->ready.key;

    if (key[0] == HP_NEVER && key[1] == HP_NEVER)
        return HP_NONE;
    if (key[0] == key[1])
        return last == 1u ? 1u : 0;
    return key[0] < key[1] ? 0 : 1u;
}

/* Who had the pcpu last, in the role that servers are ordered in. */
static hp_u32 last_holder(const struct hp_core *core) {
    return core->pcpu[0].last[hp_holder_role(core)];
}

/* A plan that stands is the one that would be made now: it gives the pcpu to who is first, who
 * pays, and runs if it has work. */
static hp_u32 plan_holds(struct hp_core *core, const struct hp_plan *plan) {
    const hp_u32 holder = first_in_order(core, last_holder(core));

    if (!core->planned)
        return 1;
    return plan->holder == holder && plan->pay == holder && core->weakest == holder
           && plan->also == HP_NONE && plan->effort == HP_NONE
           && plan->run
                  == ((holder == 0 && server_0.runnable) || (holder == 1u && server_1.runnable)
                          ? holder
                          : HP_NONE);
}

/*
 * The grant in force is charged up to some time that is not to come. Who runs pays; its next refill
 * does not lie before that time; and what it had then reaches to the end of the grant.
 */
static hp_u32 grant_holds(struct hp_core *core, const struct hp_pcpu *pcpu) {
    const struct hp_grant *grant = &pcpu->grant;
    const struct hp_server *payer = grant->pay == 0 ? &server_0 : &server_1;

    if (pcpu->charged_ns > core->now_ns || grant->start_ns > pcpu->charged_ns
        || grant->also != HP_NONE || grant->level != 0 || pcpu->effort != HP_NONE
        || (grant->run != HP_NONE && grant->run != grant->pay)
        || !is_none_or_present(core, grant->pay) || !is_none_or_present(core, pcpu->last[HP_PAYER])
        || !is_none_or_present(core, pcpu->last[HP_RUNNER]))
        return 0;
    if (grant->pay == HP_NONE)
        return 1;
    return payer->deadline_ns >= pcpu->charged_ns && grant->until_ns < 4u * TIMES
           && (hp_i64)pcpu->charged_ns + payer->remaining_ns >= (hp_i64)grant->until_ns;
}

/* When the next refill is due that somebody has to look after. */
static hp_u64 next_alarm(const struct hp_core *core) {
    return hp_min(core->due.key[0], core->due.key[1]);
}

/* Whether the grant in force is the planned one. */
static hp_u32 is_as_planned(const struct hp_pcpu *pcpu) {
    return pcpu->grant.run == pcpu->plan.run && pcpu->grant.pay == pcpu->plan.pay
           && !pcpu->must_repick;
}

/*
 * While a plan stands, a grant that is not suspected is the planned one; and unless the core is
 * about to find out when anything is due (0), the pcpu wakes up for it.
 */
static hp_u32 suspects_hold(const struct hp_core *core, const struct hp_pcpu *pcpu) {
    const struct hp_grant *grant = &pcpu->grant;

    if (core->suspects > 1u)
        return 0;
    if (!core->planned || core->suspects)
        return 1;
    return is_as_planned(pcpu)
           && (core->due_ns == 0
               || (grant->until_ns <= next_alarm(core) && grant->until_ns <= core->due_ns));
}

/* Before its due time no grant ends and nobody has to look after a refill. */
static hp_u32 due_holds(const struct hp_core *core) {
    return core->due_ns <= next_alarm(core) && core->due_ns <= core->pcpu[0].grant.until_ns;
}

/* Whether all refills that somebody has to look after are done. */
static hp_u32 is_settled(const struct hp_core *core) {
    return next_alarm(core) > core->now_ns;
}

/* The invariant: a pure predicate of the state between any two calls. */
static hp_u32 invariant(struct hp_core *core) {
    hp_u32 holds = same_size(core) && core->now_ns < TIMES && core->planned <= 1u;

    holds &= core->work[0] == (server_0.runnable | server_1.runnable << 1);
    for (hp_u32 vcpu = 0; vcpu < HP_VCPUS; vcpu++) {
        const struct hp_server *server = one_of_two(core, vcpu);

        holds &= server->present ? server->present == 1u && server_holds(core, vcpu)
                                 : !server->runnable && server->last_pcpu == 0;
        holds &= keys_hold(core, vcpu);
    }
    return holds && queue_holds(&core->ready) && queue_holds(&core->due) && due_holds(core)
           && plan_holds(core, &core->pcpu[0].plan) && grant_holds(core, &core->pcpu[0])
           && suspects_hold(core, &core->pcpu[0]);
}

/* Shows the invariant part by part, so that one that is broken is named. */
static void show_invariant(struct hp_core *core) {
    SHOW(same_size(core), "the size");
    SHOW(!server_0.present || server_holds(core, 0), "the account of the first server");
    SHOW(!server_1.present || server_holds(core, 1u), "the account of the second server");
    SHOW(keys_hold(core, 0) && keys_hold(core, 1), "the keys");
    SHOW(queue_holds(&core->ready), "the queue of those who may pay");
    SHOW(queue_holds(&core->due), "the queue of refills");
    SHOW(due_holds(core), "what may be due");
    SHOW(plan_holds(core, &core->pcpu[0].plan), "the plan");
    SHOW(grant_holds(core, &core->pcpu[0]), "the grant");
    SHOW(suspects_hold(core, &core->pcpu[0]), "the suspects");
    SHOW(invariant(core), "the invariant");
}

/* Nothing is known of the state but the invariant, and who pays, where that is a case. */
static void forget(struct hp_core *core) {
    *core = nondet_core();
    server_0 = nondet_server();
    server_1 = nondet_server();
    server_0.change_at_ns = HP_NEVER;
    server_1.change_at_ns = HP_NEVER;
    settle_size(core);
    TAKE(invariant(core));
#ifdef PAYER
    TAKE(core->pcpu[0].grant.pay == PAYER);
    core->pcpu[0].grant.pay = PAYER; /* the same, as constants */
    core->pcpu[0].grant.also = HP_NONE;
#endif
}

/* Any state that keeps the invariant. */
static struct hp_core any_whole(void) {
    struct hp_core core;

    forget(&core);
    return core;
}

/* What charges and refills leave as it is: who is there, who has work, the grant, whose turn it was
 * last. */
struct frame {
    hp_u32 present[2];
    hp_u32 runnable[2];
    struct hp_grant grant;
    hp_u32 last;
};

static struct frame frame_of(const struct hp_core *core) {
    return (struct frame){{server_0.present, server_1.present},
                          {server_0.runnable, server_1.runnable},
                          core->pcpu[0].grant,
                          last_holder(core)};
}

static hp_u32 frame_holds(const struct hp_core *core, const struct frame *before) {
    const struct hp_grant *grant = &core->pcpu[0].grant;

    return server_0.present == before->present[0] && server_1.present == before->present[1]
           && server_0.runnable == before->runnable[0] && server_1.runnable == before->runnable[1]
           && last_holder(core) == before->last && grant->run == before->grant.run
           && grant->pay == before->grant.pay && grant->start_ns == before->grant.start_ns
           && grant->until_ns == before->grant.until_ns;
}

/* What charging all gives: all is charged up to now, and nothing is due that was not. */
static hp_u32 charges_give(const struct hp_core *core, const struct frame *before, hp_u64 now_ns,
                           hp_u32 was_settled) {
    return frame_holds(core, before) && core->now_ns == now_ns && core->pcpu[0].charged_ns == now_ns
           && (!was_settled || is_settled(core));
}

/* What settling gives: what is due is done; from the due time on all is charged up to now, and when
 * anything is due next is to be found out. */
static hp_u32 settling_gives(const struct hp_core *core, const struct frame *before, hp_u64 now_ns,
                             hp_u64 due_ns) {
    return frame_holds(core, before) && core->now_ns == now_ns && is_settled(core)
           && (now_ns < due_ns || core->pcpu[0].charged_ns == now_ns)
           && core->due_ns == (now_ns < due_ns ? due_ns : 0);
}

/* The contracts of hp_charge_pcpu, hp_charge_all and hp_settle. */
void prove_charge_all(struct hp_core *core) {
    const struct frame before = frame_of(core);
    const hp_u64 now_ns = core->now_ns;
    const hp_u32 was_settled = is_settled(core);

    show_invariant(core);
    forget(core);
    TAKE(charges_give(core, &before, now_ns, was_settled));
}

void prove_charge_pcpu(struct hp_core *core, hp_u32 number) {
    SHOW(number == 0, "it is the only pcpu");
    prove_charge_all(core);
}

void prove_settle(struct hp_core *core, hp_u64 now_ns) {
    const struct frame before = frame_of(core);
    const hp_u64 later_ns = hp_max(core->now_ns, now_ns);
    const hp_u64 due_ns = core->due_ns;

    SHOW(now_ns < TIMES, "times are narrow");
    show_invariant(core);
    forget(core);
    TAKE(settling_gives(core, &before, later_ns, due_ns));
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
    const struct frame before = frame_of(&core);
    const hp_u64 now_ns = core.now_ns;
    const hp_u32 was_settled = is_settled(&core);

    hp_charge_all(&core);
    show_invariant(&core);
    SHOW(charges_give(&core, &before, now_ns, was_settled), "all else is as it was");
}

void whole_settle(void) {
    struct hp_core core = any_whole();
    const struct frame before = frame_of(&core);
    const hp_u64 now_ns = any_now();
    const hp_u64 later_ns = hp_max(core.now_ns, now_ns);
    const hp_u64 due_ns = core.due_ns;

    hp_settle(&core, now_ns);
    show_invariant(&core);
    SHOW(settling_gives(&core, &before, later_ns, due_ns), "what is due is done, and no more");
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
    const hp_u32 last = last_holder(&core);
    const struct hp_grant grant = *hp_pick(&core, 0, any_now());

    show_invariant(&core);
    SHOW(hp_laws(&core) == HP_LAW_HOLDS, "the laws");
    SHOW(grant.pay == first_in_order(&core, last), "who is first pays");
    SHOW(grant.until_ns <= next_alarm(&core), "it wakes up for the next alarm");
    SHOW(grant.start_ns == core.now_ns && grant.until_ns > core.now_ns, "time goes on");
    SHOW(is_as_planned(&core.pcpu[0]) && !core.suspects, "it need not pick again");
}

void whole_kicks(void) {
    struct hp_core core = any_whole();
    const hp_u64 kicks = hp_kicks(&core, any_now());

    show_invariant(&core);
    SHOW(hp_laws(&core) == HP_LAW_HOLDS, "the laws");
    SHOW(kicks <= 1u, "there is one pcpu");
    SHOW(core.planned && (kicks || is_as_planned(&core.pcpu[0])), "a grant that is wrong is named");
    SHOW(kicks || core.pcpu[0].grant.until_ns <= next_alarm(&core), "somebody wakes up");
    SHOW(!kicks || core.suspects, "it is named until it picks");
}

void whole_check(void) {
    struct hp_core core = any_whole();

    SHOW(hp_check(&core, any_now()) == HP_LAW_HOLDS, "the laws");
    show_invariant(&core);
    SHOW(core.pcpu[0].charged_ns == core.now_ns, "all accounts are up to now");
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
