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
HP_FN void hp_empty_grant(struct hp_seat *seat, hp_u64 now_ns) {
    seat->grant.start_ns = now_ns;
    seat->grant.until_ns = now_ns;
    seat->grant.run = HP_NONE;
    seat->grant.pay = HP_NONE;
    seat->grant.also = HP_NONE;
    seat->grant.level = 0;
    seat->holder = HP_NONE;
    seat->effort = HP_NONE;
    seat->wrong_from_ns = HP_NEVER;
}

HP_FN void hp_clear_seat(struct hp_seat *seat, hp_u64 now_ns) {
    hp_empty_grant(seat, now_ns);
    HP_EACH_ROLE (role) {
        seat->last[role] = HP_NONE;
        seat->plan_keeps[role] = 0;
    }
    seat->stale = 0;
    seat->plan_new = 1;
    seat->plan_holder = HP_NONE;
    seat->plan_run = HP_NONE;
    seat->plan_pay = HP_NONE;
    seat->plan_also = HP_NONE;
    seat->plan_effort = HP_NONE;
}

/* One more pcpu, which idles until its first pick. Its number is that of pcpus before. */
HP_COLD hp_u32 hp_add_pcpu(struct hp_core *core, hp_u64 now_ns) {
    if (hp_pcpus(core) >= HP_PCPUS)
        return HP_ERROR_PCPUS;
    if (!hp_policy_legal(&core->policy, hp_pcpus(core) + 1u))
        return HP_ERROR_POLICY;
    hp_settle(core, now_ns);
    hp_clear_seat(hp_seat_of(core, hp_pcpus(core)), core->now_ns);
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

/* Gives a seat the grant and the history of another one; it has to pick again. */
HP_FN void hp_take_seat(struct hp_seat *seat, const struct hp_seat *other, hp_u64 now_ns) {
    hp_clear_seat(seat, now_ns);
    seat->grant.until_ns = other->grant.until_ns;
    seat->wrong_from_ns = other->wrong_from_ns;
    seat->grant.run = other->grant.run;
    seat->grant.pay = other->grant.pay;
    seat->grant.also = other->grant.also;
    seat->grant.level = other->grant.level;
    seat->holder = other->holder;
    seat->effort = other->effort;
    HP_EACH_ROLE (role)
        seat->last[role] = other->last[role];
    hp_expire(seat, now_ns);
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

/*
 * This pcpu is gone, whoever ran there does not any more, and the last pcpu has its number now.
 * The only one stays: a lock domain without pcpus is none.
 *
 * Where contexts take time to save, that of who ran there is on a pcpu without a number: nobody is
 * granted the vcpu until hp_saved. A host that never switched to it has nothing to save and says
 * so at once.
 */
HP_COLD hp_u32 hp_drop_pcpu(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    const hp_u32 last = hp_pcpus(core) - 1u;
    hp_u32 ran;

    if (pcpu >= hp_pcpus(core) || hp_pcpus(core) == 1)
        return HP_ERROR_PCPUS;
    hp_settle(core, now_ns);
    ran = hp_seat_of(core, pcpu)->grant.run;
    if (hp_holds(core) && hp_is_vcpu(ran))
        hp_server_of(core, ran)->held_on = pcpu;
    hp_rename_pcpu(core, pcpu, 0, HP_PCPUS);
    if (pcpu != last) {
        hp_take_seat(hp_seat_of(core, pcpu), hp_seat_of(core, last), core->now_ns);
        hp_rename_pcpu(core, last, pcpu, pcpu);
    }
    hp_rename_theft(core, last, pcpu);
    core->pcpus = last;
    hp_see_plain(core);
    hp_requeue_all(core);
    return HP_OK;
}

/*
 * From now on this pcpu runs what nobody granted, and nobody pays for that: an interrupt, a
 * tasklet, threads above the servers.
 *
 * Who ran there is charged up to now. It keeps its budget for what the other pcpus have left, or
 * for later; refills come by the clock. A share ends. Where contexts take time to save, who ran
 * there is held until hp_saved, or until it is granted this pcpu again.
 */
HP_FN void hp_steal(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    struct hp_seat *seat = hp_seat_of(core, pcpu);

    HP_ASSERT(pcpu < hp_pcpus(core));
    hp_settle(core, now_ns);
    if (hp_is_stolen(core, pcpu))
        return;
    hp_hand_over(core, pcpu, seat->grant.run, HP_NONE);
    hp_empty_grant(seat, core->now_ns);
    seat->grant.until_ns = HP_NEVER;
    core->share.vcpu = HP_NONE;
    core->share.planned = 0;
    core->stolen |= 1ull << (pcpu % 64u);
    core->thefts++;
    core->planned = 0;
    hp_see_plain(core);
}

/* The pcpu is back: nobody runs there before its next pick, which hp_kicks asks for if need be. */
HP_FN void hp_return(struct hp_core *core, hp_u32 pcpu, hp_u64 now_ns) {
    hp_settle(core, now_ns);
    hp_end_theft(core, pcpu);
}

/* The vcpu is on this pcpu, whatever the grants say, until hp_saved. */
HP_FN void hp_hold(struct hp_core *core, hp_u32 vcpu, hp_u32 pcpu) {
    HP_ASSERT(hp_holds(core) && hp_present(core, vcpu));
    hp_server_of(core, vcpu)->held_on = pcpu;
}

/*
 * The vcpu may run on these pcpus only, as a mask of their numbers. None, or none that is here, is
 * no bound at all. When pcpus come and go, and numbers change, the host says all of it again.
 */
HP_COLD void hp_bind(struct hp_core *core, hp_u32 vcpu, hp_u64 pcpus) {
    hp_u64 *affinity = &core->affinity[HP_INDEX(vcpu, HP_VCPUS)];

    HP_ASSERT(hp_present(core, vcpu));
    core->bound -= *affinity != 0;
    core->bound += pcpus != 0;
    *affinity = pcpus;
    core->planned = 0;
}

/*
 * The vcpu's context is off the pcpu that it ran on: another may have it now. One that is the only
 * one left has to look at its plan again, though that is as it was (hp_kick_alone).
 */
HP_FN void hp_saved(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    hp_settle(core, now_ns);
    hp_server_of(core, vcpu)->held_on = HP_NONE;
    hp_only_seat(core)->plan_new = 1;
}
