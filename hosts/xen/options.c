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

/* The words are read by boot code, which Xen drops when it has booted. */
#define WORDS_FN static __init __maybe_unused
#define WORDS_TABLE static const __maybe_unused __initconst

#include "options.h"
#include "words/policies.h"

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

/* --- what items are made of ------------------------------------------------------------------- */

/* Reads a name and behind it a number, such as cpu3. */
static bool __init read_numbered(struct word part, const char *name, hp_u64 most, hp_u64 *number)
{
    return word_take(&part, name) && word_number(part, most, number);
}

/* PERIOD:BUDGET[:pPRIORITY][:cpuN][:extra], or best-effort[:cpuN][:wWEIGHT] */
static bool __init take_server(struct word text, struct server_option *server)
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
        else if ( read_numbered(part, "cpu", NR_CPUS - 1, &number) )
            server->cpu = number;
        else if ( (params->flags & HP_BEST_EFFORT)
                  && read_numbered(part, "w", HP_WEIGHT_MAX, &number) && number )
            params->weight = number;
        else if ( read_numbered(part, "p", HP_PRIORITY_MAX, &number) )
            params->priority = number;
        else
            return false;
    }
    return !(params->flags & HP_BEST_EFFORT) || params->flags == HP_BEST_EFFORT;
}

/* dN or dN.V */
static bool __init take_domain(struct word text, struct domain_option *option)
{
    hp_u64 domain, vcpu = ANY_VCPU;

    if ( !read_numbered(word_cut(&text, '.'), "d", DOMID_FIRST_RESERVED - 1, &domain)
         || (text.start && !word_number(text, ANY_VCPU - 1, &vcpu)) )
        return false;
    option->domain = domain;
    option->vcpu = vcpu;
    return true;
}

/* --- items ------------------------------------------------------------------------------------ */

/* While the command line is read there is no console yet: what is wrong with it is said later. */
static char __initdata complaints[2048], allowed[WORD_ALLOWED_BYTES];

static int __init cf_check say_complaints(void)
{
    struct word rest = word_of(complaints);

    while ( rest.length )
    {
        const struct word line = word_cut(&rest, '\n');

        printk(XENLOG_ERR "hyperperiod: %.*s\n", (int)line.length, line.start);
    }
    return 0;
}
__initcall(say_complaints);

/* `read` reads one item; it returns what would have been allowed if that is wrong, or NULL. */
static int __init read_items(const char *text, const char *(*read)(struct word, struct word))
{
    struct word rest = word_of(text);
    int rc = 0;

    while ( rest.length )
    {
        const struct word item = word_cut(&rest, ',');
        struct word value = item;
        const struct word key = word_cut(&value, '=');
        const char *right = read(key, value);
        const size_t used = strlen(complaints);

        if ( !right )
            continue;
        snprintf(complaints + used, sizeof(complaints) - used, "found %.*s, allowed: %s\n",
                 (int)item.length, item.start, right);
        rc = -EINVAL;
    }
    return rc;
}

/* --- what pools and domains start with -------------------------------------------------------- */

enum option_key { KEY_POLICY, KEY_SCOPE, KEY_QUANTUM, KEY_SPARE, KEY_RING };

static const struct word_key option_keys[] __initconst = {
    { "policy", WORD_OWN, .at = KEY_POLICY,
      .allowed = "a name (ptps, wcps, crps, rtds, ...) or BUDGET+ORDER+SLACK[+SCOPE]" },
    { "scope", WORD_CHOICE, .at = KEY_SCOPE, .choices = word_scopes },
    { "quantum", WORD_TIME, .at = KEY_QUANTUM },
    { "spare", WORD_OWN, .at = KEY_SPARE,
      .allowed = "PERIOD:BUDGET, the budget at most the period" },
    { "ring", WORD_OWN, .at = KEY_RING, .allowed = "a size of at most 256M" },
};

static bool __init read_policy(struct word text)
{
    struct options *options = &hyperperiod_options;
    struct word_policy policy;

    if ( !word_policy(text, &policy) )
        return false;
    options->policy = policy.rules;
    /* What a name implies counts less than what is said, by scope= or behind rules. */
    if ( policy.scope_said || !options->scope_given )
        options->global = policy.scope == WORD_SCOPE_global;
    options->scope_given |= policy.scope_said;
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
    const unsigned long long bytes = parse_size_and_unit(text.start ?: "", &rest);

    if ( !text.length || rest != text.start + text.length || bytes > MAX_RING_BYTES )
        return false;
    hyperperiod_options.ring_bytes = bytes;
    return true;
}

static bool __init read_value(const struct word_key *key, struct word value)
{
    struct options *options = &hyperperiod_options;
    hp_u64 number;

    if ( key->kind != WORD_OWN && !word_value(key, value, &number) )
        return false;
    switch ( (enum option_key)key->at )
    {
    case KEY_POLICY:
        return read_policy(value);
    case KEY_SCOPE:
        options->global = number;
        options->scope_given = true;
        return true;
    case KEY_QUANTUM:
        options->quantum_ns = number;
        return true;
    case KEY_SPARE:
        return read_spare(value);
    case KEY_RING:
        return read_ring(value);
    }
    return false;
}

static const char *__init cf_check read_option(struct word name, struct word value)
{
    const struct word_key *key = word_key(option_keys, ARRAY_SIZE(option_keys), name);
    struct options *options = &hyperperiod_options;
    struct domain_option option;
    unsigned int i;

    if ( key )
        return read_value(key, value) ? NULL : word_allowed(key, allowed);
    if ( !take_domain(name, &option) )
        return "policy, scope, quantum, spare, ring or dN[.V]";
    if ( !take_server(value, &option.server) )
        return "dN[.V]=PERIOD:BUDGET[:pPRIORITY][:cpuN][:extra]"
               " or dN=best-effort[:cpuN][:wWEIGHT]";
    for ( i = 0; i < options->domains; i++ )
        if ( options->domain[i].domain == option.domain
             && options->domain[i].vcpu == option.vcpu )
            break;
    if ( i == MAX_DOMAIN_OPTIONS )
        return "at most 64 domains and vcpus";
    options->domain[i] = option;
    options->domains = max(options->domains, i + 1);
    return NULL;
}

static int __init cf_check read_options(const char *text)
{
    return read_items(text, read_option);
}
custom_param("hyperperiod", read_options);

/* --- the script of an experiment -------------------------------------------------------------- */

#ifdef CONFIG_HYPERPERIOD_TEST

struct script hyperperiod_script;

enum script_key { KEY_EPOCH = EVENT_MOVE + 1, KEY_HORIZON };

static const struct word_key script_keys[] __initconst = {
    { "epoch", WORD_TIME, .at = KEY_EPOCH },
    { "horizon", WORD_TIME, .at = KEY_HORIZON },
    { "swap", WORD_OWN, .at = EVENT_SWAP, .allowed = "TIME:POLICY" },
    { "change", WORD_OWN, .at = EVENT_CHANGE, .allowed = "TIME:dN[.V]:PERIOD:BUDGET[:pPRIORITY]" },
    { "move", WORD_OWN, .at = EVENT_MOVE, .allowed = "TIME:dN[.V]:cpuN" },
};

static bool __init read_event(struct word text, struct event_option *event)
{
    struct word_policy policy;
    hp_u64 cpu;

    if ( !word_time(word_cut(&text, ':'), &event->at_ns) )
        return false;
    if ( event->kind == EVENT_SWAP )
    {
        if ( !word_policy(text, &policy) )
            return false;
        event->policy = policy.rules;
        return true;
    }
    if ( !take_domain(word_cut(&text, ':'), &event->change) )
        return false;
    if ( event->kind == EVENT_CHANGE )
        return take_server(text, &event->change.server);
    if ( !read_numbered(text, "cpu", NR_CPUS - 1, &cpu) )
        return false;
    event->change.server.cpu = cpu;
    return true;
}

static const char *__init cf_check read_script(struct word name, struct word value)
{
    const struct word_key *key = word_key(script_keys, ARRAY_SIZE(script_keys), name);
    struct script *script = &hyperperiod_script;
    struct event_option event = { .kind = EVENT_SWAP };
    hp_u64 time_ns;

    if ( !key || (!CHANGES && key->kind == WORD_OWN) )
        return CHANGES ? "epoch, horizon, swap, change or move" : "epoch or horizon";
    if ( key->kind == WORD_TIME )
    {
        if ( !word_time(value, &time_ns) )
            return word_allowed(key, allowed);
        *(key->at == KEY_EPOCH ? &script->epoch_ns : &script->horizon_ns) = time_ns;
        return NULL;
    }
    event.kind = key->at;
    if ( !read_event(value, &event) )
        return word_allowed(key, allowed);
    if ( script->events == MAX_EVENT_OPTIONS )
        return "at most 64 swaps, changes and moves";
    if ( script->events && script->event[script->events - 1].at_ns > event.at_ns )
        return "swaps, changes and moves in order of time";
    script->event[script->events++] = event;
    return NULL;
}

static int __init cf_check read_scripts(const char *text)
{
    return read_items(text, read_script);
}
custom_param("hyperperiod-test", read_scripts);

#endif
