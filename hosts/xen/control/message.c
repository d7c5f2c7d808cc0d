// SPDX-License-Identifier: BSD-2-Clause
#include "message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *place_path;
static unsigned int place_line;

void set_place(const char *path, unsigned int line) {
    place_path = path;
    place_line = line;
}

static void print_message(const char *kind, const char *format, va_list arguments) {
    fflush(stdout);
    fprintf(stderr, "%s: ", kind);
    if (place_path != NULL)
        fprintf(stderr, "%s:%u: ", place_path, place_line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message("error", format, arguments);
    va_end(arguments);
    exit(code);
}

void complain(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message("error", format, arguments);
    va_end(arguments);
}

void warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_message("warning", format, arguments);
    va_end(arguments);
}

const char *reason(int error) {
    switch (error) {
    case EBUSY:
        return "it is in use";
    case ENOSPC:
    case ENOMEM:
        return "no place is left in the pool, or no memory";
    case EPERM:
        return "not allowed to this domain";
    case ENOENT:
    case ESRCH:
        return "there is no such thing any more";
    case EINVAL:
        return "the hypervisor finds it invalid";
    default:
        return strerror(error);
    }
}
