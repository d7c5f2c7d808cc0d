/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text that is made piece by piece: answers in JSON, and messages.
 *
 * A text has room for so many bytes. What does not fit is left out and remembered, so that whoever
 * makes a text asks once, at the end, whether all of it is there.
 */
#ifndef HPD_TEXT_H
#define HPD_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *bytes; /* ends with a zero always */
    size_t room, length;
    bool cut; /* something did not fit */
};

/* An empty text in this memory; `room` is at least 1. */
struct text text_in(char *bytes, size_t room);

void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a string as JSON has it, in quotes. */
void add_quoted(struct text *text, const char *string);

/* Adds what somebody sent, so that it cannot be taken for anything else: at most 60 bytes of it,
 * with a dot for each byte that is no printable character. */
void add_shown(struct text *text, const char *bytes, size_t length);

#endif
