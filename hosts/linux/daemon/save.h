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

#endif
