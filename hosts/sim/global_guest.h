// SPDX-License-Identifier: BSD-2-Clause
//
// The scheduler inside a domain that schedules its jobs globally (gedf, grm, gdm, gfp): jobs move
// between the vcpus, after the pcpus that the hypervisor gives them.
//
// Each task offers its oldest unfinished job, under a key of which the smallest is the best: the
// absolute deadline under gedf, the task's rank under the others (guest.h). Of equal keys the jobs
// that a vcpu remembers come first, then the file's order decides. A vcpu remembers the job that
// it executed last until that job finishes or is executed elsewhere.
//
// Where p of the domain's vcpus have a pcpu, the first p jobs are on these vcpus, one on each. A
// job that is executed up to now stays where it is if it may. The others take, the best first, the
// vcpu that executed them last if it is free, else the lowest one that is. All other jobs wait.
//
// Which vcpus ask the hypervisor for pcpus is up to the engine (engine_global.h).
#pragma once

#include "hosts/sim/scenario.h"

namespace hyperperiod::sim {

constexpr bool schedules_globally(Scheduler scheduler) {
    switch (scheduler) {
    case Scheduler::gedf:
    case Scheduler::grm:
    case Scheduler::gdm:
    case Scheduler::gfp:
        return true;
    case Scheduler::rm:
    case Scheduler::dm:
    case Scheduler::fp:
    case Scheduler::edf:
    case Scheduler::fifo:
    case Scheduler::executor:
        break;
    }
    return false;
}

class GlobalGuest {
  public:
    // `first_task` and `first_vcpu` are the global ids of the domain's first ones.
    GlobalGuest(const Domain &domain, u32 first_task, u32 first_vcpu);

    u32 first_vcpu() const { return first_vcpu_; }
    u32 vcpus() const { return static_cast<u32>(slots_.size()); }
    // How many jobs are to be executed.
    u32 jobs() const { return static_cast<u32>(jobs_.size()); }
    // The task (global id) whose job is on a vcpu (global id), or NONE.
    u32 task_on(u32 vcpu) const { return slots_[vcpu - first_vcpu_].task; }

    // A task offers its oldest job.
    void offer(u32 task, Ns deadline_ns);
    // The job on `vcpu` has finished.
    void finish(u32 vcpu);
    // Puts the first jobs on those of the domain's vcpus for which has_pcpu(vcpu), and returns how
    // many jobs wait. May be asked again and again while the pcpus are dealt out.
    template <class HasPcpu> u32 place(HasPcpu &&has_pcpu) {
        for (u32 slot = 0; slot < slots_.size(); slot++)
            slots_[slot].has_pcpu = has_pcpu(first_vcpu_ + slot);
        return place_first();
    }
    // What was placed last is executed from now on. Calls moved(vcpu) for every vcpu whose job goes
    // on there after another one has executed it.
    template <class Moved> void execute(Moved &&moved) {
        for (u32 slot = 0; slot < slots_.size(); slot++) {
            const u32 task = slots_[slot].task;

            slots_[slot].executes = task != NONE;
            if (task == NONE)
                continue;
            if (entry(task).last != NONE && entry(task).last != slot)
                moved(first_vcpu_ + slot);
            forget(task);
            entry(task).last = slot;
            slots_[slot].remembered = task;
        }
    }

    bool stirred = false; // jobs, or pcpus of its vcpus, have come or gone at this instant

  private:
    struct Slot {
        u32 task = NONE;
        u32 remembered = NONE; // the task whose job it remembers
        bool executes = false; // that job, up to now
        bool has_pcpu = false;
    };
    struct Entry {
        Ns key = 0;
        u32 last = NONE;  // where its job was executed last
        u32 place = NONE; // where it is
    };

    Entry &entry(u32 task) { return entries_[task - first_task_]; }
    bool is_remembered(u32 task) {
        const u32 last = entry(task).last;

        return last != NONE && slots_[last].remembered == task;
    }
    bool may_stay(u32 task) {
        return is_remembered(task) && slots_[entry(task).last].executes
               && slots_[entry(task).last].has_pcpu;
    }
    bool is_free(u32 slot) const { return slots_[slot].has_pcpu && slots_[slot].task == NONE; }
    void forget(u32 task);
    void put(u32 task, u32 slot);
    u32 place_first();
    u32 place_for(u32 task);

    bool by_deadline_;
    u32 first_task_;
    u32 first_vcpu_;
    std::vector<Slot> slots_;
    std::vector<Entry> entries_;
    std::vector<u32> jobs_; // the tasks that offer one
};

} // namespace hyperperiod::sim
