// SPDX-License-Identifier: BSD-2-Clause
//
// Domains that schedule their jobs globally (global_guest.h), inside the instants of the engine:
// which of their vcpus have work. Part of engine.h.
//
// At the end of every instant
//   - if a job of the domain waits, all its vcpus have work: one that has no pcpu asks for one on
//     behalf of that job, whichever vcpu executed it last;
//   - if none waits, those vcpus have work that execute a job, and no others.
// So a job waits only while each vcpu of its domain either executes a better one or asks in vain.
//
// The way there. When jobs have finished and none waits, vcpus that have a pcpu and nothing left to
// execute depart (step 2); one without a pcpu still asks until it is known who gets one. When jobs
// were released and some wait, the lowest vcpus without work arrive until as many have work as
// there are jobs (step 4). After the picks (step 5) pcpus may have come and gone:
//   - while a job waits and a vcpu of its domain has no work, the lowest such vcpu arrives, one of
//     each domain, and the picks that follow from it are made;
//   - when no such vcpu is left, those that have work for no reason depart, and the picks that
//     follow are made; from the beginning.
//
// This ends. An arrival is followed by a departure of the same vcpu only after all arrivals. A
// vcpu that departs executes nothing, and whoever executes goes on when somebody else stops
// asking: no policy takes a pcpu away for that. So no job waits that did not wait before, and
// nobody arrives again. The bound on the rounds says so, and stops a run that proves it wrong.
//
// A vcpu that was granted a pcpu which is still in the hypervisor (overheads) cannot depart before
// that is over, and does so then if there is still nothing to execute.
#pragma once

namespace hyperperiod::sim::HP_SIM_CAPACITY {

// What stands in the trace from now on comes after the picks made so far. Whom they granted a pcpu
// for no time at all is the last one there, too, so the trace says it.
inline void Engine::begin_round() {
    if (!trace_.on())
        return;
    for (u64 todo = dirty_; todo != 0;) {
        const u32 id = take_lowest(todo);

        if (pcpu_[id].run != pcpu_[id].ran || !pcpu_[id].recorded) {
            pcpu_[id].recorded = false;
            record_dispatch(id, NONE, 0);
            pcpu_[id].recorded = false;
        }
    }
    trace_.begin_round();
}

inline bool Engine::is_granted(u32 vcpu) const {
    return vcpus_[vcpu].working && vcpus_[vcpu].pcpu != NONE;
}

inline u32 Engine::place_jobs(GlobalGuest &guest) {
    return guest.place([this](u32 vcpu) { return is_granted(vcpu); });
}

// A vcpu got a pcpu or has lost it.
inline void Engine::stir(u32 vcpu) {
    if (GlobalGuest *guest = global_guest(vcpus_[vcpu].domain))
        guest->stirred = true;
}

// Vcpus that were granted a pcpu in vain depart when the hypervisor is done there.
inline void Engine::stir_after_overheads() {
    for (const Pcpu &pcpu : pcpu_) {
        if (pcpu.run != NONE && pcpu.making_progress == NONE && pcpu.overhead_end_ns == now_ns_)
            stir(pcpu.run);
    }
}

inline u32 Engine::lowest_without_work(const GlobalGuest &guest) const {
    for (u32 i = 0; i < guest.vcpus(); i++) {
        if (!vcpus_[guest.first_vcpu() + i].working)
            return guest.first_vcpu() + i;
    }
    return NONE;
}

// As many vcpus have work as there are jobs, where some of these wait.
inline void Engine::wake_for_releases() {
    for (GlobalGuest &guest : global_guests_) {
        u32 granted = 0;
        u32 working = 0;

        if (!guest.stirred)
            continue;
        for (u32 i = 0; i < guest.vcpus(); i++) {
            granted += is_granted(guest.first_vcpu() + i);
            working += vcpus_[guest.first_vcpu() + i].working;
        }
        for (; guest.jobs() > granted && working < std::min(guest.jobs(), guest.vcpus()); working++)
            arrive(lowest_without_work(guest));
    }
}

// Whether a job waits for which one more vcpu can ask; all such have asked then.
inline bool Engine::wake_for_waiting() {
    bool woken = false;

    for (GlobalGuest &guest : global_guests_) {
        if (!guest.stirred || place_jobs(guest) == 0)
            continue;
        const u32 vcpu = lowest_without_work(guest);

        if (vcpu == NONE)
            continue;
        if (!std::exchange(woken, true))
            begin_round();
        arrive(vcpu);
    }
    return woken;
}

// Whether vcpus had work for no reason; they have departed then. Before the picks of an instant
// only those that have a pcpu are asked.
inline bool Engine::retire(bool after_picks) {
    bool retired = false;

    for (GlobalGuest &guest : global_guests_) {
        if (!guest.stirred || place_jobs(guest) > 0)
            continue;
        for (u32 i = 0; i < guest.vcpus(); i++) {
            const u32 id = guest.first_vcpu() + i;
            const Vcpu &vcpu = vcpus_[id];

            const bool may_leave =
                vcpu.pcpu == NONE ? after_picks : pcpu_[vcpu.pcpu].overhead_end_ns <= now_ns_;

            if (!vcpu.working || guest.task_on(id) != NONE || !may_leave)
                continue;
            if (!std::exchange(retired, true) && after_picks)
                begin_round();
            depart(id, after_picks ? HP_RECORD_AFTER_PICK : 0);
        }
    }
    return retired;
}

// After the first picks of an instant.
inline void Engine::balance() {
    const std::size_t bound = 2 * vcpus_.size() + 2;

    for (std::size_t round = 0;; round++) {
        if (!wake_for_waiting() && !retire(true))
            break;
        if (round == bound)
            throw std::logic_error("the vcpus of a domain do not settle");
        settle();
    }
    for (GlobalGuest &guest : global_guests_) {
        if (!std::exchange(guest.stirred, false))
            continue;
        guest.execute([this](u32 vcpu) { given_[vcpu].moved_here++; });
        for (u32 i = 0; i < guest.vcpus(); i++)
            vcpu_changed(guest.first_vcpu() + i);
    }
}

// Throws if what the pcpus execute is not what the file's head and global_guest.h say. Looks at
// jobs, pcpus and vcpus alone, not at what the guest believes.
inline void Engine::check_global(u32 domain) const {
    const Domain &spec = scenario_.domains[domain];
    const std::vector<u32> order = ranking(spec, guests_[domain].first_task());
    std::vector<u64> key(order.size());
    std::vector<u32> executed(order.size());
    u64 worst = 0;
    bool waits = false;

    for (u32 rank = 0; rank < order.size(); rank++) {
        const TaskRun &run = tasks_[order[rank]];

        key[rank] = spec.scheduler == Scheduler::gedf
                        ? run.workload.deadline_of(run.head.release_ns)
                        : rank;
        for (const Pcpu &pcpu : pcpu_)
            executed[rank] += pcpu.making_progress == order[rank];
        if (executed[rank] > (run.unfinished() > 0))
            throw std::logic_error("a job is executed twice, or one that is not there");
        if (executed[rank] == 1)
            worst = std::max(worst, key[rank]);
        waits |= run.unfinished() > 0 && executed[rank] == 0;
    }
    for (u32 rank = 0; rank < order.size(); rank++) {
        const bool pending = tasks_[order[rank]].unfinished() > 0;

        if (pending && executed[rank] == 0 && key[rank] < worst)
            throw std::logic_error("a job waits for a worse one of its domain");
    }
    check_demand(domain, waits);
}

// Whether the right vcpus of a domain have work if a job waits, or if none does.
inline void Engine::check_demand(u32 domain, bool waits) const {
    for (u32 i = 0; i < guests_[domain].vcpus(); i++) {
        const Vcpu &vcpu = vcpus_[guests_[domain].first_vcpu() + i];
        const bool granted = vcpu.pcpu != NONE;
        const bool idles = granted && pcpu_[vcpu.pcpu].making_progress == NONE;

        if (waits ? idles || !vcpu.working : idles && pcpu_[vcpu.pcpu].overhead_end_ns <= now_ns_)
            throw std::logic_error("a vcpu executes nothing while a job of its domain waits");
        if (!waits && !granted && vcpu.working)
            throw std::logic_error("a vcpu has work, and its domain has none for it");
    }
}

} // namespace hyperperiod::sim::HP_SIM_CAPACITY
