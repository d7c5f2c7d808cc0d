// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Grants: charging the one that ends, making the next one, and finding those that are no longer
 * right.
 */
#pragma once

#include "plan.h"

/* This payer pays from the start of a grant to now, by so much later than it should. */
HP_SHARED void hp_charge_payer(struct hp_core *core, hp_u32 payer, hp_u64 from_ns, hp_u64 late_ns) {
    if (hp_is_vcpu(payer)) {
        hp_server_of(core, payer)->late_ns = late_ns;
        hp_charge(core, payer, from_ns, core->now_ns);
    } else if (hp_is_spare(payer)) {
        core->spare.late_ns = late_ns;
        hp_spare_charge(core, from_ns, core->now_ns);
    }
}

/* Whoever pays for this pcpu pays up to now. */
HP_SHARED void hp_charge_pcpu(struct hp_core *core, struct hp_pcpu *slot) {
    struct hp_grant *grant = &slot->grant;
    const hp_u64 from_ns = grant->start_ns;
    const hp_u64 due_ns = hp_least(grant->until_ns, slot->invalid_since_ns);
    hp_u64 late_ns = 0;

    if (core->now_ns > due_ns) {
        HP_JUMP();
        late_ns = core->now_ns - due_ns;
    }
    grant->start_ns = core->now_ns;
    if (grant->pay != HP_NONE)
        hp_charge_payer(core, grant->pay, from_ns, late_ns);
    if (grant->also != HP_NONE)
        hp_charge_payer(core, grant->also, from_ns, late_ns);
}

HP_ASIDE void hp_charge_pcpus(struct hp_core *core) {
    HP_FOR (pcpu, HP_PCPUS) {
        if (pcpu >= hp_pcpus(core))
            break;
        hp_charge_pcpu(core, hp_pcpu_of(core, pcpu));
    }
}

/* Whoever pays pays up to now, on every pcpu. Calls at one instant find it done already. */
HP_SHARED void hp_charge_all(struct hp_core *core, hp_u64 now_ns) {
    if (now_ns <= core->now_ns)
        return;
    core->now_ns = now_ns;
    core->overdue = 1;
    if (hp_pcpus(core) == 1)
        hp_charge_pcpu(core, hp_only_pcpu(core));
    else
        hp_charge_pcpus(core);
}

/* The earliest time at which something must be looked after whoever runs. */
HP_FN hp_u64 hp_next_alarm(struct hp_core *core) {
    hp_u64 alarm_ns = hp_first_due_ns(core);

    if (hp_has(core, HP_HAS_SPARE))
        alarm_ns = hp_least(alarm_ns, core->spare.deadline_ns);
    return alarm_ns;
}

/* Does what is due for the members of this group. */
HP_FN void hp_replenish_group(struct hp_core *core, hp_u32 group, hp_u32 ready_is_due) {
    const hp_u32 zeroth = group * HP_GROUP;
    const hp_u32 members = hp_members(core, group);

    HP_FEW(i, members, HP_GROUP) {
        if (hp_alarm_at(core, zeroth + i, ready_is_due) <= core->now_ns)
            hp_catch_up(core, zeroth + i, core->now_ns);
    }
}

/* The refills that are due, except those of servers that nobody waits for (hp_needs_refill_timer).
 */
HP_RARE void hp_replenish_due(struct hp_core *core) {
    const hp_u32 ready_is_due = hp_ready_is_due(core);

    HP_FEW(group, HP_GROUPS, HP_GROUPS) {
        if (group >= core->groups)
            break;
        if (core->due.low[group] <= core->now_ns
            || (ready_is_due && core->ready.low[group] <= core->now_ns))
            hp_replenish_group(core, group, ready_is_due);
    }
}

/* Charges, then the refills that are due. */
HP_ONCE HP_NOTHING hp_do_settle(struct hp_core *core HP_NOT_NULL, hp_u64 now_ns) {
    hp_charge_all(core, now_ns);
    if (hp_first_due_ns(core) <= core->now_ns)
        hp_replenish_due(core);
    if (hp_has(core, HP_HAS_SPARE))
        hp_spare_catch_up(core);
    core->overdue = 0;
    HP_DONE();
}

/* Brings the accounts up to now. Most calls at one instant find it done already. */
HP_FN void hp_settle(struct hp_core *core, hp_u64 now_ns) {
    if (now_ns > core->now_ns || core->overdue)
        hp_do_settle(core, now_ns);
}

/* The same in line where there is one pcpu without a spare (hp_see_plain); returns when somebody
 * must look after a refill next. */
HP_FN hp_u64 hp_settle_plain(struct hp_core *core, hp_u64 now_ns) {
    hp_u32 overdue = core->overdue;
    hp_u64 due_ns;

    if (now_ns > core->now_ns) {
        core->now_ns = now_ns;
        overdue = 1;
        hp_charge_pcpu(core, hp_only_pcpu(core));
    }
    due_ns = hp_first_due_ns(core);
    if (due_ns <= core->now_ns && overdue) {
        hp_replenish_due(core);
        due_ns = hp_first_due_ns(core);
    }
    core->overdue = 0;
    return due_ns;
}

/* When this server has nothing left at the level that it is on, or gets new parameters. */
HP_FN hp_u64 hp_server_pays_until(const struct hp_core *core, const struct hp_server *server) {
    const hp_i64 left_ns = hp_left(server);

    if (left_ns <= 0)
        return core->now_ns;
    return hp_least(core->now_ns + (hp_u64)left_ns, server->change_at_ns);
}

/* When this payer has nothing left at the level that it is on, or gets new parameters. */
HP_SHARED hp_u64 hp_pays_until(struct hp_core *core, hp_u32 payer) {
    if (hp_is_vcpu(payer))
        return hp_server_pays_until(core, hp_server_of(core, payer));
    if (hp_is_spare(payer))
        return core->now_ns + (hp_u64)(core->spare.remaining_ns > 0 ? core->spare.remaining_ns : 0);
    return HP_NEVER;
}

/* When the turns that were given on this pcpu are over. */
HP_FN hp_u64 hp_turns_end(struct hp_core *core, const struct hp_pcpu *slot) {
    hp_u64 end_ns = HP_NEVER;

    if (core->quantum_ns > 0) {
        end_ns = core->now_ns + core->quantum_ns;
        if (hp_is_vcpu(slot->grant.pay))
            end_ns = hp_least(end_ns, hp_turn_end(core, slot->grant.pay, HP_PAYER));
        if (hp_is_vcpu(slot->grant.run) && slot->effort == HP_NONE)
            end_ns = hp_least(end_ns, hp_turn_end(core, slot->grant.run, HP_RUNNER));
    }
    if (slot->effort != HP_NONE && core->effort_waits)
        end_ns = hp_least(end_ns, hp_turn_end(core, slot->effort, HP_EFFORT));
    if (slot->effort != HP_NONE && slot->effort == core->share.vcpu)
        end_ns = hp_least(end_ns, core->share.until_ns);
    return end_ns;
}

/* When this grant ends by itself. */
HP_ONCE hp_u64 hp_grant_end(struct hp_core *core HP_NOT_NULL, struct hp_pcpu *slot HP_NOT_NULL) {
    hp_u64 end_ns = hp_turns_end(core, slot);

    end_ns = hp_least(end_ns, hp_pays_until(core, slot->grant.pay));
    if (slot->grant.also == HP_NONE)
        return end_ns;
    return hp_least(end_ns, hp_pays_until(core, slot->grant.also));
}

/* The earliest end of all grants but the one on 'except'. */
HP_RARE hp_u64 hp_first_end(struct hp_core *core, hp_u32 except) {
    hp_u64 end_ns = HP_NEVER;

    HP_FOR (pcpu, HP_PCPUS) {
        if (pcpu >= hp_pcpus(core))
            break;
        if (pcpu != except)
            end_ns = hp_least(end_ns, hp_pcpu_of(core, pcpu)->grant.until_ns);
    }
    return end_ns;
}

/*
 * Whether this vcpu is still on another pcpu: one that has not picked again yet, or that has
 * but is not done with saving its context.
 */
HP_FN hp_u32 hp_runs_elsewhere(struct hp_core *core, hp_u32 vcpu, hp_u32 pcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (HP_PCPUS == 1u)
        return 0;
    if (server->held_on != HP_NONE && server->held_on != pcpu)
        return 1;
    return server->last_pcpu != pcpu && hp_pcpu_of(core, server->last_pcpu)->grant.run == vcpu;
}

/* Who should run on this pcpu and can: a vcpu leaves a pcpu only at that pcpu's own pick. */
HP_FN hp_u32 hp_able_to_run(struct hp_core *core, hp_u32 vcpu, hp_u32 pcpu) {
    if (vcpu == HP_NONE || hp_runs_elsewhere(core, vcpu, pcpu))
        return HP_NONE;
    return vcpu;
}

/* Whether this payer still pays for another pcpu, or runs there, which has not picked again yet. */
HP_RARE hp_u32 hp_is_elsewhere(struct hp_core *core, hp_u32 payer, hp_u32 pcpu) {
    HP_FOR (other, HP_PCPUS) {
        const struct hp_grant *grant = &hp_pcpu_of(core, other)->grant;

        if (other >= hp_pcpus(core))
            break;
        if (other != pcpu && (grant->pay == payer || grant->run == payer))
            return 1;
    }
    return 0;
}

/*
 * Whether another pcpu has to let go of this payer first. Of vcpus only those that are bound, or
 * make room for one that is, move from pcpu to pcpu at once.
 */
HP_FN hp_u32 hp_payer_waits(struct hp_core *core, hp_u32 payer, hp_u32 pcpu) {
    return HP_PCPUS > 1u && (hp_is_spare(payer) || (core->bound && hp_is_vcpu(payer)))
           && hp_is_elsewhere(core, payer, pcpu);
}

/* Who pays as well where this vcpu runs: one that its context keeps from running does not. */
HP_FN hp_u32 hp_also_pays(const struct hp_pcpu *slot, hp_u32 run) {
    return slot->plan_also == HP_NONE ? HP_NONE : run;
}

/* The level that this payer is on. */
HP_FN hp_u32 hp_level_of(struct hp_core *core, hp_u32 payer) {
    return hp_is_vcpu(payer) ? hp_server_of(core, payer)->level : 0;
}

/*
 * What this pcpu can be granted of its plan right now: what the others have not let go of yet
 * is left out, and follows when they have.
 */
HP_FN void hp_possible(struct hp_core *core, hp_u32 pcpu, struct hp_grant *grant) {
    const struct hp_pcpu *slot = hp_pcpu_of(core, pcpu);
    const hp_u32 waits = hp_payer_waits(core, slot->plan_pay, pcpu);

    grant->pay = waits ? HP_NONE : slot->plan_pay;
    grant->run = waits ? HP_NONE : hp_able_to_run(core, slot->plan_run, pcpu);
    grant->also = hp_also_pays(slot, grant->run);
    grant->level = hp_level_of(core, grant->pay);
}

/* Records that this vcpu is now the last in its role here, and gives it a turn if it needs one. */
HP_SHARED void hp_give_turn(struct hp_core *core, struct hp_pcpu *slot, hp_u32 vcpu, hp_u32 role) {
    const hp_u32 of_role = HP_INDEX(role, HP_ROLES);
    const hp_u32 before = slot->last[of_role];
    struct hp_server *server;

    if (!hp_is_vcpu(vcpu))
        return;
    slot->last[of_role] = vcpu;
    hp_requeue_effort(core, before);
    if (hp_turn_length(core, role) == 0 || slot->plan_keeps[of_role])
        return;
    server = hp_server_of(core, vcpu);
    server->turn_ns[of_role] = core->now_ns + 1u;
    server->turn_place[of_role] = server->place;
    slot->plan_keeps[of_role] = 1; /* a second pick on this plan is no new turn */
    hp_requeue_effort(core, vcpu);
}

/*
 * The one that ran here is held until its context is saved; the one that runs now is not. Alone
 * on its pcpu nobody needs to be held: a host that adds the second says who is (hp_hold).
 */
HP_FN void hp_hand_over(struct hp_core *core, hp_u32 pcpu, hp_u32 before, hp_u32 now) {
    if (!hp_holds(core) || hp_pcpus(core) == 1 || before == now)
        return;
    if (hp_is_vcpu(before))
        hp_server_of(core, before)->held_on = pcpu;
    if (hp_is_vcpu(now))
        hp_server_of(core, now)->held_on = HP_NONE;
}

HP_FN void hp_copy_grant(struct hp_grant *to, const struct hp_grant *from) {
    to->start_ns = from->start_ns;
    to->until_ns = from->until_ns;
    to->run = from->run;
    to->pay = from->pay;
    to->also = from->also;
    to->level = from->level;
}

/* Makes the next grant of the only pcpu, where there are no turns: until its payers' end, or the
 * next alarm. */
HP_FN void hp_pick_plain(struct hp_core *core, hp_u64 now_ns, struct hp_grant *grant) {
    struct hp_pcpu *slot = hp_only_pcpu(core);
    hp_u64 until_ns = hp_settle_plain(core, now_ns);
    hp_u32 level = 0;
    hp_u32 also;
    hp_u32 pay;
    hp_u32 run;

    if (!core->planned)
        hp_plan_plain(core);
    run = hp_holds(core) ? hp_able_to_run(core, slot->plan_run, 0) : slot->plan_run;
    pay = slot->plan_pay;
    also = hp_also_pays(slot, run);
    if (pay != HP_NONE) {
        const struct hp_server *server = hp_server_of(core, pay);

        level = server->level;
        until_ns = hp_least(until_ns, hp_server_pays_until(core, server));
        slot->last[HP_PAYER] = pay;
    }
    if (also != HP_NONE)
        until_ns = hp_least(until_ns, hp_pays_until(core, also));
    if (run != HP_NONE)
        slot->last[HP_RUNNER] = run;
    grant->start_ns = core->now_ns;
    grant->until_ns = until_ns;
    grant->run = run;
    grant->pay = pay;
    grant->also = also;
    grant->level = level;
    hp_copy_grant(&slot->grant, grant);
    slot->effort = HP_NONE;
    slot->holder = slot->plan_holder;
    slot->must_repick = 0;
    slot->plan_new = 0;
    slot->invalid_since_ns = HP_NEVER;
}

/* Makes the planned grant of this pcpu the grant in force. */
HP_SHARED void hp_commit(struct hp_core *core, hp_u32 pcpu) {
    struct hp_pcpu *slot = hp_pcpu_of(core, pcpu);
    struct hp_grant *grant = &slot->grant;
    const hp_u32 before = grant->run;
    hp_u32 run;

    hp_possible(core, pcpu, grant);
    run = grant->run;
    grant->start_ns = core->now_ns;
    slot->effort = run == HP_NONE ? hp_able_to_run(core, slot->plan_effort, pcpu) : HP_NONE;
    slot->holder = slot->plan_holder != HP_NONE ? slot->plan_holder : run;
    slot->must_repick = 0;
    slot->plan_new = 0;
    slot->invalid_since_ns = HP_NEVER;
    if (run == HP_NONE)
        grant->run = slot->effort;
    hp_hand_over(core, pcpu, before, grant->run);
    hp_give_turn(core, slot, grant->pay, HP_PAYER);
    hp_give_turn(core, slot, run, HP_RUNNER);
    if (hp_has(core, HP_HAS_SHARES))
        hp_weights_commit(core, slot->effort);
    else
        hp_give_turn(core, slot, slot->effort, HP_EFFORT);
    if (hp_is_vcpu(grant->pay))
        hp_server_of(core, grant->pay)->last_pcpu = pcpu;
    if (hp_is_vcpu(grant->run))
        hp_server_of(core, grant->run)->last_pcpu = pcpu;
}

/* Until when: its own end, or the next alarm if no other pcpu wakes up in time for that. */
HP_SHARED void hp_set_until(struct hp_core *core, hp_u32 pcpu) {
    struct hp_pcpu *slot = hp_pcpu_of(core, pcpu);
    const hp_u64 end_ns = hp_grant_end(core, slot);
    const hp_u64 alarm_ns = hp_next_alarm(core);

    slot->grant.until_ns = end_ns;
    if (alarm_ns < end_ns && (hp_pcpus(core) == 1 || hp_first_end(core, pcpu) > alarm_ns))
        slot->grant.until_ns = alarm_ns;
}

/* Makes the planned grant of this pcpu the grant in force, until when at the latest. */
HP_PART_ONCE HP_NOTHING hp_put_in_force(struct hp_core *core HP_NOT_NULL, hp_u32 pcpu) {
    hp_commit(core, pcpu);
    hp_set_until(core, pcpu);
    HP_DONE();
}

/*
 * Whether the grant in force differs from the plan in a way that this pcpu can mend now: a stolen
 * one cannot.
 */
HP_FN hp_u32 hp_grant_wrong(struct hp_core *core, hp_u32 pcpu) {
    struct hp_pcpu *slot = hp_pcpu_of(core, pcpu);
    const struct hp_grant *grant = &slot->grant;
    struct hp_grant can;

    if (hp_is_stolen(core, pcpu))
        return 0;
    hp_possible(core, pcpu, &can);
    if (can.run == HP_NONE)
        can.run = hp_able_to_run(core, slot->plan_effort, pcpu);
    /* One test for all: compared one by one, two of them are read together while on their way. */
    if ((grant->run ^ can.run) | (grant->pay ^ can.pay) | (grant->also ^ can.also)
        | (grant->level ^ can.level) | slot->must_repick)
        return 1;
    return hp_grant_end(core, slot) < grant->until_ns;
}
