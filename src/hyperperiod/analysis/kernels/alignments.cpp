// SPDX-License-Identifier: BSD-2-Clause
//
// Where deadlines nearly meet: see alignments.hpp.

#include "src/hyperperiod/analysis/kernels/alignments.hpp"

#include <algorithm>

namespace hyperperiod::analysis {

namespace {

// After this many spans the surplus has shrunk enough to take aim again.
constexpr u64 refresh = 64;

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
    const u64 sight = width < load.period ? static_cast<u64>(width) : load.period;
    return {origin, load.period, load.wcet, sight};
}

u64 Alignments::Sight::falls_behind(const Span &span) const {
    const u64 since = span.first % period;
    const u64 behind = since >= origin ? since - origin : since + period - origin;
    if (span.last - span.first >= period - behind)
        return 0;
    u64 product;
    if (!__builtin_mul_overflow(behind, wcet, &product))
        return product / period;
    return static_cast<u64>(u128{behind} * wcet / period);
}

bool Alignments::ruled_out(const Span &span) const {
    u64 behind = 0;
    for (std::size_t index = 1; index < sights_.size(); index++) {
        behind += sights_[index].falls_behind(span);
        if (behind >= surplus_)
            return true;
    }
    return false;
}

// The anchor is the load that leaves the smallest share of windows; the others follow by how
// rarely they coincide with it.
void Alignments::choose(u64 surplus) {
    sights_.clear();
    surplus_ = surplus;
    for (const Load &load : loads_)
        sights_.push_back(sight(load, surplus));
    const auto order_by = [this](std::size_t from, u64 reach) {
        const auto rarer = [reach](const Sight &left, const Sight &right) {
            return u128{left.width + reach} * right.period
                   < u128{right.width + reach} * left.period;
        };
        std::sort(sights_.begin() + static_cast<std::ptrdiff_t>(from), sights_.end(), rarer);
    };
    order_by(0, 0);
    if (!sights_.empty())
        order_by(1, sights_.front().width);
}

bool Alignments::aim(const Supply &supply, u64 from) {
    if (budget_ != supply.budget || spans_ >= refresh) {
        choose(trend_.surplus(supply, from));
        budget_ = supply.budget;
        spans_ = 0;
    }
    return !sights_.empty() && sights_.front().narrow();
}

// The next span of windows beyond `from` that the anchor and the load after it both see.
Span Alignments::coincidence(u64 from) const {
    const Sight &anchor = sights_.front();
    const u64 before = anchor.width - 1 + anchor.origin;
    const u64 behind = from + 1 > before ? from + 1 - before : 0;
    const u64 skipped = (behind + anchor.period - 1) / anchor.period;
    const u128 begin = u128{skipped} * anchor.period + anchor.origin;
    u64 hops = 0;
    if (sights_.size() > 1) {
        const Sight &other = sights_[1];
        const u64 meeting = anchor.width + other.width - 1;
        // Where the anchor's span ends, counted from the other's deadline.
        const u64 end =
            clamp(begin) % other.period + other.period - other.origin + anchor.width - 1;
        if (meeting < other.period)
            hops = first_hit(anchor.period, end, meeting, other.period);
    }
    if (hops == never)
        return {limit, limit};
    const u64 first = clamp(begin + u128{hops} * anchor.period);
    const u64 last = clamp(u128{first} + anchor.width - 1);
    return first >= limit || last >= limit ? Span{limit, limit} : Span{first, last};
}

Span Alignments::next(u64 from, Effort &effort) {
    Span span = coincidence(from);
    while (span.last < limit && ++spans_ < refresh && ruled_out(span)
           && effort.spend(sights_.size()))
        span = coincidence(span.last);
    return span;
}

} // namespace hyperperiod::analysis
