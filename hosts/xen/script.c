/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading the script of an experiment (script.h).
 */
#include <xen/init.h>
#include <xen/param.h>

#include "read.h"
#include "script.h"

struct script hyperperiod_script;

enum own_key { OWN_SWAP, OWN_CHANGE, OWN_MOVE };

#define AT(field) offsetof(struct script, field)

static const struct word_key keys[] __initconst = {
    { "epoch", WORD_TIME, .at = AT(epoch_ns) },
    { "horizon", WORD_TIME, .at = AT(horizon_ns) },
    { "swap", WORD_OWN, .at = OWN_SWAP, .allowed = "TIME:POLICY" },
    { "change", WORD_OWN, .at = OWN_CHANGE, .allowed = "TIME:dN[.V]:PERIOD:BUDGET[:pPRIORITY]" },
    { "move", WORD_OWN, .at = OWN_MOVE, .allowed = "TIME:dN[.V]:cpuN" },
};

static bool __init read_event(enum own_key kind, struct word text, struct event_option *event)
{
    struct domain_option *change = &event->change;
    struct word_policy policy;
    hp_u64 cpu;

    if ( !word_time(word_cut(&text, ':'), &event->at_ns) )
        return false;
    switch ( kind )
    {
    case OWN_SWAP:
        event->kind = EVENT_SWAP;
        if ( !word_policy(text, &policy) )
            return false;
        event->policy = policy.rules;
        return true;
    case OWN_CHANGE:
        event->kind = EVENT_CHANGE;
        return hyperperiod_read_domain(word_cut(&text, ':'), change) && text.start
               && hyperperiod_read_server(text, &change->server);
    case OWN_MOVE:
        event->kind = EVENT_MOVE;
        if ( !hyperperiod_read_domain(word_cut(&text, ':'), change) || !word_take(&text, "cpu")
             || !word_number(text, NR_CPUS - 1, &cpu) )
            return false;
        change->server.cpu = cpu;
        return true;
    }
    return false;
}

static const char *__init add_event(const struct event_option *event)
{
    struct script *script = &hyperperiod_script;

    if ( script->events == MAX_EVENT_OPTIONS )
        return "at most 64 swaps, changes and moves";
    if ( script->events && script->event[script->events - 1].at_ns > event->at_ns )
        return "swaps, changes and moves in order of time";
    script->event[script->events++] = *event;
    return NULL;
}

static const char *__init cf_check read_item(struct word name, struct word value)
{
    static char __initdata allowed[WORD_ALLOWED_BYTES];
    const struct word_key *key = word_key(keys, ARRAY_SIZE(keys), name);
    struct event_option event = {};
    hp_u64 number;

    if ( !key || (!CHANGES && key->kind == WORD_OWN) )
        return CHANGES ? "epoch, horizon, swap, change or move" : "epoch or horizon";
    if ( key->kind == WORD_OWN && read_event((enum own_key)key->at, value, &event) )
        return add_event(&event);
    if ( !word_value(key, value, &number) )
        return word_allowed(key, allowed);
    *(hp_u64 *)((char *)&hyperperiod_script + key->at) = number;
    return NULL;
}

static int __init cf_check read_script(const char *text)
{
    return hyperperiod_read_items(text, read_item);
}
custom_param("hyperperiod-test", read_script);
