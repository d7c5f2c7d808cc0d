// SPDX-License-Identifier: BSD-2-Clause
//
// Callbacks of one executor, which runs them in an order of its own and preempts none. Whatever the
// order is, a job waits for no more than it would if every other load were above its own, so each
// load in turn is the last one under fixed priority. It may wait for what blocks any of the others,
// so the longest blocking counts for all. Only sufficient.

#include "src/hyperperiod/analysis/kernels/component.hpp"

#include <utility>

namespace hyperperiod::analysis {

Answer executor(Loads loads, const Supply &supply, Effort &effort) {
    std::vector<Load> turned(loads.begin(), loads.end());
    const u64 blocking = longest_blocking(loads);
    u64 worst = 0;
    for (Load &own : turned) {
        std::swap(own, turned.back());
        turned.back().blocking = blocking;
        const Loads others(turned.data(), turned.size() - 1);
        const Answer one = response(others, turned.back(), supply, effort);
        std::swap(own, turned.back());
        if (one.verdict != Verdict::holds)
            return one;
        worst = one.time > worst ? one.time : worst;
    }
    return {Verdict::holds, worst};
}

} // namespace hyperperiod::analysis
