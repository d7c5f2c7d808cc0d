// SPDX-License-Identifier: BSD-2-Clause
//
// When the jobs of a task are released and how long each one runs.
//
// Every draw is a function of (seed, domain, task, job, stream), never of the schedule
// (core/draw.h), so the same job looks the same under every policy and on every host. That also
// bounds memory: a backlog of any length is two cursors over the same deterministic sequence,
// one at the next job to be released and one at the oldest unfinished job. A hop keeps a list
// instead, which the queues of its flows bound.
//
//   periodic  arrives at offset + k * period, released up to `jitter` later
//   sporadic  gaps between arrivals are uniform in [period, 2 * period], jitter as above
//   event     released `period` (and jitter) after the job before it finished; the first at offset
//   busy      one endless job from offset; with a wcet, jobs back to back
//   hop       when an item of a flow reaches it (flow.h): no sequence that draws could give
//   recorded  as its list says, for the times that it says
//
// Releases of a task never overtake one another: one that would come before its predecessor
// comes with it. A deadline counts from the release.
#pragma once

#include "hosts/sim/histogram.h"
#include "hosts/sim/items.h"

#include <memory>

namespace hyperperiod::sim {

// Flows draw like tasks of a domain with this number, which no domain has.
inline constexpr u32 FLOWS = 0xFFFFFF;
// The number of the task there: 0 of a flow is its source, the others are its hops.
inline u32 draw_index(u32 flow, u32 place) {
    return flow << 16 | place;
}

class Workload {
  public:
    Workload(const Task &task, u64 seed) : task_(task), seed_(seed) {}

    struct Cursor {
        u64 job = 0;
        Ns arrival_ns = 0;
        Ns release_ns = 0;
    };

    const Task &task() const { return task_; }
    Cursor first() const;
    // The job after `cursor`; of a task whose releases do not depend on completions.
    void advance(Cursor &cursor) const {
        if (task_.kind == Kind::periodic && task_.jitter_ns == 0) {
            cursor.job++;
            cursor.arrival_ns += task_.period_ns;
            cursor.release_ns = cursor.arrival_ns;
        } else {
            advance_by_draw(cursor);
        }
    }
    // The job after `cursor` of an event or busy task, whose last job finished at `finish_ns`.
    void follow(Cursor &cursor, Ns finish_ns) const;

    Ns execution_ns(const Cursor &cursor) const {
        const Ns drawn_ns =
            task_.bcet_ns == task_.wcet_ns ? task_.wcet_ns : drawn_execution_ns(cursor.job);

        return task_.overrun.thousandths == 0 ? drawn_ns
                                              : overrun_ns(drawn_ns, cursor.job, cursor.release_ns);
    }
    // Of a hop: what an item takes there is its own, whichever job of the task it is.
    Ns execution_ns(const Passage &passage) const;
    Ns deadline_of(Ns release_ns) const {
        return task_.deadline_ns == NEVER ? NEVER : release_ns + task_.deadline_ns;
    }
    bool is_hop() const { return task_.kind == Kind::hop; }
    // Whether the next release is known while a job is unfinished.
    bool releases_ahead() const {
        return task_.kind == Kind::periodic || task_.kind == Kind::sporadic
               || task_.kind == Kind::recorded;
    }

  private:
    void advance_by_draw(Cursor &cursor) const;
    // A job of a recorded task, or the end of its list.
    Cursor recorded(u64 job) const;
    Ns drawn_execution_ns(u64 job) const;
    // How long a job runs that would run for `drawn_ns`, if it is one of those that overrun.
    Ns overrun_ns(Ns drawn_ns, u64 job, Ns release_ns) const;
    Ns jitter_ns(u64 job) const;

    Task task_;
    u64 seed_;
};

// One task while it runs.
struct TaskRun {
    TaskRun(const Task &task, u64 seed)
        : workload(task, seed), next(workload.first()), head(next),
          items(workload.is_hop() ? std::make_unique<HopItems>() : nullptr) {}

    u64 unfinished() const { return next.job - head.job; }
    Ns head_execution_ns() const {
        if (workload.is_hop()) [[unlikely]]
            return workload.execution_ns(items->waiting.front());
        return workload.execution_ns(head);
    }
    // Of a task whose releases no cursor can repeat, when `next` is released at `now_ns`.
    void keep_open_deadline(Ns now_ns) {
        if (workload.task().deadline_ns != NEVER)
            open_deadlines.add(now_ns, workload.deadline_of(next.release_ns));
    }
    // Released jobs whose deadline is at or before `end_ns`.
    u64 due(Ns end_ns) const;
    // Calls visit(job, deadline_ns) for every unfinished job, oldest first.
    template <class Visit> void each_unfinished(Visit &&visit) const {
        Workload::Cursor cursor = head;

        if (workload.is_hop()) {
            for (const Passage &passage : items->waiting)
                visit(cursor.job++, workload.deadline_of(passage.release_ns));
            return;
        }
        for (u64 left = unfinished(); left > 0; left--) {
            visit(cursor.job, workload.deadline_of(cursor.release_ns));
            if (left > 1)
                workload.advance(cursor);
        }
    }

    Workload workload;
    Workload::Cursor next; // the job to be released next
    Workload::Cursor head; // the oldest unfinished job, if next is ahead of it
    Ns remaining_ns = 0;   // of head, up to date while no pcpu runs it
    u32 last_pcpu = NONE;  // where head was executed last
    u32 guest = 0;         // the index of its domain

    Histogram responses;
    u64 late = 0;                    // finished after the deadline
    OpenDeadlines open_deadlines;    // of event tasks and hops
    std::unique_ptr<HopItems> items; // of a hop
};

} // namespace hyperperiod::sim
