// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Weights (the extra time of Xen's SEDF): time that nobody with budget asks for goes in shares of
 * 500 us. Nobody pays for a share, and it leaves no trace in the order of the servers.
 *
 * First come those with a claim, which is made when a slice is lost (slice-once: a wake before the
 * deadline): the one that lost the largest part of its period first. A claim is settled by the
 * share that is given for it. Then come, by score, best-effort vcpus and servers that may have
 * extra time, the lowest score first. Among equals it is the lower number. A share by score takes
 * the score of the one that gets it from all that wait with it, and makes its own what a share
 * costs it: period / budget of a server, 128 / weight of a best-effort vcpu, in units of 1/1024. So
 * in the long run each gets shares in proportion to its weight: B of weight 128, whose shares cost
 * 1024, and C of weight 64, whose shares cost 2048, have B, C, B, B, C, B, B, C, ... A claim of 3
 * ms of 10 ms that were lost, 3413, comes before one of 1 ms of 10 ms, 10240, and both before all
 * scores.
 *
 * A share begins only if no waiting server's period begins before its end: a shorter gap is idle.
 * One that follows another begins where that ended, so that late picks do not add up.
 * It ends early when its vcpu has no work any more, when somebody with budget has, and for one
 * with a claim that comes before what the share was given for.
 */
#pragma once

#include "none.h"

/* Whether a vcpu takes part when it has work: by a claim, or by weight. */
HP_FN hp_u32 hp_wants_share(const struct hp_server *server) {
    return server->claim != HP_NEVER || (server->params.flags & (HP_BEST_EFFORT | HP_EXTRA));
}

/* The vcpu takes part in shares as if it never had. */
HP_FN void hp_forget_shares(struct hp_server *server) {
    server->claim = HP_NEVER;
    server->score = 0;
}

/* Nobody has a share, and none is planned. */
HP_FN void hp_end_shares(struct hp_core *core) {
    if (HP_SOME_TRAITS & HP_HAS_SHARES) {
        core->share.vcpu = HP_NONE;
        core->share.planned = 0;
    }
}

/* Its share, if it has one, is over. */
HP_FN void hp_end_share(struct hp_core *core, hp_u32 vcpu) {
    if (hp_has_share(core, vcpu))
        core->share.vcpu = HP_NONE;
}

/* Whether vcpu a has a share before b, which has the lower number. */
HP_FN hp_u32 hp_shares_before(struct hp_core *core, hp_u32 a, hp_u32 b) {
    const struct hp_server *left = hp_server_of(core, a);
    const struct hp_server *right = hp_server_of(core, b);

    if (left->claim != right->claim)
        return left->claim < right->claim;
    return left->claim == HP_NEVER && left->score < right->score;
}

/* Who has work and is first to get a share, or HP_NONE. 'gap' is when the first period begins of a
 * server that waits for it, as all with work do, or HP_NEVER. */
HP_STEP hp_u32 hp_share_first(struct hp_core *core, hp_u64 *gap_ns) {
    hp_u64 end_ns = HP_FORGET(HP_NEVER);
    hp_u32 best = HP_FORGET(HP_NONE);

    HP_FOR (vcpu, core->numbers) {
        const struct hp_server *server = hp_server_of(core, vcpu);

        if (server->runnable) {
            if (hp_wants_share(server) && (best == HP_NONE || hp_shares_before(core, vcpu, best)))
                best = vcpu;
            if (!hp_is_effort(server))
                end_ns = hp_min(end_ns, server->deadline_ns);
        }
        best = HP_FORGET(best);
        end_ns = HP_FORGET(end_ns);
    }
    *gap_ns = end_ns;
    return best;
}

/* When a share that is given now begins: where the one before it ended, however late that is. */
HP_FN hp_u64 hp_share_start(const struct hp_core *core) {
    const struct hp_share *share = &core->share;

    if (share->vcpu == HP_NONE || core->now_ns < share->until_ns
        || core->now_ns - share->until_ns >= HP_SHARE_NS)
        return core->now_ns;
    return share->until_ns;
}

/* Plans who has the only pcpu if no server has: the share goes on, another begins, or neither. */
HP_RARE void hp_plan_share(struct hp_core *core) {
    struct hp_plan *plan = &hp_pcpu_of(core, 0)->plan;
    struct hp_share *share = &core->share;
    hp_u64 gap_ns;
    hp_u32 vcpu;

    HP_ASSERT(hp_pcpus(core) == 1);
    share->planned = 0;
    if (plan->run != HP_NONE || hp_stolen(core))
        return;
    if (share->vcpu != HP_NONE && core->now_ns < share->until_ns)
        plan->effort = share->vcpu;
    vcpu = hp_share_first(core, &gap_ns);
    if (vcpu == HP_NONE || gap_ns - hp_share_start(core) < HP_SHARE_NS)
        return;
    if (plan->effort == HP_NONE || hp_server_of(core, vcpu)->claim < share->key) {
        plan->effort = vcpu;
        share->planned = 1;
    }
}

/* The one that has got a share pays for it: with its claim; else its score
 * is taken off all that take part, and it gets what a share costs it. */
HP_STEP void hp_pay_share(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 score = HP_FORGET(server->score);
    const struct hp_params *params = &server->params;

    HP_ASSERT(server->runnable && hp_wants_share(server));
    core->share.key = server->claim;
    server->claim = HP_NEVER;
    if (core->share.key != HP_NEVER)
        return;
    HP_FOR (number, core->numbers) {
        struct hp_server *other = hp_server_of(core, number);

        if (other->runnable && hp_wants_share(other))
            other->score -= hp_min(other->score, score);
    }
    server->score = hp_is_effort(server)
                        ? hp_share_cost(HP_WEIGHT_WHOLE, hp_max(params->weight, 1u))
                        : hp_share_cost(params->period_ns, params->budget_ns);
}

/* The planned grant is in force: a share begins, goes on, or has ended. */
HP_RARE void hp_weights_commit(struct hp_core *core, hp_u32 vcpu) {
    struct hp_share *share = &core->share;

    if (vcpu != HP_NONE && share->planned) {
        share->until_ns = hp_share_start(core) + HP_SHARE_NS;
        share->planned = 0;
        hp_pay_share(core, vcpu);
    }
    share->vcpu = vcpu;
}

/* Who runs pays, but nobody for a share. */
HP_FN hp_u32 hp_weights_pays(const struct hp_pcpu *pcpu) {
    const struct hp_grant *grant = &pcpu->grant;

    return grant->pay == (pcpu->effort == HP_NONE ? grant->run : HP_NONE) && grant->also == HP_NONE;
}
