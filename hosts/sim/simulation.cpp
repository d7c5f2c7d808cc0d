// SPDX-License-Identifier: BSD-2-Clause
//
// What both builds of the engine share, and the choice between them.

#include "hosts/sim/simulation.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hyperperiod::sim {

Simulation::Simulation(const Scenario &scenario, std::unique_ptr<Recorder> recorder)
    : scenario_(scenario), recorder_(std::move(recorder)), domains_(scenario.domains.size()),
      pcpus_(scenario.pcpus) {
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

// The vcpus of the fullest lock domain.
u32 most_vcpus(const Scenario &scenario) {
    std::vector<u32> vcpus(MAX_PCPUS);

    for (const Domain &domain : scenario.domains)
        vcpus.at(scenario.global ? 0 : domain.pcpu) += domain.vcpus;
    return *std::max_element(vcpus.begin(), vcpus.end());
}

void check_sizes(const Scenario &scenario) {
    std::size_t tasks = 0;
    std::size_t vcpus = 0;

    for (const Domain &domain : scenario.domains) {
        tasks += domain.tasks.size();
        vcpus += domain.vcpus;
        if (!scenario.global && domain.pcpu >= scenario.pcpus)
            throw std::invalid_argument("a domain is on a pcpu that does not exist");
    }
    if (scenario.pcpus == 0 || scenario.pcpus > MAX_PCPUS)
        throw std::invalid_argument("1 to 64 pcpus are supported");
    if (tasks >= MAX_IDS || vcpus >= MAX_IDS || most_vcpus(scenario) > 1024)
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
