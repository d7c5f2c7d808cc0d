// SPDX-License-Identifier: BSD-2-Clause
//
// What happens from outside to a run on the Linux host, each event at its instant:
//
//   events FILE READY CPU PRIORITY
//
// The first line of FILE is the epoch (ns of the monotonic clock). Each line after it is an event:
// its instant (ns since the epoch, maybe below 0), a verb and its object, in the order of instants.
//
//   AT ask REQUEST       hyperperiodd is asked, and must grant it
//   AT take NS           CPU is taken from whoever runs there, until NS after AT
//   AT write PATH=WORD   a setting of the kernel
//   AT end HORIZON       nothing: to end a process takes a millisecond, so it is there till then
//
// It is a process of real time, of this PRIORITY and bound to CPU: it runs when the instant comes,
// and the scheduler knows that the cpu is stolen meanwhile. Where it asks anything, hyperperiodd
// becomes a process of real time for as long, so that nothing delays the answer. When all is ready
// the file READY is made. What is wrong is said on standard output.

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "guests/linux/monotonic.h"

#define CONTROL_VARIABLE "HYPERPERIOD_CONTROL" /* names another socket */
#define CONTROL "/run/hyperperiod/control"
#define PACKET_BYTES 4096u
#define DONE "{\"ok\": true"
#define EVENTS_MOST 65536u
/* Of hyperperiodd while it is asked; the threads that write the ends of rings have 99. */
#define ASKED_PRIORITY 98

struct event {
    long long at_ns; /* of the monotonic clock */
    const char *verb, *object;
};

static struct event events[EVENTS_MOST];
static size_t count;
static int control = -1;

static _Noreturn void give_up(const char *what, const char *which) {
    dprintf(1, "events: %s: %s\n", what, which);
    exit(1);
}

/* --- what happens ---------------------------------------------------------------------------- */

static void ask(const char *request) {
    char answer[PACKET_BYTES + 1];
    ssize_t length = -1;

    if (send(control, request, strlen(request), 0) >= 0)
        length = recv(control, answer, PACKET_BYTES, 0);
    answer[length > 0 ? length : 0] = 0;
    if (strncmp(answer, DONE, strlen(DONE)) != 0)
        give_up(request, answer);
}

static void write_setting(const char *setting) {
    const char *word = strchr(setting, '=');
    char path[256];
    int file;

    if (word == 0 || (size_t)(word - setting) >= sizeof path)
        give_up("no setting", setting);
    memcpy(path, setting, (size_t)(word - setting));
    path[word - setting] = 0;
    file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, word + 1, strlen(word + 1)) < 0)
        give_up("cannot be written", setting);
    close(file);
}

static void happen(const struct event *event) {
    if (strcmp(event->verb, "ask") == 0)
        ask(event->object);
    else if (strcmp(event->verb, "write") == 0)
        write_setting(event->object);
    else if (strcmp(event->verb, "take") == 0)
        while (now_ns() < event->at_ns + atoll(event->object))
            ;
}

/* --- getting ready --------------------------------------------------------------------------- */

static int has(const char *verb) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(events[i].verb, verb) == 0)
            return 1;
    return 0;
}

/* Takes the next word off the line, or all that is left of it. */
static const char *cut(char **line, const char *ends) {
    const char *word = strsep(line, ends);

    if (word == 0)
        give_up("a line ends early", "AT ask|take|write|end OBJECT");
    return word;
}

static void read_events(const char *path) {
    FILE *file = fopen(path, "re");
    char *line = 0;
    size_t room = 0;
    long long epoch_ns;

    if (file == 0 || getline(&line, &room, file) < 0)
        give_up("no events", path);
    epoch_ns = atoll(line);
    while (getline(&line, &room, file) > 0) {
        char *rest = strdup(line);

        if (rest == 0 || count == EVENTS_MOST)
            give_up("too many events", path);
        events[count].at_ns = epoch_ns + atoll(cut(&rest, " "));
        events[count].verb = cut(&rest, " ");
        events[count].object = cut(&rest, "\n");
        count++;
    }
    free(line);
    fclose(file);
}

static void connect_control(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = CONTROL};
    const char *other = getenv(CONTROL_VARIABLE);

    if (other != NULL && strlen(other) >= sizeof address.sun_path)
        give_up("a path that is too long", other);
    if (other != NULL)
        strcpy(address.sun_path, other);
    control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (control < 0 || connect(control, (const struct sockaddr *)&address, sizeof address) != 0)
        give_up("hyperperiodd does not listen", CONTROL);
}

/* Whoever listens at the socket: hyperperiodd. */
static pid_t asked(void) {
    struct ucred peer;
    socklen_t bytes = sizeof peer;

    if (getsockopt(control, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        give_up("no process listens", CONTROL);
    return peer.pid;
}

static void set_class(pid_t process, int class, int priority) {
    const struct sched_param param = {.sched_priority = priority};

    if (sched_setscheduler(process, class, &param) != 0)
        give_up("no real time", CONTROL);
}

static void bind_to(size_t cpu) {
    cpu_set_t only;

    CPU_ZERO(&only);
    CPU_SET(cpu, &only);
    if (sched_setaffinity(0, sizeof only, &only) != 0 || mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        give_up("cannot be bound to a cpu", "CPU");
}

int main(int words, char **word) {
    if (words != 5)
        give_up("usage", "events FILE READY CPU PRIORITY");
    read_events(word[1]);
    bind_to((size_t)atoi(word[3]));
    if (has("ask")) {
        connect_control();
        set_class(asked(), SCHED_FIFO, ASKED_PRIORITY);
    }
    set_class(0, SCHED_FIFO, atoi(word[4]));
    if (open(word[2], O_CREAT | O_WRONLY | O_CLOEXEC, 0600) < 0)
        give_up("cannot be made", word[2]);
    for (size_t i = 0; i < count; i++) {
        sleep_until(events[i].at_ns);
        happen(&events[i]);
    }
    if (control >= 0)
        set_class(asked(), SCHED_OTHER, 0);
    return 0;
}
