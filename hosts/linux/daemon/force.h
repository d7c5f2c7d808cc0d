/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A system is put in force, and put there again when the kernel has ended it.
 *
 * The kernel ends a scheduler that fails, or a thread of which waits for too long. What made it do
 * so may be over a moment later; if not, it is tried less and less often, and no more after TRIES
 * in a row. Who ended it on purpose (SysRq, another way of the administrator's) is not
 * contradicted.
 */
#ifndef HPD_FORCE_H
#define HPD_FORCE_H

#include "system.h"

#define TRIES 5u               /* after 1, 2, 4, 8 and 16 s */
#define LONG_NS 60000000000ull /* in force for so long, it was well, and the count begins anew */

/* Gives the system to the kernel; NULL, or why that was not done. `epoch_ns` as kernel_start has
 * it. */
const char *put_in_force(struct system *system, uint64_t epoch_ns);

/* The kernel's own scheduler goes on, and nothing is tried any more. */
void take_out_of_force(struct system *system);

/* Forgets threads and processes that have ended. */
void forget_ended(struct system *system);

/* That, and finds cgroups by their paths and patterns again: some that were there are not, or are
 * others. look_after() does it each second. */
void renew_members(struct system *system);

/* Looks whether the kernel has ended the system, or it is time to try again. False: it was tried as
 * often as it may be. */
bool look_after(struct system *system);

#endif
