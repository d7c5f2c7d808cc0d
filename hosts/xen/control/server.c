// SPDX-License-Identifier: BSD-2-Clause
#include "server.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

#define SERVER_ALLOWED                                                                             \
    "BUDGET in PERIOD, then ', priority N' or ', ordinary', and ', extra time'; or best effort, "  \
    "and ', weight N'"

/* A time has to outlast so many decisions of the scheduler. */
static void check_floor(uint32_t time_us, uint32_t decisions, struct word text, const char *what) {
    uint32_t floor_us = (decisions * XEN_HYPERPERIOD_DECISION_NS + 999) / 1000;
    if (time_us < floor_us)
        fail(BAD_INPUT,
             "%s: found %.*s; allowed: at least %uus, what the scheduler needs to decide", what,
             SHOWN(text), floor_us);
}

struct xen_domctl_sched_hyperperiod make_server(struct server_words words) {
    struct xen_domctl_sched_hyperperiod server = {.order = 0};
    server.period_us = read_time_us(words.period, words.period_what);
    server.budget_us = read_time_us(words.budget, words.budget_what);
    check_floor(server.period_us, 4, words.period, words.period_what);
    check_floor(server.budget_us, 1, words.budget, words.budget_what);
    if (server.budget_us > server.period_us)
        fail(BAD_INPUT, "%s: found %.*s; allowed: at most the period, %.*s", words.budget_what,
             SHOWN(words.budget), SHOWN(words.period));
    server.order = server.period_us < HP_ORDINARY ? server.period_us : HP_ORDINARY - 1;
    return server;
}

void set_priority(struct xen_domctl_sched_hyperperiod *server, struct word text, const char *what) {
    server->order &= ~XEN_HYPERPERIOD_PRIORITY;
    server->order |= (uint32_t)read_number(text, what, HP_PRIORITY_MAX);
}

struct xen_domctl_sched_hyperperiod make_best_effort(struct word weight, const char *what) {
    struct xen_domctl_sched_hyperperiod server = {.order = XEN_HYPERPERIOD_BEST_EFFORT};
    if (weight.start == NULL)
        return server;
    server.budget_us = (uint32_t)read_number(weight, what, HP_WEIGHT_MAX);
    if (server.budget_us == 0)
        fail(BAD_INPUT, "%s: found 0; allowed: 1 to %u", what, HP_WEIGHT_MAX);
    return server;
}

/* --- the text of a server -------------------------------------------------------------------- */

static _Noreturn void fail_server(struct word text, const char *what) {
    fail(BAD_INPUT, "%s: found '%.*s'; allowed: " SERVER_ALLOWED, what, SHOWN(text));
}

/* Cuts off the next part, up to a comma; it loses its blanks. */
static struct word next_part(struct word *rest) {
    return word_trim(word_cut(rest, ','));
}

/* Reads BUDGET in PERIOD; whether the text is that. */
static bool split_interface(struct word text, struct word *budget, struct word *period) {
    *budget = word_cut(&text, ' ');
    text = word_trim(text);
    *period = word_take(&text, "in ") ? word_trim(text) : (struct word){NULL, 0};
    return period->start != NULL;
}

static struct xen_domctl_sched_hyperperiod read_best_effort(struct word rest, struct word text,
                                                            const char *what) {
    struct word weight = next_part(&rest);
    if (weight.start != NULL && (rest.start != NULL || !word_take(&weight, "weight ")))
        fail_server(text, what);
    return make_best_effort(word_trim(weight), what);
}

static void read_part(struct xen_domctl_sched_hyperperiod *server, struct word part,
                      struct word text, const char *what, bool *ordered) {
    bool priority = word_take(&part, "priority "), ordinary = word_is(part, "ordinary");
    if ((priority || ordinary) && !*ordered) {
        *ordered = true;
        if (priority)
            set_priority(server, part, what);
        else
            server->order |= HP_ORDINARY;
    } else if (word_is(part, "extra time") && !(server->order & XEN_HYPERPERIOD_EXTRA)) {
        server->order |= XEN_HYPERPERIOD_EXTRA;
    } else {
        fail_server(text, what);
    }
}

struct xen_domctl_sched_hyperperiod read_server(struct word text, const char *what) {
    struct word rest = text, budget, period, interface = next_part(&rest);
    if (word_is(interface, "best effort"))
        return read_best_effort(rest, text, what);
    if (!split_interface(interface, &budget, &period))
        fail_server(text, what);
    struct xen_domctl_sched_hyperperiod server =
        make_server((struct server_words){period, what, budget, what});
    bool ordered = false;
    while (rest.start != NULL)
        read_part(&server, next_part(&rest), text, what, &ordered);
    return server;
}

void print_server(FILE *to, const struct xen_domctl_sched_hyperperiod *server) {
    if (server->order & XEN_HYPERPERIOD_BEST_EFFORT) {
        fprintf(to, "best effort");
        if (server->budget_us > 0)
            fprintf(to, ", weight %u", server->budget_us);
        return;
    }
    print_time(to, server->budget_us * 1000ull);
    fprintf(to, " in ");
    print_time(to, server->period_us * 1000ull);
    if ((server->order & XEN_HYPERPERIOD_PRIORITY) == HP_ORDINARY)
        fprintf(to, ", ordinary");
    else
        fprintf(to, ", priority %u", server->order & XEN_HYPERPERIOD_PRIORITY);
    fprintf(to, "%s", server->order & XEN_HYPERPERIOD_EXTRA ? ", extra time" : "");
}

void print_json_server(const struct xen_domctl_sched_hyperperiod *server) {
    bool best_effort = (server->order & XEN_HYPERPERIOD_BEST_EFFORT) != 0;
    printf("\"best_effort\": %s", best_effort ? "true" : "false");
    if (best_effort)
        printf(", \"weight\": %u", server->budget_us > 0 ? server->budget_us : 1);
    else
        printf(", \"period_ns\": %llu, \"budget_ns\": %llu, \"priority\": %u, \"extra\": %s",
               server->period_us * 1000ull, server->budget_us * 1000ull,
               server->order & XEN_HYPERPERIOD_PRIORITY,
               server->order & XEN_HYPERPERIOD_EXTRA ? "true" : "false");
}

/* --- comparing ------------------------------------------------------------------------------- */

struct share share_of(const struct xen_domctl_sched_hyperperiod *server) {
    if (server->order & XEN_HYPERPERIOD_BEST_EFFORT)
        return (struct share){0, 0};
    return (struct share){server->budget_us, server->period_us};
}

/* Best effort has no priority, and a weight that is not said is 1. */
bool same_server(const struct xen_domctl_sched_hyperperiod *first,
                 const struct xen_domctl_sched_hyperperiod *second) {
    if (first->order & second->order & XEN_HYPERPERIOD_BEST_EFFORT)
        return (first->budget_us > 0 ? first->budget_us : 1)
               == (second->budget_us > 0 ? second->budget_us : 1);
    return first->period_us == second->period_us && first->budget_us == second->budget_us
           && first->order == second->order;
}

/* --- a spare --------------------------------------------------------------------------------- */

void check_spare(uint64_t budget_ns, uint64_t period_ns, const char *budget_what,
                 const char *period_what) {
    if (period_ns == 0)
        fail(BAD_INPUT, "%s: found 0; allowed: above 0", period_what);
    if (budget_ns > period_ns)
        fail(BAD_INPUT, "%s: found more than the period; allowed: at most the period", budget_what);
}

void read_spare(struct word text, const char *what, uint64_t *budget_ns, uint64_t *period_ns) {
    struct word budget, period;
    if (!split_interface(text, &budget, &period))
        fail(BAD_INPUT, "%s: found '%.*s'; allowed: BUDGET in PERIOD, such as 1ms in 10ms", what,
             SHOWN(text));
    *budget_ns = read_time_ns(budget, what);
    *period_ns = read_time_ns(period, what);
    check_spare(*budget_ns, *period_ns, what, what);
}
