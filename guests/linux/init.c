// SPDX-License-Identifier: BSD-2-Clause
//
// The first and only program of the Linux guest: runs real-time tasks, then cyclictest, then ends.
//
// What to do stands on the kernel's command line, whose unknown NAME=VALUE words come as
// environment:
//
//   hp_tasks=PERIOD:WCET,PERIOD:WCET,...   periodic tasks in nanoseconds, most urgent first
//   hp_settle=NS                           before that, how long the kernel is left in peace: for
//                                          some time after its start it does work of tens of
//                                          milliseconds in which it switches to no thread
//   hp_span=NS                             for how long jobs are released
//   hp_cyclictest=LOOPS                    then cyclictest, that often every millisecond
//
// Each task is a thread under SCHED_FIFO that sleeps to its next release and then executes a
// counted number of instructions; its wcet is that number, one instruction per nanosecond. All
// tasks are released together first. A response is the time from release to completion by the
// clock of the kernel, with everything in it: the hypervisor, the kernel, the wake-up.
//
// What it prints on the console is for a reader who knows the words:
//
//   linux-guest: up SECONDS
//   linux-guest: task NUMBER jobs N misses N min NS mean NS max NS
//   T: 0 ( PID) P:80 I:1000 C: N Min: US Act: US Avg: US Max: US     (cyclictest's)
//   linux-guest: done

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TASKS_MOST = 16,
    TOP_PRIORITY = 90,      // of the first task; each further one is one below
    STACK_BYTES = 64 << 10, // all of it is fetched when it is made
    LOOP_INSTRUCTIONS = 2,
    NS_PER_S = 1000000000,
};

/* From when all threads are there to the first release: they sleep by then. */
static const uint64_t LEAD_NS = 20000000;

struct task {
    uint64_t period_ns, wcet_ns;
    uint64_t jobs;
    uint64_t misses, min_ns, max_ns, sum_ns;
    pthread_t thread;
};

static struct task tasks[TASKS_MOST];
static unsigned task_count;
static pthread_barrier_t all_there;
static uint64_t start_ns; // the first release, known when all are there

static void say(const char *what) {
    dprintf(1, "linux-guest: %s\n", what);
}

/* The end of the machine; what was wrong stands on the console. */
static _Noreturn void stop(const char *what) {
    say(what);
    sync();
    reboot(RB_POWER_OFF);
    while (1)
        pause();
}

static uint64_t now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t time_ns) {
    struct timespec then = {(time_t)(time_ns / NS_PER_S), (long)(time_ns % NS_PER_S)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, 0) != 0)
        ;
}

static void execute(uint64_t instructions) {
    uint64_t rounds = instructions / LOOP_INSTRUCTIONS;

    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

static void *run_task(void *argument) {
    struct task *task = argument;

    pthread_barrier_wait(&all_there);
    for (uint64_t job = 0; job < task->jobs; job++) {
        uint64_t release_ns = start_ns + job * task->period_ns;
        uint64_t response_ns;

        sleep_until(release_ns);
        execute(task->wcet_ns);
        response_ns = now_ns() - release_ns;
        task->sum_ns += response_ns;
        if (response_ns > task->max_ns)
            task->max_ns = response_ns;
        if (response_ns < task->min_ns)
            task->min_ns = response_ns;
        if (response_ns > task->period_ns)
            task->misses++;
    }
    return 0;
}

/* The value of a word of the command line as a number; `otherwise` if it is not there. */
static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    char *end;
    uint64_t number;

    if (text == 0)
        return otherwise;
    number = strtoull(text, &end, 10);
    if (end == text || *end != 0)
        stop("a number on the command line is none");
    return number;
}

static void read_tasks(void) {
    const char *text = getenv("hp_tasks");
    char *next;

    if (text == 0)
        return;
    do {
        struct task *task = &tasks[task_count];

        if (task_count == TASKS_MOST)
            stop("too many tasks");
        task->period_ns = strtoull(text, &next, 10);
        if (task->period_ns == 0 || *next != ':')
            stop("hp_tasks: want PERIOD:WCET,...");
        task->wcet_ns = strtoull(next + 1, &next, 10);
        if (task->wcet_ns < LOOP_INSTRUCTIONS || (*next != ',' && *next != 0))
            stop("hp_tasks: want PERIOD:WCET,...");
        task->min_ns = UINT64_MAX;
        task_count++;
        text = next + 1;
    } while (*next == ',');
}

static void start_task(unsigned number, uint64_t span_ns) {
    struct sched_param rank = {.sched_priority = TOP_PRIORITY - (int)number};
    struct task *task = &tasks[number];
    pthread_attr_t attributes;

    task->jobs = (span_ns + task->period_ns - 1) / task->period_ns;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &rank);
    if (pthread_create(&task->thread, &attributes, run_task, task) != 0)
        stop("a real-time thread cannot be made");
}

static void run_tasks(void) {
    uint64_t span_ns = number_of("hp_span", NS_PER_S);

    if (task_count == 0)
        return;
    pthread_barrier_init(&all_there, 0, task_count + 1);
    for (unsigned number = 0; number < task_count; number++)
        start_task(number, span_ns);
    start_ns = now_ns() + LEAD_NS;
    pthread_barrier_wait(&all_there);
    for (unsigned number = 0; number < task_count; number++)
        pthread_join(tasks[number].thread, 0);
    for (unsigned number = 0; number < task_count; number++) {
        const struct task *task = &tasks[number];

        if (task->jobs == 0)
            continue;
        dprintf(1, "linux-guest: task %u jobs %lu misses %lu min %lu mean %lu max %lu\n", number,
                task->jobs, task->misses, task->min_ns, task->sum_ns / task->jobs, task->max_ns);
    }
}

static void run_cyclictest(void) {
    const char *loops = getenv("hp_cyclictest");
    int status;
    pid_t child;

    if (loops == 0)
        return;
    child = fork();
    if (child == 0) {
        execl("/usr/bin/cyclictest", "cyclictest", "-q", "-m", "-p80", "-i1000", "-l", loops,
              (char *)0);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        stop("cyclictest failed");
}

/* Real-time threads may use all of the vcpu, and no page of ours is fetched late. */
static void prepare(void) {
    int limit;

    mount("dev", "/dev", "devtmpfs", 0, "");
    mount("proc", "/proc", "proc", 0, "");
    mount("sys", "/sys", "sysfs", 0, "");
    mkdir("/dev/shm", 0755);
    limit = open("/dev/console", O_RDWR);
    if (limit < 0)
        stop("there is no console");
    for (int descriptor = 0; descriptor < 3; descriptor++)
        dup2(limit, descriptor);
    limit = open("/proc/sys/kernel/sched_rt_runtime_us", O_WRONLY);
    if (limit < 0 || write(limit, "-1", 2) != 2)
        stop("the limit of real-time threads cannot be lifted");
    close(limit);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        stop("memory cannot be locked");
}

int main(void) {
    uint64_t up_ns;

    prepare();
    up_ns = now_ns();
    dprintf(1, "linux-guest: up %lu.%03lu\n", up_ns / NS_PER_S, up_ns % NS_PER_S / 1000000);
    read_tasks();
    sleep_until(up_ns + number_of("hp_settle", NS_PER_S / 2));
    run_tasks();
    run_cyclictest();
    stop("done");
}
