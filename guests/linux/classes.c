// SPDX-License-Identifier: BSD-2-Clause
//
// How the threads of a domain are scheduled by Linux in a VM under Xen: by its scheduling classes.
//
// Who is first is for Linux to say. The schedulers of a domain are asked of it as
//
//   by rank   SCHED_FIFO, a priority for each rank
//   fifo      SCHED_FIFO, the same priority for all
//   edf       SCHED_DEADLINE; a task without a deadline is an ordinary thread, behind all others
//   fair      ordinary threads
//
// A thread under SCHED_DEADLINE has its relative deadline for its runtime: this kernel counts the
// time that the hypervisor takes from a vcpu as the thread's, and would hold one back for it that
// has its wcet only. So jobs go by release + deadline, and none is held back before that.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guests/linux/threads.h"

#define TOP_PRIORITY 98u /* of rank 0; the thread that writes the end has 99 */
#define RANKS 98u

/* One thread for each task, as programs for Linux have it. */
hp_u32 turns = 1;

/* As the kernel keeps it in the thread's memory. */
const volatile hp_u32 *vcpu_here(void) {
    const char *self = __builtin_thread_pointer();

    return &((const volatile struct rseq *)(self + __rseq_offset))->cpu_id;
}

static struct attributes attributes_of(const struct arguments *told, const struct task *task) {
    struct attributes wanted = {.size = sizeof wanted, .policy = SCHED_OTHER};

    switch (told->scheduler) {
    case DOMAIN_RANKED:
        wanted.policy = SCHED_FIFO;
        wanted.priority = TOP_PRIORITY - (hp_u32)task->rank;
        break;
    case DOMAIN_FIFO:
        wanted.policy = SCHED_FIFO;
        wanted.priority = TOP_PRIORITY;
        break;
    case DOMAIN_EDF:
        if (task->deadline_ns == HP_NEVER)
            break;
        wanted.policy = SCHED_DEADLINE;
        wanted.runtime_ns = wanted.deadline_ns = wanted.period_ns = task->deadline_ns;
        break;
    case DOMAIN_FAIR:
        break;
    }
    return wanted;
}

void take_place(const struct arguments *told, const struct task *task) {
    struct attributes wanted = attributes_of(told, task);
    cpu_set_t vcpus;

    if (sysconf(_SC_NPROCESSORS_ONLN) != (long)told->vcpus || __rseq_size == 0)
        give_up("this kernel has not started all vcpus, or does not say which one a thread is on");
    if (told->scheduler == DOMAIN_RANKED && task->rank >= RANKS)
        give_up("more ranks than Linux has priorities");
    CPU_ZERO(&vcpus);
    for (hp_u32 vcpu = 0; vcpu < told->vcpus; vcpu++) {
        if (task->vcpu == HP_NONE || task->vcpu == vcpu)
            CPU_SET(vcpu, &vcpus);
    }
    if (sched_setaffinity(0, sizeof vcpus, &vcpus) != 0)
        give_up("a thread cannot be bound to its vcpu");
    if (syscall(SYS_sched_setattr, 0, &wanted, 0) != 0)
        give_up("Linux does not take the scheduling parameters of a task");
    /* Ordinary threads wake up to 50 us late otherwise, to save power. */
    prctl(PR_SET_TIMERSLACK, 1);
}
