// SPDX-License-Identifier: BSD-2-Clause
//
// How a scenario is told from outside, part by part: by Python (bindings.cpp) and by web pages
// (wasm/exports.cpp), with the same names and the same order of values. std::invalid_argument for
// what is no part of a scenario.
#pragma once

#include "hosts/sim/scenario.h"

#include <optional>
#include <vector>

namespace hyperperiod::sim {

using Time = std::optional<Ns>;

void set_up(Scenario &scenario, u32 budget, u32 order, u32 slack, bool is_global, u32 pcpus,
            Ns quantum_ns, Ns horizon_ns, u64 seed, bool check);
void set_spare(Scenario &scenario, Ns period_ns, Ns budget_ns);
void set_overheads(Scenario &scenario, Ns context_switch_ns, Ns pick_ns, Ns replenish_ns,
                   Ns wake_ns, Ns interrupt_ns, Ns migration_ns);
void add_domain(Scenario &scenario, u32 scheduler);
// Vcpus and tasks belong to the domain that was added last, an overrun to such a task.
void add_vcpu(Scenario &scenario, u32 pcpu, u32 priority, Ns period_ns, Ns budget_ns,
              bool best_effort, bool extra, u32 weight);
void add_task(Scenario &scenario, u32 kind, Time period_ns, Time wcet_ns, Time bcet_ns,
              Time deadline_ns, Ns offset_ns, Ns jitter_ns, std::optional<u64> priority,
              std::optional<u32> vcpu);
void add_overrun(Scenario &scenario, u64 thousandths, Ns from_ns, Time to_ns, u64 every);
// A task (by its number over all domains) has these jobs, by release, in the place of its own:
// none, if there is none.
void set_jobs(Scenario &scenario, u32 number, const std::vector<Ns> &releases_ns,
              const std::vector<Ns> &ran_ns);
void add_flow(Scenario &scenario, u32 kind, Ns period_ns, Ns offset_ns, Ns jitter_ns, u64 burst,
              u64 queue, u64 ring, Ns deadline_ns, const std::vector<u32> &hops);
void add_closed_flow(Scenario &scenario, u32 clients, Ns think_least_ns, Ns think_most_ns,
                     Ns offset_ns, Ns deadline_ns, const std::vector<u32> &hops);
void add_swap(Scenario &scenario, Ns at_ns, u32 budget, u32 order, u32 slack);
void add_change(Scenario &scenario, Ns at_ns, u32 vcpu, Ns period_ns, Ns budget_ns, u32 priority,
                std::optional<u32> pcpu);
void add_theft(Scenario &scenario, u32 pcpu, Ns period_ns, Ns duration_ns, Ns offset_ns);

} // namespace hyperperiod::sim
