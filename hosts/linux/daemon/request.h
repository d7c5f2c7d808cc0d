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

#define REQUEST_BYTES 4096u
#define NAME_BYTES 64u /* of a server, with the zero at its end */
#define CPU_LIMIT 64u  /* cpus that may be named: 0 to 63 */

/* The time that no value reaches (core/types.h: HP_TIME_MAX). */
#define TIME_LIMIT_NS (1ull << 62)

/*
 * ROW(word, KEY, kind, lowest, highest). Kinds: NUMBER from lowest to highest, both included; WORD
 * is text whose meaning is looked up elsewhere; PROCESS a number, or "self" for the daemon; CPUS a
 * set such as 0,2-3; HOME a cpu or "global"; INSIDE the order of threads, as enum lx_inside has it
 * (shared.h).
 */
#define REQUEST_KEYS(ROW)                                                                          \
    ROW("name", NAME, WORD, 0, 0)                                                                  \
    ROW("pcpus", PCPUS, CPUS, 0, 0)                                                                \
    ROW("global", GLOBAL, NUMBER, 0, 1)                                                            \
    ROW("quantum_ns", QUANTUM, NUMBER, 0, TIME_LIMIT_NS - 1)                                       \
    ROW("decision_ns", DECISION, NUMBER, 0, 1000000)                                               \
    ROW("spare_period_ns", SPARE_PERIOD, NUMBER, 0, TIME_LIMIT_NS - 1)                             \
    ROW("spare_budget_ns", SPARE_BUDGET, NUMBER, 0, TIME_LIMIT_NS - 1)                             \
    ROW("pcpu", PCPU, HOME, 0, CPU_LIMIT - 1)                                                      \
    ROW("period_ns", PERIOD, NUMBER, 1, TIME_LIMIT_NS - 1)                                         \
    ROW("budget_ns", BUDGET, NUMBER, 1, TIME_LIMIT_NS - 1)                                         \
    ROW("priority", PRIORITY, NUMBER, 0, 0xffffff)                                                 \
    ROW("inside", INSIDE, INSIDE, 0, 0)                                                            \
    ROW("best_effort", BEST_EFFORT, NUMBER, 0, 1)                                                  \
    ROW("extra", EXTRA, NUMBER, 0, 1)                                                              \
    ROW("weight", WEIGHT, NUMBER, 0, 0xffff)                                                       \
    ROW("cgroup", CGROUP, WORD, 0, 0)                                                              \
    ROW("pid", PID, PROCESS, 1, 0x3fffff)                                                          \
    ROW("thread", THREAD, NUMBER, 1, 0x3fffff)                                                     \
    ROW("key", KEY, NUMBER, 0, TIME_LIMIT_NS - 1)                                                  \
    ROW("users", USERS, WORD, 0, 0)                                                                \
    ROW("force", FORCE, NUMBER, 0, 1)                                                              \
    ROW("epoch_ns", EPOCH, NUMBER, 0, TIME_LIMIT_NS - 1)                                           \
    ROW("deadline_ns", DEADLINE, NUMBER, 1, TIME_LIMIT_NS - 1)

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
    uint64_t number[KEY_COUNT];    /* the value, or 0 */
    const char *word[KEY_COUNT];   /* of kind WORD: the value, or NULL */
    char bytes[REQUEST_BYTES + 1]; /* what `word` points into */
};

/* Reads a packet. False: it is refused, and `problem` says what was found and what is allowed. */
bool read_request(const char *packet, size_t length, struct request *request, struct text *problem);

/* A number in decimal digits, from 0; false if it is none, or does not fit. */
bool read_number(const char *word, uint64_t *number);

/* A value's word in an answer: "fifo", "fp", "edf" or "turns". */
const char *inside_word(uint32_t inside);

#endif
