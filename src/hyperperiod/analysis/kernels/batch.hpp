// SPDX-License-Identifier: BSD-2-Clause
//
// Many sets of loads, one test: what the batch API of Python stands on.
//
// The sets lie one behind the other in an array that Python owns; nothing is copied. A test is an
// object that lives for the whole batch, so that what it needs for its work is allocated once.
// Its kernel is a file of its own with a maker declared here; `make_test` in batch.cpp is the
// list of all.
#pragma once

#include <memory>

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

class SetTest {
  public:
    SetTest() = default;
    SetTest(const SetTest &) = delete;
    SetTest &operator=(const SetTest &) = delete;
    virtual ~SetTest() = default;

    // `holds` and `misses` are proofs; what a sufficient test does not confirm is `unknown`.
    // `bounds` is empty, or has a slot per load for its response bound, `never` if it has none.
    // Rows have been checked: wcet, period and deadline above 0, all below `limit`.
    virtual Verdict judge(Loads set, u64 pcpus, std::span<u64> bounds) = 0;
};

enum class Test { response_time, qpa, processor_demand, gfb, baker, bcl, iterative_bcl };

std::unique_ptr<SetTest> make_response_time();
std::unique_ptr<SetTest> make_qpa();
std::unique_ptr<SetTest> make_processor_demand();
std::unique_ptr<SetTest> make_gfb();
std::unique_ptr<SetTest> make_baker();
std::unique_ptr<SetTest> make_bcl();
std::unique_ptr<SetTest> make_iterative_bcl();

std::unique_ptr<SetTest> make_test(Test which);

// Jitter and blocking are counted at their worst, which need not happen: a "no" that rests on
// them proves nothing.
Verdict no_for(Loads set);

// Set number i is loads[starts[i]] up to loads[starts[i + 1]].
struct Batch {
    Loads loads;
    std::span<const u64> starts;
    u64 pcpus;
};

// Writes a verdict per set and, unless `bounds` is empty, a bound per load. Calls `interrupted`
// from time to time; it may throw.
void judge_sets(SetTest &test, const Batch &batch, std::span<Verdict> verdicts,
                std::span<u64> bounds, void (*interrupted)());

} // namespace hyperperiod::analysis
