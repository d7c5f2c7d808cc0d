// SPDX-License-Identifier: BSD-2-Clause
//
// Who is first, and on which vcpu, in a domain that schedules its jobs globally.

#include "hosts/sim/global_guest.h"

#include "hosts/sim/guest.h"

#include <algorithm>
#include <tuple>

namespace hyperperiod::sim {

GlobalGuest::GlobalGuest(const Domain &domain, u32 first_task, u32 first_vcpu)
    : by_deadline_(domain.scheduler == Scheduler::gedf), first_task_(first_task),
      first_vcpu_(first_vcpu), slots_(domain.vcpus.size()), entries_(domain.tasks.size()) {
    const std::vector<u32> order = ranking(domain, first_task);

    for (u32 rank = 0; rank < order.size(); rank++)
        entry(order[rank]).key = rank;
}

void GlobalGuest::offer(u32 task, Ns deadline_ns) {
    if (by_deadline_)
        entry(task).key = deadline_ns;
    jobs_.push_back(task);
}

void GlobalGuest::finish(u32 vcpu) {
    const u32 task = slots_[vcpu - first_vcpu_].task;

    forget(task);
    entry(task).last = NONE;
    slots_[vcpu - first_vcpu_].task = NONE;
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), task));
}

// No vcpu remembers the task's job any more.
void GlobalGuest::forget(u32 task) {
    if (is_remembered(task))
        slots_[entry(task).last].remembered = NONE;
}

void GlobalGuest::put(u32 task, u32 slot) {
    entry(task).place = slot;
    slots_[slot].task = task;
}

u32 GlobalGuest::place_first() {
    const auto pcpus = static_cast<std::size_t>(std::count_if(
        slots_.begin(), slots_.end(), [](const Slot &slot) { return slot.has_pcpu; }));
    const std::size_t chosen = std::min(jobs_.size(), pcpus);

    std::sort(jobs_.begin(), jobs_.end(), [this](u32 a, u32 b) {
        const auto rank = [this](u32 task) {
            return std::tuple{entry(task).key, !is_remembered(task), task};
        };
        return rank(a) < rank(b);
    });
    for (Slot &slot : slots_)
        slot.task = NONE;
    for (std::size_t i = 0; i < jobs_.size(); i++) {
        entry(jobs_[i]).place = NONE;
        if (i < chosen && may_stay(jobs_[i]))
            put(jobs_[i], entry(jobs_[i]).last);
    }
    for (std::size_t i = 0; i < chosen; i++) {
        if (entry(jobs_[i]).place == NONE)
            put(jobs_[i], place_for(jobs_[i]));
    }
    return static_cast<u32>(jobs_.size() - chosen);
}

// Where a job goes that is not executed now: there is a free vcpu.
u32 GlobalGuest::place_for(u32 task) {
    const u32 last = entry(task).last;
    u32 slot = 0;

    if (last != NONE && is_free(last))
        return last;
    while (!is_free(slot))
        slot++;
    return slot;
}

} // namespace hyperperiod::sim
