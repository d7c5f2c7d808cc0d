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
 * in the long run each gets shares in proportion to its weight.
 *
 * A share begins only if no waiting server's period begins before its end: a shorter gap is idle.
 * One that follows another begins where that ended, so that late picks do not add up.
 * It ends early when its vcpu has no work any more, when somebody with budget has, and for one
 * with a claim that comes before what the share was given for.
 */
#pragma once

#include "none.h"

/* Whether this vcpu takes part: by a claim, or by its score. */
HP_FN hp_u32 hp_wants_share(const struct hp_server *server) {
    return server->lost_slice_key > 0 || (server->flags & (HP_BEST_EFFORT | HP_EXTRA));
}

HP_FN hp_u64 hp_lost_slice_key(const struct hp_server *server) {
    return server->lost_slice_key > 0 ? server->lost_slice_key : HP_NEVER;
}

/* Whether vcpu a has a share before b, which has the lower number or is nobody. */
HP_FN hp_u32 hp_shares_before(struct hp_core *core, hp_u32 a, hp_u32 b) {
    const struct hp_server *left = hp_server_of(core, a);
    const struct hp_server *right;

    if (b == HP_NONE)
        return 1;
    right = hp_server_of(core, b);
    if (hp_lost_slice_key(left) != hp_lost_slice_key(right))
        return hp_lost_slice_key(left) < hp_lost_slice_key(right);
    if (left->lost_slice_key == 0 && left->weighted_usage != right->weighted_usage)
        return left->weighted_usage < right->weighted_usage;
    return a < b;
}

/* Who has work and is first to get a share, or HP_NONE. */
HP_STEP hp_u32 hp_share_first(struct hp_core *core) {
    hp_u32 best = HP_FORGET(HP_NONE);
    hp_u32 vcpu = HP_FORGET(0u);

    HP_FOR (step, HP_VCPUS) {
        vcpu = hp_next_runnable(core, vcpu);
        if (vcpu == HP_NONE)
            break;
        if (hp_wants_share(hp_server_of(core, vcpu)) && hp_shares_before(core, vcpu, best))
            best = vcpu;
        vcpu = HP_FORGET(vcpu + 1u);
        best = HP_FORGET(best);
    }
    return best;
}

/* When the first period begins of a server that waits for it; all with work do, or HP_NEVER. */
HP_STEP hp_u64 hp_gap_end(struct hp_core *core) {
    hp_u64 end_ns = HP_FORGET(HP_NEVER);
    hp_u32 next = HP_FORGET(0u);

    HP_FOR (step, HP_VCPUS) {
        const struct hp_server *server;

        next = hp_next_runnable(core, next);
        if (next == HP_NONE)
            break;
        server = hp_server_of(core, next);
        if (!(server->flags & HP_BEST_EFFORT))
            end_ns = hp_least(end_ns, server->deadline_ns);
        next = HP_FORGET(next + 1u);
        end_ns = HP_FORGET(end_ns);
    }
    return end_ns;
}

/* When a share that is given now begins: where the one before it ended, however late that is. */
HP_FN hp_u64 hp_share_start(const struct hp_core *core) {
    const struct hp_share *share = &core->share;

    if (share->vcpu == HP_NONE || core->now_ns < share->until_ns
        || core->now_ns - share->until_ns >= HP_SHARE_NS)
        return core->now_ns;
    return share->until_ns;
}

/* Plans who has the pcpu if no server has: the share goes on, another one begins, or neither. */
HP_RARE void hp_weights_use(struct hp_core *core, struct hp_pcpu *slot) {
    struct hp_share *share = &core->share;
    hp_u32 vcpu;

    share->planned = 0;
    if (slot->plan_run != HP_NONE || hp_stolen(core))
        return;
    if (share->vcpu != HP_NONE && core->now_ns < share->until_ns)
        slot->plan_effort = share->vcpu;
    vcpu = hp_share_first(core);
    if (vcpu == HP_NONE || hp_gap_end(core) - hp_share_start(core) < HP_SHARE_NS)
        return;
    if (slot->plan_effort == HP_NONE || hp_lost_slice_key(hp_server_of(core, vcpu)) < share->key) {
        slot->plan_effort = vcpu;
        share->planned = 1;
    }
}

/* All that take part with this one pay its score, and it has what a share costs it. */
HP_STEP void hp_weigh(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 score = HP_FORGET(server->weighted_usage);
    hp_u32 next = HP_FORGET(0u);

    HP_FOR (step, HP_VCPUS) {
        struct hp_server *other;

        next = hp_next_runnable(core, next);
        if (next == HP_NONE)
            break;
        other = hp_server_of(core, next);
        if (hp_wants_share(other))
            other->weighted_usage =
                other->weighted_usage > score ? other->weighted_usage - score : 0;
        next = HP_FORGET(next + 1u);
    }
    if (server->flags & HP_BEST_EFFORT)
        server->weighted_usage = hp_share_cost(HP_WEIGHT_WHOLE, hp_most(server->weight, 1u));
    else
        server->weighted_usage = hp_share_cost(server->period_ns, server->budget_ns);
}

/* The one that has got a share pays for it: with its claim, or by its score. */
HP_FN void hp_settle_share(struct hp_core *core, hp_u32 vcpu) {
    core->share.key = hp_lost_slice_key(hp_server_of(core, vcpu));
    if (core->share.key == HP_NEVER)
        hp_weigh(core, vcpu);
    hp_server_of(core, vcpu)->lost_slice_key = 0;
}

/* The planned grant is in force: a share begins, goes on, or has ended. */
HP_RARE void hp_weights_commit(struct hp_core *core, hp_u32 vcpu) {
    struct hp_share *share = &core->share;

    if (vcpu != HP_NONE && share->planned) {
        share->until_ns = hp_share_start(core) + HP_SHARE_NS;
        share->planned = 0;
        hp_settle_share(core, vcpu);
    }
    share->vcpu = vcpu;
}

/* Who runs pays, but nobody for a share. */
HP_FN hp_u32 hp_weights_pays(const struct hp_pcpu *slot) {
    const struct hp_grant *grant = &slot->grant;

    return grant->pay == (slot->effort == HP_NONE ? grant->run : HP_NONE) && grant->also == HP_NONE;
}
