// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pcpus come and go while vcpus run, for good or for a while; and a host that takes its time to
 * switch says when a vcpu is off its pcpu.
 *
 * Pcpus are numbered without gaps. When one goes, the last one takes over its number, with the
 * grant that it has: the host renames it in the same way.
 */
#pragma once

#include "vcpu.h"

/* From now on nobody runs or pays here. */
HP_FN void hp_empty_grant(struct hp_pcpu *pcpu, hp_u64 now_ns) {
    pcpu->grant.start_ns = now_ns;
    pcpu->grant.until_ns = now_ns;
    pcpu->grant.run = HP_NONE;
    pcpu->grant.pay = HP_NONE;
    pcpu->grant.also = HP_NONE;
    pcpu->grant.level = 0;
    pcpu->charged_ns = now_ns;
    pcpu->invalid_since_ns = HP_NEVER;
    pcpu->holder = HP_NONE;
    pcpu->effort = HP_NONE;
}

HP_FN void hp_clear_pcpu(struct hp_pcpu *pcpu, hp_u64 now_ns) {
    hp_empty_grant(pcpu, now_ns);
    HP_EACH_ROLE (role) {
        pcpu->last[role] = HP_NONE;
        pcpu->plan.keeps[role] = 0;
    }
    pcpu->must_repick = 0;
    pcpu->plan.holder = HP_NONE;
    pcpu->plan.run = HP_NONE;
    pcpu->plan.pay = HP_NONE;
    pcpu->plan.also = HP_NONE;
    pcpu->plan.effort = HP_NONE;
}

HP_RARE hp_u32 hp_add_pcpu(struct hp_core *core, hp_u64 now_ns) {
    if (hp_pcpus(core) >= HP_PCPUS)
        return HP_ERROR_PCPUS;
    if (!hp_policy_legal(&core->policy, hp_pcpus(core) + 1u))
        return HP_ERROR_POLICY;
    hp_settle_now(core, now_ns);
    hp_clear_pcpu(hp_pcpu_of(core, hp_pcpus(core)), core->now_ns);
    core->pcpus++;
    core->due_ns = 0;
    hp_replan_all(core);
    return HP_OK;
}

/* Vcpus that were last on one pcpu were last on another, and those held there are held on 'on'. */
HP_FN void hp_rename_pcpu(struct hp_core *core, hp_u32 from, hp_u32 to, hp_u32 on) {
    HP_FOR (vcpu, core->numbers) {
        struct hp_server *server = hp_server_of(core, vcpu);

        server->last_pcpu = server->last_pcpu == from ? to : server->last_pcpu;
        server->held_on = server->held_on == from ? on : server->held_on;
    }
}

/* Gives a pcpu the grant and the history of another one; it has to pick again. */
HP_FN void hp_take_over(struct hp_pcpu *pcpu, const struct hp_pcpu *other, hp_u64 now_ns) {
    HP_ASSERT(pcpu != other);
    hp_clear_pcpu(pcpu, now_ns);
    hp_copy_grant(&pcpu->grant, &other->grant);
    pcpu->invalid_since_ns = other->invalid_since_ns;
    pcpu->holder = other->holder;
    pcpu->effort = other->effort;
    HP_EACH_ROLE (role)
        pcpu->last[role] = other->last[role];
    hp_expire(pcpu, now_ns);
}

/* The pcpu is there to be granted again. */
HP_FN void hp_end_theft(struct hp_core *core, hp_u32 pcpu) {
    if (!hp_is_stolen(core, pcpu))
        return;
    HP_ASSERT(core->thefts > 0);
    core->stolen &= ~hp_bit_of(pcpu);
    core->thefts--;
    hp_replan_all(core);
}

/* A theft on the last pcpu is one on the pcpu whose number that gets, and that has none itself. */
HP_FN void hp_rename_theft(struct hp_core *core, hp_u32 last, hp_u32 pcpu) {
    const hp_u32 stolen = hp_is_stolen(core, last);

    hp_end_theft(core, pcpu);
    if (pcpu == last || !stolen)
        return;
    core->stolen &= ~hp_bit_of(last);
    core->stolen |= hp_bit_of(pcpu);
}

HP_RARE hp_u32 hp_drop_pcpu(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    const hp_u32 last = hp_pcpus(core) - 1u;
    hp_u32 ran;

    if (pcpu >= hp_pcpus(core) || last == 0)
        return HP_ERROR_PCPUS;
    hp_settle_now(core, now_ns);
    ran = hp_pcpu_of(core, pcpu)->grant.run;
    if (hp_reports_saved(core) && hp_is_vcpu(ran))
        hp_server_of(core, ran)->held_on = pcpu;
    hp_rename_pcpu(core, pcpu, 0, HP_PCPUS);
    if (pcpu != last) {
        hp_take_over(hp_pcpu_of(core, pcpu), hp_pcpu_of(core, last), core->now_ns);
        hp_rename_pcpu(core, last, pcpu, pcpu);
    }
    hp_rename_theft(core, last, pcpu);
    core->pcpus = last;
    core->due_ns = 0;
    hp_replan_all(core);
    return HP_OK;
}

HP_FN void hp_steal(struct hp_core *core, hp_u32 number, hp_u64 now_ns) {
    struct hp_pcpu *pcpu = hp_pcpu_of(core, number);

    HP_ASSERT(number < hp_pcpus(core));
    hp_settle_now(core, now_ns);
    if (hp_is_stolen(core, number))
        return;
    hp_hand_over(core, number, pcpu->grant.run, HP_NONE);
    hp_empty_grant(pcpu, core->now_ns);
    pcpu->grant.until_ns = HP_NEVER;
    hp_end_shares(core);
    core->stolen |= hp_bit_of(number);
    core->thefts++;
    hp_replan_all(core);
}

HP_FN void hp_return(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    HP_ASSERT(pcpu < hp_pcpus(core));
    hp_settle_now(core, now_ns);
    hp_end_theft(core, pcpu);
}

HP_FN void hp_hold(struct hp_core *core, hp_u32 vcpu, hp_u32 pcpu) {
    HP_ASSERT(hp_reports_saved(core) && hp_present(core, vcpu));
    hp_server_of(core, vcpu)->held_on = pcpu;
}

HP_FN void hp_saved(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    hp_settle(core, now_ns);
    hp_server_of(core, vcpu)->held_on = HP_NONE;
    core->suspects = hp_all_pcpus(core);
}

HP_RARE void hp_bind(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus) {
    hp_u64 *bound_to = &core->bound_to[HP_INDEX(vcpu, HP_VCPUS)];

    HP_ASSERT(hp_present(core, vcpu));
    core->bound -= *bound_to != 0;
    core->bound += pcpus != 0;
    *bound_to = pcpus;
    hp_replan_all(core);
}
