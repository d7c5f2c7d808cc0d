/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words in which hosts and guests are told about servers: pieces of text, and tables of keys.
 *
 * Xen's command line, the tool of dom0, the daemon in Linux and the command lines of guests differ
 * in what stands between words. What a number, a time, a choice or a set of cpus looks like, and
 * what a message says is allowed instead, is the same everywhere and stands here. Freestanding, and
 * without state: the boot code of a hypervisor reads with it as well as a program.
 *
 * A table of keys has a row for each word that may stand before '=', with the kind of its value.
 * `word_key` finds the row, `word_value` reads the value, and `word_allowed` writes what would have
 * been right. Values of kind WORD_OWN have a syntax of their own: the host reads those.
 */
#ifndef WORDS_WORDS_H
#define WORDS_WORDS_H

#include "core/types.h"

/* How functions and tables are qualified. Xen drops its own when it has booted. */
#ifndef WORDS_FN
#define WORDS_FN static inline
#define WORDS_TABLE static const __attribute__((__unused__))
#endif

/* --- pieces of text -------------------------------------------------------------------------- */

/* A piece of text, which need not end in a zero. A null pointer: there is none, not even ''. */
struct word {
    const char *start;
    hp_u64 length;
};

/* All of a text that ends in a zero. */
WORDS_FN struct word word_of(const char *text) {
    struct word word = {text, 0};

    while (text[word.length] != 0)
        word.length++;
    return word;
}

WORDS_FN hp_u32 word_is(struct word word, const char *text) {
    hp_u64 i = 0;

    while (i < word.length && text[i] != 0 && word.start[i] == text[i])
        i++;
    return i == word.length && text[i] == 0;
}

/* Whether the word begins with this text; then the word moves on past it. */
WORDS_FN hp_u32 word_take(struct word *word, const char *text) {
    hp_u64 i = 0;

    while (i < word->length && text[i] != 0 && word->start[i] == text[i])
        i++;
    if (text[i] != 0)
        return 0;
    word->start += i;
    word->length -= i;
    return 1;
}

/* Cuts off and returns what comes before the separator; if it is not there all of the word, of
 * which nothing, a null pointer, is left then. */
WORDS_FN struct word word_cut(struct word *rest, char separator) {
    struct word head = {rest->start, 0};

    while (head.length < rest->length && head.start[head.length] != separator)
        head.length++;
    if (head.length == rest->length) {
        rest->start = 0;
        rest->length = 0;
    } else {
        rest->start += head.length + 1u;
        rest->length -= head.length + 1u;
    }
    return head;
}

/* The word without blanks at its ends. */
WORDS_FN struct word word_trim(struct word word) {
    while (word.length > 0 && word.start[0] == ' ') {
        word.start++;
        word.length--;
    }
    while (word.length > 0 && word.start[word.length - 1u] == ' ')
        word.length--;
    return word;
}

/* --- values ---------------------------------------------------------------------------------- */

/* Reads all of the word as a decimal number from 0 to `most`; whether it is one. */
WORDS_FN hp_u32 word_number(struct word word, hp_u64 most, hp_u64 *number) {
    hp_u64 sum = 0;

    for (hp_u64 i = 0; i < word.length; i++) {
        hp_u64 digit = (hp_u64)(hp_u8)word.start[i] - '0';

        if (digit > 9u || sum > (most - digit) / 10u || most < digit)
            return 0;
        sum = sum * 10u + digit;
    }
    *number = sum;
    return word.length > 0;
}

struct word_unit {
    char name[3];
    hp_u32 ns;
};

WORDS_TABLE struct word_unit word_units[] = {
    {"ns", 1u},
    {"us", 1000u},
    {"ms", 1000000u},
    {"s", 1000000000u},
};
#define WORD_UNITS 4u

/* Reads all of the word as a time, a number and a unit; whether it is one, below HP_TIME_MAX. */
WORDS_FN hp_u32 word_time(struct word word, hp_u64 *time_ns) {
    struct word unit = word;

    while (unit.length > 0 && (hp_u8)(unit.start[0] - '0') <= 9u) {
        unit.start++;
        unit.length--;
    }
    word.length -= unit.length;
    for (hp_u32 i = 0; i < WORD_UNITS; i++) {
        const hp_u64 ns = word_units[i].ns;

        if (word_is(unit, word_units[i].name)
            && word_number(word, HP_TIME_MAX / ns - 1u, time_ns)) {
            *time_ns *= ns;
            return 1;
        }
    }
    return 0;
}

/* The place of the word among the choices, which end with a null pointer; HP_NONE: nowhere. */
WORDS_FN hp_u32 word_choice(struct word word, const char *const *choices) {
    for (hp_u32 i = 0; choices[i] != 0; i++) {
        if (word_is(word, choices[i]))
            return i;
    }
    return HP_NONE;
}

/* Reads a set of cpus below `limit`, such as 0,2-3, a bit each; whether the word is one. The limit
 * is a multiple of 8. */
WORDS_FN hp_u32 word_cpus(struct word word, hp_u32 limit, hp_u8 *set) {
    for (hp_u32 i = 0; i < limit / 8u; i++)
        set[i] = 0;
    do {
        struct word last = word_cut(&word, ',');
        struct word first = word_cut(&last, '-');
        hp_u64 from, to = 0;

        if (!word_number(first, limit - 1u, &from)
            || !word_number(last.start != 0 ? last : first, limit - 1u, &to) || from > to)
            return 0;
        for (; from <= to; from++)
            set[from / 8u] |= (hp_u8)(1u << from % 8u);
    } while (word.start != 0);
    return 1;
}

/* --- tables of keys -------------------------------------------------------------------------- */

enum word_kind {
    WORD_NUMBER, /* from lowest to highest; one of `choices` counts on from highest + 1 */
    WORD_TIME,   /* a number with a unit */
    WORD_CHOICE, /* one of `choices`: its place there */
    WORD_CPUS,   /* a set of cpus from 0 to 63, one bit each */
    WORD_TEXT,   /* anything but nothing */
    WORD_OWN,    /* what `allowed` says; the host reads it */
};

struct word_key {
    const char *name;
    enum word_kind kind;
    hp_u64 lowest, highest;
    const char *const *choices; /* these end with a null pointer */
    const char *allowed;
    hp_u32 at; /* the value's place in what the host keeps, as the host counts it */
};

#define WORD_CPU_LIMIT 64u

/* The row of a key, or a null pointer. */
WORDS_FN const struct word_key *word_key(const struct word_key *keys, hp_u32 count,
                                         struct word name) {
    for (hp_u32 i = 0; i < count; i++) {
        if (word_is(name, keys[i].name))
            return &keys[i];
    }
    return 0;
}

/* Reads a value of a kind that is known here; whether it is allowed. A text's number is 0. */
WORDS_FN hp_u32 word_value(const struct word_key *key, struct word value, hp_u64 *number) {
    hp_u8 cpus[WORD_CPU_LIMIT / 8u];
    hp_u32 place;

    *number = 0;
    switch (key->kind) {
    case WORD_NUMBER:
        place = key->choices != 0 ? word_choice(value, key->choices) : HP_NONE;
        if (place != HP_NONE) {
            *number = key->highest + 1u + place;
            return 1;
        }
        return word_number(value, key->highest, number) && *number >= key->lowest;
    case WORD_TIME:
        return word_time(value, number);
    case WORD_CHOICE:
        place = word_choice(value, key->choices);
        *number = place;
        return place != HP_NONE;
    case WORD_CPUS:
        if (!word_cpus(value, WORD_CPU_LIMIT, cpus))
            return 0;
        for (hp_u32 i = 0; i < WORD_CPU_LIMIT / 8u; i++)
            *number |= (hp_u64)cpus[i] << 8u * i;
        return 1;
    case WORD_TEXT:
        return value.length > 0;
    case WORD_OWN:
        break;
    }
    return 0;
}

/* --- messages -------------------------------------------------------------------------------- */

/* Room for what one key allows. */
#define WORD_ALLOWED_BYTES 120u

/* Appends a text as far as there is room before `end`, where a zero goes; the text's end then. */
WORDS_FN char *word_put(char *at, const char *end, const char *text) {
    while (*text != 0 && at < end)
        *at++ = *text++;
    *at = 0;
    return at;
}

WORDS_FN char *word_put_number(char *at, const char *end, hp_u64 number) {
    char digits[21];
    hp_u32 first = 20u;

    digits[first] = 0;
    do {
        digits[--first] = (char)('0' + number % 10u);
        number /= 10u;
    } while (number != 0);
    return word_put(at, end, &digits[first]);
}

/* Appends "a, b or c". */
WORDS_FN char *word_put_choices(char *at, const char *end, const char *const *choices) {
    for (hp_u32 i = 0; choices[i] != 0; i++) {
        if (i > 0)
            at = word_put(at, end, choices[i + 1u] != 0 ? ", " : " or ");
        at = word_put(at, end, choices[i]);
    }
    return at;
}

/* Writes what the key allows, for the end of a message; returns it. */
WORDS_FN const char *word_allowed(const struct word_key *key, char to[WORD_ALLOWED_BYTES]) {
    const char *const end = to + WORD_ALLOWED_BYTES - 1u;
    char *at = to;

    switch (key->kind) {
    case WORD_NUMBER:
        at = word_put(at, end, "a number from ");
        at = word_put_number(at, end, key->lowest);
        at = word_put(at, end, " to ");
        at = word_put_number(at, end, key->highest);
        if (key->choices != 0) {
            at = word_put(at, end, ", or ");
            word_put_choices(at, end, key->choices);
        }
        break;
    case WORD_TIME:
        word_put(at, end, "a whole number with a unit (ns, us, ms, s), such as 10ms");
        break;
    case WORD_CHOICE:
        word_put_choices(at, end, key->choices);
        break;
    case WORD_CPUS:
        word_put(at, end, "cpus from 0 to 63, such as 0,2-3");
        break;
    case WORD_TEXT:
        word_put(at, end, "a word");
        break;
    case WORD_OWN:
        word_put(at, end, key->allowed);
        break;
    }
    return to;
}

#endif /* WORDS_WORDS_H */
