/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What Xen's command line says about scheduling: "hyperperiod=ITEM,ITEM,...", as often as
 * needed. Systems without a toolstack have no other way to say it; on others these are the
 * parameters that pools and domains start with.
 *
 *   policy=NAME|BUDGET+ORDER+SLACK[+SCOPE]    scope=partitioned|global    quantum=TIME
 *   spare=PERIOD:BUDGET                       ring=SIZE
 *   dN[.V]=PERIOD:BUDGET[:pPRIORITY][:cpuN][:extra]    dN[.V]=best-effort[:cpuN][:wWEIGHT]
 *
 * The priority is by period if it is not said; the last one, 16777215, makes an ordinary server.
 *
 * The script of an experiment, if Kconfig has HYPERPERIOD_TEST: "hyperperiod-test=ITEM,ITEM,..."
 *
 *   epoch=TIME   horizon=TIME   swap=TIME:POLICY   change=TIME:dN[.V]:PERIOD:BUDGET[:pPRIORITY]
 *   move=TIME:dN[.V]:cpuN
 *
 * An item that is wrong is named on the console, and the default stands in its place.
 */
#ifndef HYPERPERIOD_OPTIONS_H
#define HYPERPERIOD_OPTIONS_H

#include "environment.h"

#define ANY_VCPU 0xffffU
#define ANY_CPU 0xffffU

/* The server of a vcpu, and where it should run. */
struct server_option {
    struct hp_params params;
    unsigned int cpu; /* or ANY_CPU */
};

/* What dN=... or dN.V=... says. */
struct domain_option {
    unsigned int domain;
    unsigned int vcpu; /* or ANY_VCPU: all of them */
    struct server_option server;
};

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

#define MAX_DOMAIN_OPTIONS HP_VCPUS
#define MAX_EVENT_OPTIONS 64U

struct options {
    struct hp_policy policy;
    bool global;
    bool scope_given;
    hp_u64 quantum_ns;
    hp_u64 spare_period_ns;
    hp_u64 spare_budget_ns;
    unsigned int ring_bytes;
    unsigned int domains;
    struct domain_option domain[MAX_DOMAIN_OPTIONS];
};

struct script {
    hp_u64 epoch_ns;   /* 0: none */
    hp_u64 horizon_ns; /* 0: none */
    unsigned int events;
    struct event_option event[MAX_EVENT_OPTIONS];
};

/* The same for all pools; do not change after boot. */
extern struct options hyperperiod_options;
#ifdef CONFIG_HYPERPERIOD_TEST
extern struct script hyperperiod_script;
#else
static const struct script hyperperiod_script;
#endif

/* How late Xen may let a timer be that is due soon (its option timer_slop). */
extern unsigned int hyperperiod_timer_slop_ns;

/* What a vcpu starts with: its own entry, else its domain's, else best effort. */
const struct server_option *server_option_of(unsigned int domain, unsigned int vcpu);

/* A short word for an error code of the core. */
const char *hyperperiod_error(unsigned int error);

#endif /* HYPERPERIOD_OPTIONS_H */
