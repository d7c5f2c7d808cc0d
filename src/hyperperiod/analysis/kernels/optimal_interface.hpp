// SPDX-License-Identifier: BSD-2-Clause
//
// Algorithm 1 of the CSA paper: the interface of least bandwidth in whole quanta.
#pragma once

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

struct Optimum {
    u64 period, budget; // budget 0: no interface serves the components
    u64 tried;          // periods for which a budget was sought
    u64 pruned;         // periods that the bound of Theorem 1 made unnecessary
    u64 bound;          // the longest period that was not ruled out
    bool exact;         // false: some period was passed over because it was too hard to judge
};

// One interface that serves each of the components on a vcpu of its own. `interrupted` is
// called now and then and may throw.
Optimum optimal_interface(const std::vector<Component> &components, Shape shape, u64 quantum,
                          void (*interrupted)());

} // namespace hyperperiod::analysis
