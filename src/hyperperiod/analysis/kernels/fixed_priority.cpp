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
#include "src/hyperperiod/analysis/kernels/witness.hpp"

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
// beyond `last`. The iteration climbs from `start`, which must not exceed the answer. Inlined by
// force: two callers would cost a search for a budget 3 % more instructions than one did.
[[gnu::always_inline]] inline Answer finish(Loads above, u64 own, const Supply &supply, u64 start,
                                            u64 last, Effort &effort) {
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

// Work of the jobs of one load up to a number, and what may block them.
u64 work_up_to(const Load &own, u64 job) {
    return clamp(u128{job + 1} * own.wcet + own.blocking);
}

// Job after job of the busy window. `note(job, release, done)` hears of each, in vain or not.
template <typename Note>
Answer respond(Loads above, const Load &own, const Supply &supply, Effort &effort, u64 start,
               const Note &note) {
    const u64 guess = first_guess(above, own, supply);
    u64 time = guess > start ? guess : start;
    u64 worst = 0, last_job = never;
    for (u64 job = 0;; job++) {
        if (job == long_window)
            last_job = repeats_after(above, own, supply);
        const u64 release = earliest_release(own, job);
        const u64 last = clamp(u128{release} + own.deadline);
        const u64 work = work_up_to(own, job);
        if (last == never || work == never)
            return {Verdict::unknown, 0};
        if (time > last) {
            note(job, release, Answer{Verdict::misses, time});
            return {Verdict::misses, time};
        }
        const Answer done = finish(above, work, supply, time, last, effort);
        note(job, release, done);
        if (done.verdict != Verdict::holds)
            return done;
        time = done.time;
        worst = time - release > worst ? time - release : worst;
        if (earliest_release(own, job + 1) >= time || job >= last_job)
            return {Verdict::holds, worst};
    }
}

// Of the windows from `first` to `last` the one in which least is missing, the longest of those.
// Demand stays as it is up to where one more job counts, so only windows that end there matter.
u64 closest_window(Loads above, u64 own, const Supply &supply, u64 first, u64 last,
                   Effort &effort) {
    i128 least = i128{own} + request(above, last) - supply.within(last);
    u64 closest = last;
    for (u64 window = first; window < last && effort.spend(above.size() + 1); window++) {
        const u64 work = request(above, window);
        u64 corner = last;
        for (const Load &load : above) {
            const u128 end = u128{jobs_released(load, window)} * load.period - load.jitter;
            corner = end < corner ? static_cast<u64>(end) : corner;
        }
        const i128 missing = i128{own} + work - supply.within(corner);
        if (missing < least || (missing == least && corner > closest)) {
            least = missing;
            closest = corner;
        }
        window = corner;
    }
    return closest;
}

// What the jobs of `own` up to a number and all above them ask for in a window.
Asked asked(Loads above, const Load &own, u64 job, const Supply &supply, u64 window) {
    Asked what{window, supply.within(window), own.blocking, {}};
    for (const Load &load : above)
        what.jobs.push_back(jobs_released(load, window));
    what.jobs.push_back(job + 1);
    return what;
}

} // namespace

u64 repeats_after(Loads above, const Load &own, const Supply &supply) {
    std::vector<Load> loads(above.begin(), above.end());
    loads.push_back(own);
    const u64 cycle = cycle_at_full_load(loads, supply);
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
    const auto nothing = [](u64, u64, const Answer &) {};
    return respond(above, own, supply, effort, start, nothing);
}

Witness response_witness(Loads above, const Load &own, const Supply &supply, Effort &effort) {
    u64 number = 0, release = 0, finished = 0;
    const auto longest_or_last = [&](u64 job, u64 released, const Answer &done) {
        const bool longer =
            done.verdict == Verdict::holds && done.time - released > finished - release;
        if (job == 0 || longer || done.verdict != Verdict::holds) {
            number = job;
            release = released;
            finished = done.time;
        }
    };
    Witness found{respond(above, own, supply, effort, 0, longest_or_last).verdict};
    if (found.verdict == Verdict::unknown)
        return found;
    found.release = release;
    if (found.verdict == Verdict::holds) {
        found.finish = finished;
        found.windows = {asked(above, own, number, supply, finished)};
        return found;
    }
    const u64 work = work_up_to(own, number), deadline = release + own.deadline;
    Effort after(witness_effort), nearer(witness_effort);
    const Answer late = finish(above, work, supply, finished, limit, after);
    found.finish = late.verdict == Verdict::holds ? late.time : never;
    const u64 first = release == 0 ? 1 : release;
    const u64 closest = closest_window(above, work, supply, first, deadline, nearer);
    found.windows = {asked(above, own, number, supply, closest)};
    if (closest != deadline)
        found.windows.push_back(asked(above, own, number, supply, deadline));
    return found;
}

// All work up to `done_` is also ahead of the next load, but for the blocking, which its own job
// and blocking must outweigh. Only where no two jobs overlap is the response that of the first.
Answer Responses::next(Effort &effort) {
    const Load &own = loads_[index_];
    const u64 start = own.wcet + own.blocking >= blocking_ ? done_ : 0;
    const Answer answer = response(loads_.first(index_++), own, supply_, effort, start);
    if (answer.verdict == Verdict::holds && own.deadline + own.jitter <= own.period) {
        done_ = answer.time;
        blocking_ = own.blocking;
    }
    return answer;
}

Answer fixed_priority(Loads loads, const Supply &supply, Effort &effort) {
    Responses responses(loads, supply);
    u64 worst = 0;
    for (std::size_t index = 0; index < loads.size(); index++) {
        const Answer one = responses.next(effort);
        if (one.verdict != Verdict::holds)
            return one;
        worst = one.time > worst ? one.time : worst;
    }
    return {Verdict::holds, worst};
}

} // namespace hyperperiod::analysis
