// SPDX-License-Identifier: BSD-2-Clause
//
// How far one number of a component can move before the test no longer confirms its deadlines.
#pragma once

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

struct Limit {
    u64 value;  // 0: nothing will do
    bool exact; // false: the next one may do too, but was too hard to judge
};

// The largest wcet of the load at `index`, everything else as it is.
Limit largest_wcet(const Component &component, std::size_t index, const Supply &supply);
// The shortest deadline of the load at `index`, everything else as it is.
Limit shortest_deadline(const Component &component, std::size_t index, const Supply &supply);

} // namespace hyperperiod::analysis
