// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include "kernel.h"
#include "perform.h"
#include "words/policies.h"

#define SHOWN_OF_PATTERN 32u /* cgroups; all would be too much for an answer */

typedef unsigned long long wide; /* as %llu has it */

static const char *truth(bool is_so) {
    return is_so ? "true" : "false";
}

static void add_policy(struct text *answer, const struct system *system) {
    const struct hp_config *config = &system->config;
    char rules[64];

    word_put_rules(rules, rules + sizeof(rules) - 1, &config->policy);
    add(answer,
        "\"policy\": {\"rules\": \"%s\", \"global\": %s, \"quantum_ns\": %llu, "
        "\"decision_ns\": %llu, \"spare_period_ns\": %llu, \"spare_budget_ns\": %llu}",
        rules, truth(system->global), config->quantum_ns, config->decision_ns,
        config->spare_period_ns, config->spare_budget_ns);
}

/* Waits by their length: classes up to the last one that has any. */
static void add_waits(struct text *answer, const struct lx_waits *waits) {
    uint32_t classes = LX_WAITS;
    wide count = 0;

    while (classes > 0 && waits->counts[classes - 1] == 0)
        classes--;
    add(answer, ", \"wakeup_counts\": [");
    for (uint32_t i = 0; i < classes; i++) {
        add(answer, "%s%llu", i > 0 ? ", " : "", waits->counts[i]);
        count += waits->counts[i];
    }
    add(answer,
        "], \"wakeups\": %llu, \"wakeup_ns\": %llu, \"wakeup_ns_max\": %llu, "
        "\"wakeups_depleted\": %llu",
        count, waits->total_ns, waits->max_ns, waits->depleted);
}

static void add_usage(struct text *answer, const struct lx_look *look) {
    const struct lx_usage *usage = &look->usage;

    add(answer,
        ", \"used_ns\": %llu, \"donated_ns\": %llu, \"extra_ns\": %llu, \"stolen_ns\": %llu, "
        "\"overrun_ns\": %llu, \"overrun_ns_max\": %llu, \"overruns\": %u, \"thefts\": %u, "
        "\"arrivals\": %u, \"runnable\": %u, \"remaining_ns\": %lld, \"now_ns\": %llu",
        usage->used_ns, usage->donated_ns, usage->extra_ns, usage->stolen_ns, usage->overrun_ns,
        usage->overrun_ns_max, usage->overruns, usage->thefts, usage->arrivals, usage->threads,
        look->remaining_ns, look->now_ns);
    add(answer, ", \"periods\": %llu, \"short_periods\": %llu", usage->periods, usage->shorts);
    if (usage->periods > 0)
        add(answer, ", \"supplied_ns_min\": %llu", usage->supplied_ns);
    add_waits(answer, &look->waits);
    if (look->runs_at != LX_NOBODY)
        add(answer, ", \"runs_at\": %u", look->runs_at);
}

/* The numbers of cpus, in a list. */
static void add_cpus(struct text *answer, uint64_t cpus) {
    const char *between = "";

    add(answer, "[");
    for (; cpus != 0; cpus &= cpus - 1) {
        add(answer, "%s%u", between, (unsigned int)__builtin_ctzll(cpus));
        between = ", ";
    }
    add(answer, "]");
}

/* What a pattern brings now: how many, and the first of them. */
static void add_brought(struct text *answer, const struct system *system,
                        const struct member *pattern) {
    uint32_t count = 0;

    add(answer, ", \"matching\": [");
    for (uint32_t i = 0; i < system->member_count; i++) {
        if (system->member[i].brought != pattern->pattern)
            continue;
        if (count < SHOWN_OF_PATTERN) {
            add(answer, count > 0 ? ", " : "");
            add_quoted(answer, system->member[i].path);
        }
        count++;
    }
    add(answer, "], \"matches\": %u", count);
    if (pattern->left_out > 0)
        add(answer, ", \"left_out\": %u", pattern->left_out);
}

static void add_member(struct text *answer, const struct system *system,
                       const struct member *member) {
    if (member->kind == BY_CGROUP) {
        add(answer, "{\"cgroup\": ");
        add_quoted(answer, member->path);
        if (member->pattern != 0)
            add_brought(answer, system, member);
        else if (member->id == 0)
            add(answer, ", \"waits\": true");
    } else {
        add(answer, "{\"%s\": %llu", member->kind == BY_PROCESS ? "pid" : "thread",
            (wide)member->id);
        if (member->key != LX_OWN)
            add(answer, ", \"key\": %llu", (wide)member->key);
    }
    add(answer, "}");
}

static void add_server_of(struct text *answer, const struct system *system, uint32_t number) {
    const struct server *server = &system->server[number];
    struct lx_look look;

    add(answer, "{\"name\": ");
    add_quoted(answer, server->name);
    if (server->cpu != HOME_GLOBAL)
        add(answer, ", \"pcpu\": %u", server->cpu);
    if (server->cpus != 0) {
        add(answer, ", \"pcpus\": ");
        add_cpus(answer, server->cpus);
    }
    if (server->params.flags & HP_BEST_EFFORT)
        add(answer, ", \"best_effort\": true, \"weight\": %u", server->params.weight);
    else
        add(answer, ", \"period_ns\": %llu, \"budget_ns\": %llu, \"priority\": %u, \"extra\": %s",
            server->params.period_ns, server->params.budget_ns, server->params.priority,
            truth(server->params.flags & HP_EXTRA));
    add(answer, ", \"inside\": \"%s\"", inside_word(server->inside));
    if (system->running && kernel_look(system, number, &look))
        add_usage(answer, &look);
    add(answer, ", \"members\": [");
    const char *between = "";
    for (uint32_t i = 0; i < system->member_count; i++) {
        const struct member *member = &system->member[i];
        if (member->server != number || member->brought != 0)
            continue;
        add(answer, "%s", between);
        add_member(answer, system, member);
        between = ", ";
    }
    add(answer, "]}");
}

static void add_programs(struct text *answer) {
    const char *between = "";
    struct spent spent;

    add(answer, ", \"programs\": [");
    for (uint32_t number = 0; kernel_spent(number, &spent); number++) {
        if (spent.runs == 0)
            continue;
        add(answer, "%s{\"name\": ", between);
        add_quoted(answer, spent.name);
        add(answer, ", \"runs\": %llu, \"ns\": %llu}", (wide)spent.runs, (wide)spent.ns);
        between = ", ";
    }
    add(answer, "]");
}

void add_status(struct text *answer, const struct system *system) {
    const struct lx_state *state = kernel_state();
    const char *between = "";

    add(answer, "\"pid\": %d, \"clock_ns\": %llu, \"running\": %s, \"recording\": %s", getpid(),
        (wide)kernel_clock_ns(), truth(system->running), truth(system->recording));
    add(answer, ", \"ends\": %u, \"ended\": ", system->ends);
    add_quoted(answer, system->ended);
    if (system->again_ns != 0)
        add(answer, ", \"again_ns\": %llu", (wide)system->again_ns);
    if (state != NULL) {
        add(answer,
            ", \"base_ns\": %llu, \"parked\": %llu, \"strays\": %llu, \"refused\": %u, "
            "\"lost\": %llu, \"lock_looks_max\": %llu",
            state->base_ns, state->parked, state->strays, system->refused, state->lost,
            state->rounds);
        add_programs(answer);
    }
    if (!system->has_policy)
        return;
    add(answer, ", ");
    add_policy(answer, system);
    add(answer, ", \"cpus\": ");
    add_cpus(answer, system->cpus);
    add(answer, ", \"servers\": [");
    for (uint32_t i = 0; i < SERVER_LIMIT; i++) {
        if (!system->server[i].present)
            continue;
        add(answer, "%s", between);
        add_server_of(answer, system, i);
        between = ", ";
    }
    add(answer, "]");
}
