// SPDX-License-Identifier: BSD-2-Clause
//
// The list of batch tests, and the walk over the sets: see batch.hpp.

#include "src/hyperperiod/analysis/kernels/batch.hpp"

namespace hyperperiod::analysis {

std::unique_ptr<SetTest> make_test(Test which) {
    switch (which) {
    case Test::response_time:
        return make_response_time();
    case Test::qpa:
        return make_qpa();
    case Test::processor_demand:
        return make_processor_demand();
    case Test::gfb:
        return make_gfb();
    case Test::baker:
        return make_baker();
    case Test::bcl:
        return make_bcl();
    case Test::iterative_bcl:
        return make_iterative_bcl();
    }
    return nullptr;
}

Verdict no_for(Loads set) {
    for (const Load &load : set)
        if (load.jitter != 0 || load.blocking != 0)
            return Verdict::unknown;
    return Verdict::misses;
}

void judge_sets(SetTest &test, const Batch &batch, std::span<Verdict> verdicts,
                std::span<u64> bounds, void (*interrupted)()) {
    constexpr std::size_t round = 1024;
    for (std::size_t set = 0; set < verdicts.size(); set++) {
        if (set % round == round - 1)
            interrupted();
        const u64 first = batch.starts[set], size = batch.starts[set + 1] - first;
        const std::span<u64> slots = bounds.empty() ? bounds : bounds.subspan(first, size);
        verdicts[set] = test.judge(batch.loads.subspan(first, size), batch.pcpus, slots);
    }
}

} // namespace hyperperiod::analysis
