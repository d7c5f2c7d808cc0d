// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the words of arguments.h.

#include "guests/executive/arguments.h"

#include "record/ring.h"

/* Room for the image, the ring's header and one record. */
#define MEMORY_LEAST ((4ull << 20) + 4096u)
#define MEMORY_MOST (3ull << 30)
#define RATE_MOST 1000000u
#define FORKS_MOST 64u

#define MOST_DOMAIN 0xffffu
#define MOST_THOUSANDTHS 1000000u
#define MOST_PORT 63u           /* so that one word has the bits of all */
#define MOST_OFFSET 0x3ff00000u /* of 1 GiB that can be shared */
#define WIRE_ALIGN 4096u
#define LEAST_INTERRUPT 32u /* below are those of each vcpu */
#define MOST_INTERRUPT 1019u
#define MOST_ADDRESS 0x3fffffffu /* of a device: below memory */

static const struct word whole = {"arguments", 9};

static struct arguments_error error_at(struct word word, const char *message) {
    return (struct arguments_error){word, message};
}

static struct arguments_error well(void) {
    return error_at((struct word){"", 0}, 0);
}

void arguments_init(struct arguments *arguments) {
    arguments->workload = WORKLOAD_TASKS;
    arguments->scheduler = DOMAIN_RANKED;
    arguments->domain = 0;
    arguments->vcpus = 1;
    arguments->epoch_ticks = HP_NEVER;
    arguments->horizon_ns = HP_NEVER;
    arguments->seed = 1;
    arguments->memory_bytes = 0;
    arguments->rate = 0;
    arguments->loop_ns = 0;
    arguments->task_time_ns = 0;
    arguments->task_period_ns = 0;
    arguments->period_ns = 0;
    arguments->forks = 0;
    arguments->tasks = 0;
    arguments->flows = 0;
    arguments->hops = 0;
    arguments->wires = 0;
    arguments->cards = 0;
    for (hp_u32 i = 0; i < MAX_CARDS; i++)
        arguments->card[i].interrupt = 0;
    for (hp_u32 i = 0; i < MAX_FLOWS; i++)
        arguments->flow[i].hops = 0;
    for (hp_u32 i = 0; i < MAX_TASKS; i++)
        arguments->task[i].overrun.thousandths = 0;
}

/* Choices, in the order of what they stand for. */
static const char *const workloads[] = {
    "tasks",       "clocktick",  "response",        "device",      "outside", "spin",
    "yield-storm", "wake-storm", "hypercall-storm", "timer-storm", 0};
static const char *const schedulers[] = {"rm", "dm", "fp", "edf", "fifo", "fair", 0};
static const enum domain_scheduler scheduler_of[] = {DOMAIN_RANKED, DOMAIN_RANKED, DOMAIN_RANKED,
                                                     DOMAIN_EDF,    DOMAIN_FIFO,   DOMAIN_FAIR};
static const char *const kinds[] = {"p", "s", "e", "b", "h", 0};
static const char *const source_kinds[] = {"p", "s", "c", 0};

enum source_kind { SOURCE_PERIODIC, SOURCE_SPORADIC, SOURCE_CLOSED };

/* A number, or '-', which stands for `absent`. */
static hp_u32 number_or(struct word text, hp_u64 most, hp_u64 absent, hp_u64 *number) {
    if (!word_is(text, "-"))
        return word_number(text, most, number);
    *number = absent;
    return 1;
}

/* KIND:PERIOD:WCET:BCET:DEADLINE:OFFSET:JITTER:RANK:VCPU */
static const char *read_task(struct task *task, struct word text, hp_u32 number) {
    hp_u32 kind = word_choice(word_cut(&text, ':'), kinds);
    hp_u64 vcpu;

    if (kind == HP_NONE)
        return "the kind of a task is p, s, b, e or h";
    task->kind = (enum task_kind)kind;
    if (!word_number(word_cut(&text, ':'), HP_TIME_MAX, &task->period_ns)
        || !word_number(word_cut(&text, ':'), HP_TIME_MAX, &task->wcet_ns)
        || !word_number(word_cut(&text, ':'), HP_TIME_MAX, &task->bcet_ns)
        || !number_or(word_cut(&text, ':'), HP_TIME_MAX, HP_NEVER, &task->deadline_ns)
        || !word_number(word_cut(&text, ':'), HP_TIME_MAX, &task->offset_ns)
        || !word_number(word_cut(&text, ':'), HP_TIME_MAX, &task->jitter_ns)
        || !number_or(word_cut(&text, ':'), HP_NEVER, number, &task->rank)
        || !number_or(word_cut(&text, ':'), DOMAIN_VCPUS - 1u, HP_NONE, &vcpu))
        return "a task is KIND:PERIOD:WCET:BCET:DEADLINE:OFFSET:JITTER:RANK:VCPU, in ns";
    task->vcpu = (hp_u32)vcpu;
    if (task->deadline_ns == 0)
        task->deadline_ns = HP_NEVER;
    if (text.start != 0)
        return "a task has nine parts";
    if (task->bcet_ns > task->wcet_ns)
        return "a task's bcet is above its wcet";
    if (task->wcet_ns == 0 && task->kind != TASK_BUSY)
        return "only a busy task may be endless (wcet 0)";
    if (task->period_ns == 0 && task->kind != TASK_BUSY)
        return "only a busy task may have no period";
    return 0;
}

/* TASK:THOUSANDTHS:FROM:TO:EVERY, of a task that has been named before. */
static const char *read_overrun(struct arguments *arguments, struct word text) {
    struct hp_overrun *overrun;
    hp_u64 task;

    if (!word_number(word_cut(&text, ':'), MAX_TASKS - 1u, &task) || task >= arguments->tasks)
        return "an overrun is of a task before it, from 0";
    overrun = &arguments->task[task].overrun;
    if (!word_number(word_cut(&text, ':'), MOST_THOUSANDTHS, &overrun->thousandths)
        || !word_number(word_cut(&text, ':'), HP_TIME_MAX, &overrun->from_ns)
        || !number_or(word_cut(&text, ':'), HP_TIME_MAX, HP_NEVER, &overrun->to_ns)
        || !word_number(text, HP_TIME_MAX, &overrun->every))
        return "an overrun is TASK:THOUSANDTHS:FROM:TO:EVERY, in ns";
    if (overrun->thousandths == 0 || overrun->every == 0 || arguments->task[task].wcet_ns == 0)
        return "an overrun multiplies the time of jobs that end, of every so many-th of them";
    return 0;
}

/* @CARD, by which items come if no hop was before it, else by which they go. */
static const char *read_card_of(struct flow *flow, struct word text) {
    hp_u32 *card = flow->hops == 0 ? &flow->comes : &flow->goes;
    hp_u64 number;

    word_cut(&text, '@');
    if (*card != HP_NONE || !word_number(text, MAX_CARDS - 1u, &number))
        return "the card of a flow is @0 to @7, one at each end";
    *card = (hp_u32)number;
    return 0;
}

/* DOMAIN.TASK,DOMAIN.TASK,... with a card before them or behind */
static const char *read_hops(struct arguments *arguments, struct flow *flow, struct word text) {
    flow->comes = HP_NONE;
    flow->goes = HP_NONE;
    while (text.length > 0) {
        struct word task = word_cut(&text, ',');
        struct word domain;
        hp_u64 numbers[2];

        if (task.length > 0 && task.start[0] == '@') {
            const char *message = read_card_of(flow, task);

            if (message != 0)
                return message;
            continue;
        }
        domain = word_cut(&task, '.');
        if (arguments->hops == MAX_HOPS)
            return "there are more than 1024 hops";
        if (flow->goes != HP_NONE || !word_number(domain, MOST_DOMAIN, &numbers[0])
            || !word_number(task, MAX_TASKS - 1u, &numbers[1]))
            return "a hop is DOMAIN.TASK, before the card by which items go";
        arguments->hop[arguments->hops++] = (struct hop){(hp_u32)numbers[0], (hp_u32)numbers[1]};
        flow->hops++;
    }
    return flow->hops == 0 ? "a flow has hops" : 0;
}

static hp_u32 read_source_numbers(struct word *text, hp_u64 *first, hp_u64 *offset, hp_u64 *second,
                                  hp_u64 *amount) {
    return word_number(word_cut(text, ':'), HP_TIME_MAX, first)
           && word_number(word_cut(text, ':'), HP_TIME_MAX, offset)
           && word_number(word_cut(text, ':'), HP_TIME_MAX, second)
           && word_number(word_cut(text, ':'), HP_TIME_MAX, amount);
}

/* PERIOD:OFFSET:JITTER:BURST, or of clients THINK-LEAST:OFFSET:THINK-MOST:CLIENTS */
static const char *read_source(struct flow *flow, enum source_kind kind, struct word *text) {
    hp_u64 first, offset, second, amount;

    if (!read_source_numbers(text, &first, &offset, &second, &amount))
        return "a flow is NUMBER:KIND:PERIOD:OFFSET:JITTER:BURST:QUEUE:HOPS, in ns";
    if (amount == 0 || (first == 0 && kind != SOURCE_CLOSED))
        return "a source has a period and a burst, or clients, above 0";
    if (first > second && kind == SOURCE_CLOSED)
        return "clients think longer at least than at most";
    flow->source.kind = kind == SOURCE_SPORADIC ? TASK_SPORADIC : TASK_PERIODIC;
    flow->source.offset_ns = offset;
    if (kind == SOURCE_CLOSED) {
        flow->think_least_ns = first;
        flow->think_most_ns = second;
        flow->clients = amount;
        return 0;
    }
    flow->source.period_ns = first;
    flow->source.jitter_ns = second;
    flow->burst = amount;
    flow->clients = 0;
    return 0;
}

/* NUMBER:KIND:<source>:QUEUE:HOPS */
static const char *read_flow(struct arguments *arguments, struct word text) {
    const char *message;
    struct flow *flow;
    hp_u64 number;
    hp_u32 kind;

    if (!word_number(word_cut(&text, ':'), MAX_FLOWS - 1u, &number))
        return "the number of a flow is 0 to 255";
    flow = &arguments->flow[number];
    if (flow->hops > 0)
        return "there is a flow with this number";
    kind = word_choice(word_cut(&text, ':'), source_kinds);
    if (kind == HP_NONE)
        return "the kind of a source is p, s or c";
    message = read_source(flow, (enum source_kind)kind, &text);
    if (message != 0)
        return message;
    if (!word_number(word_cut(&text, ':'), MAX_ITEMS, &flow->queue) || flow->queue == 0
        || flow->queue < flow->clients)
        return "a queue has room for 1 to 16384 items, and for all clients";
    flow->first_hop = arguments->hops;
    arguments->flows++;
    return read_hops(arguments, flow, text);
}

/* DOMAIN:PORT:OFFSET:ROOM */
static const char *read_wire(struct arguments *arguments, struct word text) {
    struct wire *wire = &arguments->wire[arguments->wires];
    hp_u64 domain, port;

    if (arguments->wires == MAX_WIRES)
        return "there are more than 32 wires";
    if (!word_number(word_cut(&text, ':'), MOST_DOMAIN, &domain)
        || !word_number(word_cut(&text, ':'), MOST_PORT, &port)
        || !word_number(word_cut(&text, ':'), MOST_OFFSET, &wire->offset)
        || !word_number(text, MAX_ITEMS, &wire->room))
        return "a wire is DOMAIN:PORT:OFFSET:ROOM";
    if (port == 0 || wire->room == 0 || (wire->room & (wire->room - 1u)) != 0)
        return "a wire has a port above 0 and room for a power of two";
    if (wire->offset % WIRE_ALIGN != 0)
        return "a wire begins at a page";
    wire->domain = (hp_u32)domain;
    wire->port = (hp_u32)port;
    arguments->wires++;
    return 0;
}

/* NUMBER:INTERRUPT:ADDRESS:PLACE:RING */
static const char *read_card(struct arguments *arguments, struct word text) {
    struct card *card;
    hp_u64 number;

    if (!word_number(word_cut(&text, ':'), MAX_CARDS - 1u, &number))
        return "the number of a card is 0 to 7";
    card = &arguments->card[number];
    if (card->interrupt > 0)
        return "there is a card with this number";
    arguments->cards++;
    if (!word_number(word_cut(&text, ':'), MOST_INTERRUPT, &card->interrupt)
        || !word_number(word_cut(&text, ':'), MOST_ADDRESS, &card->address)
        || !word_number(word_cut(&text, ':'), ~0ull, &card->place)
        || !word_number(text, MAX_ITEMS, &card->ring))
        return "a card is NUMBER:INTERRUPT:ADDRESS:PLACE:RING";
    return card->interrupt < LEAST_INTERRUPT ? "a device interrupts with 32 to 1019" : 0;
}

/* Keys that stand for something with parts, as their rows say it. */
enum own_key { OWN_TASK, OWN_OVERRUN, OWN_FLOW, OWN_WIRE, OWN_CARD };

#define AT(field) __builtin_offsetof(struct arguments, field)
static const struct word_key keys[] = {
    {.name = "task", .kind = WORD_OWN, .at = OWN_TASK},
    {.name = "overrun", .kind = WORD_OWN, .at = OWN_OVERRUN},
    {.name = "flow", .kind = WORD_OWN, .at = OWN_FLOW},
    {.name = "wire", .kind = WORD_OWN, .at = OWN_WIRE},
    {.name = "card", .kind = WORD_OWN, .at = OWN_CARD},
    {.name = "workload", .kind = WORD_CHOICE, .choices = workloads},
    {.name = "scheduler", .kind = WORD_CHOICE, .choices = schedulers},
    {.name = "domain", .highest = MOST_DOMAIN, .at = AT(domain)},
    {.name = "vcpus", .highest = DOMAIN_VCPUS, .at = AT(vcpus)},
    {.name = "epoch", .highest = HP_TIME_MAX, .at = AT(epoch_ticks)},
    {.name = "horizon", .highest = HP_TIME_MAX, .at = AT(horizon_ns)},
    {.name = "seed", .highest = ~0ull, .at = AT(seed)},
    {.name = "memory", .highest = MEMORY_MOST, .at = AT(memory_bytes)},
    {.name = "rate", .highest = RATE_MOST, .at = AT(rate)},
    {.name = "loop", .highest = HP_TIME_MAX, .at = AT(loop_ns)},
    {.name = "task-time", .highest = HP_TIME_MAX, .at = AT(task_time_ns)},
    {.name = "task-period", .highest = HP_TIME_MAX, .at = AT(task_period_ns)},
    {.name = "period", .highest = HP_TIME_MAX, .at = AT(period_ns)},
    {.name = "forks", .highest = FORKS_MOST, .at = AT(forks)},
};

/* What is wrong with a value of a kind that all hosts know, or a null pointer. */
static const char *read_value(struct arguments *arguments, const struct word_key *key,
                              struct word value) {
    static char message[9u + WORD_ALLOWED_BYTES] = "allowed: ";
    hp_u64 number;

    if (!word_value(key, value, &number)) {
        word_allowed(key, &message[9]);
        return message;
    }
    if (key->choices == workloads)
        arguments->workload = (enum workload)number;
    else if (key->choices == schedulers)
        arguments->scheduler = scheduler_of[number];
    else
        *(hp_u64 *)((char *)arguments + key->at) = number;
    return 0;
}

static const char *read_word(struct arguments *arguments, struct word word) {
    struct word value = word;
    const struct word_key *key =
        word_key(keys, sizeof keys / sizeof keys[0], word_cut(&value, '='));
    const char *message;

    if (key == 0)
        return "there is no such key";
    if (key->kind != WORD_OWN)
        return read_value(arguments, key, value);
    switch ((enum own_key)key->at) {
    case OWN_OVERRUN:
        return read_overrun(arguments, value);
    case OWN_FLOW:
        return read_flow(arguments, value);
    case OWN_WIRE:
        return read_wire(arguments, value);
    case OWN_CARD:
        return read_card(arguments, value);
    case OWN_TASK:
        break;
    }
    if (arguments->tasks == MAX_TASKS)
        return "there are more than 256 tasks";
    message = read_task(&arguments->task[arguments->tasks], value, arguments->tasks);
    arguments->tasks++;
    return message;
}

static hp_u32 is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == 0;
}

struct arguments_error arguments_read(struct arguments *arguments, struct word text) {
    hp_u64 at = 0;

    while (1) {
        struct word word;
        const char *message;

        while (at < text.length && is_blank(text.start[at]))
            at++;
        if (at == text.length)
            return well();
        word.start = &text.start[at];
        while (at < text.length && !is_blank(text.start[at]))
            at++;
        word.length = (hp_u64)(&text.start[at] - word.start);
        message = read_word(arguments, word);
        if (message != 0)
            return error_at(word, message);
    }
}

static hp_u32 rank_is_taken(const struct arguments *arguments, hp_u32 task) {
    for (hp_u32 i = 0; i < task; i++) {
        if (arguments->task[i].rank == arguments->task[task].rank)
            return 1;
    }
    return 0;
}

static const char *check_tasks(const struct arguments *arguments) {
    for (hp_u32 i = 0; i < arguments->tasks; i++) {
        hp_u32 vcpu = arguments->task[i].vcpu;

        if (vcpu != HP_NONE && vcpu >= arguments->vcpus)
            return "a task is pinned to a vcpu that the domain does not have";
        if (arguments->scheduler == DOMAIN_RANKED && rank_is_taken(arguments, i))
            return "two tasks have the same rank";
    }
    return 0;
}

/* Whether a hop is none of this domain's tasks that should be one. */
static hp_u32 is_no_hop(const struct arguments *arguments, struct hop hop) {
    return hop.domain == arguments->domain
           && (hop.task >= arguments->tasks || arguments->task[hop.task].kind != TASK_HOP);
}

static const char *check_flows(const struct arguments *arguments) {
    hp_u64 room = 0, clients = 0;

    for (hp_u32 i = 0; i < MAX_FLOWS; i++) {
        const struct flow *flow = &arguments->flow[i];

        for (hp_u32 hop = 0; hop < flow->hops; hop++) {
            if (is_no_hop(arguments, arguments->hop[flow->first_hop + hop]))
                return "a flow passes a task that is no hop";
        }
        if (flow->hops == 0)
            continue;
        room += flow->queue;
        if (arguments->hop[flow->first_hop].domain == arguments->domain)
            clients += flow->clients;
    }
    if (clients > MAX_CLIENTS)
        return "there are more than 256 clients";
    return room > MAX_ITEMS ? "more than 16384 items can be on their way" : 0;
}

struct arguments_error arguments_check(const struct arguments *arguments) {
    const char *message = check_tasks(arguments);

    if (message == 0)
        message = check_flows(arguments);
    if (message != 0)
        return error_at(whole, message);
    if (arguments->memory_bytes < MEMORY_LEAST)
        return error_at(whole, "memory= is missing or leaves no room for the ring");
    if (arguments->vcpus == 0)
        return error_at(whole, "vcpus= is 0");
    if (arguments->workload == WORKLOAD_CLOCKTICK
        && (arguments->loop_ns == 0 || arguments->task_time_ns == 0))
        return error_at(whole, "clocktick needs loop= and task-time=");
    if (arguments->workload == WORKLOAD_RESPONSE && arguments->period_ns == 0)
        return error_at(whole, "response needs period=");
    return well();
}

static hp_u32 has_wire(const struct arguments *arguments, hp_u32 domain) {
    for (hp_u32 i = 0; i < arguments->wires; i++) {
        if (arguments->wire[i].domain == domain)
            return 1;
    }
    return domain == arguments->domain;
}

/* Whether there are the ways from and to the hops of a flow that are in this domain. The domain of
 * the last hop and that of the source must know each other. */
static hp_u32 has_wires(const struct arguments *arguments, const struct flow *flow) {
    const struct hop *hops = &arguments->hop[flow->first_hop];

    for (hp_u32 hop = 0; hop < flow->hops; hop++) {
        hp_u32 next = hop + 1u == flow->hops ? 0 : hop + 1u;
        hp_u32 last = hop == 0 ? flow->hops - 1u : hop - 1u;

        if (hops[hop].domain == arguments->domain
            && (!has_wire(arguments, hops[next].domain) || !has_wire(arguments, hops[last].domain)))
            return 0;
    }
    return 1;
}

struct arguments_error arguments_check_wires(const struct arguments *arguments) {
    for (hp_u32 i = 0; i < MAX_FLOWS; i++) {
        if (!has_wires(arguments, &arguments->flow[i]))
            return error_at(whole, "there is no wire to where a flow goes or comes from");
    }
    return well();
}
