/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests that make a system as it is: what a file of --requests may have, so that a daemon
 * that is started with it has the same policy, servers, members and order among them.
 */
#ifndef HPD_SAVE_H
#define HPD_SAVE_H

#include "system.h"

/* They are in a file in memory, one in a line, or -1. Processes and threads are left out, as their
 * numbers do not last, and counted in *left_out; the daemon itself is "self". */
int save_requests(const struct system *system, uint32_t *left_out);

/* From here on keep_requests() writes them to this file, with processes and threads: those of this
 * machine until it is booted again. */
void keep_requests_at(const char *path);

/* The file is as the system is now, whole or not at all. It says what a daemon that comes after
 * this one goes on with. Does nothing without a path. */
void keep_requests(const struct system *system);

#endif
