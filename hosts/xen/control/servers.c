// SPDX-License-Identifier: BSD-2-Clause
/* The servers of a domain's vcpus: write and read. */
#include <errno.h>
#include <stdio.h>

#include "commands.h"
#include "names.h"

/* The domain, which must be in a pool of ours. */
static struct domain own_domain_named(const char *word) {
    struct domain domain = domain_named(word);
    struct pool pool;
    if (find_pool(domain.pool, &pool) != 0 || pool.scheduler != XEN_SCHEDULER_HYPERPERIOD)
        fail(BAD_INPUT, "domain '%s' is in pool %u, which has another scheduler; allowed: a domain "
                        "in a hyperperiod pool (`hyperperiod-xen move` puts it there)",
             word, domain.pool);
    return domain;
}

static uint32_t take_vcpu(struct arguments *arguments) {
    const char *vcpu = take_option(arguments, "--vcpu");
    return vcpu == NULL ? ALL_VCPUS : (uint32_t)read_number(vcpu, "--vcpu", ALL_VCPUS - 1);
}

static void check_vcpu(const char *word, const struct domain *domain, uint32_t vcpu) {
    if (vcpu != ALL_VCPUS && vcpu >= domain->vcpus)
        fail(BAD_INPUT, "--vcpu: found %u; allowed: 0 to %u, those of domain '%s'", vcpu,
             domain->vcpus - 1, word);
}

static uint32_t read_weight(const char *text) {
    uint32_t weight = (uint32_t)read_number(text, "--weight", HP_WEIGHT_MAX);
    if (weight == 0)
        fail(BAD_INPUT, "--weight: found 0; allowed: 1 to %u", HP_WEIGHT_MAX);
    return weight;
}

/* A time has to outlast so many decisions of the scheduler. */
static void check_floor(uint32_t time_us, uint32_t decisions, const char *text, const char *name) {
    uint32_t floor_us = (decisions * XEN_HYPERPERIOD_DECISION_NS + 999) / 1000;
    if (time_us < floor_us)
        fail(BAD_INPUT, "%s: found %s; allowed: at least %uus, what the scheduler needs to decide",
             name, text, floor_us);
}

static struct xen_domctl_sched_hyperperiod take_server(struct arguments *arguments) {
    struct xen_domctl_sched_hyperperiod server = {.order = 0};
    bool best_effort = take_flag(arguments, "--best-effort");
    bool extra = take_flag(arguments, "--extra");
    const char *period = take_option(arguments, "--period");
    const char *budget = take_option(arguments, "--budget");
    const char *priority = take_option(arguments, "--priority");
    const char *weight = take_option(arguments, "--weight");
    if (best_effort) {
        if (period != NULL || budget != NULL || priority != NULL || extra)
            fail(BAD_INPUT, "found --best-effort with a server; allowed: one of the two");
        server.order |= XEN_HYPERPERIOD_BEST_EFFORT;
        if (weight != NULL)
            server.budget_us = read_weight(weight);
        return server;
    }
    if (weight != NULL)
        fail(BAD_INPUT, "found --weight with a server; allowed: with --best-effort");
    if (period == NULL || budget == NULL)
        fail(BAD_INPUT, "found no %s; a server has a period and a budget (or --best-effort)",
             period == NULL ? "--period" : "--budget");
    server.period_us = read_time_us(period, "--period");
    server.budget_us = read_time_us(budget, "--budget");
    check_floor(server.period_us, 4, period, "--period");
    check_floor(server.budget_us, 1, budget, "--budget");
    if (server.budget_us > server.period_us)
        fail(BAD_INPUT, "--budget: found %s; allowed: at most the period, %s", budget, period);
    if (priority != NULL)
        server.order = (uint32_t)read_number(priority, "--priority", HP_PRIORITY_MAX);
    else /* rate monotonic */
        server.order = server.period_us < HP_ORDINARY ? server.period_us : HP_ORDINARY - 1;
    if (extra)
        server.order |= XEN_HYPERPERIOD_EXTRA;
    return server;
}

int set(struct arguments *arguments) {
    uint32_t vcpu = take_vcpu(arguments);
    struct xen_domctl_sched_hyperperiod server = take_server(arguments);
    const char *word = take_word(arguments, "domain");
    take_no_more(arguments);
    open_hypervisor();
    struct domain domain = own_domain_named(word);
    check_vcpu(word, &domain, vcpu);
    int error = set_server(domain.id, vcpu, &server);
    if (error == EINVAL)
        fail(REFUSED, "nothing was changed: period and budget are no multiples of the pool's "
                      "quantum, or the vcpu is gone");
    if (error == ERANGE)
        fail(REFUSED, "deciding for all servers of the pcpu would take more than half its time: "
                      "longer periods are needed, here or elsewhere; `get` shows what was changed");
    if (error != 0)
        fail(REFUSED, "nothing was changed: %s", reason(error));
    return DONE;
}

static void print_server(uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server) {
    printf("  vcpu %-3u  ", vcpu);
    if (server->order & XEN_HYPERPERIOD_BEST_EFFORT) {
        printf("best effort");
        if (server->budget_us > 0)
            printf(", weight %u", server->budget_us);
        printf("\n");
        return;
    }
    print_time(server->budget_us * 1000ull);
    printf(" in ");
    print_time(server->period_us * 1000ull);
    if ((server->order & XEN_HYPERPERIOD_PRIORITY) == HP_ORDINARY)
        printf(", ordinary");
    else
        printf(", priority %u", server->order & XEN_HYPERPERIOD_PRIORITY);
    printf("%s\n", server->order & XEN_HYPERPERIOD_EXTRA ? ", extra time" : "");
}

static void print_json_server(uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server) {
    bool best_effort = (server->order & XEN_HYPERPERIOD_BEST_EFFORT) != 0;
    printf("{\"vcpu\": %u, \"best_effort\": %s", vcpu, best_effort ? "true" : "false");
    if (best_effort)
        printf(", \"weight\": %u", server->budget_us > 0 ? server->budget_us : 1);
    else
        printf(", \"period_ns\": %llu, \"budget_ns\": %llu, \"priority\": %u, \"extra\": %s",
               server->period_us * 1000ull, server->budget_us * 1000ull,
               server->order & XEN_HYPERPERIOD_PRIORITY,
               server->order & XEN_HYPERPERIOD_EXTRA ? "true" : "false");
    printf("}");
}

int get(struct arguments *arguments) {
    uint32_t wanted = take_vcpu(arguments);
    bool json = take_flag(arguments, "--json");
    const char *word = take_word(arguments, "domain");
    take_no_more(arguments);
    open_hypervisor();
    struct domain domain = own_domain_named(word);
    check_vcpu(word, &domain, wanted);
    const char *name = domain_name(domain.id);
    const char *comma = "";
    if (json) {
        printf("{\"domain\": %u, \"name\": ", domain.id);
        print_json_text(name);
        printf(", \"pool\": %u, \"vcpus\": [", domain.pool);
    } else {
        printf("domain %u%s%s, pool %u\n", domain.id, name ? ", " : "", name ? name : "",
               domain.pool);
    }
    for (uint32_t vcpu = 0; vcpu < domain.vcpus; vcpu++) {
        struct xen_domctl_sched_hyperperiod server;
        if (wanted != ALL_VCPUS && vcpu != wanted)
            continue;
        int error = get_server(domain.id, vcpu, &server);
        if (error != 0)
            fail(REFUSED, "vcpu %u of domain '%s' cannot be read: %s", vcpu, word, reason(error));
        if (json)
            printf("%s", comma);
        comma = ", ";
        (json ? print_json_server : print_server)(vcpu, &server);
    }
    if (json)
        printf("]}\n");
    return DONE;
}
