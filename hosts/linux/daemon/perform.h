/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request is performed: looked at beside the system as it is, told to the kernel if that has the
 * system, and answered in JSON.
 */
#ifndef HPD_PERFORM_H
#define HPD_PERFORM_H

#include "members.h"

#define ANSWER_BYTES 0x40000u /* with every server there can be, and its members */

/* Whether everything was done; the answer is there in either case. *file is a file that goes with
 * the answer, or -1. */
bool perform(struct system *system, const struct request *request, const struct peer *peer,
             struct text *answer, int *file);

/* Performs a request of nobody's socket: `whose` says in the log where it stood. False: it is not
 * to be read, or refused, as the log says. *verb is what it asks for, VERB_COUNT if that is not
 * known. */
bool perform_line(struct system *system, const char *line, const char *whose, enum verb *verb);

/* Has servers get what was written to cpu.max of their cgroups, as if `set` had asked for it. */
void grant_wishes(struct system *system);

/* The answer to a request that is refused. */
void add_refusal(struct text *answer, const char *problem);

/* status.c: everything that is known, as one object. */
void add_status(struct text *answer, const struct system *system);

#endif
