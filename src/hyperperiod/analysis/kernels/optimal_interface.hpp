// SPDX-License-Identifier: BSD-2-Clause
//
// Algorithm 1 of the CSA paper: the interface of least bandwidth on a grid.
#pragma once

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

// Periods are first, first + step, ... up to last, budgets multiples of the granule; first and
// step are multiples of it as well. The paper's grid has one quantum for all three and no last.
struct Grid {
    u64 granule, first, step, last;

    u64 up_to(u64 period) const { return period < first ? 0 : (period - first) / step + 1; }
    // The longest period of the grid up to this one, or the first.
    u64 below(u64 period) const {
        const u64 end = period < last ? period : last;
        return end < first ? first : end - (end - first) % step;
    }
};

struct Optimum {
    u64 period, budget; // budget 0: no interface serves the components
    u64 tried;          // periods for which a budget was sought
    u64 pruned;         // periods of the grid that only the bound of Theorem 1 made unnecessary
    u64 bound;          // the longest period that was not ruled out
    bool exact;         // false: some period was passed over because it was too hard to judge
};

// One interface that serves each of the components on a vcpu of its own. `interrupted` is called
// now and then and may throw. No period is begun once the process has used so many nanoseconds of
// processor time; 0: there is no such end.
Optimum optimal_interface(const std::vector<Component> &components, Shape shape, const Grid &grid,
                          u64 until, void (*interrupted)());

} // namespace hyperperiod::analysis
