// SPDX-License-Identifier: BSD-2-Clause
//
// Global EDF on the vcpus of one domain, which do not run all the time.
//
// A cluster is vcpus, so many of each kind, and jobs move between all of them; a pcpu of its own is
// a vcpu that always runs. What a cluster surely gets in a window is the sum of what each vcpu
// gets. The test and why it holds are in hyperperiod.analysis.domains.mpr.
#pragma once

#include <vector>

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

struct Vcpus {
    Supply each;
    u64 count;
};

struct Cluster {
    u64 width() const;
    u128 within(u64 window) const { return beside(window, 0); }
    // What comes in a window beside so many units of it, in each of which every vcpu may run.
    u128 beside(u64 window, u64 units) const;
    // The shortest window in which so much surely comes beside them.
    u64 time_for(u128 amount, u64 units) const;

    std::vector<Vcpus> kinds;
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
// The supply with which one window from the deadline of a load on is confirmed on so many vcpus,
// for loads that are covered, if no vcpu has less in it than the job of the load needs.
u64 cluster_demand(Loads loads, std::size_t index, u64 width, u64 window);

// The loads from number `first` on.
ClusterAnswer cluster_edf(Loads loads, const Cluster &cluster, Effort &effort,
                          std::size_t first = 0);

// A bound on the responses of the load of that number, at most its deadline, if those of the
// others are within `bounds`; `never` if none is confirmed. Under fixed priority the others are the
// loads in front of it, under EDF all. The test and why it holds are in
// hyperperiod.analysis.domains.virtual_multiprocessor.
u64 cluster_response(Local local, Loads loads, std::span<const u64> bounds, std::size_t index,
                     const Cluster &cluster);

// The least multiple of `granule` that serves the loads as the budget of each shared vcpu.
Budget minimal_cluster_budget(Loads loads, Shape shape, u64 period, u64 granule, u64 shared,
                              u64 whole);

} // namespace hyperperiod::analysis
