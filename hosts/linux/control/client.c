// SPDX-License-Identifier: BSD-2-Clause
#include "client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define KEEP_FOLDER "/sys/fs/bpf/hyperperiod"
#define KEPT KEEP_FOLDER "/link-scheduler" /* kernel.c: the pin that is there while all is */

int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int made = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof(address.sun_path)) {
        fprintf(stderr, "hyperperiodctl: --socket: found a path that is too long\n");
        return -1;
    }
    strcpy(address.sun_path, path);
    if (made >= 0 && connect(made, (struct sockaddr *)&address, sizeof(address)) == 0)
        return made;
    fprintf(stderr, "hyperperiodctl: found no daemon at %s (%s), allowed: after `hyperperiodd`\n",
            path, strerror(errno));
    if (access(KEPT, F_OK) == 0)
        fputs("hyperperiodctl: the servers of a daemon that died are in force still. A new "
              "hyperperiodd --keep takes them over; without one, `rm -r " KEEP_FOLDER
              "` ends them.\n",
              stderr);
    return -1;
}

/* Receives an answer, which ends with a zero then, and the file that comes with it, or -1. */
static bool receive(int from, char *answer, int *file) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } with;
    struct iovec bytes = {.iov_base = answer, .iov_len = ANSWER_BYTES};
    struct msghdr message = {
        .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof(with)};
    const ssize_t length = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    *file = -1;
    if (length <= 0)
        return false;
    answer[length] = 0;
    if (head != NULL && head->cmsg_type == SCM_RIGHTS)
        memcpy(file, CMSG_DATA(head), sizeof(*file));
    return true;
}

enum outcome ask(int daemon, const char *request, char *answer, int *file) {
    if (send(daemon, request, strlen(request), MSG_NOSIGNAL) < 0
        || !receive(daemon, answer, file)) {
        fprintf(stderr, "hyperperiodctl: the daemon has ended before it answered\n");
        return LACKS;
    }
    return strncmp(answer, "{\"ok\": true", 11) == 0 ? DONE : REFUSED;
}
