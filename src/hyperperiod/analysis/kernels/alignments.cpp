// SPDX-License-Identifier: BSD-2-Clause
//
// Where deadlines nearly meet: see alignments.hpp.

#include "src/hyperperiod/analysis/kernels/alignments.hpp"

namespace hyperperiod::analysis {

namespace {

// The least k >= 0 with low <= step k mod modulus <= high, where 0 < low <= high < modulus and
// step < modulus. Either a multiple of step lies in the range before the first wrap, or the
// number of wraps solves the same question modulo step; each turn at least halves the numbers.
u64 first_in_range(u64 step, u64 modulus, u64 low, u64 high) {
    if (low == 0)
        return 0;
    if (step == 0)
        return never;
    if (step > modulus - step)
        return first_in_range(modulus - step, modulus, modulus - high, modulus - low);
    const u64 count = (low + step - 1) / step;
    if (u128{count} * step <= high)
        return count;
    // No multiple of step in the range, so its ends fall into one gap between multiples.
    const u64 wraps = first_in_range(modulus % step, step, (step - high % step) % step,
                                     (step - low % step) % step);
    if (wraps == never)
        return never;
    return clamp((u128{modulus} * wraps + low + step - 1) / step);
}

long double density(u64 part, u64 whole) {
    return static_cast<long double>(part) / static_cast<long double>(whole);
}

} // namespace

u64 first_hit(u64 step, u64 start, u64 width, u64 modulus) {
    const u64 begin = start % modulus;
    if (begin < width)
        return 0;
    const u64 low = modulus - begin;
    return first_in_range(step % modulus, modulus, low, low + width - 1);
}

Alignments::Sight Alignments::sight(const Load &load, u64 surplus) const {
    const u128 exact = (u128{surplus} * load.period + load.wcet - 1) / load.wcet;
    const u128 width = exact == 0 ? 1 : exact;
    const u64 early = load.jitter % load.period;
    const u64 origin = (load.deadline % load.period + load.period - early) % load.period;
    return {origin, load.period, width < load.period ? static_cast<u64>(width) : load.period};
}

// The anchor is the load with the smallest share of windows; beside it the one with the fewest
// coincidences.
void Alignments::choose(u64 surplus) {
    const Load *first = nullptr;
    for (const Load &load : loads_) {
        const Sight candidate = sight(load, surplus);
        if (first == nullptr
            || density(candidate.width, candidate.period)
                   < density(anchor_.width, anchor_.period)) {
            anchor_ = candidate;
            first = &load;
        }
    }
    other_ = {0, 1, 1};
    for (const Load &load : loads_) {
        const Sight candidate = sight(load, surplus);
        if (&load != first
            && density(anchor_.width + candidate.width, candidate.period)
                   < density(anchor_.width + other_.width, other_.period))
            other_ = candidate;
    }
}

bool Alignments::aim(const Supply &supply, u64 from) {
    constexpr u64 refresh = 64; // the surplus shrinks slowly as windows grow
    if (budget_ == supply.budget && spans_++ % refresh != 0)
        return anchor_.narrow();
    budget_ = supply.budget;
    choose(trend_.surplus(supply, from));
    return anchor_.narrow();
}

Span Alignments::next(u64 from) const {
    // The first deadline of the anchor whose span reaches beyond `from`.
    const u64 behind = from + 1 > anchor_.width - 1 + anchor_.origin
                           ? from + 1 - (anchor_.width - 1) - anchor_.origin
                           : 0;
    const u64 skipped = (behind + anchor_.period - 1) / anchor_.period;
    const u128 begin = u128{skipped} * anchor_.period + anchor_.origin;
    const u64 meeting = anchor_.width + other_.width - 1;
    u64 hops = 0;
    if (meeting < other_.period) {
        // Distance of the anchor's deadline from the other's, moved so that meeting starts at 0.
        const u64 ahead = static_cast<u64>(begin % other_.period) + other_.period - other_.origin;
        hops = first_hit(anchor_.period, ahead + (anchor_.width - 1), meeting, other_.period);
    }
    if (hops == never)
        return {limit, limit};
    const u64 first = clamp(begin + u128{hops} * anchor_.period);
    const u64 last = clamp(u128{first} + anchor_.width - 1);
    return first >= limit || last >= limit ? Span{limit, limit} : Span{first, last};
}

} // namespace hyperperiod::analysis
