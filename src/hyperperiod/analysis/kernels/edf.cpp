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
#include "src/hyperperiod/analysis/kernels/witness.hpp"

namespace hyperperiod::analysis {

namespace {

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

// `cover(window)` says whether the supply covers a window.
template <typename Cover>
Answer check(Loads loads, const Trend &trend, Supply supply, u64 enough, Effort &effort,
             const Cover &cover) {
    const u64 length = busy_window(loads, supply, enough);
    return Visit(loads, trend, supply, effort, cover).run(length);
}

// Utilisation equals bandwidth: demand and supply repeat together.
template <typename Cover>
Answer check_equal(Loads loads, const Trend &trend, const Supply &supply, Effort &effort,
                   const Cover &cover) {
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
    return check(loads, trend, supply, enough < limit ? enough : limit, effort, cover);
}

template <typename Cover>
Answer judge(Loads loads, const Supply &supply, Effort &effort, const Cover &cover) {
    const Trend trend(loads);
    switch (trend.against(supply)) {
    case Run::above:
        return {Verdict::misses, 0};
    case Run::equal:
        return check_equal(loads, trend, supply, effort, cover);
    case Run::below:
    case Run::unknown:
        break;
    }
    return check(loads, trend, supply, trend.horizon(supply), effort, cover);
}

// What a test saw that goes on where `edf` stops: at a window that is short, down to the shortest
// of those that are, and no further up.
struct Seen {
    Verdict verdict = Verdict::unknown;
    bool complete = false;          // no shorter window is short, or tighter
    u64 shortest = 0, tightest = 0; // of the short windows, of all; 0: there was none
    i128 left = 0;                  // in the tightest

    bool cover(const Supply &supply, const Window &window) {
        if (shortest != 0 && window.length > shortest)
            return false;
        const i128 left_here = i128{supply.within(window.length)} - window.demand;
        if (left_here < 0)
            shortest = window.length;
        if (tightest == 0 || left_here < left) {
            left = left_here;
            tightest = window.length;
        }
        return true;
    }
};

Seen look(Loads loads, const Supply &supply, Effort &effort) {
    Seen seen;
    const auto cover = [&](const Window &window) { return seen.cover(supply, window); };
    seen.verdict = judge(loads, supply, effort, cover).verdict;
    seen.complete = seen.verdict != Verdict::unknown;
    if (seen.shortest != 0)
        seen.verdict = Verdict::misses;
    return seen;
}

// The jobs of one load that are released and due in a window.
u64 due_by(const Load &load, u64 length) {
    return length < load.deadline ? 0 : (length - load.deadline + load.jitter) / load.period + 1;
}

// What is due in a window, and what may block it.
Asked asked(Loads loads, const Supply &supply, u64 length) {
    Asked what{length, supply.within(length), 0, {}};
    for (const Load &load : loads) {
        what.jobs.push_back(due_by(load, length));
        if (what.jobs.back() != 0 && load.blocking > what.blocking)
            what.blocking = load.blocking;
    }
    return what;
}

// The utilisation alone says no: a window that is short, if one is known, by the rates.
u64 far_window(Loads loads, const Trend &trend, const Supply &supply) {
    if (trend.against(supply) == Run::equal) {
        const u64 cycle = trend.hyperperiod(supply.period);
        return cycle == never ? 0 : cycle;
    }
    const Deadlines deadlines(loads);
    u64 length = longest_deadline(loads);
    while (length < limit && deadlines.up_to(length).demand <= supply.within(length))
        length *= 2;
    return length < limit ? length : 0;
}

// From there down to the shortest.
void walk_from_afar(Loads loads, Supply supply, Seen &seen) {
    const Trend trend(loads);
    const u64 far = far_window(loads, trend, supply);
    if (far == 0)
        return;
    Effort effort(witness_effort);
    const auto cover = [&](const Window &window) { return seen.cover(supply, window); };
    const Answer answer = Visit(loads, trend, supply, effort, cover).walk(1, far);
    seen.complete = answer.verdict != Verdict::unknown;
}

std::vector<Load> asking_for(u64 more, Loads loads) {
    std::vector<Load> changed(loads.begin(), loads.end());
    for (Load &load : changed)
        load.blocking += more;
    return changed;
}

// All windows are covered. The least that one of them has left is the most that all could hold
// besides: the same test is asked, with that as blocking. With one unit more the shortest of the
// tightest is the shortest that is short.
void find_tightest(Loads loads, const Supply &supply, Seen &seen) {
    seen.cover(supply, Deadlines(loads).up_to(shortest_deadline(loads)));
    Effort effort(witness_effort);
    Seen more;
    do {
        const u64 left = static_cast<u64>(seen.left);
        more = look(asking_for(left, loads), supply, effort);
        seen.left += more.shortest == 0 ? 0 : more.left;
    } while (more.shortest != 0);
    const u64 beyond = static_cast<u64>(seen.left) + 1;
    const Seen least = look(asking_for(beyond, loads), supply, effort);
    seen.complete = more.complete && least.complete && least.shortest != 0;
    seen.tightest = least.shortest == 0 ? seen.tightest : least.shortest;
}

} // namespace

u64 longest_deadline(Loads loads) {
    u64 longest = 0;
    for (const Load &load : loads)
        longest = load.deadline > longest ? load.deadline : longest;
    return longest;
}

u64 shortest_deadline(Loads loads) {
    u64 shortest = never;
    for (const Load &load : loads)
        shortest = load.deadline < shortest ? load.deadline : shortest;
    return shortest;
}

Deadlines::Deadlines(Loads loads) : loads_(loads) {
    inverses_.reserve(loads.size());
    for (const Load &load : loads)
        inverses_.push_back(never / load.period);
}

Window Deadlines::up_to(u64 length) const {
    u64 demand = 0, blocking = 0;
    u64 behind = never; // how much longer `length` is than the last deadline within it
    for (std::size_t index = 0; index < loads_.size(); index++) {
        const Load &load = loads_[index];
        if (length < load.deadline)
            continue;
        const u64 since = length - load.deadline;
        u64 periods = static_cast<u64>(u128{since + load.jitter} * inverses_[index] >> 64);
        u64 rest = since + load.jitter - periods * load.period;
        if (rest >= load.period) {
            rest -= load.period;
            periods++;
        }
        // Jobs that the jitter makes earlier than the first deadline are due there.
        rest = rest < since ? rest : since;
        behind = rest < behind ? rest : behind;
        demand = clamp(u128{periods + 1} * load.wcet + demand);
        blocking = load.blocking > blocking ? load.blocking : blocking;
    }
    if (behind == never)
        return {0, 0};
    return {length - behind, clamp(u128{demand} + blocking)};
}

Answer edf(Loads loads, const Supply &supply, Effort &effort) {
    const auto covered = [&](const Window &window) {
        return supply.within(window.length) >= window.demand;
    };
    return judge(loads, supply, effort, covered);
}

Witness edf_witness(Loads loads, const Supply &supply, Effort &effort) {
    Seen seen = look(loads, supply, effort);
    if (seen.verdict == Verdict::misses && seen.shortest == 0)
        walk_from_afar(loads, supply, seen);
    if (seen.verdict == Verdict::holds && !loads.empty())
        find_tightest(loads, supply, seen);
    Witness found{seen.verdict, seen.complete};
    const u64 window = seen.verdict == Verdict::misses ? seen.shortest : seen.tightest;
    if (window != 0 && seen.verdict != Verdict::unknown)
        found.windows = {asked(loads, supply, window)};
    return found;
}

Answer schedulable(const Component &component, const Supply &supply, Effort &effort) {
    switch (component.local) {
    case Local::fixed_priority:
        return fixed_priority(component.loads, supply, effort);
    case Local::edf:
        return edf(component.loads, supply, effort);
    case Local::fifo:
        return fifo(component.loads, supply, effort);
    case Local::executor:
        return executor(component.loads, supply, effort);
    }
    return {Verdict::unknown, 0};
}

} // namespace hyperperiod::analysis
