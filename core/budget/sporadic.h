// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sporadic rule: what was used comes back one period after the activation that used it
 * (Sprunt, Sha, Lehoczky 1989, as corrected by Stanovich, Baker, Wang, Harbour, RTAS 2010).
 *
 * A server has a queue of refills (time, amount), in order of time; the amounts always add up
 * to the budget. The head is usable once its time has come, and what remains is its amount.
 *
 *  - Work arrives and there was none: if the head is usable, the activation starts now, so the
 *    head's time becomes now. Refills that come due before the head could be used up join it.
 *  - Use: the head's amount falls and its time advances by what is used, and as much is added
 *    to the tail for one period later. Since the head's time moves with the use and not with
 *    the clock, a preemption in between does not split an activation.
 *  - An activation lasts at most one period: a head that was not used up for so long (the pcpu
 *    was overbooked) starts anew when it is used, as if the work had arrived then, so that no
 *    backlog of budget builds up.
 *  - A new refill that comes due before the tail could be used up joins the tail; so it does
 *    not matter into how many pieces a charge is cut. When the queue is full it joins the tail
 *    at its own, later time: that can only delay.
 *  - A head that is used up leaves; the next one is the head, usable if its time has come.
 *  - An overrun, because a pick came late, uses up the refills that follow, in order.
 *
 * A server of 3 ms in 10 ms with one refill, (0, 3), gets work at 2 ms: its head is (2, 3), its
 * deadline 12 ms. After [2, 3) the head is (3, 2), and (12, 1) comes back. Kept off the pcpu until
 * 5 ms, it runs in [5, 7): (13, 2) would come back, which joins (12, 1): (12, 3). So the preemption
 * does not count. Had it blocked at 3 ms and got work again at 6 ms, the head would be (6, 2), its
 * deadline 16 ms, and after [6, 8) there were (12, 1) and (16, 2).
 *
 * The deadline, for EDF, is one period after the activation (or after the head became usable)
 * and does not move with use. The deadline of a depleted server is its next refill.
 */
#pragma once

#include "../account.h"

/*
 * No refill comes later than this, which no clock reaches: an overrun puts refills off by a period
 * for each budget, and much of it under a short budget in a long period would be past the last
 * number there is.
 */
#define HP_LATEST_NS (HP_TIME_MAX + (HP_TIME_MAX - 1u))

/* The i-th refill in the queue, the head being the 0th. */
HP_FN struct hp_refill *hp_refill_of(struct hp_core *core, hp_u32 vcpu, hp_u32 i) {
    hp_u32 slot = (hp_server_of(core, vcpu)->refill_head + i) % HP_REFILLS;

    return &core->refill[HP_INDEX(vcpu * HP_REFILLS + slot, HP_VCPUS * HP_REFILLS)];
}

HP_FN struct hp_refill *hp_refill_tail(struct hp_core *core, hp_u32 vcpu) {
    return hp_refill_of(core, vcpu, hp_server_of(core, vcpu)->refill_count - 1u);
}

HP_FN void hp_refill_push(struct hp_core *core, hp_u32 vcpu, hp_u64 time_ns, hp_u64 amount_ns) {
    struct hp_refill *slot;

    HP_ASSERT(hp_server_of(core, vcpu)->refill_count < HP_REFILLS);
    hp_server_of(core, vcpu)->refill_count++;
    slot = hp_refill_tail(core, vcpu);
    slot->time_ns = time_ns;
    slot->amount_ns = amount_ns;
}

HP_FN void hp_refill_pop(struct hp_core *core, hp_u32 vcpu) {
    struct hp_server *server = hp_server_of(core, vcpu);

    HP_ASSERT(server->refill_count > 0);
    server->refill_head = (server->refill_head + 1u) % HP_REFILLS;
    server->refill_count--;
}

/*
 * Adds what was used to the end of the queue. A head that is being used is not joined, and
 * counts as there until all of it is used: so a queue is full whatever the pieces of a charge.
 */
HP_FN void hp_refill_append(struct hp_core *core, hp_u32 vcpu, hp_u64 time_ns, hp_u64 amount_ns,
                            hp_u32 head_stays) {
    const hp_u32 count = hp_server_of(core, vcpu)->refill_count;
    struct hp_refill *tail;

    if (count == 0) {
        hp_refill_push(core, vcpu, time_ns, amount_ns);
        return;
    }
    tail = hp_refill_tail(core, vcpu);
    if (count > head_stays && time_ns <= tail->time_ns + tail->amount_ns) {
        tail->amount_ns += amount_ns;
    } else if (count - head_stays == HP_REFILLS - 1u) {
        tail->amount_ns += amount_ns;
        tail->time_ns = time_ns;
    } else {
        hp_refill_push(core, vcpu, time_ns, amount_ns);
    }
}

/* Joins to the head what comes due before the head could be used up. */
HP_FN void hp_refill_join_head(struct hp_core *core, hp_u32 vcpu) {
    HP_FOR (i, HP_REFILLS) {
        struct hp_refill *head = hp_refill_of(core, vcpu, 0);
        struct hp_refill *next = hp_refill_of(core, vcpu, 1);

        if (hp_server_of(core, vcpu)->refill_count < 2u)
            break;
        if (next->time_ns > head->time_ns + head->amount_ns)
            break;
        next->time_ns = head->time_ns;
        next->amount_ns += head->amount_ns;
        hp_refill_pop(core, vcpu);
    }
}

/* Takes the account from the queue: what is usable at 'now'. */
HP_FN void hp_sporadic_account(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const struct hp_refill *head = hp_refill_of(core, vcpu, 0);

    if (head->time_ns <= now_ns) {
        server->remaining_ns = (hp_i64)head->amount_ns;
        server->deadline_ns = head->time_ns + server->params.period_ns;
    } else {
        server->remaining_ns = 0;
        server->deadline_ns = head->time_ns;
    }
}

/* Empties the queue and gives the server 'left' now and the rest of its budget at 'rest_at'. */
HP_RARE void hp_sporadic_fill(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns, hp_u64 left_ns,
                              hp_u64 rest_at_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    HP_ASSERT(left_ns <= server->params.budget_ns);
    server->refill_head = 0;
    server->refill_count = 0;
    if (left_ns > 0)
        hp_refill_push(core, vcpu, now_ns, left_ns);
    if (left_ns < server->params.budget_ns)
        hp_refill_append(core, vcpu, rest_at_ns, server->params.budget_ns - left_ns, 0);
    hp_sporadic_account(core, vcpu, now_ns);
}

/* When all that has been used so far will have come back: nothing is owed from then on. */
HP_FN hp_u64 hp_sporadic_settled_at(struct hp_core *core, hp_u32 vcpu) {
    return hp_refill_tail(core, vcpu)->time_ns;
}

/* What has come back by now, whether or not it is the head's. */
HP_FN hp_u64 hp_sporadic_usable(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    hp_u64 usable_ns = HP_FORGET(0ull);

    HP_FOR (i, HP_REFILLS) {
        const struct hp_refill *refill = hp_refill_of(core, vcpu, i);

        if (i >= hp_server_of(core, vcpu)->refill_count || refill->time_ns > now_ns)
            break;
        usable_ns = HP_FORGET(usable_ns + refill->amount_ns);
    }
    return usable_ns;
}

HP_RARE void hp_sporadic_catch_up(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (server->change_at_ns <= now_ns) {
        const hp_u64 at_ns = server->change_at_ns;
        const hp_u64 usable_ns = hp_sporadic_usable(core, vcpu, at_ns);

        hp_apply_params(core, server);
        hp_sporadic_fill(core, vcpu, at_ns, hp_min(usable_ns, server->params.budget_ns),
                         at_ns + server->params.period_ns);
        hp_refilled(core, vcpu);
    }
    if (server->remaining_ns > 0 || hp_refill_of(core, vcpu, 0)->time_ns > now_ns)
        return;
    hp_sporadic_account(core, vcpu, now_ns);
    hp_refilled(core, vcpu);
}

/* An activation that is a whole period old by the time it is used starts anew. */
HP_FN void hp_refill_renew(struct hp_core *core, hp_u32 vcpu, hp_u64 used_at_ns) {
    struct hp_refill *head = hp_refill_of(core, vcpu, 0);

    if (head->time_ns + hp_server_of(core, vcpu)->params.period_ns > used_at_ns)
        return;
    head->time_ns = used_at_ns;
    hp_refill_join_head(core, vcpu);
}

/* A time that much later, if a clock can get there. */
HP_FN hp_u64 hp_later(hp_u64 time_ns, hp_u64 by_ns) {
    return hp_min(time_ns + by_ns, HP_LATEST_NS);
}

/* Uses up every refill this many times: each comes back as many periods later. */
HP_FN void hp_sporadic_use_rounds(struct hp_core *core, hp_u32 vcpu, hp_u64 rounds) {
    const struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u64 most = hp_parts(HP_LATEST_NS, server->params.period_ns);
    const hp_u64 by_ns = hp_times(hp_min(rounds, most), server->params.period_ns);

    HP_FOR (i, HP_REFILLS) {
        if (i >= server->refill_count)
            break;
        hp_refill_of(core, vcpu, i)->time_ns =
            hp_later(hp_refill_of(core, vcpu, i)->time_ns, by_ns);
    }
}

/* Uses of the head, and sees that it comes back. Returns whether the head is another one now. */
HP_FN hp_u32 hp_sporadic_use_head(struct hp_core *core, hp_u32 vcpu, hp_u64 used_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    struct hp_refill *head = hp_refill_of(core, vcpu, 0);
    const hp_u64 back_ns = hp_later(head->time_ns, server->params.period_ns);
    const hp_u32 stays = used_ns < head->amount_ns;

    HP_ASSERT(used_ns > 0 && used_ns <= head->amount_ns);
    head->amount_ns -= used_ns;
    head->time_ns = hp_later(head->time_ns, used_ns);
    if (!stays)
        hp_refill_pop(core, vcpu);
    hp_refill_append(core, vcpu, back_ns, used_ns, stays);
    if (!stays)
        server->deadline_ns = hp_refill_of(core, vcpu, 0)->time_ns + server->params.period_ns;
    return !stays;
}

/*
 * Moves what is used from 'at' on from the head of the queue to its end. Returns whether the
 * head is another one now; the deadline is then the one that it has if it is usable.
 */
HP_ONCE hp_u32 hp_sporadic_use(struct hp_core *core HP_NOT_NULL, hp_u32 vcpu, hp_u64 at_ns,
                               hp_u64 span_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    hp_u32 popped = 0;

    hp_refill_renew(core, vcpu, at_ns);
    if (span_ns / 2u >= server->params.budget_ns) {
        const hp_u64 last_ns =
            hp_modulo(span_ns, server->params.budget_ns) + server->params.budget_ns;

        popped = 1;
        hp_sporadic_use_rounds(core, vcpu, hp_parts(span_ns, server->params.budget_ns) - 1u);
        server->deadline_ns = hp_refill_of(core, vcpu, 0)->time_ns + server->params.period_ns;
        at_ns += span_ns - last_ns;
        span_ns = last_ns;
    }
    /* What is left is less than two budgets: no refill is met three times. */
    at_ns = HP_FORGET(at_ns);
    span_ns = HP_FORGET(span_ns);
    popped = HP_FORGET(popped);
    HP_FOR (i, 2u * HP_REFILLS + 1u) {
        hp_u64 used_ns;

        if (span_ns == 0)
            break;
        hp_refill_renew(core, vcpu, at_ns);
        used_ns = hp_min(span_ns, hp_refill_of(core, vcpu, 0)->amount_ns);
        popped = HP_FORGET(popped | hp_sporadic_use_head(core, vcpu, used_ns));
        at_ns = HP_FORGET(at_ns + used_ns);
        span_ns = HP_FORGET(span_ns - used_ns);
    }
    HP_ASSERT(span_ns == 0);
    return popped;
}

/* The queue of a server that comes under this rule; a debt is used up out of it. */
HP_FN void hp_sporadic_start(struct hp_core *core, hp_u32 vcpu, hp_i64 left_ns, hp_u64 refill_ns) {
    hp_sporadic_fill(core, vcpu, core->now_ns, left_ns > 0 ? (hp_u64)left_ns : 0, refill_ns);
    if (left_ns < 0) {
        hp_sporadic_use(core, vcpu, core->now_ns, (hp_u64)-left_ns);
        hp_sporadic_account(core, vcpu, core->now_ns);
    }
}

/* The law of the queue: its refills are in order and add up to the budget. */
HP_FN hp_u32 hp_sporadic_holds(struct hp_core *core, hp_u32 vcpu) {
    const struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 sum_ns = 0;
    hp_u64 last_ns = 0;

    HP_FOR (i, HP_REFILLS) {
        const struct hp_refill *refill = hp_refill_of(core, vcpu, i);

        if (i >= server->refill_count)
            break;
        if (refill->amount_ns == 0 || refill->time_ns < last_ns)
            return 0;
        last_ns = refill->time_ns;
        sum_ns += refill->amount_ns;
    }
    return server->refill_count > 0 && sum_ns == server->params.budget_ns;
}

/* Charges the queue, and takes the account from it. */
HP_RARE void hp_sporadic_spend(struct hp_core *core, hp_u32 vcpu, hp_u64 span_ns, hp_u64 to_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);
    const hp_u32 funded = server->remaining_ns > 0;
    hp_u64 deadline_ns;
    hp_u32 popped;

    if (span_ns == 0)
        return;
    popped = hp_sporadic_use(core, vcpu, to_ns - span_ns, span_ns);
    if (!popped && server->remaining_ns > 0) {
        server->remaining_ns = (hp_i64)hp_refill_of(core, vcpu, 0)->amount_ns;
        return;
    }
    deadline_ns = server->deadline_ns;
    hp_sporadic_account(core, vcpu, to_ns);
    if (server->remaining_ns > 0) {
        /* An overrun has used of the new head already: that moves its time, not its deadline. */
        if (popped)
            server->deadline_ns = deadline_ns;
        hp_requeue(core, vcpu);
    } else {
        hp_deplete(core, vcpu, funded);
    }
}

/* One piece of a charge with extra time: to where the level ends. Returns where that is. */
HP_FN hp_u64 hp_sporadic_charge_piece(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns,
                                      hp_u64 to_ns) {
    const struct hp_server *server = hp_server_of(core, vcpu);
    hp_u64 end_ns;

    hp_sporadic_catch_up(core, vcpu, from_ns);
    if (server->level > 0) {
        end_ns = hp_min(to_ns, hp_refill_of(core, vcpu, 0)->time_ns);
        hp_spend(core, vcpu, end_ns - from_ns);
    } else {
        end_ns = hp_min(to_ns, from_ns + (hp_u64)server->remaining_ns);
        hp_sporadic_spend(core, vcpu, end_ns - from_ns, end_ns);
    }
    return end_ns;
}

/*
 * Charges the time from 'from' to 'to'. With extra time what lies past the end of the usable
 * head is charged to the extra level until the next refill becomes usable.
 */
HP_RARE void hp_sporadic_charge(struct hp_core *core, hp_u32 vcpu, hp_u64 from_ns, hp_u64 to_ns) {
    struct hp_server *server = hp_server_of(core, vcpu);

    if (!hp_may_drop(core, server)) {
        hp_sporadic_spend(core, vcpu, to_ns - from_ns, to_ns);
        return;
    }
    from_ns = HP_FORGET(from_ns);
    to_ns = HP_FORGET(to_ns);
    HP_FOR (piece, 2u * HP_REFILLS) {
        if (from_ns >= to_ns)
            break;
        from_ns = HP_FORGET(hp_sporadic_charge_piece(core, vcpu, from_ns, to_ns));
        to_ns = HP_FORGET(to_ns);
    }
    /* A pick that comes many refills late is charged to the level that is reached by then. */
    if (server->level > 0)
        hp_spend(core, vcpu, to_ns - from_ns);
    else
        hp_sporadic_spend(core, vcpu, to_ns - from_ns, to_ns);
}

/* Work arrives where there was none: a new activation. */
HP_RARE void hp_sporadic_arrive(struct hp_core *core, hp_u32 vcpu, hp_u64 now_ns) {
    if (hp_server_of(core, vcpu)->remaining_ns <= 0)
        return;
    hp_refill_of(core, vcpu, 0)->time_ns = now_ns;
    hp_refill_join_head(core, vcpu);
    hp_sporadic_account(core, vcpu, now_ns);
    hp_requeue(core, vcpu);
}
