// SPDX-License-Identifier: BSD-2-Clause
//
// Utilisation against bandwidth: see trend.hpp.

#include "src/hyperperiod/analysis/kernels/trend.hpp"

#include <numeric>

namespace hyperperiod::analysis {

namespace {

u128 ratio(u64 part, u64 whole) {
    return (u128{part} << 64) / whole;
}

u128 gcd(u128 a, u128 b) {
    while (b != 0) {
        const u128 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// A fraction that notices when it no longer fits.
struct Fraction {
    void add(u64 part, u64 whole) {
        const u128 shared = gcd(den, whole);
        const u128 other = whole / shared;
        u128 left, right, sum;
        lost = lost || __builtin_mul_overflow(num, other, &left)
               || __builtin_mul_overflow(den / shared, u128{part}, &right)
               || __builtin_add_overflow(left, right, &sum)
               || __builtin_mul_overflow(den, other, &den);
        if (lost)
            return;
        num = sum;
        const u128 common = gcd(num, den);
        num /= common;
        den /= common;
    }
    u128 num = 0, den = 1;
    bool lost = false;
};

} // namespace

Trend::Trend(Loads loads) : loads_(loads) {
    u128 lateness = longest_blocking(loads);
    for (const Load &load : loads) {
        rate_ += ratio(load.wcet, load.period);
        tight_ = tight_ && load.deadline <= load.period;
        if (load.period + load.jitter > load.deadline) {
            const u64 early = load.period + load.jitter - load.deadline;
            lateness += (u128{load.wcet} * early + load.period - 1) / load.period;
        }
    }
    lateness_ = clamp(lateness);
}

Run Trend::against(const Supply &supply) const {
    const u128 bandwidth = ratio(supply.budget, supply.period);
    if (rate_ > bandwidth)
        return Run::above;
    if (rate_ + loads_.size() <= bandwidth)
        return Run::below;
    return compare_exactly(supply);
}

Run Trend::compare_exactly(const Supply &supply) const {
    Fraction sum;
    for (const Load &load : loads_)
        sum.add(load.wcet, load.period);
    u128 left, right;
    if (sum.lost || __builtin_mul_overflow(sum.num, u128{supply.period}, &left)
        || __builtin_mul_overflow(sum.den, u128{supply.budget}, &right))
        return Run::unknown;
    return left < right ? Run::below : left == right ? Run::equal : Run::above;
}

// The most by which demand can be ahead of supply at the beginning, rounded up.
u128 Trend::advantage(const Supply &supply) const {
    const u128 lag = (u128{supply.budget} * supply.blackout + supply.period - 1) / supply.period;
    return lag + lateness_;
}

u64 Trend::horizon(const Supply &supply) const {
    const u128 bandwidth = ratio(supply.budget, supply.period);
    const u128 rate = rate_ + loads_.size();
    const u128 ahead = advantage(supply);
    if (rate >= bandwidth || ahead >= limit)
        return limit;
    const u128 window = (ahead << 64) / (bandwidth - rate) + 1;
    return window < limit ? static_cast<u64>(window) : limit;
}

u64 Trend::surplus(const Supply &supply, u64 from) const {
    const u128 bandwidth = ratio(supply.budget, supply.period);
    const u128 rate = rate_ + loads_.size();
    const u128 ahead = advantage(supply);
    if (rate >= bandwidth)
        return clamp(ahead + loads_.size()); // all rounding of rates, over the longest window
    const u128 caught_up = ((bandwidth - rate) * from) >> 64;
    return clamp(ahead > caught_up ? ahead - caught_up : 0);
}

u64 Trend::hyperperiod(u64 also) const {
    u64 common = also;
    for (const Load &load : loads_) {
        const u64 shared = std::gcd(common, load.period);
        const u128 next = u128{common / shared} * load.period;
        if (next >= limit)
            return never;
        common = static_cast<u64>(next);
    }
    return common;
}

u64 cycle_at_full_load(Loads loads, const Supply &supply) {
    const Trend trend(loads);
    return trend.against(supply) == Run::equal ? trend.hyperperiod(supply.period) : never;
}

} // namespace hyperperiod::analysis
