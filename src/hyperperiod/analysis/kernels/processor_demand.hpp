// SPDX-License-Identifier: BSD-2-Clause
//
// The processor-demand test of one set under EDF, deadline after deadline.
#pragma once

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

// `window` is the shortest that does not hold its demand (misses), or the last one looked at;
// `bound` is how far there was to look, `never` if no bound is known. An overload, a utilisation
// above 1, is too much whatever the phases.
struct Demand {
    Verdict verdict;
    u64 window, demand, bound;
    bool overload = false;
};

Demand processor_demand(Loads loads, Effort &effort);

} // namespace hyperperiod::analysis
