// SPDX-License-Identifier: BSD-2-Clause
#include "text.h"

#include <stdarg.h>
#include <stdio.h>

#define SHOWN_BYTES 60u

struct text text_in(char *bytes, size_t room) {
    bytes[0] = 0;
    return (struct text){.bytes = bytes, .room = room};
}

void add(struct text *text, const char *format, ...) {
    const size_t left = text->room - text->length;
    va_list arguments;
    va_start(arguments, format);
    const int wanted = vsnprintf(text->bytes + text->length, left, format, arguments);
    va_end(arguments);
    if (wanted < 0 || (size_t)wanted >= left) {
        text->bytes[text->length] = 0;
        text->cut = true;
        return;
    }
    text->length += (size_t)wanted;
}

void add_quoted(struct text *text, const char *string) {
    add(text, "\"");
    for (const unsigned char *at = (const unsigned char *)string; *at != 0; at++) {
        if (*at == '"' || *at == '\\')
            add(text, "\\%c", *at);
        else if (*at < 0x20 || *at >= 0x7f)
            add(text, "\\u%04x", *at);
        else
            add(text, "%c", *at);
    }
    add(text, "\"");
}

void add_shown(struct text *text, const char *bytes, size_t length) {
    for (size_t i = 0; i < length && i < SHOWN_BYTES; i++)
        add(text, "%c", bytes[i] >= 0x20 && bytes[i] < 0x7f ? bytes[i] : '.');
    if (length > SHOWN_BYTES)
        add(text, "...");
}
