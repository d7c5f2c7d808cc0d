// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the words of arguments.h.

#include "guests/executive/arguments.h"

#include "hosts/xen/ring.h"

/* Room for the image, the ring's header and one record. */
#define MEMORY_LEAST ((4ull << 20) + 4096u)
#define MEMORY_MOST (3ull << 30)
#define RATE_MOST 1000000u

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
    {"rm", DOMAIN_RANKED}, {"dm", DOMAIN_RANKED}, {"fp", DOMAIN_RANKED},
    {"edf", DOMAIN_EDF},   {"fifo", DOMAIN_FIFO}, {0, 0},
};

static const struct choice kinds[] = {
    {"p", TASK_PERIODIC}, {"s", TASK_SPORADIC}, {"b", TASK_BUSY}, {"e", TASK_EVENT}, {0, 0},
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
        return "the kind of a task is p, s, b or e";
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
        {"domain", &arguments->domain, 0xffff},
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

struct arguments_error arguments_check(const struct arguments *arguments) {
    const struct text whole = {"arguments", 9};
    const char *message = check_tasks(arguments);

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
