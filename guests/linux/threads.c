// SPDX-License-Identifier: BSD-2-Clause
//
// Tasks as threads of Linux: each sleeps until its next job is released, executes that job as a
// counted loop, and records it as the executive does (docs/xen/guests.md). The jobs of a task may
// be those of several threads in turns; whoever says who is first has the earlier one first.
//
// Who is first is said by each program's own file: classes.c, process.c. A task that is a hop of
// flows has one thread, whose jobs are the items that hops.c brings. A domain that is there for a
// measurement of what it feels (latency.h) has one thread, which makes that.
//
// Which job is on which vcpu is noted in `on_vcpu` by whoever begins there. The loop of a job looks
// at it in each round: a job that finds another one in its place was preempted, or has been moved
// to another vcpu, and records that it goes on. Nobody has to be told by the kernel.

#define _GNU_SOURCE
#include "guests/linux/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "guests/executive/writer.h"
#include "guests/linux/machine.h"

#define LAST_PRIORITY 99 /* of the thread that writes the end */
#define STACK_BYTES (128u << 10)
#define ENDLESS (~0ull)
#define NOBODY (~0ull)
#define MEASUREMENTS 20u
#define MEASURED_ROUNDS 8000u
#define LAST_WORDS_NS 100000u /* between two looks whether all records are complete */

struct thread {
    const struct task *task;
    struct task_name name;
    hp_u32 turn;  /* of which job it is the first one to take */
    hp_u32 vcpu;  /* where it was last seen, or HP_NONE */
    hp_u64 token; /* its job, as on_vcpu has it */
    pthread_t posix;
};

struct clock clock_of_all;

static const struct arguments *told;
static struct ratio instructions_per_ns;
static hp_u64 ahead_ticks;

static struct clock_pair base;

static struct hp_ring *ring;
static struct record *records;
static _Atomic hp_u64 taken;   /* places in the ring */
static _Atomic hp_u32 writing; /* threads that have a place and are not done with it */
static _Atomic hp_u32 ended;

static _Atomic hp_u64 on_vcpu[DOMAIN_VCPUS];
static struct thread threads[MAX_TASKS * TURNS_MOST];
static hp_u32 thread_count;
static pthread_barrier_t all_there;

hp_u64 counter(void) {
    return machine_counter() + ahead_ticks;
}

struct timespec linux_time(hp_u64 ticks) {
    hp_u64 ns = base.ns + ratio_times(clock_of_all.ns_per_tick, ticks - ahead_ticks - base.ticks);

    return (struct timespec){(time_t)(ns / NS_PER_SECOND), (long)(ns % NS_PER_SECOND)};
}

hp_u64 ticks_at(hp_u64 ns) {
    if (ns < base.ns)
        return 0;
    return base.ticks + ratio_times(clock_of_all.ticks_per_ns, ns - base.ns) + ahead_ticks;
}

/* Sleeps until the system counter has come to `ticks`; how far it is then. */
static hp_u64 sleep_until(hp_u64 ticks) {
    struct timespec then = linux_time(ticks);
    hp_u64 now;

    while ((now = counter()) < ticks)
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, 0);
    return now;
}

/* Many may write at once: each has a place of its own. `written` is that of the last who came, and
 * is right when nobody writes; whoever finds that another one has come meanwhile says it again. */
void put(hp_u8 kind, hp_u64 ticks, hp_u32 vcpu, hp_u32 task, hp_u64 job, hp_u64 value) {
    hp_u64 place;

    atomic_fetch_add(&writing, 1u);
    if (!atomic_load(&ended)) {
        place = atomic_fetch_add(&taken, 1u);
        if (place < ring->capacity)
            records[place] = record_of(kind, ticks, vcpu, task, job, value);
        else
            ring->flags |= HP_RING_OVERFLOW;
        do {
            place = hp_min(atomic_load(&taken), ring->capacity);
            __atomic_store_n(&ring->written, place, __ATOMIC_RELEASE);
        } while (place != hp_min(atomic_load(&taken), ring->capacity));
    }
    atomic_fetch_sub(&writing, 1u);
}

/* Notes that this thread's job is on this vcpu now, and no more where it was. */
static void go_on(struct thread *thread) {
    hp_u32 vcpu = *vcpu_here();
    hp_u64 mine = thread->token;

    if (thread->vcpu != HP_NONE && thread->vcpu != vcpu
        && atomic_compare_exchange_strong(&on_vcpu[thread->vcpu], &mine, NOBODY))
        put(HP_RECORD_IDLE, counter(), thread->vcpu, HP_RECORD_NONE, 0, 0);
    thread->vcpu = vcpu;
    atomic_store(&on_vcpu[vcpu], thread->token);
    put(HP_RECORD_RUN, counter(), vcpu, thread->name.task, thread->token >> 16, 0);
}

static hp_u64 rounds_of(hp_u64 execution_ns) {
    if (execution_ns == 0)
        return ENDLESS;
    return ratio_times(instructions_per_ns, execution_ns) / LOOP_INSTRUCTIONS;
}

static void execute(struct thread *thread, const struct job *job, hp_u64 execution_ns) {
    hp_u64 rounds = rounds_of(execution_ns);

    thread->token = job->number << 16 | thread->name.task;
    thread->vcpu = HP_NONE;
    go_on(thread);
    while (rounds > 0 && (rounds = busy_loop(rounds, vcpu_here(), on_vcpu, thread->token)) > 0)
        go_on(thread);
}

/* Returns when the job finished, on the system counter. */
static hp_u64 complete(struct thread *thread, const struct job *job) {
    hp_u64 ticks = counter(), mine = thread->token;

    put(HP_RECORD_COMPLETE, ticks, thread->vcpu, thread->name.task, job->number,
        clock_ns(&clock_of_all, ticks) - job->release_ns);
    atomic_compare_exchange_strong(&on_vcpu[thread->vcpu], &mine, NOBODY);
    return ticks;
}

/* Returns when the job is released, on the system counter. */
static hp_u64 record_release(const struct thread *thread, const struct job *job) {
    hp_u64 ticks = clock_ticks(&clock_of_all, job->release_ns);
    hp_u64 deadline_ns = task_deadline_of(thread->task, job->release_ns);

    put(HP_RECORD_RELEASE, ticks, HP_RECORD_NONE, thread->name.task, job->number,
        deadline_ns == HP_NEVER ? 0 : deadline_ns);
    return ticks;
}

/* The job so many turns after `job`, of a task whose releases are known ahead. */
static struct job job_in(hp_u32 jobs, const struct thread *thread, struct job job) {
    for (; jobs > 0; jobs--)
        job = task_next_job(thread->task, thread->name, job);
    return job;
}

static void run_jobs(struct thread *thread) {
    const struct task *task = thread->task;
    struct job job = job_in(thread->turn, thread, task_first_job(task, thread->name));

    while (job.release_ns < told->horizon_ns) {
        hp_u64 finish_ns;

        /* A release is recorded before it is due: nobody else may have the time when it is. */
        sleep_until(record_release(thread, &job));
        execute(thread, &job, task_execution_ns(task, thread->name, job.number, job.release_ns));
        finish_ns = clock_ns(&clock_of_all, complete(thread, &job));
        if (task_releases_ahead(task))
            job = job_in(turns, thread, job);
        else
            job = task_job_after(task, thread->name, job, finish_ns);
    }
}

/* An item may be seen later than one that came after it: then it comes later. */
static void run_items(struct thread *thread) {
    hp_u32 task = thread->name.task;
    struct job job = {0, 0, 0};

    while (1) {
        struct message item = hops_next(task);
        hp_u64 release_ticks;

        job.release_ns = hp_max(clock_ns(&clock_of_all, item.ticks), job.release_ns);
        if (job.release_ns >= told->horizon_ns)
            return;
        release_ticks = record_release(thread, &job);
        put(HP_RECORD_ITEM, release_ticks, HP_RECORD_NONE, task, job.number, item.place);
        execute(thread, &job,
                item_execution_ns(thread->task, told->seed, item.place, job.release_ns));
        hops_pass_on(item.place, complete(thread, &job));
        job.number++;
    }
}

/* It is the only thread: nobody puts another token in the place of its own. */
static inline void execute_loop(hp_u64 rounds) {
    busy_loop(rounds, vcpu_here(), on_vcpu, NOBODY);
}

#include "guests/executive/latency.h"

static void measure(void (*what)(const struct measurement *)) {
    const struct measurement measurement = {told, &clock_of_all,
                                            clock_ticks(&clock_of_all, told->horizon_ns),
                                            rounds_of(told->loop_ns)};

    what(&measurement);
}

static void work(struct thread *thread) {
    if (told->workload == WORKLOAD_CLOCKTICK)
        measure(measure_loops);
    else if (told->workload == WORKLOAD_RESPONSE)
        measure(measure_responses);
    else if (told->workload == WORKLOAD_DEVICE)
        device_measure();
    else if (thread->task->kind == TASK_HOP)
        run_items(thread);
    else
        run_jobs(thread);
}

static void *run_task(void *argument) {
    struct thread *thread = argument;

    take_place(told, thread->task);
    pthread_barrier_wait(&all_there);
    work(thread);
    /* A thread that ends before the others has work to do that belongs to no job. */
    while (pause() != 0)
        ;
    return 0;
}

static void start_thread(hp_u32 number, hp_u32 turn) {
    struct thread *thread = &threads[thread_count++];
    pthread_attr_t attributes;

    thread->task = &told->task[number];
    thread->name = (struct task_name){told->seed, (hp_u32)told->domain, number};
    thread->turn = turn;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread->posix, &attributes, run_task, thread) != 0)
        give_up("a thread cannot be made");
}

/* The best of a few short measurements: one that was preempted is slower. */
static hp_u64 measure_rate(void) {
    hp_u64 best = 0;

    for (hp_u32 vcpu = 0; vcpu < DOMAIN_VCPUS; vcpu++)
        atomic_store(&on_vcpu[vcpu], 0);
    for (hp_u32 i = 0; i < MEASUREMENTS; i++) {
        hp_u64 before = counter(), ns;

        busy_loop(MEASURED_ROUNDS, vcpu_here(), on_vcpu, 0);
        ns = ratio_times(clock_of_all.ns_per_tick, counter() - before);
        if (ns > 0)
            best = hp_max(best, MEASURED_ROUNDS * LOOP_INSTRUCTIONS * 1000ull / ns);
    }
    return best;
}

static void prepare_clocks(hp_u64 ahead) {
    ahead_ticks = ahead;
    clock_init(&clock_of_all, machine_hz(),
               told->epoch_ticks == HP_NEVER ? counter() : told->epoch_ticks);
    base = pair_clocks();
    instructions_per_ns = ratio_of(told->rate == 0 ? measure_rate() : told->rate, 1000);
}

/* At the horizon no further record is taken, and the last one is written when all others are
 * complete. */
static void write_end(void) {
    const struct timespec pause = {0, LAST_WORDS_NS};
    hp_u64 ticks = clock_ticks(&clock_of_all, told->horizon_ns);

    sleep_until(ticks);
    atomic_store(&ended, 1u);
    while (atomic_load(&writing) > 0)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, 0);
    ring->written = hp_min(atomic_load(&taken), ring->capacity);
    writer_end(&(struct writer){ring, records}, ticks);
}

void run_threads(const struct arguments *arguments, struct ring_memory memory) {
    struct sched_param first = {.sched_priority = LAST_PRIORITY};
    struct writer writer;

    told = arguments;
    prepare_clocks(memory.ahead_ticks);
    writer = writer_init(memory.start, memory.bytes, (hp_u32)told->domain, clock_of_all.hz,
                         clock_of_all.epoch_ticks);
    ring = writer.ring;
    records = writer.records;
    for (hp_u32 vcpu = 0; vcpu < DOMAIN_VCPUS; vcpu++)
        atomic_store(&on_vcpu[vcpu], NOBODY);
    pthread_barrier_init(&all_there, 0, threads_of(told) + 1u);
    for (hp_u32 number = 0; number < told->tasks; number++) {
        for (hp_u32 turn = 0; turn < turns_of(&told->task[number]); turn++)
            start_thread(number, turn);
    }
    pthread_barrier_wait(&all_there);
    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        give_up("there are no real-time threads");
    ring->reserved = counter();
    if (counter() > clock_of_all.epoch_ticks)
        give_up("the epoch has passed already");
    write_end();
}
