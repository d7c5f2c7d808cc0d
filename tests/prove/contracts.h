// SPDX-License-Identifier: BSD-2-Clause
/*
 * Contracts of verbs that other verbs are written in: what a verb needs, and what it gives.
 *
 * A proof of the verb takes the one and shows the other. The proof of a verb that calls it has the
 * contract in its place: a function that shows what is needed, forgets the account, and takes what
 * is given.
 */
#pragma once

#include "world.h"

/* What a charge gives: it costs what it is long, on the level that the server is on or below. */
static hp_u32 spend_gives(const struct hp_core *core, const struct hp_server *before,
                          const struct hp_server *after, hp_u64 span_ns) {
    const hp_i64 span = (hp_i64)span_ns;

    if (span_ns == 0)
        return same_account(before, after);
    if (after->deadline_ns != before->deadline_ns || !same_parameters(before, after))
        return 0;
    if (before->level > 0)
        return before->extra_ns > span
                   ? after->level == before->level && after->extra_ns == before->extra_ns - span
                   : after->level > before->level || after->level == HP_NONE;
    if (before->remaining_ns > span || !hp_may_drop(core, before))
        return after->level == 0 && after->remaining_ns == before->remaining_ns - span;
    return after->level > 0;
}

/* What refills give: all that are due are done, and none that is not. */
static hp_u32 refills_give(const struct hp_server *before, const struct hp_server *after,
                           hp_u64 now_ns) {
    if (before->deadline_ns > now_ns)
        return same_account(before, after);
    if (after->deadline_ns <= now_ns || after->deadline_ns - now_ns > after->params.period_ns
        || after->level > 0 || after->extra_ns != 0)
        return 0;
    if (before->change_at_ns == HP_NEVER && !same_parameters(before, after))
        return 0;
    if (before->deadline_ns == now_ns && after->deadline_ns != now_ns + after->params.period_ns)
        return 0;
    if (before->remaining_ns >= 0)
        return after->remaining_ns == (hp_i64)after->params.budget_ns;
    return after->remaining_ns > before->remaining_ns;
}

/* The contracts in the place of the verbs. */
void prove_spend(struct hp_core *core, hp_u32 vcpu, hp_u64 span_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const struct hp_server before = *server;

    show_told(core);
    SHOW(span_ns < HP_TIME_MAX - the_time_ns, "spend needs a time that is one");
    any_account(server);
    the_time_ns += span_ns;
    TAKE(account_holds(core, server, the_time_ns));
    TAKE(spend_gives(core, &before, server, span_ns));
    tell(core);
}

void prove_timed_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const struct hp_server before = *server;

    show_told(core);
    SHOW(now_ns == the_time_ns, "what was used up to now is charged");
    any_account(server);
    any_parameters(server);
    TAKE(account_holds(core, server, now_ns));
    TAKE(refills_give(&before, server, now_ns));
    tell(core);
}

/*
 * A charge asks for one quotient: how many periods there are in a span. Where nothing else is
 * divided the list of known products can be this one: what so many periods and so many budgets are
 * together (law_division, law_monotony).
 */
static hp_u64 the_count;
static hp_u64 the_whole_ns;
static hp_u64 the_given_ns;

hp_u64 one_parts(hp_u64 span_ns, hp_u64 part_ns) {
    the_count = nondet_u64();
    the_whole_ns = nondet_u64();
    the_given_ns = nondet_u64();
    SHOW(part_ns > 0 && part_ns == *the_period_ns, "it is asked of the period");
    TAKE(the_whole_ns <= span_ns && span_ns - the_whole_ns < part_ns);
    TAKE((the_whole_ns > 0) == (part_ns <= span_ns));
    TAKE(the_given_ns <= the_whole_ns);
    return the_count;
}

hp_u64 one_times(hp_u64 count, hp_u64 length_ns) {
    SHOW(count == the_count && length_ns == *the_period_ns, "the product is known");
    return the_whole_ns;
}
