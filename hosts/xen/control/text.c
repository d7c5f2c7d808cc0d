// SPDX-License-Identifier: BSD-2-Clause
#include "text.h"

#include <stdio.h>
#include <string.h>

/* --- arguments ------------------------------------------------------------------------------ */

static void drop_word(struct arguments *arguments, int at) {
    arguments->count--;
    memmove(arguments->word + at, arguments->word + at + 1,
            (size_t)(arguments->count - at) * sizeof(*arguments->word));
}

bool take_flag(struct arguments *arguments, const char *name) {
    for (int i = 0; i < arguments->count; i++) {
        if (strcmp(arguments->word[i], name) == 0) {
            drop_word(arguments, i);
            return true;
        }
    }
    return false;
}

const char *take_option(struct arguments *arguments, const char *name) {
    size_t length = strlen(name);
    for (int i = 0; i < arguments->count; i++) {
        char *word = arguments->word[i];
        if (strncmp(word, name, length) != 0 || (word[length] != 0 && word[length] != '='))
            continue;
        drop_word(arguments, i);
        if (word[length] == '=')
            return word + length + 1;
        if (i == arguments->count)
            fail(BAD_INPUT, "%s: found no value after it", name);
        char *value = arguments->word[i];
        drop_word(arguments, i);
        return value;
    }
    return NULL;
}

const char *need_option(struct arguments *arguments, const char *name) {
    const char *value = take_option(arguments, name);
    if (value == NULL)
        fail(BAD_INPUT, "found no %s; this command needs it", name);
    return value;
}

const char *take_word(struct arguments *arguments, const char *what) {
    if (arguments->count == 0 || strncmp(arguments->word[0], "--", 2) == 0)
        fail(BAD_INPUT, "found no %s; this command needs one", what);
    const char *word = arguments->word[0];
    drop_word(arguments, 0);
    return word;
}

void take_no_more(const struct arguments *arguments) {
    if (arguments->count > 0)
        fail(BAD_INPUT, "found '%s', which this command does not know; `hyperperiod-xen help` "
                        "lists what it does",
             arguments->word[0]);
}

/* --- values --------------------------------------------------------------------------------- */

static uint64_t read_value(struct word text, const struct word_key *key) {
    char allowed[WORD_ALLOWED_BYTES];
    hp_u64 value;
    if (!word_value(key, text, &value))
        fail(BAD_INPUT, "%s: found '%.*s'; allowed: %s", key->name, SHOWN(text),
             word_allowed(key, allowed));
    return value;
}

uint64_t read_number(struct word text, const char *what, uint64_t most) {
    return read_value(text, &(struct word_key){.name = what, .highest = most});
}

uint64_t read_time_ns(struct word text, const char *what) {
    return read_value(text, &(struct word_key){.name = what, .kind = WORD_TIME});
}

uint32_t read_time_us(struct word text, const char *what) {
    uint64_t time_ns = read_time_ns(text, what);
    if (time_ns == 0 || time_ns % 1000 != 0 || time_ns / 1000 > UINT32_MAX)
        fail(BAD_INPUT, "%s: found '%.*s'; allowed: whole microseconds from 1us to %us", what,
             SHOWN(text), (unsigned int)(UINT32_MAX / 1000000));
    return (uint32_t)(time_ns / 1000);
}

void print_time(FILE *to, uint64_t time_ns) {
    unsigned int i = WORD_UNITS - 1;
    while (i > 0 && (time_ns == 0 || time_ns % word_units[i].ns != 0))
        i--;
    fprintf(to, "%llu%s", (unsigned long long)(time_ns / word_units[i].ns), word_units[i].name);
}

/* --- pcpus ---------------------------------------------------------------------------------- */

void read_pcpus(struct word text, const char *what, uint8_t pcpus[MAX_PCPUS / 8]) {
    if (!word_cpus(text, MAX_PCPUS, pcpus))
        fail(BAD_INPUT, "%s: found '%.*s'; allowed: numbers of pcpus below %u, such as 1,3-5", what,
             SHOWN(text), MAX_PCPUS);
}

void print_pcpus(FILE *to, const uint8_t pcpus[MAX_PCPUS / 8]) {
    const char *comma = "";
    for (uint32_t first = 0; first < MAX_PCPUS; first++) {
        uint32_t last = first;
        if (!has_pcpu(pcpus, first))
            continue;
        while (has_pcpu(pcpus, last + 1))
            last++;
        fprintf(to, last > first ? "%s%u-%u" : "%s%u", comma, first, last);
        comma = ",";
        first = last;
    }
    if (comma[0] == 0)
        fprintf(to, "none");
}

void print_json_pcpus(const uint8_t pcpus[MAX_PCPUS / 8]) {
    const char *comma = "";
    printf("[");
    for (uint32_t pcpu = 0; pcpu < MAX_PCPUS; pcpu++) {
        if (has_pcpu(pcpus, pcpu)) {
            printf("%s%u", comma, pcpu);
            comma = ", ";
        }
    }
    printf("]");
}

void print_json_text(const char *text) {
    if (text == NULL) {
        printf("null");
        return;
    }
    putchar('"');
    for (; *text; text++) {
        unsigned char letter = (unsigned char)*text;
        if (letter == '"' || letter == '\\')
            printf("\\%c", letter);
        else if (letter < 0x20)
            printf("\\u%04x", letter);
        else
            putchar(letter);
    }
    putchar('"');
}

/* --- policies ------------------------------------------------------------------------------- */

struct word_policy read_policy(struct word text) {
    struct word_policy policy;
    char allowed[512];
    if (word_policy(text, &policy))
        return policy;
    word_put_policies(allowed, allowed + sizeof(allowed) - 1);
    fail(BAD_INPUT, "policy: found '%.*s'; allowed: %s", SHOWN(text), allowed);
}

enum word_scope read_scope(struct word text, const char *what) {
    const struct word_key key = {.name = what, .kind = WORD_CHOICE, .choices = word_scopes};
    return read_value(text, &key) == 0 ? WORD_SCOPE_partitioned : WORD_SCOPE_global;
}

const char *policy_text(struct hp_policy rules, bool global) {
    static char text[64];
    for (unsigned int i = 0; i < WORD_POLICIES; i++) {
        const struct word_policy *named = &word_policies[i].policy;
        if (rules.budget == named->rules.budget && rules.order == named->rules.order
            && rules.slack == named->rules.slack && (named->scope == WORD_SCOPE_global) == global)
            return word_policies[i].name;
    }
    word_put_rules(text, text + sizeof(text) - 1, &rules);
    return text;
}
