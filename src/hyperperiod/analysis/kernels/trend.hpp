// SPDX-License-Identifier: BSD-2-Clause
//
// The long run of demand against supply, exactly: is the utilisation of some loads below, at or
// above the bandwidth of a supply, and beyond which window can demand no longer overtake?
//
// Demand stays below utilisation * t + lateness, where a load adds
// utilisation * (period - deadline + jitter) to the lateness if that is positive, and the longest
// blocking comes on top; supply stays
// above bandwidth * (t - blackout). The lines cross at
//   (bandwidth * blackout + lateness) / (bandwidth - utilisation).
// Ratios are kept as 64.64 fixed point, rounded so that every error makes the window longer;
// where that cannot tell a gap from none, fractions over a common denominator decide.
#pragma once

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

enum class Run { below, equal, above, unknown };

class Trend {
  public:
    explicit Trend(Loads loads);
    // Utilisation against the bandwidth of `supply`.
    Run against(const Supply &supply) const;
    // No window longer than this can break a deadline; only while the run is below.
    u64 horizon(const Supply &supply) const;
    // What is left at a window of length `from` of the most by which demand can be ahead.
    u64 surplus(const Supply &supply, u64 from) const;
    // Demand never exceeds utilisation * t, and nothing is ever late on the whole.
    bool immediate(const Supply &supply) const { return supply.blackout == 0 && lateness_ == 0; }
    // No deadline lies beyond its period, so demand reaches utilisation * t at some window.
    bool tight() const { return tight_; }
    // The loads repeat after this long; never if that is beyond all times.
    u64 hyperperiod(u64 also) const;

  private:
    u128 advantage(const Supply &supply) const;
    Run compare_exactly(const Supply &supply) const;

    Loads loads_;
    u128 rate_ = 0; // utilisation in 2^-64, each load rounded down
    u64 lateness_ = 0;
    bool tight_ = true;
};

// After how long work and supply repeat if the loads use the whole supply; `never` if they do not,
// or if it is not known.
u64 cycle_at_full_load(Loads loads, const Supply &supply);

} // namespace hyperperiod::analysis
