/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection to hyperperiodd (docs/linux/control.md), as a program of one request or a few has
 * it.
 */
#ifndef HPCTL_CLIENT_H
#define HPCTL_CLIENT_H

#define REQUEST_BYTES 4096u
#define ANSWER_BYTES 0x40000u

/* What came of a request; the numbers are exit codes. */
enum outcome { DONE = 0, REFUSED = 2, LACKS = 3 };

/* Returns the daemon's socket, or -1: nobody answers, which is said then. */
int connect_to(const char *path);

/* Sends a request and receives its answer, ANSWER_BYTES and a zero, and the file that comes with
 * it, or -1. LACKS: no answer came, which is said then. */
enum outcome ask(int daemon, const char *request, char *answer, int *file);

#endif
