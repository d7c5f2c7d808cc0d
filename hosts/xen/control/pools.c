// SPDX-License-Identifier: BSD-2-Clause
/* Pools: make, show, change, end; and which domains are in them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "admission.h"
#include "commands.h"
#include "names.h"
#include "pools.h"
#include "server.h"

struct xen_sysctl_hyperperiod ask_info(const struct pool *pool) {
    struct xen_sysctl_hyperperiod info = {.op = XEN_HYPERPERIOD_OP_INFO};
    int error = ask_pool(pool->id, &info);
    if (error != 0)
        fail(REFUSED, "pool %u does not tell its policy: %s", pool->id, reason(error));
    return info;
}

void check_policy(const char *text, struct hp_policy rules, bool global) {
    if (!hp_policy_legal(&rules, global ? 2 : 1))
        fail(BAD_INPUT, "policy '%s' is not defined for %s", text,
             global ? "all pcpus of a pool together (--scope global)"
                    : "each pcpu by itself (--scope partitioned)");
}

bool is_global(const struct word_policy *policy, enum word_scope scope, const char *what) {
    if (scope == WORD_SCOPE_any)
        return policy->scope == WORD_SCOPE_global;
    if (policy->scope_said && policy->scope != scope)
        fail(BAD_INPUT, "%s: found '%s'; the policy says otherwise", what,
             word_scopes[scope == WORD_SCOPE_global]);
    return scope == WORD_SCOPE_global;
}

int write_policy(uint32_t pool, struct hp_policy rules, bool global) {
    struct xen_sysctl_hyperperiod wanted = {
        .op = XEN_HYPERPERIOD_OP_POLICY,
        .budget = rules.budget,
        .order = rules.order,
        .slack = rules.slack,
        .global = global,
    };
    return tell_pool(pool, &wanted);
}

void check_available(const uint8_t wanted[MAX_PCPUS / 8], const uint8_t own[MAX_PCPUS / 8],
                     const char *what) {
    struct pool first;
    uint8_t unused[MAX_PCPUS / 8];
    if (find_pool(0, &first) != 0 || free_pcpus(unused) != 0)
        fail(REFUSED, "the hypervisor does not list its pools");
    for (uint32_t pcpu = 0; pcpu < MAX_PCPUS; pcpu++)
        if (has_pcpu(wanted, pcpu) && !has_pcpu(own, pcpu) && !has_pcpu(first.pcpus, pcpu)
            && !has_pcpu(unused, pcpu))
            fail(BAD_INPUT, "%s: pcpu %u is in another pool, or there is none", what, pcpu);
}

void check_rest(const uint8_t wanted[MAX_PCPUS / 8], const char *what) {
    struct pool first;
    if (find_pool(0, &first) != 0)
        fail(REFUSED, "the hypervisor does not list its pools");
    for (uint32_t pcpu = 0; pcpu < MAX_PCPUS; pcpu++)
        if (has_pcpu(first.pcpus, pcpu) && !has_pcpu(wanted, pcpu))
            return;
    fail(BAD_INPUT, "%s: Pool-0 needs one pcpu at least for itself", what);
}

int gain_pcpu(uint32_t pool, uint32_t pcpu) {
    struct pool first;
    if (find_pool(0, &first) == 0 && has_pcpu(first.pcpus, pcpu)) {
        int error = remove_pcpu(0, pcpu);
        if (error != 0)
            return error;
    }
    return add_pcpu(pool, pcpu);
}

/* Gives the pcpus of a pool to Pool-0, and ends it. */
static int end_pool(const struct pool *pool) {
    for (uint32_t pcpu = 0; pcpu < MAX_PCPUS; pcpu++) {
        int error = has_pcpu(pool->pcpus, pcpu) ? remove_pcpu(pool->id, pcpu) : 0;
        if (error != 0)
            return error;
        if (has_pcpu(pool->pcpus, pcpu) && add_pcpu(0, pcpu) != 0)
            warn("pcpu %u is in no pool now", pcpu);
    }
    return destroy_pool(pool->id);
}

int make_pool(struct hp_policy rules, bool global, const uint8_t pcpus[MAX_PCPUS / 8],
              uint32_t *id) {
    int error = create_pool(id, XEN_SCHEDULER_HYPERPERIOD);
    if (error == ENOENT || error == EINVAL)
        fail(LACKS, "this hypervisor has no hyperperiod scheduler; "
                    "`hyperperiod xen build x86_64` builds one");
    if (error != 0)
        return error;
    error = write_policy(*id, rules, global);
    for (uint32_t pcpu = 0; pcpu < MAX_PCPUS && error == 0; pcpu++)
        if (has_pcpu(pcpus, pcpu))
            error = gain_pcpu(*id, pcpu);
    struct pool pool;
    if (error != 0 && find_pool(*id, &pool) == 0 && pool.id == *id)
        end_pool(&pool);
    return error;
}

int pool_create(struct arguments *arguments) {
    const char *policy = need_option(arguments, "--policy");
    struct word_policy words = read_policy(word_of(policy));
    const char *scope = take_option(arguments, "--scope");
    bool global = is_global(
        &words, scope == NULL ? WORD_SCOPE_any : read_scope(word_of(scope), "--scope"), "--scope");
    uint8_t pcpus[MAX_PCPUS / 8];
    read_pcpus(word_of(need_option(arguments, "--cpus")), "--cpus", pcpus);
    bool json = take_flag(arguments, "--json");
    const char *name = take_word(arguments, "name of the pool (- for none)");
    take_no_more(arguments);
    check_policy(policy, words.rules, global);

    open_hypervisor();
    static const uint8_t none[MAX_PCPUS / 8];
    check_available(pcpus, none, "--cpus");
    check_rest(pcpus, "--cpus");
    uint32_t id;
    int error = make_pool(words.rules, global, pcpus, &id);
    if (error != 0)
        fail(REFUSED, "no pool was made: %s", reason(error));
    if (strcmp(name, "-") != 0)
        name_pool(id, name);
    printf(json ? "{\"pool\": %u}\n" : "pool %u\n", id);
    return DONE;
}

int pool_destroy(struct arguments *arguments) {
    const char *word = take_word(arguments, "pool");
    take_no_more(arguments);
    open_hypervisor();
    struct pool pool = own_pool_named(word);
    if (pool.domains > 0)
        fail(REFUSED, "pool '%s' has domains (%u); move or destroy them first", word, pool.domains);
    int error = end_pool(&pool);
    if (error != 0)
        fail(REFUSED, "pool '%s' is still there: %s", word, reason(error));
    forget_pool(pool.id);
    return DONE;
}

/* A line for each pcpu of a partitioned pool, one for a global one. */
static void print_loads(const struct pool *pool, bool global) {
    struct members members = find_members(pool);
    struct load load;
    uint32_t next = 0;
    while (find_load(pool, global, &members, next, &load, &next)) {
        printf("\n  load      ");
        print_load(stdout, &load, global);
        printf(load.overbooked ? ", overbooked" : "");
    }
    free_members(&members);
}

static void print_json_loads(const struct pool *pool, bool global) {
    struct members members = find_members(pool);
    const char *comma = "";
    struct load load;
    uint32_t next = 0;
    printf(", \"load\": [");
    while (find_load(pool, global, &members, next, &load, &next)) {
        printf("%s", comma);
        comma = ", ";
        print_json_load(&load);
    }
    printf("]");
    free_members(&members);
}

static void print_pool(const struct pool *pool) {
    struct xen_sysctl_hyperperiod info = ask_info(pool);
    struct hp_policy rules = {info.budget, info.order, info.slack};
    const char *name = pool_name(pool->id);
    printf("pool %u", pool->id);
    if (name != NULL)
        printf(", %s", name);
    printf("\n  policy    %s, %s\n", policy_text(rules, info.global),
           info.global ? "global" : "partitioned");
    printf("  pcpus     ");
    print_pcpus(stdout, pool->pcpus);
    print_loads(pool, info.global);
    printf("\n  places    %u of %u taken by vcpus\n", info.vcpus, info.capacity);
    if (info.quantum_ns != 0) {
        printf("  quantum   ");
        print_time(stdout, info.quantum_ns);
        printf("\n");
    }
    if (info.spare_period_ns != 0) {
        printf("  spare     ");
        print_time(stdout, info.spare_budget_ns);
        printf(" in ");
        print_time(stdout, info.spare_period_ns);
        printf("\n");
    }
    printf("  domains   %u", pool->domains);
    struct domain domain;
    for (uint32_t from = 0; find_domain(from, &domain) == 0; from = domain.id + 1)
        if (domain.pool == pool->id)
            printf(" %s", domain_name(domain.id) ? domain_name(domain.id) : "(no name)");
    printf("\n");
}

static void print_json_pool(const struct pool *pool) {
    struct xen_sysctl_hyperperiod info = ask_info(pool);
    struct hp_policy rules = {info.budget, info.order, info.slack};
    const char *comma = "";
    printf("{\"pool\": %u, \"name\": ", pool->id);
    print_json_text(pool_name(pool->id));
    printf(", \"policy\": \"%s\", \"scope\": \"%s\", \"pcpus\": ", policy_text(rules, info.global),
           info.global ? "global" : "partitioned");
    print_json_pcpus(pool->pcpus);
    printf(", \"vcpus\": %u, \"capacity\": %u, \"quantum_ns\": %llu, \"spare_period_ns\": %llu, "
           "\"spare_budget_ns\": %llu, \"domains\": [",
           info.vcpus, info.capacity, (unsigned long long)info.quantum_ns,
           (unsigned long long)info.spare_period_ns, (unsigned long long)info.spare_budget_ns);
    struct domain domain;
    for (uint32_t from = 0; find_domain(from, &domain) == 0; from = domain.id + 1) {
        if (domain.pool == pool->id) {
            printf("%s%u", comma, domain.id);
            comma = ", ";
        }
    }
    printf("]");
    print_json_loads(pool, info.global);
    printf("}");
}

int pool_info(struct arguments *arguments) {
    bool json = take_flag(arguments, "--json");
    const char *word = arguments->count > 0 ? take_word(arguments, "pool") : NULL;
    take_no_more(arguments);
    open_hypervisor();
    struct pool pool, wanted = {.id = 0};
    const char *comma = "";
    if (word != NULL)
        wanted = own_pool_named(word);
    if (json)
        printf("{\"pools\": [");
    for (uint32_t from = wanted.id; find_pool(from, &pool) == 0; from = pool.id + 1) {
        if (word != NULL && pool.id != wanted.id)
            break;
        if (pool.scheduler != XEN_SCHEDULER_HYPERPERIOD)
            continue;
        printf("%s", comma);
        comma = json ? ", " : "";
        (json ? print_json_pool : print_pool)(&pool);
    }
    if (json)
        printf("]}\n");
    return DONE;
}

int pool_policy(struct arguments *arguments) {
    const char *word = take_word(arguments, "pool");
    const char *policy = take_word(arguments, "policy");
    take_no_more(arguments);
    struct word_policy words = read_policy(word_of(policy));
    open_hypervisor();
    struct pool pool = own_pool_named(word);
    /* Where decisions are made is settled when the pool is: locks hang on it. */
    bool global = ask_info(&pool).global;
    if (words.scope_said && (words.scope == WORD_SCOPE_global) != global)
        fail(BAD_INPUT, "policy: found '%s'; pool '%s' is %s, and stays so as long as it has pcpus",
             policy, word, global ? "global" : "partitioned");
    check_policy(policy, words.rules, global);
    int error = write_policy(pool.id, words.rules, global);
    if (error != 0)
        fail(REFUSED, "the policy stays as it was: %s", reason(error));
    return DONE;
}

int pool_spare(struct arguments *arguments) {
    struct xen_sysctl_hyperperiod wanted = {.op = XEN_HYPERPERIOD_OP_SPARE};
    wanted.spare_period_ns = read_time_ns(word_of(need_option(arguments, "--period")), "--period");
    wanted.spare_budget_ns = read_time_ns(word_of(need_option(arguments, "--budget")), "--budget");
    const char *word = take_word(arguments, "pool");
    take_no_more(arguments);
    check_spare(wanted.spare_budget_ns, wanted.spare_period_ns, "--budget", "--period");
    open_hypervisor();
    struct pool pool = own_pool_named(word);
    int error = tell_pool(pool.id, &wanted);
    if (error != 0)
        fail(REFUSED, "the spare stays as it was: %s", reason(error));
    return DONE;
}

int move(struct arguments *arguments) {
    const char *domain_word = take_word(arguments, "domain");
    const char *pool_word = take_word(arguments, "pool");
    take_no_more(arguments);
    open_hypervisor();
    struct domain domain = domain_named(domain_word);
    struct pool pool = pool_named(pool_word);
    if (domain.id == 0)
        fail(BAD_INPUT, "found domain 0; allowed: any other, dom0 stays in Pool-0");
    int error = move_domain(domain.id, pool.id);
    if (error != 0)
        fail(REFUSED, "domain '%s' stays where it was: %s", domain_word, reason(error));
    return DONE;
}
