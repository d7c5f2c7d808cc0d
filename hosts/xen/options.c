/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading the command line (options.h). An item is read whole and then installed whole; what is
 * wrong with it is said on the console.
 *
 * Only syntax and what one item can contradict by itself are judged here. Whether rules go
 * together, and a quantum with a server, is the core's to say, when a pool or a server is made.
 */
#include <xen/init.h>
#include <xen/param.h>
#include <xen/sched.h>

#include "options.h"
#include "read.h"

#define DEFAULT_RING_BYTES (64U << 10)
#define MAX_RING_BYTES (256U << 20)

struct options hyperperiod_options = {
    .policy = { HP_BUDGET_PERIODIC, HP_ORDER_FP, HP_SLACK_NONE },
    .ring_bytes = DEFAULT_RING_BYTES,
};

/* Xen's default, and what its command line says: Xen's own variable is private to its timers. */
unsigned int __ro_after_init hyperperiod_timer_slop_ns = 50000;
integer_param("timer_slop", hyperperiod_timer_slop_ns);

static const struct server_option best_effort = {
    .params = { .flags = HP_BEST_EFFORT },
    .cpu = ANY_CPU,
};

const struct server_option *server_option_of(unsigned int domain, unsigned int vcpu)
{
    const struct server_option *found = &best_effort;
    unsigned int i;

    for ( i = 0; i < hyperperiod_options.domains; i++ )
    {
        const struct domain_option *option = &hyperperiod_options.domain[i];

        if ( option->domain != domain )
            continue;
        if ( option->vcpu == vcpu )
            return &option->server;
        if ( option->vcpu == ANY_VCPU )
            found = &option->server;
    }
    return found;
}

const char *hyperperiod_error(unsigned int error)
{
    static const char *const words[] = {
        [HP_OK] = "fine",
        [HP_ERROR_POLICY] = "these rules are not built in or do not go together",
        [HP_ERROR_PCPUS] = "no pcpu, or too many",
        [HP_ERROR_VCPU] = "no such vcpu",
        [HP_ERROR_PRESENT] = "the vcpu is there already",
        [HP_ERROR_PERIOD] = "the period is 0 or too long",
        [HP_ERROR_BUDGET] = "the budget is 0 or above the period",
        [HP_ERROR_QUANTUM] = "period or budget is no multiple of the quantum",
        [HP_ERROR_PRIORITY] = "the priority is above 16777215",
        [HP_ERROR_SPARE] = "the spare's budget is above its period, or it has no period",
        [HP_ERROR_WEIGHT] = "the weight is above 65535, or of a vcpu that is not best effort",
        [HP_ERROR_SHORT] = "the budget is shorter than a decision of the scheduler",
        [HP_ERROR_RATE] = "the periods are so short that deciding would take half the time",
        [HP_ERROR_FLAGS] = "unknown flag, or a best-effort vcpu with a server",
    };

    return error < ARRAY_SIZE(words) && words[error] ? words[error] : "unknown error";
}

/* --- values ---------------------------------------------------------------------------------- */

bool __init hyperperiod_read_server(struct word text, struct server_option *server)
{
    struct hp_params *params = &server->params;
    struct word part = word_cut(&text, ':');
    hp_u64 number;

    *server = best_effort;
    if ( !word_is(part, "best-effort") )
    {
        params->flags = 0;
        if ( !word_time(part, &params->period_ns)
             || !word_time(word_cut(&text, ':'), &params->budget_ns)
             || params->budget_ns == 0 || params->budget_ns > params->period_ns )
            return false;
        /* Rate monotonic, unless it is said otherwise. */
        params->priority = min_t(hp_u64, params->period_ns / 1000, HP_PRIORITY_MAX - 1);
    }
    while ( text.start )
    {
        part = word_cut(&text, ':');
        if ( word_is(part, "extra") )
            params->flags |= HP_EXTRA;
        else if ( word_take(&part, "cpu") && word_number(part, NR_CPUS - 1, &number) )
            server->cpu = number;
        else if ( (params->flags & HP_BEST_EFFORT) && word_take(&part, "w")
                  && word_number(part, HP_WEIGHT_MAX, &number) && number )
            params->weight = number;
        else if ( word_take(&part, "p") && word_number(part, HP_PRIORITY_MAX, &number) )
            params->priority = number;
        else
            return false;
    }
    return !(params->flags & HP_BEST_EFFORT) || params->flags == HP_BEST_EFFORT;
}

bool __init hyperperiod_read_domain(struct word text, struct domain_option *option)
{
    hp_u64 domain, vcpu = ANY_VCPU;

    if ( !word_take(&text, "d")
         || !word_number(word_cut(&text, '.'), DOMID_FIRST_RESERVED - 1, &domain)
         || (text.start && !word_number(text, ANY_VCPU - 1, &vcpu)) )
        return false;
    option->domain = domain;
    option->vcpu = vcpu;
    return true;
}

/* --- items ----------------------------------------------------------------------------------- */

enum own_key { OWN_POLICY, OWN_SPARE, OWN_RING };

#define AT(field) offsetof(struct options, field)

static const struct word_key keys[] __initconst = {
    { "policy", WORD_OWN, .at = OWN_POLICY,
      .allowed = "a name (ptps, wcps, crps, rtds, ...) or BUDGET+ORDER+SLACK" },
    { "scope", WORD_CHOICE, .choices = word_scopes },
    { "quantum", WORD_TIME, .at = AT(quantum_ns) },
    { "spare", WORD_OWN, .at = OWN_SPARE, .allowed = "PERIOD:BUDGET, the budget at most the period" },
    { "ring", WORD_OWN, .at = OWN_RING, .allowed = "a size of at most 256M" },
};

static bool __init read_policy(struct word text)
{
    struct options *options = &hyperperiod_options;
    struct word_policy policy;

    if ( !word_policy(text, &policy) )
        return false;
    options->policy = policy.rules;
    if ( !options->scope_given )
        options->global = policy.scope == WORD_SCOPE_global;
    return true;
}

static bool __init read_spare(struct word text)
{
    hp_u64 period_ns, budget_ns;

    if ( !word_time(word_cut(&text, ':'), &period_ns) || !word_time(text, &budget_ns)
         || period_ns == 0 || budget_ns > period_ns )
        return false;
    hyperperiod_options.spare_period_ns = period_ns;
    hyperperiod_options.spare_budget_ns = budget_ns;
    return true;
}

static bool __init read_ring(struct word text)
{
    const char *rest;
    const unsigned long long bytes = parse_size_and_unit(text.start, &rest);

    if ( rest != text.start + text.length || bytes > MAX_RING_BYTES )
        return false;
    hyperperiod_options.ring_bytes = bytes;
    return true;
}

static bool __init read_value(const struct word_key *key, struct word value)
{
    struct options *options = &hyperperiod_options;
    hp_u64 number;

    if ( key->kind == WORD_OWN )
        switch ( (enum own_key)key->at )
        {
        case OWN_POLICY:
            return read_policy(value);
        case OWN_SPARE:
            return read_spare(value);
        case OWN_RING:
            return read_ring(value);
        }
    if ( !word_value(key, value, &number) )
        return false;
    if ( key->kind == WORD_TIME )
        *(hp_u64 *)((char *)options + key->at) = number;
    else
    {
        options->global = number;
        options->scope_given = true;
    }
    return true;
}

static const char *__init read_server_of(struct word key, struct word value)
{
    struct options *options = &hyperperiod_options;
    struct domain_option option;
    unsigned int i;

    if ( !hyperperiod_read_domain(key, &option)
         || !hyperperiod_read_server(value, &option.server) )
        return "dN[.V]=PERIOD:BUDGET[:pPRIORITY][:cpuN][:extra]"
               " or dN=best-effort[:cpuN][:wWEIGHT]";
    for ( i = 0; i < options->domains; i++ )
        if ( options->domain[i].domain == option.domain
             && options->domain[i].vcpu == option.vcpu )
            break;
    if ( i == MAX_DOMAIN_OPTIONS )
        return "no more domains than there are places";
    options->domain[i] = option;
    options->domains = max(options->domains, i + 1);
    return NULL;
}

static const char *__init cf_check read_item(struct word name, struct word value)
{
    static char __initdata allowed[WORD_ALLOWED_BYTES];
    const struct word_key *key = word_key(keys, ARRAY_SIZE(keys), name);

    if ( !key )
        return read_server_of(name, value);
    return read_value(key, value) ? NULL : word_allowed(key, allowed);
}

/* While the command line is read there is no console yet: what is wrong with it is said later. */
static char __initdata complaints[2048];

static int __init cf_check say_complaints(void)
{
    const char *line = complaints;

    while ( *line )
    {
        const char *end = strchr(line, '\n') ?: strchr(line, '\0');

        printk(XENLOG_ERR "hyperperiod: %.*s\n", (int)(end - line), line);
        line = *end ? end + 1 : end;
    }
    return 0;
}
__initcall(say_complaints);

int __init hyperperiod_read_items(const char *text,
                                  const char *(*read_item)(struct word key, struct word value))
{
    struct word rest = word_of(text);
    int rc = 0;

    while ( rest.length )
    {
        const struct word item = word_cut(&rest, ',');
        struct word value = item;
        const struct word key = word_cut(&value, '=');
        const char *allowed = read_item(key, value);
        const size_t used = strlen(complaints);

        if ( !allowed )
            continue;
        snprintf(complaints + used, sizeof(complaints) - used, "found %.*s, allowed: %s\n",
                 (int)item.length, item.start, allowed);
        rc = -EINVAL;
    }
    return rc;
}

static int __init cf_check read_options(const char *text)
{
    return hyperperiod_read_items(text, read_item);
}
custom_param("hyperperiod", read_options);
