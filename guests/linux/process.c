// SPDX-License-Identifier: BSD-2-Clause
//
// The tasks of a domain as threads of a process on the Linux host, where the servers of
// hyperperiodd are the domain's vcpus:
//
//   tasks WORDS RING READY SERVER...
//
// It is told the words of docs/xen/guests.md in the file WORDS, where `memory` is as of a guest
// whose ring begins after RING_OFFSET: the file RING has what is left. There is a SERVER for each
// vcpu. Each thread asks hyperperiodd to be attached to the server of its task: with its rank as
// its key where tasks go by rank, with its relative deadline under edf.
//
// A SERVER that is NAME= is none of hyperperiodd's: its threads are called NAME, and are what the
// kernel's own scheduler makes of ordinary threads. With NAME=BUDGET/PERIOD (ns) they are those of
// SCHED_DEADLINE. Each task has one thread then, as other programs have it.
//
// When all threads are in their places, the file READY is made, in a folder that all domains of the
// run have: items of flows go from one to the other there (hops.c). The process ends at the
// horizon. What is wrong it says on standard output.

#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "guests/linux/threads.h"

#define CONTROL_VARIABLE "HYPERPERIOD_CONTROL" /* names another socket */
#define CONTROL "/run/hyperperiod/control"
#define PACKET_BYTES 4096u
#define LAST_KEY 0x3fffffffffffffffull /* the highest that hyperperiodd takes */
#define DONE "{\"ok\": true"

hp_u32 turns = TURNS_MOST;

static struct arguments told;
static char **servers; /* by vcpu */
static const char *ready;
static int control;
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static hp_u32 placed;
static __thread hp_u32 vcpu;

_Noreturn void give_up(const char *what) {
    dprintf(1, "tasks: domain %llu: %s\n", (unsigned long long)told.domain, what);
    exit(1);
}

_Noreturn void device_measure(void) {
    give_up("a process has no card for itself");
}

const volatile hp_u32 *vcpu_here(void) {
    return &vcpu;
}

/* Sends one request to hyperperiodd, which must grant it. */
static void ask(const char *request) {
    char answer[PACKET_BYTES + 1];
    ssize_t length = -1;

    if (send(control, request, strlen(request), 0) >= 0)
        length = recv(control, answer, PACKET_BYTES, 0);
    answer[length > 0 ? length : 0] = 0;
    if (strncmp(answer, DONE, strlen(DONE)) != 0) {
        dprintf(1, "tasks: %s: %s\n", request, answer);
        give_up("hyperperiodd does not attach a thread");
    }
}

static void attach(const struct task *task) {
    char request[256];
    int used = snprintf(request, sizeof request, "attach %s thread=%d", servers[vcpu], gettid());
    char *rest = request + used;
    size_t room = sizeof request - (size_t)used;

    if (told.scheduler == DOMAIN_RANKED)
        snprintf(rest, room, " key=%llu", (unsigned long long)task->rank);
    else if (told.scheduler == DOMAIN_EDF)
        snprintf(rest, room, " key=%llu", (unsigned long long)hp_min(task->deadline_ns, LAST_KEY));
    ask(request);
}

/* Leaves the thread to the kernel's own scheduler, which is told what stands behind the name. */
static void leave_to_kernel(char *named) {
    struct attributes wanted = {.size = sizeof wanted, .policy = SCHED_DEADLINE};
    unsigned long long budget_ns, period_ns;
    int length;

    if (sscanf(named, "%*[^=]%n=%llu/%llu", &length, &budget_ns, &period_ns) == 2) {
        wanted.runtime_ns = budget_ns;
        wanted.deadline_ns = wanted.period_ns = period_ns;
        if (syscall(SYS_sched_setattr, 0, &wanted, 0) != 0)
            give_up("the kernel does not take a thread under SCHED_DEADLINE");
    }
    prctl(PR_SET_NAME, strndupa(named, (size_t)length));
}

static int is_left_to_kernel(const char *server) {
    return strchr(server, '=') != NULL;
}

void take_place(const struct arguments *arguments, const struct task *task) {
    vcpu = task->vcpu == HP_NONE ? 0 : task->vcpu;
    /* Ordinary threads wake up to 50 us late otherwise, to save power. */
    prctl(PR_SET_TIMERSLACK, 1);
    pthread_mutex_lock(&asking);
    if (is_left_to_kernel(servers[vcpu]))
        leave_to_kernel(servers[vcpu]);
    else
        attach(task);
    if (++placed == threads_of(arguments) && open(ready, O_CREAT | O_WRONLY, 0600) < 0)
        give_up("the file that says that it is ready cannot be made");
    pthread_mutex_unlock(&asking);
}

static void connect_control(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = CONTROL};
    const char *other = getenv(CONTROL_VARIABLE);

    if (other != NULL && strlen(other) >= sizeof address.sun_path)
        give_up(CONTROL_VARIABLE ": found a path that is too long");
    if (other != NULL)
        strcpy(address.sun_path, other);
    control = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (control < 0 || connect(control, (const struct sockaddr *)&address, sizeof address) != 0)
        give_up("hyperperiodd does not listen at its socket");
}

static struct ring_memory map_ring(const char *path) {
    struct ring_memory memory = {0, told.memory_bytes - RING_OFFSET, 0};
    int file = open(path, O_CREAT | O_RDWR, 0600);

    if (file >= 0 && ftruncate(file, (off_t)memory.bytes) == 0)
        memory.start = mmap(0, memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory.start == 0 || memory.start == MAP_FAILED)
        give_up("the file of the ring cannot be made");
    return memory;
}

int main(int count, char **words) {
    struct ring_memory memory;

    if (count < 5)
        give_up("usage: tasks WORDS RING READY SERVER...");
    read_words(words[1], &told);
    if (told.vcpus != (hp_u64)(count - 4))
        give_up("as many servers as vcpus are needed");
    ready = words[3];
    servers = words + 4;
    if (is_left_to_kernel(servers[0]))
        turns = 1;
    memory = map_ring(words[2]);
    /* No page is missing once tasks run. */
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        give_up("memory cannot be locked");
    connect_control();
    hops_init(&told, dirname(strdupa(ready)));
    run_threads(&told, memory);
    return 0;
}
