// SPDX-License-Identifier: BSD-2-Clause
//
// The sequences of workload.h, and the draws they are made of.

#include "hosts/sim/workload.h"

#include "core/draw.h"

#include <algorithm>

namespace hyperperiod::sim {

namespace {

Ns draw_between(const Task &task, u64 seed, u64 job, u32 stream, Ns low_ns, Ns high_ns) {
    return hp_draw_between(hp_draw(seed, task.domain, task.index, job, stream), low_ns, high_ns);
}

} // namespace

Ns Workload::drawn_execution_ns(u64 job) const {
    if (task_.kind == Kind::recorded)
        return (*task_.recorded)[job].ran_ns;
    return draw_between(task_, seed_, job, HP_DRAW_EXECUTION, task_.bcet_ns, task_.wcet_ns);
}

Ns Workload::execution_ns(const Passage &passage) const {
    Ns drawn_ns = task_.wcet_ns;

    if (task_.bcet_ns != task_.wcet_ns)
        drawn_ns = hp_draw_between(hp_draw(seed_, FLOWS, draw_index(passage.flow, passage.hop + 1),
                                           passage.item, HP_DRAW_EXECUTION),
                                   task_.bcet_ns, task_.wcet_ns);
    return overrun_ns(drawn_ns, passage.item, passage.release_ns);
}

Ns Workload::overrun_ns(Ns drawn_ns, u64 job, Ns release_ns) const {
    const Overrun &overrun = task_.overrun;
    const hp_overrun rule{overrun.thousandths, overrun.from_ns, overrun.to_ns, overrun.every};

    return hp_overrun_ns(&rule, drawn_ns, job, release_ns);
}

Ns Workload::jitter_ns(u64 job) const {
    if (task_.jitter_ns == 0)
        return 0;
    return draw_between(task_, seed_, job, HP_DRAW_JITTER, 0, task_.jitter_ns);
}

Workload::Cursor Workload::recorded(u64 job) const {
    const Ns release_ns = job < task_.recorded->size() ? (*task_.recorded)[job].release_ns : NEVER;

    return {job, release_ns, release_ns};
}

Workload::Cursor Workload::first() const {
    if (task_.kind == Kind::recorded)
        return recorded(0);
    if (task_.kind == Kind::hop)
        return {0, NEVER, NEVER};
    return {0, task_.offset_ns, task_.offset_ns + jitter_ns(0)};
}

void Workload::advance_by_draw(Cursor &cursor) const {
    Ns gap_ns = task_.period_ns;

    if (task_.kind == Kind::recorded) {
        cursor = recorded(cursor.job + 1);
        return;
    }
    cursor.job++;
    if (task_.kind == Kind::sporadic)
        gap_ns = draw_between(task_, seed_, cursor.job, HP_DRAW_GAP, gap_ns, 2 * gap_ns);
    cursor.arrival_ns += gap_ns;
    cursor.release_ns = std::max(cursor.arrival_ns + jitter_ns(cursor.job), cursor.release_ns);
}

void Workload::follow(Cursor &cursor, Ns finish_ns) const {
    cursor.job++;
    cursor.arrival_ns = task_.kind == Kind::event ? finish_ns + task_.period_ns : finish_ns;
    cursor.release_ns = cursor.arrival_ns;
    if (task_.kind == Kind::event)
        cursor.release_ns += jitter_ns(cursor.job);
}

u64 TaskRun::due(Ns end_ns) const {
    if (workload.task().deadline_ns == NEVER)
        return 0;
    if (!workload.releases_ahead())
        return next.job - open_deadlines.after(end_ns);
    Workload::Cursor cursor = workload.first();

    while (cursor.job < next.job && workload.deadline_of(cursor.release_ns) <= end_ns)
        workload.advance(cursor);
    return cursor.job;
}

} // namespace hyperperiod::sim
