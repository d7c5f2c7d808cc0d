// SPDX-License-Identifier: BSD-2-Clause
/* The slice rules: periods that begin with work, and slices that a block loses. */
#include "contracts.h"

static hp_u32 a_slice_rule(void) {
    return nondet_u32() & 1u ? HP_BUDGET_SLICE : HP_BUDGET_SLICE_ONCE;
}

void slice_rest(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(a_slice_rule());
    struct hp_server *server = any_server(&core, now_ns);
    const struct hp_server before = *server;

    hp_slice_rest(&core, VCPU, now_ns);
    show_account(&core, now_ns);
    SHOW(server->remaining_ns <= before.remaining_ns, "without work nothing comes back");
    SHOW(server->change_at_ns == HP_NEVER || server->change_at_ns > now_ns, "changes are taken");
}

void slice_begin(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(a_slice_rule());
    struct hp_server *server = any_server(&core, now_ns);
    const struct hp_server before = *server;

    TAKE(server->deadline_ns <= now_ns);
    the_laws = REFILLS;
    hp_slice_begin(&core, VCPU, now_ns);
    show_account(&core, now_ns);
    SHOW(server->deadline_ns == now_ns + server->params.period_ns, "a period begins now");
    SHOW(server->claim == HP_NEVER && server->level == 0, "nothing is left of the one before");
    if (before.remaining_ns >= 0)
        SHOW(server->remaining_ns == (hp_i64)server->params.budget_ns, "with a full slice");
    else
        SHOW(server->remaining_ns > before.remaining_ns, "or with part of a debt paid back");
}

void slice_lose(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(a_slice_rule());
    struct hp_server *server = any_server(&core, now_ns);
    const hp_u64 deadline_ns = server->deadline_ns;

    TAKE(server->remaining_ns > 0);
    hp_slice_lose(&core, VCPU);
    show_account(&core, now_ns);
    SHOW(server->remaining_ns == 0, "what is left is lost");
    SHOW(server->deadline_ns == deadline_ns, "the deadline stays");
    SHOW(server->claim != HP_NEVER, "and makes a claim");
}

/* The contracts in the place of the two verbs above. */
void prove_slice_begin(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    show_told(core);
    SHOW(server->deadline_ns <= now_ns, "a period begins when the one before has ended");
    any_account(server);
    TAKE(account_holds(core, server, now_ns));
    TAKE(server->deadline_ns == now_ns + server->params.period_ns && server->level == 0);
    tell(core);
}

void prove_slice_lose(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 deadline_ns = server->deadline_ns;

    show_told(core);
    SHOW(server->remaining_ns > 0, "there is something to lose");
    any_account(server);
    server->claim = nondet_u64();
    TAKE(account_holds(core, server, the_time_ns));
    TAKE(server->claim != HP_NEVER && server->remaining_ns == 0
         && server->deadline_ns == deadline_ns);
    tell(core);
}

void slice_first(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(a_slice_rule());
    struct hp_server *server = any_server(&core, now_ns);

    hp_slice_first(&core, VCPU, now_ns);
    show_account(&core, now_ns);
    SHOW(server->deadline_ns > now_ns && !server->never_ran, "a period begins, or a wait for it");
}

void slice_arrive(void) {
    const hp_u64 now_ns = any_time();
    struct hp_core core = any_core(a_slice_rule());
    struct hp_server *server = any_server(&core, now_ns);
    const struct hp_server before = *server;

    the_time_ns = now_ns;
    hp_slice_arrive(&core, VCPU, now_ns);
    show_account(&core, now_ns);
    SHOW(server->deadline_ns > now_ns, "the server is in a period, or waits for one");
    if (!before.never_ran && before.deadline_ns > now_ns && hp_slice_is_kept(&core, VCPU))
        SHOW(same_account(&before, server), "what is left of a slice is kept");
}
