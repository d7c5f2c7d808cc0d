/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sockets: requests come in, answers go out, one packet each (docs/linux/control.md).
 *
 * Who may open the control socket may do everything that the daemon can; that is root, and a group
 * if one is named. The socket for tasks is open to all, for threads that enter servers by
 * themselves. No client can make the daemon wait: what cannot be sent at once ends the connection,
 * and when there are too many connections at a socket, the one that was quiet for longest ends.
 */
#ifndef HPD_CONTROL_H
#define HPD_CONTROL_H

#include "system.h"

/* Opens a socket at the path; `group` may be NULL. A negative number, with a message, if it
 * cannot be. */
int open_socket(const char *path, unsigned int mode, const char *group);

/* From here on SIGTERM, SIGINT and SIGHUP wait to be read from the file that is returned. */
int open_signals(void);

/* Serves requests until a signal comes, which is returned; `tasks` may be -1: no such socket. 0:
 * the system was put in force again in vain, too often. */
int serve(struct system *system, int signals, int control, int tasks);

#endif
