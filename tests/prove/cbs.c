// SPDX-License-Identifier: BSD-2-Clause
/* The cbs rule: refills of depleted servers at their deadlines, and arrivals that start a period.
 */
#include "contracts.h"

/* What the refills of a depleted server give. */
static hp_u32 cbs_refills_give(const struct hp_server *before, const struct hp_server *after,
                               hp_u64 now_ns) {
    if (before->change_at_ns > now_ns && (before->remaining_ns > 0 || before->deadline_ns > now_ns))
        return same_account(before, after);
    if (before->change_at_ns > now_ns
        && (after->remaining_ns < before->remaining_ns || !same_parameters(before, after)))
        return 0;
    return after->level == 0 && (after->remaining_ns > 0 || after->deadline_ns > now_ns)
           && (after->change_at_ns == HP_NEVER || after->change_at_ns > now_ns);
}

void cbs_catch_up(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(HP_BUDGET_CBS);
    struct hp_server *server = any_server(&core, now_ns);
    const struct hp_server before = *server;

    the_laws = REFILLS | TWO_QUOTIENTS;
    hp_cbs_catch_up(&core, VCPU, now_ns);
    show_account(&core, now_ns);
    SHOW(cbs_refills_give(&before, server, now_ns), "what is due is done");
}

void cbs_charge_periods(void) {
    const hp_u64 from_ns = any_time();
    const hp_u64 to_ns = any_time();
    struct hp_core core = any_core(HP_BUDGET_CBS);
    struct hp_server *server = any_server(&core, from_ns);
    const struct hp_server before = *server;
    hp_u64 span_ns;

    TAKE(from_ns <= to_ns);
    span_ns = hp_cbs_charge_periods(&core, VCPU, from_ns, to_ns);
    SHOW(span_ns <= to_ns - from_ns, "no more than there is");
    show_account(&core, from_ns + span_ns);
    SHOW(server->remaining_ns == before.remaining_ns && server->level == before.level
             && server->deadline_ns == before.deadline_ns + span_ns,
         "a period costs nothing in the end, and moves the deadline");
}

hp_u32 any_answer(hp_u64 a, hp_u64 b, hp_u64 c, hp_u64 d) {
    (void)a, (void)b, (void)c, (void)d;
    return nondet_u32() & 1u;
}

void cbs_arrive(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(HP_BUDGET_CBS);
    struct hp_server *server = any_server(&core, now_ns);
    const struct hp_server before = *server;

    hp_cbs_arrive(&core, VCPU, now_ns);
    show_account(&core, now_ns);
    if (before.remaining_ns <= 0)
        SHOW(same_account(&before, server), "an arrival changes nothing at a depleted server");
    else
        SHOW(server->deadline_ns > now_ns && server->remaining_ns > 0,
             "a period goes on, or a new one begins");
}

/* Contracts in the place of the verbs that a piece of a charge is made of. */
void prove_cbs_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const struct hp_server before = *server;

    show_told(core);
    SHOW(now_ns == the_time_ns, "what was used up to now is charged");
    any_account(server);
    any_parameters(server);
    TAKE(account_holds(core, server, now_ns));
    TAKE(cbs_refills_give(&before, server, now_ns));
    tell(core);
}

hp_u64 prove_cbs_charge_periods(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 span_ns = nondet_u64();

    show_told(core);
    SHOW(from_ns == the_time_ns && from_ns <= to_ns, "time goes on");
    TAKE(span_ns <= to_ns - from_ns);
    TAKE(server->deadline_ns < 2u * HP_TIME_MAX - span_ns);
    server->deadline_ns += span_ns;
    the_time_ns += span_ns;
    TAKE(account_holds(core, server, the_time_ns));
    tell(core);
    return span_ns;
}

void cbs_charge_piece(void) {
    const hp_u64 from_ns = any_time();
    const hp_u64 to_ns = any_time();
    struct hp_core core = any_core(HP_BUDGET_CBS);
    hp_u64 end_ns;

    any_server(&core, from_ns);
    TAKE(from_ns < to_ns);
    the_time_ns = from_ns;
    end_ns = hp_cbs_charge_piece(&core, VCPU, from_ns, to_ns);
    show_account(&core, end_ns);
    SHOW(from_ns <= end_ns && end_ns <= to_ns && end_ns == the_time_ns, "it ends where it says");
}

/* The contract in the place of a piece. */
hp_u64 prove_cbs_charge_piece(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 end_ns = nondet_u64();

    show_told(core);
    SHOW(from_ns == the_time_ns && from_ns < to_ns, "a piece begins where the one before ended");
    TAKE(from_ns <= end_ns && end_ns <= to_ns);
    any_account(server);
    any_parameters(server);
    the_time_ns = end_ns;
    TAKE(account_holds(core, server, end_ns));
    tell(core);
    return end_ns;
}

void cbs_charge(void) {
    const hp_u64 from_ns = any_time();
    const hp_u64 to_ns = any_time();
    struct hp_core core = any_core(HP_BUDGET_CBS);

    any_server(&core, from_ns);
    TAKE(from_ns <= to_ns);
    the_time_ns = from_ns;
    hp_cbs_charge(&core, VCPU, from_ns, to_ns);
    show_account(&core, to_ns);
    SHOW(the_time_ns == to_ns, "all of the time is charged");
}
