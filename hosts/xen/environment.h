/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core inside Xen: its assertions are Xen's, and so exist in debug builds only.
 */
#ifndef HYPERPERIOD_ENVIRONMENT_H
#define HYPERPERIOD_ENVIRONMENT_H

#include <xen/bug.h>
#include <xen/lib.h>

#define HP_ASSERT(condition) ({ ASSERT(condition); })

/* The hypervisor's text is to stay small: what several rules have in common is there once, and
 * what is seldom needed is made small rather than fast. */
#define HP_STEP static __attribute__((__noinline__, __unused__))
#define HP_RARE static __attribute__((__cold__, __noinline__, __unused__))

/* Kconfig has no global policies: a lock domain is one pcpu. */
#ifndef CONFIG_HYPERPERIOD_GLOBAL
#define HP_PCPUS 1u
#endif

/* Nobody else has refills of its own. */
#ifndef CONFIG_HYPERPERIOD_BUDGET_SPORADIC
#define HP_REFILLS 1u
#endif

/* The rules that Kconfig has. */
#define HP_OFFERS(RULE) (0u + IS_ENABLED(CONFIG_HYPERPERIOD_##RULE))

/* Tasklets run on the grant that they meet. */
#define HP_STEALS 0

/* Kconfig has toolstacks, and changes while guests run: or nobody asks what they have had. */
#define CHANGES IS_ENABLED(CONFIG_HYPERPERIOD_CHANGES)

/* Refills and depletions are counted (scheduler.c). */
#ifdef CONFIG_HYPERPERIOD_CHANGES
struct hp_core;
void hyperperiod_count(struct hp_core *core, unsigned int kind, unsigned int vcpu);
#define HP_NOTE(core, kind, now_ns, vcpu, value) hyperperiod_count(core, kind, vcpu)
#endif

#include "core/hyperperiod.h"
#include "core/move.h"

#endif /* HYPERPERIOD_ENVIRONMENT_H */
