// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The words of the core: rules, parameters, grants, servers and the state of one lock domain.
 *
 * State is plain arrays of a fixed size. Nothing in it is a pointer: vcpus and pcpus are named
 * by small numbers, and HP_NONE says that there is none. Behind a field stands who sets it, where
 * that is not the file that the field belongs to.
 */
#pragma once

#include "rules.h"

#define HP_NONE 0xffffffffu
#define HP_SPARE 0xfffffffeu /* as a payer: the spare budget of the whole lock domain */
#define HP_NEVER 0xffffffffffffffffull

/* Times stay below this, so that adding a few of them or taking a difference never wraps. */
#define HP_TIME_MAX (1ull << 62)

/* How long a best-effort vcpu runs before the next one has its turn. */
#define HP_EFFORT_TURN_NS 1000000ull

/* How long a share of time lasts that nobody with budget asks for (slack rule weights). */
#define HP_SHARE_NS 500000ull

/* The largest weight, and the one that is as good as having all of the pcpu. */
#define HP_WEIGHT_MAX 0xffffu
#define HP_WEIGHT_WHOLE 128u

/* The three rules that together are a policy. */
struct hp_policy {
    hp_u32 budget; /* enum hp_budget */
    hp_u32 order;  /* enum hp_order */
    hp_u32 slack;  /* enum hp_slack */
};

/* What a user can do wrong. Nothing is changed when one of these comes back. */
enum hp_error {
    HP_OK,
    HP_ERROR_POLICY,   /* the three rules do not go together, or not on this many pcpus */
    HP_ERROR_PCPUS,    /* no pcpu, or more than the capacity */
    HP_ERROR_VCPU,     /* no such vcpu, or the number is above the capacity */
    HP_ERROR_PRESENT,  /* the vcpu is there already */
    HP_ERROR_PERIOD,   /* period zero or out of range */
    HP_ERROR_BUDGET,   /* budget zero or above the period */
    HP_ERROR_QUANTUM,  /* period or budget is no multiple of the quantum */
    HP_ERROR_PRIORITY, /* priority out of range */
    HP_ERROR_SPARE,    /* the spare's budget is above its period, or it has no period */
    HP_ERROR_FLAGS,    /* unknown flag, or a best-effort vcpu with a server */
    HP_ERROR_WEIGHT,   /* weight out of range, or of a vcpu that is not best effort */
    HP_ERROR_SHORT,    /* a budget shorter than the decision that ends it */
    HP_ERROR_RATE,     /* so many short periods that deciding would take more than half the time */
};

/* The largest priority number; smaller is higher. */
#define HP_PRIORITY_MAX 0xffffffu

/* The priority of ordinary servers: under the order rule fp-edf it says that they have none. */
#define HP_ORDINARY HP_PRIORITY_MAX

#define HP_BEST_EFFORT 1u /* no server: runs only where the grant would be idle */
#define HP_EXTRA 2u       /* may run on extra time once its budget is gone */

/* The parameters of one vcpu. */
struct hp_params {
    hp_u64 period_ns;
    hp_u64 budget_ns;
    hp_u32 priority;
    hp_u32 flags;
    hp_u32 weight; /* of a best-effort vcpu, under the slack rule weights; 0 counts as 1 */
};

/* The parameters of one lock domain. */
struct hp_config {
    struct hp_policy policy;
    hp_u32 pcpus;
    hp_u64 quantum_ns; /* 0: no quantum, everything is event driven */
    hp_u64 spare_period_ns;
    hp_u64 spare_budget_ns;
    hp_u32 reports_saved; /* the host says when a vcpu is off its pcpu (hp_saved); else it is at the
                             pick */
    hp_u64 decision_ns;   /* what a decision takes on this host, at most 1 ms; 0: no time at all */
};

/* Who runs, who pays, until when. */
struct hp_grant {
    hp_u64 start_ns;
    hp_u64 until_ns;
    hp_u32 run;   /* vcpu, or HP_NONE: idle */
    hp_u32 pay;   /* vcpu, HP_SPARE, or HP_NONE: nobody */
    hp_u32 also;  /* under lend: the second payer, which is the one that runs; or HP_NONE */
    hp_u32 level; /* of the payer: 0 its own budget, above 0 extra time */
};

/* One refill of a sporadic server. */
struct hp_refill {
    hp_u64 time_ns;
    hp_u64 amount_ns;
};

/* Turns among equals are counted apart for those who pay, run, and run without a server. */
enum hp_role {
    HP_PAYER,
    HP_RUNNER,
    HP_EFFORT,
};
#define HP_ROLES 4u /* one more than there are: a power of two, as an index is a mask */
#define HP_EACH_ROLE(role) for (hp_u32 role = 0; role < HP_ROLES; role++)

/* A vcpu and the server attached to it. */
struct hp_server {
    struct hp_params params; /* in force; hp_add, hp_apply_params */
    struct hp_params wanted; /* by hp_update, in force from change_at_ns on */
    hp_u64 change_at_ns;     /* or HP_NEVER: nothing is wanted */

    /* The account: the budget rules (budget/). */
    hp_i64 remaining_ns; /* budget left when last charged, at its own level; below zero: debt */
    hp_i64 extra_ns;     /* left of the budget at the extra level it is on */
    hp_u64 deadline_ns;  /* end of the current period; of a depleted server: its refill */
    hp_u64 late_ns; /* how late the last pick was that charged it; the law of debts (check.h) */
    hp_u64 idle_from_ns; /* when it lost its work; hp_depart */
    hp_u32 level;        /* 0, or how many levels it has dropped into extra time */
    hp_u32 never_ran;    /* slices: added under the policy in force, and never had work since */
    hp_u32 refill_head;  /* sporadic: the queue of refills, a ring */
    hp_u32 refill_count;

    hp_u32 present;  /* hp_add to hp_remove */
    hp_u32 runnable; /* has work; hp_arrive to hp_depart */

    /* Turns and places: order.h, placement.h, grant.h. */
    hp_u32 last_pcpu;            /* where it last ran or paid */
    hp_u32 held_on;              /* the pcpu that its context is not off yet, or HP_NONE */
    hp_u64 turn_ns[HP_ROLES];    /* when its last turn was given, by role, plus 1; 0: never */
    hp_u32 turn_place[HP_ROLES]; /* its place among those chosen at that instant */
    hp_u32 place;                /* its place in the choice being made */

    /* Shares of time that nobody with budget asks for: slack/weights.h. */
    hp_u64 claim; /* to a share, for a lost slice: the lowest is first; or HP_NEVER */
    hp_u64 score; /* without a claim the lowest is first */
} HP_ALIGNED(256);

/* What one pcpu should be granted: plan.h. */
struct hp_plan {
    hp_u32 holder; /* the server that the pcpu is given to: it pays (periodic) or runs */
    hp_u32 run;
    hp_u32 pay;
    hp_u32 also;
    hp_u32 effort;          /* the best-effort vcpu that fills idle time, or whose share it is */
    hp_u32 keeps[HP_ROLES]; /* whether the one planned in a role goes on with its turn */
};

/* A pcpu: what it was granted, what it should be granted, and whose turn it is. */
struct hp_pcpu {
    struct hp_grant grant;
    hp_u64 charged_ns;       /* the payers have paid up to here */
    hp_u64 invalid_since_ns; /* since when its grant is wrong, and a pick late; or HP_NEVER */
    hp_u32 must_repick;      /* the grant rests on what has changed, whatever the plan says */
    hp_u32 holder;           /* who has this pcpu: the planned holder, or who runs without one */
    hp_u32 effort;           /* who runs here in idle time: by best effort, or in a share */
    hp_u32 last[HP_ROLES];   /* who was last in each role */
    struct hp_plan plan;
} HP_ALIGNED(128);

/* A queue of vcpus by key: queue.h. */
#define HP_BLOCK (HP_VCPUS > 512u ? 16u : 8u) /* so many keys are looked at in a row: 64 blocks */
#define HP_KEYS (HP_VCPUS < HP_BLOCK ? HP_BLOCK : HP_VCPUS)
#define HP_BLOCKS (HP_KEYS / HP_BLOCK)
struct hp_queue {
    hp_u64 key[HP_KEYS];      /* the lowest is first; HP_NEVER: not in the queue */
    hp_u64 low[HP_BLOCKS];    /* the lowest key of each block; 0: not known */
    hp_u32 of_low[HP_BLOCKS]; /* whose it is */
    hp_u64 lowest;            /* no key is below this */
    hp_u32 first;             /* who has that key, and is first ... */
    hp_u32 known;             /* ... if this is set */
    hp_u32 blocks;            /* that are in use */
};

/* A mask of all vcpus takes so many words. */
#define HP_WORDS ((HP_VCPUS + 63u) / 64u)

/* The budget that nobody owns (ERTDS), refilled at multiples of its period: slack/spare.h. */
struct hp_spare {
    hp_u64 period_ns;
    hp_u64 budget_ns;
    hp_i64 remaining_ns;
    hp_u64 deadline_ns;
    hp_u64 late_ns;
};

/* A share of time that nobody with budget asks for: slack/weights.h. */
struct hp_share {
    hp_u64 until_ns;
    hp_u64 key;     /* of the lost slice that it was given for, or HP_NEVER: by weight */
    hp_u32 vcpu;    /* whose share it is, or HP_NONE */
    hp_u32 planned; /* the plan is to begin another one */
};

/* One lock domain. The host holds its lock around every call. */
struct hp_core {
    struct hp_policy policy; /* hp_set_rules */
    hp_u32 traits;           /* what the three rules are like (rules.h) */
    hp_u32 pcpus;
    hp_u32 reports_saved; /* hp_config.reports_saved */
    hp_u32 numbers;       /* vcpu numbers that are in use are below this */
    hp_u32 efforts;       /* best-effort vcpus that are present */
    hp_u32 bound;         /* vcpus that are bound to pcpus */
    hp_u32 thefts;        /* pcpus that are stolen */
    hp_u32 swapping;      /* servers leave the rules in force: no queue is told (hp_set_policy) */
    hp_u32 alone;         /* whether alone.h decides; hp_replan_all */
    hp_u64 quantum_ns;
    hp_u64 decision_ns;
    hp_u64 stolen;             /* pcpus that run nothing that was granted, as a mask */
    hp_u64 bound_to[HP_VCPUS]; /* the pcpus that a vcpu is bound to, as a mask; 0: to none */
    hp_u64 work[HP_WORDS];     /* vcpus that have work, as a mask; hp_arrive to hp_depart */

    hp_u64 now_ns; /* the latest time that the core was told */
    hp_u64 due_ns; /* before this no grant ends, and no refill needs to be done (grant.h) */

    /* The plan: plan.h. */
    hp_u32 planned;      /* it stands; cleared by whatever may change it */
    hp_u32 effort_waits; /* a best-effort vcpu has work and no pcpu */
    hp_u32 weakest;      /* the last in order that has a pcpu, if no pcpu is left; or HP_NONE */
    hp_u64 planned_ns;   /* when it was made */
    hp_u64 suspects;     /* pcpus whose grant may be another one than planned, as a mask */

    struct hp_spare spare;
    struct hp_share share;
    struct hp_queue ready; /* servers that may be given a pcpu, by level and urgency */
    struct hp_queue due;   /* by when somebody must look after their refill */

    /* Scratch of one choice: placement.h. */
    hp_u32 chosen[HP_VCPUS]; /* those that get a pcpu, in order */
    hp_u32 others_wait;      /* there are candidates that were not chosen */
    hp_u64 matched;          /* pcpus that have a vcpu */
    hp_u32 match[HP_PCPUS];  /* which one */
    hp_u32 via[HP_PCPUS];    /* where a pcpu was found from */

    struct hp_pcpu pcpu[HP_PCPUS];
    struct hp_server server[HP_VCPUS];
    struct hp_refill refill[HP_VCPUS * HP_REFILLS];
};

/* What a host may be told about through HP_NOTE. */
enum hp_note {
    HP_NOTE_REPLENISH, /* value: what remains after the refill */
    HP_NOTE_DEPLETE,
};

/* Whether one of the rules in force has this trait. */
HP_FN hp_u32 hp_has(const struct hp_core *core, hp_u32 trait) {
    return ((core->traits & HP_SOME_TRAITS) | HP_ALL_TRAITS) & trait;
}

/* How many pcpus the lock domain has: one, where the host never has more. */
HP_FN hp_u32 hp_pcpus(const struct hp_core *core) {
    return HP_PCPUS == 1u ? 1u : core->pcpus;
}

/* Whether the host says when a vcpu is off its pcpu. With one pcpu nobody waits for that. */
HP_FN hp_u32 hp_reports_saved(const struct hp_core *core) {
    return HP_PCPUS == 1u ? 0u : core->reports_saved;
}

HP_FN struct hp_server *hp_server_of(struct hp_core *core, hp_u32 vcpu) {
    return &core->server[HP_INDEX(vcpu, HP_VCPUS)];
}

HP_FN struct hp_pcpu *hp_pcpu_of(struct hp_core *core, hp_u32 pcpu) {
    return &core->pcpu[HP_INDEX(pcpu, HP_PCPUS)];
}

/* A mask with the bit of this pcpu. */
HP_FN hp_u64 hp_bit_of(hp_u32 pcpu) {
    HP_ASSERT(pcpu < 64u);
    return HP_PCPUS == 1u ? 1ull : 1ull << (pcpu % 64u);
}

/* All pcpus of the lock domain, as a mask. */
HP_FN hp_u64 hp_all_pcpus(const struct hp_core *core) {
    return HP_PCPUS == 1u ? 1ull : ~0ull >> (64u - core->pcpus) % 64u;
}

/* The pcpus that are stolen, as a mask. */
HP_FN hp_u64 hp_stolen(const struct hp_core *core) {
    return HP_STEALS ? core->stolen : 0;
}

/* Whether this pcpu is stolen: whatever is granted there would not run. */
HP_FN hp_u32 hp_is_stolen(const struct hp_core *core, hp_u32 pcpu) {
    return hp_stolen(core) >> (pcpu % 64u) & 1u;
}

/* The pcpus of the lock domain that are there to be granted, as a mask. */
HP_FN hp_u64 hp_pcpu_mask(const struct hp_core *core) {
    return hp_all_pcpus(core) & ~hp_stolen(core);
}

/* Whether this number names a vcpu, and not HP_NONE or HP_SPARE. */
HP_FN hp_u32 hp_is_vcpu(hp_u32 vcpu) {
    return vcpu < HP_VCPUS;
}

/* Whether this number names a vcpu that was added. */
HP_FN hp_u32 hp_present(struct hp_core *core, hp_u32 vcpu) {
    return hp_is_vcpu(vcpu) && hp_server_of(core, vcpu)->present;
}

/* The vcpu has work, or has none: its server and the mask say so. */
HP_FN void hp_get_work(struct hp_core *core, hp_u32 vcpu) {
    hp_server_of(core, vcpu)->runnable = 1;
    core->work[HP_INDEX(vcpu / 64u, HP_WORDS)] |= 1ull << (vcpu % 64u);
}

HP_FN void hp_lose_work(struct hp_core *core, hp_u32 vcpu) {
    hp_server_of(core, vcpu)->runnable = 0;
    core->work[HP_INDEX(vcpu / 64u, HP_WORDS)] &= ~(1ull << (vcpu % 64u));
}

/* Whether this payer is the spare, which only some hosts offer. */
HP_FN hp_u32 hp_is_spare(hp_u32 payer) {
    return (HP_SOME_TRAITS & HP_HAS_SPARE) != 0 && payer == HP_SPARE;
}

/* Whether this vcpu has the share of time (slack/weights.h), which only some hosts offer. */
HP_FN hp_u32 hp_has_share(const struct hp_core *core, hp_u32 vcpu) {
    return (HP_SOME_TRAITS & HP_HAS_SHARES) != 0 && core->share.vcpu == vcpu;
}

HP_FN hp_u32 hp_is_effort(const struct hp_server *server) {
    return server->params.flags & HP_BEST_EFFORT;
}

/* Whether rules are about this vcpu: it is there, and has a server. */
HP_FN hp_u32 hp_is_served(struct hp_core *core, hp_u32 vcpu) {
    return hp_server_of(core, vcpu)->present && !hp_is_effort(hp_server_of(core, vcpu));
}

/* Something has changed that all pcpus may have to be granted anew for, or what is on them: also
 * whether there is one pcpu, and nothing on it but servers that take no turns. */
HP_FN void hp_replan_all(struct hp_core *core) {
    core->alone = hp_pcpus(core) == 1 && core->quantum_ns == 0 && core->efforts == 0
                  && core->thefts == 0 && !hp_has(core, HP_HAS_SPARE | HP_HAS_SHARES);
    core->planned = 0;
    core->suspects = hp_all_pcpus(core);
}

HP_FN hp_u64 hp_min(hp_u64 a, hp_u64 b) {
    return a < b ? a : b;
}

HP_FN hp_u64 hp_max(hp_u64 a, hp_u64 b) {
    return a > b ? a : b;
}

/* Field by field: a BPF program copies no structs. */
HP_FN void hp_copy_params(struct hp_params *to, const struct hp_params *from) {
    to->period_ns = from->period_ns;
    to->budget_ns = from->budget_ns;
    to->priority = from->priority;
    to->flags = from->flags;
    to->weight = from->weight;
}

HP_FN void hp_copy_grant(struct hp_grant *to, const struct hp_grant *from) {
    to->start_ns = from->start_ns;
    to->until_ns = from->until_ns;
    to->run = from->run;
    to->pay = from->pay;
    to->also = from->also;
    to->level = from->level;
}
