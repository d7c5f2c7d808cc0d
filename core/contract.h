// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Hyperperiod's core: who runs, who pays, until when. This page is its contract.
 *
 * The core is told the time and never asks; it has no clock, lock, heap or floating point, and
 * calls nobody. One struct hp_core is one lock domain: a pcpu of a partitioned host, or all
 * pcpus of a global one. The host takes its lock, calls one of these, releases the lock and
 * acts on what came back.
 *
 * Within one instant: departures, arrivals, parameters, thefts, returns, kicks and picks. Charges
 * and refills happen inside the calls. Times must not go back; one that does counts as the
 * latest time the core was told. What returns hp_u32 returns an error (types.h: HP_OK, ...), which
 * leaves everything as it was. After every call that changes something, and where there are several
 * pcpus after a pick too, the host asks for kicks (hp_kicks) and has those pcpus pick.
 *
 * H and L, numbers 0 and 1, of 2 ms and 3 ms in 10 ms, on one pcpu under crps (periodic, fp,
 * reclaim), L with work from 0 and H from 1 ms:
 *
 *   0 ms  hp_arrive(L)  H is first in order and pays, idle: hp_kicks says pcpu 0
 *         hp_pick(0)    run L, pay H, until 2 ms
 *   1 ms  hp_arrive(H)  hp_kicks says pcpu 0; hp_pick(0): run H, pay H, until 2 ms
 *   2 ms  hp_pick(0)    H has nothing left: run L, pay L, until 5 ms
 *   5 ms  hp_pick(0)    nobody has anything left: idle until 10 ms, when both have refills
 *
 * Files stand in reading order: env, rules, types, policy, queue, order, wide, account, budget/ and
 * budget, placement, slack/, plan, grant, alone; what changes a lock domain: vcpu, pcpu, swap,
 * move; and beside them what is asked of it: look, law, check. On one pcpu with servers alone it is
 * alone.h that decides, and of grant.h what charges. Read HP_FN, HP_STEP, HP_ONCE and HP_RARE as
 * static, HP_UP_TO and HP_FEW as HP_FOR, HP_FORGET(x) as x; a 0 that an HP_ONCE returns means
 * nothing (env.h). A rule's functions are called through its row (rules.h), by names that macros
 * make.
 */
#pragma once

#include "types.h"

/* --- a lock domain --- */

/* Makes a lock domain without vcpus. Until its first pick a pcpu idles. */
HP_RARE hp_u32 hp_init(struct hp_core *core, const struct hp_config *config, hp_u64 now_ns);

/* Replaces the running policy: accounts and deadlines are kept, all pcpus are to pick again. */
HP_RARE hp_u32 hp_set_policy(struct hp_core *core, const struct hp_policy *policy, hp_u64 now_ns);

/* Gives the spare new parameters; it has nothing until its next refill. */
HP_RARE hp_u32 hp_set_spare(struct hp_core *core, hp_u64 period_ns, hp_u64 budget_ns,
                            hp_u64 now_ns);

/* --- vcpus --- */

/* Adds a vcpu, without work, under a number that is free. Its server has no budget until its first
 * refill, at the first multiple of its period that is not in the past. */
HP_RARE hp_u32 hp_add(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                      hp_u64 now_ns);

/* Gives a server new parameters. They take effect at its next refill, which becomes its origin;
 * a second change before that replaces the first. A vcpu keeps being best effort, or not. */
HP_RARE hp_u32 hp_update(struct hp_core *core, hp_u32 vcpu, const struct hp_params *params,
                         hp_u64 now_ns);

/* Takes a vcpu away. Where it ran a pick is asked for. */
HP_RARE hp_u32 hp_remove(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns);

/* Takes a vcpu out with its budget and work, and brings it into another lock domain under a number
 * that is free. */
struct hp_moving;
HP_RARE hp_u32 hp_leave(struct hp_core *core, hp_u32 vcpu, struct hp_moving *moving, hp_u64 now_ns);
HP_RARE hp_u32 hp_join(struct hp_core *core, hp_u32 vcpu, const struct hp_moving *moving,
                       hp_u64 now_ns);

/* The vcpu may run on these pcpus only, as a mask of their numbers. None, or none that is here, is
 * no bound at all. When pcpus come and go, and numbers change, the host says all of it again. */
HP_RARE void hp_bind(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus);

/* The vcpu has work; nothing if it had some. Afterwards the host asks for kicks. */
HP_FN void hp_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns);

/* The vcpu has no work any more. Refills of this instant come after this. Afterwards the host asks
 * for kicks; where the vcpu ran it picks. */
HP_FN void hp_depart(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns);

/* --- pcpus --- */

/* One more pcpu, which idles until its first pick. Its number is that of pcpus before. */
HP_RARE hp_u32 hp_add_pcpu(struct hp_core *core, hp_u64 now_ns);

/* This pcpu is gone, whoever ran there does not any more, and the last pcpu has its number now.
 * The only one stays: a lock domain without pcpus is none. Where contexts take time to save, that
 * of who ran there is on a pcpu without a number: nobody is granted the vcpu until hp_saved. A host
 * that never switched to it has nothing to save and says so at once. */
HP_RARE hp_u32 hp_drop_pcpu(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns);

/* From now on this pcpu runs what nobody granted, and nobody pays for that: an interrupt, a
 * tasklet, threads above the servers. Who ran there is charged up to now. It keeps its budget for
 * what the other pcpus have left, or for later; refills come by the clock. A share ends. Where
 * contexts take time to save, who ran there is held until hp_saved, or until it is granted this
 * pcpu again. */
HP_FN void hp_steal(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns);

/* The pcpu is back: nobody runs there before its next pick, which hp_kicks asks for if need be. */
HP_FN void hp_return(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns);

/* The vcpu is on this pcpu, whatever the grants say, until hp_saved. */
HP_FN void hp_hold(struct hp_core *core, hp_u32 vcpu, hp_u32 pcpu);

/* The vcpu's context is off the pcpu that it ran on: another may have it now. */
HP_FN void hp_saved(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns);

/* --- decisions --- */

/* Ends the grant of this pcpu, which is not stolen, and makes the next one: who runs, who pays,
 * until when. It is in force until the next call. A pick that comes late charges for the time until
 * it; one too many changes nothing. */
HP_FN const struct hp_grant *hp_pick(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns);

/* The pcpus whose grant is no longer right, as a mask: somebody else should run or pay, or the
 * grant must end sooner. A pcpu whose time is up is not named for that alone. One that waits
 * for a vcpu to leave another pcpu is named once that has happened. */
HP_FN hp_u64 hp_kicks(struct hp_core *core, hp_u64 now_ns);

/* Brings all accounts up to now, and returns the first of the laws (check.h) that is broken, or
 * HP_LAW_HOLDS. */
HP_RARE hp_u32 hp_check(struct hp_core *core, hp_u64 now_ns);
