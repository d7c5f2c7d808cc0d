// SPDX-License-Identifier: BSD-2-Clause
/*
 * Charges and refills at multiples of a period: the periodic, deferrable and polling rules, and
 * what the slices share with them.
 */
#include "contracts.h"

/* What whole periods give: each costs its time and ends with a refill. */
static hp_u32 periods_give(const struct hp_core *core, const struct hp_server *before,
                           const struct hp_server *after, hp_u64 span_ns, hp_u64 refilled_ns) {
    if (!same_parameters(before, after) || after->deadline_ns != before->deadline_ns + span_ns)
        return 0;
    if (after->level > 0 || after->extra_ns != 0)
        return 0;
    if (hp_may_drop(core, before))
        return after->remaining_ns == (hp_i64)after->params.budget_ns;
    return after->remaining_ns == before->remaining_ns - (hp_i64)span_ns + (hp_i64)refilled_ns;
}

void spend(void) {
    const hp_u64 span_ns = any_time();
    const hp_u64 from_ns = any_time();
    struct hp_core core = any_core(any_rule());
    struct hp_server *server = any_server(&core, from_ns);
    const struct hp_server before = *server;

    TAKE(span_ns < HP_TIME_MAX - from_ns);
    hp_spend(&core, VCPU, span_ns);
    show_account(&core, from_ns + span_ns);
    SHOW(spend_gives(&core, &before, server, span_ns), "a charge costs what it is long");
}

void timed_catch_up(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(any_rule());
    struct hp_server *server = any_server(&core, now_ns);
    const struct hp_server before = *server;

    the_laws = REFILLS;
    hp_timed_catch_up(&core, VCPU, now_ns);
    show_account(&core, now_ns);
    SHOW(refills_give(&before, server, now_ns), "what is due is done");
}

void timed_charge_periods(void) {
    const hp_u64 from_ns = any_time();
    const hp_u64 to_ns = any_time();
    struct hp_core core = any_core(any_rule());
    struct hp_server *server = any_server(&core, from_ns);
    const struct hp_server before = *server;
    hp_u64 periods;

    TAKE(from_ns <= to_ns && server->deadline_ns == from_ns + server->params.period_ns);
    the_laws = COMPLEMENT;
    periods = hp_parts(to_ns - from_ns, server->params.period_ns);
    hp_timed_charge_periods(&core, VCPU, periods);
    show_account(&core, from_ns + PRODUCT(periods, server->params.period_ns));
    SHOW(periods_give(&core, &before, server, PRODUCT(periods, server->params.period_ns),
                      PRODUCT(periods, server->params.budget_ns)),
         "every period costs its time and gives a budget");
}

void prove_timed_charge_periods(struct hp_core *core, hp_u32 vcpu, hp_u64 periods) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const struct hp_server before = *server;

    show_told(core);
    SHOW(server->deadline_ns == the_time_ns + server->params.period_ns, "a period begins");
    SHOW(periods == the_count && the_whole_ns < HP_TIME_MAX - the_time_ns, "the time is one");
    the_time_ns += the_whole_ns;
    any_account(server);
    TAKE(account_holds(core, server, the_time_ns));
    TAKE(periods_give(core, &before, server, the_whole_ns, the_given_ns));
    tell(core);
}

void timed_charge(void) {
    const hp_u64 from_ns = any_time();
    const hp_u64 to_ns = any_time();
    struct hp_core core = any_core(any_rule());
    struct hp_server *server = any_server(&core, from_ns);
    const struct hp_server before = *server;

    TAKE(from_ns <= to_ns && server->deadline_ns >= from_ns);
    the_time_ns = from_ns;
    hp_timed_charge(&core, VCPU, from_ns, to_ns);
    show_account(&core, to_ns);
    SHOW(the_time_ns == to_ns, "all of the time is charged");
    SHOW(server->deadline_ns >= to_ns, "no refill is passed over");
    if (before.deadline_ns < to_ns && !hp_may_drop(&core, server))
        SHOW(server->remaining_ns + (hp_i64)(to_ns + server->params.period_ns - server->deadline_ns)
                 <= (hp_i64)server->params.budget_ns,
             "what was used since the last refill is not there any more");
}

/* Polling: who has no work when a period has begun, or loses it later, has nothing left. */
void polling_catch_up(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(HP_BUDGET_POLLING);
    struct hp_server *server = any_server(&core, now_ns);
    const struct hp_server before = *server;

    the_time_ns = now_ns;
    hp_polling_catch_up(&core, VCPU, now_ns);
    show_account(&core, now_ns);
    SHOW(server->deadline_ns > now_ns, "what is due is done");
    if (!server->runnable && server->idle_from_ns < now_ns
        && server->deadline_ns - now_ns < server->params.period_ns)
        SHOW(server->remaining_ns <= 0, "nothing is kept without work");
    if (server->runnable && before.deadline_ns > now_ns)
        SHOW(same_account(&before, server), "nothing is lost with work");
}
