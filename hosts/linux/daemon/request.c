// SPDX-License-Identifier: BSD-2-Clause
#include "request.h"

#include <string.h>
#include <unistd.h>

enum name_kind { NO_NAME, NAMED, ON_OR_OFF };

/* As enum lx_inside numbers them (shared.h). */
static const char *const inside_words[] = {"fifo", "fp", "edf", "turns", NULL};
static const char *const home_words[] = {"global", NULL};
static const char *const process_words[] = {"self", NULL};

#define KEY_ROW(word, KEY, kind, lowest, highest, choices)                                         \
    [KEY_##KEY] = {word, WORD_##kind, lowest, highest, choices, NULL, 0},
static const struct word_key keys[] = {REQUEST_KEYS(KEY_ROW)};

#define BIT(KEY) (1u << KEY_##KEY)
#define INTERFACE (BIT(PERIOD) | BIT(BUDGET) | BIT(PRIORITY) | BIT(EXTRA) | BIT(WEIGHT))
#define MEMBER (BIT(CGROUP) | BIT(PID) | BIT(THREAD))

/* The keys that each verb takes. */
static const uint32_t keys_of[VERB_COUNT] = {
    [VERB_POLICY] = BIT(NAME) | BIT(PCPUS) | BIT(GLOBAL) | BIT(QUANTUM) | BIT(DECISION)
                    | BIT(SPARE_PERIOD) | BIT(SPARE_BUDGET),
    [VERB_SERVER] = INTERFACE | BIT(SERVER_NUMBER) | BIT(PCPU) | BIT(PCPUS) | BIT(INSIDE)
                    | BIT(BEST_EFFORT) | BIT(USERS) | BIT(FORCE),
    [VERB_ATTACH] = MEMBER | BIT(KEY) | BIT(WAIT) | BIT(BORN) | BIT(USER),
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

const char *inside_word(uint32_t inside) {
    return inside_words[inside];
}

static bool read_value(struct request *request, enum key key, const char *value,
                       struct text *problem) {
    char allowed[WORD_ALLOWED_BYTES];
    hp_u64 *number = &request->number[key];

    if (word_value(&keys[key], word_of(value), number)) {
        if (keys[key].kind == WORD_TEXT)
            request->word[key] = value;
        if (key == KEY_PID && *number > keys[key].highest)
            *number = (hp_u64)getpid();
        return true;
    }
    add(problem, "%s: found '", keys[key].name);
    add_shown(problem, value, strlen(value));
    add(problem, "', allowed: %s", word_allowed(&keys[key], allowed));
    return false;
}

/* --- words ----------------------------------------------------------------------------------- */

/* Lists the keys of a verb. */
static void add_keys(struct text *problem, enum verb verb) {
    const char *between = "";

    for (unsigned int key = 0; key < KEY_COUNT; key++) {
        if (keys_of[verb] >> key & 1u) {
            add(problem, "%s%s", between, keys[key].name);
            between = ", ";
        }
    }
    if (*between == 0)
        add(problem, "nothing");
}

static bool read_pair(struct request *request, char *word, struct text *problem) {
    char *equals = strchr(word, '=');
    const struct word_key *row;

    if (equals != NULL)
        *equals = 0;
    row = word_key(keys, KEY_COUNT, word_of(word));
    if (equals != NULL && row != NULL && keys_of[request->verb] >> (row - keys) & 1u) {
        const enum key key = (enum key)(row - keys);
        if (request->given[key]) {
            add(problem, "%s: found twice, allowed: once", keys[key].name);
            return false;
        }
        request->given[key] = true;
        return read_value(request, key, equals + 1, problem);
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
