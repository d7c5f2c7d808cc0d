// SPDX-License-Identifier: BSD-2-Clause
//
// The engine's loop, and its steps 4 and 5 of an instant: picks, and what they change.
// Part of engine.h.
#pragma once

namespace hyperperiod::sim::HP_SIM_CAPACITY {

inline Ns Engine::next_instant_ns() const {
    Ns next_ns = std::min({calendar_.next_ns(), next_source_ns_, next_theft_ns_});

    if (next_action_ < script_.size())
        next_ns = std::min(next_ns, script_[next_action_].at_ns);
    for (const Pcpu &pcpu : pcpu_)
        next_ns = std::min(next_ns, pcpu.next_ns);
    if (rule_ != nullptr) [[unlikely]]
        next_ns = std::min(next_ns, next_replenish_ns_);
    return next_ns;
}

inline Ns Engine::advance(Ns until_ns, u64 instants) {
    for (u64 done = 0;; done++) {
        const Ns next_ns = next_instant_ns();

        if (next_ns >= until_ns)
            return until_ns;
        if (done == instants)
            return next_ns;
        now_ns_ = next_ns;
        instant();
    }
}

inline void Engine::instant() {
    if (overheads_ && !global_guests_.empty()) [[unlikely]]
        stir_after_overheads();
    if (rule_ != nullptr) [[unlikely]]
        charge_by_rule();
    completions();
    if (rule_ != nullptr) [[unlikely]]
        replenish_by_rule();
    while (next_source_ns_ == now_ns_) [[unlikely]]
        come(sources_.next_task());
    while (calendar_.next_ns() == now_ns_)
        release(calendar_.next_task());
    if (!global_guests_.empty()) [[unlikely]]
        wake_for_releases();
    act();
    if (next_theft_ns_ == now_ns_) [[unlikely]]
        steal_and_return();
    settle();
    if (!global_guests_.empty()) [[unlikely]]
        balance();
    if (dirty_ != 0)
        dispatch();
    if (scenario_.check)
        check();
    if (trace_.on())
        trace_.end_instant();
}

inline void Engine::charge_by_rule() {
    for (u32 id = 0; id < pcpu_.size(); id++)
        close_grant(id);
}

inline void Engine::replenish_by_rule() {
    if (next_replenish_ns_ <= now_ns_)
        touched_ = ~u64{0} >> (64 - pcpu_.size());
    next_replenish_ns_ = rule_->replenish(now_ns_);
}

inline void Engine::pick_by_rule(u32 id, hp_grant &grant) {
    std::vector<u32> ready;

    for (const u32 vcpu : locks_[id].vcpu_of) {
        if (vcpus_[vcpu].working)
            ready.push_back(vcpu);
    }
    const Rule::Choice chosen = rule_->pick(now_ns_, id, ready);
    const bool is_served = chosen.vcpu != NONE && !vcpus_[chosen.vcpu].best_effort;

    grant = {};
    grant.run = chosen.vcpu == NONE ? HP_NONE : vcpus_[chosen.vcpu].local;
    grant.pay = is_served ? grant.run : HP_NONE;
    grant.also = HP_NONE;
    grant.until_ns = chosen.until_ns;
}

inline void Engine::settle() {
    u64 due = departed_;

    timers_ = 0;
    for (u32 pcpu = 0; pcpu < pcpu_.size(); pcpu++)
        timers_ |= pcpu_[pcpu].pick_ns == now_ns_ ? bit(pcpu) : 0;
    due |= timers_;
    if ((due | touched_) == 0)
        return;
    if (scenario_.global) {
        settle_together(due);
    } else {
        for (u64 todo = due | touched_; todo != 0;)
            settle_alone(take_lowest(todo), due);
    }
    departed_ = 0;
    touched_ = 0;
}

// A pcpu with a core of its own: after its pick nothing is left to ask.
inline void Engine::settle_alone(u32 id, u64 due) {
    if ((due & bit(id)) != 0)
        pick(id, (timers_ & bit(id)) != 0);
    else if (kicked(locks_[id]) != 0)
        pick(id, true);
}

// All pcpus under one core: those that are in the hypervisor anyway pick first, then those that
// are kicked. A pick can make another pcpu's grant wrong, and a vcpu that moves is given up by
// one pcpu before another one gets it: that takes a few rounds, never many.
inline void Engine::settle_together(u64 due) {
    const std::size_t bound = 4 * pcpu_.size() + 4;

    while (due != 0) {
        const u32 id = take_lowest(due);

        pick(id, (timers_ & bit(id)) != 0);
    }
    for (std::size_t round = 0; round < bound; round++) {
        u64 kicks = kicked(locks_[0]);

        if (kicks == 0)
            return;
        while (kicks != 0)
            pick(take_lowest(kicks), true);
    }
    throw std::logic_error("the picks of one instant do not settle");
}

// The pcpus of a core that are to be interrupted now. One that is still busy with the
// hypervisor's own work takes the interrupt when that is over.
inline u64 Engine::kicked(LockDomain &lock) {
    u64 now = 0;

    // A rule is asked again whatever has happened.
    const u64 wanted = rule_ != nullptr ? 1 : hp_kicks(&lock.core, now_ns_);

    for (u64 kicks = wanted << lock.first_pcpu; kicks != 0;) {
        const u32 id = take_lowest(kicks);
        Pcpu &pcpu = pcpu_[id];

        if (pcpu.overhead_end_ns > now_ns_) {
            pcpu.pick_ns = pcpu.overhead_end_ns;
            pcpu.next_ns = std::min(pcpu.next_ns, pcpu.pick_ns);
            continue;
        }
        now |= bit(id);
        trace_.add(now_ns_, {.event = Event::kick, .pcpu = id});
    }
    return now;
}

inline void Engine::pick(u32 id, bool interrupted) {
    Pcpu &pcpu = pcpu_[id];
    LockDomain &lock = locks_[lock_of(id)];
    hp_grant grant;

    close_grant(id);
    if (rule_ != nullptr) [[unlikely]]
        pick_by_rule(id, grant);
    else
        grant = *hp_pick(&lock.core, id - lock.first_pcpu, now_ns_);
    const u32 run = lock.global(grant.run);

    if (run != pcpu.run) {
        if (!global_guests_.empty()) [[unlikely]] {
            for (const u32 vcpu : {pcpu.run, run}) {
                if (vcpu != NONE)
                    stir(vcpu);
            }
        }
        if (pcpu.run != NONE && vcpus_[pcpu.run].pcpu == id)
            vcpus_[pcpu.run].pcpu = NONE;
        if (run != NONE)
            vcpus_[run].pcpu = id;
    }
    if (overheads_)
        pcpu.overhead_end_ns = now_ns_ + overhead_ns(lock, id, run, interrupted);
    pcpu.run = run;
    pcpu.pay = lock.global(grant.pay);
    pcpu.also = lock.global(grant.also);
    pcpu.level = grant.level;
    pcpu.until_ns = grant.until_ns;
    pcpu.pick_ns = std::max(pcpu.until_ns, pcpu.overhead_end_ns);
    pcpus_[id].picks++;
    dirty_ |= bit(id);
}

// Books the time since the last pick.
inline void Engine::close_grant(u32 id) {
    Pcpu &pcpu = pcpu_[id];
    const Ns span_ns = now_ns_ - pcpu.start_ns;
    const u8 flags = pcpu.level > 0 ? HP_RECORD_EXTRA : 0;

    if (span_ns == 0)
        return;
    pcpu.start_ns = now_ns_;
    if (pcpu.stolen)
        pcpus_[id].stolen_ns += span_ns;
    if (pcpu.run != NONE) {
        VcpuCount &given = given_[pcpu.run];

        pcpus_[id].busy_ns += span_ns;
        given.supply_ns += span_ns;
        if (pcpu.pay != pcpu.run && pcpu.also != pcpu.run)
            given.donated_ns += span_ns;
        if (rule_ != nullptr) [[unlikely]]
            rule_->charge(now_ns_, pcpu.run, span_ns);
    }
    if (!trace_.on() && periods_.empty())
        return;
    for (const u32 payer : {pcpu.pay, pcpu.also}) {
        if (payer < periods_.size() && pcpu.level == 0)
            periods_[payer].pay(now_ns_ - span_ns, now_ns_);
        if (payer != NONE)
            trace_.add(now_ns_, {.event = Event::charge,
                                 .value = span_ns,
                                 .pcpu = id,
                                 .vcpu = pcpu.run,
                                 .payer = payer,
                                 .flags = flags});
    }
}

// Since when a vcpu has been paying by a grant that is not booked yet; NEVER: it is not.
inline Ns Engine::pays_since_ns(u32 vcpu) const {
    const u32 first = scenario_.global ? 0 : vcpus_[vcpu].lock;
    const u32 last = scenario_.global ? scenario_.pcpus : first + 1;

    for (u32 id = first; id < last; id++) {
        if (pcpu_[id].level == 0 && (pcpu_[id].pay == vcpu || pcpu_[id].also == vcpu))
            return pcpu_[id].start_ns;
    }
    return NEVER;
}

inline void Engine::noted(LockDomain &lock, bool is_refill, u32 local, i64 value) {
    const u32 vcpu = lock.global(local);

    trace_.add(now_ns_, {.event = is_refill ? Event::replenish : Event::deplete,
                         .value = static_cast<u64>(value),
                         .vcpu = vcpu});
    if (vcpu >= periods_.size() || budget_rule_ == HP_BUDGET_SPORADIC)
        return;
    if (is_refill)
        periods_[vcpu].refill({now_ns_, hp_deadline_ns(&lock.core, local),
                               hp_period_ns(&lock.core, local), hp_budget_ns(&lock.core, local),
                               value, budget_rule_ == HP_BUDGET_CBS},
                              pays_since_ns(vcpu));
    else
        periods_[vcpu].deplete(now_ns_, pays_since_ns(vcpu));
}

// The period that a server is in counts no more, unless it is over.
inline void Engine::forget_period(u32 vcpu) {
    periods_[vcpu].forget(now_ns_, pays_since_ns(vcpu));
}

// What a pick costs. It is real time at the start of the grant that it makes: whoever pays for
// the grant pays for it too, the job makes no progress, and a kick or the end of the grant is
// only acted on when it is over (the core charges such a late pick as it does on any host).
//   pick            every pick
//   interrupt       the pick was made by a timer or a kick, not by a vcpu that departed
//   replenish       each refill that this pcpu's core noted since its last pick, this included
//   wake            each arrival at this pcpu's core since its last pick. An arrival that makes
//                   no pcpu pick at once is paid for at the next pick there
//   context_switch  another vcpu starts to run here than the one that ran before, or one after
//                   idling; going idle costs nobody anything
//   migration       the vcpu was executed on another pcpu before
// Switches between jobs inside a domain are part of their execution times.
inline Ns Engine::overhead_ns(LockDomain &lock, u32 id, u32 run, bool interrupted) {
    const Overheads &cost = scenario_.overheads;
    Ns sum_ns = cost.pick_ns + (interrupted ? cost.interrupt_ns : 0)
                + lock.unpaid_refills * cost.replenish_ns + lock.unpaid_wakes * cost.wake_ns;

    lock.unpaid_refills = 0;
    lock.unpaid_wakes = 0;
    if (run != NONE && run != pcpu_[id].ran)
        sum_ns += cost.context_switch_ns;
    if (run != NONE && vcpus_[run].last_pcpu != NONE && vcpus_[run].last_pcpu != id)
        sum_ns += cost.migration_ns;
    return sum_ns;
}

// Work is settled on every pcpu before any job starts: one may have moved between two of them.
inline void Engine::dispatch() {
    for (u64 todo = dirty_; todo != 0;)
        stop_progress(pcpu_[take_lowest(todo)]);
    for (u64 todo = dirty_; todo != 0;)
        start_progress(take_lowest(todo));
    dirty_ = 0;
}

inline void Engine::stop_progress(Pcpu &pcpu) {
    if (pcpu.complete_ns != NEVER)
        tasks_[pcpu.making_progress].remaining_ns =
            pcpu.complete_ns - std::max(now_ns_, pcpu.progress_ns);
    pcpu.making_progress = NONE;
    pcpu.complete_ns = NEVER;
}

inline void Engine::start_progress(u32 id) {
    Pcpu &pcpu = pcpu_[id];
    u32 task = NONE;

    if (pcpu.run != NONE) {
        task = task_on(pcpu.run);
        if (task == NONE && pcpu.overhead_end_ns <= now_ns_)
            throw std::logic_error("a vcpu without work was granted a pcpu");
    }
    count_dispatch(id, task);
    if (task != NONE) {
        TaskRun &run = tasks_[task];

        pcpu.making_progress = task;
        pcpu.progress_ns = std::max(now_ns_, pcpu.overhead_end_ns);
        if (run.remaining_ns != ENDLESS)
            pcpu.complete_ns = pcpu.progress_ns + run.remaining_ns;
        run.last_pcpu = id;
        vcpus_[pcpu.run].last_pcpu = id;
    }
    pcpu.next_ns = std::min(pcpu.pick_ns, pcpu.complete_ns);
    if (task == NONE && pcpu.run != NONE) [[unlikely]]
        pcpu.next_ns = std::min(pcpu.next_ns, pcpu.overhead_end_ns);
}

// The task whose job is executed by a vcpu that has a pcpu.
inline u32 Engine::task_on(u32 vcpu) {
    const u32 domain = vcpus_[vcpu].domain;

    if (const GlobalGuest *guest = global_guest(domain)) [[unlikely]]
        return guest->task_on(vcpu);
    guests_[domain].executed(vcpu);
    return guests_[domain].task_on(vcpu);
}

// Compares what is executed from now on with what was executed up to now.
inline void Engine::count_dispatch(u32 id, u32 task) {
    Pcpu &pcpu = pcpu_[id];
    PcpuCount &count = pcpus_[id];
    const u64 job = task == NONE ? 0 : tasks_[task].head.job;

    count.switches += pcpu.ran != pcpu.run;
    if (task != NONE && pcpu.ran_task != NONE && (task != pcpu.ran_task || job != pcpu.ran_job))
        count.preemptions += is_unfinished(pcpu.ran_task, pcpu.ran_job);
    if (task != NONE && tasks_[task].last_pcpu != NONE)
        count.migrations += tasks_[task].last_pcpu != id;
    if (trace_.on())
        record_dispatch(id, task, job);
    pcpu.ran = pcpu.run;
    pcpu.ran_task = task;
    pcpu.ran_job = job;
}

inline void Engine::record_dispatch(u32 id, u32 task, u64 job) {
    Pcpu &pcpu = pcpu_[id];
    const bool idle = pcpu.run == NONE;
    u8 flags = 0;

    if (!idle && pcpu.also != NONE)
        flags |= HP_RECORD_SECOND_PAYER;
    if (pcpu.level > 0)
        flags |= HP_RECORD_EXTRA;
    if (pcpu.stolen)
        flags |= HP_RECORD_STOLEN;
    if (pcpu.run == pcpu.ran && task == pcpu.ran_task && job == pcpu.ran_job
        && pcpu.pay == pcpu.ran_pay && flags == pcpu.ran_flags && pcpu.recorded)
        return;
    trace_.add(now_ns_, {.event = idle ? Event::idle : Event::run,
                         .value = pcpu.until_ns,
                         .pcpu = id,
                         .vcpu = pcpu.run,
                         .payer = pcpu.pay,
                         .task = task,
                         .job = job,
                         .flags = flags});
    pcpu.ran_pay = pcpu.pay;
    pcpu.ran_flags = flags;
    pcpu.recorded = true;
}

// Asks a copy of each core: the check catches up on refills that nobody needed yet, and a run
// that is checked must be the same as one that is not. Then asks for the laws of guests.
inline void Engine::check() {
    for (const LockDomain &lock : locks_) {
        LockDomain copy{lock.core, nullptr, lock.first_pcpu, 0, 0, {}};
        const u32 law = hp_check(&copy.core, now_ns_);

        if (law != HP_LAW_HOLDS)
            throw std::logic_error("law " + std::to_string(law) + " is broken at "
                                   + std::to_string(now_ns_) + " ns");
    }
    for (u32 domain = 0; domain < guests_.size(); domain++) {
        if (global_guest(domain) != nullptr)
            check_global(domain);
    }
}

} // namespace hyperperiod::sim::HP_SIM_CAPACITY
