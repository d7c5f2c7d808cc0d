// SPDX-License-Identifier: BSD-2-Clause
//
// The list of batch tests, and the walk over the sets: see batch.hpp.

#include "src/hyperperiod/analysis/kernels/batch.hpp"

#include <algorithm>

#include "src/hyperperiod/analysis/kernels/global_edf.hpp"
#include "src/hyperperiod/analysis/kernels/processor_demand.hpp"

namespace hyperperiod::analysis {

namespace {

Verdict judge_demand(Loads set, u64, std::span<u64>) {
    Effort effort(default_effort);
    const Demand found = processor_demand(set, effort);
    const bool late = found.verdict == Verdict::misses && !found.overload;
    return late ? no_for(set) : found.verdict;
}

// One that keeps its scratch space from set to set.
SetTest global_edf(Verdict (GlobalEdf::*judge)(Loads set, u64 pcpus)) {
    return [judge, edf = GlobalEdf()](Loads set, u64 pcpus, std::span<u64>) mutable {
        return (edf.*judge)(set, pcpus);
    };
}

} // namespace

SetTest make_test(Test which) {
    switch (which) {
    case Test::response_time:
        return make_response_time();
    case Test::qpa:
        return make_qpa();
    case Test::processor_demand:
        return judge_demand;
    case Test::gfb:
        return global_edf(&GlobalEdf::gfb);
    case Test::baker:
        return global_edf(&GlobalEdf::baker);
    case Test::bcl:
        return global_edf(&GlobalEdf::bcl);
    case Test::iterative_bcl:
        return [edf = GlobalEdf()](Loads set, u64 pcpus, std::span<u64> bounds) mutable {
            return edf.iterative_bcl(set, pcpus, bounds);
        };
    }
    return nullptr;
}

Verdict no_for(Loads set) {
    for (const Load &load : set)
        if (load.jitter != 0 || load.blocking != 0)
            return Verdict::unknown;
    return Verdict::misses;
}

void judge_sets(const SetTest &test, const Batch &batch, std::span<Verdict> verdicts,
                std::span<u64> bounds, void (*interrupted)()) {
    constexpr std::size_t round = 1024;
    for (std::size_t set = 0; set < verdicts.size(); set++) {
        if (set % round == round - 1)
            interrupted();
        const u64 first = batch.starts[set], size = batch.starts[set + 1] - first;
        const std::span<u64> slots = bounds.empty() ? bounds : bounds.subspan(first, size);
        std::fill(slots.begin(), slots.end(), never);
        verdicts[set] = test(batch.loads.subspan(first, size), batch.pcpus, slots);
    }
}

} // namespace hyperperiod::analysis
