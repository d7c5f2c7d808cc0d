// SPDX-License-Identifier: BSD-2-Clause
//
// The windows that can break a deadline under EDF, and a way through them.
//
// Demand grows only where a window ends at a deadline. QPA (Zhang and Burns 2009) need not
// look at all of those: if the supply of window t covers demand(t), every window down to
// time_for(demand(t)) is covered too, since demand does not grow downward and supply of those
// windows is no less. `visit` walks that way where windows are short; far out, where
// utilisation close to the bandwidth asks for very long windows, it looks only where deadlines
// nearly meet (alignments.hpp).
#pragma once

#include "src/hyperperiod/analysis/kernels/alignments.hpp"

namespace hyperperiod::analysis {

struct Window {
    u64 length;
    u64 demand;
    u64 shorter; // the next shorter window that ends at a deadline, 0 if there is none
};

// The longest window up to `length` that ends at a deadline; length 0 if there is none.
Window window_up_to(Loads loads, u64 length);
u64 longest_deadline(Loads loads);

// Looks at every window up to `enough` that the supply may fail to cover. `cover(window)` says
// whether it does, and may raise the budget of `supply` until it does. Utilisation must be
// below the bandwidth of the supply.
template <typename Cover> class Visit {
  public:
    Visit(Loads loads, const Trend &trend, Supply &supply, Effort &effort, Cover cover)
        : loads_(loads), trend_(trend), supply_(supply), effort_(effort), cover_(cover) {}

    Answer run(u64 enough);
    Answer walk(u64 first, u64 last);

  private:
    Loads loads_;
    const Trend &trend_;
    Supply &supply_;
    Effort &effort_;
    Cover cover_;
};

// The windows from `last` down to `first`.
template <typename Cover> Answer Visit<Cover>::walk(u64 first, u64 last) {
    Window here = window_up_to(loads_, last);
    while (here.length != 0 && here.length >= first) {
        if (!effort_.spend(loads_.size()))
            return {Verdict::unknown, 0};
        if (!cover_(here))
            return {Verdict::misses, here.length};
        const u64 covered = supply_.time_for(here.demand);
        here = window_up_to(loads_, covered < here.length ? covered : here.shorter);
    }
    return {Verdict::holds, 0};
}

template <typename Cover> Answer Visit<Cover>::run(u64 enough) {
    constexpr u64 factor = 8; // how much longer the next walk is than everything before
    const u64 longest = longest_deadline(loads_);
    if (longest == 0)
        return {Verdict::holds, 0}; // no loads
    Alignments alignments(loads_, trend_);
    u64 done = 0, reach = longest, end = enough;
    for (u64 budget = 0;;) {
        if (budget != supply_.budget) {
            budget = supply_.budget;
            const u64 horizon = trend_.horizon(supply_);
            end = horizon < enough ? horizon : enough;
        }
        if (done >= end)
            return {Verdict::holds, 0};
        if (!effort_.spend(loads_.size()))
            return {Verdict::unknown, 0};
        Span span{done + 1, 0};
        if (done > longest && alignments.aim(supply_, done)) {
            span = alignments.next(done, effort_);
        } else {
            reach = reach < limit / factor ? reach * factor : limit;
            span.last = reach;
        }
        span.last = span.last < end ? span.last : end;
        const Answer answer = walk(span.first, span.last);
        if (answer.verdict != Verdict::holds)
            return answer;
        done = span.last;
    }
}

} // namespace hyperperiod::analysis
