// SPDX-License-Identifier: BSD-2-Clause
//
// EDF on a pcpu of its own, set after set: Quick convergence Processor-demand Analysis (Zhang and
// Burns, "Schedulability analysis for real-time systems with EDF scheduling", IEEE Trans.
// Computers 2009).
//
// A deadline is missed if and only if in some window t the demand exceeds t (Baruah, Rosier and
// Howell 1990), and then in one below lateness / (1 - utilisation). QPA begins with the last
// deadline there: a window whose demand is h < t clears every window from t down to h. For each
// load its last deadline within the window is kept, so a step costs a division only for loads
// whose deadlines it passed by more than one period.
//
// Two cases need no window: deadlines not below periods (Liu and Layland 1973), and a density,
// sum of wcet / min(deadline, period), of at most 1. Rates are 64-bit fractions rounded so that
// every error makes the walk longer; all else is exact. Jitter, blocking, a utilisation within a
// hair of 1 and walks that do not end are left to the general test (edf.cpp), here with the whole
// pcpu as the supply.

#include <algorithm>

#include "src/hyperperiod/analysis/kernels/batch.hpp"

namespace hyperperiod::analysis {

namespace {

constexpr u128 one = u128{1} << 64; // of a rate
constexpr u64 walk_effort = 200'000;

struct Due {
    u64 last; // the last deadline within the window, 0 if there is none
    u64 wcet, period, deadline;
};

class Qpa {
  public:
    Verdict operator()(Loads set, u64 pcpus, std::span<u64> bounds);

  private:
    enum class Kind { simple, hard, overload, certain };
    Kind survey(Loads set);
    Answer walk(Loads set, Effort &effort);
    u64 shorten(u64 window);

    std::vector<Due> due_;
    u64 demand_ = 0;  // within the window
    u64 horizon_ = 0; // no longer window matters
};

Verdict whole_pcpu(Loads set) {
    Effort effort(default_effort);
    return edf(set, Supply(Shape::general, 1, 1), effort).verdict;
}

// What kind of set this is, and how far to look in a simple one.
Qpa::Kind Qpa::survey(Loads set) {
    u128 rate = 0, density = 0, lateness = 0;
    bool plain = true;
    for (const Load &load : set) {
        if (load.wcet > load.period)
            return Kind::overload;
        const u128 own = (u128{load.wcet} << 64) / load.period;
        rate += own;
        plain = plain && load.jitter == 0 && load.blocking == 0;
        if (load.deadline < load.period) {
            lateness += ((own + 1) * (load.period - load.deadline) >> 64) + 1;
            density +=
                load.wcet > load.deadline ? 2 * one : (u128{load.wcet} << 64) / load.deadline + 1;
        } else {
            density += own + 1;
        }
    }
    if (rate > one)
        return Kind::overload;
    if (!plain)
        return Kind::hard;
    if (density <= one)
        return Kind::certain;
    const u128 most = rate + set.size();
    if (most >= one || lateness >= limit)
        return Kind::hard;
    if (lateness == 0)
        return Kind::certain;
    const u128 horizon = (lateness << 64) / (one - most) + 1;
    horizon_ = horizon < limit ? static_cast<u64>(horizon) : limit;
    return Kind::simple;
}

// Makes `window` the window and returns its last deadline. Windows only get shorter.
u64 Qpa::shorten(u64 window) {
    u64 last = 0, demand = demand_;
    for (Due &load : due_) {
        if (load.last > window) {
            const u64 passed = load.last - window;
            u64 jobs = 1;
            if (passed > load.period)
                jobs = (passed + load.period - 1) / load.period;
            if (load.last >= jobs * load.period + load.deadline) {
                load.last -= jobs * load.period;
            } else {
                jobs = (load.last - load.deadline) / load.period + 1;
                load.last = 0;
            }
            demand -= jobs * load.wcet;
        }
        last = load.last > last ? load.last : last;
    }
    demand_ = demand;
    return last;
}

Answer Qpa::walk(Loads set, Effort &effort) {
    due_.clear();
    demand_ = 0;
    u64 shortest = never, last = 0;
    for (const Load &load : set) {
        shortest = load.deadline < shortest ? load.deadline : shortest;
        if (load.deadline > horizon_)
            continue;
        const u64 jobs = (horizon_ - load.deadline) / load.period + 1;
        const u64 own = load.deadline + (jobs - 1) * load.period;
        due_.push_back({own, load.wcet, load.period, load.deadline});
        demand_ += jobs * load.wcet;
        last = own > last ? own : last;
    }
    while (demand_ > shortest) {
        if (!effort.spend(due_.size()))
            return {Verdict::unknown, 0};
        if (demand_ > last)
            return {Verdict::misses, last};
        last = shorten(demand_ < last ? demand_ : last - 1);
    }
    return {demand_ > last ? Verdict::misses : Verdict::holds, last};
}

Verdict Qpa::operator()(Loads set, u64, std::span<u64>) {
    Effort effort(walk_effort);
    Verdict verdict = Verdict::unknown;
    switch (survey(set)) {
    case Kind::overload:
        return Verdict::misses; // work piles up whatever the phases
    case Kind::certain:
        verdict = Verdict::holds;
        break;
    case Kind::simple:
        verdict = walk(set, effort).verdict;
        break;
    case Kind::hard:
        break;
    }
    if (verdict == Verdict::unknown)
        verdict = whole_pcpu(set);
    return verdict == Verdict::misses ? no_for(set) : verdict;
}

} // namespace

SetTest make_qpa() {
    return Qpa();
}

} // namespace hyperperiod::analysis
