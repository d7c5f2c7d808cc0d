/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the BPF programs of the Linux host keep: lock domains, cpus, servers, threads, rings.
 */
#ifndef HYPERPERIOD_LINUX_STATE_BPF_H
#define HYPERPERIOD_LINUX_STATE_BPF_H

#include <vmlinux.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "hosts/linux/environment.bpf.h"
#include "hosts/linux/kernels.bpf.h"

#include "core/hyperperiod.h"
#include "hosts/linux/shared.h"

/* Zero, which the verifier must not know (environment.bpf.h). */
volatile hp_u64 hp_zero SEC(".bss.zero");

/* Set before the object is loaded: what the verifier must not see is not looked at then. */
const volatile hp_u32 lx_by_threads SEC(".rodata.by_threads");

/* What user space sets before the scheduler is attached, and reads afterwards. */
struct lx_state lx SEC(".data.state") = {.layout = LX_LAYOUT};

/* Who was robbed, and since when. */
struct theft {
    hp_u64 from_ns;
    hp_u32 victim; /* its number, or LX_NOBODY */
    hp_u32 unused;
};

/*
 * The periods of a server (lx_usage). One whose budget is used up ends there and then, for its end
 * is known, and what the next one has; all others are looked after when the server pays, goes to
 * sleep, or is looked at. Whole ones are counted then, or when it goes to sleep.
 */
struct supply {
    hp_u64 end_ns;    /* of the period that is not looked after yet; or HP_NEVER: there is none */
    hp_u64 base_ns;   /* what it had used in all (used_ns) when the budget of that came */
    hp_u64 first_ns;  /* if it has work, it has had some, and the same parameters, since then: the
                         begin of a period, up to which whole ones are counted; or HP_NEVER */
    hp_u64 period_ns; /* of those after that one; 0: its budget has no such periods */
    hp_u64 budget_ns;
};

struct served {
    struct lx_usage usage;
    struct supply supply;
};

/* A lock domain: one cpu, or all that are managed under a global policy. */
struct lock_domain {
    hp_u32 held;     /* the lock: 1 while somebody is in the core */
    hp_u32 given_up; /* nobody waits for it any more */
    struct lx_policy policy;
    hp_u64 picked_ns[HP_PCPUS]; /* when the grant of a pcpu was made, or last accounted */
    struct theft theft[HP_PCPUS];
    struct served served[HP_VCPUS];
    struct lx_waits waits[HP_VCPUS]; /* but for `depleted` written without the lock */
    struct hp_core core;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LX_CPUS);
    __type(key, hp_u32);
    __type(value, struct lock_domain);
} lock_domains SEC(".maps");

/* What belongs to a cpu, by its number. Only code on that cpu writes it, but for what says so. */
struct managed {
    struct bpf_timer timer;
    hp_u64 armed_ns;   /* when the timer fires, or HP_NEVER */
    hp_u64 fired_ns;   /* when it did, if the pick that it asked for has not been made; or 0 */
    hp_u64 lead_ns;    /* so long before the end of a budget it fires */
    hp_u64 picked_ns;  /* when the grant was made */
    hp_u64 until_ns;   /* when it ends */
    hp_u64 alarm_ns;   /* when somebody's budget comes back next, as of that pick */
    hp_u64 free_ns;    /* since when a server has time that nobody was promised, if it has */
    hp_u64 rest_ns;    /* so much of that until the background has a turn in it */
    hp_u64 alien_ns;   /* since when it runs what nobody granted, one after the other; or 0 */
    hp_u64 rung_ns;    /* when its bell rang, if the thread that it wakes has not looked; or 0 */
    hp_u64 key;        /* the place in its queue of the thread that runs */
    hp_u64 virtual_ns; /* of the background's time, as it is here; written by anybody */
    hp_u64 turn_ns;    /* so long the background's turn is at most */
    hp_u32 pick_owed;  /* dispatch has been asked for; written by anybody */
    hp_u32 look_owed;  /* so has a look at all queues; written by anybody */
    hp_u32 place;      /* or LX_NOBODY if it is not managed; under the lock, if it changes */
    hp_u32 granted;    /* the server (id) that it was granted to, or LX_NOBODY */
    hp_u32 payer;      /* of that grant, as the core has it */
    hp_u32 running;    /* the server (id) whose thread runs, or LX_NOBODY */
    hp_u32 context; /* the server (id) whose context is here since the last switch, or LX_NOBODY */
    hp_u32 ender;   /* the thread of user space that ends its grants, if one does */
    hp_u32 is_away; /* it is offline, or on the way there, or from there */
    hp_u32 is_stolen;
    hp_u32 is_lent; /* the background has a turn in time that nobody was promised */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LX_CPUS);
    __type(key, hp_u32);
    __type(value, struct managed);
} cpus SEC(".maps");

/* Wakes the thread that ends the grants of a cpu, if one does: it looks again. */
struct bell {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, LX_BELL_BYTES);
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, LX_CPUS);
    __type(key, hp_u32);
    __array(values, struct bell);
} bells SEC(".maps");

#define WHOLE_CPU (1u << 20)

/* The queues beside those of servers, which have their ids. */
#define BACKGROUND (1ull << 32)       /* of the threads without a server: one for each cache */
#define HELD (BACKGROUND + LX_CACHES) /* and of those that a limit keeps waiting */

/* A server, by its id; what the core knows of it is in its lock domain. */
struct server {
    hp_u32 present;
    hp_u32 inside;
    hp_u32 birth; /* which of those that have had this id */
    hp_u32 priority;
    hp_u32 flags;
    hp_u32 share; /* of a cpu, in units of 1 / WHOLE_CPU, rounded up */
    hp_u32 weight;
    hp_u64 period_ns;
    hp_u64 budget_ns;
    hp_u64 cpus; /* that it may run on, as a mask of their numbers; 0: all that are managed */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LX_SERVERS);
    __type(key, hp_u32);
    __type(value, struct server);
} servers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LX_GROUPS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, hp_u64); /* a cgroup's id */
    __type(value, hp_u32);
} server_of_cgroup SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LX_THREADS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, hp_u32); /* the id of a thread, or of a process */
    __type(value, struct lx_thread);
} server_of_thread SEC(".maps");

/* What is known of a thread; written under the lock of the run queue that it is on. */
struct thread {
    hp_u32 server;     /* its id, or LX_NOBODY */
    hp_u32 generation; /* when that was looked up (lx_state) */
    hp_u32 counted;    /* the server (id) that knows that it wants to run, or LX_NOBODY */
    hp_u32 birth;      /* of that server */
    hp_u64 group;      /* the cgroup (id) that it was in when its server was looked up */
    hp_u64 key;        /* as struct lx_thread has it */
    hp_u64 place;      /* among the threads of its server, the lowest first */
    hp_u64 woke_ns;    /* since when it waits for a cpu in that server, after it slept; or 0 */
    hp_u32 is_out;     /* it was sent out, and has not run since then (kernels before 7.1) */

    /* In the background (background.bpf.h). */
    hp_u64 in;         /* the cgroup (id) in which it shares the cpus */
    hp_u64 share;      /* in the turn that it has or had last, or 0: it had none */
    hp_u64 virtual_ns; /* what it had, divided by its share */
    hp_u64 charged_ns; /* up to where of its running time that is counted */
    hp_u64 held_ns;    /* since when limits keep it waiting, or 0 */
    hp_u32 weight;     /* with which it wants to run, or 0 */
    hp_u32 cpu;        /* of which its virtual time is */
    hp_u32 is_placed;  /* it is idle, and was chosen for the thread */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

/* A cgroup, by its id, as the background shares cpus. */
struct group {
    hp_u64 around;   /* the cgroup (id) around it, or 0 */
    hp_u64 weight;   /* its own, as that of a thread */
    hp_u64 counted;  /* of that, what is in the sum of the one around it */
    hp_u64 sum;      /* weights of the threads and cgroups in it that want to run */
    hp_u64 quota_ns; /* its limit in each period, or 0: it has none */
    hp_u64 period_ns;
    hp_u64 had_ns; /* of the limit, in this period; also above it */
    hp_u64 due_ns; /* when this period is over */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LX_SHARING_GROUPS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, hp_u64); /* a cgroup's id */
    __type(value, struct group);
} groups SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LX_CPUS);
    __type(key, hp_u32);
    __type(value, struct lx_ring);
} rings SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, LX_WISHES_BYTES);
} wishes SEC(".maps");

static __always_inline struct lock_domain *domain_by(hp_u32 lock) {
    return bpf_map_lookup_elem(&lock_domains, &lock);
}

/* The cpu of this number, which may have no place: it is not managed, or offline. */
static __always_inline struct managed *any_cpu(hp_u32 number) {
    return bpf_map_lookup_elem(&cpus, &number);
}

/* The cpu of this number, if it has a place. */
static __always_inline struct managed *cpu_by(hp_u32 number) {
    struct managed *cpu = any_cpu(number);

    return cpu && cpu->place != LX_NOBODY ? cpu : 0;
}

/* The server of this id, if there is one. */
static __always_inline struct server *server_by(hp_u32 id) {
    struct server *server = bpf_map_lookup_elem(&servers, &id);

    return server && server->present ? server : 0;
}

static __always_inline struct thread *thread_of(struct task_struct *p) {
    return bpf_task_storage_get(&threads, p, 0, 0);
}

/* The lock domain of a place, and the number of its pcpu there. */
static __always_inline hp_u32 lock_at(hp_u32 place) {
    return lx.global ? 0 : place;
}

static __always_inline hp_u32 pcpu_at(hp_u32 place) {
    return lx.global ? place : 0;
}

/* Server ids in use are below this. */
static __always_inline hp_u32 ids(void) {
    return LX_ID(lx.global ? 1 : lx.places, 0);
}

/* The cpu at a place. */
static __always_inline hp_u32 cpu_at(hp_u32 place) {
    return lx.cpu_at[HP_INDEX(place, LX_CPUS)];
}

/*
 * So long before the end of the grant the timer fires. From there to the pick is a way: that is
 * what it took at least, lately. Where a budget comes back it is nothing: the thread that is to
 * have that may wake up at this instant, by a timer of its own, and a pick that came first would
 * take it for asleep.
 */
static __always_inline hp_u64 lead_of(const struct managed *cpu) {
    return cpu->until_ns >= cpu->alarm_ns ? 0 : cpu->lead_ns;
}

/* The last cache of a cpu, by its number. */
static __always_inline hp_u32 cache_of(hp_u32 number) {
    return number < LX_CPUS ? lx.cache_of[HP_INDEX(number, LX_CPUS)] : 0;
}

/* Whether a server has time that nobody was promised: none pays for it. */
static __always_inline bool is_free(const struct managed *cpu) {
    return cpu->granted != LX_NOBODY && cpu->payer >= HP_VCPUS;
}

/* Whether a server of a global policy may run on this cpu. */
static __always_inline bool may_have(const struct server *server, hp_u32 number) {
    return !server->cpus || server->cpus >> (number % LX_CPUS) & 1;
}

#endif
