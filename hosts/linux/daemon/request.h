/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests: what one packet on the control socket asks for (docs/linux/control.md).
 *
 * A request is VERB [NAME] KEY=VALUE ..., words in ASCII with single spaces between them, at most
 * REQUEST_BYTES bytes in one packet, optionally with a newline at its end. This file knows which
 * words there are and what a value looks like. Whether it makes sense now is asked later
 * (perform.h). Nothing here knows the kernel, so it is tested on any machine.
 */
#ifndef HPD_REQUEST_H
#define HPD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"
#include "words/words.h"

#define REQUEST_BYTES 4096u
#define NAME_BYTES 64u           /* of a server, with the zero at its end */
#define CPU_LIMIT WORD_CPU_LIMIT /* cpus that may be named: 0 to 63 */

/*
 * ROW(word, KEY, kind, lowest, highest, choices), as a table of keys has it (words/words.h). "self"
 * as a process is the daemon.
 */
#define REQUEST_KEYS(ROW)                                                                          \
    ROW("name", NAME, TEXT, 0, 0, 0)                                                               \
    ROW("pcpus", PCPUS, CPUS, 0, 0, 0)                                                             \
    ROW("global", GLOBAL, NUMBER, 0, 1, 0)                                                         \
    ROW("quantum_ns", QUANTUM, NUMBER, 0, HP_TIME_MAX - 1, 0)                                      \
    ROW("decision_ns", DECISION, NUMBER, 0, 1000000, 0)                                            \
    ROW("spare_period_ns", SPARE_PERIOD, NUMBER, 0, HP_TIME_MAX - 1, 0)                            \
    ROW("spare_budget_ns", SPARE_BUDGET, NUMBER, 0, HP_TIME_MAX - 1, 0)                            \
    ROW("pcpu", PCPU, NUMBER, 0, CPU_LIMIT - 1, home_words)                                        \
    ROW("period_ns", PERIOD, NUMBER, 1, HP_TIME_MAX - 1, 0)                                        \
    ROW("budget_ns", BUDGET, NUMBER, 1, HP_TIME_MAX - 1, 0)                                        \
    ROW("priority", PRIORITY, NUMBER, 0, 0xffffff, 0)                                              \
    ROW("inside", INSIDE, CHOICE, 0, 0, inside_words)                                              \
    ROW("best_effort", BEST_EFFORT, NUMBER, 0, 1, 0)                                               \
    ROW("extra", EXTRA, NUMBER, 0, 1, 0)                                                           \
    ROW("weight", WEIGHT, NUMBER, 0, 0xffff, 0)                                                    \
    ROW("cgroup", CGROUP, TEXT, 0, 0, 0)                                                           \
    ROW("wait", WAIT, NUMBER, 0, 1, 0)                                                             \
    ROW("pid", PID, NUMBER, 1, 0x3fffff, process_words)                                            \
    ROW("thread", THREAD, NUMBER, 1, 0x3fffff, 0)                                                  \
    ROW("number", SERVER_NUMBER, NUMBER, 0, HP_VCPUS - 1, 0)                                       \
    ROW("born", BORN, NUMBER, 0, HP_TIME_MAX - 1, 0)                                               \
    ROW("user", USER, NUMBER, 0, UINT32_MAX, 0)                                                    \
    ROW("key", KEY, NUMBER, 0, HP_TIME_MAX - 1, 0)                                                 \
    ROW("users", USERS, TEXT, 0, 0, 0)                                                             \
    ROW("force", FORCE, NUMBER, 0, 1, 0)                                                           \
    ROW("epoch_ns", EPOCH, NUMBER, 0, HP_TIME_MAX - 1, 0)                                          \
    ROW("deadline_ns", DEADLINE, NUMBER, 1, HP_TIME_MAX - 1, 0)

/* What a verb takes: a server's name, the word on or off, or nothing of that kind. */
#define REQUEST_VERBS(ROW)                                                                         \
    ROW("policy", POLICY, NO_NAME)                                                                 \
    ROW("server", SERVER, NAMED)                                                                   \
    ROW("attach", ATTACH, NAMED)                                                                   \
    ROW("detach", DETACH, NAMED)                                                                   \
    ROW("load", LOAD, NO_NAME)                                                                     \
    ROW("start", START, NO_NAME)                                                                   \
    ROW("stop", STOP, NO_NAME)                                                                     \
    ROW("clear", CLEAR, NO_NAME)                                                                   \
    ROW("status", STATUS, NO_NAME)                                                                 \
    ROW("set", SET, NAMED)                                                                         \
    ROW("swap", SWAP, NO_NAME)                                                                     \
    ROW("remove", REMOVE, NAMED)                                                                   \
    ROW("record", RECORD, ON_OR_OFF)                                                               \
    ROW("requests", REQUESTS, NO_NAME)                                                             \
    ROW("rings", RINGS, NO_NAME)                                                                   \
    ROW("enter", ENTER, NAMED)                                                                     \
    ROW("leave", LEAVE, NO_NAME)

#define REQUEST_KEY_NUMBER(word, KEY, ...) KEY_##KEY,
#define REQUEST_VERB_NUMBER(word, VERB, ...) VERB_##VERB,
enum key { REQUEST_KEYS(REQUEST_KEY_NUMBER) KEY_COUNT };
enum verb { REQUEST_VERBS(REQUEST_VERB_NUMBER) VERB_COUNT };

#define HOME_GLOBAL CPU_LIMIT /* the value of pcpu=global */

struct request {
    enum verb verb;
    char name[NAME_BYTES]; /* of the server, if the verb takes one */
    bool on;               /* of ON_OR_OFF */
    bool given[KEY_COUNT];
    hp_u64 number[KEY_COUNT];      /* the value, or 0 */
    const char *word[KEY_COUNT];   /* of kind TEXT: the value, or NULL */
    char bytes[REQUEST_BYTES + 1]; /* what `word` points into */
};

/* Reads a packet. False: it is refused, and `problem` says what was found and what is allowed. */
bool read_request(const char *packet, size_t length, struct request *request, struct text *problem);

/* A value's word in an answer: "fifo", "fp", "edf" or "turns". */
const char *inside_word(uint32_t inside);

#endif
