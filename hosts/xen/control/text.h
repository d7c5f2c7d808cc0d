/* SPDX-License-Identifier: BSD-2-Clause */
/* What the user writes and reads: options, times, lists of pcpus, policies, JSON. */
#ifndef CONTROL_TEXT_H
#define CONTROL_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hypervisor.h"
#include "message.h"

#include "core/hyperperiod.h"
#include "words/policies.h"

/*
 * The arguments of a command: words in their order, and options that begin with "--". An option
 * is there, or has a value as "--name value" or "--name=value" ("-o" is "--output").
 */
struct arguments {
    char **word;
    int count;
};

bool take_flag(struct arguments *arguments, const char *name);
/* The value, or NULL. */
const char *take_option(struct arguments *arguments, const char *name);
/* As take_option, and ends the program if the option is missing. */
const char *need_option(struct arguments *arguments, const char *name);
/* The next word, or ends the program, naming what is missing. */
const char *take_word(struct arguments *arguments, const char *what);
/* Ends the program if anything is left. */
void take_no_more(const struct arguments *arguments);

/* Values of what a message calls `what`: they end the program if they are not allowed. */
uint64_t read_number(struct word text, const char *what, uint64_t most);
uint64_t read_time_ns(struct word text, const char *what);
/* A time that the interface of domctls can carry. */
uint32_t read_time_us(struct word text, const char *what);
/* "1,3-5" */
void read_pcpus(struct word text, const char *what, uint8_t pcpus[MAX_PCPUS / 8]);
struct word_policy read_policy(struct word text);
enum word_scope read_scope(struct word text, const char *what);
/* The arguments of "%.*s". */
#define SHOWN(word) (int)(word).length, (word).start

/* NAME, or BUDGET+ORDER+SLACK; the text stays until the next call. */
const char *policy_text(struct hp_policy rules, bool global);

void print_time(FILE *to, uint64_t time_ns);                    /* 10ms */
void print_pcpus(FILE *to, const uint8_t pcpus[MAX_PCPUS / 8]); /* 1,3-5 */
void print_json_pcpus(const uint8_t pcpus[MAX_PCPUS / 8]);
void print_json_text(const char *text); /* in quotes; null if NULL */

#endif
