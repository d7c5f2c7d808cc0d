// SPDX-License-Identifier: BSD-2-Clause
//
// Response times of jobs that share a queue, of tasks that flows release.
//
// A stream bounds how often a task is released, in up to three ways, the least of which counts;
// what they are and why they hold is in hyperperiod/analysis/flows/stream.py. The busy windows of
// streams and what they bound are in hyperperiod/analysis/flows/busy_window.py. Sums that leave the
// range of times count as `never`, for which there is no bound.
#pragma once

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

struct Stream {
    u64 wcet;
    u64 period;        // 0: the source has none
    u64 jitter;        // never: releases spread without a known bound
    u64 burst;         // releases at a time
    u64 queue;         // items on their way; 0: nothing is known of them
    u64 source_jitter; // of the flow
    u64 spacing;       // that the way of an item takes at least

    bool by_period() const { return period != 0 && jitter != never; }
    bool by_queue() const { return queue != 0; }
    bool bounded() const { return by_period() || by_queue(); }
    // The most releases in a half-open window, above 0.
    u64 count(u64 window) const;
    // The first offset after this one at which a closed window can hold more.
    u64 next_growth(u64 offset) const;
    // The work in the long run, as a load.
    Load load() const;
};

using Streams = std::span<const Stream>;

// No window is as long; one that would be has no end.
constexpr u64 longest_window = u64{1} << 60;

// A job that responds last: released `offset` into a busy window, done `finish` after its begin.
struct Longest {
    u64 bound = never; // finish - offset; never: none was found
    u64 offset = 0, finish = 0;
};

// The longest response of a job of `own` below `above`.
Longest response_bound(Streams own, Streams above, const Supply &supply, u64 blocking);
// The same where never more than `backlog` of own work is pending; never: none was found.
u64 backlog_bound(u64 backlog, Streams above, const Supply &supply, u64 blocking);
// The longest time without a gap in which work of these streams is pending, or never.
u64 busy_window(Streams streams, const Supply &supply, u64 blocking);

} // namespace hyperperiod::analysis
