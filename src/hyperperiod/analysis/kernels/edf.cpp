// SPDX-License-Identifier: BSD-2-Clause
//
// EDF under a supply: every window must hold the demand in it (Baruah, Rosier and Howell 1990;
// Shin and Lee 2003). Which windows need a look is bounded twice: by where the lines around
// demand and supply cross (trend.hpp), and by the busy window, since demand cannot first
// overtake after everything released so far is done. A window is blocked by at most what can hold
// up one job that is due in it (Baker 1991; Zhang and Burns 2009, section 6). Neither needs the
// hyperperiod. Where utilisation equals bandwidth only the second bound and the hyperperiod remain;
// the test uses what is short enough and says unknown otherwise.

#include "src/hyperperiod/analysis/kernels/windows.hpp"

namespace hyperperiod::analysis {

namespace {

// Of one load: its last deadline at or before `length`, and the number of jobs due by then.
struct Due {
    u64 jobs, last;
};

Due due_by(const Load &load, u64 length) {
    if (length < load.deadline)
        return {0, 0};
    const u64 periods = (length - load.deadline + load.jitter) / load.period;
    const u64 nominal = load.deadline + periods * load.period;
    const u64 last = nominal - load.jitter;
    const bool early = nominal < load.jitter || last < load.deadline;
    return {periods + 1, early ? load.deadline : last};
}

// The deadline before `last`, 0 if there is none.
u64 due_before(const Load &load, u64 last) {
    if (last <= load.deadline)
        return 0;
    const u64 before = last < load.period ? 0 : last - load.period;
    return before > load.deadline ? before : load.deadline;
}

// Keeps the two longest of the lengths seen.
void note(Window &window, u64 length) {
    if (length > window.length) {
        window.shorter = window.length;
        window.length = length;
    } else if (length < window.length && length > window.shorter) {
        window.shorter = length;
    }
}

// The end of the busy window if it is at most `enough`, else `enough`.
u64 busy_window(Loads loads, const Supply &supply, u64 enough) {
    constexpr int patience = 256;
    const u64 blocking = longest_blocking(loads);
    u64 time = 1;
    for (int step = 0; step < patience; step++) {
        const u64 next = supply.time_for(clamp(u128{request(loads, time)} + blocking));
        if (next >= enough)
            return enough;
        if (next <= time)
            return time;
        time = next;
    }
    return enough;
}

Answer check(Loads loads, const Trend &trend, Supply supply, u64 enough, Effort &effort) {
    const auto covered = [&](const Window &window) {
        return supply.within(window.length) >= window.demand;
    };
    const u64 length = busy_window(loads, supply, enough);
    return Visit(loads, trend, supply, effort, covered).run(length);
}

// Utilisation equals bandwidth: demand and supply repeat together.
Answer check_equal(Loads loads, const Trend &trend, const Supply &supply, Effort &effort) {
    if (trend.immediate(supply))
        return {Verdict::holds, 0};
    // Only a supply whose worst window begins with a whole budget ahead touches its upper line;
    // the others stay below it by some of the gap, and tight demand comes back to it.
    const u64 gap = supply.period - supply.budget;
    if (trend.tight() && supply.blackout > gap)
        return {Verdict::misses, 0};
    const u64 cycle = trend.hyperperiod(supply.period);
    const u64 deadline = longest_deadline(loads);
    const u64 offset = deadline > supply.blackout ? deadline : supply.blackout;
    const u64 enough = cycle == never ? limit : clamp(u128{cycle} + offset);
    return check(loads, trend, supply, enough < limit ? enough : limit, effort);
}

} // namespace

u64 demand(Loads loads, u64 window) {
    return window_up_to(loads, window).demand;
}

u64 longest_deadline(Loads loads) {
    u64 longest = 0;
    for (const Load &load : loads)
        longest = load.deadline > longest ? load.deadline : longest;
    return longest;
}

Window window_up_to(Loads loads, u64 length) {
    Window window{0, 0, 0};
    u64 blocking = 0;
    for (const Load &load : loads) {
        const Due due = due_by(load, length);
        window.demand = clamp(u128{due.jobs} * load.wcet + window.demand);
        if (window.demand == never)
            return {length, never, 0};
        if (due.jobs != 0 && load.blocking > blocking)
            blocking = load.blocking;
        note(window, due.last);
        note(window, due_before(load, due.last));
    }
    window.demand = clamp(u128{window.demand} + blocking);
    return window;
}

Answer edf(Loads loads, const Supply &supply, Effort &effort) {
    const Trend trend(loads);
    switch (trend.against(supply)) {
    case Run::above:
        return {Verdict::misses, 0};
    case Run::equal:
        return check_equal(loads, trend, supply, effort);
    case Run::below:
    case Run::unknown:
        break;
    }
    return check(loads, trend, supply, trend.horizon(supply), effort);
}

Answer schedulable(const Component &component, const Supply &supply, Effort &effort) {
    switch (component.local) {
    case Local::fixed_priority:
        return fixed_priority(component.loads, supply, effort);
    case Local::edf:
        return edf(component.loads, supply, effort);
    case Local::fifo:
        return fifo(component.loads, supply, effort);
    }
    return {Verdict::unknown, 0};
}

} // namespace hyperperiod::analysis
