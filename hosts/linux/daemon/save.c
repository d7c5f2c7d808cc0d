// SPDX-License-Identifier: BSD-2-Clause
#include "save.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hosts/linux/shared.h"
#include "log.h"
#include "words/policies.h"

typedef unsigned long long wide; /* as %llu has it */

/* The form of pcpus=. */
static void write_cpus(FILE *to, uint64_t cpus) {
    const char *before = " pcpus=";

    for (; cpus != 0; cpus &= cpus - 1) {
        fprintf(to, "%s%u", before, (unsigned int)__builtin_ctzll(cpus));
        before = ",";
    }
}

static void write_policy(FILE *to, const struct system *system) {
    const struct hp_config *config = &system->config;
    char rules[64];

    word_put_rules(rules, rules + sizeof(rules) - 1, &config->policy);
    fprintf(to, "policy name=%s global=%u", rules, system->global);
    write_cpus(to, system->cpus);
    fprintf(to, " quantum_ns=%llu decision_ns=%llu spare_period_ns=%llu spare_budget_ns=%llu\n",
            config->quantum_ns, config->decision_ns, config->spare_period_ns,
            config->spare_budget_ns);
}

static void write_server(FILE *to, const struct system *system, const struct server *server) {
    const struct hp_params *params = &server->params;

    fprintf(to, "server %s number=%u", server->name, server->number);
    if (server->cpu != HOME_GLOBAL)
        fprintf(to, " pcpu=%u", server->cpu);
    write_cpus(to, server->cpus);
    if (params->flags & HP_BEST_EFFORT)
        fprintf(to, " best_effort=1 weight=%u", params->weight);
    else
        fprintf(to, " period_ns=%llu budget_ns=%llu priority=%u", params->period_ns,
                params->budget_ns, params->priority);
    fprintf(to, " extra=%u inside=%s", (params->flags & HP_EXTRA) != 0,
            inside_word(server->inside));
    if (server->users == USERS_ALL)
        fputs(" users=all", to);
    else if (server->users != USERS_NONE)
        fprintf(to, " users=%lld", server->users);
    fputs(system->forced ? " force=1\n" : "\n", to);
}

/* Equal servers have their turns by their numbers. */
static void write_servers(FILE *to, const struct system *system) {
    for (uint32_t i = 0; i < SERVER_LIMIT; i++)
        if (system->server[i].present)
            write_server(to, system, &system->server[i]);
}

/* The pattern that comes next after this number, or NULL. */
static const struct member *next_pattern(const struct system *system, uint32_t after) {
    const struct member *next = NULL;

    for (uint32_t i = 0; i < system->member_count; i++) {
        const struct member *member = &system->member[i];
        if (member->pattern > after && (next == NULL || member->pattern < next->pattern))
            next = member;
    }
    return next;
}

static bool is_self(const struct member *member) {
    return member->kind == BY_PROCESS && member->id == (uint64_t)getpid();
}

/* A process or thread of this machine, which is another if it began at another time. */
static void write_task(FILE *to, const char *name, const struct member *member) {
    if (is_self(member))
        fprintf(to, "attach %s pid=self", name);
    else
        fprintf(to, "attach %s %s=%llu born=%llu", name,
                member->kind == BY_PROCESS ? "pid" : "thread", (wide)member->id,
                (wide)member->born - 1);
    if (member->key != LX_OWN)
        fprintf(to, " key=%llu", (wide)member->key);
    if (member->user != USERS_NONE)
        fprintf(to, " user=%lld", member->user);
    fputc('\n', to);
}

/* All of them, or those whose names last; *left_out is how many do not. */
static void write_members(FILE *to, const struct system *system, bool all, uint32_t *left_out) {
    const struct member *member = system->member;

    *left_out = 0;
    for (; member < system->member + system->member_count; member++) {
        const char *name = system->server[member->server].name;
        if (member->kind == BY_CGROUP && member->pattern == 0 && member->brought == 0) {
            fprintf(to, "attach %s cgroup=%s wait=1\n", name, member->path);
        } else if (member->kind != BY_CGROUP) {
            *left_out += !is_self(member);
            if (is_self(member) || all)
                write_task(to, name, member);
        }
    }
    for (member = next_pattern(system, 0); member != NULL;
         member = next_pattern(system, member->pattern))
        fprintf(to, "attach %s cgroup=%s\n", system->server[member->server].name, member->path);
}

static void write_requests(FILE *to, const struct system *system, bool all, uint32_t *left_out) {
    write_policy(to, system);
    write_servers(to, system);
    write_members(to, system, all, left_out);
    if (system->recording)
        fputs("record on\n", to);
    if (system->running || system->again_ns != 0)
        fputs(system->forced ? "start force=1\n" : "start\n", to);
}

static const char *kept;

void keep_requests_at(const char *path) {
    kept = path;
}

void keep_requests(const struct system *system) {
    uint32_t left_out;
    char new[512];

    if (kept == NULL)
        return;
    snprintf(new, sizeof(new), "%s.new", kept);
    const mode_t before = umask(0077);
    FILE *to = fopen(new, "we");
    umask(before);
    if (to != NULL && system->has_policy)
        write_requests(to, system, true, &left_out);
    if (to == NULL || fclose(to) != 0 || rename(new, kept) != 0)
        say(LOG_ERR, "--keep: %s: %s; a daemon that comes after this one knows nothing of this",
            new, strerror(errno));
}

int save_requests(const struct system *system, uint32_t *left_out) {
    const int file = memfd_create("requests", MFD_CLOEXEC);
    const int copy = file < 0 ? -1 : dup(file);
    FILE *to = copy < 0 ? NULL : fdopen(copy, "w");

    if (to == NULL) {
        close(copy);
        close(file);
        return -1;
    }
    write_requests(to, system, false, left_out);
    if (fclose(to) != 0) {
        close(file);
        return -1;
    }
    lseek(file, 0, SEEK_SET);
    return file;
}
