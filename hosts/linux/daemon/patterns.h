/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns of cgroup paths: every cgroup that matches one, now or later, belongs to its server.
 *
 * A component of the path may have what a shell knows: * ? [...], and as bash's extglob +(...)
 * *(...)
 * ?(...) @(...) !(...). None goes over a slash, and a backslash is itself, as in the names that
 * systemd makes. A cgroup that was attached by its own path stays where it is; of several patterns
 * that match it the one that was attached first has it. A cgroup that goes is dropped.
 */
#ifndef HPD_PATTERNS_H
#define HPD_PATTERNS_H

#include "system.h"

/* Has what the pattern at this place matches be members of its server. NULL, or why one of them
 * cannot be; the others are all the same. */
const char *bring(struct system *system, uint32_t place);

/* What this pattern has brought belongs to nobody. */
void drop_brought(struct system *system, uint32_t pattern);

/* Drops cgroups that have gone, and brings those that have come. renew_members() does that each
 * second. */
void renew_patterns(struct system *system);

#endif
