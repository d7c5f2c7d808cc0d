/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What servers leave for everything outside of them.
 *
 * The kernel throws a scheduler out when a thread that wants to run waits for 30 s. So servers that
 * keep their cpus busy for so long without a gap cannot be had: neither would anything outside of
 * them run, the control daemon among it. What servers have beyond their budgets does not count: in
 * that time the background has its turns.
 */
#ifndef HPD_ROOM_H
#define HPD_ROOM_H

#include "system.h"

#define WATCHDOG_NS 30000000000ull

/* How long (ns) all cpus of a lock domain can be busy with servers at a stretch, at most;
 * WATCHDOG_NS for that or more. */
uint64_t longest_busy_ns(const struct system *system, uint32_t lock);

/* Whether the servers of a lock domain have no more than 19/20 of its cpus, on the average. */
bool leave_a_twentieth(const struct system *system, uint32_t lock);

#endif
