// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the words of arguments.h.

#include "guests/executive/arguments.h"

#include "hosts/xen/ring.h"

/* Room for the image, the ring's header and one record. */
#define MEMORY_LEAST ((4ull << 20) + 4096u)
#define MEMORY_MOST (3ull << 30)
#define RATE_MOST 1000000u

#define MOST_DOMAIN 0xffffu
#define MOST_THOUSANDTHS 1000000u
#define MOST_PORT 63u           /* so that one word has the bits of all */
#define MOST_OFFSET 0x3ff00000u /* of 1 GiB that can be shared */
#define WIRE_ALIGN 4096u

static struct arguments_error error_at(struct text word, const char *message) {
    return (struct arguments_error){word, message};
}

static struct arguments_error well(void) {
    return error_at((struct text){"", 0}, 0);
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
    arguments->tasks = 0;
    arguments->flows = 0;
    arguments->hops = 0;
    arguments->wires = 0;
    for (hp_u32 i = 0; i < MAX_FLOWS; i++)
        arguments->flow[i].hops = 0;
    for (hp_u32 i = 0; i < MAX_TASKS; i++)
        arguments->task[i].overrun.thousandths = 0;
}

struct choice {
    const char *name;
    hp_u32 value;
};

static const struct choice workloads[] = {
    {"tasks", WORKLOAD_TASKS},
    {"clocktick", WORKLOAD_CLOCKTICK},
    {"response", WORKLOAD_RESPONSE},
    {"spin", WORKLOAD_SPIN},
    {"yield-storm", WORKLOAD_YIELD_STORM},
    {"wake-storm", WORKLOAD_WAKE_STORM},
    {"hypercall-storm", WORKLOAD_HYPERCALL_STORM},
    {"timer-storm", WORKLOAD_TIMER_STORM},
    {0, 0},
};

static const struct choice schedulers[] = {
    {"rm", DOMAIN_RANKED},
    {"dm", DOMAIN_RANKED},
    {"fp", DOMAIN_RANKED},
    {"edf", DOMAIN_EDF},
    {"fifo", DOMAIN_FIFO},
    {"fair", DOMAIN_FAIR},
    {0, 0},
};

static const struct choice kinds[] = {
    {"p", TASK_PERIODIC}, {"s", TASK_SPORADIC}, {"b", TASK_BUSY},
    {"e", TASK_EVENT},    {"h", TASK_HOP},      {0, 0},
};

enum source_kind { SOURCE_PERIODIC, SOURCE_SPORADIC, SOURCE_CLOSED };

static const struct choice source_kinds[] = {
    {"p", SOURCE_PERIODIC},
    {"s", SOURCE_SPORADIC},
    {"c", SOURCE_CLOSED},
    {0, 0},
};

/* The value of a name, or HP_NONE. */
static hp_u32 choose(const struct choice *choices, struct text name) {
    for (; choices->name != 0; choices++) {
        if (text_is(name, choices->name))
            return choices->value;
    }
    return HP_NONE;
}

/* A number, or '-', which stands for `absent`. */
static hp_u32 number_or(struct text text, hp_u64 most, hp_u64 absent, hp_u64 *number) {
    if (!text_is(text, "-"))
        return text_number(text, most, number);
    *number = absent;
    return 1;
}

/* KIND:PERIOD:WCET:BCET:DEADLINE:OFFSET:JITTER:RANK:VCPU */
static const char *read_task(struct task *task, struct text text, hp_u32 number) {
    hp_u32 kind = choose(kinds, text_cut(&text, ':'));
    hp_u64 vcpu;

    if (kind == HP_NONE)
        return "the kind of a task is p, s, b, e or h";
    task->kind = (enum task_kind)kind;
    if (!text_number(text_cut(&text, ':'), HP_TIME_MAX, &task->period_ns)
        || !text_number(text_cut(&text, ':'), HP_TIME_MAX, &task->wcet_ns)
        || !text_number(text_cut(&text, ':'), HP_TIME_MAX, &task->bcet_ns)
        || !number_or(text_cut(&text, ':'), HP_TIME_MAX, HP_NEVER, &task->deadline_ns)
        || !text_number(text_cut(&text, ':'), HP_TIME_MAX, &task->offset_ns)
        || !text_number(text_cut(&text, ':'), HP_TIME_MAX, &task->jitter_ns)
        || !number_or(text_cut(&text, ':'), HP_NEVER, number, &task->rank)
        || !number_or(text_cut(&text, ':'), DOMAIN_VCPUS - 1u, HP_NONE, &vcpu))
        return "a task is KIND:PERIOD:WCET:BCET:DEADLINE:OFFSET:JITTER:RANK:VCPU, in ns";
    task->vcpu = (hp_u32)vcpu;
    if (task->deadline_ns == 0)
        task->deadline_ns = HP_NEVER;
    if (text.length > 0)
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
static const char *read_overrun(struct arguments *arguments, struct text text) {
    struct hp_overrun *overrun;
    hp_u64 task;

    if (!text_number(text_cut(&text, ':'), MAX_TASKS - 1u, &task) || task >= arguments->tasks)
        return "an overrun is of a task before it, from 0";
    overrun = &arguments->task[task].overrun;
    if (!text_number(text_cut(&text, ':'), MOST_THOUSANDTHS, &overrun->thousandths)
        || !text_number(text_cut(&text, ':'), HP_TIME_MAX, &overrun->from_ns)
        || !number_or(text_cut(&text, ':'), HP_TIME_MAX, HP_NEVER, &overrun->to_ns)
        || !text_number(text, HP_TIME_MAX, &overrun->every))
        return "an overrun is TASK:THOUSANDTHS:FROM:TO:EVERY, in ns";
    if (overrun->thousandths == 0 || overrun->every == 0 || arguments->task[task].wcet_ns == 0)
        return "an overrun multiplies the time of jobs that end, of every so many-th of them";
    return 0;
}

/* DOMAIN.TASK,DOMAIN.TASK,... */
static const char *read_hops(struct arguments *arguments, struct flow *flow, struct text text) {
    while (text.length > 0) {
        struct text task = text_cut(&text, ',');
        struct text domain = text_cut(&task, '.');
        hp_u64 numbers[2];

        if (arguments->hops == MAX_HOPS)
            return "there are more than 1024 hops";
        if (!text_number(domain, MOST_DOMAIN, &numbers[0])
            || !text_number(task, MAX_TASKS - 1u, &numbers[1]))
            return "a hop is DOMAIN.TASK";
        arguments->hop[arguments->hops++] = (struct hop){(hp_u32)numbers[0], (hp_u32)numbers[1]};
        flow->hops++;
    }
    return flow->hops == 0 ? "a flow has hops" : 0;
}

static hp_u32 read_source_numbers(struct text *text, hp_u64 *first, hp_u64 *offset, hp_u64 *second,
                                  hp_u64 *amount) {
    return text_number(text_cut(text, ':'), HP_TIME_MAX, first)
           && text_number(text_cut(text, ':'), HP_TIME_MAX, offset)
           && text_number(text_cut(text, ':'), HP_TIME_MAX, second)
           && text_number(text_cut(text, ':'), HP_TIME_MAX, amount);
}

/* PERIOD:OFFSET:JITTER:BURST, or of clients THINK-LEAST:OFFSET:THINK-MOST:CLIENTS */
static const char *read_source(struct flow *flow, enum source_kind kind, struct text *text) {
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
static const char *read_flow(struct arguments *arguments, struct text text) {
    const char *message;
    struct flow *flow;
    hp_u64 number;
    hp_u32 kind;

    if (!text_number(text_cut(&text, ':'), MAX_FLOWS - 1u, &number))
        return "the number of a flow is 0 to 255";
    flow = &arguments->flow[number];
    if (flow->hops > 0)
        return "there is a flow with this number";
    kind = choose(source_kinds, text_cut(&text, ':'));
    if (kind == HP_NONE)
        return "the kind of a source is p, s or c";
    message = read_source(flow, (enum source_kind)kind, &text);
    if (message != 0)
        return message;
    if (!text_number(text_cut(&text, ':'), MAX_ITEMS, &flow->queue) || flow->queue == 0
        || flow->queue < flow->clients)
        return "a queue has room for 1 to 16384 items, and for all clients";
    flow->first_hop = arguments->hops;
    arguments->flows++;
    return read_hops(arguments, flow, text);
}

/* DOMAIN:PORT:OFFSET:ROOM */
static const char *read_wire(struct arguments *arguments, struct text text) {
    struct wire *wire = &arguments->wire[arguments->wires];
    hp_u64 domain, port;

    if (arguments->wires == MAX_WIRES)
        return "there are more than 32 wires";
    if (!text_number(text_cut(&text, ':'), MOST_DOMAIN, &domain)
        || !text_number(text_cut(&text, ':'), MOST_PORT, &port)
        || !text_number(text_cut(&text, ':'), MOST_OFFSET, &wire->offset)
        || !text_number(text, MAX_ITEMS, &wire->room))
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

static const char *read_choice(const struct choice *choices, struct text value, hp_u32 *chosen) {
    *chosen = choose(choices, value);
    return *chosen == HP_NONE ? "there is no such choice" : 0;
}

struct number_key {
    const char *name;
    hp_u64 *number;
    hp_u64 most;
};

/* A key whose value is a number. */
static const char *read_number(struct arguments *arguments, struct text key, struct text value) {
    const struct number_key keys[] = {
        {"domain", &arguments->domain, MOST_DOMAIN},
        {"vcpus", &arguments->vcpus, DOMAIN_VCPUS},
        {"epoch", &arguments->epoch_ticks, HP_TIME_MAX},
        {"horizon", &arguments->horizon_ns, HP_TIME_MAX},
        {"seed", &arguments->seed, ~0ull},
        {"memory", &arguments->memory_bytes, MEMORY_MOST},
        {"rate", &arguments->rate, RATE_MOST},
        {"loop", &arguments->loop_ns, HP_TIME_MAX},
        {"task-time", &arguments->task_time_ns, HP_TIME_MAX},
        {"task-period", &arguments->task_period_ns, HP_TIME_MAX},
        {"period", &arguments->period_ns, HP_TIME_MAX},
    };

    for (hp_u32 i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (text_is(key, keys[i].name))
            return text_number(value, keys[i].most, keys[i].number)
                       ? 0
                       : "not a number, or too large a one";
    }
    return "there is no such key";
}

static const char *read_word(struct arguments *arguments, struct text word) {
    struct text value = word;
    struct text key = text_cut(&value, '=');
    const char *message;
    hp_u32 chosen;

    if (text_is(key, "task")) {
        if (arguments->tasks == MAX_TASKS)
            return "there are more than 256 tasks";
        message = read_task(&arguments->task[arguments->tasks], value, arguments->tasks);
        arguments->tasks++;
        return message;
    }
    if (text_is(key, "overrun"))
        return read_overrun(arguments, value);
    if (text_is(key, "flow"))
        return read_flow(arguments, value);
    if (text_is(key, "wire"))
        return read_wire(arguments, value);
    if (text_is(key, "workload")) {
        message = read_choice(workloads, value, &chosen);
        if (message == 0)
            arguments->workload = (enum workload)chosen;
        return message;
    }
    if (text_is(key, "scheduler")) {
        message = read_choice(schedulers, value, &chosen);
        if (message == 0)
            arguments->scheduler = (enum domain_scheduler)chosen;
        return message;
    }
    return read_number(arguments, key, value);
}

static hp_u32 is_blank(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == 0;
}

struct arguments_error arguments_read(struct arguments *arguments, struct text text) {
    hp_u64 at = 0;

    while (1) {
        struct text word;
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

static hp_u32 has_wire(const struct arguments *arguments, hp_u32 domain) {
    for (hp_u32 i = 0; i < arguments->wires; i++) {
        if (arguments->wire[i].domain == domain)
            return 1;
    }
    return domain == arguments->domain;
}

/* Of one hop of a flow, if it is in this domain: its task, and the ways from and to there. The
 * domain of the last hop and that of the source must know each other. */
static const char *check_hop(const struct arguments *arguments, const struct flow *flow,
                             hp_u32 hop) {
    const struct hop *hops = &arguments->hop[flow->first_hop];
    hp_u32 next = hop + 1u == flow->hops ? 0 : hop + 1u;
    hp_u32 last = hop == 0 ? flow->hops - 1u : hop - 1u;

    if (hops[hop].domain != arguments->domain)
        return 0;
    if (hops[hop].task >= arguments->tasks || arguments->task[hops[hop].task].kind != TASK_HOP)
        return "a flow passes a task that is no hop";
    if (!has_wire(arguments, hops[next].domain) || !has_wire(arguments, hops[last].domain))
        return "there is no wire to where a flow goes or comes from";
    return 0;
}

static const char *check_flows(const struct arguments *arguments) {
    hp_u64 room = 0, clients = 0;

    for (hp_u32 i = 0; i < MAX_FLOWS; i++) {
        const struct flow *flow = &arguments->flow[i];

        for (hp_u32 hop = 0; hop < flow->hops; hop++) {
            const char *message = check_hop(arguments, flow, hop);

            if (message != 0)
                return message;
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
    const struct text whole = {"arguments", 9};
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
