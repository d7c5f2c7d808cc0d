// SPDX-License-Identifier: BSD-2-Clause
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

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
