/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of text that need not end in a zero, and the numbers in them. */
#ifndef GUESTS_TEXT_H
#define GUESTS_TEXT_H

#include "core/types.h"

struct text {
    const char *start;
    hp_u64 length;
};

static inline hp_u32 text_equal(const char *a, const char *b) {
    while (*a != 0 && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static inline hp_u32 text_is(struct text text, const char *word) {
    hp_u64 i = 0;

    while (i < text.length && word[i] != 0 && text.start[i] == word[i])
        i++;
    return i == text.length && word[i] == 0;
}

/* Cuts off and returns what comes before `separator`; all of it if there is none. */
static inline struct text text_cut(struct text *rest, char separator) {
    struct text head = {rest->start, 0};

    while (head.length < rest->length && head.start[head.length] != separator)
        head.length++;
    rest->start += head.length;
    rest->length -= head.length;
    if (rest->length > 0) {
        rest->start++;
        rest->length--;
    }
    return head;
}

/* Reads all of it as a decimal number from 0 to `most`; whether it is one. */
static inline hp_u32 text_number(struct text text, hp_u64 most, hp_u64 *number) {
    hp_u64 sum = 0;

    for (hp_u64 i = 0; i < text.length; i++) {
        hp_u64 digit = (hp_u64)(hp_u8)text.start[i] - '0';

        if (digit > 9u || sum > (most - digit) / 10u || most < digit)
            return 0;
        sum = sum * 10u + digit;
    }
    *number = sum;
    return text.length > 0;
}

#endif /* GUESTS_TEXT_H */
