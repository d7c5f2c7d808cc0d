/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that end grants, one for each managed cpu, where no BPF program may have a timer
 * (PREEMPT_RT).
 */
#ifndef HPD_ENDERS_H
#define HPD_ENDERS_H

#include <bpf/libbpf.h>
#include <stdbool.h>

#include "system.h"

/* The program that they run. It is loaded for them alone. */
#define ENDER "hyperperiod_end"

/* Whether this kernel needs them. */
bool enders_are_needed(void);

/* Makes them, for an object that is loaded. Returns NULL, or why there are none: a text that is
 * good until the next call. */
const char *enders_start(const struct bpf_object *object, const struct system *system);

/* Ends them, if there are any. */
void enders_stop(void);

#endif
