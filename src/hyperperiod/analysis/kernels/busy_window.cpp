// SPDX-License-Identifier: BSD-2-Clause
//
// Busy windows of streams: see busy_window.hpp.

#include <algorithm>

#include "src/hyperperiod/analysis/kernels/busy_window.hpp"
#include "src/hyperperiod/analysis/kernels/trend.hpp"

namespace hyperperiod::analysis {

namespace {

// Looks at the work in a window before giving up; far more jobs than a busy window has.
constexpr u64 most_steps = 10'000;
constexpr u64 most_steps_at_full_load = 500;

u64 product(u64 count, u64 each) {
    u64 total;
    return __builtin_mul_overflow(count, each, &total) ? never : total;
}

u64 sum(u64 some, u64 more) {
    u64 total;
    return __builtin_add_overflow(some, more, &total) ? never : total;
}

// The first instant after the offset that is `early` before a multiple of the period.
u64 next_multiple(u64 offset, u64 period, u64 early) {
    const u64 next = product((offset + early) / period + 1, period);
    return next == never ? never : next - early;
}

u64 ceiling(u64 amount, u64 each) {
    return (amount - 1) / each + 1;
}

u64 work_in(Streams streams, u64 window) {
    u64 total = 0;
    if (window == 0)
        return 0;
    for (const Stream &stream : streams) {
        total += clamp(u128{stream.count(window)} * stream.wcet);
        if (total > limit)
            return never;
    }
    return total;
}

u64 next_growth_of(Streams streams, u64 offset) {
    u64 soonest = never;
    for (const Stream &stream : streams)
        soonest = std::min(soonest, stream.next_growth(offset));
    return soonest;
}

// The least window from `start` on whose supply covers the work in it.
template <typename Work> u64 least_window(const Work &work, const Supply &supply, u64 start) {
    u64 window = start;

    for (u64 step = 0; step < most_steps && window <= longest_window; step++) {
        const u64 needed = supply.time_for(work(window));
        if (needed <= window)
            return window;
        window = needed;
    }
    return never;
}

u64 finish_of(u64 ahead, Streams above, const Supply &supply, u64 start) {
    const auto work = [&](u64 window) { return sum(ahead, work_in(above, window)); };
    return least_window(work, supply, std::max(start, supply.time_for(ahead)));
}

Run run_of(Streams own, Streams above, const Supply &supply) {
    std::vector<Load> loads;
    loads.reserve(own.size() + above.size());
    for (const Streams streams : {own, above}) {
        for (const Stream &stream : streams)
            loads.push_back(stream.load());
    }
    return Trend(loads).against(supply);
}

} // namespace

u64 Stream::count(u64 window) const {
    u64 most = never;
    if (by_period())
        most = product(ceiling(window + jitter, period), burst);
    if (period != 0 && by_queue()) {
        const u64 came = product(ceiling(window + source_jitter, period), burst);
        most = std::min(most, sum(queue, came));
    }
    if (by_queue())
        most = std::min(most, product(ceiling(window, spacing), queue));
    return most;
}

u64 Stream::next_growth(u64 offset) const {
    u64 soonest = never;
    if (by_period())
        soonest = next_multiple(offset, period, jitter);
    if (period != 0 && by_queue())
        soonest = std::min(soonest, next_multiple(offset, period, source_jitter));
    if (by_queue())
        soonest = std::min(soonest, next_multiple(offset, spacing, 0));
    return soonest;
}

// More than a pcpu has is more than any supply, however much it is.
Load Stream::load() const {
    const auto load_of = [this](u64 releases, u64 time) {
        const u128 work = u128{releases} * wcet;
        return Load{work > limit ? limit : static_cast<u64>(work), time, time, 0};
    };
    if (!by_queue())
        return load_of(burst, period);
    const Load queued = load_of(queue, spacing);
    if (period == 0)
        return queued;
    const Load released = load_of(burst, period);
    const bool less = u128{released.wcet} * queued.period < u128{queued.wcet} * released.period;
    return less ? released : queued;
}

Longest response_bound(Streams own, Streams above, const Supply &supply, u64 blocking) {
    const Run run = run_of(own, above, supply);
    if (run == Run::above)
        return {};
    // A window under full load may have no end.
    const u64 steps = run == Run::below ? most_steps : most_steps_at_full_load;
    Longest worst{0};
    u64 offset = 0, finish = 0;
    for (u64 step = 0; step < steps; step++) {
        finish = finish_of(sum(blocking, work_in(own, offset + 1)), above, supply, finish);
        if (finish == never)
            return {};
        if (finish - offset > worst.bound)
            worst = {finish - offset, offset, finish};
        offset = next_growth_of(own, offset);
        if (offset >= finish)
            return worst;
    }
    return {};
}

u64 backlog_bound(u64 backlog, Streams above, const Supply &supply, u64 blocking) {
    if (run_of({}, above, supply) == Run::above)
        return never;
    return finish_of(sum(blocking, backlog), above, supply, 0);
}

u64 busy_window(Streams streams, const Supply &supply, u64 blocking) {
    if (run_of(streams, {}, supply) == Run::above)
        return never;
    const auto work = [&](u64 window) { return sum(blocking, work_in(streams, window + 1)); };
    return least_window(work, supply, 1);
}

} // namespace hyperperiod::analysis
