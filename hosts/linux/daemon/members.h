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
};

/* The member that a request names by cgroup=, pid= or thread=; exactly one of these. */
bool find_member(const struct request *request, struct member *member, struct text *problem);

/* Whether it is there no more; another may have its id or its path. */
bool has_ended(const struct member *member);

/* Whether the thread is one of the process. */
bool is_thread_of(uint64_t thread, pid_t process);

/* Whether the one who asks may enter a server that is open to `users`. */
bool may_enter(const struct peer *peer, long long users);

#endif
