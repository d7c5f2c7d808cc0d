// SPDX-License-Identifier: BSD-2-Clause
//
// Sensitivity by bisection over the tests of a component (Bini, Di Natale and Buttazzo,
// "Sensitivity analysis for fixed-priority real-time systems", Real-Time Systems 2008, for the
// question). More work of one load never makes another test come out better, nor does an earlier
// deadline, so what is confirmed for one value is for all on its easier side, and bisection finds
// the last such value. Under fixed priority the loads above cannot tell; of those below, the one
// that failed last is asked first, since it is the one that fails next.
//
// Under EDF the largest wcet takes one visit to the windows instead: a window that does not hold
// its demand lowers the wcet to the largest with which it does, and the windows before, which held
// a larger demand, still do. Where that takes too many steps, which is where the utilisation comes
// within a hair of the bandwidth, the wcet backs off in growing steps, a thousandth first.

#include "src/hyperperiod/analysis/kernels/sensitivity.hpp"

#include "src/hyperperiod/analysis/kernels/windows.hpp"

namespace hyperperiod::analysis {

namespace {

// What one test of a search may spend: a component of n loads asks for n searches of some seventy
// tests, and all of them together should take a few seconds at most.
u64 search_effort(std::size_t loads) {
    constexpr u64 whole = 300'000'000, most = 5'000'000, tests = 70;
    const u64 share = whole / (tests * (loads + 1));
    const u64 least = 100 * loads;
    return share < least ? least : share < most ? share : most;
}

class Search {
  public:
    Search(const Component &component, std::size_t index, const Supply &supply)
        : component_(component), index_(index), supply_(supply), weakest_(index) {}

    Load &moved() { return component_.loads[index_]; }
    bool exact() const { return exact_; }
    bool above_hold();
    bool holds();

  private:
    bool load_holds(std::size_t index);
    bool said(Verdict verdict) {
        exact_ = exact_ && verdict != Verdict::unknown;
        return verdict == Verdict::holds;
    }

    Component component_;
    std::size_t index_;
    const Supply &supply_;
    std::size_t weakest_;
    bool exact_ = true;
};

bool Search::load_holds(std::size_t index) {
    const Loads loads(component_.loads);
    Effort effort(search_effort(loads.size()));
    return said(response(loads.first(index), loads[index], supply_, effort).verdict);
}

// Whether what does not depend on the moved load holds.
bool Search::above_hold() {
    if (component_.local != Local::fixed_priority)
        return true;
    for (std::size_t index = 0; index < index_; index++)
        if (!load_holds(index))
            return false;
    return true;
}

bool Search::holds() {
    if (component_.local != Local::fixed_priority) {
        Effort effort(search_effort(component_.loads.size()));
        return said(schedulable(component_, supply_, effort).verdict);
    }
    if (!load_holds(weakest_))
        return false;
    for (std::size_t index = index_; index < component_.loads.size(); index++) {
        if (index != weakest_ && !load_holds(index)) {
            weakest_ = index;
            return false;
        }
    }
    return true;
}

// EDF: lowers the wcet of one load until every window holds its demand.
class Descent {
  public:
    Descent(Loads loads, std::size_t index, const Supply &supply)
        : loads_(loads.begin(), loads.end()), own_(loads_[index]), supply_(supply) {}

    Limit run();

  private:
    Limit back_off();
    bool below(u64 wcet);
    bool holds(u64 wcet);
    bool cover(const Window &window);
    bool cover_early_windows();

    std::vector<Load> loads_;
    Load &own_;
    Supply supply_;
};

bool Descent::below(u64 wcet) {
    own_.wcet = wcet;
    return Trend(loads_).against(supply_) == Run::below;
}

bool Descent::holds(u64 wcet) {
    own_.wcet = wcet;
    Effort effort(search_effort(loads_.size()));
    return edf(loads_, supply_, effort).verdict == Verdict::holds;
}

bool Descent::cover(const Window &window) {
    const u64 within = supply_.within(window.length);
    if (within >= window.demand)
        return true;
    if (window.length < own_.deadline || window.demand == never)
        return false;
    const u64 jobs = (window.length - own_.deadline + own_.jitter) / own_.period + 1;
    const u64 others = window.demand - jobs * own_.wcet;
    if (within < others || (within - others) / jobs == 0)
        return false;
    own_.wcet = (within - others) / jobs;
    return true;
}

// The first deadlines decide most; a good start shortens the rest.
bool Descent::cover_early_windows() {
    const u64 longest = longest_deadline(loads_);
    const Deadlines ends(loads_);
    Window window = ends.up_to(longest < limit / 4 ? 4 * longest : longest);
    for (int looks = 0; window.length != 0 && looks < 1000; looks++) {
        if (!cover(window))
            return false;
        window = ends.up_to(window.length - 1);
    }
    return true;
}

Limit Descent::back_off() {
    const u64 highest = own_.wcet;
    for (u64 step = highest / 1024 + 1; step < highest; step *= 2)
        if (holds(highest - step))
            return {highest - step, false};
    return {0, false};
}

Limit Descent::run() {
    u64 slow = 0, fast = own_.deadline + 1; // no response is shorter than the work
    while (fast - slow > 1) {
        const u64 middle = slow + (fast - slow) / 2;
        (below(middle) ? slow : fast) = middle;
    }
    // The whole bandwidth is a case of its own.
    if (fast <= own_.deadline && holds(fast))
        return {fast, true};
    own_.wcet = slow;
    if (slow == 0 || !cover_early_windows())
        return {0, true};
    const Trend trend(loads_);
    Effort effort(search_effort(loads_.size()));
    const auto lower = [&](const Window &window) { return cover(window); };
    const Verdict verdict = Visit(loads_, trend, supply_, effort, lower).run(limit).verdict;
    if (verdict == Verdict::unknown)
        return back_off();
    return {verdict == Verdict::misses ? 0 : own_.wcet, true};
}

} // namespace

Limit largest_wcet(const Component &component, std::size_t index, const Supply &supply) {
    if (component.local == Local::edf)
        return Descent(component.loads, index, supply).run();
    Search search(component, index, supply);
    if (!search.above_hold())
        return {0, search.exact()};
    const auto holds = [&](u64 wcet) {
        search.moved().wcet = wcet;
        return search.holds();
    };
    const u64 now = component.loads[index].wcet, most = component.loads[index].deadline;
    u64 working = 0, failing = most + 1; // no response is shorter than the work
    if (now < failing)
        (holds(now) ? working : failing) = now;
    while (failing - working > 1) {
        const u64 middle = working + (failing - working) / 2;
        (holds(middle) ? working : failing) = middle;
    }
    return {working, search.exact()};
}

Limit shortest_deadline(const Component &component, std::size_t index, const Supply &supply) {
    Search search(component, index, supply);
    const u64 now = component.loads[index].deadline;
    if (!search.above_hold() || !search.holds())
        return {0, search.exact()};
    u64 failing = 0, working = now;
    while (working - failing > 1) {
        const u64 middle = failing + (working - failing) / 2;
        search.moved().deadline = middle;
        (search.holds() ? working : failing) = middle;
    }
    return {working, search.exact()};
}

} // namespace hyperperiod::analysis
