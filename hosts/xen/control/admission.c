// SPDX-License-Identifier: BSD-2-Clause
#include "admission.h"

#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "text.h"

#define PPM_OF_A_PCPU 1000000u

void add_member(struct members *members, struct member member) {
    struct member *list =
        realloc(members->list, (members->count + 1) * sizeof(*members->list));
    if (list == NULL)
        fail(LACKS, "no memory for %u vcpus", members->count + 1);
    list[members->count++] = member;
    members->list = list;
}

void free_members(struct members *members) {
    free(members->list);
    *members = (struct members){NULL, 0};
}

/* A domain may end while it is looked at: then its vcpus are no members. */
static void add_domain(struct members *members, const struct domain *domain) {
    for (uint32_t vcpu = 0; vcpu < domain->vcpus; vcpu++) {
        struct member member = {.domain = domain->id, .vcpu = vcpu};
        struct xen_domctl_sched_hyperperiod server;
        if (find_pcpu(domain->id, vcpu, &member.pcpu) != 0
            || get_server(domain->id, vcpu, &server) != 0)
            continue;
        member.share = share_of(&server);
        add_member(members, member);
    }
}

struct members find_members(const struct pool *pool) {
    struct members members = {NULL, 0};
    struct domain domain;
    for (uint32_t from = 0; find_domain(from, &domain) == 0; from = domain.id + 1)
        if (domain.pool == pool->id)
            add_domain(&members, &domain);
    return members;
}

/* The members that have time of these pcpus, added up. */
static void add_up(const struct members *members, bool global, struct load *load) {
    struct share *shares = calloc(members->count + 1, sizeof(*shares));
    if (shares == NULL)
        fail(LACKS, "no memory for %u vcpus", members->count);
    load->servers = 0;
    for (unsigned int i = 0; i < members->count; i++) {
        const struct member *member = &members->list[i];
        bool here = global || has_pcpu(load->pcpus, member->pcpu);
        if (here && member->share.period_us != 0)
            shares[load->servers++] = member->share;
    }
    load->ppm = load_ppm(shares, load->servers);
    load->overbooked = overbooks(shares, load->servers, load->pcpu_count);
    free(shares);
}

bool find_load(const struct pool *pool, bool global, const struct members *members, uint32_t from,
               struct load *load, uint32_t *next) {
    memset(load, 0, sizeof(*load));
    for (*next = from; *next < MAX_PCPUS && (global || load->pcpu_count == 0); ++*next) {
        if (has_pcpu(pool->pcpus, *next)) {
            load->pcpus[*next / 8] |= (uint8_t)(1u << *next % 8);
            load->pcpu_count++;
        }
    }
    if (load->pcpu_count == 0)
        return false;
    add_up(members, global, load);
    return true;
}

bool find_overbooked(const struct pool *pool, bool global, const struct members *members,
                     struct load *load) {
    uint32_t next = 0;
    while (find_load(pool, global, members, next, load, &next))
        if (load->overbooked)
            return true;
    return false;
}

void print_load(FILE *to, const struct load *load, bool global) {
    uint64_t tenths = load->ppm / (PPM_OF_A_PCPU / 1000);
    /* What is too much by less than is shown would look like enough. */
    const char *over = load->overbooked && tenths == 1000u * load->pcpu_count ? "just over " : "";
    fprintf(to, "%s%llu.%llu %% of ", over, (unsigned long long)tenths / 10,
            (unsigned long long)tenths % 10);
    if (global && load->pcpu_count > 1)
        fprintf(to, "%u %%, ", 100 * load->pcpu_count);
    fprintf(to, load->pcpu_count > 1 ? "pcpus " : "pcpu ");
    print_pcpus(to, load->pcpus);
}

void print_json_load(const struct load *load) {
    printf("{\"pcpus\": ");
    print_json_pcpus(load->pcpus);
    printf(", \"servers\": %u, \"load_ppm\": %llu, \"overbooked\": %s}", load->servers,
           (unsigned long long)load->ppm, load->overbooked ? "true" : "false");
}

const char *load_text(const struct load *load, bool global) {
    static char text[1024];
    FILE *to = fmemopen(text, sizeof(text), "w");
    if (to == NULL)
        fail(LACKS, "no memory for a message");
    print_load(to, load, global);
    fclose(to);
    text[sizeof(text) - 1] = 0;
    return text;
}
