// SPDX-License-Identifier: BSD-2-Clause
//
// EDF on a pcpu of its own by the processor-demand test (Baruah, Rosier and Howell 1990; with
// jitter, Spuri 1996; with blocking, Baker 1991): every window that ends at a deadline must hold
// what is released and due in it, and what may block one of those jobs. The windows are visited
// from the shortest up, a heap holding the next deadline of each load, so memory is that of the
// set and the window found is the shortest that is short.
//
// How far to look: up to the end of the longest busy window, since what is late began in one, or
// up to where the line above the demand meets the time line, whichever is nearer. Neither asks for
// a hyperperiod. With a utilisation of exactly 1 and jitter or blocking a busy window may never
// end; then a hyperperiod beyond the longest deadline is the bound, since the demand repeats, and
// where that is beyond all times the verdict is unknown.

#include "src/hyperperiod/analysis/kernels/processor_demand.hpp"

#include <algorithm>

#include "src/hyperperiod/analysis/kernels/windows.hpp"

namespace hyperperiod::analysis {

namespace {

struct Next {
    u64 deadline;
    std::size_t load;
    u64 job;
};

// The heap's order: the earliest deadline on top.
bool later(const Next &left, const Next &right) {
    return left.deadline > right.deadline;
}

u64 deadline_of(const Load &load, u64 job) {
    const u128 release = u128{job} * load.period;
    return clamp((release > load.jitter ? release - load.jitter : 0) + load.deadline);
}

// The end of the longest busy window, at most `enough`.
u64 busy_window(Loads loads, u64 enough, Effort &effort) {
    const u64 blocking = longest_blocking(loads);
    u64 time = 1;
    while (effort.spend(loads.size())) {
        const u64 next = clamp(u128{request(loads, time)} + blocking);
        if (next >= enough)
            return enough;
        if (next <= time)
            return time;
        time = next;
    }
    return enough;
}

u64 bound_for(Loads loads, Effort &effort) {
    constexpr u64 patience = 1'000'000;
    const Trend trend(loads);
    const Supply pcpu(Shape::general, 1, 1);
    u64 bound = limit;
    if (trend.against(pcpu) == Run::below) {
        bound = trend.horizon(pcpu);
    } else {
        const u64 cycle = trend.hyperperiod(1);
        bound = cycle == never ? limit : clamp(u128{cycle} + longest_deadline(loads));
        bound = bound < limit ? bound : limit;
    }
    Effort some(patience);
    const u64 busy = busy_window(loads, bound, some);
    effort.spend(loads.size());
    return busy < limit ? busy : never;
}

Demand visit(Loads loads, u64 bound, Effort &effort) {
    std::vector<Next> heap;
    for (std::size_t index = 0; index < loads.size(); index++)
        heap.push_back({loads[index].deadline, index, 0});
    std::make_heap(heap.begin(), heap.end(), later);
    u128 due = 0;
    u64 blocking = 0;
    Demand here{Verdict::holds, 0, 0, bound};
    while (!heap.empty() && heap.front().deadline <= std::min(bound, limit)) {
        const u64 window = heap.front().deadline;
        while (heap.front().deadline == window) {
            std::pop_heap(heap.begin(), heap.end(), later);
            Next &next = heap.back();
            const Load &load = loads[next.load];
            due += load.wcet;
            blocking = std::max(blocking, load.blocking);
            next.deadline = deadline_of(load, ++next.job);
            std::push_heap(heap.begin(), heap.end(), later);
            if (!effort.spend(1))
                return {Verdict::unknown, here.window, here.demand, bound};
        }
        here.window = window;
        here.demand = clamp(due + blocking);
        if (here.demand > window)
            return {Verdict::misses, window, here.demand, bound};
    }
    if (bound == never)
        here.verdict = Verdict::unknown;
    return here;
}

} // namespace

Demand processor_demand(Loads loads, Effort &effort) {
    const Supply pcpu(Shape::general, 1, 1);
    const Trend trend(loads);
    const Run run = trend.against(pcpu);
    if (run != Run::above && run != Run::unknown && trend.immediate(pcpu))
        return {Verdict::holds, 0, 0, 0};
    if (run == Run::above) {
        const Demand found = visit(loads, limit, effort);
        return {Verdict::misses, found.verdict == Verdict::misses ? found.window : 0,
                found.verdict == Verdict::misses ? found.demand : 0, never, true};
    }
    return visit(loads, bound_for(loads, effort), effort);
}

} // namespace hyperperiod::analysis
