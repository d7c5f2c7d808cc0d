// SPDX-License-Identifier: BSD-2-Clause
//
// The engine's steps 1 to 3 of an instant: jobs that finish, jobs that are released, the script.
// Part of engine.h.
#pragma once

namespace hyperperiod::sim::HP_SIM_CAPACITY {

// Several jobs of one domain may finish at once on its vcpus: all of them leave before those
// that wait take the vcpus, and only a vcpu that is idle after that departs.
inline void Engine::completions() {
    finished_.clear();
    for (u32 pcpu = 0; pcpu < pcpu_.size(); pcpu++) {
        if (pcpu_[pcpu].complete_ns == now_ns_)
            finish_job(pcpu);
    }
    for (const Finished &job : finished_)
        guests_[tasks_[job.task].guest].fill([this](u32 vcpu) { vcpu_changed(vcpu); });
    for (const Finished &job : finished_) {
        if (tasks_[job.task].unfinished() > 0)
            offer_head(job.task);
    }
    for (const Finished &job : finished_) {
        const u32 domain = tasks_[job.task].guest;

        if (global_guest(domain) == nullptr && guests_[domain].task_on(job.vcpu) == NONE)
            depart(job.vcpu);
    }
    if (!global_guests_.empty()) [[unlikely]]
        retire(false);
}

inline void Engine::finish_job(u32 id) {
    Pcpu &pcpu = pcpu_[id];
    const u32 task = pcpu.making_progress;
    TaskRun &run = tasks_[task];
    const Ns response_ns = now_ns_ - run.head.release_ns;
    const Ns deadline_ns = run.workload.deadline_of(run.head.release_ns);
    const u64 job = run.head.job;

    run.responses.add(response_ns);
    if (now_ns_ > deadline_ns) {
        run.late++;
        trace_.add(now_ns_, {.event = Event::miss,
                             .value = deadline_ns,
                             .vcpu = pcpu.run,
                             .task = task,
                             .job = job});
    }
    trace_.add(now_ns_, {.event = Event::complete,
                         .value = response_ns,
                         .vcpu = pcpu.run,
                         .task = task,
                         .job = job});
    pcpu.making_progress = NONE;
    pcpu.complete_ns = NEVER;
    dirty_ |= bit(id);
    if (GlobalGuest *guest = global_guest(run.guest)) [[unlikely]] {
        guest->finish(pcpu.run);
        guest->stirred = true;
    } else {
        guests_[run.guest].finish(pcpu.run);
    }
    finished_.push_back({task, pcpu.run});
    drop_head(task);
}

// Moves a task on to its next job after the oldest one has finished.
inline void Engine::drop_head(u32 task) {
    TaskRun &run = tasks_[task];

    switch (run.workload.task().kind) {
    case Kind::periodic:
    case Kind::sporadic:
    case Kind::recorded:
        if (run.unfinished() > 1)
            run.workload.advance(run.head);
        else
            run.head = run.next;
        break;
    case Kind::event:
        run.workload.follow(run.head, now_ns_);
        run.next = run.head;
        calendar_.set(task, run.next.release_ns);
        break;
    case Kind::busy:
        // Endless work: the next job is there at once, and the vcpu never departs for it.
        run.workload.follow(run.head, now_ns_);
        record_release(task, run.head);
        run.next = run.head;
        run.next.job++;
        break;
    case Kind::hop:
        pass_on(task);
        break;
    }
}

// The source of a flow releases its next items.
inline void Engine::come(u32 number) {
    FlowRun &flow = flows_[number];
    const HopItems &first = *tasks_[flow.hops().front()].items;

    flow.come(
        now_ns_, [&] { return first.waiting.size() + first.reaching.size(); },
        [&](u64 item) { reach({number, 0, item}); },
        [&](u64 item) {
            const Passage dropped{number, 0, item};

            trace_.add(now_ns_, {.event = Event::drop, .value = dropped.packed()});
        });
    set_source(number);
}

inline void Engine::set_source(u32 number) {
    sources_.set(number, flows_[number].next_ns());
    next_source_ns_ = sources_.next_ns();
}

// An item is at the task of a hop, which releases a job for it when its turn comes.
inline void Engine::reach(const Passage &passage) {
    const u32 task = flows_[passage.flow].hops()[passage.hop];

    tasks_[task].items->reaching.push_back(passage);
    calendar_.set(task, now_ns_);
}

// The oldest job of a hop has finished: its item reaches the next hop, or leaves.
inline void Engine::pass_on(u32 task) {
    TaskRun &run = tasks_[task];
    std::deque<Passage> &waiting = run.items->waiting;
    const Passage done = waiting.front();

    waiting.pop_front();
    run.head.job++;
    if (!waiting.empty())
        run.head.release_ns = waiting.front().release_ns;
    if (done.hop + 1 < flows_[done.flow].hops().size()) {
        reach({done.flow, done.hop + 1, done.item});
        return;
    }
    flows_[done.flow].leave(now_ns_);
    if (flows_[done.flow].closed())
        set_source(done.flow);
}

inline void Engine::record_release(u32 task, const Workload::Cursor &released) {
    const Ns deadline_ns = tasks_[task].workload.deadline_of(released.release_ns);

    trace_.add(now_ns_, {.event = Event::release,
                         .value = deadline_ns == NEVER ? 0 : deadline_ns,
                         .task = task,
                         .job = released.job});
}

inline void Engine::release_items(u32 task) {
    TaskRun &run = tasks_[task];
    HopItems &items = *run.items;
    const bool first = run.unfinished() == 0;

    std::sort(items.reaching.begin(), items.reaching.end());
    run.next.release_ns = now_ns_;
    if (first)
        run.head = run.next;
    for (Passage &passage : items.reaching) {
        passage.release_ns = now_ns_;
        record_release(task, run.next);
        trace_.add(
            now_ns_,
            {.event = Event::item, .value = passage.packed(), .task = task, .job = run.next.job});
        run.keep_open_deadline(now_ns_);
        items.waiting.push_back(passage);
        run.next.job++;
    }
    items.reaching.clear();
    calendar_.set(task, NEVER);
    if (first)
        offer_head(task);
}

inline void Engine::release(u32 task) {
    TaskRun &run = tasks_[task];
    const bool first = run.unfinished() == 0;

    if (run.workload.is_hop()) [[unlikely]]
        return release_items(task);

    record_release(task, run.next);
    if (first)
        run.head = run.next;
    if (run.workload.releases_ahead()) {
        run.workload.advance(run.next);
        calendar_.set(task, run.next.release_ns);
    } else {
        // The next release is known when this job finishes.
        run.keep_open_deadline(now_ns_);
        run.next.job++;
        calendar_.set(task, NEVER);
    }
    if (first)
        offer_head(task);
}

// The oldest job of a task has become the one its domain may execute.
inline void Engine::offer_head(u32 task) {
    TaskRun &run = tasks_[task];

    run.remaining_ns = run.head_execution_ns();
    run.last_pcpu = NONE;
    const Ns deadline_ns = run.workload.deadline_of(run.head.release_ns);

    if (GlobalGuest *guest = global_guest(run.guest)) [[unlikely]] {
        guest->offer(task, deadline_ns);
        guest->stirred = true;
        return;
    }
    const u32 woken = guests_[run.guest].place(task, run.head.release_ns, deadline_ns,
                                               [this](u32 vcpu) { vcpu_changed(vcpu); });

    if (woken != NONE && !vcpus_[woken].working)
        arrive(woken);
}

inline void Engine::vcpu_changed(u32 vcpu) {
    if (vcpus_[vcpu].pcpu != NONE)
        dirty_ |= bit(vcpus_[vcpu].pcpu);
}

inline void Engine::arrive(u32 id) {
    Vcpu &vcpu = vcpus_[id];
    LockDomain &lock = locks_[vcpu.lock];

    trace_.add(now_ns_, {.event = Event::arrive, .vcpu = id});
    vcpu.working = true;
    if (!periods_.empty())
        periods_[id].arrive(now_ns_, pays_since_ns(id));
    lock.unpaid_wakes++;
    touched_ |= bit(vcpu.lock);
    if (rule_ != nullptr) [[unlikely]]
        rule_->arrive(now_ns_, id);
    else
        hp_arrive(&lock.core, vcpu.local, now_ns_);
}

inline void Engine::depart(u32 id, u8 flags) {
    Vcpu &vcpu = vcpus_[id];

    trace_.add(now_ns_, {.event = Event::depart, .vcpu = id, .flags = flags});
    vcpu.working = false;
    if (!periods_.empty())
        periods_[id].depart(now_ns_);
    if (vcpu.pcpu != NONE)
        departed_ |= bit(vcpu.pcpu);
    touched_ |= bit(vcpu.lock);
    if (rule_ != nullptr) [[unlikely]]
        rule_->depart(now_ns_, id);
    else
        hp_depart(&locks_[vcpu.lock].core, vcpu.local, now_ns_);
}

inline void Engine::act() {
    while (next_action_ < script_.size() && script_[next_action_].at_ns == now_ns_) {
        const Action &action = script_[next_action_++];

        if (action.swap)
            swap_policy(scenario_.swaps[action.index].policy);
        else
            change_interface(scenario_.changes[action.index]);
    }
}

inline void Engine::swap_policy(const Policy &policy) {
    hp_policy rules{};

    rules.budget = policy.budget;
    rules.order = policy.order;
    rules.slack = policy.slack;
    trace_.add(now_ns_, {.event = Event::swap,
                         .value = policy.budget | policy.order << 8 | policy.slack << 16});
    for (u32 i = 0; i < locks_.size(); i++) {
        require(hp_set_policy(&locks_[i].core, &rules, now_ns_));
        touched_ |= bit(i);
    }
    for (u32 vcpu = 0; vcpu < periods_.size(); vcpu++)
        forget_period(vcpu);
    budget_rule_ = policy.budget;
}

inline void Engine::change_interface(const Change &change) {
    const Vcpu &vcpu = vcpus_[change.vcpu];
    hp_params params{};

    params.period_ns = change.period_ns;
    params.budget_ns = change.budget_ns;
    params.priority = change.priority;
    params.flags = vcpu.extra ? HP_EXTRA : 0;
    if (change.period_ns > 0)
        require(hp_update(&locks_[vcpu.lock].core, vcpu.local, &params, now_ns_));
    touched_ |= bit(vcpu.lock);
    if (change.pcpu != NONE && change.pcpu != vcpu.lock)
        move(change.vcpu, change.pcpu);
}

// To the lock domain of another pcpu. The pcpus that it ran or paid on have nobody until they pick.
inline void Engine::move(u32 id, u32 pcpu) {
    Vcpu &vcpu = vcpus_[id];
    const std::vector<u32> &there = locks_[pcpu].vcpu_of;
    Pcpu &old = pcpu_[vcpu.lock];
    hp_moving moving{};

    close_grant(vcpu.lock);
    require(hp_leave(&locks_[vcpu.lock].core, vcpu.local, &moving, now_ns_));
    for (u32 *role : {&old.run, &old.pay, &old.also})
        *role = *role == id ? NONE : *role;
    dirty_ |= bit(vcpu.lock);
    if (vcpu.pcpu != NONE)
        stir(id);
    vcpu.pcpu = NONE;
    vcpu.lock = pcpu;
    vcpu.local = static_cast<u32>(std::find(there.begin(), there.end(), id) - there.begin());
    require(hp_join(&locks_[pcpu].core, vcpu.local, &moving, now_ns_));
    if (!periods_.empty())
        forget_period(id);
    touched_ |= bit(pcpu);
    trace_.add(now_ns_, {.event = Event::move, .pcpu = pcpu, .vcpu = id});
}

// A theft that begins at this instant waits for the hypervisor to be done, and for the one before.
inline void Engine::steal_and_return() {
    for (Theft &theft : thefts_) {
        if (theft.offset_ns != now_ns_)
            continue;
        Pcpu &pcpu = pcpu_[theft.pcpu];

        (pcpu.stolen ? pcpu.stolen_until_ns : pcpu.theft_ns) += theft.duration_ns;
        theft.offset_ns += theft.period_ns;
    }
    next_theft_ns_ = NEVER;
    for (u32 id = 0; id < pcpu_.size(); id++) {
        Pcpu &pcpu = pcpu_[id];

        if (pcpu.stolen && pcpu.stolen_until_ns == now_ns_)
            give_back(id);
        if (pcpu.theft_ns > 0 && pcpu.overhead_end_ns <= now_ns_)
            steal(id);
        if (pcpu.stolen)
            next_theft_ns_ = std::min(next_theft_ns_, pcpu.stolen_until_ns);
        else if (pcpu.theft_ns > 0)
            next_theft_ns_ = std::min(next_theft_ns_, pcpu.overhead_end_ns);
    }
    for (const Theft &theft : thefts_)
        next_theft_ns_ = std::min(next_theft_ns_, theft.offset_ns);
}

inline void Engine::steal(u32 id) {
    Pcpu &pcpu = pcpu_[id];
    const u32 lock = lock_of(id);

    close_grant(id);
    if (pcpu.run != NONE)
        stir(pcpu.run);
    hp_steal(&locks_[lock].core, id - locks_[lock].first_pcpu, now_ns_);
    if (pcpu.run != NONE && vcpus_[pcpu.run].pcpu == id)
        vcpus_[pcpu.run].pcpu = NONE;
    pcpu.run = NONE;
    pcpu.pay = NONE;
    pcpu.also = NONE;
    pcpu.level = 0;
    pcpu.stolen = true;
    pcpu.stolen_until_ns = now_ns_ + std::exchange(pcpu.theft_ns, 0);
    pcpu.until_ns = pcpu.stolen_until_ns;
    pcpu.pick_ns = NEVER;
    departed_ &= ~bit(id);
    touched_ |= bit(lock);
    dirty_ |= bit(id);
}

// The core says by a kick whether there is something to do here.
inline void Engine::give_back(u32 id) {
    Pcpu &pcpu = pcpu_[id];
    const u32 lock = lock_of(id);

    close_grant(id);
    hp_return(&locks_[lock].core, id - locks_[lock].first_pcpu, now_ns_);
    pcpu.stolen = false;
    pcpu.until_ns = NEVER;
    touched_ |= bit(lock);
    dirty_ |= bit(id);
}

} // namespace hyperperiod::sim::HP_SIM_CAPACITY
