// SPDX-License-Identifier: BSD-2-Clause
/* The budget that nobody owns: its refills and charges. */
#include "contracts.h"

/* The law of the spare that is charged up to 'at'. */
static hp_u32 spare_holds(const struct hp_spare *spare, hp_u64 at_ns) {
    return spare->period_ns > 0 && spare->period_ns <= HP_TIME_MAX
           && spare->budget_ns <= spare->period_ns
           && spare->remaining_ns <= (hp_i64)spare->budget_ns
           && spare->remaining_ns >= -(hp_i64)at_ns && spare->deadline_ns <= 2u * HP_TIME_MAX;
}

static struct hp_spare *any_spare(struct hp_core *core, hp_u64 at_ns) {
    TAKE(spare_holds(&core->spare, at_ns));
    the_budget_ns = &core->spare.budget_ns;
    the_period_ns = &core->spare.period_ns;
    return &core->spare;
}

void spare_catch_up(void) {
    struct hp_core core = any_core(HP_BUDGET_DEFERRABLE);
    struct hp_spare *spare = any_spare(&core, core.now_ns);
    const struct hp_spare before = *spare;

    the_laws = REFILLS;
    hp_spare_catch_up(&core);
    SHOW(spare_holds(spare, core.now_ns), "the law of the spare");
    SHOW(spare->deadline_ns > core.now_ns, "what is due is done");
    if (before.deadline_ns > core.now_ns)
        SHOW(spare->remaining_ns == before.remaining_ns, "nothing is done that is not due");
    else if (before.remaining_ns >= 0)
        SHOW(spare->remaining_ns == (hp_i64)spare->budget_ns, "to full");
    else
        SHOW(spare->remaining_ns >= before.remaining_ns, "a debt does not grow");
}

void spare_charge(void) {
    const hp_u64 from_ns = any_time();
    const hp_u64 to_ns = any_time();
    struct hp_core core = any_core(HP_BUDGET_DEFERRABLE);
    struct hp_spare *spare = any_spare(&core, from_ns);
    const struct hp_spare before = *spare;

    TAKE(from_ns <= to_ns && spare->deadline_ns >= from_ns);
    the_laws = COMPLEMENT;
    hp_spare_charge(&core, from_ns, to_ns);
    SHOW(spare_holds(spare, to_ns), "the law of the spare");
    SHOW(spare->deadline_ns >= to_ns, "no refill is passed over");
    if (before.deadline_ns >= to_ns)
        SHOW(spare->remaining_ns == before.remaining_ns - (hp_i64)(to_ns - from_ns),
             "it costs what it is long");
    SHOW(spare->remaining_ns > 0 || !core.planned, "who runs on it is looked at anew");
}
