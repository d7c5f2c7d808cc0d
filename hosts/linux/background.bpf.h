/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which thread of the background is first: those without a server share what servers leave as the
 * kernel's own scheduler has them share a cpu.
 *
 * A thread's *share* is by weights: its own, which its nice value says, among all that want to run
 * in its cgroup; that of the cgroup (cpu.weight) among those beside it; and so on up to the root.
 * So all shares together are one. Its *virtual time* is what it had, divided by its share: who has
 * less of it had less than its share, and is first. A turn is as long as the share is great, so all
 * have had one within a round, however many they are.
 *
 * Virtual time goes on by itself on each cpu while the background runs there, half as fast as that
 * of its threads does in the mean, and catches up with whoever begins there. Who has slept, or
 * comes from a cpu that is behind, is behind by a little credit at most; who is new begins with
 * none. So nobody who waits is overtaken for ever: not by processes that come and go without end,
 * and not by those who sleep now and then.
 *
 * Those that share a cache have a queue of their own, of which the cpus with this cache take the
 * first; who waits for others is taken where it is far behind, or nobody waits.
 *
 * A cgroup may have a limit (cpu.max): when it is used up its threads are held in a queue of their
 * own until the period of the limit is over. What they had too much counts in the next one.
 */
#ifndef HYPERPERIOD_LINUX_BACKGROUND_BPF_H
#define HYPERPERIOD_LINUX_BACKGROUND_BPF_H

#include "hosts/linux/threads.bpf.h"

#define ROOT_GROUP 1ull /* the id of the cgroup of which all others are */
#define FIRST_NICE 100  /* the kernel's number for the nice value -20 */
#define NICE_VALUES 40u
#define IDLE_POLICY 5 /* SCHED_IDLE */
#define IDLE_WEIGHT 3u
#define WEIGHT_OF_100 1024u /* what a cgroup of weight 100, and a thread of nice 0, has */

#define WHOLE_SHARE (1ull << 30)
/* With this one a round is over after the shortest turn. */
#define LEAST_SHARE (WHOLE_SHARE * LX_LEAST_TURN_NS / LX_ROUND_NS)

/* So far behind its cpu's virtual time (ns) a thread may begin; and if it is so much before the
 * one that runs when it wakes up, it takes its place. */
#define CREDIT_NS 10000000ull
#define AHEAD_NS 1000000ull

/* One that waits for the cpus of another cache comes first here if it is so much before those that
 * wait for the cpus of this one. */
#define FAR_NS 100000000ull
#define NO_CACHE LX_CACHES

/* Nobody is held for longer: the kernel would take that, and a round after it, for a stall. */
#define LONGEST_HELD_NS 5000000000ull

/* What a thread weighs: 1.25 times as much as one whose nice value is greater by one. */
static const hp_u32 weights[NICE_VALUES] = {
    88818, 71054, 56843, 45475, 36380, 29104, 23283, 18626, 14901, 11921, 9537, 7629, 6104, 4883,
    3906,  3125,  2500,  2000,  1600,  1280,  1024,  819,   655,   524,   419,  336,  268,  215,
    172,   137,   110,   88,    70,    56,    45,    36,    29,    23,    18,   15,
};

static __always_inline struct group *group_by(hp_u64 id) {
    return bpf_map_lookup_elem(&groups, &id);
}

/* --- shares --------------------------------------------------------------------------------- */

/*
 * So much more wants to run in a cgroup. While anything does the cgroup's own weight counts in the
 * one around it, and so on. Cpus do this at the same time: what counts is exchanged for what
 * should, and that is looked at once more.
 */
static __noinline int count(hp_u64 id, hp_u64 weight) {
    HP_FOR (level, DEEPEST) {
        struct group *group = group_by(id);

        if (!group)
            break;
        __sync_fetch_and_add(&group->sum, weight);
        weight = hp_zero;
        HP_FEW(look, 3) {
            const hp_u64 should = group->sum ? group->weight : 0;

            if (should != group->counted)
                weight += should - __sync_lock_test_and_set(&group->counted, should);
        }
        if (weight == 0)
            break;
        id = HP_FORGET(group->around);
        weight = HP_FORGET(weight);
    }
    return 0;
}

/* The share of something of this weight in this cgroup. */
static __noinline hp_u64 share_in(hp_u64 id, hp_u64 weight) {
    hp_u64 share = WHOLE_SHARE;

    HP_FOR (level, DEEPEST) {
        const struct group *group = group_by(id);

        if (!group)
            break;
        share = HP_FORGET(share * weight / hp_max(group->sum, weight));
        weight = HP_FORGET(group->weight);
        id = HP_FORGET(group->around);
    }
    return hp_max(share, LEAST_SHARE);
}

static __always_inline hp_u32 weight_of(const struct task_struct *p) {
    if (p->policy == IDLE_POLICY)
        return IDLE_WEIGHT;
    return weights[HP_INDEX(hp_min((hp_u32)(p->static_prio - FIRST_NICE), NICE_VALUES - 1), 64u)];
}

/* The cgroup that a thread is in, as far as cpus are concerned. */
static __always_inline hp_u64 group_of(const struct task_struct *p) {
    const struct cgroup *group = p->sched_task_group->css.cgroup;
    const hp_u64 id = group ? group->kn->id : ROOT_GROUP;

    return group_by(id) ? id : ROOT_GROUP;
}

/* A thread of the background does not want to run any more. */
static __always_inline void leave_background(struct thread *thread) {
    if (!thread->weight)
        return;
    count(thread->in, -(hp_u64)thread->weight);
    thread->weight = 0;
}

/* It does, with the weight that it has now where it is now. */
static __always_inline void join_background(const struct task_struct *p, struct thread *thread) {
    const hp_u64 in = group_of(p);
    const hp_u32 weight = weight_of(p);

    if (thread->in == in && thread->weight == weight)
        return;
    leave_background(thread);
    thread->in = in;
    thread->weight = weight;
    count(in, weight);
}

/* --- limits --------------------------------------------------------------------------------- */

/* Whether there is any limit at all. */
volatile hp_u64 limits SEC(".bss.limits");

/* A period of a limit, or several, may be over. */
static __always_inline void renew(struct group *group, hp_u64 now_ns) {
    const hp_u64 due_ns = group->due_ns;
    hp_u64 periods;

    if (now_ns < due_ns)
        return;
    periods = (now_ns - due_ns) / hp_max(group->period_ns, 1) + 1;
    if (!__sync_bool_compare_and_swap(&group->due_ns, due_ns, due_ns + periods * group->period_ns))
        return;
    __sync_fetch_and_sub(&group->had_ns,
                         hp_min(group->had_ns, hp_min(periods, 1ull << 16) * group->quota_ns));
}

/* A thread of this cgroup had so much of a cpu. */
static __noinline int charge_limits(hp_u64 id, hp_u64 span_ns) {
    const hp_u64 now_ns = core_time();

    HP_FOR (level, DEEPEST) {
        struct group *group = group_by(id);

        if (!group)
            break;
        if (group->quota_ns) {
            renew(group, now_ns);
            __sync_fetch_and_add(&group->had_ns, span_ns);
        }
        id = HP_FORGET(group->around);
    }
    return 0;
}

/* How much (ns) threads of a cgroup may have yet: HP_NEVER where no cgroup has a limit. */
static __noinline hp_u64 rest_of(hp_u64 id) {
    const hp_u64 now_ns = core_time();
    hp_u64 rest_ns = HP_NEVER;

    HP_FOR (level, DEEPEST) {
        struct group *group = group_by(id);

        if (!group)
            break;
        if (group->quota_ns) {
            renew(group, now_ns);
            rest_ns = HP_FORGET(
                hp_min(rest_ns, group->quota_ns - hp_min(group->quota_ns, group->had_ns)));
        }
        id = HP_FORGET(group->around);
    }
    return rest_ns;
}

/* When the limits that are used up are renewed next: 0 if none is. */
static __noinline hp_u64 renewed_ns(hp_u64 id) {
    hp_u64 last_ns = hp_zero;

    HP_FOR (level, DEEPEST) {
        const struct group *group = group_by(id);

        if (!group)
            break;
        if (group->quota_ns && group->had_ns >= group->quota_ns)
            last_ns = HP_FORGET(hp_max(last_ns, group->due_ns));
        id = HP_FORGET(group->around);
    }
    return last_ns;
}

static __always_inline void limit(struct group *group, hp_u64 period_us, hp_u64 quota_us) {
    const hp_u64 quota_ns = quota_us == ~0ull ? 0 : quota_us * 1000;

    if (!group->quota_ns && quota_ns)
        __sync_fetch_and_add(&limits, 1);
    if (group->quota_ns && !quota_ns)
        __sync_fetch_and_sub(&limits, 1);
    group->period_ns = period_us * 1000;
    group->due_ns = core_time() + group->period_ns;
    group->had_ns = 0;
    group->quota_ns = quota_ns;
}

/* Until when (ns) a thread has to be held; 0 if it may run. */
static __always_inline hp_u64 held_until(struct thread *thread) {
    const hp_u64 now_ns = core_time();
    hp_u64 until_ns;

    if (!limits || rest_of(thread->in) > 0)
        return 0;
    if (!thread->held_ns)
        thread->held_ns = now_ns;
    until_ns = hp_min(renewed_ns(thread->in), thread->held_ns + LONGEST_HELD_NS);
    return until_ns > now_ns ? until_ns : 0;
}

/* --- virtual time --------------------------------------------------------------------------- */

/* The latest virtual time of all cpus. */
volatile hp_u64 latest_ns SEC(".bss.latest");

/* What a thread had since it was charged last, if it was of the background. A turn that the kernel
 * let go on for too long costs no more than a round, or whose share is small would wait for ever.
 */
static __always_inline void charge(const struct task_struct *p, struct thread *thread,
                                   struct managed *cpu) {
    const hp_u64 had_ns = p->se.sum_exec_runtime;
    const hp_u64 span_ns = hp_min(had_ns - thread->charged_ns, LX_ROUND_NS);

    thread->charged_ns = had_ns;
    if (!thread->share || !span_ns)
        return;
    thread->virtual_ns += hp_min(span_ns * WHOLE_SHARE / hp_max(thread->share, 1), LX_ROUND_NS);
    if (cpu)
        __sync_fetch_and_add(&cpu->virtual_ns, span_ns / 2);
    if (limits)
        charge_limits(thread->in, span_ns);
}

/* The virtual time of a thread on this cpu: it is behind that by the credit at most. */
static __always_inline hp_u64 time_on(const struct managed *cpu, const struct thread *thread) {
    return hp_max(thread->virtual_ns, cpu->virtual_ns - hp_min(cpu->virtual_ns, CREDIT_NS));
}

/* A thread stands where its virtual time says, but for what it slept through. That of a cpu where
 * it may not run any more says nothing where it may. */
static __always_inline void take_place(const struct task_struct *p, struct thread *thread,
                                       struct managed *cpu, bool is_new) {
    if (!cpu)
        return;
    is_new = is_new || !bpf_cpumask_test_cpu(thread->cpu, p->cpus_ptr);
    thread->cpu = (hp_u32)scx_bpf_task_cpu(p);
    if (thread->is_placed)
        cpu->virtual_ns = hp_max(cpu->virtual_ns, latest_ns);
    thread->virtual_ns = is_new ? cpu->virtual_ns : time_on(cpu, thread);
}

/* --- the queues ------------------------------------------------------------------------------- */

/* Where a thread of the background waits. */
static __always_inline hp_u64 queue_of(const struct task_struct *p) {
    return BACKGROUND + cache_of((hp_u32)scx_bpf_task_cpu(p));
}

/* The virtual time of the first that waits there, or HP_NEVER. */
static __always_inline hp_u64 least_of(hp_u32 cache) {
    const struct task_struct *first = dsq_peek(BACKGROUND + cache);

    return first ? first->scx.dsq_vtime : HP_NEVER;
}

/*
 * From the queue of which cache a cpu takes the next thread, if one comes before that virtual time,
 * else NO_CACHE. Threads stay with the cpus that share their cache, unless others would have less.
 */
static __noinline hp_u32 next_cache(hp_u32 own, hp_u64 before_ns) {
    const hp_u64 own_ns = least_of(own);
    hp_u32 next = own_ns < before_ns ? own : NO_CACHE;
    hp_u64 least_ns = hp_min(own_ns, before_ns);

    if (lx.caches < 2)
        return next;
    least_ns -= least_ns < HP_NEVER ? hp_min(least_ns, FAR_NS) : 0;
    HP_FOR (cache, lx.caches) {
        const hp_u64 first_ns = least_of(cache);

        if (first_ns >= least_ns)
            continue;
        next = HP_FORGET(cache);
        least_ns = HP_FORGET(first_ns);
    }
    return next;
}

/* Gives this cpu the next thread of the background that may run on it. Another cpu may take the one
 * that was looked at, or be the only one for it: so no queue is left out, the own one first.
 * Returns whether there is one. */
static __noinline bool take_background(hp_u32 number) {
    const hp_u32 own = cache_of(number), next = next_cache(own, HP_NEVER);

    if (next != own && next != NO_CACHE && scx_bpf_dsq_move_to_local(BACKGROUND + next))
        return true;
    if (scx_bpf_dsq_move_to_local(BACKGROUND + own))
        return true;
    HP_FOR (cache, lx.caches) {
        if (scx_bpf_dsq_move_to_local(BACKGROUND + cache))
            return true;
    }
    return false;
}

#endif
