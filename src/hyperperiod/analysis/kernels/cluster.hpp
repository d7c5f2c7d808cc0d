// SPDX-License-Identifier: BSD-2-Clause
//
// Global EDF on the vcpus of one domain, which do not run all the time.
//
// A cluster is `whole` pcpus of its own and `shared` vcpus with one interface each; jobs move
// between all of them. What it surely gets in a window is the sum of what each gets. The test and
// why it holds are in hyperperiod.analysis.domains.mpr.
#pragma once

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

struct Cluster {
    u64 width() const { return shared + whole; }
    u128 within(u64 window) const {
        return u128{whole} * window + u128{shared} * vcpu.within(window);
    }
    // The shortest window that surely holds the amount.
    u64 time_for(u128 amount) const;

    Supply vcpu;
    u64 shared, whole;
};

// Where the verdict is unknown: the load and the window that were not confirmed, or 0 and 0.
struct ClusterAnswer {
    Verdict verdict;
    std::size_t load;
    u64 window;
};

// Why a load is confirmed, by the window in which least is left, or not, by the one that the test
// stopped at. Before the deadline of its job `ahead` is supplied while it runs; each load (its own
// earlier jobs included) can take its part of the rest; and all that must be in the supply.
struct ClusterWitness {
    Verdict verdict;
    u64 window, supply, ahead;
    std::vector<u64> parts;
};

ClusterWitness cluster_witness(Loads loads, std::size_t index, const Cluster &cluster,
                               Effort &effort);
// What one window from the deadline of a load on must hold more than, for loads that are covered.
u64 cluster_demand(Loads loads, std::size_t index, const Cluster &cluster, u64 window);

ClusterAnswer cluster_edf(Loads loads, const Cluster &cluster, Effort &effort);

// The least multiple of `granule` that serves the loads as the budget of each shared vcpu.
Budget minimal_cluster_budget(Loads loads, Shape shape, u64 period, u64 granule, u64 shared,
                              u64 whole);

} // namespace hyperperiod::analysis
