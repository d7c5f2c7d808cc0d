// SPDX-License-Identifier: BSD-2-Clause
//
// Algorithm 1 of the CSA paper (Lee et al., RTAS 2012), in whole quanta or on another grid.
//
// It begins with the longest period of the loads, then tries every period of the grid upward,
// keeps what has strictly less bandwidth, and stops at the bound of Theorem 1. That
// bound: with bandwidth k, supply stays below the line k (t - (period - k period)), so the line
// must reach the work w due in some window t, hence
//   period <= (k t - w) / (k (1 - k)),
// which grows with k, so it bounds every interface of smaller bandwidth too. Under fixed
// priority one window of each load must do (largest over its windows, least over the loads);
// under EDF every window must (least over all). A polling supply stays below k (t - period):
// period <= t - w / k. The harmonic supply has no such bound; there the periods themselves must
// divide.
//
// Bandwidth 1 gives no bound. Then these hold, and cap the search from the start:
//   - polling: the blackout alone, never shorter than the period, must end before a deadline;
//   - otherwise let g be the gap, period - budget. Beyond the busy window that a supply with
//     one blackout 2 g leaves, the second gap comes too late to matter, so the largest gap no
//     longer grows with the period and longer periods only cost bandwidth. Under fixed priority
//     with deadlines within periods that window ends before the longest period does.

#include "src/hyperperiod/analysis/kernels/optimal_interface.hpp"

#include "src/hyperperiod/analysis/kernels/windows.hpp"

#include <ctime>

namespace hyperperiod::analysis {

namespace {

// Beyond these a bound is left out, which only makes the search longer.
constexpr u64 product_limit = u64{1} << 42; // so that three factors fit 127 bits
constexpr u64 bound_effort = 20'000'000;
// For one test of one period: enough for some steps of the search for each response.
u64 search_effort(Loads loads) {
    constexpr u64 least = 2'000'000, steps = 8;
    return least + steps * loads.size() * loads.size();
}
// So many periods take minutes; the best so far then has to do.
constexpr u64 period_limit = 10'000'000;

// A window and the work that the supply must have brought by its end.
struct Point {
    u64 window, work;
};

// The points of one condition: some of them must be met, or all of them.
struct Condition {
    bool all;
    std::vector<Point> points;
};

struct Interface {
    u64 period, budget;
    bool less_than(const Interface &other) const {
        return u128{budget} * other.period < u128{other.budget} * period;
    }
};

u64 longest_period(const std::vector<Component> &components) {
    u64 longest = 0;
    for (const Component &component : components)
        for (const Load &load : component.loads)
            longest = load.period > longest ? load.period : longest;
    return longest;
}

// The windows that can satisfy the first job of the load at `index`: those that end just
// before more work of a higher load is released, and the deadline.
Condition first_job(Loads loads, std::size_t index, Effort &effort) {
    Condition condition{false, {}};
    const Load &own = loads[index];
    const Loads above = loads.first(index);
    const auto add = [&](u64 window) {
        condition.points.push_back(
            {window, clamp(u128{request(above, window)} + own.wcet + own.blocking)});
    };
    for (const Load &load : above) {
        const u64 skip = load.jitter / load.period + 1;
        for (u64 job = skip; job * load.period - load.jitter < own.deadline; job++) {
            if (!effort.spend(above.size() + 1))
                return {false, {}};
            add(job * load.period - load.jitter);
        }
    }
    add(own.deadline);
    return condition;
}

// The windows up to a few longest deadlines that end at a deadline. Leaving longer ones out
// keeps the bound sound: it is a least over all.
Condition deadlines(Loads loads, Effort &effort) {
    Condition condition{true, {}};
    const u64 longest = longest_deadline(loads);
    const Deadlines ends(loads);
    Window window = ends.up_to(longest < limit / 4 ? 4 * longest : longest);
    while (window.length != 0 && effort.spend(loads.size())) {
        condition.points.push_back({window.length, window.demand});
        window = ends.up_to(window.length - 1);
    }
    return condition;
}

std::vector<Condition> conditions_of(const std::vector<Component> &components) {
    std::vector<Condition> conditions;
    Effort effort(bound_effort);
    for (const Component &component : components) {
        if (component.local == Local::edf)
            conditions.push_back(deadlines(component.loads, effort));
        if (component.local != Local::fixed_priority)
            continue;
        for (std::size_t index = 0; index < component.loads.size(); index++)
            conditions.push_back(first_job(component.loads, index, effort));
    }
    return conditions;
}

// budget * window - period * work: how far the line through the origin is above the work.
i128 margin(const Condition &condition, const Interface &best) {
    bool first = true;
    i128 chosen = 0;
    for (const Point &point : condition.points) {
        const i128 here = static_cast<i128>(u128{best.budget} * point.window)
                          - static_cast<i128>(u128{best.period} * point.work);
        const bool better = condition.all ? here < chosen : here > chosen;
        if (first || better)
            chosen = here;
        first = false;
    }
    return chosen;
}

// Theorem 1 for one condition.
u64 longest_allowed(const Condition &condition, Shape shape, const Interface &best, u64 cap) {
    for (const Point &point : condition.points)
        if (point.window > product_limit || point.work > product_limit)
            return cap;
    if (condition.points.empty() || best.period > product_limit)
        return cap;
    const i128 above = margin(condition, best);
    if (above <= 0)
        return 0;
    const u64 gap = best.period - best.budget;
    u128 bound = static_cast<u128>(above) / best.budget;
    if (shape == Shape::general) {
        if (gap == 0 || static_cast<u128>(above) > (u128{1} << 126) / best.period)
            return cap;
        bound = static_cast<u128>(above) * best.period / (u128{best.budget} * gap);
    }
    return bound < cap ? static_cast<u64>(bound) : cap;
}

u64 theorem_1(const std::vector<Condition> &conditions, Shape shape, const Interface &best,
              u64 cap) {
    if (shape == Shape::harmonic)
        return cap;
    for (const Condition &condition : conditions)
        cap = longest_allowed(condition, shape, best, cap);
    return cap;
}

// The end of the busy window when nothing comes for `blackout` and everything from then on.
u64 busy_after(Loads loads, u64 blackout, u64 otherwise) {
    constexpr int patience = 4096;
    const u64 blocking = longest_blocking(loads);
    u64 time = blackout + 1;
    for (int step = 0; step < patience; step++) {
        const u64 next = clamp(u128{request(loads, time)} + blocking + blackout);
        if (next >= limit)
            return otherwise;
        if (next <= time)
            return time;
        time = next;
    }
    return otherwise;
}

// No period above this can have less bandwidth than the best up to it.
u64 search_cap(const std::vector<Component> &components, Shape shape, u64 longest) {
    u64 cap = shape == Shape::polling ? never : longest;
    for (const Component &component : components) {
        const u64 shortest = shortest_deadline(component.loads);
        if (shape == Shape::polling) {
            cap = shortest < cap ? shortest : cap;
            continue;
        }
        bool within = component.local == Local::fixed_priority;
        for (const Load &load : component.loads)
            within = within && load.deadline <= load.period && load.jitter == 0;
        if (within || shape == Shape::harmonic)
            continue;
        const u64 busy = busy_after(component.loads, shortest, longest);
        cap = busy > cap ? busy : cap;
    }
    return cap;
}

bool divides_all(const std::vector<Component> &components, u64 period) {
    for (const Component &component : components)
        for (const Load &load : component.loads)
            if (load.period % period != 0 && period % load.period != 0)
                return false;
    return true;
}

// Whether some load misses deadlines even on a whole pcpu, and so under every interface. Asked of
// fixed priority, where finding that out for each period is slow; the lowest fail most.
bool too_much(const std::vector<Component> &components) {
    const Supply whole(Shape::general, 1, 1);
    Effort effort(bound_effort);
    for (const Component &component : components) {
        const Loads loads(component.loads);
        std::size_t index = component.local == Local::fixed_priority ? loads.size() : 0;
        for (; index > 0; index--)
            if (response(loads.first(index - 1), loads[index - 1], whole, effort).verdict
                == Verdict::misses)
                return true;
    }
    return false;
}

// Windows of one component under EDF that some candidate did not cover, the last one first: what is
// due in a window is the same under every candidate, so most that fail are found out by one of
// these.
class ShortWindows {
  public:
    bool break_under(const Supply &supply) {
        for (std::size_t index = 0; index < windows_.size(); index++)
            if (supply.within(windows_[index].length) < windows_[index].demand) {
                std::swap(windows_[index], windows_.front());
                return true;
            }
        return false;
    }
    void add(const Window &window) {
        constexpr std::size_t most = 64;
        if (windows_.size() < most)
            windows_.push_back(window);
        else
            windows_.back() = window;
        std::swap(windows_.front(), windows_.back());
    }

  private:
    std::vector<Window> windows_;
};

class Algorithm1 {
  public:
    Algorithm1(const std::vector<Component> &components, Shape shape, const Grid &grid)
        : components_(components), shape_(shape), grid_(grid),
          conditions_(conditions_of(components)), weakest_(components.size()),
          short_(components.size()), hopeless_(too_much(components)) {}

    Optimum run(u64 until, void (*interrupted)());

  private:
    bool serves(const Interface &candidate);
    bool misses(const Component &component, std::size_t index, const Interface &candidate);
    Verdict judge_edf(std::size_t number, const Supply &supply, Effort &effort);
    Verdict judge(std::size_t number, const Interface &candidate);
    Interface min_exec(u64 period);
    void consider(u64 period);
    bool improvable(u64 period);
    bool admissible(u64 period) const {
        return shape_ != Shape::harmonic || divides_all(components_, period);
    }
    u64 cap() const;
    u64 bound(u64 cap) const {
        return best_.budget == 0 ? cap : theorem_1(conditions_, shape_, best_, cap);
    }

    const std::vector<Component> &components_;
    Shape shape_;
    Grid grid_;
    std::vector<Condition> conditions_;
    std::vector<std::size_t> weakest_; // of each component the load that failed last
    std::vector<ShortWindows> short_;  // of each component
    bool hopeless_;
    Interface best_{1, 0};
    u64 tried_ = 0;
    bool exact_ = true;
};

// Under fixed priority: the load with the number `index` surely misses a deadline.
bool Algorithm1::misses(const Component &component, std::size_t index, const Interface &candidate) {
    const Loads loads(component.loads);
    Effort effort(search_effort(loads));
    const Supply supply(shape_, candidate.period, candidate.budget);
    return response(loads.first(index), loads[index], supply, effort).verdict == Verdict::misses;
}

Verdict Algorithm1::judge_edf(std::size_t number, const Supply &supply, Effort &effort) {
    const Loads loads(components_[number].loads);
    if (short_[number].break_under(supply))
        return Verdict::misses;
    const Answer answer = edf(loads, supply, effort);
    if (answer.verdict == Verdict::misses && answer.time != 0)
        short_[number].add(Deadlines(loads).up_to(answer.time));
    return answer.verdict;
}

// Most candidates fail where the one before failed, so that load or window is asked first.
Verdict Algorithm1::judge(std::size_t number, const Interface &candidate) {
    const Component &component = components_[number];
    const Supply supply(shape_, candidate.period, candidate.budget);
    const Loads loads(component.loads);
    Effort effort(search_effort(loads));
    if (component.local == Local::edf)
        return judge_edf(number, supply, effort);
    if (component.local == Local::fifo)
        return fifo_verdict(loads, supply, effort);
    if (component.local == Local::executor)
        return executor(loads, supply, effort).verdict;
    if (!loads.empty() && misses(component, weakest_[number], candidate))
        return Verdict::misses;
    Responses responses(loads, supply);
    for (std::size_t index = 0; index < loads.size(); index++) {
        const Verdict verdict = responses.next(effort).verdict;
        if (verdict == Verdict::misses)
            weakest_[number] = index;
        if (verdict != Verdict::holds)
            return verdict;
    }
    return Verdict::holds;
}

// The least budget for a period that serves all components; 0 if none does.
Interface Algorithm1::min_exec(u64 period) {
    u64 budget = 0;
    if (hopeless_)
        return {period, 0};
    for (const Component &component : components_) {
        const Budget found =
            minimal_budget(component, {shape_, period, period}, grid_.granule, budget);
        exact_ = exact_ && found.exact;
        if (found.budget == 0)
            return {period, 0};
        budget = found.budget;
    }
    return {period, budget};
}

bool Algorithm1::serves(const Interface &candidate) {
    for (const Component &component : components_)
        if (utilisation_floor(component.loads, candidate.period) > candidate.budget)
            return false;
    for (std::size_t number = 0; number < components_.size(); number++) {
        const Verdict verdict = judge(number, candidate);
        exact_ = exact_ && verdict != Verdict::unknown;
        if (verdict != Verdict::holds)
            return false;
    }
    return true;
}

// Whether some budget of less bandwidth than the best so far will do at all. One test instead
// of a whole search for most periods.
bool Algorithm1::improvable(u64 period) {
    if (best_.budget == 0)
        return true;
    const u64 line = clamp((u128{best_.budget} * period - 1) / best_.period);
    const Interface highest{period, line / grid_.granule * grid_.granule};
    return highest.budget != 0 && serves(highest);
}

void Algorithm1::consider(u64 period) {
    tried_++;
    if (!improvable(period))
        return;
    const Interface found = min_exec(period);
    if (found.budget != 0 && (best_.budget == 0 || found.less_than(best_)))
        best_ = found;
}

// The longest period of the grid that can be better than all shorter ones. Where even the first
// is beyond what can pay, it is the only one worth a try.
u64 Algorithm1::cap() const {
    const u64 longest = longest_period(components_);
    const u64 pays = search_cap(components_, shape_, longest);
    return grid_.below(pays > grid_.first ? pays : grid_.first);
}

// Whether the process has used so much processor time (ns); 0 is never.
bool used_up(u64 until) {
    timespec now{};
    return until != 0 && clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0
           && static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec) >= until;
}

Optimum Algorithm1::run(u64 until, void (*interrupted)()) {
    const u64 start = grid_.below(longest_period(components_));
    const u64 cap = this->cap();
    if (admissible(start))
        consider(start);
    u64 highest = bound(cap), period = grid_.first, looked = 0;
    for (; period <= highest && period <= cap; period += grid_.step) {
        if (looked == period_limit || used_up(until)) {
            exact_ = false;
            break;
        }
        if (looked++ % 64 == 0)
            interrupted();
        if (period == start || !admissible(period))
            continue;
        const Interface before = best_;
        consider(period);
        if (best_.period != before.period || best_.budget != before.budget) {
            const u64 now = bound(cap);
            highest = now < highest ? now : highest;
        }
    }
    const u64 all = grid_.up_to(cap);
    const u64 kept = grid_.up_to(highest) > looked ? grid_.up_to(highest) : looked;
    u64 pruned = all > kept ? all - kept : 0;
    if (pruned != 0 && grid_.up_to(start) > kept)
        pruned--; // the first of all, tried before there was a bound
    return {best_.period, best_.budget, tried_, pruned, highest, exact_};
}

} // namespace

Optimum optimal_interface(const std::vector<Component> &components, Shape shape, const Grid &grid,
                          u64 until, void (*interrupted)()) {
    return Algorithm1(components, shape, grid).run(until, interrupted);
}

} // namespace hyperperiod::analysis
