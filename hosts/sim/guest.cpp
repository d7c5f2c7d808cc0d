// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of guest.h that are not in every event: ranks, heaps, domains with several vcpus.

#include "hosts/sim/guest.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace hyperperiod::sim {

void WaitingJobs::push(Ns key, u32 task) {
    heap_.emplace_back(key, task);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

void WaitingJobs::pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    heap_.pop_back();
}

namespace {

// What rm, dm, fp and executors sort by; a busy task without a period or deadline comes last.
u64 static_key(Scheduler scheduler, const Task &task) {
    switch (scheduler) {
    case Scheduler::rm:
    case Scheduler::grm:
        return task.kind == Kind::busy ? NEVER : task.period_ns;
    case Scheduler::dm:
    case Scheduler::gdm:
        return task.deadline_ns;
    case Scheduler::fp:
    case Scheduler::gfp:
    case Scheduler::executor:
        return task.priority;
    case Scheduler::edf:
    case Scheduler::fifo:
    case Scheduler::gedf:
        break;
    }
    return 0;
}

} // namespace

std::vector<u32> ranking(const Domain &domain, u32 first_task) {
    std::vector<u32> order(domain.tasks.size());

    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) {
        return static_key(domain.scheduler, domain.tasks[a])
               < static_key(domain.scheduler, domain.tasks[b]);
    });
    for (u32 &task : order)
        task += first_task;
    return order;
}

Guest::Guest(const Domain &domain, u32 first_task, u32 first_vcpu)
    : scheduler_(domain.scheduler),
      ranked_(scheduler_ != Scheduler::edf && scheduler_ != Scheduler::fifo
              && scheduler_ != Scheduler::executor),
      first_task_(first_task), first_vcpu_(first_vcpu),
      slots_(domain.vcpus.size(), Slot{NONE, true}),
      anywhere_(ranked_, static_cast<u32>(domain.tasks.size())) {
    bool any_pinned = false;

    for (const Task &task : domain.tasks) {
        entries_.push_back({0, task.pinned});
        any_pinned |= task.pinned != NONE;
    }
    if (any_pinned)
        pinned_.assign(domain.vcpus.size(), anywhere_);
    task_of_rank_ = ranking(domain, first_task);
    for (u32 rank = 0; rank < task_of_rank_.size(); rank++)
        entry(task_of_rank_[rank]).key = entry(task_of_rank_[rank]).place = rank;
}

u32 Guest::lowest_idle_or_worst(u32 task) const {
    u32 worst = NONE;

    for (u32 slot = 0; slot < slots_.size(); slot++) {
        if (slots_[slot].task == NONE)
            return slot;
        if (!beats(task, slots_[slot]))
            continue;
        const auto rank = [&](u32 s) {
            return std::pair{entry(slots_[s].task).key, slots_[s].task};
        };
        if (worst == NONE || rank(worst) < rank(slot))
            worst = slot;
    }
    return worst;
}

u32 Guest::take_best(u32 slot) {
    WaitingJobs *from = anywhere_.empty() ? nullptr : &anywhere_;

    if (!pinned_.empty() && !pinned_[slot].empty()) {
        const auto key = [&](const WaitingJobs &jobs) {
            return std::pair{jobs.best().first, task_of(jobs.best())};
        };
        if (from == nullptr || key(pinned_[slot]) < key(*from))
            from = &pinned_[slot];
    }
    if (from == nullptr)
        return NONE;
    const u32 task = task_of(from->best());

    from->remove_best();
    waiting_--;
    return task;
}

} // namespace hyperperiod::sim
