/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages for whoever runs the machine: to standard error, and to the system's log when the daemon
 * is in the background (the journal reads standard error by itself).
 */
#ifndef HPD_LOG_H
#define HPD_LOG_H

#include <stdbool.h>
#include <syslog.h>

void begin_log(bool background);

/* Says something; priority is LOG_ERR, LOG_WARNING, LOG_NOTICE or LOG_INFO. */
void say(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tells systemd how it is, in the words of sd_notify(3), if systemd has started this. */
void tell_systemd(const char *words);

#endif
