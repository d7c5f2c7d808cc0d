// SPDX-License-Identifier: BSD-2-Clause
//
// The least budget with which a component is schedulable, for a given period.
//
// A larger budget never supplies less in any window (each blackout shrinks, and every arrival
// of budget begins no later and ends no later), so "schedulable" is monotone in the budget and
// a least one exists if the largest, the deadline (without one the period), will do. Under fixed
// priority and FIFO it is found by bisection; loads that the budget found so far already serves
// cost one test each. Under EDF one walk over the windows is enough: a window whose demand is not
// covered raises the budget to the least that covers it, and windows covered before stay covered.
//
// Where a test gives up, a larger budget has to do, and the answer says that it may not be the
// least: under EDF one that leaves few windows, or none, beyond those known to be covered.

#include "src/hyperperiod/analysis/kernels/component.hpp"
#include "src/hyperperiod/analysis/kernels/trend.hpp"
#include "src/hyperperiod/analysis/kernels/windows.hpp"

namespace hyperperiod::analysis {

namespace {

// For one test within a search: a budget that is harder to judge is passed over.
constexpr u64 search_effort = 20'000'000;

u64 rounded_up(u64 value, u64 granule) {
    return (value + granule - 1) / granule * granule;
}

// The least multiple of granule in (low, high] that `covers` accepts, if it accepts `high`.
template <typename Covers> u64 bisect(u64 low, u64 high, u64 granule, Covers covers) {
    u64 failing = low / granule, working = high / granule;
    while (working - failing > 1) {
        const u64 middle = failing + (working - failing) / 2;
        (covers(middle * granule) ? working : failing) = middle;
    }
    return working * granule;
}

struct Search {
    Frame frame;
    u64 granule, highest;
    bool exact = true;

    Supply supply(u64 budget) const { return frame.with(budget); }
};

// Fixed priority: the budget that the load at `index` needs, at least `budget`; 0 if none.
u64 raise_for(Search &search, Loads loads, std::size_t index, u64 budget) {
    u64 start = 0; // a response under a larger budget, and so no later than the one sought
    const auto holds = [&](u64 candidate) {
        Effort effort(search_effort);
        const Answer answer =
            response(loads.first(index), loads[index], search.supply(candidate), effort, start);
        search.exact = search.exact && answer.verdict != Verdict::unknown;
        const bool single = loads[index].deadline + loads[index].jitter <= loads[index].period;
        if (answer.verdict == Verdict::holds && single)
            start = answer.time;
        return answer.verdict == Verdict::holds;
    };
    if (holds(budget))
        return budget;
    start = 0;
    if (budget >= search.highest || !holds(search.highest))
        return 0;
    return bisect(budget, search.highest, search.granule, holds);
}

u64 fixed_priority_budget(Search &search, Loads loads, u64 budget) {
    for (std::size_t index = 0; index < loads.size() && budget != 0; index++)
        budget = raise_for(search, loads, index, budget);
    return budget;
}

// By bisection: `judge(supply, effort)` says whether all loads are in time.
template <typename Judge> u64 budget_by(Search &search, u64 budget, const Judge &judge) {
    const auto holds = [&](u64 candidate) {
        Effort effort(search_effort);
        const Verdict verdict = judge(search.supply(candidate), effort);
        search.exact = search.exact && verdict != Verdict::unknown;
        return verdict == Verdict::holds;
    };
    if (holds(budget))
        return budget;
    if (budget >= search.highest || !holds(search.highest))
        return 0;
    return bisect(budget, search.highest, search.granule, holds);
}

// EDF: one visit to all windows, raising the budget where it must be.
class Climb {
  public:
    Climb(Search &search, Loads loads, u64 budget)
        : search_(search), loads_(loads), trend_(loads), budget_(budget) {}

    u64 run();

  private:
    bool cover(const Window &window);
    bool cover_early_windows();
    bool settle();
    void pass_over(u64 done);

    Search &search_;
    Loads loads_;
    Trend trend_;
    u64 budget_;
    bool retried_ = false;
};

// Raises the budget until it covers the window; false if none does.
bool Climb::cover(const Window &window) {
    const auto covers = [&](u64 candidate) {
        return search_.supply(candidate).within(window.length) >= window.demand;
    };
    if (covers(budget_))
        return true;
    if (budget_ >= search_.highest || !covers(search_.highest))
        return false;
    budget_ = bisect(budget_, search_.highest, search_.granule, covers);
    return true;
}

// The first deadlines decide most budgets; a good start shortens the rest.
bool Climb::cover_early_windows() {
    const Deadlines ends(loads_);
    Window window = ends.up_to(longest_deadline(loads_));
    for (int looks = 0; window.length != 0 && looks < 64; looks++) {
        if (!cover(window))
            return false;
        const u64 covered = search_.supply(budget_).time_for(window.demand);
        window = ends.up_to(covered < window.length ? covered : window.length - 1);
    }
    return true;
}

// The next budget to try after the effort for one is spent. All windows up to `done` are covered,
// so a budget with which no longer window matters will do. Under a larger budget a walk takes
// longer steps: once, a budget is tried that leaves as much again to look at.
void Climb::pass_over(u64 done) {
    search_.exact = false;
    const u64 end = retried_ ? done : clamp(u128{done} * 2);
    const auto enough = [&](u64 budget) { return trend_.horizon(search_.supply(budget)) <= end; };
    if (budget_ >= search_.highest)
        budget_ += search_.granule;
    else
        budget_ = bisect(budget_, search_.highest, search_.granule, enough);
    retried_ = true;
}

// Moves the budget to where demand cannot overtake in the long run, or to a proof that the
// budget at hand will do although utilisation equals its bandwidth (true).
bool Climb::settle() {
    while (budget_ <= search_.highest) {
        const Run run = trend_.against(search_.supply(budget_));
        if (run == Run::below)
            return false;
        if (run != Run::above) {
            Effort effort(search_effort);
            const Answer answer = edf(loads_, search_.supply(budget_), effort);
            if (answer.verdict == Verdict::holds)
                return true;
            search_.exact = search_.exact && answer.verdict == Verdict::misses;
        }
        budget_ += search_.granule;
    }
    return false;
}

u64 Climb::run() {
    if (!cover_early_windows())
        return 0;
    for (u64 done = 0;;) {
        if (settle())
            return budget_;
        if (budget_ > search_.highest)
            return 0;
        Supply supply = search_.supply(budget_);
        const auto raise = [&](const Window &window) {
            const bool covered = cover(window);
            supply = search_.supply(budget_);
            return covered;
        };
        Effort effort(search_effort);
        Visit visit(loads_, trend_, supply, effort, raise, done);
        const Verdict verdict = visit.run(limit).verdict;
        done = visit.done();
        switch (verdict) {
        case Verdict::holds:
            return budget_;
        case Verdict::misses:
            return 0;
        case Verdict::unknown:
            pass_over(done);
        }
    }
}

} // namespace

u64 utilisation_floor(Loads loads, u64 period) {
    u128 total = 0;
    for (const Load &load : loads)
        total += u128{load.wcet} * period / load.period;
    return clamp(total);
}

Budget minimal_budget(const Component &component, const Frame &frame, u64 granule, u64 floor) {
    const u64 highest = frame.deadline / granule * granule;
    u64 budget = utilisation_floor(component.loads, frame.period);
    if (budget > highest || floor > highest || highest == 0)
        return {0, true};
    budget = rounded_up(budget > floor ? budget : floor, granule);
    budget = budget == 0 ? granule : budget;
    if (budget > highest)
        return {0, true};
    Search search{frame, granule, highest};
    switch (component.local) {
    case Local::fixed_priority:
        budget = fixed_priority_budget(search, component.loads, budget);
        break;
    case Local::edf:
        budget = Climb(search, component.loads, budget).run();
        break;
    case Local::fifo:
        budget = budget_by(search, budget, [&](const Supply &supply, Effort &effort) {
            return fifo_verdict(component.loads, supply, effort);
        });
        break;
    case Local::executor:
        budget = budget_by(search, budget, [&](const Supply &supply, Effort &effort) {
            return executor(component.loads, supply, effort).verdict;
        });
        break;
    }
    return {budget, search.exact};
}

} // namespace hyperperiod::analysis
