// SPDX-License-Identifier: BSD-2-Clause
#include "control.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "force.h"
#include "kernel.h"
#include "log.h"
#include "perform.h"
#include "save.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif
#define DOORS 2u
#define CLIENTS 32u  /* at each socket */
#define LOOK_MS 1000 /* so often it is looked whether the scheduler is there still */

struct client {
    struct peer peer; /* its socket is -1 if there is none */
    uint64_t last;    /* the request that it sent last, by number */
};

/* A socket that is listened at. */
struct door {
    int socket;
    bool trusted;
    struct client client[CLIENTS];
};

static char answer_bytes[ANSWER_BYTES];
static uint64_t requests;

/* --- sockets --------------------------------------------------------------------------------- */

/* Whether somebody answers at the socket that is there; if nobody does, it was left behind. */
static bool is_served(const struct sockaddr_un *address) {
    const int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool served =
        connect(probe, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN;

    close(probe);
    return served;
}

static bool set_group(const char *path, const char *name) {
    const struct group *group;

    if (name == NULL)
        return true;
    group = getgrnam(name);
    if (group == NULL)
        say(LOG_ERR, "--group: found no group '%s', allowed: one of /etc/group", name);
    return group != NULL && chown(path, (uid_t)-1, group->gr_gid) == 0;
}

int open_socket(const char *path, unsigned int mode, const char *group) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (made < 0 || strlen(path) >= sizeof(address.sun_path)) {
        say(LOG_ERR, "%s: found a path that is too long, allowed: up to %zu bytes", path,
            sizeof(address.sun_path) - 1);
        return -1;
    }
    strcpy(address.sun_path, path);
    if (is_served(&address)) {
        say(LOG_ERR, "%s: found another daemon there, allowed: one", path);
        return -1;
    }
    unlink(path);
    /* Nobody may come in before the socket belongs to whom it should. */
    const mode_t before = umask(0777);
    const int bound = bind(made, (const struct sockaddr *)&address, sizeof(address));
    umask(before);
    if (bound != 0 || !set_group(path, group) || chmod(path, mode) != 0
        || listen(made, CLIENTS) != 0) {
        say(LOG_ERR, "%s: %s", path, strerror(errno));
        return -1;
    }
    return made;
}

/* --- clients --------------------------------------------------------------------------------- */

static void end(struct client *client) {
    close(client->peer.socket);
    if (client->peer.alive >= 0)
        close(client->peer.alive);
    client->peer.socket = -1;
}

/* A place for a client: a free one, or that of the one that was quiet for longest. */
static struct client *place_in(struct door *door) {
    struct client *oldest = &door->client[0];

    for (unsigned int i = 0; i < CLIENTS; i++) {
        struct client *client = &door->client[i];
        if (client->peer.socket < 0)
            return client;
        if (client->last < oldest->last)
            oldest = client;
    }
    say(LOG_WARNING, "too many connections: the one of process %d ends", oldest->peer.process);
    end(oldest);
    return oldest;
}

static void let_in(struct door *door) {
    struct ucred who;
    socklen_t bytes = sizeof(who);
    const int met = accept4(door->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const int room = ANSWER_BYTES;
    int alive = -1;
    socklen_t alive_bytes = sizeof(alive);

    if (met < 0)
        return;
    if (getsockopt(met, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0
        || getsockopt(met, SOL_SOCKET, SO_PEERPIDFD, &alive, &alive_bytes) != 0) {
        close(met);
        return;
    }
    setsockopt(met, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    *place_in(door) = (struct client){
        .peer = {.process = who.pid,
                 .user = who.uid,
                 .trusted = door->trusted,
                 .socket = met,
                 .alive = alive},
        .last = requests,
    };
}

/* Sends an answer, with a file if there is one. What does not go at once is not waited for. */
static void send_answer(struct client *client, const struct text *answer, int file) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } with = {.head = {.cmsg_level = SOL_SOCKET,
                       .cmsg_type = SCM_RIGHTS,
                       .cmsg_len = CMSG_LEN(sizeof(int))}};
    struct iovec bytes = {.iov_base = answer->bytes, .iov_len = answer->length};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

    if (file >= 0) {
        memcpy(CMSG_DATA(&with.head), &file, sizeof(file));
        message.msg_control = &with;
        message.msg_controllen = sizeof(with.room);
    }
    if (sendmsg(client->peer.socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
        say(LOG_WARNING, "process %d does not take its answer (%s): its connection ends",
            client->peer.process, strerror(errno));
        end(client);
    }
    if (file >= 0)
        close(file);
}

/* Performs what a packet says, and logs what was refused and what changed something. */
static void answer_packet(struct system *system, struct client *client, const char *packet,
                          size_t length) {
    static struct request request;
    struct text answer = text_in(answer_bytes, sizeof(answer_bytes));
    char problem_bytes[512], shown_bytes[128];
    struct text problem = text_in(problem_bytes, sizeof(problem_bytes));
    struct text shown = text_in(shown_bytes, sizeof(shown_bytes));
    bool done = false;
    int file = -1;

    add_shown(&shown, packet, length);
    if (read_request(packet, length, &request, &problem))
        done = perform(system, &request, &client->peer, &answer, &file);
    else
        add_refusal(&answer, problem.bytes);
    if (answer.cut) {
        answer = text_in(answer_bytes, sizeof(answer_bytes));
        add_refusal(&answer, "answer: found one that is too long to send");
        done = false;
    }
    if (!done)
        say(LOG_WARNING, "refused process %d of user %u: '%s': %s", client->peer.process,
            client->peer.user, shown.bytes, answer.bytes);
    else if (request.verb != VERB_STATUS && request.verb != VERB_REQUESTS
             && request.verb != VERB_RINGS) {
        say(LOG_INFO, "process %d of user %u: %s", client->peer.process, client->peer.user,
            shown.bytes);
        keep_requests(system);
    }
    send_answer(client, &answer, file);
}

/* One packet of one client, so that no client keeps the others waiting for long. */
static void listen_to(struct system *system, struct client *client) {
    char packet[REQUEST_BYTES + 1];
    struct iovec bytes = {.iov_base = packet, .iov_len = sizeof(packet)};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    const ssize_t length = recvmsg(client->peer.socket, &message, MSG_DONTWAIT);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0) {
        end(client);
        return;
    }
    client->last = ++requests;
    answer_packet(system, client, packet, (size_t)length);
}

/* --- the loop -------------------------------------------------------------------------------- */

int open_signals(void) {
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return signalfd(-1, &ends, SFD_CLOEXEC);
}

int serve(struct system *system, int signals, int control, int tasks) {
    static struct door doors[DOORS];
    struct signalfd_siginfo signal;
    struct pollfd polled[2 + DOORS * (1 + CLIENTS)];

    doors[0].socket = control;
    doors[0].trusted = true;
    doors[1].socket = tasks;
    for (unsigned int i = 0; i < DOORS * CLIENTS; i++)
        doors[i / CLIENTS].client[i % CLIENTS].peer.socket = -1;
    for (;;) {
        unsigned int count = 0;
        const bool looks = system->running || system->again_ns != 0;
        polled[count++] = (struct pollfd){.fd = signals, .events = POLLIN};
        polled[count++] = (struct pollfd){.fd = kernel_wishes(), .events = POLLIN};
        for (unsigned int d = 0; d < DOORS; d++) {
            polled[count++] = (struct pollfd){.fd = doors[d].socket, .events = POLLIN};
            for (unsigned int i = 0; i < CLIENTS; i++)
                polled[count++] =
                    (struct pollfd){.fd = doors[d].client[i].peer.socket, .events = POLLIN};
        }
        if (poll(polled, count, looks ? LOOK_MS : -1) < 0 && errno != EINTR)
            return SIGTERM;
        if (!look_after(system))
            return 0;
        if (polled[0].revents != 0 && read(signals, &signal, sizeof(signal)) == sizeof(signal))
            return (int)signal.ssi_signo;
        grant_wishes(system);
        for (unsigned int d = 0, at = 2; d < DOORS; d++) {
            const bool knocks = polled[at++].revents != 0;
            for (unsigned int i = 0; i < CLIENTS; i++)
                if (polled[at++].revents != 0)
                    listen_to(system, &doors[d].client[i]);
            if (knocks)
                let_in(&doors[d]);
        }
    }
}
