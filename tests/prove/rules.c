// SPDX-License-Identifier: BSD-2-Clause
/* The rules as one: what is charged and caught up for a server, whichever rule is in force. */
#include "contracts.h"

/* Whether charges rely on the deadline: it does not lie before what is charged. */
static hp_u32 deadline_holds(const struct hp_core *core, const struct hp_server *server,
                             hp_u64 from_ns) {
    return hp_has(core, HP_WHEN_EMPTY) || server->deadline_ns >= from_ns;
}

/* The contract of every rule's charge, but for the sporadic one, of which it is not proved. */
hp_u32 prove_charge_rule(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    show_told(core);
    SHOW(from_ns == the_time_ns && from_ns <= to_ns, "time goes on");
    SHOW(deadline_holds(core, server, from_ns), "no deadline lies before the charge");
    any_account(server);
    any_parameters(server);
    the_time_ns = to_ns;
    TAKE(account_holds(core, server, to_ns) && deadline_holds(core, server, to_ns));
    tell(core);
    return 0;
}

/* The contract of every rule's refills. */
hp_u32 prove_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 deadline_ns = server->deadline_ns;

    show_told(core);
    SHOW(now_ns == the_time_ns, "what was used up to now is charged");
    any_account(server);
    any_parameters(server);
    TAKE(account_holds(core, server, now_ns));
    TAKE(hp_has(core, HP_WHEN_EMPTY) || server->deadline_ns >= deadline_ns);
    tell(core);
    return 0;
}

void charge(void) {
    const hp_u64 from_ns = any_time();
    const hp_u64 to_ns = any_time();
    const hp_u32 rule = any_rule();
    struct hp_core core = any_core(rule);
    struct hp_server *server = any_server(&core, from_ns);

    TAKE(rule != HP_BUDGET_SPORADIC);
    TAKE(from_ns <= to_ns && deadline_holds(&core, server, from_ns));
    the_time_ns = from_ns;
    hp_charge(&core, VCPU, from_ns, to_ns);
    show_account(&core, to_ns);
    SHOW(the_time_ns == to_ns, "all of the time is charged");
    SHOW(deadline_holds(&core, server, to_ns), "no refill is passed over");
}
