// SPDX-License-Identifier: BSD-2-Clause
#include "hook.h"

#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "client.h"
#include "json.h"
#include "words/words.h"

#ifndef PROC
#define PROC "/proc"
#endif

#define STATE_BYTES 0x200000u /* annotations of Kubernetes have at most 256 KiB before escapes */
#define ID_BYTES 1024u
#define WORD_BYTES 256u
#define SHOWN_BYTES 60u
#define PATH_BYTES 512u
#define NAME_BYTES 64u   /* of a server, with the zero at its end (daemon/request.h) */
#define OF_ID 12         /* so many letters of an id are a name, as tools of containers show it */
#define LAST 16777215ull /* the priority after all others (HP_PRIORITY_MAX) */
#define NAMES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* A container as its state says that it is. */
struct container {
    char id[ID_BYTES];
    int process;
    bool is_over;
    char server[NAME_BYTES];
    bool has_own; /* the server is its own */
    hp_u64 budget_ns, period_ns, priority;
};

static char answer[ANSWER_BYTES + 1];

/* Says it on standard error, which some runtimes throw away, and in the system's log. */
static void __attribute__((format(printf, 1, 2))) say(const char *format, ...) {
    char line[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", line);
    syslog(LOG_ERR, "%s", line);
}

/* Says what was found, of which bytes that are no printable ASCII are dots, and what is allowed. */
static bool refuse(const char *key, const char *found, const char *allowed) {
    char shown[SHOWN_BYTES + 1];
    size_t length = 0;

    for (; found[length] != 0 && length < SHOWN_BYTES; length++)
        shown[length] = '.';
    for (size_t i = 0; i < length; i++)
        if (found[i] >= 0x20 && found[i] < 0x7f)
            shown[i] = found[i];
    shown[length] = 0;
    say("hyperperiodctl: %s: found '%s', allowed: %s", key, shown, allowed);
    return false;
}

/* --- what the container asks for ------------------------------------------------------------- */

static bool read_budget(struct container *container, const char *word) {
    struct word rest = word_of(word);
    const struct word budget = word_cut(&rest, '/');

    return (rest.start != NULL && word_time(budget, &container->budget_ns)
            && word_time(rest, &container->period_ns))
           || refuse("hyperperiod.budget", word,
                     "BUDGET/PERIOD in whole ns, us, ms or s, such as 3ms/10ms");
}

static bool read_name(struct container *container, const char *word) {
    const size_t length = strlen(word);

    if (length == 0 || length >= NAME_BYTES || strspn(word, NAMES) != length)
        return refuse("hyperperiod.server", word, "a name of up to 63 letters, digits and _ . -");
    memcpy(container->server, word, length + 1);
    return true;
}

/* The annotation with this name, or NULL; one that is too long or no string is a wrong one. */
static const char *annotation(const char *annotations, const char *name, char *word) {
    const char *value = json_value(annotations, name);

    if (value == NULL)
        return NULL;
    if (!json_string(value, word, WORD_BYTES))
        strcpy(word, "?");
    return word;
}

/* What the annotations ask for; the server has no name if they ask for nothing. */
static bool read_wishes(struct container *container, const char *annotations) {
    char word[WORD_BYTES];
    const char *budget = annotation(annotations, "hyperperiod.budget", word);

    container->has_own = budget != NULL;
    if (budget != NULL && !read_budget(container, budget))
        return false;
    container->priority = LAST;
    const char *priority = annotation(annotations, "hyperperiod.priority", word);
    if (priority != NULL && !container->has_own)
        return refuse("hyperperiod.priority", priority, "beside hyperperiod.budget");
    if (priority != NULL && !word_number(word_of(priority), LAST, &container->priority))
        return refuse("hyperperiod.priority", priority, "0 to 16777215, of which 0 is first");
    const char *name = annotation(annotations, "hyperperiod.server", word);
    if (name != NULL)
        return read_name(container, name);
    if (container->has_own)
        snprintf(word, sizeof(word), "%.*s", OF_ID, container->id);
    return !container->has_own || read_name(container, word);
}

static bool read_state(struct container *container) {
    static char state[STATE_BYTES + 1];
    const size_t length = fread(state, 1, STATE_BYTES, stdin);
    char status[WORD_BYTES] = "";
    unsigned long long process = 0;

    state[length] = 0;
    if (strlen(state) != length || length == STATE_BYTES
        || !json_string(json_value(state, "id"), container->id, sizeof(container->id))
        || !json_string(json_value(state, "status"), status, sizeof(status))
        || strlen(container->id) == 0)
        return refuse("standard input", state,
                      "the state of a container, as the OCI runtime specification has it");
    container->is_over = strcmp(status, "stopped") == 0;
    if (json_number(json_value(state, "pid"), &process) && process <= INT32_MAX)
        container->process = (int)process;
    return read_wishes(container, json_value(state, "annotations"));
}

/* Its cgroup (version 2), which must be its own: it has the id in its path. */
static bool find_cgroup(const struct container *container, char path[PATH_BYTES]) {
    char name[64];
    bool found = false;

    snprintf(name, sizeof(name), PROC "/%d/cgroup", container->process);
    FILE *file = fopen(name, "re");
    while (!found && file != NULL && fgets(path, PATH_BYTES, file) != NULL)
        found = strncmp(path, "0::", 3) == 0;
    if (file != NULL)
        fclose(file);
    const size_t length = found ? strcspn(path, "\n") : 0;
    const bool is_whole = found && path[length] == '\n';
    path[length] = 0;
    memmove(path, path + (found ? 3 : 0), length + 1 - (found ? 3 : 0));
    if (is_whole && strstr(path, container->id) != NULL && strpbrk(path, " *?[(") == NULL)
        return true;
    return refuse("cgroup of the container", path,
                  "one of its own (version 2), with its id in the path");
}

/* --- what the daemon is asked for ------------------------------------------------------------ */

/* Asks, and says why it is refused. */
static enum outcome __attribute__((format(printf, 3, 4))) asked(int daemon, bool says,
                                                                const char *format, ...) {
    char request[REQUEST_BYTES + 1], why[1024];
    va_list arguments;
    int file;

    va_start(arguments, format);
    vsnprintf(request, sizeof(request), format, arguments);
    va_end(arguments);
    const enum outcome outcome = ask(daemon, request, answer, &file);
    if (outcome == REFUSED && says && json_string(json_value(answer, "error"), why, sizeof(why)))
        say("hyperperiodd: %s", why);
    return outcome;
}

/* The server with this name in a status, or NULL. */
static const char *find_server(const char *status, const char *name) {
    char found[WORD_BYTES];
    const char *server = json_first(json_value(status, "servers"));

    while (server != NULL
           && !(json_string(json_value(server, "name"), found, sizeof(found))
                && strcmp(found, name) == 0))
        server = json_next(server);
    return server;
}

/* Detaches cgroups that have gone from the container's server: of one that it shares with others
 * its own alone. Returns how many members stay. */
static unsigned int drop_gone(int daemon, const struct container *container, const char *server) {
    unsigned int stay = 0;

    for (const char *member = json_first(json_value(server, "members")); member != NULL;
         member = json_next(member)) {
        char path[PATH_BYTES];
        const bool gone = json_true(json_value(member, "waits"))
                          && json_string(json_value(member, "cgroup"), path, sizeof(path))
                          && (container->has_own || strstr(path, container->id) != NULL);
        if (!gone || asked(daemon, true, "detach %s cgroup=%s", container->server, path) != DONE)
            stay++;
    }
    return stay;
}

/* The policy's cpus on which the container may run, as a list with commas. */
static void find_cpus(const struct container *container, const char *status, char *list,
                      size_t room) {
    unsigned long long cpu;
    cpu_set_t allowed;
    size_t length = 0;

    list[0] = 0;
    if (sched_getaffinity(container->process, sizeof(allowed), &allowed) != 0)
        return;
    for (const char *at = json_first(json_value(status, "cpus")); at != NULL; at = json_next(at))
        if (json_number(at, &cpu) && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)
            && length + 8 < room)
            length += (size_t)snprintf(list + length, room - length, "%s%llu",
                                       length > 0 ? "," : "", cpu);
}

/* Makes the container's own server: on the first cpu that has room, or under a global policy on all
 * of these cpus. */
static enum outcome make_server(int daemon, const struct container *container, const char *status) {
    const bool global = json_true(json_value(json_value(status, "policy"), "global"));
    enum outcome outcome;
    char list[512];

    find_cpus(container, status, list, sizeof(list));
    struct word rest = word_of(list);
    if (rest.length == 0) {
        refuse("cpus of the container", "none of the policy's", "one at least, by its cpuset");
        return REFUSED;
    }
    do {
        const struct word cpus = word_cut(&rest, global ? 0 : ',');
        outcome = asked(daemon, rest.start == NULL,
                        "server %s %s=%.*s period_ns=%llu budget_ns=%llu priority=%llu",
                        container->server, global ? "pcpus" : "pcpu", (int)cpus.length, cpus.start,
                        container->period_ns, container->budget_ns, container->priority);
    } while (outcome == REFUSED && rest.start != NULL);
    return outcome;
}

/* Lets the container belong to its server, which is made if it is to be its own. */
static enum outcome enter(int daemon, const struct container *container, const char *status) {
    const char *server = find_server(status, container->server);
    char path[PATH_BYTES];
    enum outcome outcome = DONE;

    if (!find_cgroup(container, path))
        return REFUSED;
    if (!json_true(json_value(status, "running"))) {
        refuse("system", "none in force", "after `hyperperiodctl start`");
        return REFUSED;
    }
    if (container->has_own && server != NULL) {
        if (drop_gone(daemon, container, server) > 0) {
            refuse("hyperperiod.server", container->server,
                   "a server whose members have gone, or another name");
            return REFUSED;
        }
        outcome = asked(daemon, true, "remove %s", container->server);
    }
    if (container->has_own && outcome == DONE)
        outcome = make_server(daemon, container, status);
    if (outcome != DONE)
        return outcome;
    outcome = asked(daemon, true, "attach %s cgroup=%s", container->server, path);
    if (outcome != DONE && container->has_own)
        asked(daemon, true, "remove %s", container->server);
    return outcome;
}

/* The container belongs to no server any more; its own goes. */
static enum outcome leave(int daemon, const struct container *container, const char *status) {
    const char *server = find_server(status, container->server);

    if (server == NULL || drop_gone(daemon, container, server) > 0 || !container->has_own)
        return DONE;
    return asked(daemon, true, "remove %s", container->server);
}

int hook(const char *socket_path) {
    static char status[ANSWER_BYTES + 1];
    static struct container container;
    int file;

    if (!read_state(&container))
        return REFUSED;
    if (container.server[0] == 0)
        return DONE;
    const int daemon = connect_to(socket_path);
    if (daemon < 0) {
        syslog(LOG_ERR, "found no daemon at %s", socket_path);
        return LACKS;
    }
    const enum outcome outcome = ask(daemon, "status", status, &file);
    if (outcome != DONE)
        return outcome;
    return container.is_over ? leave(daemon, &container, status)
                             : enter(daemon, &container, status);
}
