// SPDX-License-Identifier: BSD-2-Clause
//
// A run: what its user drives it with and what it has counted. The event loop is engine.h,
// compiled once for systems of up to 64 vcpus (where a set of vcpus is one word and a lock
// domain a few KiB) and once for up to 1024.
#pragma once

#include "hosts/sim/flow.h"
#include "hosts/sim/periods.h"
#include "hosts/sim/recorder.h"

#include <memory>

namespace hyperperiod::sim {

struct VcpuCount {
    Ns supply_ns = 0;   // it ran
    Ns donated_ns = 0;  // of that: without its own server paying
    u64 moved_here = 0; // a job went on here after it had been executed on another vcpu
};

struct PcpuCount {
    Ns busy_ns = 0;      // a vcpu ran
    Ns stolen_ns = 0;    // it was not there to be granted
    u64 switches = 0;    // what runs (a vcpu, or idle) was replaced by something else
    u64 picks = 0;       // decisions of the core
    u64 preemptions = 0; // an unfinished job was displaced here by another job
    u64 migrations = 0;  // a job went on here after it had been executed elsewhere
};

class Simulation {
  public:
    virtual ~Simulation() = default;
    Simulation(const Simulation &) = delete;
    Simulation &operator=(const Simulation &) = delete;

    // Handles the instants before `until_ns`, in order, at most `instants` of them, and returns
    // the time of the next one that is not handled yet (at most until_ns).
    virtual Ns advance(Ns until_ns, u64 instants) = 0;
    // Closes the run at `end_ns`, which advance has returned: what completes at this very
    // instant still counts, what would be released does not.
    virtual void finish(Ns end_ns) = 0;
    // Keeps every response time of tasks and flows, from here on.
    void keep_responses() {
        for (TaskRun &task : tasks_)
            task.responses.keep_values();
        for (FlowRun &flow : flows_)
            flow.keep_responses();
    }

    const std::vector<TaskRun> &tasks() const { return tasks_; }
    const std::vector<FlowRun> &flows() const { return flows_; }
    const std::vector<VcpuCount> &vcpus() const { return given_; }
    PeriodCount periods(std::size_t vcpu) const {
        return periods_.empty() ? PeriodCount{} : periods_.at(vcpu).count();
    }
    const std::vector<PcpuCount> &pcpus() const { return pcpus_; }

  protected:
    Simulation(const Scenario &scenario, std::unique_ptr<Recorder> recorder);

    Scenario scenario_;
    std::unique_ptr<Recorder> recorder_;
    std::vector<TaskRun> tasks_;
    std::vector<FlowRun> flows_;
    std::vector<VcpuCount> given_; // to each vcpu
    std::vector<Periods> periods_; // of each server, if they are counted
    std::vector<PcpuCount> pcpus_;
};

// Throws std::invalid_argument if the core refuses the scenario.
std::unique_ptr<Simulation> make_simulation(const Scenario &scenario,
                                            std::unique_ptr<Recorder> recorder);

// The two builds of the engine.
std::unique_ptr<Simulation> make_engine_64(const Scenario &scenario,
                                           std::unique_ptr<Recorder> recorder);
std::unique_ptr<Simulation> make_engine_1024(const Scenario &scenario,
                                             std::unique_ptr<Recorder> recorder);

} // namespace hyperperiod::sim
