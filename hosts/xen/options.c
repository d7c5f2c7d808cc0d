/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading the command line (options.h). An item is read whole and then installed whole; what is
 * wrong with it is said on the console.
 *
 * Only syntax and what one item can contradict by itself are judged here. Whether a policy and
 * a quantum go with a server is the core's to say, when the server is made.
 */
#include "options.h"

#include <xen/ctype.h>
#include <xen/init.h>
#include <xen/param.h>
#include <xen/sched.h>

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

/* --- words ----------------------------------------------------------------------------------- */

struct word {
    const char *text;
    unsigned int value;
};

/* The rules as their rows name them (core/rules.h). */
#define BUDGET(name, NAME, ...) { name, HP_BUDGET_##NAME },
#define ORDER(name, NAME, ...) { name, HP_ORDER_##NAME },
#define SLACK(name, NAME, ...) { name, HP_SLACK_##NAME },

static const struct word budgets[] __initconst = { HP_BUDGETS(BUDGET) };
static const struct word orders[] __initconst = { HP_ORDERS(ORDER) };
static const struct word slacks[] __initconst = { HP_SLACKS(SLACK) };

#undef BUDGET
#undef ORDER
#undef SLACK

static const struct word units[] __initconst = {
    { "ns", 1 },
    { "us", 1000 },
    { "ms", 1000000 },
    { "s", 1000000000 },
};

struct preset {
    const char *name;
    bool global;
    struct hp_policy policy;
};

#define scope_one false
#define scope_partitioned false
#define scope_global true
#define ROW(name, scope, budget, order, slack) { name, scope_##scope, { budget, order, slack } },

static const struct preset presets[] __initconst = { HP_POLICIES(ROW) };

#undef ROW

/* Whether the text begins with this word; then the text moves on past it. */
static bool __init take(const char **text, const char *word)
{
    const size_t length = strlen(word);

    if ( strncmp(*text, word, length) )
        return false;
    *text += length;
    return true;
}

/* The value of the word up to 'end' (or the end of the text). */
static bool __init take_word(const char **text, char end, const struct word *words,
                             unsigned int count, unsigned int *value)
{
    unsigned int i;

    for ( i = 0; i < count; i++ )
    {
        const char *rest = *text;

        if ( take(&rest, words[i].text) && (*rest == end || *rest == '\0' || *rest == ':') )
        {
            *text = rest;
            *value = words[i].value;
            return true;
        }
    }
    return false;
}

static bool __init take_number(const char **text, hp_u64 *number)
{
    const char *end;

    if ( !isdigit(**text) )
        return false;
    *number = simple_strtoull(*text, &end, 10);
    *text = end;
    return true;
}

static bool __init take_time(const char **text, hp_u64 *time_ns)
{
    hp_u64 number;
    unsigned int unit;

    if ( !take_number(text, &number)
         || !take_word(text, ':', units, ARRAY_SIZE(units), &unit)
         || number >= HP_TIME_MAX / unit )
        return false;
    *time_ns = number * unit;
    return true;
}

/* Whether the rules are built in and go together on one pcpu. */
static bool __init is_legal(const struct hp_policy *policy)
{
    const struct hp_config config = { .policy = *policy, .pcpus = 1 };

    return hyperperiod_validate(&config) != HP_ERROR_POLICY;
}

static bool __init take_policy(const char **text, struct hp_policy *policy, bool *global)
{
    const char *rest = *text;
    unsigned int i;

    for ( i = 0; i < ARRAY_SIZE(presets); i++ )
    {
        rest = *text;
        if ( take(&rest, presets[i].name) && *rest == '\0' )
        {
            *text = rest;
            *policy = presets[i].policy;
            *global = presets[i].global;
            return true;
        }
    }
    *global = false;
    return take_word(text, '+', budgets, ARRAY_SIZE(budgets), &policy->budget)
           && take(text, "+")
           && take_word(text, '+', orders, ARRAY_SIZE(orders), &policy->order)
           && take(text, "+")
           && take_word(text, '\0', slacks, ARRAY_SIZE(slacks), &policy->slack)
           && **text == '\0' && is_legal(policy);
}

/* PERIOD:BUDGET[:pPRIORITY][:cpuN][:extra], or best-effort[:cpuN][:wWEIGHT] */
static bool __init take_server(const char **text, struct server_option *server)
{
    hp_u64 number;

    *server = best_effort;
    if ( !take(text, "best-effort") )
    {
        server->params.flags = 0;
        if ( !take_time(text, &server->params.period_ns) || !take(text, ":")
             || !take_time(text, &server->params.budget_ns)
             || server->params.budget_ns == 0
             || server->params.budget_ns > server->params.period_ns )
            return false;
        /* Rate monotonic, unless it is said otherwise. */
        server->params.priority = min_t(hp_u64, server->params.period_ns / 1000,
                                        HP_PRIORITY_MAX - 1);
    }
    while ( take(text, ":") )
    {
        if ( take(text, "extra") )
            server->params.flags |= HP_EXTRA;
        else if ( take(text, "cpu") && take_number(text, &number) && number < NR_CPUS )
            server->cpu = number;
        else if ( (server->params.flags & HP_BEST_EFFORT) && take(text, "w")
                  && take_number(text, &number) && number && number <= HP_WEIGHT_MAX )
            server->params.weight = number;
        else if ( take(text, "p") && take_number(text, &number) && number <= HP_PRIORITY_MAX )
            server->params.priority = number;
        else
            return false;
    }
    return !(server->params.flags & HP_BEST_EFFORT) || server->params.flags == HP_BEST_EFFORT;
}

/* N or N.V, after the d */
static bool __init take_domain(const char **text, struct domain_option *option)
{
    hp_u64 domain, vcpu = ANY_VCPU;

    if ( !take_number(text, &domain) || domain >= DOMID_FIRST_RESERVED )
        return false;
    if ( take(text, ".") && (!take_number(text, &vcpu) || vcpu >= ANY_VCPU) )
        return false;
    option->domain = domain;
    option->vcpu = vcpu;
    return true;
}

/* --- items ----------------------------------------------------------------------------------- */

static const char *__init read_domain(const char *text)
{
    struct options *options = &hyperperiod_options;
    struct domain_option option;
    unsigned int i;

    if ( !take_domain(&text, &option) || !take(&text, "=")
         || !take_server(&text, &option.server) || *text )
        return "want dN[.V]=PERIOD:BUDGET[:pPRIORITY][:cpuN][:extra]"
               " or dN=best-effort[:cpuN][:wWEIGHT]";
    for ( i = 0; i < options->domains; i++ )
        if ( options->domain[i].domain == option.domain
             && options->domain[i].vcpu == option.vcpu )
            break;
    if ( i == MAX_DOMAIN_OPTIONS )
        return "too many domains";
    options->domain[i] = option;
    options->domains = max(options->domains, i + 1);
    return NULL;
}

static const char *__init add_event(const struct event_option *event)
{
    struct options *options = &hyperperiod_options;

    if ( options->events == MAX_EVENT_OPTIONS )
        return "too many swaps, changes and moves";
    if ( options->events && options->event[options->events - 1].at_ns > event->at_ns )
        return "swaps, changes and moves must be in order of time";
    options->event[options->events++] = *event;
    return NULL;
}

static const char *__init read_swap(const char *text)
{
    struct event_option event = { .kind = EVENT_SWAP };
    bool global;

    if ( !take_time(&text, &event.at_ns) || !take(&text, ":")
         || !take_policy(&text, &event.policy, &global) )
        return "want swap=TIME:POLICY";
    return add_event(&event);
}

static const char *__init read_change(const char *text)
{
    struct event_option event = { .kind = EVENT_CHANGE };

    if ( !take_time(&text, &event.at_ns) || !take(&text, ":d")
         || !take_domain(&text, &event.change) || !take(&text, ":")
         || !take_server(&text, &event.change.server) || *text )
        return "want change=TIME:dN[.V]:PERIOD:BUDGET[:pPRIORITY]";
    return add_event(&event);
}

static const char *__init read_move(const char *text)
{
    struct event_option event = { .kind = EVENT_MOVE };
    hp_u64 cpu;

    if ( !take_time(&text, &event.at_ns) || !take(&text, ":d")
         || !take_domain(&text, &event.change) || !take(&text, ":cpu")
         || !take_number(&text, &cpu) || cpu >= NR_CPUS || *text )
        return "want move=TIME:dN[.V]:cpuN";
    event.change.server.cpu = cpu;
    return add_event(&event);
}

static const char *__init read_policy(const char *text)
{
    struct options *options = &hyperperiod_options;
    struct hp_policy policy;
    bool global;

    if ( !take_policy(&text, &policy, &global) )
        return "no such policy; want a name (ptps, wcps, crps, rtds, ...) or BUDGET+ORDER+SLACK";
    options->policy = policy;
    if ( !options->scope_given )
        options->global = global;
    return NULL;
}

static const char *__init read_scope(const char *text)
{
    struct options *options = &hyperperiod_options;

    if ( strcmp(text, "global") && strcmp(text, "partitioned") )
        return "want global or partitioned";
    options->global = *text == 'g';
    options->scope_given = true;
    return NULL;
}

static const char *__init read_time(const char *text, hp_u64 *time_ns)
{
    hp_u64 read_ns;

    if ( !take_time(&text, &read_ns) || *text )
        return "want a time with a unit: ns, us, ms or s";
    *time_ns = read_ns;
    return NULL;
}

static const char *__init read_spare(const char *text)
{
    hp_u64 period_ns, budget_ns;

    if ( !take_time(&text, &period_ns) || !take(&text, ":") || !take_time(&text, &budget_ns)
         || *text || period_ns == 0 || budget_ns > period_ns )
        return "want spare=PERIOD:BUDGET, the budget at most the period";
    hyperperiod_options.spare_period_ns = period_ns;
    hyperperiod_options.spare_budget_ns = budget_ns;
    return NULL;
}

static const char *__init read_ring(const char *text)
{
    const char *rest;
    const unsigned long long bytes = parse_size_and_unit(text, &rest);

    if ( *rest || bytes > MAX_RING_BYTES )
        return "want a size of at most 256M";
    hyperperiod_options.ring_bytes = bytes;
    return NULL;
}

/* Reads one item; returns what is wrong with it, or NULL. */
static const char *__init read_item(const char *item)
{
    struct options *options = &hyperperiod_options;

    if ( take(&item, "policy=") )
        return read_policy(item);
    if ( take(&item, "scope=") )
        return read_scope(item);
    if ( take(&item, "quantum=") )
        return read_time(item, &options->quantum_ns);
    if ( take(&item, "spare=") )
        return read_spare(item);
    if ( take(&item, "epoch=") )
        return read_time(item, &options->epoch_ns);
    if ( take(&item, "horizon=") )
        return read_time(item, &options->horizon_ns);
    if ( take(&item, "ring=") )
        return read_ring(item);
    if ( CHANGES && take(&item, "swap=") )
        return read_swap(item);
    if ( CHANGES && take(&item, "change=") )
        return read_change(item);
    if ( CHANGES && take(&item, "move=") )
        return read_move(item);
    if ( take(&item, "d") )
        return read_domain(item);
    return "no such item";
}

/* While the command line is read there is no console yet: what is wrong with it is said later. */
static char __initdata complaints[2048];

static void __init complain(const char *item, const char *wrong)
{
    const size_t used = strlen(complaints);

    snprintf(complaints + used, sizeof(complaints) - used, "%s: %s\n", item, wrong);
}

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

static int __init cf_check read_items(const char *text)
{
    int rc = 0;

    while ( *text )
    {
        const char *end = strchr(text, ',') ?: strchr(text, '\0');
        const char *wrong;
        char item[MAX_PARAM_SIZE];

        strlcpy(item, text, min_t(size_t, end - text + 1, sizeof(item)));
        wrong = read_item(item);
        if ( wrong )
        {
            complain(item, wrong);
            rc = -EINVAL;
        }
        text = *end ? end + 1 : end;
    }
    return rc;
}
custom_param("hyperperiod", read_items);
