/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands: each reads its arguments, does its work and returns the exit code. */
#ifndef CONTROL_COMMANDS_H
#define CONTROL_COMMANDS_H

#include "text.h"

int pool_create(struct arguments *arguments);
int pool_destroy(struct arguments *arguments);
int pool_info(struct arguments *arguments);
int pool_policy(struct arguments *arguments);
int pool_spare(struct arguments *arguments);
int move(struct arguments *arguments);
int set(struct arguments *arguments);
int get(struct arguments *arguments);
int apply(struct arguments *arguments);
int save(struct arguments *arguments);
int doctor(struct arguments *arguments);
int pool_stats(struct arguments *arguments);
int pool_record(struct arguments *arguments);
int trace(struct arguments *arguments);

#endif
