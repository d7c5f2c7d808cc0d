// SPDX-License-Identifier: BSD-2-Clause
//
// The tests of global EDF, set after set: batch.hpp's objects around global_edf.hpp. Where a test
// gives no response bounds, a deadline that is met is one.

#include <algorithm>

#include "src/hyperperiod/analysis/kernels/batch.hpp"
#include "src/hyperperiod/analysis/kernels/global_edf.hpp"

namespace hyperperiod::analysis {

namespace {

using Deadlines = Verdict (GlobalEdf::*)(Loads set, u64 pcpus);

template <Deadlines test> class OfDeadlines final : public SetTest {
  public:
    Verdict judge(Loads set, u64 pcpus, std::span<u64> bounds) override {
        const Verdict verdict = (edf_.*test)(set, pcpus);
        std::fill(bounds.begin(), bounds.end(), never);
        for (std::size_t index = 0; verdict == Verdict::holds && index < bounds.size(); index++)
            bounds[index] = set[index].deadline;
        return verdict;
    }

  private:
    GlobalEdf edf_;
};

class IterativeBcl final : public SetTest {
  public:
    Verdict judge(Loads set, u64 pcpus, std::span<u64> bounds) override {
        return edf_.iterative_bcl(set, pcpus, bounds);
    }

  private:
    GlobalEdf edf_;
};

} // namespace

std::unique_ptr<SetTest> make_gfb() {
    return std::make_unique<OfDeadlines<&GlobalEdf::gfb>>();
}

std::unique_ptr<SetTest> make_baker() {
    return std::make_unique<OfDeadlines<&GlobalEdf::baker>>();
}

std::unique_ptr<SetTest> make_bcl() {
    return std::make_unique<OfDeadlines<&GlobalEdf::bcl>>();
}

std::unique_ptr<SetTest> make_iterative_bcl() {
    return std::make_unique<IterativeBcl>();
}

} // namespace hyperperiod::analysis
