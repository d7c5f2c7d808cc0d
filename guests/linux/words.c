// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the words of docs/xen/guests.md from a file.

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "guests/linux/threads.h"

#define WORDS_MOST (1u << 16)

static char words[WORDS_MOST];

void read_words(const char *path, struct arguments *told) {
    int file = open(path, O_RDONLY);
    ssize_t length = file < 0 ? -1 : read(file, words, sizeof words);
    struct arguments_error error;
    hp_u32 measures;

    if (length < 0 || (size_t)length == sizeof words)
        give_up("the file of words is not there, or too long");
    close(file);
    arguments_init(told);
    error = arguments_read(told, (struct word){words, (hp_u64)length});
    if (error.message == 0)
        error = arguments_check(told);
    measures = told->workload >= WORKLOAD_CLOCKTICK && told->workload <= WORKLOAD_DEVICE;
    if (error.message == 0 && told->workload != WORKLOAD_TASKS && !measures)
        error.message = "threads have tasks, or measure";
    if (error.message == 0 && measures && told->tasks > 0)
        error.message = "who measures has no tasks";
    if (error.message != 0) {
        dprintf(1, "%.*s: ", (int)error.word.length, error.word.start);
        give_up(error.message);
    }
    /* The thread that measures is that of a task whose jobs nobody asks for. */
    if (measures) {
        told->task[0] = (struct task){.kind = TASK_BUSY, .vcpu = HP_NONE};
        told->tasks = 1;
    }
}
