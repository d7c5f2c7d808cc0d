// SPDX-License-Identifier: BSD-2-Clause
//
// A component: the loads on one vcpu and who is first among them.
//
// A load asks for `wcet` at releases that are at least `period` apart, up to `jitter` closer
// for a while; `deadline` counts from the release; `blocking` is the most that work behind it can
// run in a busy window of the load's level. Under fixed priority the order of the loads is the
// order of priority. Offsets are not here: releasing everything at once is the worst
// case, so leaving them out is safe.
//
// A test can say that all deadlines hold, that some window breaks one, or that finding out
// takes more steps than it may spend: utilisation within a hair of the supply can move the
// window in question beyond any bound.
#pragma once

#include <span>
#include <vector>

#include "src/hyperperiod/analysis/kernels/supply.hpp"

namespace hyperperiod::analysis {

struct Load {
    u64 wcet, period, deadline, jitter, blocking = 0;
};

using Loads = std::span<const Load>;

enum class Local { fixed_priority, edf, fifo, executor };

struct Component {
    Local local;
    std::vector<Load> loads;
};

enum class Verdict { holds, misses, unknown };

// `time` is a response bound where the verdict is holds, a window that breaks a deadline where
// it is misses and such a window is known, else 0.
struct Answer {
    Verdict verdict;
    u64 time;
};

// What a test may still spend, in looks at one load in one window.
class Effort {
  public:
    explicit Effort(u64 looks) : left_(looks) {}
    bool spend(u64 looks) {
        const bool enough = looks <= left_;
        left_ = enough ? left_ - looks : 0;
        return enough;
    }

  private:
    u64 left_;
};

// One look takes some nanoseconds, so a test gives up after less than a second.
constexpr u64 default_effort = 50'000'000;

// Response bound of `own` below `above`; `start` is any time known not to exceed the answer.
Answer response(Loads above, const Load &own, const Supply &supply, Effort &effort, u64 start = 0);
// Response bounds of all loads under one supply, from the highest priority down. The search for one
// begins where the first job of an earlier one was done, since the busy window of a level contains
// those of the levels above it (Sjoedin and Hansson 1998).
class Responses {
  public:
    Responses(Loads loads, const Supply &supply) : loads_(loads), supply_(supply) {}
    Answer next(Effort &effort);

  private:
    Loads loads_;
    const Supply &supply_;
    std::size_t index_ = 0;
    u64 done_ = 0;     // when the first job of some load above was done
    u64 blocking_ = 0; // what was counted as its blocking
};

// After how many jobs the responses of `own` repeat, if its busy window never ends because the
// loads use the whole supply; `never` if that is not so, or not known.
u64 repeats_after(Loads above, const Load &own, const Supply &supply);
Answer fixed_priority(Loads loads, const Supply &supply, Effort &effort);
Answer edf(Loads loads, const Supply &supply, Effort &effort);
Answer fifo(Loads loads, const Supply &supply, Effort &effort);
// Whether all deadlines hold, without a bound: done at the first job that is late.
Verdict fifo_verdict(Loads loads, const Supply &supply, Effort &effort);
// Callbacks that run in any order, none of them preempted (executor.cpp).
Answer executor(Loads loads, const Supply &supply, Effort &effort);
Answer schedulable(const Component &component, const Supply &supply, Effort &effort);

// Work released in a window of length `window` that begins with a release of every load.
u64 request(Loads loads, u64 window);
u64 longest_blocking(Loads loads);
u64 longest_deadline(Loads loads);
u64 shortest_deadline(Loads loads);

struct Budget {
    u64 budget; // 0: none up to the period will do
    bool exact; // false: a smaller one may do, but was too expensive to prove
};

// What is given of a supply when its budget is sought.
struct Frame {
    Shape shape;
    u64 period, deadline;
    Supply with(u64 budget) const { return {shape, period, budget, deadline}; }
};

// The least multiple of `granule`, at least `floor`, with which the component is schedulable.
Budget minimal_budget(const Component &component, const Frame &frame, u64 granule, u64 floor = 0);
// Utilisation times `period`, rounded down: no smaller budget can do.
u64 utilisation_floor(Loads loads, u64 period);

} // namespace hyperperiod::analysis
