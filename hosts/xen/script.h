/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an experiment has the scheduler do by itself, at instants that are known beforehand:
 * "hyperperiod-test=ITEM,ITEM,..." on Xen's command line, as often as needed. It is there if
 * Kconfig has HYPERPERIOD_TEST; no system needs it.
 *
 *   epoch=TIME       when the run begins: until then all units are best effort
 *   horizon=TIME     after the epoch: when rings end and "horizon reached" is said
 *   swap=TIME:POLICY    change=TIME:dN[.V]:PERIOD:BUDGET[:pPRIORITY]    move=TIME:dN[.V]:cpuN
 */
#ifndef HYPERPERIOD_SCRIPT_H
#define HYPERPERIOD_SCRIPT_H

#include "options.h"

/* What happens at some time after the epoch. */
enum event_kind {
    EVENT_SWAP,
    EVENT_CHANGE,
    EVENT_MOVE,
};

struct event_option {
    hp_u64 at_ns;
    enum event_kind kind;
    struct hp_policy policy;
    struct domain_option change;
};

#define MAX_EVENT_OPTIONS 64U

struct script {
    hp_u64 epoch_ns;   /* 0: none */
    hp_u64 horizon_ns; /* 0: none */
    unsigned int events;
    struct event_option event[MAX_EVENT_OPTIONS];
};

/* The same for all pools; does not change after boot. */
#ifdef CONFIG_HYPERPERIOD_TEST
extern struct script hyperperiod_script;
#else
static const struct script hyperperiod_script;
#endif

#endif /* HYPERPERIOD_SCRIPT_H */
