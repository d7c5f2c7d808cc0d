// SPDX-License-Identifier: BSD-2-Clause
//
// The scheduler inside a domain: which job is on which of its vcpus. The hypervisor above only
// hears whether a vcpu has a job.
//
// Each task offers its oldest unfinished job, under a key of which the smallest is the best: the
// task's rank under rm (by period), dm (by deadline) and fp (by priority), always broken by file
// order; the absolute deadline under edf; the release under fifo. Of equal keys the job that is
// being executed goes on, otherwise the file's order decides.
//
// A job takes the lowest idle vcpu. If none is idle and it beats the worst job on one, it takes
// that vcpu and the job there waits again, never on a tie. A job stays on its vcpu until it
// finishes or is displaced, also while that vcpu has no pcpu. A pinned task knows one vcpu only.
// Two or more jobs of one task never run at once: they are FIFO.
//
// An executor looks at what is ready only when all that was ready has been executed: at a polling
// point, which is when a job from outside its open window begins. All jobs that wait then are the
// next window. So the key of a job counts windows, the open one or the next, and inside of one the
// places of tasks: by priority, then file order. What comes later never has a lower key.
#pragma once

#include "hosts/sim/scenario.h"

#include <bit>
#include <utility>

namespace hyperperiod::sim {

// Jobs that wait for a vcpu, the best first. Keys that are ranks (unique, small) are bits of a
// mask, so that the best is a bit scan; others are in a binary heap.
class WaitingJobs {
  public:
    WaitingJobs(bool ranked, u32 tasks) : words_(ranked ? tasks / 64 + 1 : 0) {}

    bool empty() const { return count_ == 0; }

    void insert(Ns key, u32 task) {
        count_++;
        if (words_.empty())
            push(key, task);
        else
            words_[key / 64] |= u64{1} << (key % 64);
    }

    // The best job's key, and its task where keys are not ranks.
    std::pair<Ns, u32> best() const {
        if (words_.empty())
            return heap_.front();
        u32 word = 0;

        while (words_[word] == 0)
            word++;
        return {u64{64} * word + static_cast<u32>(std::countr_zero(words_[word])), NONE};
    }

    void remove_best() {
        count_--;
        if (words_.empty())
            pop();
        else
            clear_lowest();
    }

  private:
    void clear_lowest() {
        u32 word = 0;

        while (words_[word] == 0)
            word++;
        words_[word] &= words_[word] - 1;
    }
    void push(Ns key, u32 task);
    void pop();

    u32 count_ = 0;
    std::vector<u64> words_;               // ranked
    std::vector<std::pair<Ns, u32>> heap_; // otherwise: (key, task), a min-heap
};

// The tasks of a domain (global ids), the best first, by what its scheduler sorts them by; in file
// order if that is no property of tasks.
std::vector<u32> ranking(const Domain &domain, u32 first_task);

class Guest {
  public:
    // `first_task` and `first_vcpu` are the global ids of the domain's first ones.
    Guest(const Domain &domain, u32 first_task, u32 first_vcpu);

    u32 first_task() const { return first_task_; }
    u32 first_vcpu() const { return first_vcpu_; }
    u32 vcpus() const { return static_cast<u32>(slots_.size()); }
    // The task (global id) whose job is on a vcpu (global id), or NONE.
    u32 task_on(u32 vcpu) const { return slots_[vcpu - first_vcpu_].task; }

    // The job on `vcpu` is now being executed: from here on it wins ties.
    void executed(u32 vcpu) {
        Slot &slot = slots_[vcpu - first_vcpu_];

        slot.fresh = false;
        if (scheduler_ == Scheduler::executor && slot.task != NONE)
            window_ = entry(slot.task).key / entries_.size();
    }

    // The job on `vcpu` has finished; the vcpu is idle until something is placed there.
    void finish(u32 vcpu) { slots_[vcpu - first_vcpu_].task = NONE; }

    // A task offers its oldest job. Calls changed(vcpu) for every vcpu that changes its job and
    // returns the one that was idle before, or NONE.
    template <class Changed> u32 place(u32 task, Ns release_ns, Ns deadline_ns, Changed &&changed) {
        if (!ranked_)
            entry(task).key = key_of(task, release_ns, deadline_ns);
        while (true) {
            const u32 slot = slot_for(task);

            if (slot == NONE) {
                wait(task);
                return NONE;
            }
            const u32 displaced = slots_[slot].task;

            slots_[slot] = {task, true};
            changed(first_vcpu_ + slot);
            if (displaced == NONE)
                return first_vcpu_ + slot;
            task = displaced;
        }
    }

    // Waiting jobs take the idle vcpus. Calls changed(vcpu) for each one taken.
    template <class Changed> void fill(Changed &&changed) {
        for (u32 slot = 0; slot < slots_.size() && waiting_ > 0; slot++) {
            if (slots_[slot].task != NONE)
                continue;
            const u32 task = take_best(slot);

            if (task != NONE) {
                slots_[slot] = {task, true};
                changed(first_vcpu_ + slot);
            }
        }
    }

  private:
    struct Slot {
        u32 task;
        bool fresh; // not executed on this vcpu yet
    };
    struct Entry {
        Ns key;
        u32 pinned;    // the vcpu's index in the domain, or NONE
        u32 place = 0; // in the order of an executor
    };

    Ns key_of(u32 task, Ns release_ns, Ns deadline_ns) const {
        if (scheduler_ == Scheduler::executor)
            return (window_ + 1) * entries_.size() + entry(task).place;
        return scheduler_ == Scheduler::edf ? deadline_ns : release_ns;
    }
    Entry &entry(u32 task) { return entries_[task - first_task_]; }
    const Entry &entry(u32 task) const { return entries_[task - first_task_]; }
    bool beats(u32 task, const Slot &slot) const {
        const Ns mine = entry(task).key;
        const Ns theirs = entry(slot.task).key;

        return mine < theirs || (mine == theirs && slot.fresh && task < slot.task);
    }
    // Where `task` goes now: an idle vcpu, or one whose job it beats, or NONE.
    u32 slot_for(u32 task) const {
        const u32 pinned = entry(task).pinned;

        if (slots_.size() > 1 && pinned == NONE)
            return lowest_idle_or_worst(task);
        const u32 slot = pinned == NONE ? 0 : pinned;

        return slots_[slot].task == NONE || beats(task, slots_[slot]) ? slot : NONE;
    }
    u32 lowest_idle_or_worst(u32 task) const;
    WaitingJobs &waiting_for(u32 pinned) { return pinned == NONE ? anywhere_ : pinned_[pinned]; }
    void wait(u32 task) {
        waiting_++;
        waiting_for(entry(task).pinned).insert(entry(task).key, task);
    }
    // Takes the best job that may run on a vcpu out of those waiting, or returns NONE.
    u32 take_best(u32 slot);
    u32 task_of(std::pair<Ns, u32> best) const {
        return ranked_ ? task_of_rank_[best.first] : best.second;
    }

    Scheduler scheduler_;
    bool ranked_;
    u64 window_ = 0; // of an executor: the open one
    u32 first_task_;
    u32 first_vcpu_;
    u32 waiting_ = 0;
    std::vector<Slot> slots_;
    std::vector<Entry> entries_;
    std::vector<u32> task_of_rank_;
    WaitingJobs anywhere_;
    std::vector<WaitingJobs> pinned_; // one per vcpu if any task is pinned, else none
};

} // namespace hyperperiod::sim
