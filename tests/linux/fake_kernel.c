// SPDX-License-Identifier: BSD-2-Clause
/*
 * A kernel that writes down what it is told, in place of daemon/kernel.c.
 *
 * Each call that changes something is a line of the file that FAKE_KERNEL names. If the file with
 * ".refuse" behind its name is there, its first line is what the kernel answers to every such
 * call; if the file with ".ended" is there, the kernel has ended the scheduler for the reason in
 * its first line, because of an error unless that is "disabled by sysrq-S". What time it is (ns) is
 * said by the file with ".clock". What /sys/fs/cgroup is to others is the folder with ".cgroups". A
 * server has used 1 ms, and as much more as its id; it had 5 whole periods, of which 2 were short,
 * and 4 waits of up to 4 us. The kernel has two programs, of which one has run. The machine can
 * have the cpus 0 to 62.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"

#define BASE_NS 5000000000ull
#define USED_NS 1000000ull
#define EXIT_SYSRQ 67u
#define EXIT_STALL 1026u

static struct lx_state state;
static bool loaded;

/* The first line of the file with this ending, or NULL if there is none. */
static const char *first_line(const char *ending) {
    static char line[256];
    char path[512];

    snprintf(path, sizeof(path), "%s%s", getenv("FAKE_KERNEL"), ending);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    if (fgets(line, sizeof(line), file) == NULL)
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    fclose(file);
    return line;
}

static const char *__attribute__((format(printf, 1, 2))) told(const char *format, ...) {
    const char *refuses = first_line(".refuse");
    va_list arguments;

    if (refuses != NULL)
        return refuses;
    FILE *file = fopen(getenv("FAKE_KERNEL"), "ae");
    if (file == NULL)
        abort();
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fclose(file);
    return NULL;
}

static uint32_t id_of(const struct system *system, uint32_t server) {
    return LX_ID(system->server[server].lock, system->server[server].number);
}

void kernel_keep(const char *folder, bool known) {
    told("keep %s known=%u", folder, known);
}

const char *kernel_open(const char *object, uint32_t locks, bool *lacks) {
    (void)locks;
    *lacks = access(object, R_OK) != 0;
    return *lacks ? "kernel: found no sched_ext, allowed: Linux 6.16 or later" : NULL;
}

static const char *tell_server(const struct system *system, uint32_t number, const char *verb) {
    const struct server *server = &system->server[number];

    return told("%s %u inside=%u period_ns=%llu budget_ns=%llu priority=%u flags=%u weight=%u "
                "cpus=%llx",
                verb, id_of(system, number), server->inside, server->params.period_ns,
                server->params.budget_ns, server->params.priority, server->params.flags,
                server->params.weight, (unsigned long long)server->cpus);
}

static const char *tell_member(const struct system *system, const struct member *member,
                               const char *verb) {
    static const char *const kinds[] = {"cgroup", "pid", "thread"};

    return told("%s %u %s=%llu key=%lld", verb, id_of(system, member->server), kinds[member->kind],
                (unsigned long long)member->id, (long long)member->key);
}

const char *kernel_load(const struct system *system) {
    (void)system;
    return told("load");
}

const char *kernel_start(const struct system *system, uint64_t epoch_ns) {
    const struct hp_policy *policy = &system->config.policy;
    const char *why =
        told("start %u.%u.%u global=%u cpus=%llx recording=%u", policy->budget, policy->order,
             policy->slack, system->global, (unsigned long long)system->cpus, system->recording);

    for (uint32_t i = 0; i < SERVER_LIMIT && why == NULL; i++)
        if (system->server[i].present)
            why = tell_server(system, i, "add");
    for (uint32_t i = 0; i < system->member_count && why == NULL; i++)
        why = tell_member(system, &system->member[i], "attach");
    loaded = why == NULL;
    state.attached = loaded;
    state.base_ns = epoch_ns != 0 ? epoch_ns : BASE_NS;
    return why;
}

uint64_t kernel_clock_ns(void) {
    const char *now = first_line(".clock");

    return now != NULL ? strtoull(now, NULL, 10) : BASE_NS;
}

/* Where a cgroup's folder is. */
static const char *folder_of(const char *path) {
    static char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%s.cgroups%s", getenv("FAKE_KERNEL"),
             path + strlen("/sys/fs/cgroup"));
    return folder;
}

uint64_t kernel_cgroup(const char *path) {
    struct stat folder;

    return stat(folder_of(path), &folder) == 0 ? folder.st_ino : 0;
}

DIR *kernel_folder(const char *path) {
    return opendir(folder_of(path));
}

uint64_t kernel_cpus(void) {
    return ~0ull >> 1;
}

int kernel_wishes(void) {
    return -1;
}

bool kernel_wish(struct lx_wish *wish) {
    (void)wish;
    return false;
}

void kernel_stop(void) {
    if (state.attached)
        told("stop");
    state.attached = 0;
}

void kernel_close(void) {
    kernel_stop();
    loaded = false;
}

bool kernel_runs(struct text *why) {
    const char *ended = first_line(".ended");

    if (ended == NULL)
        return true;
    add(why, "%s", ended);
    state.exit_kind = strcmp(ended, "disabled by sysrq-S") == 0 ? EXIT_SYSRQ : EXIT_STALL;
    return false;
}

const char *kernel_add(const struct system *system, uint32_t server) {
    return tell_server(system, server, "add");
}

const char *kernel_change(const struct system *system, uint32_t server) {
    return tell_server(system, server, "change");
}

const char *kernel_remove(const struct system *system, uint32_t server) {
    return told("remove %u", id_of(system, server));
}

const char *kernel_swap(const struct system *system) {
    const struct hp_policy *policy = &system->config.policy;

    return told("swap %u.%u.%u", policy->budget, policy->order, policy->slack);
}

const char *kernel_attach(const struct system *system, const struct member *member) {
    return tell_member(system, member, "attach");
}

const char *kernel_detach(const struct system *system, const struct member *member) {
    return tell_member(system, member, "detach");
}

void kernel_record(bool on) {
    told("record %u", on);
}

const struct lx_state *kernel_state(void) {
    return loaded ? &state : NULL;
}

bool kernel_look(const struct system *system, uint32_t server, struct lx_look *look) {
    const uint32_t id = id_of(system, server);

    *look = (struct lx_look){
        .server = id,
        .present = 1,
        .runs_at = id,
        .usage = {.used_ns = USED_NS * (1 + id), .periods = 5, .shorts = 2, .supplied_ns = 7},
        .waits = {.depleted = 1, .total_ns = 9000, .max_ns = 4000, .counts = {1, 0, 3}}};
    return loaded;
}

bool kernel_spent(uint32_t number, struct spent *spent) {
    static const struct spent programs[] = {{"idle", 0, 0}, {"busy", 3, 1500}};

    if (!loaded || number >= sizeof(programs) / sizeof(programs[0]))
        return false;
    *spent = programs[number];
    return true;
}

int kernel_rings(const struct system *system) {
    const int file = loaded ? memfd_create("rings", MFD_CLOEXEC) : -1;

    if (file >= 0 && dprintf(file, "rings of %u", lock_domains(system)) > 0)
        lseek(file, 0, SEEK_SET);
    return file;
}
