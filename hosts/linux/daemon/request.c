// SPDX-License-Identifier: BSD-2-Clause
#include "request.h"

#include <string.h>
#include <unistd.h>

enum kind { NUMBER, WORD, CPUS, HOME, INSIDE, PROCESS };
enum name_kind { NO_NAME, NAMED, ON_OR_OFF };

#define KEY_ROW(word, KEY, kind, lowest, highest) [KEY_##KEY] = {word, kind, lowest, highest},
static const struct {
    const char *word;
    enum kind kind;
    uint64_t lowest, highest;
} keys[] = {REQUEST_KEYS(KEY_ROW)};

#define BIT(KEY) (1u << KEY_##KEY)
#define INTERFACE (BIT(PERIOD) | BIT(BUDGET) | BIT(PRIORITY) | BIT(EXTRA) | BIT(WEIGHT))
#define MEMBER (BIT(CGROUP) | BIT(PID) | BIT(THREAD))

/* The keys that each verb takes. */
static const uint32_t keys_of[VERB_COUNT] = {
    [VERB_POLICY] = BIT(NAME) | BIT(PCPUS) | BIT(GLOBAL) | BIT(QUANTUM) | BIT(DECISION)
                    | BIT(SPARE_PERIOD) | BIT(SPARE_BUDGET),
    [VERB_SERVER] = INTERFACE | BIT(PCPU) | BIT(PCPUS) | BIT(INSIDE) | BIT(BEST_EFFORT) | BIT(USERS)
                    | BIT(FORCE),
    [VERB_ATTACH] = MEMBER | BIT(KEY),
    [VERB_DETACH] = MEMBER,
    [VERB_START] = BIT(FORCE) | BIT(EPOCH),
    [VERB_SET] = INTERFACE | BIT(PCPUS) | BIT(FORCE),
    [VERB_SWAP] = BIT(NAME),
    [VERB_ENTER] = BIT(THREAD) | BIT(PRIORITY) | BIT(DEADLINE),
    [VERB_LEAVE] = BIT(THREAD),
};

#define VERB_ROW(word, VERB, name) [VERB_##VERB] = {word, name},
static const struct {
    const char *word;
    enum name_kind name;
} verbs[] = {REQUEST_VERBS(VERB_ROW)};

static const char *const inside_words[] = {"fifo", "fp", "edf", "turns"};
#define INSIDE_COUNT (sizeof(inside_words) / sizeof(inside_words[0]))

const char *inside_word(uint32_t inside) {
    return inside_words[inside];
}

bool read_number(const char *word, uint64_t *number) {
    uint64_t sum = 0;

    if (*word == 0)
        return false;
    for (; *word != 0; word++) {
        if (*word < '0' || *word > '9' || __builtin_mul_overflow(sum, 10u, &sum)
            || __builtin_add_overflow(sum, (uint64_t)(*word - '0'), &sum))
            return false;
    }
    *number = sum;
    return true;
}

/* --- values ---------------------------------------------------------------------------------- */

/* A piece of a set of cpus, which ends at a zero: N or N-M. */
static bool read_range(char *piece, uint64_t *set) {
    char *dash = strchr(piece, '-');
    uint64_t from, to;

    if (dash != NULL)
        *dash = 0;
    if (!read_number(piece, &from) || !read_number(dash != NULL ? dash + 1 : piece, &to))
        return false;
    if (from > to || to >= CPU_LIMIT)
        return false;
    for (uint64_t cpu = from; cpu <= to; cpu++)
        *set |= 1ull << cpu;
    return true;
}

static bool read_cpus(const char *value, uint64_t *set) {
    char copy[REQUEST_BYTES + 1];

    *set = 0;
    strcpy(copy, value);
    for (char *piece = copy;;) {
        char *comma = strchr(piece, ',');
        if (comma != NULL)
            *comma = 0;
        if (!read_range(piece, set))
            return false;
        if (comma == NULL)
            return true;
        piece = comma + 1;
    }
}

static bool read_inside(const char *value, uint64_t *number) {
    for (*number = 0; *number < INSIDE_COUNT; ++*number)
        if (strcmp(value, inside_words[*number]) == 0)
            return true;
    return false;
}

static bool is_wrong(enum key key, const char *value, struct text *problem) {
    add(problem, "%s: found '", keys[key].word);
    add_shown(problem, value, strlen(value));
    add(problem, "', allowed: ");
    switch (keys[key].kind) {
    case NUMBER:
        add(problem, "a number from %llu to %llu", (unsigned long long)keys[key].lowest,
            (unsigned long long)keys[key].highest);
        break;
    case WORD:
        add(problem, "a word");
        break;
    case CPUS:
        add(problem, "cpus from 0 to %u, such as 0,2-3", CPU_LIMIT - 1);
        break;
    case HOME:
        add(problem, "a cpu from 0 to %u, or global", CPU_LIMIT - 1);
        break;
    case PROCESS:
        add(problem, "a number from %llu to %llu, or self, the daemon",
            (unsigned long long)keys[key].lowest, (unsigned long long)keys[key].highest);
        break;
    case INSIDE:
        add(problem, "fp, edf, fifo or turns");
        break;
    }
    return false;
}

static bool read_value(struct request *request, enum key key, const char *value,
                       struct text *problem) {
    uint64_t *number = &request->number[key];
    bool right = false;

    switch (keys[key].kind) {
    case HOME:
        if (strcmp(value, "global") == 0) {
            *number = HOME_GLOBAL;
            right = true;
            break;
        }
        /* fall through */
    case PROCESS:
        if (keys[key].kind == PROCESS && strcmp(value, "self") == 0) {
            *number = (uint64_t)getpid();
            right = true;
            break;
        }
        /* fall through */
    case NUMBER:
        right = read_number(value, number) && *number >= keys[key].lowest
                && *number <= keys[key].highest;
        break;
    case WORD:
        request->word[key] = value;
        right = *value != 0;
        break;
    case CPUS:
        right = read_cpus(value, number);
        break;
    case INSIDE:
        right = read_inside(value, number);
        break;
    }
    return right || is_wrong(key, value, problem);
}

/* --- words ----------------------------------------------------------------------------------- */

/* Lists the keys of a verb. */
static void add_keys(struct text *problem, enum verb verb) {
    const char *between = "";

    for (unsigned int key = 0; key < KEY_COUNT; key++) {
        if (keys_of[verb] >> key & 1u) {
            add(problem, "%s%s", between, keys[key].word);
            between = ", ";
        }
    }
    if (*between == 0)
        add(problem, "nothing");
}

static bool read_pair(struct request *request, char *word, struct text *problem) {
    char *equals = strchr(word, '=');

    if (equals != NULL)
        *equals = 0;
    for (unsigned int key = 0; equals != NULL && key < KEY_COUNT; key++) {
        if (strcmp(word, keys[key].word) != 0 || !(keys_of[request->verb] >> key & 1u))
            continue;
        if (request->given[key]) {
            add(problem, "%s: found twice, allowed: once", keys[key].word);
            return false;
        }
        request->given[key] = true;
        return read_value(request, (enum key)key, equals + 1, problem);
    }
    add(problem, "%s: found '", verbs[request->verb].word);
    add_shown(problem, word, strlen(word));
    add(problem, "%s', allowed: ", equals != NULL ? "=" : "");
    add_keys(problem, request->verb);
    return false;
}

static bool read_verb(struct request *request, const char *word, struct text *problem) {
    for (unsigned int verb = 0; verb < VERB_COUNT; verb++) {
        if (strcmp(word, verbs[verb].word) == 0) {
            request->verb = (enum verb)verb;
            return true;
        }
    }
    add(problem, "request: found '");
    add_shown(problem, word, strlen(word));
    add(problem, "', allowed:");
    for (unsigned int verb = 0; verb < VERB_COUNT; verb++)
        add(problem, "%s %s", verb > 0 ? "," : "", verbs[verb].word);
    return false;
}

static bool is_name(const char *word) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    const size_t length = strlen(word);

    return length > 0 && length < NAME_BYTES && strspn(word, allowed) == length;
}

/* Reads the name or the word behind the verb, if the verb has one; *rest moves behind it. */
static bool read_name(struct request *request, char **rest, struct text *problem) {
    const enum name_kind kind = verbs[request->verb].name;
    const char *word = kind == NO_NAME ? NULL : strsep(rest, " ");

    if (kind == NO_NAME)
        return true;
    if (word == NULL)
        word = "";
    request->on = strcmp(word, "on") == 0;
    if (kind == ON_OR_OFF ? request->on || strcmp(word, "off") == 0 : is_name(word)) {
        if (kind == NAMED)
            strcpy(request->name, word);
        return true;
    }
    add(problem, "%s: found '", verbs[request->verb].word);
    add_shown(problem, word, strlen(word));
    if (kind == ON_OR_OFF)
        add(problem, "', allowed: on or off");
    else
        add(problem, "', allowed: a name of up to %u letters, digits and _ . -", NAME_BYTES - 1);
    return false;
}

static bool is_text(const char *packet, size_t length, struct text *problem) {
    for (size_t i = 0; i < length; i++) {
        if (packet[i] >= 0x20 && packet[i] < 0x7f)
            continue;
        add(problem, "request: found byte 0x%02x at %zu, allowed: printable ASCII",
            (unsigned int)(unsigned char)packet[i], i);
        return false;
    }
    return true;
}

bool read_request(const char *packet, size_t length, struct request *request,
                  struct text *problem) {
    char *rest = request->bytes;

    memset(request, 0, sizeof(*request));
    if (length > REQUEST_BYTES) {
        add(problem, "request: found more than %u bytes, allowed: at most so many", REQUEST_BYTES);
        return false;
    }
    if (length > 0 && packet[length - 1] == '\n')
        length--;
    if (!is_text(packet, length, problem))
        return false;
    memcpy(request->bytes, packet, length);
    request->bytes[length] = 0;
    if (!read_verb(request, strsep(&rest, " "), problem) || !read_name(request, &rest, problem))
        return false;
    while (rest != NULL)
        if (!read_pair(request, strsep(&rest, " "), problem))
            return false;
    return true;
}
