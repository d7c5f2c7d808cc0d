// SPDX-License-Identifier: BSD-2-Clause
#include "log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool to_system;

void begin_log(bool background) {
    to_system = background;
    if (background)
        openlog("hyperperiodd", LOG_PID | LOG_PERROR, LOG_DAEMON);
}

void say(int priority, const char *format, ...) {
    va_list arguments;

    va_start(arguments, format);
    if (to_system) {
        vsyslog(priority, format, arguments);
    } else {
        /* The journal takes the number as the priority. */
        fprintf(stderr, "<%d>hyperperiodd: ", priority);
        vfprintf(stderr, format, arguments);
        fputc('\n', stderr);
    }
    va_end(arguments);
}

void tell_systemd(const char *words) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (path != NULL && strlen(path) < sizeof(address.sun_path)) {
        strcpy(address.sun_path, path);
        if (*path == '@')
            address.sun_path[0] = 0;
        sendto(notify, words, strlen(words), MSG_NOSIGNAL | MSG_DONTWAIT,
               (struct sockaddr *)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
    }
    close(notify);
}
