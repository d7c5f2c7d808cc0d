// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pcpus come and go while vcpus run, for good or for a while; and a host that takes its time to
 * switch says when a vcpu is off its pcpu.
 *
 * Pcpus are numbered without gaps. When one goes, the last one takes over its number, with the
 * grant that it has: the host renames it in the same way.
 */
#pragma once

#include "policy.h"
#include "vcpu.h"

/* From now on nobody runs or pays here. */
HP_FN void hp_empty_grant(struct hp_pcpu *slot, hp_u64 now_ns) {
    slot->grant.start_ns = now_ns;
    slot->grant.until_ns = now_ns;
    slot->grant.run = HP_NONE;
    slot->grant.pay = HP_NONE;
    slot->grant.also = HP_NONE;
    slot->grant.level = 0;
    slot->holder = HP_NONE;
    slot->effort = HP_NONE;
    slot->invalid_since_ns = HP_NEVER;
}

HP_FN void hp_clear_pcpu(struct hp_pcpu *slot, hp_u64 now_ns) {
    hp_empty_grant(slot, now_ns);
    HP_EACH_ROLE (role) {
        slot->last[role] = HP_NONE;
        slot->plan_keeps[role] = 0;
    }
    slot->must_repick = 0;
    slot->plan_new = 1;
    slot->plan_holder = HP_NONE;
    slot->plan_run = HP_NONE;
    slot->plan_pay = HP_NONE;
    slot->plan_also = HP_NONE;
    slot->plan_effort = HP_NONE;
}

HP_COLD hp_u32 hp_add_pcpu(struct hp_core *core, hp_u64 now_ns) {
    if (hp_pcpus(core) >= HP_PCPUS)
        return HP_ERROR_PCPUS;
    if (!hp_policy_legal(&core->policy, hp_pcpus(core) + 1u))
        return HP_ERROR_POLICY;
    hp_settle(core, now_ns);
    hp_clear_pcpu(hp_pcpu_of(core, hp_pcpus(core)), core->now_ns);
    core->pcpus++;
    hp_see_plain(core);
    hp_requeue_all(core);
    return HP_OK;
}

/* Vcpus that were last on one pcpu were last on another, and those held there are held on 'on'. */
HP_FN void hp_rename_pcpu(struct hp_core *core, hp_u32 from, hp_u32 to, hp_u32 on) {
    HP_FOR (vcpu, HP_VCPUS) {
        struct hp_server *server = hp_server_of(core, vcpu);

        if (!server->present)
            continue;
        server->last_pcpu = server->last_pcpu == from ? to : server->last_pcpu;
        server->held_on = server->held_on == from ? on : server->held_on;
    }
}

/* Gives a pcpu the grant and the history of another one; it has to pick again. */
HP_FN void hp_take_over(struct hp_pcpu *slot, const struct hp_pcpu *other, hp_u64 now_ns) {
    hp_clear_pcpu(slot, now_ns);
    slot->grant.until_ns = other->grant.until_ns;
    slot->invalid_since_ns = other->invalid_since_ns;
    slot->grant.run = other->grant.run;
    slot->grant.pay = other->grant.pay;
    slot->grant.also = other->grant.also;
    slot->grant.level = other->grant.level;
    slot->holder = other->holder;
    slot->effort = other->effort;
    HP_EACH_ROLE (role)
        slot->last[role] = other->last[role];
    hp_expire(slot, now_ns);
}

/* The pcpu is there to be granted again. */
HP_FN void hp_end_theft(struct hp_core *core, hp_u32 pcpu) {
    if (!hp_is_stolen(core, pcpu))
        return;
    core->stolen &= ~(1ull << (pcpu % 64u));
    core->thefts--;
    core->planned = 0;
    hp_see_plain(core);
}

/* A theft on the last pcpu is one on the pcpu whose number that gets, and that has none itself. */
HP_FN void hp_rename_theft(struct hp_core *core, hp_u32 last, hp_u32 pcpu) {
    const hp_u32 stolen = hp_is_stolen(core, last);

    hp_end_theft(core, pcpu);
    if (pcpu == last || !stolen)
        return;
    core->stolen &= ~(1ull << (last % 64u));
    core->stolen |= 1ull << (pcpu % 64u);
}

HP_COLD hp_u32 hp_drop_pcpu(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    const hp_u32 last = hp_pcpus(core) - 1u;
    hp_u32 ran;

    if (pcpu >= hp_pcpus(core) || hp_pcpus(core) == 1)
        return HP_ERROR_PCPUS;
    hp_settle(core, now_ns);
    ran = hp_pcpu_of(core, pcpu)->grant.run;
    if (hp_holds(core) && hp_is_vcpu(ran))
        hp_server_of(core, ran)->held_on = pcpu;
    hp_rename_pcpu(core, pcpu, 0, HP_PCPUS);
    if (pcpu != last) {
        hp_take_over(hp_pcpu_of(core, pcpu), hp_pcpu_of(core, last), core->now_ns);
        hp_rename_pcpu(core, last, pcpu, pcpu);
    }
    hp_rename_theft(core, last, pcpu);
    core->pcpus = last;
    hp_see_plain(core);
    hp_requeue_all(core);
    return HP_OK;
}

HP_FN void hp_steal(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    struct hp_pcpu *slot = hp_pcpu_of(core, pcpu);

    HP_ASSERT(pcpu < hp_pcpus(core));
    hp_settle(core, now_ns);
    if (hp_is_stolen(core, pcpu))
        return;
    hp_hand_over(core, pcpu, slot->grant.run, HP_NONE);
    hp_empty_grant(slot, core->now_ns);
    slot->grant.until_ns = HP_NEVER;
    core->share.vcpu = HP_NONE;
    core->share.planned = 0;
    core->stolen |= 1ull << (pcpu % 64u);
    core->thefts++;
    core->planned = 0;
    hp_see_plain(core);
}

HP_FN void hp_return(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    hp_settle(core, now_ns);
    hp_end_theft(core, pcpu);
}

HP_FN void hp_hold(struct hp_core *core, hp_u32 vcpu, hp_u32 pcpu) {
    HP_ASSERT(hp_holds(core) && hp_present(core, vcpu));
    hp_server_of(core, vcpu)->held_on = pcpu;
}

HP_COLD void hp_bind(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus) {
    hp_u64 *affinity = &core->affinity[HP_INDEX(vcpu, HP_VCPUS)];

    HP_ASSERT(hp_present(core, vcpu));
    core->bound -= *affinity != 0;
    core->bound += pcpus != 0;
    *affinity = pcpus;
    core->planned = 0;
}

HP_FN void hp_saved(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    hp_settle(core, now_ns);
    hp_server_of(core, vcpu)->held_on = HP_NONE;
    hp_only_pcpu(core)->plan_new = 1;
}
