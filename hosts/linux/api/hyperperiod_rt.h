/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Periodic tasks that say so: a thread enters a server of Hyperperiod on Linux, has a period, and
 * learns at the end of each job whether its deadline was met.
 *
 *     rt_enter();
 *     rt_set_server("control");
 *     rt_set_period(10000000);
 *     while (work())
 *         if (rt_wait_for_period() == 0)
 *             missed++;
 *     rt_exit();
 *
 * Everything is of the calling thread. Servers are made by whoever runs the machine (hyperperiodd);
 * one that is open to a user (users=) needs no privilege. Without a server a task waits for its
 * periods all the same. A program that knows nothing of this needs no change: its threads are
 * attached from outside.
 *
 * Functions return 0, or an errno below 0; rt_error() then says more.
 */
#ifndef HYPERPERIOD_RT_H
#define HYPERPERIOD_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The thread becomes a task, without a server and a period. -EBUSY: it is one already. */
int rt_enter(void);

/* The task belongs to this server from now on. -ENOENT: no daemon answers; -EPERM: it refuses. */
int rt_set_server(const char *name);

/* The task's period (ns), and its deadline after each release, which is the period unless it was
 * set. The job that it is in was released now. -EINVAL: 0, or 2^62 and more. */
int rt_set_period(uint64_t period_ns);
int rt_set_deadline(uint64_t deadline_ns);

/* The task's place among those of its server where that goes by priority: 0 is first, below 32768.
 */
int rt_set_priority(unsigned int priority);

/*
 * Ends the job and waits for the release of the next one, a period after its own; if that has
 * passed, the next job begins at once. 1: the deadline of the job that ended was met; 0: it was
 * missed. -EINVAL: the task has no period.
 */
int rt_wait_for_period(void);

/* The thread is no task any more, and belongs to no server. */
int rt_exit(void);

/* What the last call of this thread that failed had to say. */
const char *rt_error(void);

#ifdef __cplusplus
}
#endif

#endif
