// SPDX-License-Identifier: BSD-2-Clause
/* What the vcpus of a pool have had and given, counted by the scheduler; and its rings' switch. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "names.h"

static bool json;
static uint32_t lines;

static void print_heading(void) {
    printf("%-16s %4s %4s %14s %14s %14s %9s %9s %7s %14s %14s\n", "domain", "vcpu", "pcpu",
           "used_ns", "donated_ns", "extra_ns", "refilled", "depleted", "missed", "overrun_ns",
           "overrun_ns_max");
}

static void print_line(const char *name, const struct xen_hyperperiod_usage *usage) {
    char number[16];
    snprintf(number, sizeof(number), "%u", usage->domain);
    printf("%-16s %4u %4u %14llu %14llu %14llu %9u %9u %7u %14llu %14llu\n",
           name == NULL ? number : name, usage->vcpu, usage->pcpu,
           (unsigned long long)usage->used_ns, (unsigned long long)usage->donated_ns,
           (unsigned long long)usage->extra_ns, usage->refilled, usage->depleted, usage->missed,
           (unsigned long long)usage->overrun_ns, (unsigned long long)usage->overrun_ns_max);
}

static void print_object(const char *name, const struct xen_hyperperiod_usage *usage) {
    printf("%s{\"domain\": %u, \"name\": ", lines > 0 ? ", " : "", usage->domain);
    print_json_text(name);
    printf(", \"vcpu\": %u, \"pcpu\": %u, \"used_ns\": %llu, \"donated_ns\": %llu, "
           "\"extra_ns\": %llu, \"refilled\": %u, \"depleted\": %u, \"missed\": %u, "
           "\"overrun_ns\": %llu, \"overrun_ns_max\": %llu}",
           usage->vcpu, usage->pcpu, (unsigned long long)usage->used_ns,
           (unsigned long long)usage->donated_ns, (unsigned long long)usage->extra_ns,
           usage->refilled, usage->depleted, usage->missed,
           (unsigned long long)usage->overrun_ns, (unsigned long long)usage->overrun_ns_max);
}

/* The vcpus of one lock domain. Returns whether it is that of the whole pool. */
static bool print_lock_domain(const struct pool *pool, uint32_t pcpu) {
    struct xen_sysctl_hyperperiod asked = {.op = XEN_HYPERPERIOD_OP_USAGE, .ring_pcpu = pcpu};
    for (;;) {
        int error = ask_pool(pool->id, &asked);
        if (error != 0)
            fail(REFUSED, "pcpu %u of pool %u tells nothing: %s", pcpu, pool->id, reason(error));
        if (asked.ring_count == 0)
            return asked.global != 0;
        (json ? print_object : print_line)(domain_name(asked.usage.domain), &asked.usage);
        lines++;
        asked.ring_from++;
    }
}

int pool_stats(struct arguments *arguments) {
    json = take_flag(arguments, "--json");
    const char *word = take_word(arguments, "pool");
    take_no_more(arguments);
    open_hypervisor();
    const struct pool pool = own_pool_named(word);
    if (json)
        printf("{\"vcpus\": [");
    else
        print_heading();
    for (uint32_t pcpu = 0; pcpu < MAX_PCPUS; pcpu++)
        if (has_pcpu(pool.pcpus, pcpu) && print_lock_domain(&pool, pcpu))
            break;
    if (json)
        printf("]}\n");
    return DONE;
}

int pool_record(struct arguments *arguments) {
    const char *name = take_word(arguments, "pool");
    const char *word = take_word(arguments, "on or off");
    struct xen_sysctl_hyperperiod wanted = {.op = XEN_HYPERPERIOD_OP_RECORD};
    take_no_more(arguments);
    wanted.ring_open = strcmp(word, "on") == 0;
    if (!wanted.ring_open && strcmp(word, "off") != 0)
        fail(BAD_INPUT, "found '%s'; allowed: on, off", word);
    open_hypervisor();
    const struct pool pool = own_pool_named(name);
    int error = tell_pool(pool.id, &wanted);
    if (error != 0)
        fail(REFUSED, "pool %u: %s", pool.id, reason(error));
    return DONE;
}
