/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One server as people write and read it: "4ms in 10ms, priority 9, extra time", or "best effort,
 * weight 3". What is printed is read back as the same server.
 */
#ifndef CONTROL_SERVER_H
#define CONTROL_SERVER_H

#include <stdio.h>

#include "hypervisor.h"
#include "load.h"
#include "words/words.h"

/*
 * A server from the words for its period and budget; `what` names the words in messages. The
 * priority is by period, the shortest first. Ends the program if they are not allowed.
 */
struct server_words {
    struct word period;
    const char *period_what;
    struct word budget;
    const char *budget_what;
};
struct xen_domctl_sched_hyperperiod make_server(struct server_words words);
void set_priority(struct xen_domctl_sched_hyperperiod *server, struct word text, const char *what);
/* No server; a weight that is not there is none. */
struct xen_domctl_sched_hyperperiod make_best_effort(struct word weight, const char *what);

/* The whole text; ends the program if it is none. */
struct xen_domctl_sched_hyperperiod read_server(struct word text, const char *what);
void print_server(FILE *to, const struct xen_domctl_sched_hyperperiod *server);
void print_json_server(const struct xen_domctl_sched_hyperperiod *server);

struct share share_of(const struct xen_domctl_sched_hyperperiod *server);
bool same_server(const struct xen_domctl_sched_hyperperiod *first,
                 const struct xen_domctl_sched_hyperperiod *second);

/* "1ms in 10ms": budget and period of a spare. */
void read_spare(struct word text, const char *what, uint64_t *budget_ns, uint64_t *period_ns);
void check_spare(uint64_t budget_ns, uint64_t period_ns, const char *budget_what,
                 const char *period_what);

#endif
