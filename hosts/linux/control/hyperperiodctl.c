// SPDX-License-Identifier: BSD-2-Clause
/*
 * hyperperiodctl: sends one request to hyperperiodd and prints the answer.
 *
 * The words of the command line are the request (docs/linux/control.md). The file of an answer,
 * as that of `rings` or `requests`, is written to the PATH of path=PATH, by the rights of the one
 * who calls: the daemon never opens a file that a request names. As `hyperperiodctl hook` it is
 * what runtimes of containers call (hook.h).
 *
 * Exit codes: 0 done, 2 refused, 3 nobody answers.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "hook.h"

static const char usage[] =
    "usage: hyperperiodctl [--socket PATH] REQUEST...\n"
    "such as: hyperperiodctl status; hyperperiodctl rings path=FILE\n"
    "or, by a runtime of containers: hyperperiodctl hook\n"
    "Requests: docs/linux/control.md. Exit codes: 0 done, 2 refused, 3 no daemon.\n";

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
    if (strcmp(words[from], "hook") == 0)
        return hook(socket_path);
    if (!join(count - from, words + from, request, &path)) {
        fprintf(stderr, "hyperperiodctl: found a request of no byte or more than %u\n",
                REQUEST_BYTES);
        return REFUSED;
    }
    const int daemon = connect_to(socket_path);
    if (daemon < 0)
        return LACKS;
    const enum outcome outcome = ask(daemon, request, answer, &file);
    if (outcome == LACKS)
        return LACKS;
    puts(answer);
    if (outcome == REFUSED)
        return REFUSED;
    if (file >= 0 && path != NULL && !keep(file, path)) {
        fprintf(stderr, "hyperperiodctl: %s: %s\n", path, strerror(errno));
        return LACKS;
    }
    return 0;
}
