// SPDX-License-Identifier: BSD-2-Clause
//
// Response times of one task: exact count, sum, minimum and maximum, and a log-linear histogram
// for the percentiles. Every power of two is split into 64 equal buckets (below 64 ns each
// nanosecond has its own), and a bucket answers with its middle, so a percentile is off by at
// most 1/128 of itself. Who asks for it before the first has every value as well. Octaves get their
// 512 bytes when they are first hit: a task costs what the spread of its response times needs,
// whatever the length of the run.
#pragma once

#include "hosts/sim/scenario.h"

#include <array>
#include <bit>
#include <memory>
#include <vector>

namespace hyperperiod::sim {

struct Bucket {
    Ns low_ns;
    Ns high_ns; // inclusive
    u64 count;
};

class Histogram {
  public:
    static constexpr u32 SPLIT_BITS = 6;
    static constexpr u32 SPLIT = 1u << SPLIT_BITS;
    static constexpr double RELATIVE_ERROR = 1.0 / (2 * SPLIT);

    void add(Ns value_ns) {
        const u32 octave = octave_of(value_ns);

        if (!octaves_[octave]) [[unlikely]]
            octaves_[octave] = std::make_unique<std::array<u64, SPLIT>>();
        (*octaves_[octave])[split_of(value_ns, octave)]++;
        count_++;
        sum_low_ += value_ns;
        sum_high_ += sum_low_ < value_ns;
        min_ns_ = value_ns < min_ns_ ? value_ns : min_ns_;
        max_ns_ = value_ns > max_ns_ ? value_ns : max_ns_;
        if (values_) [[unlikely]]
            values_->push_back(value_ns);
    }

    // From here on every value is kept, in the order in which they come.
    void keep_values() { values_ = std::make_unique<std::vector<Ns>>(); }
    // Nothing unless they are kept.
    std::vector<Ns> values() const { return values_ ? *values_ : std::vector<Ns>(); }

    u64 count() const { return count_; }
    Ns min_ns() const { return min_ns_; }
    Ns max_ns() const { return max_ns_; }
    // The exact sum in two halves: 2^64 * high + low.
    u64 sum_high() const { return sum_high_; }
    u64 sum_low() const { return sum_low_; }

    // The buckets that were hit, in ascending order.
    std::vector<Bucket> buckets() const;

    // The smallest recorded value that at least 'percent' per cent of all values do not exceed
    // (nearest rank), as precise as a bucket is wide. Of nothing: 0.
    Ns percentile_ns(u32 percent) const;

  private:
    // Octave 0 is [0, 64); octave k > 0 is [64 * 2^(k-1), 64 * 2^k).
    static constexpr u32 OCTAVES = 64 - SPLIT_BITS + 1;

    static u32 octave_of(Ns value_ns) {
        return static_cast<u32>(std::bit_width(value_ns >> SPLIT_BITS));
    }
    static u32 split_of(Ns value_ns, u32 octave) {
        return static_cast<u32>(value_ns >> (octave > 1 ? octave - 1 : 0)) & (SPLIT - 1);
    }

    std::array<std::unique_ptr<std::array<u64, SPLIT>>, OCTAVES> octaves_;
    u64 count_ = 0;
    u64 sum_low_ = 0;
    u64 sum_high_ = 0;
    Ns min_ns_ = NEVER;
    Ns max_ns_ = 0;
    std::unique_ptr<std::vector<Ns>> values_;
};

} // namespace hyperperiod::sim
