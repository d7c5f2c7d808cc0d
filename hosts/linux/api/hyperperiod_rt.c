// SPDX-License-Identifier: BSD-2-Clause
/*
 * A task is a record of the thread. Its server is told of it by a request on the daemon's socket
 * for tasks (docs/linux/control.md), when it enters and whenever what the server goes by has
 * changed; waiting for periods asks nobody.
 */
#include "hyperperiod_rt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

#define SOCKET "/run/hyperperiod/tasks"
#define SOCKET_VARIABLE "HYPERPERIOD_TASKS" /* names another socket */
#define TIME_LIMIT_NS (1ull << 62)
#define PRIORITIES 32768u
#define SERVER_BYTES 64u

static _Thread_local struct {
    bool entered;
    char server[SERVER_BYTES]; /* or "" */
    uint64_t period_ns;        /* or 0 */
    uint64_t deadline_ns;      /* or 0: as the period */
    unsigned int priority;     /* PRIORITIES: none */
    uint64_t release_ns;       /* of the job that it is in */
} task;

static _Thread_local char said[1024];

const char *rt_error(void) {
    return said;
}

static int failed(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int failed(int error, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(said, sizeof(said), format, arguments);
    va_end(arguments);
    return -error;
}

/* --- the daemon ------------------------------------------------------------------------------ */

static int connected(int made) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = secure_getenv(SOCKET_VARIABLE);

    if (path == NULL)
        path = SOCKET;
    if (strlen(path) >= sizeof(address.sun_path))
        return failed(ENAMETOOLONG, SOCKET_VARIABLE ": found a path that is too long");
    strcpy(address.sun_path, path);
    if (connect(made, (struct sockaddr *)&address, sizeof(address)) != 0)
        return failed(ENOENT, "%s: no hyperperiodd answers (%s)", path, strerror(errno));
    return 0;
}

static int exchanged(int made, const char *request) {
    ssize_t length = -1;

    if (send(made, request, strlen(request), MSG_NOSIGNAL) >= 0)
        length = recv(made, said, sizeof(said) - 1, 0);
    if (length <= 0)
        return failed(ENOENT, "hyperperiodd has ended");
    said[length] = 0;
    return strncmp(said, "{\"ok\": true", 11) == 0 ? 0 : -EPERM;
}

static int asked(const char *request) {
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int error = made < 0 ? failed(errno, "no socket: %s", strerror(errno)) : connected(made);

    if (error == 0)
        error = exchanged(made, request);
    if (made >= 0)
        close(made);
    return error;
}

/* Tells the daemon that the task belongs to this server, and what that may go by. */
static int told(const char *server) {
    char request[256];
    int length = snprintf(request, sizeof(request), "enter %s thread=%d", server, gettid());
    const uint64_t deadline_ns = task.deadline_ns != 0 ? task.deadline_ns : task.period_ns;

    if (task.priority < PRIORITIES)
        length += sprintf(request + length, " priority=%u", task.priority);
    if (deadline_ns != 0)
        sprintf(request + length, " deadline_ns=%llu", (unsigned long long)deadline_ns);
    return asked(request);
}

/* --- tasks ----------------------------------------------------------------------------------- */

static int needs_task(void) {
    return task.entered ? 0 : failed(EINVAL, "the thread is no task: rt_enter comes first");
}

/* What the server goes by has changed. */
static int told_again(void) {
    return task.server[0] != 0 ? told(task.server) : 0;
}

int rt_enter(void) {
    if (task.entered)
        return failed(EBUSY, "the thread is a task already");
    memset(&task, 0, sizeof(task));
    task.priority = PRIORITIES;
    task.entered = true;
    return 0;
}

int rt_set_server(const char *name) {
    int error = needs_task();

    if (error == 0 && (name == NULL || strlen(name) - 1 >= SERVER_BYTES - 1))
        error = failed(EINVAL, "server: a name has 1 to %u characters", SERVER_BYTES - 1);
    if (error == 0)
        error = told(name);
    if (error == 0)
        strcpy(task.server, name);
    return error;
}

int rt_set_period(uint64_t period_ns) {
    int error = needs_task();

    if (error != 0)
        return error;
    if (period_ns == 0 || period_ns >= TIME_LIMIT_NS)
        return failed(EINVAL, "period: found %llu ns, allowed: 1 to 2^62 - 1",
                      (unsigned long long)period_ns);
    task.period_ns = period_ns;
    error = told_again();
    task.release_ns = rt_clock_ns(); /* the daemon may have taken its time */
    return error;
}

int rt_set_deadline(uint64_t deadline_ns) {
    const int error = needs_task();

    if (error != 0)
        return error;
    if (deadline_ns == 0 || deadline_ns >= TIME_LIMIT_NS)
        return failed(EINVAL, "deadline: found %llu ns, allowed: 1 to 2^62 - 1",
                      (unsigned long long)deadline_ns);
    task.deadline_ns = deadline_ns;
    return told_again();
}

int rt_set_priority(unsigned int priority) {
    const int error = needs_task();

    if (error != 0)
        return error;
    if (priority >= PRIORITIES)
        return failed(EINVAL, "priority: found %u, allowed: 0 to %u", priority, PRIORITIES - 1);
    task.priority = priority;
    return told_again();
}

int rt_wait_for_period(void) {
    const uint64_t now_ns = rt_clock_ns();
    int error = needs_task(), met;

    if (error == 0 && task.period_ns == 0)
        error = failed(EINVAL, "the task has no period: rt_set_period comes first");
    if (error != 0)
        return error;
    met = now_ns - task.release_ns <= (task.deadline_ns != 0 ? task.deadline_ns : task.period_ns);
    task.release_ns += task.period_ns;
    if (task.release_ns > now_ns)
        rt_clock_wait_ns(task.release_ns);
    return met;
}

int rt_exit(void) {
    char request[64];
    int error = needs_task();

    if (error != 0)
        return error;
    task.entered = false;
    if (task.server[0] == 0)
        return 0;
    snprintf(request, sizeof(request), "leave thread=%d", gettid());
    return asked(request);
}
