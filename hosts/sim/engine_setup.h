// SPDX-License-Identifier: BSD-2-Clause
//
// The engine's beginning and end: making the cores and guests of a scenario, and closing a run.
// Part of engine.h.
#pragma once

namespace hyperperiod::sim::HP_SIM_CAPACITY {

inline Engine::Engine(const Scenario &scenario, std::unique_ptr<Recorder> recorder)
    : Simulation(scenario, std::move(recorder)), budget_rule_(scenario.policy.budget),
      rule_(scenario.rule.get()), overheads_(scenario.overheads.any()), trace_(*recorder_),
      pcpu_(scenario.pcpus), calendar_(static_cast<u32>(tasks_.size())),
      sources_(static_cast<u32>(flows_.size())) {
    make_locks();
    make_guests();
    for (u32 flow = 0; flow < flows_.size(); flow++)
        sources_.set(flow, flows_[flow].next_ns());
    next_source_ns_ = sources_.next_ns();
    for (std::size_t i = 0; i < scenario.swaps.size(); i++)
        script_.push_back({scenario.swaps[i].at_ns, true, i});
    for (std::size_t i = 0; i < scenario.changes.size(); i++)
        script_.push_back({scenario.changes[i].at_ns, false, i});
    thefts_ = scenario.thefts;
    for (const Theft &theft : thefts_)
        next_theft_ns_ = std::min(next_theft_ns_, theft.offset_ns);
    std::stable_sort(script_.begin(), script_.end(),
                     [](const Action &a, const Action &b) { return a.at_ns < b.at_ns; });
}

inline void Engine::make_locks() {
    const Policy &policy = scenario_.policy;
    const u32 locks = scenario_.global ? 1 : scenario_.pcpus;
    hp_config config{};

    config.policy.budget = policy.budget;
    config.policy.order = policy.order;
    config.policy.slack = policy.slack;
    config.pcpus = scenario_.global ? scenario_.pcpus : 1;
    config.quantum_ns = scenario_.quantum_ns;
    config.spare_period_ns = scenario_.spare_period_ns;
    config.spare_budget_ns = scenario_.spare_budget_ns;
    for (u32 i = 0; i < locks; i++) {
        LockDomain &lock = locks_.emplace_back();

        lock.listens = trace_.on() || scenario_.count_periods ? this : nullptr;
        lock.first_pcpu = i;
        require(hp_init(&lock.core, &config, 0));
    }
}

inline void Engine::make_guests() {
    u32 first_task = 0;

    for (u32 domain = 0; domain < scenario_.domains.size(); domain++) {
        const Domain &spec = scenario_.domains[domain];

        guests_.emplace_back(spec, first_task, static_cast<u32>(vcpus_.size()));
        global_guest_of_.push_back(
            schedules_globally(spec.scheduler)
                ? &global_guests_.emplace_back(spec, first_task, guests_.back().first_vcpu())
                : nullptr);
        add_vcpus(domain);
        for (u32 i = 0; i < spec.tasks.size(); i++)
            calendar_.set(first_task + i, tasks_[first_task + i].next.release_ns);
        first_task += static_cast<u32>(spec.tasks.size());
    }
}

inline void Engine::add_vcpus(u32 domain) {
    for (const Server &spec : scenario_.domains[domain].vcpus) {
        const hp_params params{spec.period_ns, spec.budget_ns, spec.priority,
                               (spec.best_effort ? HP_BEST_EFFORT : 0)
                                   | (spec.extra ? HP_EXTRA : 0),
                               spec.best_effort ? spec.weight : 0};
        const u32 home = scenario_.global ? 0 : spec.pcpu;
        const u32 id = static_cast<u32>(vcpus_.size());
        const u32 local = static_cast<u32>(locks_[home].vcpu_of.size());

        // Where it comes later it has its number, too: ties go by the order of the file.
        for (u32 lock = 0; lock < locks_.size(); lock++) {
            if (comes_to(lock, id, spec))
                locks_[lock].vcpu_of.push_back(id);
        }
        vcpus_.push_back({domain, home, local, spec.extra, spec.best_effort});
        require(hp_add(&locks_[home].core, local, &params, 0));
    }
}

// Whether a vcpu is in that lock domain at some time.
inline bool Engine::comes_to(u32 lock, u32 id, const Server &spec) const {
    const u32 home = scenario_.global ? 0 : spec.pcpu;

    return lock == home
           || std::any_of(
               scenario_.changes.begin(), scenario_.changes.end(),
               [&](const Change &change) { return change.vcpu == id && change.pcpu == lock; });
}

inline void Engine::finish(Ns end_ns) {
    now_ns_ = end_ns;
    completions();
    for (u32 pcpu = 0; pcpu < pcpu_.size(); pcpu++) {
        close_grant(pcpu);
        stop_progress(pcpu_[pcpu]);
    }
    for (u32 task = 0; task < tasks_.size(); task++) {
        tasks_[task].each_unfinished([&](u64 job, Ns deadline_ns) {
            if (deadline_ns > end_ns)
                return;
            tasks_[task].late++;
            trace_.add(end_ns,
                       {.event = Event::miss, .value = deadline_ns, .task = task, .job = job});
        });
    }
    for (FlowRun &flow : flows_)
        flow.close(end_ns);
    for (Periods &server : periods_)
        server.finish(end_ns);
    trace_.add(end_ns, {.event = Event::end});
    trace_.flush();
}

} // namespace hyperperiod::sim::HP_SIM_CAPACITY
