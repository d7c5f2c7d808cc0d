/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the BPF programs of the Linux host and user space agree on.
 *
 * Words. A *lock domain* is one cpu under a partitioned policy, all managed cpus under a global
 * one. A *place* is a managed cpu's number among them: under a partitioned policy it is also the
 * number of its lock domain. A server's id is LX_ID(lock domain, its number there).
 *
 * Before the object is loaded, user space sets how many entries the maps `lock_domains` and
 * `rings` have: as many as there are lock domains (one ring will do if nothing is recorded).
 * After that, and before the first request, it fills in the state (the section `.data.state`, a
 * struct lx_state, which is mapped): which cpus are managed, and the instant that is the core's
 * time 0. It reads there whether the scheduler is attached, and why it is not any more.
 *
 * Everything else that user space wants is a request: a program that BPF_PROG_TEST_RUN runs, with
 * one of the structures below as its context. What the program returns is 0, or one of the core's
 * errors (core/types.h), above 0, or an errno, below 0. Requests are legal whether the scheduler is
 * attached or not, lx_start only while it is not.
 *
 *   lx_start    struct lx_start    makes a lock domain, without servers: once for each
 *   lx_set      struct lx_set      adds a server, or gives one that is there other parameters
 *   lx_remove   struct lx_name     the server is gone; its threads are background
 *   lx_swap     struct lx_swap     another policy, for one lock domain
 *   lx_spare    struct lx_spare    other parameters of the spare
 *   lx_look     struct lx_look     what a server has had so far
 *   lx_refresh  struct lx_name     threads look anew which server they belong to
 *
 * Which threads a server has is said by two maps, which user space writes: `server_of_cgroup`, from
 * a cgroup's id (the inode of its folder) to a server's id, for all threads in it and below; and
 * `server_of_thread`, from a thread's id to a struct lx_thread, which comes first. A thread looks
 * there when it wakes up, or is put back into a queue; after lx_refresh all threads do at once.
 * What somebody writes to cpu.max of a cgroup in that map is a wish for its server: a struct
 * lx_wish in the ring `wishes`, which user space grants or not.
 *
 * Where no program may have a timer user space sets the word `.rodata.by_threads` before the object
 * is loaded, and has a thread on each managed cpu run the program `hyperperiod_end` with a struct
 * lx_end: at once, at the instant that this says, and when there is something in the ring that it
 * has put into the map `bells` for that cpu.
 *
 * The scheduler is attached by linking the map `hyperperiod_ops`, and the program
 * `hyperperiod_switch`, which watches the kernel's switches: both, or stolen time is paid for by
 * those that it was stolen from. Whoever dies while it is attached takes the links along, and the
 * kernel's own scheduler goes on; unless links, programs and maps are pinned: then all goes on, and
 * somebody else may take over who knows the same layout.
 *
 * Each ring is a header and records as in record/ring.h, in an array that is mapped: entry i is
 * that of lock domain i, whose calls of the core it holds, all that change anything, in their
 * order, with every answer of a pick.
 */
#ifndef HYPERPERIOD_LINUX_SHARED_H
#define HYPERPERIOD_LINUX_SHARED_H

#include "record/ring.h"

/* Of all that is here and in the records (record/ring.h), of the maps' names and of what requests
 * mean: to be counted up with any change of these. */
#define LX_LAYOUT 3u

#define LX_CPUS 64u /* cpus with a higher number are not managed */
#define LX_SERVERS_PER_LOCK 64u
#define LX_SERVERS (LX_CPUS * LX_SERVERS_PER_LOCK)
#define LX_GROUPS 4096u          /* cgroups that have a server */
#define LX_SHARING_GROUPS 65536u /* cgroups that share what servers leave */
#define LX_THREADS 65536u        /* threads that have one */
#define LX_RECORDS 131072u       /* of a ring */
#define LX_CACHES 16u            /* of which the background has a queue each */
#define LX_NOBODY 0xffffffffu    /* no server, no cpu */
#define LX_WISHES_BYTES 4096u    /* of a ring: a page */
#define LX_BELL_BYTES 4096u      /* the same */
#define LX_WAITS 24u             /* classes of waits by their length */
#define LX_SHORT_PARTS 1000u     /* a period that leaves more than one of a budget's is short */

#define LX_ID(lock, number) ((lock) * LX_SERVERS_PER_LOCK + (number))
#define LX_LOCK_OF(id) ((id) / LX_SERVERS_PER_LOCK)
#define LX_NUMBER_OF(id) ((id) % LX_SERVERS_PER_LOCK)

/* Which thread of a server is first. */
enum lx_inside {
    LX_FIFO,  /* in the order in which they woke up, each until it sleeps */
    LX_FP,    /* by priority, the lowest number first; equal ones as under LX_FIFO */
    LX_EDF,   /* by deadline: a thread's is so long after it woke up */
    LX_TURNS, /* in turns: for threads that know nothing of one another */
    LX_INSIDES,
};

/* The length of a turn, of background too. It ends at a tick of the kernel. */
#define LX_TURN_NS 1000000ull

/*
 * So much of the background's time it takes until each of its threads has had a turn, which is as
 * great a part of it as its share of the cpu. Where the share is small turns are short, and end by
 * a timer; not below the least. Of a cpu of which servers have 19/20, as much as they may, a round
 * is 20 s: less than the kernel lets a thread wait. So it is with a tenth of that, where servers
 * take what is free.
 */
#define LX_ROUND_NS 1000000000ull
#define LX_FREE_ROUND_NS 100000000ull
#define LX_FEW 100u
#define LX_LEAST_TURN_NS 20000ull

/* In time that nobody was promised, and that servers have because they can do with more (best
 * effort, extra), background has a tenth: after a turn it rests for so many times what it had of
 * it. One that is shorter, because its threads go to sleep, counts as a short turn. */
#define LX_RESTS 9u
#define LX_SHORT_TURN_NS 100000ull

/*
 * The state, which is mapped.
 *
 * When a cpu goes offline, a partitioned lock domain is parked: the threads of its servers are
 * background, and the servers' again when the cpu is back. A global one goes on with a place less,
 * the last of which takes over the number of the one that is gone; so cpu_at changes. There servers
 * are parked for which the cpus that stay have no room: those are kept that come first by number,
 * as long as a twentieth of a cpu is left.
 */
struct lx_state {
    unsigned int layout; /* LX_LAYOUT of the programs; first in every layout */
    unsigned int build;  /* which object file they are of: set by user space, for itself */

    /* Set by user space before the first request. */
    unsigned long long base_ns;   /* CLOCK_MONOTONIC at the core's time 0, which lasts until then */
    unsigned int global;          /* all managed cpus are one lock domain */
    unsigned int places;          /* how many cpus are managed; if global: and online */
    unsigned int cpu_at[LX_CPUS]; /* the cpu at a place */
    unsigned int place_of[LX_CPUS]; /* the place of a cpu, or LX_NOBODY */
    unsigned int caches;            /* of cpus, each shared by some; at most LX_CACHES count */
    unsigned int cache_of[LX_CPUS]; /* the one that a cpu has, below LX_CACHES */

    /* Set by user space at any time. What is not recorded cannot be replayed. */
    unsigned int recording;

    /* Set by the programs. */
    unsigned int attached;
    unsigned int generation; /* of what threads belong to: counted up by lx_refresh */
    unsigned int unused;
    unsigned long long parked; /* lock domains, or if global servers, as a mask (see above) */
    unsigned long long strays; /* times that a thread was found to be kept from its server's cpu */
    unsigned long long rounds; /* most that anybody waited for a lock, in looks at it */
    unsigned long long lost;   /* values of cpu.max that the ring of wishes had no room for */
    unsigned long long exit_kind; /* why the kernel has ended it: enum scx_exit_kind, or 0 */
    char exit_reason[128];
    char exit_text[1024];
};

/* The server of a thread. */
struct lx_thread {
    unsigned int server; /* its id, or LX_NOBODY: none, whatever its cgroup says */
    unsigned int whole; /* the id is a process's: all its threads that have no entry of their own */
    /* FP: its priority, below 32768, 0 is first; EDF: its deadline in ns after it woke up.
     * LX_OWN: as the kernel has its nice value, or the period of the server. */
    unsigned long long key;
};

#define LX_OWN (~0ull)

struct lx_ring {
    struct hp_ring head;
    struct hp_record records[LX_RECORDS];
};

/* The rules of a policy: enum hp_budget, hp_order, hp_slack. */
struct lx_policy {
    unsigned int budget;
    unsigned int order;
    unsigned int slack;
};

struct lx_start {
    unsigned int lock;
    struct lx_policy policy;
    unsigned long long quantum_ns;
    unsigned long long decision_ns; /* what a decision takes here, or 0 (hp_config) */
    unsigned long long spare_period_ns;
    unsigned long long spare_budget_ns;
};

struct lx_set {
    unsigned int server;
    unsigned int inside; /* enum lx_inside */
    unsigned int priority;
    unsigned int flags;  /* HP_BEST_EFFORT, HP_EXTRA */
    unsigned int weight; /* of best effort */
    unsigned int unused;
    unsigned long long period_ns;
    unsigned long long budget_ns;
    unsigned long long cpus; /* under a global policy: those that it may run on; 0: all */
};

struct lx_name {
    unsigned int server;
    unsigned int unused;
};

struct lx_swap {
    unsigned int lock;
    struct lx_policy policy;
};

struct lx_spare {
    unsigned int lock;
    unsigned int unused;
    unsigned long long period_ns;
    unsigned long long budget_ns;
};

/* The thread that ends the grants of this cpu looks when it has to do so next. */
struct lx_end {
    unsigned int cpu;
    unsigned int unused;
    unsigned long long next_ns; /* CLOCK_MONOTONIC, or 0: when its bell rings */
};

/* A budget that somebody has written to cpu.max of a server's cgroup. */
struct lx_wish {
    unsigned int server;
    unsigned int unused;
    unsigned long long period_ns;
    unsigned long long budget_ns;
};

/*
 * How late the threads of a server ran since it was added. A wait begins where the kernel puts a
 * thread that slept into the server's queue, and ends where it gives the thread a cpu, just before
 * it switches there. A wait in which the thread's server, class, cgroup, nice value or affinity
 * changes is none, nor is one that begins before the core's time does. That a thread found no
 * budget left (best effort has none) is counted when it wakes up, all else when it runs.
 */
struct lx_waits {
    unsigned long long depleted; /* wake-ups that found no budget left */
    unsigned long long total_ns;
    unsigned long long max_ns;
    /* Waits of 2^10 ns (1 us) at most, then of twice that at most, and so on; in the last one (8.6
     * s) also all that are longer. */
    unsigned long long counts[LX_WAITS];
};

/*
 * What a server has had since it was added. A whole period is one of its own, from one deadline to
 * the next, in which it had work from beginning to end. It is short if more than a thousandth of
 * its budget is left at its end, also if that was less than its budget from the beginning, because
 * it had used of it before (a debt). Budgets that do not come back whole at deadlines (sporadic,
 * slices), and best effort, have no such periods; nor is one in which parameters change.
 */
struct lx_usage {
    unsigned long long used_ns;        /* that it paid for, of its own budget */
    unsigned long long donated_ns;     /* of that: others ran */
    unsigned long long extra_ns;       /* that it ran without paying, or on an extra level */
    unsigned long long stolen_ns;      /* its cpu was somebody else's while it was its turn */
    unsigned long long overrun_ns;     /* debts that late picks left behind */
    unsigned long long overrun_ns_max; /* the greatest of them */
    unsigned int overruns;
    unsigned int thefts;
    unsigned int arrivals;          /* times that it got work */
    unsigned int threads;           /* that want to run, now */
    unsigned long long periods;     /* that were whole */
    unsigned long long shorts;      /* of these, those that were short */
    unsigned long long supplied_ns; /* least of its budget that it had by the end of one of them */
};

struct lx_look {
    unsigned int server;
    unsigned int present;
    struct lx_set asked;     /* what it was given last */
    struct lx_policy policy; /* of its lock domain */
    unsigned int unused2;
    unsigned long long now_ns; /* of the look, in the core's time */
    long long remaining_ns;    /* of its budget; below 0: its debt */
    unsigned int runs_at;      /* the cpu that is granted to it now, or LX_NOBODY */
    unsigned int unused;
    struct lx_usage usage;
    struct lx_waits waits;
};

#endif
