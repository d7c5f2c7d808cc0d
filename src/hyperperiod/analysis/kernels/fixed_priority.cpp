// SPDX-License-Identifier: BSD-2-Clause
//
// Fixed priority under a supply: the least window in which the supply covers what a load and
// those above it ask for (Lehoczky, Sha and Ding 1989; Shin and Lee 2003), by the fixed-point
// iteration of Joseph and Pandya. Where a job can still be pending when its successor comes
// (deadline above the period, or jitter), all jobs of the busy window are looked at
// (Lehoczky 1990; Tindell, Burns and Wellings 1994). Blocking counts once in that window.
//
// With jitter or blocking and a utilisation equal to the bandwidth the window never ends. Then a
// hyperperiod of loads and supply adds as much work as supply, so every response comes again one
// hyperperiod later, and the jobs of the first are all there are to look at.

#include "src/hyperperiod/analysis/kernels/trend.hpp"

namespace hyperperiod::analysis {

namespace {

constexpr u64 long_window = 32; // jobs after which it pays to ask whether a window ever ends

u64 jobs_released(const Load &load, u64 window) {
    return (window + load.jitter + load.period - 1) / load.period;
}

// The earliest instant of the busy window at which job number `job` (from 0) is released.
u64 earliest_release(const Load &load, u64 job) {
    const u128 nominal = u128{job} * load.period;
    return nominal <= load.jitter ? 0 : clamp(nominal - load.jitter);
}

// The least time by which the supply covers `own` and everything from `above`, or a time
// beyond `last`. The iteration climbs from `start`, which must not exceed the answer.
Answer finish(Loads above, u64 own, const Supply &supply, u64 start, u64 last, Effort &effort) {
    u64 time = start;
    for (;;) {
        if (!effort.spend(above.size() + 1))
            return {Verdict::unknown, 0};
        const u64 work = clamp(u128{request(above, time)} + own);
        const u64 next = supply.time_for(work);
        if (next > last)
            return {Verdict::misses, next};
        if (next <= time)
            return {Verdict::holds, time};
        time = next;
    }
}

u64 first_guess(Loads above, const Load &own, const Supply &supply) {
    u128 work = u128{own.wcet} + own.blocking;
    for (const Load &load : above)
        work += load.wcet;
    return supply.time_for(clamp(work));
}

} // namespace

u64 repeats_after(Loads above, const Load &own, const Supply &supply) {
    std::vector<Load> loads(above.begin(), above.end());
    loads.push_back(own);
    const Trend trend(loads);
    if (trend.against(supply) != Run::equal)
        return never;
    const u64 cycle = trend.hyperperiod(supply.period);
    // The jobs that jitter lets come at once, then those of one cycle.
    return cycle == never ? never : own.jitter / own.period + 1 + cycle / own.period;
}

u64 longest_blocking(Loads loads) {
    u64 longest = 0;
    for (const Load &load : loads)
        longest = load.blocking > longest ? load.blocking : longest;
    return longest;
}

u64 request(Loads loads, u64 window) {
    if (window == never)
        return never;
    u64 total = 0;
    for (const Load &load : loads) {
        const u128 work = u128{jobs_released(load, window)} * load.wcet + total;
        if (work > limit)
            return never;
        total = static_cast<u64>(work);
    }
    return total;
}

Answer response(Loads above, const Load &own, const Supply &supply, Effort &effort, u64 start) {
    const u64 guess = first_guess(above, own, supply);
    u64 time = guess > start ? guess : start;
    u64 worst = 0, last_job = never;
    for (u64 job = 0;; job++) {
        if (job == long_window)
            last_job = repeats_after(above, own, supply);
        const u64 release = earliest_release(own, job);
        const u64 last = clamp(u128{release} + own.deadline);
        const u64 work = clamp(u128{job + 1} * own.wcet + own.blocking);
        if (last == never || work == never)
            return {Verdict::unknown, 0};
        if (time > last)
            return {Verdict::misses, time};
        const Answer done = finish(above, work, supply, time, last, effort);
        if (done.verdict != Verdict::holds)
            return done;
        time = done.time;
        worst = time - release > worst ? time - release : worst;
        if (earliest_release(own, job + 1) >= time || job >= last_job)
            return {Verdict::holds, worst};
    }
}

Answer fixed_priority(Loads loads, const Supply &supply, Effort &effort) {
    u64 worst = 0;
    for (std::size_t index = 0; index < loads.size(); index++) {
        const Answer one = response(loads.first(index), loads[index], supply, effort);
        if (one.verdict != Verdict::holds)
            return one;
        worst = one.time > worst ? one.time : worst;
    }
    return {Verdict::holds, worst};
}

} // namespace hyperperiod::analysis
