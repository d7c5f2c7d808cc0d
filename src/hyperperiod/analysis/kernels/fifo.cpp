// SPDX-License-Identifier: BSD-2-Clause
//
// First in, first out under a supply. A job released `offset` into a busy window waits only for
// jobs that came no later, so it is done once the supply covers all of those: at most
// time_for(work released in [0, offset], and the longest blocking) - offset after its release. The
// bound is the largest of these over all offsets at which some load can release, up to the end of
// the busy window. It is the same for every load; a deadline holds if it is not below it.
//
// Under loads that use the whole supply the busy window may have no end. But a multiple of all
// periods and of the supply's brings as much work as supply, so each offset that much later waits
// as long, and those of one such cycle are all that there are.

#include "src/hyperperiod/analysis/kernels/trend.hpp"
#include "src/hyperperiod/analysis/kernels/witness.hpp"

namespace hyperperiod::analysis {

namespace {

// Work released in the closed window [0, offset], and the next offset at which there is more.
struct Step {
    u64 work, next;
};

Step step(Loads loads, u64 offset) {
    u128 work = 0;
    u64 next = never;
    for (const Load &load : loads) {
        const u64 jobs = (offset + load.jitter) / load.period + 1;
        work += u128{jobs} * load.wcet;
        if (work > limit)
            return {never, never};
        const u64 release = clamp(u128{jobs} * load.period - load.jitter);
        next = release < next ? release : next;
    }
    return {static_cast<u64>(work), next};
}

// Offsets after which it pays to ask whether the busy window ever ends.
constexpr u64 many_offsets = 32;

// Release after release, until one waits for more than `longest`; `note(release, finish)` hears
// of each.
template <typename Note>
Answer serve(Loads loads, const Supply &supply, u64 longest, Effort &effort, const Note &note) {
    const u64 blocking = longest_blocking(loads);
    const u64 patience = shortest_deadline(loads);
    u64 worst = 0, last = never, looked = 0;
    for (u64 offset = 0; !loads.empty();) {
        if (!effort.spend(loads.size()))
            return {Verdict::unknown, 0};
        const Step here = step(loads, offset);
        const u64 finish = supply.time_for(clamp(u128{here.work} + blocking));
        note(offset, finish);
        if (finish == never || finish - offset > longest)
            return {Verdict::misses, never};
        worst = finish - offset > worst ? finish - offset : worst;
        if (++looked == many_offsets)
            last = cycle_at_full_load(loads, supply);
        if (finish <= here.next || here.next >= last)
            break;
        offset = here.next;
    }
    return {worst <= patience ? Verdict::holds : Verdict::misses, worst};
}

} // namespace

Answer fifo(Loads loads, const Supply &supply, Effort &effort) {
    return serve(loads, supply, longest_deadline(loads), effort, [](u64, u64) {});
}

Verdict fifo_verdict(Loads loads, const Supply &supply, Effort &effort) {
    return serve(loads, supply, shortest_deadline(loads), effort, [](u64, u64) {}).verdict;
}

Witness fifo_witness(Loads loads, u64 deadline, const Supply &supply, Effort &effort) {
    Witness found{Verdict::holds};
    u64 worst = 0;
    const auto longest_or_late = [&](u64 release, u64 finish) {
        if (found.verdict == Verdict::misses || finish - release <= worst)
            return;
        worst = finish - release;
        found.release = release;
        found.finish = finish;
        if (worst > deadline)
            found.verdict = Verdict::misses;
    };
    const Answer answer = serve(loads, supply, longest_deadline(loads), effort, longest_or_late);
    const bool late = found.verdict == Verdict::misses;
    if (answer.verdict == Verdict::unknown && !late)
        return {Verdict::unknown};
    const u64 window = late ? found.release + deadline : found.finish;
    Asked what{window, supply.within(window), longest_blocking(loads), {}};
    for (const Load &load : loads)
        what.jobs.push_back((found.release + load.jitter) / load.period + 1);
    found.windows = {what};
    return found;
}

} // namespace hyperperiod::analysis
