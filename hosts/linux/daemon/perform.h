/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request is performed: looked at beside the system as it is, told to the kernel if that has the
 * system, and answered in JSON.
 */
#ifndef HPD_PERFORM_H
#define HPD_PERFORM_H

#include "members.h"

/* Whether everything was done; the answer is there in either case. *file is a file that goes with
 * the answer, or -1. */
bool perform(struct system *system, const struct request *request, const struct peer *peer,
             struct text *answer, int *file);

/* The answer to a request that is refused. */
void add_refusal(struct text *answer, const char *problem);

/* status.c: everything that is known, as one object. */
void add_status(struct text *answer, const struct system *system);

#endif
