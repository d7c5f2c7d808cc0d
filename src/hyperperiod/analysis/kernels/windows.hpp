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
    u64 demand; // work with both release and deadline in it (dbf), and what may block such a job
};

// The windows of some loads that end at a deadline, with the demand in each. A look at one load is
// its number of deadlines within a length: the length divided by the period, here multiplied by
// the inverse of the period instead, which is several times faster and one too few at most. The
// execution times of the loads may change between two looks, nothing else of them.
class Deadlines {
  public:
    explicit Deadlines(Loads loads);
    // The longest window up to `length` that ends at a deadline; length 0 if there is none.
    Window up_to(u64 length) const;

  private:
    Loads loads_;
    std::vector<u64> inverses_; // of the periods, in 2^-64, rounded down
};

// Looks at every window up to `enough` that the supply may fail to cover. `cover(window)` says
// whether it does, and may raise the budget of `supply` until it does. Utilisation must be
// below the bandwidth of the supply.
//
// `done` is the window up to which all are covered. It stays when the effort is spent, and holds
// under every larger budget.
template <typename Cover> class Visit {
  public:
    Visit(Loads loads, const Trend &trend, Supply &supply, Effort &effort, Cover cover,
          u64 done = 0)
        : loads_(loads), deadlines_(loads), trend_(trend), supply_(supply), effort_(effort),
          cover_(cover), done_(done) {}

    Answer run(u64 enough);
    u64 done() const { return done_; }
    Answer walk(u64 first, u64 last);

  private:
    Loads loads_;
    Deadlines deadlines_;
    const Trend &trend_;
    Supply &supply_;
    Effort &effort_;
    Cover cover_;
    u64 done_;
};

// Up to which window the next walk goes if all windows up to `done` are covered. Walks of short
// windows are quick, and the fewer the better. Of a long one that the effort does not suffice for
// nothing is known, so these take a quarter of everything before.
inline u64 longer(u64 done, u64 longest) {
    constexpr u64 factor = 8, far = 64;
    if (done >= limit / factor)
        return limit;
    return done / far < longest ? done * factor : done + done / 4;
}

// The windows from `last` down to `first`.
template <typename Cover> Answer Visit<Cover>::walk(u64 first, u64 last) {
    Window here = deadlines_.up_to(last);
    while (here.length != 0 && here.length >= first) {
        if (!effort_.spend(loads_.size()))
            return {Verdict::unknown, 0};
        if (!cover_(here))
            return {Verdict::misses, here.length};
        const u64 covered = supply_.time_for(here.demand);
        here = deadlines_.up_to(covered < here.length ? covered : here.length - 1);
    }
    return {Verdict::holds, 0};
}

template <typename Cover> Answer Visit<Cover>::run(u64 enough) {
    const u64 longest = longest_deadline(loads_);
    if (longest == 0)
        return {Verdict::holds, 0}; // no loads
    Alignments alignments(loads_, trend_);
    u64 end = enough;
    for (u64 budget = 0;;) {
        if (budget != supply_.budget) {
            budget = supply_.budget;
            const u64 horizon = trend_.horizon(supply_);
            end = horizon < enough ? horizon : enough;
        }
        if (done_ >= end)
            return {Verdict::holds, 0};
        if (!effort_.spend(loads_.size()))
            return {Verdict::unknown, 0};
        Span span{done_ + 1, 0};
        if (done_ > longest && alignments.aim(supply_, done_)) {
            span = alignments.next(done_, effort_);
        } else {
            span.last = longer(done_ > longest ? done_ : longest, longest);
        }
        span.last = span.last < end ? span.last : end;
        const Answer answer = walk(span.first, span.last);
        if (answer.verdict != Verdict::holds)
            return answer;
        done_ = span.last;
    }
}

} // namespace hyperperiod::analysis
