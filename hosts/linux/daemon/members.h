/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cgroups, processes and threads of this machine, as /proc and /sys/fs/cgroup know them.
 */
#ifndef HPD_MEMBERS_H
#define HPD_MEMBERS_H

#include <sys/types.h>

#include "system.h"

/* Who asks, as the kernel says (SO_PEERCRED). */
struct peer {
    pid_t process;
    uid_t user;
    bool trusted; /* asks on the control socket */
    int socket;
    int alive; /* its process, as a file that can be read from when that has ended; -1: oneself */
};

/* The member that a request names by cgroup=, pid= or thread=; exactly one of these. */
bool find_member(const struct request *request, struct member *member, struct text *problem);

/* Whether a cgroup's path is a pattern (patterns.h). */
bool is_pattern(const char *path);

/* Where the member stands, or the count if it is none yet. */
uint32_t place_of(const struct system *system, const struct member *member);

/* Whether it is there no more; another may have its id. A cgroup may always come back. */
bool has_ended(const struct member *member);

/* Whether the thread is one of the process. */
bool is_thread_of(uint64_t thread, pid_t process);

/* Whether the one who asks may enter a server that is open to `users`. */
bool may_enter(const struct peer *peer, long long users);

/* Whether the process that connected has ended: another may have its number, and a child its
 * connection. */
bool has_left(const struct peer *peer);

#endif
