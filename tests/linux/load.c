// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads that want the cpu, for tests of the scheduler in Linux.
 *
 *   load hog                  never sleeps
 *   load fifo RUN_US WAIT_US  of the class SCHED_FIFO: runs so long, waits so long, and again
 *   load storm CHILDREN       that many children at a time, each of which runs for a moment
 *   load pin PROCESS CPU      gives a process another affinity
 *   load heir SERVER          has another process, with the number of one that connected to the
 *                             socket for tasks and has ended, enter a server
 *   load bound MASK COMMAND   runs a command as root with these capabilities (hex) and no others
 *   load crowd COUNT          so many threads that never sleep
 *   load wakes COUNT US       sleeps for so long, so often, and prints how late (ns) it went on
 *   load wakes COUNT US FIRST_US  the first time for so long
 *   load headless             never sleeps; its first thread ends soon, another goes on
 *   load rooted               never sleeps, in the kernel, where it runs a program from which no
 *                             thread may be moved to another cpu
 *   load spaces COUNT         makes so many network namespaces, which a thread of the kernel that
 *                             is bound to no cpu removes
 *   load queues COUNT         fills so many message queues, which a thread of the kernel, bound to
 *                             this cpu, removes when it has ended
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pass_time.h"

#define MOMENT 1500 /* rounds: 600 us */

static uint64_t now_us(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static int fail(const char *what) {
    perror(what);
    return 1;
}

static int fifo(uint64_t run_us, useconds_t wait_us) {
    const struct sched_param first = {.sched_priority = 50};

    if (sched_setscheduler(0, SCHED_FIFO, &first) != 0)
        return fail("sched_setscheduler");
    for (;;) {
        const uint64_t end_us = now_us() + run_us;

        while (now_us() < end_us)
            pass_time(1);
        usleep(wait_us);
    }
}

static int storm(int children) {
    for (;;) {
        const pid_t child = children > 0 ? fork() : -1;

        if (child == 0) {
            pass_time(MOMENT);
            _exit(0);
        }
        if (child > 0)
            children--;
        else if (wait(NULL) > 0)
            children++;
    }
}

static int pin(pid_t process, int cpu) {
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    CPU_SET(cpu, &allowed);
    return sched_setaffinity(process, sizeof(allowed), &allowed) == 0 ? 0 : fail("pin");
}

static void *never_sleeps(void *nothing) {
    for (;;)
        pass_time(1);
    return nothing;
}

static pthread_barrier_t all_there;

static void *begins_with_all(void *nothing) {
    pthread_barrier_wait(&all_there);
    return never_sleeps(nothing);
}

/* Threads with little memory each, which begin when all are there. */
static int crowd(unsigned int count) {
    pthread_attr_t small;
    pthread_t each;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    pthread_barrier_init(&all_there, NULL, count);
    for (unsigned int i = 1; i < count; i++)
        if (pthread_create(&each, &small, begins_with_all, NULL) != 0)
            return fail("pthread_create");
    begins_with_all(NULL);
    return 0;
}

/* It works for 0.1 ms each time. */
static int wakes(int count, long sleep_us, long first_us) {
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    for (int i = 0; i < count; i++) {
        struct timespec now;

        until.tv_nsec += (i > 0 ? sleep_us : first_us) * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%lld\n", (now.tv_sec - until.tv_sec) * 1000000000ll + now.tv_nsec - until.tv_nsec);
        pass_time(250);
    }
    return 0;
}

static int headless(void) {
    pthread_t other;

    if (pthread_create(&other, NULL, never_sleeps, NULL) != 0)
        return fail("pthread_create");
    usleep(100000);
    pthread_exit(NULL);
}

static int heir(const char *server) {
    const struct sockaddr_un address = {AF_UNIX, "/run/hyperperiod/tasks"};
    const int tasks = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    const pid_t number = getpid();
    struct clone_args same = {
        .exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&number, .set_tid_size = 1};
    char packet[256];

    if (connect(tasks, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return fail("connect");
    if (fork() != 0)
        return 0;
    while (kill(number, 0) == 0)
        usleep(1000);
    const pid_t other = (pid_t)syscall(SYS_clone3, &same, sizeof(same));
    if (other == 0)
        for (;;)
            pause();
    if (other != number)
        return fail("clone3");
    const int length = snprintf(packet, sizeof(packet), "enter %s thread=%d", server, number);
    if (send(tasks, packet, (size_t)length, 0) != length)
        return fail("send");
    const ssize_t answered = recv(tasks, packet, sizeof(packet) - 1, 0);
    printf("%.*s\n", (int)answered, packet);
    return kill(other, SIGKILL);
}

static int bound(uint64_t capabilities, char **command) {
    for (unsigned int number = 0; number < 64; number++)
        if (!(capabilities >> number & 1u))
            prctl(PR_CAPBSET_DROP, number);
    execvp(command[0], command);
    return fail(command[0]);
}

static int rooted(void) {
    const struct bpf_insn ends[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
                                    {.code = BPF_JMP | BPF_EXIT}};
    const char packet[64] = {0};
    union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
                           .insn_cnt = 2,
                           .insns = (uintptr_t)ends,
                           .license = (uintptr_t)"GPL"};
    const long program = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

    if (program < 0)
        return fail("BPF_PROG_LOAD");
    memset(&attr, 0, sizeof(attr));
    attr.test.prog_fd = (uint32_t)program;
    attr.test.data_in = (uintptr_t)packet;
    attr.test.data_size_in = sizeof(packet);
    attr.test.repeat = 20000;
    while (syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)) == 0)
        ;
    return fail("BPF_PROG_TEST_RUN");
}

/* They are of a namespace that goes with the process. */
static int queues(int count) {
    const struct msgbuf empty = {.mtype = 1};

    if (unshare(CLONE_NEWIPC) != 0)
        return fail("unshare");
    for (; count > 0; count--) {
        const int queue = msgget(IPC_PRIVATE, 0600);

        while (msgsnd(queue, &empty, 0, IPC_NOWAIT) == 0)
            ;
        if (errno != EAGAIN)
            return fail("msgsnd");
    }
    return 0;
}

/* They are all there until the process ends. */
static int spaces(int count) {
    while (count-- > 0)
        if (unshare(CLONE_NEWNET) != 0 || open("/proc/self/ns/net", O_RDONLY) < 0)
            return fail("unshare");
    return 0;
}

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "hog") == 0)
        never_sleeps(NULL);
    if (count == 3 && strcmp(words[1], "crowd") == 0)
        return crowd((unsigned int)atoi(words[2]));
    if (count >= 4 && count <= 5 && strcmp(words[1], "wakes") == 0)
        return wakes(atoi(words[2]), atol(words[3]), atol(words[count - 1]));
    if (count == 2 && strcmp(words[1], "headless") == 0)
        return headless();
    if (count == 4 && strcmp(words[1], "fifo") == 0)
        return fifo(strtoull(words[2], NULL, 10), (useconds_t)strtoul(words[3], NULL, 10));
    if (count == 3 && strcmp(words[1], "storm") == 0)
        return storm(atoi(words[2]));
    if (count == 3 && strcmp(words[1], "heir") == 0)
        return heir(words[2]);
    if (count > 3 && strcmp(words[1], "bound") == 0)
        return bound(strtoull(words[2], NULL, 16), words + 3);
    if (count == 4 && strcmp(words[1], "pin") == 0)
        return pin(atoi(words[2]), atoi(words[3]));
    if (count == 2 && strcmp(words[1], "rooted") == 0)
        return rooted();
    if (count == 3 && strcmp(words[1], "spaces") == 0)
        return spaces(atoi(words[2]));
    if (count == 3 && strcmp(words[1], "queues") == 0)
        return queues(atoi(words[2]));
    fprintf(stderr,
            "load: found %d words, allowed: hog | crowd | headless | fifo | storm | pin | heir | "
            "bound | rooted | spaces | queues\n",
            count - 1);
    return 2;
}
