/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hook of OCI runtimes (createRuntime or prestart, and poststop): containers say by annotations
 * which server they have.
 *
 *     hyperperiod.budget=3ms/10ms    a server of its own, with this budget in every period
 *     hyperperiod.server=NAME        called so, else by the first letters of the container's id;
 *                                    without a budget a server that is there already
 *     hyperperiod.priority=N         of its own server, where the policy goes by priorities; else
 * it comes after all others
 *
 * When a container is made it is refused if it cannot have what it asks for: then the runtime does
 * not start it. Its own server is on the first cpu of the policy's on which the container may run
 * and that has room, or on all of these under a global policy. When the container is over the
 * server goes as well, and one that is made again has it again, by the same name.
 *
 * A server has one container at a time: it is taken over from one that has gone without its hook,
 * and not from one that is there.
 */
#ifndef HPCTL_HOOK_H
#define HPCTL_HOOK_H

/* Reads the state of a container from standard input, and does what its annotations ask for; those
 * without ours need no daemon. Returns the exit code: 0 done, 2 refused, 3 nobody answers. Why is
 * said on standard error and in the system's log. */
int hook(const char *socket_path);

#endif
