/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which server a thread belongs to, and where it stands among that server's threads.
 *
 * A thread is looked up when it is put into a queue: after it woke up, after it was preempted, and
 * when lx_refresh has all queues filled anew. So one that never sleeps changes server too. All of
 * this happens under the lock of the thread's run queue.
 *
 * A thread that may not run where its server is, because somebody changed its affinity or its cpu
 * is offline, is background until it may: a server without threads is not granted anything. Nor is
 * one of a global policy for which there is no room since a cpu is offline.
 */
#ifndef HYPERPERIOD_LINUX_THREADS_BPF_H
#define HYPERPERIOD_LINUX_THREADS_BPF_H

#include "hosts/linux/decisions.bpf.h"

#define DEEPEST 32u              /* levels of cgroups */
#define KERNEL_THREAD 0x00200000 /* PF_KTHREAD */
#define PRIORITY_SHIFT 48

/* Whether this thread of the kernel's sees to it that what was freed comes free. If it waits, more
 * comes free at a time, within interrupts. */
static __always_inline bool is_rcus(const struct task_struct *p) {
    return p->comm[0] == 'r' && p->comm[1] == 'c' && p->comm[2] == 'u' && p->comm[3] == '_';
}

/* Whether the kernel needs this thread on this cpu now: nobody may be in its way. Another one of
 * the kernel's that is allowed on one cpu because there is no other is background. */
static __always_inline bool is_kernels_own(const struct task_struct *p) {
    const struct kthread *own;

    if (!(p->flags & KERNEL_THREAD) || p->nr_cpus_allowed != 1)
        return false;
    own = bpf_core_cast(p->worker_private, struct kthread);
    return own->flags >> KTHREAD_IS_PER_CPU & 1 || is_rcus(p);
}

/* Whether a thread was put off its cpu within a section of the kernel's in which it may be on no
 * other one. This program is such a section itself for who runs it. */
static __always_inline bool may_not_move(const struct task_struct *p) {
    return p->migration_disabled > (p == (const struct task_struct *)bpf_get_current_task_btf());
}

/* The server that this cgroup, or the nearest around it, is given; or LX_NOBODY. */
static __noinline hp_u32 server_of_group(struct cgroup *group) {
    HP_FOR (level, DEEPEST) {
        hp_u64 id = BPF_CORE_READ(group, kn, id);
        const hp_u32 *server = bpf_map_lookup_elem(&server_of_cgroup, &id);

        if (server)
            return *server;
        group = BPF_CORE_READ(group, self.parent, cgroup);
        if (!group)
            break;
    }
    return LX_NOBODY;
}

/* Whether a thread may run wherever this server does, and that is somewhere. */
static __always_inline bool may_run_there(const struct task_struct *p, const struct server *server,
                                          hp_u32 id) {
    bool is_somewhere = false;

    if (!lx.global)
        return !(lx.parked >> (LX_LOCK_OF(id) % LX_CPUS) & 1)
               && bpf_cpumask_test_cpu(cpu_at(LX_LOCK_OF(id)), &p->cpus_mask);
    if (lx.parked >> LX_NUMBER_OF(id) & 1)
        return false;
    HP_FOR (place, LX_CPUS) {
        if (place >= lx.places)
            break;
        if (!may_have(server, cpu_at(place)))
            continue;
        is_somewhere = true;
        if (!bpf_cpumask_test_cpu(cpu_at(place), &p->cpus_mask))
            return false;
    }
    return is_somewhere;
}

/* The entry of a thread, or of its process if that is for all its threads. */
static __always_inline const struct lx_thread *entry_of(const struct task_struct *p) {
    hp_u32 id = (hp_u32)p->pid;
    const struct lx_thread *entry = bpf_map_lookup_elem(&server_of_thread, &id);

    if (entry)
        return entry;
    id = (hp_u32)p->tgid;
    entry = bpf_map_lookup_elem(&server_of_thread, &id);
    return entry && entry->whole ? entry : 0;
}

/* Finds out which server a thread belongs to, unless nothing has changed since the last time. */
static __always_inline void look_up(struct task_struct *p, struct thread *thread) {
    struct cgroup *group = p->cgroups->dfl_cgrp;
    const hp_u64 id = group->kn->id;
    const struct lx_thread *entry;
    const struct server *server;

    if (thread->generation == lx.generation && thread->group == id)
        return;
    thread->generation = lx.generation;
    thread->group = id;
    thread->key = LX_OWN;
    entry = entry_of(p);
    if (entry) {
        thread->server = entry->server;
        thread->key = entry->key;
    } else {
        thread->server = server_of_group(group);
    }
    if (thread->server == LX_NOBODY)
        return;
    server = server_by(thread->server);
    if (!server) {
        thread->server = LX_NOBODY;
    } else if (!may_run_there(p, server, thread->server)) {
        thread->server = LX_NOBODY;
        __sync_fetch_and_add(&lx.strays, 1);
    }
}

/* Where a thread that wakes up now stands among those of its server: the lowest is first. */
static __always_inline hp_u64 place_in(const struct server *server, const struct task_struct *p,
                                       hp_u64 key, hp_u64 now_ns) {
    if (server->inside == LX_FP) {
        if (key == LX_OWN)
            key = (hp_u64)p->static_prio;
        return key << PRIORITY_SHIFT | now_ns >> 10;
    }
    if (server->inside == LX_EDF)
        return now_ns + (key == LX_OWN ? server->period_ns : key);
    return now_ns;
}

/*
 * The server that a thread was counted in does not count it any more. Where a thread goes to sleep
 * the kernel is about to ask dispatch for the next, so its cpu is not kicked: the pick is owed
 * there, also when another class or a thread of the cpu's own queue comes first.
 */
static __always_inline void leave_server(struct thread *thread, bool sleeps) {
    const hp_u32 id = thread->counted;
    struct managed *here;
    hp_u64 pcpus, bit;

    if (id == LX_NOBODY)
        return;
    thread->counted = LX_NOBODY;
    here = sleeps ? cpu_by(bpf_get_smp_processor_id()) : 0;
    if (here && lock_at(here->place) != LX_LOCK_OF(id))
        here = 0;
    pcpus = depart(id, thread->birth, here && !lx.global);
    if (here) {
        bit = 1ull << (pcpu_at(here->place) % HP_PCPUS);
        if (pcpus & bit)
            here->pick_owed = 1;
        pcpus &= ~bit;
    }
    ask_all(LX_LOCK_OF(id), pcpus);
}

/* The class of a wait: the first one whose limit is not shorter. */
static __always_inline hp_u32 wait_class(hp_u64 waited_ns) {
    const hp_u64 units = (hp_max(waited_ns, 1) - 1) >> 10;

    return (hp_u32)hp_min(63u - (hp_u32)__builtin_clzll(2 * units + 1), LX_WAITS - 1);
}

/* A thread that wants to run, as it `wakes` up or not, is counted where it belongs; returns that
 * server, or nothing. */
static __always_inline struct server *join_server(struct task_struct *p, struct thread *thread,
                                                  bool wakes) {
    struct server *server;
    hp_u64 now_ns;

    look_up(p, thread);
    server = thread->server == LX_NOBODY ? 0 : server_by(thread->server);
    if (lx.global && may_not_move(p))
        server = 0;
    if (server && thread->counted == thread->server && thread->birth == server->birth) {
        if (server->inside == LX_TURNS)
            thread->place = core_time();
        return server;
    }
    leave_server(thread, false);
    if (!server)
        return 0;
    now_ns = core_time();
    thread->place = place_in(server, p, thread->key, now_ns);
    thread->woke_ns = wakes ? now_ns : 0;
    thread->counted = thread->server;
    thread->birth = server->birth;
    ask_all(LX_LOCK_OF(thread->counted), arrive(thread->counted, wakes));
    return server;
}

/* A thread of this server runs that has waited since it woke up. Where a server goes from cpu to
 * cpu two may count at once. */
VERB hp_u32 count_wait(hp_u32 id, hp_u64 woke_ns) {
    struct lock_domain *domain = domain_by(LX_LOCK_OF(id));
    const hp_u64 waited_ns = core_time() - woke_ns;
    struct lx_waits *waits;

    if (!domain)
        return 0;
    waits = waits_of(domain, LX_NUMBER_OF(id));
    __sync_fetch_and_add(&waits->counts[wait_class(waited_ns)], 1);
    __sync_fetch_and_add(&waits->total_ns, waited_ns);
    if (waited_ns > waits->max_ns)
        waits->max_ns = waited_ns;
    return 0;
}

#endif
