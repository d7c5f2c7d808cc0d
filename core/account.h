// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The account of one server: what a nanosecond costs it, what happens when nothing is left, and
 * who has to watch for its next refill. The budget rules are written in these verbs.
 */
#pragma once

#include "policy.h"
#include "queue.h"
#include "wide.h"

/*
 * Whether the server's next refill can change a grant: it pays whether it has work or not, or
 * it has work. Any other server can be caught up when work arrives for it.
 */
HP_FN hp_u32 hp_needs_refill_timer(struct hp_core *core, hp_u32 vcpu) {
    return hp_server_of(core, vcpu)->runnable || hp_has(core, HP_PAYS_IDLE);
}

/* When somebody must look after the server, if anybody has to that does not look at those ready. */
HP_FN hp_u64 hp_due_ns(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);

    if (!hp_needs_refill_timer(core, vcpu))
        return server->change_at_ns;
    if (server->remaining_ns > 0) {
        if (hp_ready_is_due(core))
            return HP_NEVER;
        if (hp_has(core, HP_WHEN_EMPTY))
            return server->change_at_ns;
    }
    return hp_least(server->deadline_ns, server->change_at_ns);
}

HP_FN void hp_requeue_due(struct hp_core *core, hp_u32 vcpu) {
    hp_queue_put(core, &core->due, vcpu, hp_due_ns(core, vcpu));
}

/* Nobody waits for this server any more, and it does not pay. */
HP_RARE void hp_delist(struct hp_core *core, hp_u32 vcpu) {
    hp_queue_put(core, &core->ready, vcpu, HP_NEVER);
    hp_queue_put(core, &core->due, vcpu, hp_server_of(core, vcpu)->change_at_ns);
}

/* Whether this server may go on at a lower level when its budget is gone. */
HP_FN hp_u32 hp_may_drop(const struct hp_core *core, const struct hp_server *server) {
    return hp_has(core, HP_HAS_LEVELS) && (server->flags & HP_EXTRA);
}

/*
 * Called whenever 'remaining' has passed zero in either direction, or level or deadline have
 * changed: every rule comes here, on many paths.
 */
HP_ONCE HP_NOTHING hp_requeue(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu) {
    if (HP_ONE_POLICY || !core->swapping) {
        hp_requeue_due(core, vcpu);
        hp_requeue_ready(core, vcpu);
    }
    HP_DONE();
}

/* Puts everybody where they stand: parameters, pcpus or rules have changed. */
HP_RARE void hp_requeue_all(struct hp_core *core) {
    HP_FOR (vcpu, HP_VCPUS) {
        if (!hp_server_of(core, vcpu)->present)
            continue;
        if (hp_server_of(core, vcpu)->flags & HP_BEST_EFFORT)
            hp_requeue_effort(core, vcpu);
        else
            hp_requeue(core, vcpu);
    }
    core->effort_waits = 0;
    core->planned = 0;
}

/*
 * Extra time as RTDS gives it: the vcpu drops one level and has a fresh budget there. 'over' is
 * what was used past the end of the level before; it is paid from the new one, and from as many
 * below it as it takes.
 */
HP_RARE void hp_drop_level(struct hp_server *server, hp_u64 over_ns) {
    hp_u64 levels = 1;

    if (over_ns >= server->budget_ns) {
        levels += hp_parts(over_ns, server->budget_ns);
        over_ns = hp_rest(over_ns, server->budget_ns);
    }
    server->level = (hp_u32)hp_least(server->level + levels, HP_NONE);
    server->extra_ns = (hp_i64)(server->budget_ns - over_ns);
}

HP_FN void hp_deplete(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (hp_may_drop(core, server) && server->level > 0) {
        hp_drop_level(server, (hp_u64)-server->extra_ns);
    } else if (hp_may_drop(core, server)) {
        hp_drop_level(server, (hp_u64)-server->remaining_ns);
        server->remaining_ns = 0;
    }
    if (server->funded)
        HP_NOTE(core, HP_NOTE_DEPLETE, core->now_ns, vcpu, 0);
    hp_requeue(core, vcpu);
}

/* The same where there is no extra time. Then who has to watch for the refill is known already,
 * unless that depends on whether there is budget. */
HP_SHARED void hp_use_up(struct hp_core *core, hp_u32 vcpu) {
    const hp_u32 funded = hp_server_of(core, vcpu)->funded;

    if (HP_SHORT_WAY(!hp_has(core, HP_WHEN_EMPTY) && !hp_ready_is_due(core)))
        hp_dequeue(core, vcpu);
    else
        hp_requeue(core, vcpu);
    if (funded)
        HP_NOTE(core, HP_NOTE_DEPLETE, core->now_ns, vcpu, 0);
}

/* Charges a span of time to the level that the server is on, which may be used up by that. */
HP_RARE void hp_spend_level(struct hp_core *core, hp_u32 vcpu, hp_u64 span_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (span_ns == 0)
        return;
    if (server->level > 0) {
        server->extra_ns -= (hp_i64)span_ns;
        if (server->extra_ns > 0)
            return;
    } else {
        server->remaining_ns -= (hp_i64)span_ns;
        if (server->remaining_ns > 0)
            return;
    }
    hp_deplete(core, vcpu);
}

/* Charges a span of time. */
HP_FN void hp_spend(struct hp_core *core, hp_u32 vcpu, hp_u64 span_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_i64 left_ns = server->remaining_ns - (hp_i64)span_ns;

    if (server->level == 0 && left_ns > 0) {
        server->remaining_ns = left_ns;
    } else if (hp_has(core, HP_HAS_LEVELS)) {
        hp_spend_level(core, vcpu, span_ns);
    } else if (span_ns > 0) {
        server->remaining_ns = left_ns;
        hp_use_up(core, vcpu);
    }
}

/* The parameters that hp_update left take effect; the order is mended once all is charged. */
HP_RARE void hp_apply_params(struct hp_core *core, struct hp_server *server) {
    if (server->change_at_ns == HP_NEVER)
        return;
    core->planned = 0;
    server->priority = server->new_priority;
    server->period_ns = server->new_period_ns;
    server->budget_ns = server->new_budget_ns;
    server->flags = server->new_flags;
    server->change_at_ns = HP_NEVER;
}

/*
 * What remains after so many refills, one at least. A debt is paid back and never forgiven: after
 * a pick that came late it may take more than one.
 */
HP_FN hp_i64 hp_after_refills(hp_i64 remaining_ns, hp_u64 budget_ns, hp_u64 refills) {
    if (remaining_ns >= 0)
        return (hp_i64)budget_ns;
    /* refills * budget <= refills * period <= now + period: no overflow */
    remaining_ns += (hp_i64)hp_times(refills, budget_ns);
    return remaining_ns > (hp_i64)budget_ns ? (hp_i64)budget_ns : remaining_ns;
}

/* Closes a refill: back at the server's own level, and eligible if anything remains. */
HP_FN void hp_refilled(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);

    HP_ASSERT(server->remaining_ns <= hp_most_held(core, server));
    server->level = 0;
    server->extra_ns = 0;
    HP_NOTE(core, HP_NOTE_REPLENISH, core->now_ns, vcpu, server->remaining_ns);
    hp_requeue(core, vcpu);
}

/* What a share (slack/weights.h) costs one that has 'part' of 'whole' < 2^62, in 1/1024. */
HP_FN hp_u64 hp_share_cost(hp_u64 whole, hp_u64 part) {
    const hp_u32 shift = whole >> 53 ? 10u : 0u;

    return hp_parts((whole >> shift) << 10, hp_most(part >> shift, 1u));
}

/* The vcpu takes part in shares as if it never had. */
HP_FN void hp_forget_shares(struct hp_server *server) {
    server->lost_slice_key = 0;
    server->weighted_usage = 0;
}

/* Its share, if it has one, is over. */
HP_FN void hp_end_share(struct hp_core *core, hp_u32 vcpu) {
    if (core->share.vcpu == vcpu)
        core->share.vcpu = HP_NONE;
}

/* What most rules have beside the account: nothing to do when work arrives, ... */
HP_FN void hp_no_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    (void)core, (void)vcpu, (void)now_ns;
}

/* ... no account of its own to start a server with, ... */
HP_FN void hp_plain_start(struct hp_core *core, hp_u32 vcpu, hp_i64 left_ns, hp_u64 refill_ns) {
    (void)core, (void)vcpu, (void)left_ns, (void)refill_ns;
}

/* ... a refill at the deadline that gives everything back, ... */
HP_FN hp_u64 hp_plain_settled_at(struct hp_core *core, hp_u32 vcpu) {
    return hp_server_of(core, vcpu)->deadline_ns;
}

/* ... and no law of its own. */
HP_FN hp_u32 hp_plain_holds(struct hp_core *core, hp_u32 vcpu) {
    (void)core, (void)vcpu;
    return 1;
}

/* What the level that the server is on still has. */
HP_FN hp_i64 hp_left(const struct hp_server *server) {
    return server->level > 0 ? server->extra_ns : server->remaining_ns;
}
