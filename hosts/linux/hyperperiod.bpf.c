// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hyperperiod's core as a sched_ext scheduler: servers above, threads inside.
 *
 * The core (core/hyperperiod.h) says whose turn it is on each pcpu, who pays and until when. This
 * file tells it the time and which servers have threads that want to run, and does what it says:
 * it decides nothing but which thread of a server is first. User space says by requests
 * (requests.bpf.h) which servers there are.
 *
 * Threads of a server wait in a queue of its own; all others are background (background.bpf.h),
 * which has the time that no server was granted. A grant ends by a timer of its cpu, whose callback
 * does nothing but ask for a decision: every pick is made in dispatch.
 *
 * The kernel's switches are watched. While a thread of a higher class, or one that the kernel has
 * bound to its cpu, runs where a server was granted the cpu, the core is told that the pcpu is
 * stolen: nobody pays for that time.
 */
#include "hosts/linux/background.bpf.h"
#include "hosts/linux/requests.bpf.h"

char _license[] SEC("license") = "GPL";

#define CLOCK_MONOTONIC 1
#define FIRST_ORDINARY_PRIO 100 /* the kernel's number: those below are of higher classes */

/* So soon dispatch is asked for again: a granted server that says it has work, and has nobody in
 * its queue, may get a thread that another cpu is about to put there. */
#define LOOK_AGAIN_NS 100000ull

/* --- the end of a grant --------------------------------------------------------------------- */

/* The way from the timer to the pick is so long at most, by a thread twice that; "lately" means so
 * many picks. */
#define LEAD_LIMIT_NS 10000ull
#define LATELY 32u

static __always_inline hp_u64 lead_limit_ns(void) {
    return lx_by_threads ? 2 * LEAD_LIMIT_NS : LEAD_LIMIT_NS;
}

/* When the timer has to fire, in time for a pick where the grant ends. */
static __always_inline hp_u64 alert_ns(const struct managed *cpu) {
    return cpu->until_ns - hp_min(cpu->until_ns, lead_of(cpu));
}

/* The thread that ends the grants of this cpu is to look again. That may be in vain: then it has
 * not looked since it was asked last. */
static __always_inline void ring_bell(void) {
    const hp_u32 number = bpf_get_smp_processor_id();
    void *bell = bpf_map_lookup_elem(&bells, &number);
    hp_u64 nothing = 0;

    if (bell)
        bpf_ringbuf_output(bell, &nothing, sizeof(nothing), 0);
}

/* Has the timer fire then. */
static __always_inline void start_timer(struct managed *cpu) {
    cpu->armed_ns = alert_ns(cpu);
    if (lx_by_threads) {
        cpu->rung_ns = core_time();
        ring_bell();
    } else if (bpf_timer_start(&cpu->timer, cpu->armed_ns + lx.base_ns,
                               BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN)) {
        FAIL("a timer could not be started");
    }
}

/* A timer fires in time for the end of the grant, or before: then it is set again. */
static int time_is_up(void *map, hp_u32 *number, struct managed *cpu) {
    const hp_u64 armed_ns = cpu->armed_ns;

    (void)map;
    cpu->armed_ns = HP_NEVER;
    if (cpu->until_ns < HP_NEVER - lx.base_ns && core_time() + lead_of(cpu) < cpu->until_ns) {
        start_timer(cpu);
        return 0;
    }
    cpu->fired_ns = cpu->is_stolen ? 0 : armed_ns;
    cpu->pick_owed = 1;
    scx_bpf_kick_cpu((s32)*number, SCX_KICK_PREEMPT);
    return 0;
}

/* The timer fires in time for the grant's end at the latest: to set it back would cost more. */
static __always_inline void arm(struct managed *cpu) {
    if (cpu->until_ns >= HP_NEVER - lx.base_ns || alert_ns(cpu) >= cpu->armed_ns || is_dying())
        return;
    start_timer(cpu);
}

/* At the pick that the timer asked for: what the way to it took. By a thread it differs more, and
 * what it took at most is learnt: what is left is waited for. */
static __always_inline void learn_lead(struct managed *cpu) {
    const hp_u64 took_ns = hp_min(core_time() - cpu->fired_ns, lead_limit_ns());

    if (lx_by_threads)
        cpu->lead_ns = hp_max(took_ns, cpu->lead_ns - cpu->lead_ns / LATELY);
    else if (took_ns < cpu->lead_ns || cpu->lead_ns == 0)
        cpu->lead_ns = took_ns;
    else
        cpu->lead_ns += (took_ns - cpu->lead_ns) / LATELY;
}

/* A way that took less than others ends before the grant does: that is waited for. */
#define LOOKS 1024u

static __always_inline void wait_for_end(const struct managed *cpu) {
    const hp_u64 limit_ns = lead_limit_ns();

    HP_FOR (look, LOOKS) {
        if (core_time() + limit_ns < cpu->until_ns || core_time() >= cpu->until_ns)
            break;
    }
}

/* --- threads of the kernel's own ------------------------------------------------------------ */

/*
 * How long (ns) they may go on where they run, at least 1: as much as the kernel's slices are long
 * since they, or a higher class, got the cpu from others. Then a grant comes in between, so that
 * one that does not sleep, as under a flood of packets, does not keep servers waiting for ever.
 */
static __always_inline hp_u64 kernels_rest(const struct managed *cpu) {
    const hp_u64 had_ns = cpu->alien_ns ? core_time() - cpu->alien_ns : 0;

    return had_ns < SCX_SLICE_DFL ? SCX_SLICE_DFL - had_ns : 1;
}

/*
 * The kernel's own threads come before all that has been granted. Dispatch is not asked for while
 * another one of them waits here: so where they have had enough it is asked for again, soon.
 */
static __always_inline void enqueue_kernels_own(struct task_struct *p, u64 enq_flags) {
    struct managed *cpu = any_cpu((hp_u32)scx_bpf_task_cpu(p));
    const hp_u64 rest_ns = cpu ? kernels_rest(cpu) : SCX_SLICE_DFL;

    scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, rest_ns, enq_flags | SCX_ENQ_PREEMPT);
    if (cpu && rest_ns == 1 && (struct task_struct *)bpf_get_current_task_btf() == p) {
        cpu->until_ns = core_time() + LOOK_AGAIN_NS;
        arm(cpu);
    }
}

/* --- the operations of sched_ext ------------------------------------------------------------ */

SEC("struct_ops/hyperperiod_select_cpu")
s32 BPF_PROG(hyperperiod_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags) {
    struct thread *thread = thread_of(p);
    bool is_idle = false;

    if (!thread || thread->server == LX_NOBODY) {
        prev_cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
        if (thread)
            thread->is_placed = is_idle;
        return prev_cpu;
    }
    if (!lx.global) {
        const hp_u32 home = cpu_at(LX_LOCK_OF(thread->server));

        if (bpf_cpumask_test_cpu(home, p->cpus_ptr))
            return (s32)home;
    }
    return prev_cpu;
}

/* This cpu looks at those who are held when the first of them may run, if it has a timer. */
static __always_inline bool look_at(hp_u64 until_ns) {
    struct managed *cpu = any_cpu(bpf_get_smp_processor_id());

    if (!cpu)
        return false;
    cpu->until_ns = hp_min(cpu->until_ns, until_ns);
    arm(cpu);
    return true;
}

/* Wakes a cpu that is idle and that this thread may run on. Returns whether there is one. */
static __always_inline bool wake_idle(struct task_struct *p) {
    const s32 idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

    if (idle >= 0)
        kick(idle, SCX_KICK_IDLE);
    return idle >= 0;
}

/* Has a cpu look at the background's queue, of which this thread is now: an idle one, or one that
 * runs a thread which comes well after it. */
static __always_inline void ask_for_background(struct task_struct *p, const struct thread *thread,
                                               const struct managed *cpu, bool wakes) {
    /* The kernel wakes the cpu that it has chosen for a thread. */
    if (thread->is_placed || wake_idle(p))
        return;
    if (wakes && cpu && cpu->running == LX_NOBODY && cpu->granted == LX_NOBODY && !cpu->is_stolen
        && !cpu->is_lent && thread->virtual_ns + AHEAD_NS < cpu->key)
        kick(scx_bpf_task_cpu(p), SCX_KICK_PREEMPT);
}

static __always_inline void enqueue_background(struct task_struct *p, struct thread *thread,
                                               bool is_new, u64 enq_flags) {
    struct managed *cpu = any_cpu((hp_u32)scx_bpf_task_cpu(p));
    hp_u64 until_ns;

    charge(p, thread, cpu);
    join_background(p, thread);
    take_place(p, thread, cpu, is_new);
    until_ns = held_until(thread);
    if (until_ns && look_at(until_ns)) {
        scx_bpf_dsq_insert_vtime(p, HELD, LX_TURN_NS, until_ns, enq_flags);
    } else {
        scx_bpf_dsq_insert_vtime(p, queue_of(p), LX_TURN_NS, thread->virtual_ns, enq_flags);
        ask_for_background(p, thread, cpu, enq_flags & SCX_ENQ_WAKEUP);
    }
    thread->is_placed = 0;
}

/* A cpu may have the server's grant already, and idle or run a thread that comes after this one. */
static __always_inline void ask_for(hp_u32 id, hp_u64 thread_place) {
    HP_FOR (place, LX_CPUS) {
        const hp_u32 number = cpu_at(lx.global ? place : LX_LOCK_OF(id));
        const struct managed *cpu = cpu_by(number);

        if (place >= lx.places)
            break;
        if (cpu && cpu->granted == id && (cpu->running != id || thread_place < cpu->key))
            ask(number);
        if (!lx.global)
            break;
    }
}

SEC("struct_ops/hyperperiod_enqueue")
void BPF_PROG(hyperperiod_enqueue, struct task_struct *p, u64 enq_flags) {
    struct thread *thread = thread_of(p);
    struct server *server;
    bool is_new;

    if (is_kernels_own(p)) {
        enqueue_kernels_own(p, enq_flags);
        return;
    }
    if (!thread) {
        scx_bpf_dsq_insert_vtime(p, queue_of(p), LX_TURN_NS, 0, enq_flags);
        return;
    }
    is_new = thread->generation != lx.generation;
    server = join_server(p, thread, enq_flags & SCX_ENQ_WAKEUP);
    if (!server) {
        enqueue_background(p, thread, is_new, enq_flags);
        return;
    }
    leave_background(thread);
    thread->share = 0;
    thread->is_placed = 0;
    scx_bpf_dsq_insert_vtime(p, thread->counted,
                             server->inside == LX_TURNS ? LX_TURN_NS : SCX_SLICE_INF, thread->place,
                             enq_flags);
    /* Who is put back because another one runs now has been seen by the pick that said so. */
    if ((struct task_struct *)bpf_get_current_task_btf() != p)
        ask_for(thread->counted, thread->place);
}

/* The last thread of a server may sleep now, or change its class, its cgroup, its affinity. */
SEC("struct_ops/hyperperiod_quiescent")
void BPF_PROG(hyperperiod_quiescent, struct task_struct *p, u64 deq_flags) {
    struct thread *thread = thread_of(p);

    if (!thread)
        return;
    leave_server(thread, deq_flags & SCX_DEQ_SLEEP);
    leave_background(thread);
}

/* Whether the thread that ran may go on, as far as the kernel is concerned. */
static __always_inline bool may_go_on(const struct task_struct *prev) {
    return prev && prev->scx.flags & SCX_TASK_QUEUED;
}

/* Goes on with the thread that ran, unless one of its server comes before it; or takes the first.
 * Returns whether there is anybody. */
static __always_inline bool run_server(struct task_struct *prev, hp_u32 id) {
    const struct thread *last = may_go_on(prev) ? thread_of(prev) : 0;
    const struct server *server = server_by(id);

    if (last && server && last->counted == id) {
        const struct task_struct *first = dsq_peek(id);

        if (!first || (server->inside != LX_TURNS && first->scx.dsq_vtime >= last->place)) {
            set_slice(prev, server->inside == LX_TURNS ? LX_TURN_NS : SCX_SLICE_INF);
            return true;
        }
    }
    return scx_bpf_dsq_move_to_local(id);
}

/* Those who were held long enough are of the background's queue again. This cpu looks when the next
 * ones may be. */
VERB int let_go_held(hp_u32 number) {
    struct managed *cpu = any_cpu(number);
    const hp_u64 now_ns = core_time();
    struct bpf_iter_scx_dsq held;
    struct task_struct *p;

    bpf_iter_scx_dsq_new(&held, HELD, 0);
    while ((p = bpf_iter_scx_dsq_next(&held))) {
        const struct thread *thread = thread_of(p);

        if (p->scx.dsq_vtime > now_ns) {
            if (cpu)
                cpu->until_ns = hp_min(cpu->until_ns, p->scx.dsq_vtime);
            break;
        }
        scx_bpf_dsq_move_set_vtime(&held, thread ? thread->virtual_ns : 0);
        if (scx_bpf_dsq_move_vtime(&held, p, queue_of(p), 0))
            wake_idle(p);
    }
    bpf_iter_scx_dsq_destroy(&held);
    return 0;
}

/*
 * A thread of the background begins here, or goes on. Its turn ends by the timer where it is to be
 * shorter than ticks are apart, or than a limit allows.
 */
static __always_inline void begin_turn(struct managed *cpu, struct thread *thread) {
    const hp_u64 round_ns = cpu->is_lent ? LX_FREE_ROUND_NS : LX_ROUND_NS;
    hp_u64 turn_ns, rest_ns = HP_NEVER;

    thread->share = share_in(thread->in, thread->weight);
    turn_ns = hp_max(round_ns * thread->share / WHOLE_SHARE, LX_LEAST_TURN_NS);
    thread->virtual_ns = time_on(cpu, thread);
    cpu->virtual_ns = hp_max(cpu->virtual_ns, thread->virtual_ns);
    latest_ns = hp_max(latest_ns, cpu->virtual_ns);
    cpu->key = thread->virtual_ns;
    if (limits) {
        rest_ns = rest_of(thread->in);
        thread->held_ns = 0;
    }
    cpu->turn_ns = turn_ns;
    if (rest_ns == HP_NEVER && turn_ns >= LX_ROUND_NS / LX_FEW)
        return;
    turn_ns = hp_max(hp_min(turn_ns, rest_ns), LX_LEAST_TURN_NS);
    cpu->until_ns = hp_min(cpu->until_ns, core_time() + turn_ns);
    arm(cpu);
}

/* Whether the thread that ran is of the background, and goes on: nobody is before it. */
static __always_inline bool stays(struct managed *cpu, struct task_struct *prev) {
    struct thread *last = may_go_on(prev) ? thread_of(prev) : 0;

    if (!cpu || !last || !last->weight)
        return false;
    charge(prev, last, cpu);
    if (next_cache(cache_of(bpf_get_smp_processor_id()), last->virtual_ns) != NO_CACHE
        || held_until(last))
        return false;
    set_slice(prev, LX_TURN_NS);
    begin_turn(cpu, last);
    return true;
}

static __always_inline void run_background(struct managed *cpu, struct task_struct *prev) {
    struct thread *last;

    if (stays(cpu, prev) || take_background(bpf_get_smp_processor_id()) || !may_go_on(prev))
        return;
    last = thread_of(prev);
    if (!last || (last->counted == LX_NOBODY && !held_until(last)))
        set_slice(prev, LX_TURN_NS);
}

/* The core says when its grant is no longer right: until then it is as it was picked. */
static __always_inline bool has_to_pick(const struct managed *cpu) {
    return cpu->pick_owed || cpu->is_stolen || core_time() >= cpu->until_ns;
}

/* What a server has had of free time since the last pick counts until the next turn. */
static __always_inline void count_free(struct managed *cpu) {
    if (!is_free(cpu))
        return;
    cpu->rest_ns -= hp_min(cpu->rest_ns, core_time() - cpu->free_ns);
}

/* The background's turn is over: for what it had of it, it rests. */
static __always_inline void end_turn(struct managed *cpu) {
    if (cpu->is_lent)
        cpu->rest_ns =
            LX_RESTS * hp_max(core_time() - cpu->free_ns, hp_min(LX_SHORT_TURN_NS, cpu->turn_ns));
}

/* Nobody has what is stolen. */
static __always_inline void end_free(struct managed *cpu) {
    count_free(cpu);
    end_turn(cpu);
    cpu->granted = LX_NOBODY;
    cpu->is_lent = 0;
}

/*
 * Makes a grant. One that is shorter than the switch to its thread, with interrupts off, and the
 * way from its timer to the next pick would end late: it is waited for, and the next one is made.
 * The switch is taken to be as long as that way.
 */
static __always_inline hp_u64 pick_in_time(struct managed *cpu, hp_u32 number) {
    const hp_u64 others = pick(number);

    if (cpu->until_ns >= cpu->picked_ns + 2 * lead_of(cpu))
        return others;
    wait_for_end(cpu);
    return others | pick(number);
}

/*
 * Servers that take what others leave would leave nothing to the background. So in time that nobody
 * was promised it has a turn from time to time; else it waits, and is looked at when it may have
 * one. Returns whether it runs.
 */
static __always_inline bool has_turn(struct managed *cpu) {
    cpu->free_ns = core_time();
    if (cpu->rest_ns > 0 || !take_background(bpf_get_smp_processor_id())) {
        const hp_u64 rest_ns = cpu->rest_ns > 0 ? cpu->rest_ns : LX_RESTS * LX_TURN_NS;

        cpu->until_ns = hp_min(cpu->until_ns, cpu->free_ns + rest_ns);
        return false;
    }
    cpu->until_ns = hp_min(cpu->until_ns, cpu->free_ns + LX_TURN_NS);
    cpu->turn_ns = LX_LEAST_TURN_NS;
    cpu->granted = LX_NOBODY;
    cpu->is_lent = 1;
    return true;
}

/*
 * A thread of the kernel's own that a kick reached goes on: a grant that ends meanwhile was robbed,
 * and the next one would be as well.
 */
static __always_inline bool goes_on(const struct managed *cpu, struct task_struct *prev) {
    hp_u64 rest_ns;

    if (!cpu->is_stolen || !may_go_on(prev) || !is_kernels_own(prev))
        return false;
    rest_ns = kernels_rest(cpu);
    if (rest_ns > 1)
        set_slice(prev, rest_ns);
    return rest_ns > 1;
}

/* Whether a thread that waits would be counted elsewhere if it were put into a queue now. */
static __always_inline bool is_stranger(struct task_struct *p, const struct thread *thread) {
    const struct server *server;
    struct thread now;

    if (thread->generation == lx.generation)
        return false;
    now = *thread;
    look_up(p, &now);
    server = now.server == LX_NOBODY ? 0 : server_by(now.server);
    return now.server != now.counted || (server && server->birth != now.birth);
}

/*
 * Where the kernel does not put those who wait into queues anew, one that waits where it does not
 * belong any more runs for a moment: then it is put back.
 */
VERB int send_out(hp_u64 queue) {
    struct bpf_iter_scx_dsq waiting;
    struct task_struct *p;

    bpf_iter_scx_dsq_new(&waiting, queue, 0);
    while ((p = bpf_iter_scx_dsq_next(&waiting))) {
        struct thread *thread = thread_of(p);

        if (thread && is_stranger(p, thread)) {
            thread->is_out = 1;
            scx_bpf_dsq_move_set_slice(&waiting, LX_TURN_NS);
            scx_bpf_dsq_move(&waiting, p, SCX_DSQ_LOCAL_ON | (u64)scx_bpf_task_cpu(p), 0);
        }
    }
    bpf_iter_scx_dsq_destroy(&waiting);
    return 0;
}

static __always_inline void send_out_strangers(void) {
    HP_FOR (cache, lx.caches)
        send_out(BACKGROUND + cache);
    send_out(HELD);
    HP_FOR (id, LX_SERVERS) {
        if (id >= ids())
            break;
        if (has_existed(id))
            send_out(id);
    }
}

/* Whether a thread that begins to run was sent out: it is to be put back at once. */
static __always_inline bool was_sent_out(struct thread *thread) {
    if (can_refill() || !thread->is_out)
        return false;
    thread->is_out = 0;
    return true;
}

/* Makes the next grant, if this one is over. Whoever of the background ends its turn early ends it
 * for all. */
static __always_inline void decide(struct managed *cpu, hp_u32 number) {
    hp_u64 others;

    count_free(cpu);
    if (!has_to_pick(cpu) && !cpu->is_lent)
        return;
    cpu->pick_owed = 0;
    if (cpu->fired_ns) {
        learn_lead(cpu);
        wait_for_end(cpu);
        cpu->fired_ns = 0;
    }
    end_turn(cpu);
    others = pick_in_time(cpu, number);
    if (others)
        ask_all(lock_at(cpu->place), others);
}

SEC("struct_ops/hyperperiod_dispatch")
void BPF_PROG(hyperperiod_dispatch, s32 number, struct task_struct *prev) {
    struct managed *cpu = any_cpu((hp_u32)number);

    if (cpu && cpu->look_owed && !is_dying()) {
        cpu->look_owed = 0;
        if (can_refill())
            refill_queues();
        else
            send_out_strangers();
    }
    if (!cpu || cpu->place == LX_NOBODY) {
        if (cpu) {
            cpu->pick_owed = 0;
            cpu->until_ns = HP_NEVER;
        }
        if (dsq_peek(HELD))
            let_go_held((hp_u32)number);
        run_background(cpu, prev);
        if (cpu)
            arm(cpu);
        return;
    }
    if (goes_on(cpu, prev))
        return;
    decide(cpu, (hp_u32)number);
    if (dsq_peek(HELD))
        let_go_held((hp_u32)number);
    if (cpu->granted == LX_NOBODY)
        run_background(cpu, prev);
    else if ((!is_free(cpu) || !has_turn(cpu)) && !run_server(prev, cpu->granted))
        cpu->until_ns = hp_min(cpu->until_ns, core_time() + LOOK_AGAIN_NS);
    arm(cpu);
}

/*
 * A thread that a higher class has preempted lies at the head of its cpu's own queue, where a kick
 * does not reach it, and goes on without a pick: so it looks whether one is owed. The kernel's own
 * threads are short, and to kick them away would be for ever; and so it would be on a cpu on its
 * way to be online, which the kernel lets run threads, some of which it waits for, but has no
 * dispatch.
 */
SEC("struct_ops/hyperperiod_running")
void BPF_PROG(hyperperiod_running, struct task_struct *p) {
    const s32 number = scx_bpf_task_cpu(p);
    struct managed *cpu = any_cpu((hp_u32)number);
    struct thread *thread = thread_of(p);
    bool asks;

    if (!cpu || !thread)
        return;
    cpu->key = thread->place;
    cpu->running = thread->counted;
    if (thread->woke_ns) {
        count_wait(thread->counted, thread->woke_ns);
        thread->woke_ns = 0;
    }
    asks = was_sent_out(thread) || (cpu->pick_owed && !is_kernels_own(p));
    if (thread->weight) {
        asks = asks || held_until(thread);
        begin_turn(cpu, thread);
    }
    if (asks && !cpu->is_away)
        scx_bpf_kick_cpu(number, SCX_KICK_PREEMPT);
}

static __always_inline bool is_idle_thread(const struct task_struct *p) {
    return p->pid == 0;
}

static __always_inline bool is_of_higher_class(const struct task_struct *p) {
    return p->prio < FIRST_ORDINARY_PRIO;
}

/* Whether this thread ends the grants of this cpu, or is the kernel's that wakes that one up now.
 */
static __always_inline bool is_ender(const struct managed *cpu, const struct task_struct *p) {
    if (is_kernels_own(p))
        return cpu->rung_ns && core_time() - cpu->rung_ns < LOOK_AGAIN_NS;
    return (hp_u32)p->pid == cpu->ender;
}

/* Whether the cpu is the kernel's while this thread runs: it is of a higher class, or its own. What
 * ends a grant is part of that. */
static __always_inline bool is_alien(const struct managed *cpu, const struct task_struct *p) {
    if (lx_by_threads && is_ender(cpu, p))
        return false;
    return !is_idle_thread(p) && (is_of_higher_class(p) || is_kernels_own(p));
}

/*
 * Who runs from here on. A theft from nobody is told as well: what comes meanwhile waits for it.
 * Before the core's time begins there is none to take.
 */
static __always_inline void watch_thefts(struct managed *cpu, hp_u32 number,
                                         const struct task_struct *next) {
    const bool alien = is_alien(cpu, next);

    if (cpu->place == LX_NOBODY || !alien)
        cpu->alien_ns = 0;
    else if (!cpu->alien_ns)
        cpu->alien_ns = core_time();
    if (cpu->place == LX_NOBODY)
        return;
    if (alien && !cpu->is_stolen && core_time() > 0) {
        ask_all(lock_at(cpu->place), steal(number));
        end_free(cpu);
    } else if (!alien && cpu->is_stolen) {
        ask_all(lock_at(cpu->place), give_back(number));
    }
}

SEC("tp_btf/sched_switch")
int BPF_PROG(hyperperiod_switch, bool preempt, struct task_struct *prev, struct task_struct *next) {
    const hp_u32 number = bpf_get_smp_processor_id();
    struct managed *cpu = any_cpu(number);
    hp_u32 before;

    if (!cpu || !lx.attached)
        return 0;
    /* Of a thread that is ours, running has told. */
    if (is_idle_thread(next) || is_of_higher_class(next))
        cpu->running = LX_NOBODY;
    watch_thefts(cpu, number, next);
    before = cpu->context;
    cpu->context = cpu->running;
    if (lx.global && before != LX_NOBODY && before != cpu->context)
        ask_all(0, saved(before));
    return 0;
}

/*
 * A cpu that comes or goes is the kernel's. When the slice of its only thread is over there, the
 * kernel puts that into the cpu's own queue while the cpu is on its way to idle, and nobody would
 * wake it: so it is asked to look again.
 */
SEC("struct_ops/hyperperiod_update_idle")
void BPF_PROG(hyperperiod_update_idle, s32 number, bool idle) {
    if (idle && scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL) > 0)
        scx_bpf_kick_cpu(number, 0);
}

/*
 * By a thread of user space grants end where no program may have a timer: it runs this one when it
 * was told to, and when its bell rang. It makes the next grant itself, so that it knows until when
 * it may sleep; whoever goes on when it sleeps asks dispatch, which looks again. Interrupts are
 * off, as in dispatch. On another cpu, as while its own is offline, it waits for the bell.
 */
static __always_inline hp_u64 end_grant(hp_u32 number) {
    struct managed *cpu = cpu_by(number);
    hp_u64 armed_ns;

    if (!cpu || !lx.attached || number != bpf_get_smp_processor_id())
        return HP_NEVER;
    cpu->ender = (hp_u32)bpf_get_current_pid_tgid();
    cpu->rung_ns = 0;
    armed_ns = cpu->armed_ns;
    if (core_time() + lead_of(cpu) >= cpu->until_ns || cpu->pick_owed) {
        cpu->fired_ns = cpu->pick_owed ? 0 : armed_ns;
        cpu->pick_owed = 1;
        decide(cpu, number);
        cpu->free_ns = core_time();
        cpu->pick_owed = 1;
    }
    cpu->armed_ns = cpu->until_ns < HP_NEVER - lx.base_ns ? alert_ns(cpu) : HP_NEVER;
    return cpu->armed_ns;
}

/* Not loaded unless it is asked for. */
SEC("?syscall")
int hyperperiod_end(struct lx_end *to) {
    const hp_u32 number = to->cpu;
    unsigned long flags;
    hp_u64 next_ns;

    bpf_local_irq_save(&flags);
    next_ns = end_grant(number);
    bpf_local_irq_restore(&flags);
    to->next_ns = next_ns == HP_NEVER ? 0 : next_ns + lx.base_ns;
    return 0;
}

/* --- threads, cpus and the scheduler itself come and go --------------------------------------- */

SEC("struct_ops.s/hyperperiod_init_task")
s32 BPF_PROG(hyperperiod_init_task, struct task_struct *p, struct scx_init_task_args *args) {
    struct thread *thread = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

    if (!thread)
        return -12;
    thread->server = LX_NOBODY;
    thread->counted = LX_NOBODY;
    thread->generation = lx.generation - 1;
    thread->woke_ns = 0;
    thread->weight = 0;
    thread->share = 0;
    thread->held_ns = 0;
    thread->is_out = 0;
    return 0;
}

/* --- cgroups, as far as the background shares cpus by them -------------------------------------
 */

SEC("struct_ops.s/hyperperiod_cgroup_init")
s32 BPF_PROG(hyperperiod_cgroup_init, struct cgroup *group, struct scx_cgroup_init_args *args) {
    const struct cgroup *around = BPF_CORE_READ(group, self.parent, cgroup);
    struct group new = {0}, *made;
    hp_u64 id = group->kn->id;

    new.around = around ? BPF_CORE_READ(around, kn, id) : 0;
    new.weight = args->weight *WEIGHT_OF_100 / 100;
    if (bpf_map_update_elem(&groups, &id, &new, BPF_ANY))
        return 0;
    made = group_by(id);
    if (made)
        limit(made, first_period_us(args), first_quota_us(args));
    return 0;
}

SEC("struct_ops/hyperperiod_cgroup_exit")
void BPF_PROG(hyperperiod_cgroup_exit, struct cgroup *gone) {
    hp_u64 id = gone->kn->id;
    struct group *group = group_by(id);

    if (!group)
        return;
    limit(group, 0, ~0ull);
    group->weight = 0;
    count(id, 0);
    bpf_map_delete_elem(&groups, &id);
}

SEC("struct_ops/hyperperiod_cgroup_set_weight")
void BPF_PROG(hyperperiod_cgroup_set_weight, struct cgroup *changed, u32 weight) {
    const hp_u64 id = changed->kn->id;
    struct group *group = group_by(id);

    if (!group)
        return;
    group->weight = weight * WEIGHT_OF_100 / 100;
    count(id, 0);
}

/* Somebody says where a thread may run: it may belong to another server now, or to none. */
SEC("struct_ops/hyperperiod_set_cpumask")
void BPF_PROG(hyperperiod_set_cpumask, struct task_struct *p, const struct cpumask *allowed) {
    struct thread *thread = thread_of(p);

    if (thread)
        thread->generation = lx.generation - 1;
}

/* The kernel takes the thread out of its queue and puts it back, where it is looked up anew. */
SEC("struct_ops/hyperperiod_cgroup_move")
void BPF_PROG(hyperperiod_cgroup_move, struct task_struct *p, struct cgroup *from,
              struct cgroup *to) {
    struct thread *thread = thread_of(p);

    if (thread)
        thread->generation = lx.generation - 1;
}

/*
 * What is written to cpu.max is the limit of those in that cgroup that have no server. If it has
 * one that is a wish for the server as well; "max" leaves it as it is.
 */
SEC("struct_ops/hyperperiod_cgroup_set_bandwidth")
void BPF_PROG(hyperperiod_cgroup_set_bandwidth, struct cgroup *group, u64 period_us, u64 quota_us,
              u64 burst_us) {
    hp_u64 id = group->kn->id;
    const hp_u32 *number = bpf_map_lookup_elem(&server_of_cgroup, &id);
    const struct server *server = number ? server_by(*number) : 0;
    struct group *limited = group_by(id);
    struct lx_wish wish = {0};

    if (limited)
        limit(limited, period_us, quota_us);
    if (!server || quota_us == ~0ull || server->flags & HP_BEST_EFFORT)
        return;
    wish.server = *number;
    wish.period_ns = period_us * 1000;
    wish.budget_ns = quota_us * 1000;
    if (bpf_ringbuf_output(&wishes, &wish, sizeof(wish), 0))
        __sync_fetch_and_add(&lx.lost, 1);
}

/* Another thread may get its id: that one does not belong where this one did. A process has its id
 * until the last of its threads ends, which need not be the first. */
SEC("struct_ops/hyperperiod_exit_task")
void BPF_PROG(hyperperiod_exit_task, struct task_struct *p, struct scx_exit_task_args *args) {
    const hp_u32 id = (hp_u32)p->pid, process = (hp_u32)p->tgid;
    const struct lx_thread *entry = bpf_map_lookup_elem(&server_of_thread, &id);
    const bool is_last = BPF_CORE_READ(p, signal, live.counter) == 0;
    struct thread *thread = thread_of(p);

    if (thread)
        charge(p, thread, any_cpu((hp_u32)scx_bpf_task_cpu(p)));
    if (entry && (!entry->whole || is_last))
        bpf_map_delete_elem(&server_of_thread, &id);
    if (is_last && process != id)
        bpf_map_delete_elem(&server_of_thread, &process);
}

/*
 * Under a global policy all servers may keep the cpus that are there busy for ever: then nothing
 * else would run, and the kernel would end the scheduler. So those that have no room are parked,
 * the last first, unless all cpus are there, of which somebody has said that it is enough.
 */
static __noinline int park(void) {
    hp_u64 room = (hp_u64)lx.places * WHOLE_CPU - WHOLE_CPU / 20, parked = 0;
    hp_u32 managed = 0;

    HP_FOR (number, LX_CPUS)
        managed += lx.place_of[HP_INDEX(number, LX_CPUS)] != LX_NOBODY;
    HP_FOR (id, LX_SERVERS_PER_LOCK) {
        const struct server *server = server_by(id);

        if (!server || lx.places >= managed)
            continue;
        if (server->share > room)
            parked |= 1ull << (id % LX_SERVERS_PER_LOCK);
        else
            room -= server->share;
    }
    lx.parked = parked;
    return 0;
}

/*
 * A cpu is not there. Its servers' threads are background under a partitioned policy, and elsewhere
 * under a global one.
 */
static __always_inline void lose_cpu(hp_u32 number) {
    const struct managed *cpu = cpu_by(number);

    if (!cpu)
        return;
    if (lx.global) {
        ask_all(0, drop_cpu(number));
        park();
    } else {
        __sync_fetch_and_or(&lx.parked, 1ull << (cpu->place % LX_CPUS));
    }
}

/* A cpu goes. What waits for it is put into the queues anew. */
SEC("struct_ops/hyperperiod_cpu_offline")
void BPF_PROG(hyperperiod_cpu_offline, s32 number) {
    struct managed *cpu = any_cpu((hp_u32)number);

    if (cpu)
        cpu->is_away = 1;
    if (!cpu || cpu->place == LX_NOBODY)
        return;
    lose_cpu((hp_u32)number);
    refresh();
}

SEC("struct_ops/hyperperiod_cpu_online")
void BPF_PROG(hyperperiod_cpu_online, s32 number) {
    const hp_u32 place = lx.place_of[HP_INDEX((hp_u32)number, LX_CPUS)];
    struct managed *cpu = any_cpu((hp_u32)number);

    if (cpu)
        cpu->is_away = 0;
    if ((hp_u32)number >= LX_CPUS || place == LX_NOBODY)
        return;
    /* The thread that ends its grants was elsewhere, and waits for the bell. */
    if (lx_by_threads && cpu)
        cpu->armed_ns = HP_NEVER;
    if (lx.global) {
        ask_all(0, add_cpu((hp_u32)number));
        park();
    } else {
        __sync_fetch_and_and(&lx.parked, ~(1ull << (place % LX_CPUS)));
    }
    refresh();
}

/* The timer is there already if the scheduler was in force before. */
static __noinline int make_cpu(hp_u32 number) {
    struct managed *cpu = bpf_map_lookup_elem(&cpus, &number);
    long error;

    if (!cpu)
        return 0;
    cpu->armed_ns = HP_NEVER;
    cpu->fired_ns = 0;
    cpu->until_ns = HP_NEVER;
    cpu->alien_ns = 0;
    cpu->granted = LX_NOBODY;
    cpu->running = LX_NOBODY;
    cpu->context = LX_NOBODY;
    cpu->is_stolen = 0;
    cpu->is_lent = 0;
    cpu->rest_ns = 0;
    cpu->turn_ns = 0;
    cpu->virtual_ns = 0;
    cpu->look_owed = 0;
    cpu->rung_ns = 0;
    cpu->is_away = 0;
    cpu->pick_owed = 1;
    cpu->place = lx.place_of[HP_INDEX(number, LX_CPUS)];
    /* So it is waited for from the first time on. */
    if (lx_by_threads) {
        cpu->lead_ns = lead_limit_ns();
        return 0;
    }
    error = bpf_timer_init(&cpu->timer, &cpus, CLOCK_MONOTONIC);
    if (error && error != BUSY)
        return 1;
    return bpf_timer_set_callback(&cpu->timer, time_is_up) ? 1 : 0;
}

/* Those that are offline when the scheduler is put in force: they may come. */
static __always_inline void lose_absent_cpus(void) {
    const struct cpumask *online = scx_bpf_get_online_cpumask();

    HP_FOR (number, LX_CPUS) {
        struct managed *cpu = any_cpu(number);

        if (bpf_cpumask_test_cpu(number, online) || !cpu)
            continue;
        cpu->is_away = 1;
        lose_cpu(number);
    }
    scx_bpf_put_cpumask(online);
}

SEC("struct_ops.s/hyperperiod_init")
s32 BPF_PROG(hyperperiod_init) {
    s32 error = scx_bpf_create_dsq(HELD, -1);

    if (error)
        return error;
    HP_FOR (cache, lx.caches) {
        error = scx_bpf_create_dsq(BACKGROUND + cache, -1);
        if (error)
            return error;
    }
    HP_FOR (id, LX_SERVERS) {
        if (id >= ids())
            break;
        error = scx_bpf_create_dsq(id, -1);
        if (error)
            return error;
    }
    HP_FOR (number, LX_CPUS) {
        if (make_cpu(number))
            return -12;
    }
    lose_absent_cpus();
    lx.exit_kind = 0;
    lx.attached = 1;
    return 0;
}

SEC("struct_ops/hyperperiod_exit")
void BPF_PROG(hyperperiod_exit, struct scx_exit_info *info) {
    lx.exit_kind = info->kind;
    bpf_probe_read_kernel_str(lx.exit_reason, sizeof(lx.exit_reason), info->reason);
    bpf_probe_read_kernel_str(lx.exit_text, sizeof(lx.exit_text), info->msg);
    /* The daemon looks at this one first. */
    __sync_lock_test_and_set(&lx.attached, 0);
}

/* --- what the kernel writes down when it ends the scheduler, or is asked to (sysrq-D) --------- */

#define WRITE(format, ...)                                                                         \
    ({                                                                                             \
        static char text[] = format;                                                               \
        hp_u64 numbers[] = {__VA_ARGS__};                                                          \
        scx_bpf_dump_bstr(text, numbers, sizeof(numbers));                                         \
    })

SEC("struct_ops/hyperperiod_dump")
void BPF_PROG(hyperperiod_dump, struct scx_dump_ctx *context) {
    WRITE("places %llu, global %llu, parked %llx", lx.places, lx.global, lx.parked);
}

/* A cpu that is not managed says nothing; times are the core's. */
SEC("struct_ops/hyperperiod_dump_cpu")
void BPF_PROG(hyperperiod_dump_cpu, struct scx_dump_ctx *context, s32 number, bool idle) {
    const struct managed *cpu = cpu_by((hp_u32)number);

    if (cpu)
        WRITE("place %llu, granted %lld until %lld, payer %lld, runs %lld, timer %lld, now %llu",
              cpu->place, (s32)cpu->granted, cpu->until_ns, (s32)cpu->payer, (s32)cpu->running,
              cpu->armed_ns, bpf_ktime_get_ns() - lx.base_ns);
}

SEC("struct_ops/hyperperiod_dump_task")
void BPF_PROG(hyperperiod_dump_task, struct scx_dump_ctx *context, struct task_struct *p) {
    const struct thread *thread = thread_of(p);

    if (thread)
        WRITE("server %lld, counted %lld, place %llu, held since %llu", (s32)thread->server,
              (s32)thread->counted, thread->place, thread->held_ns);
}

SEC(".struct_ops.link")
struct sched_ext_ops hyperperiod_ops = {
    .select_cpu = (void *)hyperperiod_select_cpu,
    .enqueue = (void *)hyperperiod_enqueue,
    .dispatch = (void *)hyperperiod_dispatch,
    .running = (void *)hyperperiod_running,
    .quiescent = (void *)hyperperiod_quiescent,
    .update_idle = (void *)hyperperiod_update_idle,
    .set_cpumask = (void *)hyperperiod_set_cpumask,
    .init_task = (void *)hyperperiod_init_task,
    .exit_task = (void *)hyperperiod_exit_task,
    .cgroup_init = (void *)hyperperiod_cgroup_init,
    .cgroup_exit = (void *)hyperperiod_cgroup_exit,
    .cgroup_set_weight = (void *)hyperperiod_cgroup_set_weight,
    .cgroup_move = (void *)hyperperiod_cgroup_move,
    .cgroup_set_bandwidth = (void *)hyperperiod_cgroup_set_bandwidth,
    .cpu_online = (void *)hyperperiod_cpu_online,
    .cpu_offline = (void *)hyperperiod_cpu_offline,
    .dump = (void *)hyperperiod_dump,
    .dump_cpu = (void *)hyperperiod_dump_cpu,
    .dump_task = (void *)hyperperiod_dump_task,
    .init = (void *)hyperperiod_init,
    .exit = (void *)hyperperiod_exit,
    .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED
             | SCX_OPS_KEEP_BUILTIN_IDLE,
    .timeout_ms = 30000,
    .name = "hyperperiod",
};
