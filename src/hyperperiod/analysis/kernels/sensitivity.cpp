// SPDX-License-Identifier: BSD-2-Clause
//
// Sensitivity by bisection over the tests of a component (Bini, Di Natale and Buttazzo,
// "Sensitivity analysis for fixed-priority real-time systems", Real-Time Systems 2008, for the
// question). More work of one load never makes another test come out better, nor does an earlier
// deadline, so what is confirmed for one value is for all on its easier side, and bisection finds
// the last such value. Under fixed priority the loads above cannot tell; of those below, the one
// that failed last is asked first, since it is the one that fails next.

#include "src/hyperperiod/analysis/kernels/sensitivity.hpp"

namespace hyperperiod::analysis {

namespace {

constexpr u64 search_effort = 5'000'000; // for one test of the search

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
    Effort effort(search_effort);
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
        Effort effort(search_effort);
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

} // namespace

Limit largest_wcet(const Component &component, std::size_t index, const Supply &supply) {
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
