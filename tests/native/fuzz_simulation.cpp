// SPDX-License-Identifier: BSD-2-Clause
/*
 * A fuzzer for the simulator, meant to run under the address and undefined-behaviour sanitizers.
 *
 * It makes random scenarios - every policy, up to four pcpus, all kinds of tasks and local
 * schedulers, flows, overheads, swaps, changes of parameters - runs each in pieces of random size,
 * and checks what must hold of any run: time moves on and stops at the horizon, no more jobs
 * finish than are released, nothing misses more deadlines than it had, vcpus run no longer than
 * pcpus were busy, and the core's conservation laws hold (the engine, asked in one of four
 * scenarios, throws if not).
 *
 * Usage: fuzz_simulation [scenarios [seed]]. The same seed gives the same runs.
 */
#include "hosts/sim/global_guest.h"
#include "hosts/sim/simulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <stdexcept>

namespace {

using namespace hyperperiod::sim;

constexpr Ns UNIT_NS = 1000;

class Dice {
  public:
    explicit Dice(u64 seed) : engine_(seed) {}

    // Uniform in [0, limit); the distributions of the library differ between its versions.
    u32 below(u32 limit) { return static_cast<u32>((engine_() >> 32) % limit); }
    Ns time(u32 units) { return UNIT_NS * below(units); }
    bool one_in(u32 many) { return below(many) == 0; }

  private:
    std::mt19937_64 engine_;
};

Task random_task(Dice &dice, u32 number, u32 index, const Domain &domain) {
    Task task;

    task.kind = static_cast<Kind>(dice.below(4));
    task.period_ns = UNIT_NS * (5 + dice.below(100));
    task.wcet_ns = task.kind == Kind::busy && dice.one_in(2) ? ENDLESS : 1 + dice.time(10);
    if (task.kind == Kind::busy) // each of its jobs is an instant: not one every nanosecond
        task.wcet_ns = std::max(task.wcet_ns, UNIT_NS);
    task.bcet_ns = task.wcet_ns == ENDLESS ? ENDLESS : 1 + task.wcet_ns / 2;
    if (task.kind != Kind::busy && !dice.one_in(4))
        task.deadline_ns = task.period_ns;
    task.offset_ns = dice.time(50);
    task.jitter_ns = dice.one_in(3) ? dice.time(20) : 0;
    task.priority = index;
    task.pinned = dice.one_in(4) ? dice.below(static_cast<u32>(domain.vcpus.size())) : NONE;
    if (schedules_globally(domain.scheduler))
        task.pinned = NONE;
    task.domain = number;
    task.index = index;
    return task;
}

Server random_server(Dice &dice, const Scenario &scenario) {
    Server server;

    server.pcpu = dice.below(scenario.pcpus);
    server.priority = dice.below(4);
    server.best_effort = dice.one_in(8);
    if (!server.best_effort) {
        server.period_ns = UNIT_NS * (1 + dice.below(40));
        server.budget_ns = UNIT_NS * (1 + dice.below(static_cast<u32>(server.period_ns / UNIT_NS)));
        server.extra = dice.one_in(2);
    }
    return server;
}

std::vector<const Server *> servers_of(const Scenario &scenario) {
    std::vector<const Server *> servers;

    for (const Domain &domain : scenario.domains) {
        for (const Server &server : domain.vcpus)
            servers.push_back(&server);
    }
    return servers;
}

Domain random_domain(Dice &dice, const Scenario &scenario, u32 number) {
    Domain domain;

    domain.scheduler = static_cast<Scheduler>(dice.below(9));
    for (u32 vcpus = 1 + dice.below(3); domain.vcpus.size() < vcpus;)
        domain.vcpus.push_back(random_server(dice, scenario));
    for (u32 index = 0, tasks = dice.below(4); index < tasks; index++)
        domain.tasks.push_back(random_task(dice, number, index, domain));
    return domain;
}

Policy random_policy(Dice &dice) {
    return {dice.below(5), dice.below(2), dice.below(5)};
}

// Through tasks of any domains, some of them more than once; or no flow.
void add_flow(Dice &dice, Scenario &scenario) {
    Flow flow;
    u32 tasks = 0;

    for (const Domain &domain : scenario.domains)
        tasks += static_cast<u32>(domain.tasks.size());
    if (tasks == 0)
        return;
    for (u32 hop = 0, hops = 1 + dice.below(4); hop < hops; hop++) {
        const u32 number = dice.below(tasks);
        Task &task = scenario.task(number);

        if (task.kind == Kind::busy)
            return;
        task.kind = Kind::hop;
        flow.hops.push_back(number);
    }
    flow.source.kind = dice.one_in(2) ? Kind::periodic : Kind::sporadic;
    flow.source.period_ns = UNIT_NS * (5 + dice.below(100));
    flow.source.offset_ns = dice.time(50);
    flow.source.jitter_ns = dice.one_in(3) ? dice.time(200) : 0;
    flow.burst = 1 + dice.below(3);
    flow.queue = 1 + dice.below(6);
    flow.deadline_ns = UNIT_NS * (1 + dice.below(200));
    if (dice.one_in(3)) {
        flow.clients = 1 + dice.below(9);
        flow.think_least_ns = dice.one_in(2) ? 0 : dice.time(50);
        flow.think_most_ns = flow.think_least_ns + (dice.one_in(2) ? 0 : dice.time(100));
        flow.queue = flow.clients;
    }
    scenario.flows.push_back(flow);
}

Scenario random_scenario(Dice &dice, u64 seed) {
    Scenario scenario;

    scenario.policy = random_policy(dice);
    scenario.global = dice.one_in(2);
    scenario.pcpus = 1 + dice.below(4);
    scenario.quantum_ns = dice.one_in(3) ? UNIT_NS : 0;
    scenario.spare_period_ns = UNIT_NS * (1 + dice.below(40));
    scenario.spare_budget_ns = dice.time(static_cast<u32>(scenario.spare_period_ns / UNIT_NS) + 1);
    scenario.horizon_ns = dice.time(3000);
    scenario.seed = seed;
    scenario.check = dice.one_in(4); // slow: every instant copies the core
    if (dice.one_in(2))
        scenario.overheads = {dice.below(900), dice.below(400), dice.below(100),
                              dice.below(300), dice.below(200), dice.below(900)};
    for (u32 number = 0, domains = 1 + dice.below(6); number < domains; number++)
        scenario.domains.push_back(random_domain(dice, scenario, number));
    while (dice.one_in(3)) {
        const Ns period_ns = UNIT_NS * (2 + dice.below(60));
        const Ns duration_ns = 1 + dice.time(static_cast<u32>(period_ns / UNIT_NS));

        scenario.thefts.push_back(
            {dice.below(scenario.pcpus), period_ns, duration_ns, dice.time(60)});
    }
    while (dice.one_in(2))
        add_flow(dice, scenario);
    for (Ns at = dice.time(2000); dice.one_in(2); at += dice.time(500))
        scenario.swaps.push_back({at, random_policy(dice)});
    for (Ns at = dice.time(2000); dice.one_in(2); at += dice.time(500)) {
        const u32 number = dice.below(scenario.vcpus());
        const Server &server = *servers_of(scenario)[number];

        Change change{at, number, 0, 0, 0, NONE};

        if (!server.best_effort && dice.one_in(2)) {
            change.period_ns = server.period_ns;
            change.budget_ns = UNIT_NS;
            change.priority = server.priority;
        }
        if (!scenario.global)
            change.pcpu = dice.below(scenario.pcpus);
        scenario.changes.push_back(change);
    }
    return scenario;
}

void require(bool holds, const char *what) {
    if (!holds)
        throw std::logic_error(what);
}

void check_counts(const Simulation &run, Ns end_ns) {
    Ns supply_ns = 0;
    Ns busy_ns = 0;

    for (const TaskRun &task : run.tasks()) {
        require(task.responses.count() <= task.next.job, "more jobs finish than are released");
        require(task.late <= task.next.job, "more jobs are late than are released");
        require(task.due(end_ns) <= task.next.job, "more deadlines pass than jobs are released");
    }
    for (const FlowRun &flow : run.flows()) {
        require(flow.responses().count() + flow.dropped() <= flow.items(), "items from nowhere");
        require(flow.late() <= flow.due(end_ns), "more items are late than due");
        require(flow.under_way() <= flow.most_under_way(), "more items are under way than may");
    }
    for (const VcpuCount &vcpu : run.vcpus())
        supply_ns += vcpu.supply_ns;
    for (const PcpuCount &pcpu : run.pcpus()) {
        require(pcpu.busy_ns + pcpu.stolen_ns <= end_ns, "a pcpu is busy for longer than the run");
        busy_ns += pcpu.busy_ns;
    }
    require(supply_ns == busy_ns, "vcpus do not run exactly while pcpus are busy");
}

// Whether the scenario was legal and has been run.
bool run_scenario(Dice &dice, const Scenario &scenario) {
    std::unique_ptr<Simulation> run;
    Ns now_ns = 0;

    try {
        run = make_simulation(scenario, std::make_unique<Recorder>());
        while (now_ns < scenario.horizon_ns) {
            const Ns next_ns = run->advance(scenario.horizon_ns, 1 + dice.below(500));

            require(next_ns >= now_ns && next_ns <= scenario.horizon_ns, "time is out of order");
            now_ns = next_ns;
        }
    } catch (const std::invalid_argument &) {
        return false; // rules that do not go together
    }
    run->finish(now_ns);
    check_counts(*run, now_ns);
    return true;
}

} // namespace

int main(int count, char **arguments) {
    const u64 scenarios = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 2000;
    const u64 seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
    u64 legal = 0;

    std::printf("fuzz_simulation: seed %llu\n", static_cast<unsigned long long>(seed));
    for (u64 i = 0; i < scenarios; i++) {
        Dice dice(seed * 1'000'003 + i);

        try {
            legal += run_scenario(dice, random_scenario(dice, i));
        } catch (const std::exception &error) {
            std::printf("scenario %llu: %s\n", static_cast<unsigned long long>(i), error.what());
            return EXIT_FAILURE;
        }
    }
    std::printf("fuzz_simulation: %llu scenarios, %llu of them legal; all holds\n",
                static_cast<unsigned long long>(scenarios), static_cast<unsigned long long>(legal));
    return EXIT_SUCCESS;
}
