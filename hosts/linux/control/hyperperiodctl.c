// SPDX-License-Identifier: BSD-2-Clause
/*
 * hyperperiodctl: sends one request to hyperperiodd and prints the answer.
 *
 * The words of the command line are the request (docs/linux/control.md). The file of an answer,
 * as that of `rings` or `requests`, is written to the PATH of path=PATH, by the rights of the one
 * who calls: the daemon never opens a file that a request names.
 *
 * Exit codes: 0 done, 2 refused, 3 nobody answers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REFUSED 2
#define LACKS 3
#define KEEP_FOLDER "/sys/fs/bpf/hyperperiod"
#define KEPT KEEP_FOLDER "/link-scheduler" /* kernel.c: the pin that is there while all is */
#define REQUEST_BYTES 4096u
#define ANSWER_BYTES 0x20000u

static const char usage[] =
    "usage: hyperperiodctl [--socket PATH] REQUEST...\n"
    "such as: hyperperiodctl status; hyperperiodctl rings path=FILE\n"
    "Requests: docs/linux/control.md. Exit codes: 0 done, 2 refused, 3 no daemon.\n";

static int connect_to(const char *path) {
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

/* The words as one request; path=PATH is for this tool and no part of it. */
static bool join(int count, char **words, char *request, const char **path) {
    size_t length = 0;

    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], "path=", 5) == 0) {
            *path = words[i] + 5;
            continue;
        }
        const int more = snprintf(request + length, REQUEST_BYTES + 1 - length, "%s%s",
                                  length > 0 ? " " : "", words[i]);
        if (more < 0 || (size_t)more > REQUEST_BYTES - length)
            return false;
        length += (size_t)more;
    }
    return length > 0;
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

/* Copies the file of an answer to the path. */
static bool keep(int file, const char *path) {
    static char bytes[1 << 16];
    const int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t length = 0;

    while (to >= 0 && (length = read(file, bytes, sizeof(bytes))) > 0) {
        for (ssize_t done = 0, more; done < length; done += more) {
            more = write(to, bytes + done, (size_t)(length - done));
            if (more <= 0)
                return false;
        }
    }
    return to >= 0 && length == 0 && close(to) == 0;
}

int main(int count, char **words) {
    static char request[REQUEST_BYTES + 1], answer[ANSWER_BYTES + 1];
    const char *socket_path = "/run/hyperperiod/control", *path = NULL;
    int file, from = 1;

    if (count > 2 && strcmp(words[1], "--socket") == 0) {
        socket_path = words[2];
        from = 3;
    }
    if (from == count || strcmp(words[from], "--help") == 0) {
        fputs(usage, from == count ? stderr : stdout);
        return from == count ? REFUSED : 0;
    }
    if (!join(count - from, words + from, request, &path)) {
        fprintf(stderr, "hyperperiodctl: found a request of no byte or more than %u\n",
                REQUEST_BYTES);
        return REFUSED;
    }
    const int daemon = connect_to(socket_path);
    if (daemon < 0)
        return LACKS;
    if (send(daemon, request, strlen(request), MSG_NOSIGNAL) < 0
        || !receive(daemon, answer, &file)) {
        fprintf(stderr, "hyperperiodctl: the daemon has ended before it answered\n");
        return LACKS;
    }
    puts(answer);
    if (strncmp(answer, "{\"ok\": true", 11) != 0)
        return REFUSED;
    if (file >= 0 && path != NULL && !keep(file, path)) {
        fprintf(stderr, "hyperperiodctl: %s: %s\n", path, strerror(errno));
        return LACKS;
    }
    return 0;
}
