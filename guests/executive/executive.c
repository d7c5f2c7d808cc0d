// SPDX-License-Identifier: BSD-2-Clause
//
// The executive: releases the jobs of a domain's tasks, puts them on its vcpus (domain.h), and
// executes them as busy loops.
//
// Each vcpu goes round: *pass* - what has become of the job that ran here, which releases are
// due, which job is next, until when is the alarm - and then it executes that job's loop with
// interrupts on, or sleeps. An interrupt ends the loop early (start.S) and leads to the next pass;
// the rounds that are left are all there is to save of a job.
//
// Several vcpus share everything under one lock. A vcpu whose job is displaced by another vcpu is
// poked; until it has let go, that job is held there and is not offered to anyone.
//
// Who wakes for a release? The lowest idle vcpu will serve the next one, the second lowest the one
// after that, and when none is idle a job is displaced: so the alarms of idle vcpus are for one
// release each, in this order, and those of the others for the first release that is left. What
// a task with an unfinished job releases changes nothing and waits for the next pass. Whenever
// this leaves a vcpu with too late an alarm it is poked, which is rare.
//
// Items of flows (flows.c) are releases like others: they come by a source's alarm, or by an event
// of another domain, which interrupts like an alarm.
//
// The instructions that a job's release, dispatch and completion take are part of its execution
// time, not on top of it.

#include "guests/executive/flows.h"
#include "guests/executive/guest.h"

/* Instructions outside of the loop for one job, give or take 130, of a domain with one vcpu
 * and with several: docs/xen/guests.md. */
#define JOB_COST 640u
#define SHARED_JOB_COST 980u
/* So many more for the job of an item, and for one that goes on to another domain:
 * docs/xen/channels.md. Most of the latter are the hypervisor's, on behalf of this domain. */
#define ITEM_COST 190u
#define SEND_COST 1750u

#define ENDLESS (~0ull)

struct run {
    const struct task *task;
    struct task_name name;
    struct job next; /* the job to be released next */
    struct job head; /* the oldest unfinished job, if next is ahead of it; of a hop next has the
                        time of the latest release */
    hp_u64 rounds;   /* left of head, while it is not executed */
};

struct place {
    hp_u32 running;  /* the task whose loop this vcpu executes, or HP_NONE */
    hp_u32 recorded; /* what the ring says about this vcpu: a task, HP_NONE for idle */
    hp_u64 recorded_job;
    hp_u64 alarm_ns; /* when it is interrupted next, or HP_NEVER; 0: it has not started */
    hp_u64 now_ns;   /* of its latest pass */
    hp_u32 port;     /* whom to tell of an item at the end of this pass, or 0 */
};

static struct domain domain;
static struct run runs[MAX_TASKS];
static struct place places[DOMAIN_VCPUS];
static struct heap releases; /* when tasks release next */
static hp_u32 lock;

static void take_lock(void) {
    while (__atomic_exchange_n(&lock, 1u, __ATOMIC_ACQUIRE) != 0)
        __asm__ volatile("yield");
}

static void drop_lock(void) {
    __atomic_store_n(&lock, 0u, __ATOMIC_RELEASE);
}

static hp_u32 is_unfinished(const struct run *run) {
    return run->next.number != run->head.number;
}

static hp_u32 is_hop(const struct run *run) {
    return run->task->kind == TASK_HOP;
}

static hp_u64 execution_ns_of(const struct run *run) {
    if (is_hop(run))
        return item_execution_ns(run->task, run->name.seed, flows_oldest(run->name.task)->place,
                                 run->head.release_ns);
    return task_execution_ns(run->task, run->name, run->head.number, run->head.release_ns);
}

static hp_u64 cost_of(const struct run *run) {
    hp_u64 cost = domain.vcpus > 1u ? SHARED_JOB_COST : JOB_COST;

    if (!is_hop(run))
        return cost;
    return cost + ITEM_COST + (flows_leaves(flows_oldest(run->name.task)->place) ? SEND_COST : 0);
}

static hp_u64 rounds_of(const struct run *run) {
    hp_u64 execution_ns = execution_ns_of(run);
    hp_u64 instructions = instructions_in(execution_ns);
    hp_u64 cost = cost_of(run);

    if (execution_ns == 0)
        return ENDLESS;
    return instructions > cost ? (instructions - cost) / LOOP_INSTRUCTIONS : 0;
}

/* Lets another vcpu look at what has changed, unless its alarm makes it look anyway. */
static void poke(hp_u32 self, hp_u32 vcpu) {
    if (places[vcpu].alarm_ns > places[self].now_ns)
        poke_vcpu(vcpu);
}

/* The oldest job of a task becomes the one that its domain may execute. */
static void offer(hp_u32 self, hp_u32 task) {
    while (task != HP_NONE) {
        hp_u32 displaced;
        hp_u32 vcpu = domain_place(&domain, task, &displaced);

        if (vcpu == HP_NONE)
            return;
        if (vcpu != self)
            poke(self, vcpu);
        /* What another vcpu executes is offered by that one, when it knows what is left. */
        if (displaced != HP_NONE && places[vcpu].running == displaced)
            return;
        task = displaced;
    }
}

static void offer_head(hp_u32 self, hp_u32 task) {
    struct run *run = &runs[task];

    run->rounds = rounds_of(run);
    if (domain.scheduler == DOMAIN_EDF)
        domain.key[task] = task_deadline_of(run->task, run->head.release_ns);
    else if (domain.scheduler == DOMAIN_FIFO)
        domain.key[task] = run->head.release_ns;
    offer(self, task);
}

static void record_release(const struct run *run, const struct job *job) {
    hp_u64 deadline_ns = task_deadline_of(run->task, job->release_ns);

    put(HP_RECORD_RELEASE, clock_ticks(&guest.clock, job->release_ns), HP_RECORD_NONE,
        run->name.task, job->number, deadline_ns == HP_NEVER ? 0 : deadline_ns);
}

/* The next release is due. */
static void release(hp_u32 self) {
    hp_u32 task = releases.entry[0].task;
    struct run *run = &runs[task];
    hp_u32 first = !is_unfinished(run);

    record_release(run, &run->next);
    if (first)
        run->head = run->next;
    if (task_releases_ahead(run->task)) {
        run->next = task_next_job(run->task, run->name, run->next);
        heap_replace(&releases, (struct heap_entry){run->next.release_ns, task});
    } else {
        /* The next release is known when this job finishes. */
        run->next.number++;
        heap_pop(&releases);
    }
    if (first)
        offer_head(self, task);
}

/* An item is at a task. It may be seen later than one that came after it: then it comes later. */
void executive_reach(hp_u32 self, hp_u32 task, hp_u64 place, hp_u64 release_ns) {
    struct run *run = &runs[task];
    hp_u32 first = !is_unfinished(run);

    run->next.release_ns = hp_max(release_ns, run->next.release_ns);
    record_release(run, &run->next);
    put(HP_RECORD_ITEM, clock_ticks(&guest.clock, run->next.release_ns), HP_RECORD_NONE, task,
        run->next.number, place);
    flows_wait(task, place, run->next.release_ns);
    if (first)
        run->head = run->next;
    run->next.number++;
    if (first)
        offer_head(self, task);
}

/* All releases before `end_ns`. */
static void release_before(hp_u32 self, hp_u64 end_ns) {
    end_ns = hp_min(end_ns, guest.arguments.horizon_ns);
    while (1) {
        hp_u64 flows_ns = flows_next_ns();

        if (hp_min(flows_ns, heap_key(&releases)) >= end_ns)
            return;
        if (flows_ns <= heap_key(&releases))
            flows_happen(self);
        else
            release(self);
    }
}

/* Moves a task on to its next job after the oldest one has finished. */
static void drop_head(hp_u32 task, hp_u64 now_ns) {
    struct run *run = &runs[task];

    if (task_releases_ahead(run->task)) {
        if (run->next.number - run->head.number > 1u)
            run->head = task_next_job(run->task, run->name, run->head);
        else
            run->head = run->next;
        return;
    }
    if (is_hop(run)) {
        flows_drop_oldest(task, now_ns);
        run->head.number++;
        if (is_unfinished(run))
            run->head.release_ns = flows_oldest(task)->release_ns;
        return;
    }
    run->head = task_job_after(run->task, run->name, run->head, now_ns);
    run->next = run->head;
    if (run->task->kind == TASK_EVENT) {
        heap_push(&releases, run->next.release_ns, task);
    } else if (now_ns < guest.arguments.horizon_ns) {
        record_release(run, &run->head);
        run->next.number++;
    }
}

static void complete(hp_u32 self, hp_u32 task, hp_u64 ticks, hp_u64 now_ns) {
    struct run *run = &runs[task];
    hp_u64 place = is_hop(run) ? flows_oldest(task)->place : 0;

    put(HP_RECORD_COMPLETE, ticks, self, task, run->head.number, now_ns - run->head.release_ns);
    if (domain.slot[self].task == task)
        domain.slot[self].task = HP_NONE;
    drop_head(task, now_ns);
    for (hp_u32 vcpu = 0; vcpu < domain.vcpus; vcpu++) {
        if (domain_fill(&domain, vcpu) && vcpu != self)
            poke(self, vcpu);
    }
    if (is_unfinished(run))
        offer_head(self, task);
    if (is_hop(run))
        places[self].port = flows_pass_on(self, place, ticks, now_ns);
}

/* What has become of the job that this vcpu executed up to now. */
static void settle(hp_u32 self, hp_u64 rounds, hp_u64 ticks, hp_u64 now_ns) {
    struct place *place = &places[self];
    hp_u32 task = place->running;

    place->running = HP_NONE;
    if (task == HP_NONE)
        return;
    runs[task].rounds = rounds;
    if (rounds == 0)
        complete(self, task, ticks, now_ns);
    else if (domain.slot[self].task != task)
        offer(self, task);
}

static void end_at_horizon(hp_u64 now_ns) {
    if (now_ns >= guest.arguments.horizon_ns)
        writer_end(&guest.writer, horizon_ticks());
}

/* Puts a key into its place among the first `count`, which are in order. */
static void keep_first(hp_u64 *first, hp_u32 count, hp_u64 key) {
    for (hp_u32 i = 0; i < count; i++) {
        hp_u64 later = hp_max(key, first[i]);

        first[i] = hp_min(key, first[i]);
        key = later;
    }
}

/* The earliest releases of tasks without a vcpu of their own, as many as `idle` and one more, and
 * the earliest one of each vcpu. What a task with an unfinished job releases changes nothing. */
struct shares {
    hp_u64 first[DOMAIN_VCPUS + 1u];
    hp_u64 own[DOMAIN_VCPUS];
    hp_u32 idle;
};

static void share(struct shares *shares, hp_u32 task, hp_u64 release_ns) {
    hp_u32 pinned = domain.pinned[task];

    if (is_unfinished(&runs[task]))
        return;
    if (pinned == HP_NONE)
        keep_first(shares->first, shares->idle + 1u, release_ns);
    else
        shares->own[pinned] = hp_min(shares->own[pinned], release_ns);
}

/* Deals the next releases out to the vcpus; returns this one's, and pokes those with too late an
 * alarm for theirs. */
static hp_u64 share_releases(hp_u32 self) {
    struct shares shares;
    hp_u64 release_ns;
    hp_u32 lower = 0, task;

    shares.idle = 0;
    for (hp_u32 vcpu = 0; vcpu < domain.vcpus; vcpu++) {
        shares.own[vcpu] = HP_NEVER;
        shares.first[vcpu] = HP_NEVER;
        shares.idle += domain.slot[vcpu].task == HP_NONE;
    }
    shares.first[domain.vcpus] = HP_NEVER;
    for (hp_u32 i = 0; i < releases.count; i++)
        share(&shares, releases.entry[i].task, releases.entry[i].key);
    for (hp_u32 i = 0; flows_release(i, &release_ns, &task); i++)
        share(&shares, task, release_ns);
    for (hp_u32 vcpu = 0; vcpu < domain.vcpus; vcpu++) {
        hp_u32 is_idle = domain.slot[vcpu].task == HP_NONE;
        hp_u64 next_ns = hp_min(shares.own[vcpu], shares.first[is_idle ? lower : shares.idle]);

        shares.own[vcpu] = next_ns;
        lower += is_idle;
        if (vcpu != self && next_ns < places[vcpu].alarm_ns) {
            poke(self, vcpu);
            places[vcpu].alarm_ns = next_ns; /* as it will set it */
        }
    }
    return shares.own[self];
}

/* Or the next message, by a clock that is ahead of this one: it has been seen and must be looked at
 * again, and its event or interrupt is over. */
static hp_u64 next_release(hp_u32 self) {
    return domain.vcpus > 1u ? hp_min(share_releases(self), flows_next_message_ns())
                             : hp_min(heap_key(&releases), flows_next_ns());
}

/* For the next release that this vcpu is to serve, or the horizon. */
static void set_next_alarm(hp_u32 self, hp_u64 now_ns, hp_u32 interrupted) {
    hp_u64 next_ns = HP_NEVER;

    if (now_ns < guest.arguments.horizon_ns)
        next_ns = hp_min(next_release(self), guest.arguments.horizon_ns);
    if (next_ns == places[self].alarm_ns && !interrupted)
        return;
    places[self].alarm_ns = next_ns;
    if (next_ns == HP_NEVER)
        stop_alarm();
    else
        set_alarm(clock_ticks(&guest.clock, next_ns));
}

/* The ring learns what this vcpu does from now on, if that is something else than before. */
static void record_dispatch(hp_u32 self, hp_u32 task) {
    struct place *place = &places[self];
    hp_u64 job = task == HP_NONE ? 0 : runs[task].head.number;

    if (place->recorded == task && place->recorded_job == job)
        return;
    place->recorded = task;
    place->recorded_job = job;
    put(task == HP_NONE ? HP_RECORD_IDLE : HP_RECORD_RUN, counter(), self,
        task == HP_NONE ? HP_RECORD_NONE : task, job, 0);
}

/* Decides what this vcpu does next: the rounds of a job, or 0 to sleep. */
static hp_u64 pass(hp_u32 self, hp_u64 rounds) {
    hp_u32 interrupted = take_interrupts();
    hp_u64 ticks = counter(); /* so that an event that was taken is not of later */
    hp_u64 now_ns = clock_ns(&guest.clock, ticks);
    hp_u32 port, task;

    take_lock();
    places[self].now_ns = now_ns;
    places[self].port = 0;
    /* What happened in the meantime happened before this job ended. */
    release_before(self, now_ns);
    settle(self, rounds, ticks, now_ns);
    if (ticks >= guest.clock.epoch_ticks) {
        release_before(self, now_ns + 1u);
        end_at_horizon(now_ns);
    }
    set_next_alarm(self, now_ns, interrupted);
    task = domain.slot[self].task;
    domain.slot[self].fresh = 0;
    places[self].running = task;
    record_dispatch(self, task);
    rounds = task == HP_NONE ? 0 : runs[task].rounds;
    port = places[self].port;
    drop_lock();
    if (port != 0)
        send_event(port);
    return rounds;
}

void executive_init(void) {
    const struct arguments *told = &guest.arguments;

    domain_init(&domain, told->scheduler, (hp_u32)told->vcpus);
    heap_init(&releases);
    for (hp_u32 vcpu = 0; vcpu < told->vcpus; vcpu++) {
        places[vcpu].running = HP_NONE;
        places[vcpu].recorded = HP_NONE;
        places[vcpu].alarm_ns = 0;
    }
    for (hp_u32 i = 0; i < told->tasks; i++) {
        struct run *run = &runs[i];

        run->task = &told->task[i];
        run->name = (struct task_name){told->seed, (hp_u32)told->domain, i};
        run->next = task_first_job(run->task, run->name);
        run->head = run->next;
        domain.pinned[i] = run->task->vcpu;
        domain.key[i] = run->task->rank;
        if (!is_hop(run))
            heap_push(&releases, run->next.release_ns, i);
    }
    flows_init();
}

_Noreturn void executive_run(hp_u32 self) {
    hp_u64 rounds = 0;

    places[self].alarm_ns = HP_NEVER;
    while (1) {
        rounds = pass(self, rounds);
        if (places[self].running != HP_NONE)
            rounds = busy_loop(rounds);
        else
            sleep();
    }
}
