// SPDX-License-Identifier: BSD-2-Clause
#include "text.h"

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

/* --- numbers and times ---------------------------------------------------------------------- */

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define EACH(item, list) for (unsigned int item = 0; item < COUNT(list); item++)

uint64_t read_number(const char *text, const char *what, uint64_t most) {
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 || number > most)
        fail(BAD_INPUT, "%s: found '%s'; allowed: a number from 0 to %llu", what, text,
             (unsigned long long)most);
    return number;
}

uint64_t read_time_ns(const char *text, const char *what) {
    char *end;
    errno = 0;
    uint64_t count = strtoull(text, &end, 10);
    bool number = text[0] >= '0' && text[0] <= '9' && errno == 0;
    EACH(i, units)
        if (number && strcmp(end, units[i].name) == 0 && count < HP_TIME_MAX / units[i].ns)
            return count * units[i].ns;
    fail(BAD_INPUT, "%s: found '%s'; allowed: a whole number with a unit (ns, us, ms, s), such as "
                    "10ms",
         what, text);
}

uint32_t read_time_us(const char *text, const char *what) {
    uint64_t time_ns = read_time_ns(text, what);
    if (time_ns == 0 || time_ns % 1000 != 0 || time_ns / 1000 > UINT32_MAX)
        fail(BAD_INPUT, "%s: found '%s'; allowed: whole microseconds from 1us to %us", what, text,
             (unsigned int)(UINT32_MAX / 1000000));
    return (uint32_t)(time_ns / 1000);
}

void print_time(FILE *to, uint64_t time_ns) {
    unsigned int i = sizeof(units) / sizeof(units[0]) - 1;
    while (i > 0 && (time_ns == 0 || time_ns % units[i].ns != 0))
        i--;
    fprintf(to, "%llu%s", (unsigned long long)(time_ns / units[i].ns), units[i].name);
}

/* --- pcpus ---------------------------------------------------------------------------------- */

void read_pcpus(const char *text, const char *what, uint8_t pcpus[MAX_PCPUS / 8]) {
    const char *at = text;
    memset(pcpus, 0, MAX_PCPUS / 8);
    do {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        bool number = at[0] >= '0' && at[0] <= '9';
        if (number && end[0] == '-' && end[1] >= '0' && end[1] <= '9')
            last = strtoul(end + 1, &end, 10);
        if (!number || (*end != ',' && *end != 0) || last < first || last >= MAX_PCPUS)
            fail(BAD_INPUT, "%s: found '%s'; allowed: numbers of pcpus below %u, such as 1,3-5",
                 what, text, MAX_PCPUS);
        for (unsigned long pcpu = first; pcpu <= last; pcpu++)
            pcpus[pcpu / 8] |= (uint8_t)(1u << pcpu % 8);
        at = *end == ',' ? end + 1 : NULL;
    } while (at != NULL);
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

enum scope { SCOPE_one, SCOPE_partitioned, SCOPE_global };

static const struct named_policy {
    const char *name;
    enum scope scope;
    struct hp_policy rules;
} named_policies[] = {
#define ROW(name, scope, budget, order, slack) {name, SCOPE_##scope, {budget, order, slack}},
    HP_POLICIES(ROW)
#undef ROW
};

/* The rules by number, as their rows name them (core/rules.h). */
static const char *const budget_rules[] = {HP_BUDGETS(HP_RULE_NAME)};
static const char *const order_rules[] = {HP_ORDERS(HP_RULE_NAME)};
static const char *const slack_rules[] = {HP_SLACKS(HP_RULE_NAME)};

static bool same_rules(struct hp_policy a, struct hp_policy b) {
    return a.budget == b.budget && a.order == b.order && a.slack == b.slack;
}

static _Noreturn void fail_policy(const char *text) {
    char names[512] = "";
    size_t length = 0;
    for (unsigned int i = 0; i < COUNT(named_policies) && length < sizeof(names); i++)
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s, ",
                                   named_policies[i].name);
    fail(BAD_INPUT, "policy: found '%s'; allowed: %sor rules such as deferrable+edf+none, with "
                    "+global or +partitioned",
         text, names);
}

/* Reads the rule that the text begins with, and what is between it and the next. */
static bool read_rule(const char **text, const char *const rules[], unsigned int count,
                      hp_u32 *rule) {
    for (unsigned int i = 0; i < count; i++) {
        size_t length = strlen(rules[i]);
        const char *end = *text + length;
        if (strncmp(*text, rules[i], length) == 0 && (*end == '+' || *end == 0)) {
            *rule = i;
            *text = *end == '+' ? end + 1 : end;
            return true;
        }
    }
    return false;
}

struct policy_words read_policy(const char *text) {
    static const char *const scopes[] = {"partitioned", "global"};
    struct policy_words words = {.scope_given = false};
    const char *at = text;
    hp_u32 scope = 0;

    EACH(i, named_policies)
        if (strcmp(text, named_policies[i].name) == 0)
            return (struct policy_words){
                .rules = named_policies[i].rules,
                .global = named_policies[i].scope == SCOPE_global,
            };
    if (!read_rule(&at, budget_rules, COUNT(budget_rules), &words.rules.budget)
        || !read_rule(&at, order_rules, COUNT(order_rules), &words.rules.order)
        || !read_rule(&at, slack_rules, COUNT(slack_rules), &words.rules.slack))
        fail_policy(text);
    words.scope_given = read_rule(&at, scopes, COUNT(scopes), &scope);
    words.global = scope == 1;
    if (*at != 0 || at[-1] == '+')
        fail_policy(text);
    return words;
}

const char *policy_text(struct hp_policy rules, bool global) {
    static char text[64];
    EACH(i, named_policies)
        if (same_rules(rules, named_policies[i].rules)
            && (named_policies[i].scope == SCOPE_global) == global)
            return named_policies[i].name;
    snprintf(text, sizeof(text), "%s+%s+%s",
             rules.budget < COUNT(budget_rules) ? budget_rules[rules.budget] : "?",
             rules.order < COUNT(order_rules) ? order_rules[rules.order] : "?",
             rules.slack < COUNT(slack_rules) ? slack_rules[rules.slack] : "?");
    return text;
}
