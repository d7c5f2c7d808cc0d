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
 * An item that is wrong is named on the console, and the default stands in its place. What
 * experiments have the scheduler do by itself is another option (script.h).
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

#define MAX_DOMAIN_OPTIONS HP_VCPUS

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

/* The same for all pools; does not change after boot. */
extern struct options hyperperiod_options;

/* How late Xen may let a timer be that is due soon (its option timer_slop). */
extern unsigned int hyperperiod_timer_slop_ns;

/* What a vcpu starts with: its own entry, else its domain's, else best effort. */
const struct server_option *server_option_of(unsigned int domain, unsigned int vcpu);

/* A short word for an error code of the core. */
const char *hyperperiod_error(unsigned int error);

/* --- for those who read a command line (words/words.h) --------------------------------------- */

struct word;

/* Reads all items of a text. `read_item` reads one and returns what would have been allowed if it
 * is wrong, or NULL; that is said once there is a console. */
int hyperperiod_read_items(const char *text,
                           const char *(*read_item)(struct word key, struct word value));

/* PERIOD:BUDGET[:pPRIORITY][:cpuN][:extra], or best-effort[:cpuN][:wWEIGHT] */
bool hyperperiod_read_server(struct word text, struct server_option *server);

/* dN or dN.V */
bool hyperperiod_read_domain(struct word text, struct domain_option *option);

#endif /* HYPERPERIOD_OPTIONS_H */
