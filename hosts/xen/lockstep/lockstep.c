// SPDX-License-Identifier: BSD-2-Clause
//
// Keeps the pcpus of a machine in QEMU in step, on a virtual clock that counts instructions.
//
// QEMU's own counting (-icount) has one clock for all pcpus, which they advance in turns of up to
// 100 ms. Here each pcpu has a clock of its own: an instruction takes a nanosecond on the pcpu that
// executes it and none on the others. Of those that have work the one whose clock is least goes
// on, until it is a quantum ahead of the next one. So all of them run side by side in virtual time,
// none sees another more than a quantum in its past or future, and who goes on when is a function
// of the instructions executed alone: a run repeats to the bit.
//
// It works from outside of an unchanged QEMU (7.2 and later, multi-threaded TCG). This file is
// loaded twice: as a plugin, to be told of every block of instructions, and before all libraries
// (LD_PRELOAD), to stand between QEMU and the four functions of libc by which threads meet time
// and one another:
//
//   clock_gettime       the virtual clock of the thread that asks
//   pthread_cond_*      who waits, and who wakes whom: a pcpu that sleeps or is kicked
//   ppoll               where the main thread waits for the next timer, whose instant it names
//   write               a pcpu that has set a timer tells the main thread by an eventfd
//
// The main thread and those of the pcpus pass on a token; one of them works at a time. The main
// thread takes no virtual time: it runs timers when all pcpus have come to the instant that they
// are due at, and serves the monitor in between without a trace. When no pcpu has work, time jumps
// to the next timer. All other threads are left alone.
//
// A pcpu's thread is known by its name (-name NAME,debug-threads=on). quantum=NS is the one
// argument.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// What is used of QEMU's interface for plugins.
struct qemu_plugin_tb;
typedef void (*tb_callback)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*exec_callback)(unsigned int vcpu, void *data);
enum { NO_REGISTERS = 0 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, tb_callback callback);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, exec_callback callback,
                                          int flags, void *data);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments);

enum { PCPUS = 64, FDS = 64, START_S = 1 };
static const uint64_t SECOND_NS = 1000000000;
static const uint64_t NEVER = UINT64_MAX;

// What a thread that takes part does. Under `lock`.
enum state {
    ABSENT,
    READY,   // has the token or wants it
    WAITING, // for `condition`
    POLLING, // the main thread alone: until its next timer, or a file or somebody wants it
};

struct thread {
    enum state state;
    const pthread_cond_t *condition;
    uint64_t clock;         // a pcpu's; the main thread has `now`
    _Atomic uint64_t limit; // at this clock a pcpu looks who else wants to go on
    _Atomic uint32_t go;    // a futex: the token is here
};

static struct thread threads[1 + PCPUS];
static struct thread *const main_thread = &threads[0];
static _Thread_local struct thread *self;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *holder; // of the token; NULL while nobody wants it
static struct thread *turn;   // the pcpu that goes on until its limit, whatever comes between
static uint64_t now;          // of the main thread
static uint64_t next_timer;   // the instant at which it must work; known until it has looked anew
static uint64_t quantum = 2000;
static int doorbell; // wakes the main thread where it polls

static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *);
static int (*real_signal)(pthread_cond_t *);
static int (*real_broadcast)(pthread_cond_t *);
static int (*real_ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_clock_gettime)(clockid_t, struct timespec *);
static int (*real_setname)(pthread_t, const char *);

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

// The pcpu with work that is furthest behind, apart from one.
static struct thread *earliest_but(const struct thread *apart) {
    struct thread *found = NULL;

    for (struct thread *each = main_thread + 1; each < threads + 1 + PCPUS; each++)
        if (each->state == READY && each != apart && (!found || each->clock < found->clock))
            found = each;
    return found;
}

static uint64_t limit_of(const struct thread *pcpu) {
    const struct thread *other = earliest_but(pcpu);
    const uint64_t limit = other ? other->clock + quantum : NEVER;

    return least(limit, next_timer);
}

static void ring(void) {
    const uint64_t once = 1;

    while (real_write(doorbell, &once, sizeof once) < 0 && errno == EINTR)
        continue;
}

static void give_token(struct thread *to) {
    holder = to;
    if (!to)
        return;
    atomic_store(&to->go, 1);
    syscall(SYS_futex, &to->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

// Whose move is it, of those that want one?
static void pass_on(void) {
    struct thread *first = earliest_but(NULL);

    if (first)
        now = most(now, least(first->clock, next_timer));
    if (main_thread->state == POLLING && next_timer != NEVER &&
        (!first || first->clock >= next_timer)) {
        now = most(now, next_timer);
        main_thread->state = READY;
        ring();
    }
    if (main_thread->state == READY) {
        give_token(main_thread);
        return;
    }
    if (turn && turn->state == READY)
        first = turn;
    turn = first;
    if (first)
        atomic_store(&first->limit, limit_of(first));
    give_token(first);
}

// To be called without the lock, by one that is READY.
static void await_token(void) {
    while (!atomic_exchange(&self->go, 0))
        syscall(SYS_futex, &self->go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

// One that is READY asks for the token out of nowhere.
static void ask(void) {
    if (!holder)
        pass_on();
    else if (holder != main_thread)
        atomic_store(&holder->limit, 0);
}

static void start(struct thread *thread) {
    pthread_mutex_lock(&lock);
    self = thread;
    thread->clock = now;
    thread->state = READY;
    ask();
    pthread_mutex_unlock(&lock);
    await_token();
}

// A pcpu has come to its limit, at the beginning of a block.
static void look_around(void) {
    pthread_mutex_lock(&lock);
    if (self->clock >= limit_of(self))
        turn = NULL;
    pass_on();
    pthread_mutex_unlock(&lock);
    await_token();
}

static void executing(unsigned int vcpu, void *instructions) {
    (void)vcpu;
    self->clock += (uintptr_t)instructions;
    if (self->clock >= atomic_load_explicit(&self->limit, memory_order_relaxed))
        look_around();
}

// Whoever waits for the condition wants to go on, and cannot have waked before it was told to.
static void wake(const pthread_cond_t *condition) {
    const uint64_t instant = self && self != main_thread ? self->clock : now;
    bool any = false;

    pthread_mutex_lock(&lock);
    for (struct thread *each = threads; each < threads + 1 + PCPUS; each++) {
        if (each->state != WAITING || each->condition != condition)
            continue;
        each->state = READY;
        each->clock = most(each->clock, instant);
        any = true;
    }
    if (any)
        ask();
    pthread_mutex_unlock(&lock);
}

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    if (!self)
        return real_wait(condition, mutex);
    pthread_mutex_lock(&lock);
    self->state = WAITING;
    self->condition = condition;
    pthread_mutex_unlock(mutex);
    pass_on();
    pthread_mutex_unlock(&lock);
    await_token();
    return pthread_mutex_lock(mutex);
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition) {
    wake(condition);
    return real_signal(condition);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition) {
    wake(condition);
    return real_broadcast(condition);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!self || clock != CLOCK_MONOTONIC)
        return real_clock_gettime(clock, time);
    const uint64_t instant = self == main_thread ? now : self->clock;
    time->tv_sec = (time_t)(instant / SECOND_NS);
    time->tv_nsec = (long)(instant % SECOND_NS);
    return 0;
}

// A pcpu that writes eight bytes wakes the main thread, which then has its move at once.
EXPORT ssize_t write(int file, const void *bytes, size_t size) {
    const ssize_t done = real_write(file, bytes, size);

    if (self && self != main_thread && size == sizeof(uint64_t)) {
        pthread_mutex_lock(&lock);
        if (main_thread->state == POLLING) {
            main_thread->state = READY;
            ring();
            atomic_store(&self->limit, 0);
        }
        pthread_mutex_unlock(&lock);
    }
    return done;
}

// Waits without the token until it is here again: for a timer, for a pcpu, or for a file.
static void poll_without_token(struct pollfd *files, nfds_t count) {
    struct pollfd all[FDS + 1];
    uint64_t rings;

    pthread_mutex_lock(&lock);
    self->state = POLLING;
    pass_on();
    pthread_mutex_unlock(&lock);
    memcpy(all, files, count * sizeof *files);
    all[count] = (struct pollfd){.fd = doorbell, .events = POLLIN};
    while (real_ppoll(all, count + 1, NULL, NULL) < 0)
        continue;
    pthread_mutex_lock(&lock);
    if (self->state == POLLING) {
        self->state = READY;
        ask();
    }
    pthread_mutex_unlock(&lock);
    await_token();
    while (real_ppoll(&all[count], 1, &(struct timespec){0}, NULL) > 0)
        if (read(doorbell, &rings, sizeof rings) < 0)
            break;
}

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout,
                 const sigset_t *mask) {
    static const struct timespec at_once;

    if (self != main_thread || count > FDS)
        return real_ppoll(files, count, timeout, mask);
    next_timer = NEVER;
    if (timeout)
        next_timer = now + (uint64_t)timeout->tv_sec * SECOND_NS + (uint64_t)timeout->tv_nsec;
    for (;;) {
        const int ready = real_ppoll(files, count, &at_once, mask);
        if (ready != 0 || now >= next_timer)
            return ready;
        poll_without_token(files, count);
    }
}

EXPORT int pthread_setname_np(pthread_t thread, const char *name) {
    int number = 0, length = 0;

    if (!self && sscanf(name, "CPU %d/TCG%n", &number, &length) == 1 && length > 0 && number >= 0 &&
        number < PCPUS)
        start(&threads[1 + number]);
    return real_setname(thread, name);
}

// The function that a name means to everybody else. Those for conditions have an older version,
// which is not meant.
static void *real(const char *name, const char *version) {
    void *found = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

    return found ? found : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void) {
    static const char conditions[] = "GLIBC_2.3.2";

    *(void **)&real_wait = real("pthread_cond_wait", conditions);
    *(void **)&real_signal = real("pthread_cond_signal", conditions);
    *(void **)&real_broadcast = real("pthread_cond_broadcast", conditions);
    *(void **)&real_ppoll = real("ppoll", NULL);
    *(void **)&real_write = real("write", NULL);
    *(void **)&real_clock_gettime = real("clock_gettime", NULL);
    *(void **)&real_setname = real("pthread_setname_np", NULL);
    doorbell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    now = START_S * SECOND_NS;
    next_timer = NEVER;
    self = main_thread;
    main_thread->state = READY;
    holder = main_thread;
    if (dlsym(RTLD_DEFAULT, "qemu_plugin_num_vcpus"))
        qemu_plugin_version = 2;
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb) {
    const uintptr_t instructions = qemu_plugin_tb_n_insns(tb);

    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executing, NO_REGISTERS, (void *)instructions);
}

int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments) {
    (void)info;
    for (int i = 0; i < count; i++)
        if (strncmp(arguments[i], "quantum=", 8) == 0)
            quantum = strtoull(arguments[i] + 8, NULL, 10);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
