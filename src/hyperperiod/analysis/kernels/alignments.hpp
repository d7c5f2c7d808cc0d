// SPDX-License-Identifier: BSD-2-Clause
//
// Where deadlines nearly meet.
//
// In a window t beyond all first deadlines, a load with deadline d, period p and rate u = w / p
// demands u (t - d + jitter + p) - u r, with r the time since its last deadline. So the demand
// can exceed a supply above bandwidth * (t - blackout) only if
//   sum of u r  <  lateness + bandwidth * blackout - (bandwidth - utilisation) t,
// and then r < surplus / u for every single load, with the right side called surplus. Far out
// that leaves few windows: those shortly after a deadline of each heavy load at once. A span of
// windows in which the sum is never below the surplus, with r as at its beginning for loads that
// have no deadline in it, and 0 for the others, needs no look at all. Which
// deadlines of one load fall close enough to one of another is a question about the multiples
// of one period modulo the other, and Euclid's algorithm finds the next without visiting those
// between.
#pragma once

#include "src/hyperperiod/analysis/kernels/trend.hpp"

namespace hyperperiod::analysis {

// The least k with (step k + start) mod modulus < width; never if there is none.
u64 first_hit(u64 step, u64 start, u64 width, u64 modulus);

struct Span {
    u64 first, last;
};

class Alignments {
  public:
    Alignments(Loads loads, const Trend &trend) : loads_(loads), trend_(trend) {}

    // Chooses the two loads that leave the fewest windows beyond `from`; false if no load
    // rules out any. Cheap when little has changed since the last call.
    bool aim(const Supply &supply, u64 from);
    // A span beyond `from`: no window between the two needs a look. Spends an effort for each
    // coincidence of two loads that the others rule out.
    Span next(u64 from, Effort &effort);

  private:
    // Only windows up to `width` after a deadline of this load can be late.
    struct Sight {
        u64 origin; // a deadline of the load, modulo its period
        u64 period, wcet, width;
        bool narrow() const { return width < period; }
        // The least of u r in the span, rounded down.
        u64 falls_behind(const Span &span) const;
    };
    Sight sight(const Load &load, u64 surplus) const;
    void choose(u64 surplus);
    Span coincidence(u64 from) const;
    bool ruled_out(const Span &span) const;

    Loads loads_;
    const Trend &trend_;
    std::vector<Sight> sights_; // the first is the anchor, then by how many windows they leave
    u64 surplus_ = 0;           // what they were chosen with
    u64 budget_ = 0;            // of the supply that was aimed with
    u64 spans_ = 0;             // since then
};

} // namespace hyperperiod::analysis
