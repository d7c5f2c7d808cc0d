// SPDX-License-Identifier: BSD-2-Clause
//
// An adversary of bounds, for the hunts in tests/soundness: it looks for a run of a scenario in
// which a task or a flow takes longer than its bound, drops an item against its word or misses a
// deadline.
//
// What a bound must hold for is what the adversary may choose: when each task and each source
// begins, whether sporadic releases come as early as they may, whether there is jitter, how long
// jobs take within a range, and the seed of all draws. It begins with placements drawn to hurt
// (everything at once; at, just before and just after refills and ends of budgets) and then changes
// the worst of them, one choice at a time, keeping each change that brings no response further from
// its bound. It is a search: what it does not find is not shown to be absent.

#include "hosts/sim/simulation.h"

#include <algorithm>
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace hyperperiod::sim {

namespace {

// In millionths of its bound, how long the longest response was; more than that if it is broken.
constexpr u64 WHOLE = 1'000'000;

// The bounds that a run is held against, of tasks and of flows in the order of the scenario.
struct Claims {
    std::vector<Ns> tasks;      // NEVER: nothing is claimed
    std::vector<Ns> flows;      // as above; it takes the place of the flow's deadline
    std::vector<bool> lossless; // no item of the flow is dropped
};

// What the adversary may do to each task.
struct Leeway {
    bool phases;              // tasks and sources may begin at other times
    std::vector<Ns> shortest; // executions
    std::vector<Ns> longest;  // NEVER: as they are
    Ns latest_offset_ns;      // of any task or source
    std::vector<Ns> steps_ns; // by how much offsets and executions are changed
};

struct Outcome {
    u64 nearest = 0; // millionths
    bool broken = false;

    bool operator>=(const Outcome &other) const {
        return std::pair(broken, nearest) >= std::pair(other.broken, other.nearest);
    }
};

void compare(Outcome &outcome, const Histogram &responses, u64 late, Ns bound_ns) {
    if (bound_ns == NEVER)
        return;
    if (responses.count() > 0) {
        outcome.nearest = std::max(outcome.nearest, responses.max_ns() * WHOLE / bound_ns);
        outcome.broken |= responses.max_ns() > bound_ns;
    }
    outcome.broken |= late > 0;
}

Outcome play(const Scenario &scenario, const Claims &claims) {
    const auto simulation = make_simulation(scenario, std::make_unique<Recorder>());
    Outcome outcome;

    simulation->finish(simulation->advance(scenario.horizon_ns, NEVER));
    for (std::size_t task = 0; task < claims.tasks.size(); task++) {
        const TaskRun &run = simulation->tasks()[task];

        compare(outcome, run.responses, run.late, claims.tasks[task]);
    }
    for (std::size_t flow = 0; flow < claims.flows.size(); flow++) {
        const FlowRun &run = simulation->flows()[flow];

        compare(outcome, run.responses(), run.late(), claims.flows[flow]);
        outcome.broken |= claims.lossless[flow] && run.dropped() > 0;
    }
    return outcome;
}

class Adversary {
  public:
    Adversary(const Scenario &scenario, Claims claims, Leeway leeway, u64 seed)
        : original_(scenario), claims_(std::move(claims)), leeway_(std::move(leeway)),
          random_(seed) {
        for (std::size_t flow = 0; flow < claims_.flows.size(); flow++) {
            if (claims_.flows[flow] != NEVER)
                original_.flows.at(flow).deadline_ns = claims_.flows[flow];
        }
        for (const Domain &domain : original_.domains)
            tasks_ += static_cast<u32>(domain.tasks.size());
        if (claims_.tasks.size() != tasks_ || claims_.flows.size() != original_.flows.size()
            || leeway_.steps_ns.empty())
            throw std::invalid_argument("a claim per task and flow, and steps");
        worst = original_;
    }

    // Plays `starts` placements and then at most `changes` changes of the worst of them.
    void search(u32 starts, u32 changes) {
        for (u32 start = 0; start < starts && !outcome.broken; start++)
            keep_if_worse(start == 0 ? original_ : drawn());
        for (u32 change = 0; change < changes && !outcome.broken; change++) {
            Scenario next = worst;

            if (change_one(next))
                keep_if_worse(next);
        }
    }

    Scenario worst;
    Outcome outcome;
    u64 played = 0;

  private:
    u64 below(u64 limit) { return limit == 0 ? 0 : random_() % limit; }
    bool chance(u64 in) { return below(in) == 0; }

    // One that is as bad counts as worse: the search wanders over plateaus.
    void keep_if_worse(const Scenario &scenario) {
        const Outcome found = play(scenario, claims_);

        if (played++ == 0 || found >= outcome) {
            outcome = found;
            worst = scenario;
        }
    }

    // Draws nothing where there is no choice.
    const Server &one_of(const std::vector<Server> &vcpus) {
        return vcpus.size() == 1 ? vcpus.front() : vcpus[below(vcpus.size())];
    }

    // A time at which something begins: anything, or about a refill or the end of a budget.
    Ns instant() {
        const Domain &domain = original_.domains[below(original_.domains.size())];
        const Server &server = one_of(domain.vcpus);
        Ns at_ns = below(leeway_.latest_offset_ns + 1);

        if (server.period_ns > 0 && !chance(3)) {
            at_ns -= at_ns % server.period_ns;
            at_ns += chance(2) ? server.budget_ns : 0;
            at_ns += below(3);
            at_ns -= std::min<Ns>(at_ns, 1);
        }
        return std::min(at_ns, leeway_.latest_offset_ns);
    }

    Ns moved(Ns value_ns, Ns low_ns, Ns high_ns) {
        const Ns step_ns = leeway_.steps_ns[below(leeway_.steps_ns.size())];

        if (chance(2))
            return std::min(value_ns + step_ns, std::max(value_ns, high_ns));
        return value_ns >= low_ns + step_ns ? value_ns - step_ns : std::min(value_ns, low_ns);
    }

    bool movable(const Task &task) const { return leeway_.phases && task.kind != Kind::hop; }

    Scenario drawn() {
        Scenario scenario = original_;
        const bool together = chance(4);

        scenario.seed = random_() >> 32;
        for (u32 number = 0; number < tasks_; number++) {
            Task &task = scenario.task(number);

            if (movable(task))
                task.offset_ns = together ? 0 : instant();
            if (!chance(3))
                draw_executions(task, number);
            if (movable(task))
                draw_arrivals(task);
        }
        for (Flow &flow : scenario.flows) {
            if (leeway_.phases)
                flow.source.offset_ns = together ? 0 : instant();
            if (flow.clients == 0)
                draw_arrivals(flow.source);
        }
        return scenario;
    }

    // Jobs as long as they may be, all of one other length, or of any length in the range.
    void draw_executions(Task &task, u32 number) {
        const Ns shortest_ns = leeway_.shortest[number];
        const bool free = leeway_.longest[number] != NEVER;
        const Ns longest_ns = free ? leeway_.longest[number] : task.wcet_ns;

        if (task.wcet_ns == ENDLESS)
            return;
        if (free || chance(4))
            task.wcet_ns = shortest_ns + below(longest_ns - shortest_ns + 1);
        else if (chance(3))
            return;
        task.bcet_ns = task.wcet_ns;
    }

    void draw_arrivals(Task &task) {
        if (task.kind == Kind::sporadic && !chance(3))
            task.kind = Kind::periodic;
        if (chance(4))
            task.jitter_ns = 0;
    }

    // Whether there was something to change.
    bool change_one(Scenario &scenario) {
        const u64 which = below(tasks_ + scenario.flows.size() + 1);

        if (which < tasks_)
            return change_task(scenario.task(static_cast<u32>(which)), static_cast<u32>(which));
        if (which == tasks_ + scenario.flows.size()) {
            scenario.seed = random_() >> 32;
            return true;
        }
        Flow &flow = scenario.flows[which - tasks_];

        if (!leeway_.phases)
            return false;
        flow.source.offset_ns =
            chance(3) ? instant() : moved(flow.source.offset_ns, 0, leeway_.latest_offset_ns);
        return true;
    }

    bool change_task(Task &task, u32 number) {
        const bool fixed =
            task.wcet_ns == ENDLESS
            || (leeway_.shortest[number] == task.wcet_ns && leeway_.longest[number] == NEVER);

        if (movable(task) && (fixed || chance(2))) {
            task.offset_ns =
                chance(3) ? instant() : moved(task.offset_ns, 0, leeway_.latest_offset_ns);
            return true;
        }
        if (fixed)
            return false;
        const Ns longest_ns = leeway_.longest[number] == NEVER ? original_.task(number).wcet_ns
                                                               : leeway_.longest[number];

        task.wcet_ns = moved(task.wcet_ns, leeway_.shortest[number], longest_ns);
        task.bcet_ns = task.wcet_ns;
        return true;
    }

    Scenario original_;
    Claims claims_;
    Leeway leeway_;
    std::mt19937_64 random_;
    u32 tasks_ = 0;
};

// Of each task and of each source: kind, offset, jitter, wcet and bcet of the worst placement.
nb::list placement_of(const Scenario &scenario) {
    nb::list list;
    const auto append = [&list](const Task &task) {
        list.append(nb::make_tuple(task.kind == Kind::sporadic, task.offset_ns, task.jitter_ns,
                                   task.wcet_ns, task.bcet_ns));
    };

    for (const Domain &domain : scenario.domains) {
        for (const Task &task : domain.tasks)
            append(task);
    }
    for (const Flow &flow : scenario.flows)
        append(flow.source);
    return list;
}

nb::dict attack(const Scenario &scenario, std::vector<Ns> tasks, std::vector<Ns> flows,
                std::vector<bool> lossless, bool phases, std::vector<Ns> shortest,
                std::vector<Ns> longest, Ns latest_offset_ns, std::vector<Ns> steps_ns, u32 starts,
                u32 changes, u64 seed) {
    if (shortest.size() != tasks.size() || longest.size() != tasks.size()
        || lossless.size() != flows.size())
        throw std::invalid_argument("lists of different lengths");
    Adversary adversary(
        scenario, {std::move(tasks), std::move(flows), std::move(lossless)},
        {phases, std::move(shortest), std::move(longest), latest_offset_ns, std::move(steps_ns)},
        seed);
    nb::dict found;

    adversary.search(starts, changes);
    found["broken"] = adversary.outcome.broken;
    found["nearest"] = adversary.outcome.nearest;
    found["runs"] = adversary.played;
    found["seed"] = adversary.worst.seed;
    found["placement"] = placement_of(adversary.worst);
    return found;
}

} // namespace

void bind_adversary(nb::module_ &module) {
    using nb::arg;

    module.def("attack", &attack, nb::kw_only(), arg("scenario"), arg("tasks"), arg("flows"),
               arg("lossless"), arg("phases"), arg("shortest"), arg("longest"),
               arg("latest_offset_ns"), arg("steps_ns"), arg("starts"), arg("changes"),
               arg("seed"));
}

} // namespace hyperperiod::sim
