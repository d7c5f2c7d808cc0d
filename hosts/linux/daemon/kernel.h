/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's half: the BPF programs of hosts/linux/hyperperiod.bpf.c, loaded and told.
 *
 * A function that can fail returns NULL, or why it did not do what it should: a text that is good
 * until the next call. kernel.c does this by libbpf; tests have a kernel of their own.
 */
#ifndef HPD_KERNEL_H
#define HPD_KERNEL_H

#include <dirent.h>

#include "hosts/linux/shared.h"

#include "system.h"

/*
 * Looks whether the programs can be had, and loads them for so many lock domains; for 0 that waits
 * for the first start. `lacks`: the kernel has no sched_ext, or there is no object file.
 */
const char *kernel_open(const char *object, uint32_t locks, bool *lacks);

/*
 * Has what is put in force outlive this process, by pins in a folder of bpffs. What an earlier one
 * has left there goes on with the next kernel_start, if it is the same system then; if it is not
 * `known` what it is, it ends now. To be called before kernel_open.
 */
void kernel_keep(const char *folder, bool known);

/* Loads the programs, which takes seconds, unless they are loaded for as many lock domains. */
const char *kernel_load(const struct system *system);

/* Puts the system in force, or goes on with what was found in force (kernel_keep): all its servers
 * and members, and loads the programs if that is not done. The core's time is 0 until `epoch_ns` of
 * the monotonic clock; 0: until now. */
const char *kernel_start(const struct system *system, uint64_t epoch_ns);

/* The clock of epochs. */
uint64_t kernel_clock_ns(void);

/* The kernel's own scheduler goes on. What was used and recorded can still be looked at. */
void kernel_stop(void);

/* Nothing of the programs is left in the kernel. */
void kernel_close(void);

/* The cpus that this machine can have, a bit each. */
uint64_t kernel_cpus(void);

/* A file that can be read from when there is a wish (shared.h), or -1; and the next one, if there
 * is one. */
int kernel_wishes(void);
bool kernel_wish(struct lx_wish *wish);

/* Whether it is in force still; if the kernel has ended it, why. */
bool kernel_runs(struct text *why);

/* The id of the cgroup (version 2) at a path, which is the number of its folder's inode; 0: there
 * is none. */
uint64_t kernel_cgroup(const char *path);

/* Its folder, in which those below it are; NULL: there is none. */
DIR *kernel_folder(const char *path);

const char *kernel_add(const struct system *system, uint32_t server);
const char *kernel_change(const struct system *system, uint32_t server);
const char *kernel_remove(const struct system *system, uint32_t server);
const char *kernel_swap(const struct system *system);
const char *kernel_attach(const struct system *system, const struct member *member);
const char *kernel_detach(const struct system *system, const struct member *member);
void kernel_record(bool on);

/* The state that the programs keep, or NULL if they are not loaded. */
const struct lx_state *kernel_state(void);

/* What a server has had; false if that cannot be had. */
bool kernel_look(const struct system *system, uint32_t server, struct lx_look *look);

/* What a program of the kernel's half has taken since it was loaded, as far as the kernel counts
 * that (kernel.bpf_stats_enabled). */
struct spent {
    const char *name;
    uint64_t runs, ns;
};

/* Looks at the program of this number, from 0; false if there are not so many. */
bool kernel_spent(uint32_t number, struct spent *spent);

/* The rings as a file in memory that nobody can change (docs/linux/control.md), or -1. */
int kernel_rings(const struct system *system);

#endif
