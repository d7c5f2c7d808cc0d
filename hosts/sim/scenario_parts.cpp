// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of a scenario, as they are told and refused.

#include "hosts/sim/scenario_parts.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hyperperiod::sim {

void set_up(Scenario &scenario, u32 budget, u32 order, u32 slack, bool is_global, u32 pcpus,
            Ns quantum_ns, Ns horizon_ns, u64 seed, bool check) {
    scenario.policy = {budget, order, slack};
    scenario.global = is_global;
    scenario.pcpus = pcpus;
    scenario.quantum_ns = quantum_ns;
    scenario.horizon_ns = horizon_ns;
    scenario.seed = seed;
    scenario.check = check;
}

void set_spare(Scenario &scenario, Ns period_ns, Ns budget_ns) {
    scenario.spare_period_ns = period_ns;
    scenario.spare_budget_ns = budget_ns;
}

void set_overheads(Scenario &scenario, Ns context_switch_ns, Ns pick_ns, Ns replenish_ns,
                   Ns wake_ns, Ns interrupt_ns, Ns migration_ns) {
    scenario.overheads = {context_switch_ns, pick_ns,      replenish_ns,
                          wake_ns,           interrupt_ns, migration_ns};
}

void add_domain(Scenario &scenario, u32 scheduler) {
    if (scheduler > static_cast<u32>(Scheduler::executor))
        throw std::invalid_argument("no such scheduler");
    scenario.domains.push_back({static_cast<Scheduler>(scheduler), {}, {}});
}

void add_vcpu(Scenario &scenario, u32 pcpu, u32 priority, Ns period_ns, Ns budget_ns,
              bool best_effort, bool extra, u32 weight) {
    if (scenario.domains.empty())
        throw std::invalid_argument("a vcpu needs a domain");
    scenario.domains.back().vcpus.push_back(
        {pcpu, priority, period_ns, budget_ns, best_effort, extra, weight});
}

void add_task(Scenario &scenario, u32 kind, Time period_ns, Time wcet_ns, Time bcet_ns,
              Time deadline_ns, Ns offset_ns, Ns jitter_ns, std::optional<u64> priority,
              std::optional<u32> vcpu) {
    if (scenario.domains.empty())
        throw std::invalid_argument("a task needs a domain");
    if (kind > static_cast<u32>(Kind::event))
        throw std::invalid_argument("no such kind of task");
    Domain &domain = scenario.domains.back();
    Task task;

    task.kind = static_cast<Kind>(kind);
    task.period_ns = period_ns.value_or(0);
    task.wcet_ns = wcet_ns.value_or(ENDLESS);
    task.bcet_ns = bcet_ns.value_or(task.wcet_ns);
    task.deadline_ns = deadline_ns.value_or(NEVER);
    task.offset_ns = offset_ns;
    task.jitter_ns = jitter_ns;
    task.priority = priority.value_or(NEVER);
    task.pinned = vcpu.value_or(NONE);
    task.domain = static_cast<u32>(scenario.domains.size()) - 1;
    task.index = static_cast<u32>(domain.tasks.size());
    if (task.kind != Kind::busy && (task.period_ns == 0 || task.wcet_ns == ENDLESS))
        throw std::invalid_argument("a task that is not busy needs a period and a wcet");
    if (task.bcet_ns == 0 || task.bcet_ns > task.wcet_ns)
        throw std::invalid_argument("a bcet is 1 at least and the wcet at most");
    if (task.pinned != NONE && task.pinned >= domain.vcpus.size())
        throw std::invalid_argument("a task is pinned to a vcpu that does not exist");
    domain.tasks.push_back(task);
}

void add_overrun(Scenario &scenario, u64 thousandths, Ns from_ns, Time to_ns, u64 every) {
    if (scenario.domains.empty() || scenario.domains.back().tasks.empty() || every == 0)
        throw std::invalid_argument("an overrun needs a task and jobs");
    Task &task = scenario.domains.back().tasks.back();

    if (task.kind == Kind::busy || thousandths == 0 || task.wcet_ns >= NEVER / thousandths * 500)
        throw std::invalid_argument("an overrun is of jobs that end");
    task.overrun = {thousandths, from_ns, to_ns.value_or(NEVER), every};
}

void set_jobs(Scenario &scenario, u32 number, const std::vector<Ns> &releases_ns,
              const std::vector<Ns> &ran_ns) {
    Task &task = scenario.task(number);
    std::vector<RecordedJob> jobs;

    if (task.kind == Kind::busy || task.kind == Kind::hop)
        throw std::invalid_argument("a busy task and a hop have no releases to record");
    if (task.overrun.thousandths != 0)
        throw std::invalid_argument("recorded jobs do not overrun");
    if (releases_ns.size() != ran_ns.size()
        || !std::is_sorted(releases_ns.begin(), releases_ns.end()))
        throw std::invalid_argument("recorded jobs come by release");
    for (std::size_t job = 0; job < ran_ns.size(); job++)
        jobs.push_back({releases_ns[job], ran_ns[job]});
    if (!ran_ns.empty()) {
        const auto [shortest, longest] = std::minmax_element(ran_ns.begin(), ran_ns.end());
        task.bcet_ns = *shortest;
        task.wcet_ns = *longest;
    }
    if (task.bcet_ns == 0)
        throw std::invalid_argument("a job runs for a while");
    task.kind = Kind::recorded;
    task.recorded = std::make_shared<const std::vector<RecordedJob>>(std::move(jobs));
}

namespace {

// The numbers of the tasks, which must be event tasks, count over all domains.
void add_way(Scenario &scenario, Flow flow, u64 queue, Ns deadline_ns,
             const std::vector<u32> &hops) {
    if (queue == 0 || hops.empty() || hops.size() > 0xFFFF || scenario.flows.size() >= 0xFFFF)
        throw std::invalid_argument("a flow needs a queue and hops");
    flow.queue = queue;
    flow.deadline_ns = deadline_ns;
    flow.hops = hops;
    for (u32 hop : hops) {
        Task &task = scenario.task(hop);

        if (task.kind != Kind::event && task.kind != Kind::hop)
            throw std::invalid_argument("a hop is an event task");
        task.kind = Kind::hop;
    }
    scenario.flows.push_back(std::move(flow));
}

} // namespace

void add_flow(Scenario &scenario, u32 kind, Ns period_ns, Ns offset_ns, Ns jitter_ns, u64 burst,
              u64 queue, u64 ring, Ns deadline_ns, const std::vector<u32> &hops) {
    Flow flow;

    if (kind > static_cast<u32>(Kind::sporadic))
        throw std::invalid_argument("a source is periodic or sporadic");
    if (period_ns == 0 || burst == 0)
        throw std::invalid_argument("a source needs a period and items");
    flow.source.kind = static_cast<Kind>(kind);
    flow.source.period_ns = period_ns;
    flow.source.offset_ns = offset_ns;
    flow.source.jitter_ns = jitter_ns;
    flow.burst = burst;
    flow.ring = ring;
    add_way(scenario, std::move(flow), queue, deadline_ns, hops);
}

void add_closed_flow(Scenario &scenario, u32 clients, Ns think_least_ns, Ns think_most_ns,
                     Ns offset_ns, Ns deadline_ns, const std::vector<u32> &hops) {
    Flow flow;

    if (clients == 0 || clients > 1u << 16 || think_least_ns > think_most_ns)
        throw std::invalid_argument("a closed source needs 1 to 65536 clients and times to think");
    flow.source.offset_ns = offset_ns;
    flow.clients = clients;
    flow.think_least_ns = think_least_ns;
    flow.think_most_ns = think_most_ns;
    add_way(scenario, std::move(flow), clients, deadline_ns, hops);
}

void add_swap(Scenario &scenario, Ns at_ns, u32 budget, u32 order, u32 slack) {
    scenario.swaps.push_back({at_ns, {budget, order, slack}});
}

void add_change(Scenario &scenario, Ns at_ns, u32 vcpu, Ns period_ns, Ns budget_ns, u32 priority,
                std::optional<u32> pcpu) {
    if (vcpu >= scenario.vcpus())
        throw std::invalid_argument("a change needs a vcpu");
    scenario.changes.push_back({at_ns, vcpu, period_ns, budget_ns, priority, pcpu.value_or(NONE)});
}

void add_theft(Scenario &scenario, u32 pcpu, Ns period_ns, Ns duration_ns, Ns offset_ns) {
    if (pcpu >= scenario.pcpus || period_ns == 0 || duration_ns == 0)
        throw std::invalid_argument("a theft needs a pcpu, a period and a duration");
    scenario.thefts.push_back({pcpu, period_ns, duration_ns, offset_ns});
}

} // namespace hyperperiod::sim
