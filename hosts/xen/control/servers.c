// SPDX-License-Identifier: BSD-2-Clause
/* The servers of a domain's vcpus: write and read. */
#include <errno.h>
#include <stdio.h>

#include "admission.h"
#include "commands.h"
#include "names.h"
#include "pools.h"
#include "server.h"

/* The domain, which must be in a pool of ours. */
static struct domain own_domain_named(const char *word, struct pool *pool) {
    struct domain domain = domain_named(word);
    if (find_pool(domain.pool, pool) != 0 || pool->scheduler != XEN_SCHEDULER_HYPERPERIOD)
        fail(BAD_INPUT, "domain '%s' is in pool %u, which has another scheduler; allowed: a domain "
                        "in a hyperperiod pool (`hyperperiod-xen move` puts it there)",
             word, domain.pool);
    return domain;
}

static uint32_t take_vcpu(struct arguments *arguments) {
    const char *vcpu = take_option(arguments, "--vcpu");
    return vcpu == NULL ? ALL_VCPUS : (uint32_t)read_number(word_of(vcpu), "--vcpu", ALL_VCPUS - 1);
}

static void check_vcpu(const char *word, const struct domain *domain, uint32_t vcpu) {
    if (vcpu != ALL_VCPUS && vcpu >= domain->vcpus)
        fail(BAD_INPUT, "--vcpu: found %u; allowed: 0 to %u, those of domain '%s'", vcpu,
             domain->vcpus - 1, word);
}

static struct xen_domctl_sched_hyperperiod take_server(struct arguments *arguments) {
    bool best_effort = take_flag(arguments, "--best-effort");
    bool extra = take_flag(arguments, "--extra");
    const char *period = take_option(arguments, "--period");
    const char *budget = take_option(arguments, "--budget");
    const char *priority = take_option(arguments, "--priority");
    const char *weight = take_option(arguments, "--weight");
    if (best_effort) {
        if (period != NULL || budget != NULL || priority != NULL || extra)
            fail(BAD_INPUT, "found --best-effort with a server; allowed: one of the two");
        return make_best_effort(weight == NULL ? (struct word){NULL, 0} : word_of(weight),
                                "--weight");
    }
    if (weight != NULL)
        fail(BAD_INPUT, "found --weight with a server; allowed: with --best-effort");
    if (period == NULL || budget == NULL)
        fail(BAD_INPUT, "found no %s; a server has a period and a budget (or --best-effort)",
             period == NULL ? "--period" : "--budget");
    struct xen_domctl_sched_hyperperiod server =
        make_server((struct server_words){
            .period = word_of(period),
            .period_what = "--period",
            .budget = word_of(budget),
            .budget_what = "--budget",
        });
    if (priority != NULL)
        set_priority(&server, word_of(priority), "--priority");
    if (extra)
        server.order |= XEN_HYPERPERIOD_EXTRA;
    return server;
}

/* The vcpus get the server among the members; whether any of them is promised more by that. */
static bool replace_shares(struct members *members, uint32_t domain, uint32_t vcpu,
                           const struct xen_domctl_sched_hyperperiod *server) {
    bool more = false;
    for (unsigned int i = 0; i < members->count; i++) {
        struct member *member = &members->list[i];
        if (member->domain != domain || (vcpu != ALL_VCPUS && member->vcpu != vcpu))
            continue;
        more = more || larger_share(share_of(server), member->share);
        member->share = share_of(server);
    }
    return more;
}

/* A pool that is overbooked already may get better in steps: what takes is never refused. */
static void check_admission(const struct domain *domain, const struct pool *pool, uint32_t vcpu,
                            const struct xen_domctl_sched_hyperperiod *server) {
    bool global = ask_info(pool).global;
    struct members members = find_members(pool);
    struct load load;
    if (replace_shares(&members, domain->id, vcpu, server)
        && find_overbooked(pool, global, &members, &load))
        fail(BAD_INPUT, "budgets: found %s promised by this; allowed: at most %u %% (--force "
                        "overbooks; `hyperperiod-xen pool-info %u` shows the load)",
             load_text(&load, global), 100 * load.pcpu_count, pool->id);
    free_members(&members);
}

int set(struct arguments *arguments) {
    uint32_t vcpu = take_vcpu(arguments);
    bool force = take_flag(arguments, "--force");
    struct xen_domctl_sched_hyperperiod server = take_server(arguments);
    const char *word = take_word(arguments, "domain");
    take_no_more(arguments);
    open_hypervisor();
    struct pool pool;
    struct domain domain = own_domain_named(word, &pool);
    check_vcpu(word, &domain, vcpu);
    if (!force)
        check_admission(&domain, &pool, vcpu, &server);
    int error = set_server(domain.id, vcpu, &server);
    if (error != 0)
        fail(REFUSED, "%s", set_reason(error));
    return DONE;
}

const char *set_reason(int error) {
    static char text[256];
    switch (error) {
    case EINVAL:
        return "nothing was changed: period and budget are no multiples of the pool's quantum, or "
               "the vcpu is gone";
    case ERANGE:
        return "deciding for all servers of the pcpu would take more than half its time: longer "
               "periods are needed, here or elsewhere; `get` shows what was changed";
    default:
        snprintf(text, sizeof(text), "nothing was changed: %s", reason(error));
        return text;
    }
}

static void print_line(uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server) {
    printf("  vcpu %-3u  ", vcpu);
    print_server(stdout, server);
    printf("\n");
}

static void print_json_line(uint32_t vcpu, const struct xen_domctl_sched_hyperperiod *server) {
    printf("{\"vcpu\": %u, ", vcpu);
    print_json_server(server);
    printf("}");
}

int get(struct arguments *arguments) {
    uint32_t wanted = take_vcpu(arguments);
    bool json = take_flag(arguments, "--json");
    const char *word = take_word(arguments, "domain");
    take_no_more(arguments);
    open_hypervisor();
    struct pool pool;
    struct domain domain = own_domain_named(word, &pool);
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
        (json ? print_json_line : print_line)(vcpu, &server);
    }
    if (json)
        printf("]}\n");
    return DONE;
}
