// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Grants: charging the one that ends, making the next one, and finding those that are no longer
 * right.
 *
 * Time is charged when it has to be: at a pick, that of the pcpu that picks; at an instant at which
 * a grant ends or a refill is due (due_ns), that of all. In between accounts are as they were when
 * last charged, and nothing that is decided looks at them: who has budget has some left.
 *
 * On two pcpus A, of 2 ms in 10 ms, and B, of 3 ms in 12 ms, are granted at 0, until 2 ms and 3 ms.
 * An arrival at 1 ms charges nobody, and a pick of B's pcpu then charges B alone. At 2 ms whoever
 * calls charges both. A waits for its refill, and its pcpu is granted to nobody without an end: B's
 * wakes up at 3 ms. Were a refill due at 2.5 ms it would be granted until then, as nobody else
 * wakes up.
 */
#pragma once

#include "plan.h"

/* This payer pays from when it was last charged to now, by so much later than it should. */
HP_FN void hp_charge_payer(struct hp_core *core, hp_u32 payer, hp_u64 from_ns, hp_u64 late_ns) {
    if (hp_is_vcpu(payer)) {
        hp_server_of(core, payer)->late_ns = late_ns;
        hp_charge(core, payer, from_ns, core->now_ns);
    } else if (hp_is_spare(payer)) {
        core->spare.late_ns = late_ns;
        hp_spare_charge(core, from_ns, core->now_ns);
    }
}

/* The payers of a pcpu pay up to now. */
HP_STEP void hp_charge_grant(struct hp_core *core, struct hp_pcpu *pcpu) {
    const hp_u64 end_ns = hp_min(pcpu->grant.until_ns, pcpu->invalid_since_ns);
    const hp_u64 from_ns = pcpu->charged_ns;
    hp_u64 late_ns = 0;

    HP_ASSERT(from_ns < core->now_ns);
    if (core->now_ns > end_ns) {
        HP_JUMP();
        late_ns = core->now_ns - end_ns;
    }
    pcpu->charged_ns = core->now_ns;
    if (pcpu->grant.pay != HP_NONE)
        hp_charge_payer(core, pcpu->grant.pay, from_ns, late_ns);
    if (pcpu->grant.also != HP_NONE)
        hp_charge_payer(core, pcpu->grant.also, from_ns, late_ns);
}

/* Whoever pays for this pcpu pays up to now, if that is not done. */
HP_FN void hp_charge_pcpu(struct hp_core *core, hp_u32 number) {
    struct hp_pcpu *pcpu = hp_pcpu_of(core, number);

    if (pcpu->charged_ns < core->now_ns)
        hp_charge_grant(core, pcpu);
}

/* The grant of this pcpu cannot be relied on from this time on: it has to pick again. */
HP_FN void hp_expire(struct hp_pcpu *pcpu, hp_u64 from_ns) {
    pcpu->invalid_since_ns = hp_min(pcpu->invalid_since_ns, from_ns);
    pcpu->must_repick = 1;
}

/* The earliest end of all grants but the one on 'except'. */
HP_STEP hp_u64 hp_first_end(struct hp_core *core, hp_u32 except) {
    hp_u64 end_ns = HP_FORGET(HP_NEVER);

    HP_FOR (pcpu, hp_pcpus(core)) {
        if (pcpu != except)
            end_ns = hp_min(end_ns, hp_pcpu_of(core, pcpu)->grant.until_ns);
        end_ns = HP_FORGET(end_ns);
    }
    return end_ns;
}

/* The earliest time, up to 'end', at which a refill must be looked after whoever runs; else 'end'.
 * What is remembered of a queue is no later than its first: if that is behind 'end', so are all. */
HP_FN hp_u64 hp_refill_until(struct hp_core *core, hp_u64 end_ns) {
    return core->due.lowest <= end_ns ? hp_min(end_ns, hp_queue_lowest(&core->due)) : end_ns;
}

/* The same of all that has to be looked after: the spare as well. */
HP_FN hp_u64 hp_alarm_until(struct hp_core *core, hp_u64 end_ns) {
    end_ns = hp_refill_until(core, end_ns);
    return hp_has(core, HP_HAS_SPARE) ? hp_min(end_ns, core->spare.deadline_ns) : end_ns;
}

/* The refills that are due, except those of servers that nobody waits for: they have no work and do
 * not pay (hp_needs_refill_timer), and are caught up when work arrives. */
HP_RARE void hp_replenish_due(struct hp_core *core) {
    HP_UP_TO (block, core->due.blocks, HP_BLOCKS) {
        if (core->due.low[block] <= core->now_ns) {
            HP_UP_TO (i, HP_BLOCK, HP_BLOCK) {
                if (core->due.key[block * HP_BLOCK + i] <= core->now_ns)
                    hp_catch_up(core, block * HP_BLOCK + i, core->now_ns);
            }
        }
    }
}

/* Whoever pays for a pcpu pays up to now. */
HP_FN void hp_charge_all(struct hp_core *core) {
    if (core->alone) {
        hp_charge_pcpu(core, 0);
        return;
    }
    HP_FOR (pcpu, hp_pcpus(core)) {
        hp_charge_pcpu(core, pcpu);
    }
}

/* Charges all, then does the refills that are due. */
HP_ONCE hp_u32 hp_settle_all(struct hp_core *core HP_NOT_NULL) {
    hp_charge_all(core);
    if (core->due.lowest <= core->now_ns && hp_queue_lowest(&core->due) <= core->now_ns)
        hp_replenish_due(core);
    if (hp_has(core, HP_HAS_SPARE))
        hp_spare_catch_up(core);
    core->due_ns = 0; /* until a pick, or kicks, have found when that is */
    return 0;
}

/* Tells the core the time. A time that goes back counts as the latest one that it was told. */
HP_FN void hp_tell_time(struct hp_core *core, hp_u64 now_ns) {
    if (now_ns > core->now_ns)
        core->now_ns = now_ns;
}

/* Tells the core the time, and does what is due by then. */
HP_FN void hp_settle(struct hp_core *core, hp_u64 now_ns) {
    hp_tell_time(core, now_ns);
    if (core->now_ns >= core->due_ns)
        hp_settle_all(core);
    HP_ASSERT(core->due_ns == 0 || core->due_ns > core->now_ns);
}

/* The same with all accounts brought up to now: parameters change, or somebody looks at them. */
HP_RARE void hp_settle_now(struct hp_core *core, hp_u64 now_ns) {
    core->due_ns = 0;
    hp_settle(core, now_ns);
}

/* When a server that was charged up to 'from' has nothing left at the level that it is on, or gets
 * new parameters. */
HP_FN hp_u64 hp_server_pays_until(const struct hp_server *server, hp_u64 from_ns) {
    const hp_i64 left_ns = server->level > 0 ? server->extra_ns : server->remaining_ns;

    return left_ns <= 0 ? from_ns : hp_min(from_ns + (hp_u64)left_ns, server->change_at_ns);
}

/* The same of any payer; nobody pays for ever. */
HP_FN hp_u64 hp_pays_until(struct hp_core *core, hp_u32 payer, hp_u64 from_ns) {
    if (hp_is_vcpu(payer))
        return hp_server_pays_until(hp_server_of(core, payer), from_ns);
    if (hp_is_spare(payer))
        return from_ns + (hp_u64)(core->spare.remaining_ns > 0 ? core->spare.remaining_ns : 0);
    return HP_NEVER;
}

/* When the turns that were given on this pcpu are over. */
HP_FN hp_u64 hp_turns_end(struct hp_core *core, const struct hp_pcpu *pcpu) {
    hp_u64 end_ns = HP_NEVER;

    if (core->quantum_ns > 0) {
        end_ns = pcpu->charged_ns + core->quantum_ns;
        if (hp_is_vcpu(pcpu->grant.pay))
            end_ns = hp_min(end_ns, hp_turn_end(core, pcpu->grant.pay, HP_PAYER));
        if (hp_is_vcpu(pcpu->grant.run) && pcpu->effort == HP_NONE)
            end_ns = hp_min(end_ns, hp_turn_end(core, pcpu->grant.run, HP_RUNNER));
    }
    if (pcpu->effort == HP_NONE)
        return end_ns;
    if (core->effort_waits)
        end_ns = hp_min(end_ns, hp_turn_end(core, pcpu->effort, HP_EFFORT));
    if (hp_has_share(core, pcpu->effort))
        end_ns = hp_min(end_ns, core->share.until_ns);
    return end_ns;
}

/* When the payers of this pcpu cannot pay any more. */
HP_STEP hp_u64 hp_payers_end(struct hp_core *core, const struct hp_pcpu *pcpu) {
    const hp_u64 end_ns = hp_pays_until(core, pcpu->grant.pay, pcpu->charged_ns);

    if (pcpu->grant.also == HP_NONE)
        return end_ns;
    return hp_min(end_ns, hp_pays_until(core, pcpu->grant.also, pcpu->charged_ns));
}

/* When this grant ends by itself. */
HP_STEP hp_u64 hp_grant_end(struct hp_core *core, hp_u32 number) {
    const struct hp_pcpu *pcpu = hp_pcpu_of(core, number);

    return hp_min(hp_turns_end(core, pcpu), hp_payers_end(core, pcpu));
}

/*
 * Who should run on this pcpu and can, or HP_NONE: a vcpu leaves another pcpu only at that pcpu's
 * own pick, and when its context is saved.
 */
HP_FN hp_u32 hp_able_to_run(struct hp_core *core, hp_u32 vcpu, hp_u32 pcpu) {
    const struct hp_server *server;

    if (HP_PCPUS == 1u || vcpu == HP_NONE)
        return vcpu;
    HP_ASSERT(hp_present(core, vcpu));
    server = hp_server_of(core, vcpu);
    if ((server->held_on != HP_NONE && server->held_on != pcpu)
        || (server->last_pcpu != pcpu && hp_pcpu_of(core, server->last_pcpu)->grant.run == vcpu))
        return HP_NONE;
    return vcpu;
}

/*
 * Whether this payer still pays for another pcpu, or runs there, which has to let go of it first.
 * Of vcpus only those that are bound, or make room for one that is, move from pcpu to pcpu at once.
 */
HP_FN hp_u32 hp_payer_waits(struct hp_core *core, hp_u32 payer, hp_u32 pcpu) {
    hp_u32 waits = HP_FORGET(0u);

    if (HP_PCPUS == 1u || !(hp_is_spare(payer) || (core->bound > 0 && hp_is_vcpu(payer))))
        return 0;
    HP_FOR (other, hp_pcpus(core)) {
        const struct hp_grant *grant = &hp_pcpu_of(core, other)->grant;

        waits = HP_FORGET(waits | (other != pcpu && (grant->pay == payer || grant->run == payer)));
    }
    return waits;
}

/* The level of extra time that this payer is on. */
HP_FN hp_u32 hp_level_of(struct hp_core *core, hp_u32 payer) {
    return hp_is_vcpu(payer) ? hp_server_of(core, payer)->level : 0;
}

/*
 * What this pcpu can be granted of its plan right now: what the others have not let go of yet
 * is left out, and follows when they have. One that its context keeps from running does not pay.
 */
HP_FN void hp_possible(struct hp_core *core, hp_u32 number, struct hp_grant *grant) {
    const struct hp_plan *plan = &hp_pcpu_of(core, number)->plan;
    const hp_u32 waits = hp_payer_waits(core, plan->pay, number);

    HP_ASSERT(core->planned && !hp_is_stolen(core, number));
    grant->pay = waits ? HP_NONE : plan->pay;
    grant->run = waits ? HP_NONE : hp_able_to_run(core, plan->run, number);
    grant->also = plan->also == HP_NONE ? HP_NONE : grant->run;
    grant->level = hp_level_of(core, grant->pay);
}

/* Records that this vcpu is now the last in its role here, and gives it a turn if it needs one. */
HP_FN void hp_give_turn(struct hp_core *core, struct hp_pcpu *pcpu, hp_u32 vcpu, hp_u32 role) {
    const hp_u32 slot = HP_INDEX(role, HP_ROLES);
    struct hp_server *server;

    if (!hp_is_vcpu(vcpu))
        return;
    pcpu->last[slot] = vcpu;
    if (hp_turn_length(core, role) == 0 || pcpu->plan.keeps[slot])
        return;
    server = hp_server_of(core, vcpu);
    server->turn_ns[slot] = core->now_ns + 1u;
    server->turn_place[slot] = server->place;
    pcpu->plan.keeps[slot] = 1; /* a second pick on this plan is no new turn */
}

/*
 * The one that ran here is held until its context is saved; the one that runs now is not. Alone
 * on its pcpu nobody needs to be held: a host that adds the second says who is (hp_hold).
 */
HP_FN void hp_hand_over(struct hp_core *core, hp_u32 pcpu, hp_u32 before, hp_u32 now) {
    if (!hp_reports_saved(core) || hp_pcpus(core) == 1 || before == now)
        return;
    if (hp_is_vcpu(before))
        hp_server_of(core, before)->held_on = pcpu;
    if (hp_is_vcpu(now))
        hp_server_of(core, now)->held_on = HP_NONE;
}

/* Makes the planned grant of this pcpu the grant in force; when it ends is not said yet. */
HP_FN void hp_commit(struct hp_core *core, hp_u32 number) {
    struct hp_pcpu *pcpu = hp_pcpu_of(core, number);
    struct hp_grant *grant = &pcpu->grant;
    const hp_u32 before = grant->run;
    hp_u32 run;

    hp_possible(core, number, grant);
    run = grant->run;
    grant->start_ns = core->now_ns;
    pcpu->effort = run == HP_NONE ? hp_able_to_run(core, pcpu->plan.effort, number) : HP_NONE;
    pcpu->holder = pcpu->plan.holder != HP_NONE ? pcpu->plan.holder : run;
    pcpu->must_repick = 0;
    pcpu->invalid_since_ns = HP_NEVER;
    if (run == HP_NONE)
        grant->run = pcpu->effort;
    hp_hand_over(core, number, before, grant->run);
    hp_give_turn(core, pcpu, grant->pay, HP_PAYER);
    hp_give_turn(core, pcpu, run, HP_RUNNER);
    if (hp_has(core, HP_HAS_SHARES))
        hp_weights_commit(core, pcpu->effort);
    else
        hp_give_turn(core, pcpu, pcpu->effort, HP_EFFORT);
    if (hp_is_vcpu(grant->pay))
        hp_server_of(core, grant->pay)->last_pcpu = number;
    if (hp_is_vcpu(grant->run))
        hp_server_of(core, grant->run)->last_pcpu = number;
}

/* The grant of this pcpu is right; it is looked at again if it waits for others to let go. */
HP_FN void hp_clear_suspect(struct hp_core *core, hp_u32 number) {
    const struct hp_pcpu *pcpu = hp_pcpu_of(core, number);
    const struct hp_plan *plan = &pcpu->plan;
    const hp_u32 run = plan->run != HP_NONE ? plan->run : plan->effort;

    HP_ASSERT(core->planned);
    if (pcpu->grant.run == run && pcpu->grant.pay == plan->pay)
        core->suspects &= ~hp_bit_of(number);
}

/*
 * Makes the planned grant of this pcpu the grant in force, until its own end. Whoever wakes up
 * first of all pcpus looks after what is due by then; if an alarm is before that, this pcpu wakes
 * up for it.
 */
HP_RARE void hp_put_in_force(struct hp_core *core, hp_u32 number) {
    struct hp_grant *grant = &hp_pcpu_of(core, number)->grant;
    hp_u64 end_ns;
    hp_u64 first_end_ns;
    hp_u64 alarm_ns;

    hp_commit(core, number);
    end_ns = hp_grant_end(core, number);
    first_end_ns = hp_min(end_ns, hp_first_end(core, number));
    alarm_ns = hp_alarm_until(core, first_end_ns);
    grant->until_ns = alarm_ns < first_end_ns ? alarm_ns : end_ns;
    core->due_ns = alarm_ns;
    HP_ASSERT(grant->until_ns > core->now_ns);
    hp_clear_suspect(core, number);
}

/*
 * Whether the grant in force differs from the plan in a way that this pcpu can mend now: a stolen
 * one cannot.
 */
HP_RARE hp_u32 hp_grant_wrong(struct hp_core *core, hp_u32 number) {
    const struct hp_pcpu *pcpu = hp_pcpu_of(core, number);
    const struct hp_grant *grant = &pcpu->grant;
    struct hp_grant can;

    if (hp_is_stolen(core, number))
        return 0;
    hp_possible(core, number, &can);
    if (can.run == HP_NONE)
        can.run = hp_able_to_run(core, pcpu->plan.effort, number);
    /* One test for all: compared one by one, two of them are read together while on their way. */
    if ((grant->run ^ can.run) | (grant->pay ^ can.pay) | (grant->also ^ can.also)
        | (grant->level ^ can.level) | pcpu->must_repick)
        return 1;
    return hp_grant_end(core, number) < grant->until_ns;
}
