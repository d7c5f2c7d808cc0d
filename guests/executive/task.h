/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A task: when its jobs are released and how long each one runs. The rules and the draws are
 * those of the simulator, so that the same job is the same there and here.
 *
 *   periodic  arrives at offset + k * period, released up to `jitter` later
 *   sporadic  gaps between arrivals are drawn from [period, 2 * period], jitter as above
 *   event     released `period` (and jitter) after the job before it finished; the first at offset
 *   busy      one endless job from offset; with a wcet, jobs back to back
 *   hop       a job for each item of a flow that reaches it (flow.h): nothing here says when
 *
 * Releases of a task never overtake one another. A deadline counts from the release.
 */
#ifndef GUESTS_TASK_H
#define GUESTS_TASK_H

#include "core/draw.h"

enum task_kind { TASK_PERIODIC, TASK_SPORADIC, TASK_EVENT, TASK_BUSY, TASK_HOP };

struct task {
    enum task_kind kind;
    hp_u32 vcpu; /* the only one that may run it, or HP_NONE */
    hp_u64 period_ns;
    hp_u64 wcet_ns; /* 0: a single job that never ends */
    hp_u64 bcet_ns;
    hp_u64 deadline_ns; /* HP_NEVER: none */
    hp_u64 offset_ns;
    hp_u64 jitter_ns;
    hp_u64 rank; /* under fixed priority: 0 is the first */
    struct hp_overrun overrun;
};

/* What the draws of a task are made from. */
struct task_name {
    hp_u64 seed;
    hp_u32 domain;
    hp_u32 task;
};

/* A job of a task, and when it is released. */
struct job {
    hp_u64 number;
    hp_u64 arrival_ns;
    hp_u64 release_ns;
};

static inline hp_u64 task_draw(struct task_name name, hp_u64 job, hp_u32 stream, hp_u64 low_ns,
                               hp_u64 high_ns) {
    return hp_draw_between(hp_draw(name.seed, name.domain, name.task, job, stream), low_ns,
                           high_ns);
}

static inline hp_u64 task_jitter_ns(const struct task *task, struct task_name name, hp_u64 job) {
    return task->jitter_ns == 0 ? 0 : task_draw(name, job, HP_DRAW_JITTER, 0, task->jitter_ns);
}

/* How long a job runs that is released at `release_ns`; 0: for good. */
static inline hp_u64 task_execution_ns(const struct task *task, struct task_name name, hp_u64 job,
                                       hp_u64 release_ns) {
    hp_u64 drawn_ns = task->wcet_ns;

    if (task->bcet_ns != task->wcet_ns)
        drawn_ns = task_draw(name, job, HP_DRAW_EXECUTION, task->bcet_ns, task->wcet_ns);
    return hp_overrun_ns(&task->overrun, drawn_ns, job, release_ns);
}

static inline hp_u64 task_deadline_of(const struct task *task, hp_u64 release_ns) {
    return task->deadline_ns == HP_NEVER ? HP_NEVER : release_ns + task->deadline_ns;
}

/* Whether the next release is known while a job is unfinished. */
static inline hp_u32 task_releases_ahead(const struct task *task) {
    return task->kind == TASK_PERIODIC || task->kind == TASK_SPORADIC;
}

static inline struct job task_first_job(const struct task *task, struct task_name name) {
    struct job job = {0, task->offset_ns, task->offset_ns + task_jitter_ns(task, name, 0)};

    return job;
}

/* The job after `job`, of a periodic or sporadic task. */
static inline struct job task_next_job(const struct task *task, struct task_name name,
                                       struct job job) {
    hp_u64 gap_ns = task->period_ns;

    job.number++;
    if (task->kind == TASK_SPORADIC)
        gap_ns = task_draw(name, job.number, HP_DRAW_GAP, gap_ns, 2u * gap_ns);
    job.arrival_ns += gap_ns;
    job.release_ns =
        hp_max(job.arrival_ns + task_jitter_ns(task, name, job.number), job.release_ns);
    return job;
}

/* The job after `job` of an event or busy task, where that finished at `finish_ns`. */
static inline struct job task_job_after(const struct task *task, struct task_name name,
                                        struct job job, hp_u64 finish_ns) {
    job.number++;
    job.arrival_ns = finish_ns;
    if (task->kind == TASK_EVENT)
        job.arrival_ns += task->period_ns;
    job.release_ns = job.arrival_ns;
    if (task->kind == TASK_EVENT)
        job.release_ns += task_jitter_ns(task, name, job.number);
    return job;
}

#endif /* GUESTS_TASK_H */
