// SPDX-License-Identifier: BSD-2-Clause
#include "system.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "hosts/linux/shared.h"
#include "words/policies.h"

/*
 * What a decision takes unless the request says so: about what a pick with its lock and record
 * takes on a machine of today, several times over. It keeps periods from being so short that the
 * cpu does nothing but decide (core/vcpu.h).
 */
#define DECISION_NS 5000u

/* The period of a spare that nobody asked for: it has no budget. */
#define SPARE_PERIOD_NS 1000000000u

uint32_t lock_domains(const struct system *system) {
    return system->global ? 1 : (uint32_t)__builtin_popcountll(system->cpus);
}

uint32_t cpu_at(const struct system *system, uint32_t place) {
    uint64_t left = system->cpus;

    for (; place > 0; place--)
        left &= left - 1;
    return (uint32_t)__builtin_ctzll(left);
}

uint32_t find_server(const struct system *system, const char *name) {
    uint32_t number = 0;

    while (number < SERVER_LIMIT
           && !(system->server[number].present && strcmp(system->server[number].name, name) == 0))
        number++;
    return number;
}

const char *refusal(enum hp_error error) {
    switch (error) {
    case HP_OK:
        return "";
    case HP_ERROR_POLICY:
        return "found rules that do not go together on so many cpus, allowed: docs/policies.md";
    case HP_ERROR_PCPUS:
        return "found no cpu, or too many, allowed: 1 to 64";
    case HP_ERROR_VCPU:
        return "found one server too many, allowed: 64 of each cpu, or 64 under a global policy";
    case HP_ERROR_PRESENT:
        return "found a server that is there already, allowed: each once";
    case HP_ERROR_PERIOD:
        return "period_ns: found none, or one that is too long, allowed: 1 to 2^62 - 1";
    case HP_ERROR_BUDGET:
        return "budget_ns: found none, or more than the period, allowed: 1 to the period";
    case HP_ERROR_QUANTUM:
        return "period_ns, budget_ns: found no multiple of the quantum, allowed: multiples of it";
    case HP_ERROR_PRIORITY:
        return "priority: found one above 16777215, allowed: 0 to 16777215";
    case HP_ERROR_SPARE:
        return "spare_period_ns: found none, less than spare_budget_ns, or one so short that "
               "deciding "
               "would take more than a quarter of the time, allowed: a longer one";
    case HP_ERROR_FLAGS:
        return "best_effort: found a period or a budget with it, or a server that was not best "
               "effort, allowed: a weight alone, from the beginning";
    case HP_ERROR_WEIGHT:
        return "weight: found one of a server with a budget, allowed: of best effort";
    case HP_ERROR_SHORT:
        return "budget_ns: found less than a decision takes, allowed: at least decision_ns";
    case HP_ERROR_RATE:
        return "period_ns: found periods so short that deciding would take more than half the "
               "time, allowed: longer ones, or fewer servers on this cpu";
    }
    return "found what the core does not know";
}

static bool refuses(struct text *problem, enum hp_error error) {
    if (error == HP_OK)
        return false;
    add(problem, "%s", refusal(error));
    return true;
}

/* --- policies -------------------------------------------------------------------------------- */

static bool find_policy(const char *words, struct word_policy *policy, struct text *problem) {
    char allowed[512];

    if (word_policy(word_of(words), policy))
        return true;
    word_put_policies(allowed, allowed + sizeof(allowed) - 1);
    add(problem, "name: found '");
    add_shown(problem, words, strlen(words));
    add(problem, "', allowed: %s", allowed);
    return false;
}

static uint32_t pcpus_of_domain(const struct system *system) {
    return system->global ? (uint32_t)__builtin_popcountll(system->cpus) : 1;
}

bool read_policy(const struct system *system, const char *words, struct hp_policy *policy,
                 struct text *problem) {
    struct word_policy found;

    if (!find_policy(words, &found, problem))
        return false;
    *policy = found.rules;
    if (found.scope == WORD_SCOPE_global && !system->global) {
        add(problem, "name: found a global policy, allowed: one for each cpu by itself");
        return false;
    }
    return hp_policy_legal(policy, pcpus_of_domain(system)) || !refuses(problem, HP_ERROR_POLICY);
}

bool set_policy(struct system *system, const struct request *request, struct text *problem) {
    static struct system wanted; /* too large for a stack */
    struct word_policy found;

    memset(&wanted, 0, sizeof(wanted));
    wanted.cpus = request->number[KEY_PCPUS];
    if (!request->given[KEY_NAME] || !request->given[KEY_PCPUS]) {
        add(problem, "policy: found no %s, allowed: name=... pcpus=...",
            request->given[KEY_NAME] ? "pcpus" : "name");
        return false;
    }
    if (!find_policy(request->word[KEY_NAME], &found, problem))
        return false;
    wanted.config.policy = found.rules;
    wanted.global =
        request->given[KEY_GLOBAL] ? request->number[KEY_GLOBAL] : found.scope == WORD_SCOPE_global;
    if (found.scope == WORD_SCOPE_one && __builtin_popcountll(wanted.cpus) != 1) {
        add(problem, "pcpus: found several, allowed: one under %s", request->word[KEY_NAME]);
        return false;
    }
    wanted.config.pcpus = pcpus_of_domain(&wanted);
    wanted.config.reports_saved = wanted.global;
    wanted.config.quantum_ns = request->number[KEY_QUANTUM];
    wanted.config.decision_ns =
        request->given[KEY_DECISION] ? request->number[KEY_DECISION] : DECISION_NS;
    wanted.config.spare_period_ns =
        request->given[KEY_SPARE_PERIOD] ? request->number[KEY_SPARE_PERIOD] : SPARE_PERIOD_NS;
    wanted.config.spare_budget_ns = request->number[KEY_SPARE_BUDGET];
    if (refuses(problem, hp_init(&wanted.core[0], &wanted.config, 0)))
        return false;
    for (uint32_t lock = 1; lock < lock_domains(&wanted); lock++)
        hp_init(&wanted.core[lock], &wanted.config, 0);
    wanted.has_policy = true;
    *system = wanted;
    return true;
}

bool swap_policy(struct system *system, const struct hp_policy *policy, struct text *problem) {
    for (uint32_t lock = 0; lock < lock_domains(system); lock++)
        if (refuses(problem, hp_set_policy(&system->core[lock], policy, 0)))
            return false; /* the first one says so, if any does: they are all configured alike */
    system->config.policy = *policy;
    return true;
}

/* --- servers --------------------------------------------------------------------------------- */

struct hp_params asked_params(const struct hp_params *now, const struct request *request) {
    struct hp_params params = *now;

    if (request->given[KEY_PERIOD])
        params.period_ns = request->number[KEY_PERIOD];
    if (request->given[KEY_BUDGET])
        params.budget_ns = request->number[KEY_BUDGET];
    if (request->given[KEY_PRIORITY])
        params.priority = (hp_u32)request->number[KEY_PRIORITY];
    if (request->given[KEY_WEIGHT])
        params.weight = (hp_u32)request->number[KEY_WEIGHT];
    if (request->given[KEY_EXTRA])
        params.flags = (params.flags & ~HP_EXTRA) | (request->number[KEY_EXTRA] ? HP_EXTRA : 0);
    if (request->number[KEY_BEST_EFFORT])
        params.flags |= HP_BEST_EFFORT;
    return params;
}

/* The lock domain that the server's cpu belongs to. */
static bool find_home(const struct system *system, const struct request *request,
                      struct server *server, struct text *problem) {
    const uint64_t home = request->number[KEY_PCPU];

    server->cpu = HOME_GLOBAL;
    server->lock = 0;
    if (system->global) {
        if (!request->given[KEY_PCPU] || home == HOME_GLOBAL)
            return true;
        add(problem, "pcpu: found %llu, allowed: global, as the policy is",
            (unsigned long long)home);
        return false;
    }
    if (!request->given[KEY_PCPU] || home == HOME_GLOBAL || !(system->cpus >> home & 1u)) {
        add(problem, "pcpu: found %s, allowed: one of the policy's pcpus",
            !request->given[KEY_PCPU] ? "none"
            : home == HOME_GLOBAL     ? "global"
                                      : "another one");
        return false;
    }
    server->cpu = (uint32_t)home;
    server->lock = (uint32_t)__builtin_popcountll(system->cpus & ((1ull << home) - 1));
    return true;
}

bool bind_server(const struct system *system, struct server *server, const struct request *request,
                 struct text *problem) {
    const uint64_t asked = request->number[KEY_PCPUS];

    if (!request->given[KEY_PCPUS])
        return true;
    if (!system->global)
        add(problem, "pcpus: found some, allowed: pcpu=, as the policy is for each cpu by itself");
    else if (asked & ~system->cpus)
        add(problem, "pcpus: found %u, allowed: the policy's pcpus",
            (unsigned int)__builtin_ctzll(asked & ~system->cpus));
    else
        server->cpus = asked == system->cpus ? 0 : asked;
    return system->global && !(asked & ~system->cpus);
}

static bool find_users(const struct request *request, struct server *server, struct text *problem) {
    const char *word = request->word[KEY_USERS];
    const struct group *group;
    hp_u64 number;

    server->users = USERS_NONE;
    if (word == NULL || strcmp(word, "none") == 0)
        return true;
    group = getgrnam(word);
    if (strcmp(word, "all") == 0) {
        server->users = USERS_ALL;
    } else if (group != NULL) {
        server->users = group->gr_gid;
    } else if (word_number(word_of(word), UINT32_MAX, &number)) {
        server->users = (long long)number;
    } else {
        add(problem, "users: found '%s', allowed: all, none or a group", word);
        return false;
    }
    return true;
}

/* The lowest number that no server of this lock domain has. */
static uint32_t free_number(const struct system *system, uint32_t lock) {
    uint64_t taken = 0;

    for (uint32_t i = 0; i < SERVER_LIMIT; i++)
        if (system->server[i].present && system->server[i].lock == lock)
            taken |= 1ull << system->server[i].number;
    return ~taken == 0 ? HP_VCPUS : (uint32_t)__builtin_ctzll(~taken);
}

bool add_server(struct system *system, const struct request *request, uint32_t *number,
                struct text *problem) {
    const struct hp_params none = {.priority = HP_PRIORITY_MAX};
    struct server server = {
        .present = true,
        /* Threads that know nothing of servers may run without end: then turns serve them all. */
        .inside = request->given[KEY_INSIDE] ? (uint32_t)request->number[KEY_INSIDE] : LX_TURNS,
    };

    if (find_server(system, request->name) != SERVER_LIMIT) {
        add(problem, "server: found %s already there, allowed: set, or another name",
            request->name);
        return false;
    }
    for (*number = 0; *number < SERVER_LIMIT && system->server[*number].present;)
        ++*number;
    if (*number == SERVER_LIMIT) {
        add(problem, "server: found %u already, allowed: so many", SERVER_LIMIT);
        return false;
    }
    if (!find_home(system, request, &server, problem)
        || !bind_server(system, &server, request, problem)
        || !find_users(request, &server, problem))
        return false;
    memcpy(server.name, request->name, sizeof(server.name));
    server.number = free_number(system, server.lock);
    if (request->given[KEY_SERVER_NUMBER]) {
        server.number = (uint32_t)request->number[KEY_SERVER_NUMBER];
        if (hp_present(&system->core[server.lock], server.number)) {
            add(problem, "number: found %u, which another server has, allowed: one that is free",
                server.number);
            return false;
        }
    }
    server.params = asked_params(&none, request);
    if (server.params.flags & HP_BEST_EFFORT)
        server.params.priority = 0;
    if (refuses(problem, hp_add(&system->core[server.lock], server.number, &server.params, 0)))
        return false;
    system->server[*number] = server;
    return true;
}

/* A core that decides nothing has no next period in which new parameters would count: the server
 * goes, and comes with the new ones, or again with the old ones. */
bool change_server(struct system *system, uint32_t number, const struct hp_params *params,
                   struct text *problem) {
    struct server *server = &system->server[number];
    struct hp_core *core = &system->core[server->lock];
    const hp_u32 other_kind = (params->flags ^ server->params.flags) & HP_BEST_EFFORT;
    enum hp_error error;

    if (other_kind)
        return !refuses(problem, HP_ERROR_FLAGS);
    hp_remove(core, server->number, 0);
    error = hp_add(core, server->number, params, 0);
    if (error)
        hp_add(core, server->number, &server->params, 0);
    else
        server->params = *params;
    return !refuses(problem, error);
}

void remove_server(struct system *system, uint32_t number) {
    struct server *server = &system->server[number];

    for (uint32_t i = system->member_count; i > 0; i--)
        if (system->member[i - 1].server == number)
            system->member[i - 1] = system->member[--system->member_count];
    hp_remove(&system->core[server->lock], server->number, 0);
    server->present = false;
}

void clear_system(struct system *system) {
    memset(system, 0, sizeof(*system));
}
