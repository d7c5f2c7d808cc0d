// SPDX-License-Identifier: BSD-2-Clause
//
// Many sets of loads, one test: what the batch API of Python stands on.
//
// The sets lie one behind the other in an array that Python owns; nothing is copied. `make_test` is
// the list of all tests.
#pragma once

#include <functional>

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

// A test of one set: `holds` and `misses` are proofs; what a sufficient test does not confirm is
// `unknown`. A test that finds response bounds writes them into `bounds`, unless that is empty: it
// has a slot per load, `never` if it has none. It lives for the whole batch, so that what it needs
// for its work is allocated once. Rows have been checked: wcet, period and deadline above 0, all
// below `limit`.
using SetTest = std::function<Verdict(Loads set, u64 pcpus, std::span<u64> bounds)>;

enum class Test { response_time, qpa, processor_demand, gfb, baker, bcl, iterative_bcl };

SetTest make_response_time();
SetTest make_qpa();

SetTest make_test(Test which);

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
void judge_sets(const SetTest &test, const Batch &batch, std::span<Verdict> verdicts,
                std::span<u64> bounds, void (*interrupted)());

} // namespace hyperperiod::analysis
