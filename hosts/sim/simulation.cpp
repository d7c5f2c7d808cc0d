// SPDX-License-Identifier: BSD-2-Clause
//
// What both builds of the engine share, and the choice between them.

#include "hosts/sim/simulation.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hyperperiod::sim {

Simulation::Simulation(const Scenario &scenario, std::unique_ptr<Recorder> recorder)
    : scenario_(scenario), recorder_(std::move(recorder)), given_(scenario.vcpus()),
      periods_(scenario.count_periods ? scenario.vcpus() : 0), pcpus_(scenario.pcpus) {
    for (u32 domain = 0; domain < scenario.domains.size(); domain++) {
        for (const Task &task : scenario.domains[domain].tasks) {
            tasks_.emplace_back(task, scenario.seed);
            tasks_.back().guest = domain;
        }
    }
    for (u32 flow = 0; flow < scenario.flows.size(); flow++)
        flows_.emplace_back(scenario.flows[flow], flow, scenario.seed);
}

namespace {

// The vcpus of the fullest lock domain at most, those that come later with them.
u32 most_vcpus(const Scenario &scenario) {
    std::vector<u32> vcpus(MAX_PCPUS);

    for (const Domain &domain : scenario.domains) {
        for (const Server &vcpu : domain.vcpus)
            vcpus.at(scenario.global ? 0 : vcpu.pcpu)++;
    }
    for (const Change &change : scenario.changes) {
        if (change.pcpu != NONE)
            vcpus.at(change.pcpu)++;
    }
    return *std::max_element(vcpus.begin(), vcpus.end());
}

void check_sizes(const Scenario &scenario) {
    std::size_t tasks = 0;

    for (const Domain &domain : scenario.domains) {
        tasks += domain.tasks.size();
        if (domain.vcpus.empty())
            throw std::invalid_argument("a domain needs a vcpu");
        for (const Server &vcpu : domain.vcpus) {
            if (!scenario.global && vcpu.pcpu >= scenario.pcpus)
                throw std::invalid_argument("a vcpu is on a pcpu that does not exist");
        }
    }
    for (const Change &change : scenario.changes) {
        if (change.pcpu != NONE && (scenario.global || change.pcpu >= scenario.pcpus))
            throw std::invalid_argument("a vcpu moves to a pcpu that is not its own to go to");
    }
    if (scenario.pcpus == 0 || scenario.pcpus > MAX_PCPUS)
        throw std::invalid_argument("1 to 64 pcpus are supported");
    if (tasks >= MAX_IDS || scenario.vcpus() >= MAX_IDS || most_vcpus(scenario) > 1024)
        throw std::invalid_argument("too many tasks or vcpus");
}

} // namespace

std::unique_ptr<Simulation> make_simulation(const Scenario &scenario,
                                            std::unique_ptr<Recorder> recorder) {
    check_sizes(scenario);
    return most_vcpus(scenario) <= 64 ? make_engine_64(scenario, std::move(recorder))
                                      : make_engine_1024(scenario, std::move(recorder));
}

} // namespace hyperperiod::sim
