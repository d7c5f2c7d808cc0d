// SPDX-License-Identifier: BSD-2-Clause
//
// The sums of the three tests. Densities are summed in fixed point, rounded down, beside a count
// of how many were rounded: that encloses the true sum, and only where the bound lies inside the
// enclosure are fractions formed. Work is at most D_k and so below 2^62, but sums over loads may
// not be: they stop at the amount that settles the question.

#include "src/hyperperiod/analysis/kernels/global_edf.hpp"

#include <numeric>

namespace hyperperiod::analysis {

namespace {

constexpr int point = 62;
constexpr u128 one = u128{1} << point;
constexpr u64 rounds = 1000;

// wcet / length in fixed point, rounded down; `exact` tells whether nothing was lost.
struct Share {
    u64 floor;
    bool exact;
};

Share share(u64 wcet, u64 length) {
    const u128 scaled = u128{wcet} << point;
    const u128 floor = scaled / length;
    return {static_cast<u64>(floor), floor * length == scaled};
}

// A sum of fractions, as long as their common denominator is small enough.
class Fractions {
  public:
    void add(u64 count, u64 wcet, u64 length) {
        const u64 common = std::gcd(wcet, length);
        const u64 bottom = length / common;
        const u64 factor = bottom / std::gcd(static_cast<u64>(bottom_ % bottom), bottom);
        if (!fits_ || bottom_ > (u128{1} << 63) / factor) {
            fits_ = false;
            return;
        }
        bottom_ *= factor;
        top_ = top_ * factor + u128{count} * (wcet / common) * (bottom_ / bottom);
    }
    // Unknown where it did not fit.
    Verdict at_most(u64 bound) const {
        if (!fits_)
            return Verdict::unknown;
        return top_ <= bottom_ * bound ? Verdict::holds : Verdict::misses;
    }

  private:
    u128 top_ = 0, bottom_ = 1;
    bool fits_ = true;
};

// Whether the tests are about such sets at all.
bool covered(Loads set) {
    for (const Load &load : set) {
        if (load.blocking != 0 || load.wcet > load.deadline || load.jitter >= load.period
            || load.deadline > load.period - load.jitter)
            return false;
    }
    return true;
}

bool overloaded(Loads set, u64 pcpus) {
    Fractions sum;
    for (const Load &load : set)
        sum.add(1, load.wcet, load.period);
    return sum.at_most(pcpus) == Verdict::misses;
}

// What remains to be said where no test confirms the set: misses if no scheduler could do it.
Verdict unconfirmed(Loads set, u64 pcpus) {
    u128 floor = 0;
    u64 rounded = 0;
    for (const Load &load : set) {
        if (load.wcet > load.deadline)
            return Verdict::misses;
        const u64 jobs = load.wcet / load.period;
        const Share use = share(load.wcet - jobs * load.period, load.period);
        floor += use.floor + jobs * one;
        rounded += !use.exact;
    }
    if (floor + rounded <= one * pcpus)
        return Verdict::unknown;
    const bool surely = floor > one * pcpus || (floor == one * pcpus && rounded != 0);
    return surely || overloaded(set, pcpus) ? Verdict::misses : Verdict::unknown;
}

bool exact_gfb(Loads set, const Load &densest, u64 pcpus) {
    Fractions sum;
    for (const Load &load : set)
        sum.add(1, load.wcet, load.deadline);
    sum.add(pcpus - 1, densest.wcet, densest.deadline);
    return sum.at_most(pcpus) == Verdict::holds;
}

bool denser(const Load &left, const Load &right) {
    return u128{left.wcet} * right.deadline > u128{right.wcet} * left.deadline;
}

u64 carried(const Load &load, u64 rest, u64 slack) {
    const u64 left = rest > slack ? rest - slack : 0;
    return left < load.wcet ? left : load.wcet;
}

bool gfb_holds(Loads set, u64 pcpus) {
    u128 floor = 0;
    u64 rounded = 0;
    const Load *densest = &set[0];
    for (const Load &load : set) {
        const Share density = share(load.wcet, load.deadline);
        floor += density.floor;
        rounded += !density.exact;
        if (denser(load, *densest))
            densest = &load;
    }
    const Share most = share(densest->wcet, densest->deadline);
    floor += u128{pcpus - 1} * most.floor;
    rounded += most.exact ? 0 : pcpus - 1;
    if (floor + rounded <= one * pcpus)
        return true;
    const bool above = floor > one * pcpus || (floor == one * pcpus && rounded != 0);
    return !above && exact_gfb(set, *densest, pcpus);
}

// Whether fractions, each below one, sum to at most a bound.
bool at_most(std::span<const std::pair<u64, u64>> rests, u64 bound) {
    u128 floor = 0;
    u64 rounded = 0;
    for (const auto &[top, bottom] : rests) {
        const Share part = share(top, bottom);
        floor += part.floor;
        rounded += !part.exact;
    }
    if (floor + rounded <= one * bound)
        return true;
    if (floor > one * bound || (floor == one * bound && rounded != 0))
        return false;
    Fractions sum;
    for (const auto &[top, bottom] : rests)
        sum.add(1, top, bottom);
    return sum.at_most(bound) == Verdict::holds;
}

} // namespace

bool bcl_holds(Loads set, const Load &own, u64 room, u64 pcpus) {
    const u128 enough = u128{room} * pcpus;
    u128 total = 0;
    for (const Load &load : set) {
        if (&load == &own)
            continue;
        const u64 period = load.period - load.jitter;
        const u64 jobs = own.deadline / period;
        const u64 work = jobs * load.wcet + carried(load, own.deadline - jobs * period, 0);
        total += work < room ? work : room;
        if (total >= enough)
            return false;
    }
    return true;
}

Verdict GlobalEdf::gfb(Loads set, u64 pcpus) {
    const bool holds = set.empty() || (covered(set) && gfb_holds(set, pcpus));
    return holds ? Verdict::holds : unconfirmed(set, pcpus);
}

Verdict GlobalEdf::baker(Loads set, u64 pcpus) {
    const bool holds = covered(set) && baker_confirms(set, pcpus, 0) == set.size();
    return holds ? Verdict::holds : unconfirmed(set, pcpus);
}

std::size_t GlobalEdf::baker_confirms(Loads set, u64 pcpus, std::size_t first) {
    std::size_t k = first;
    while (k < set.size() && baker_holds(set, set[k], pcpus))
        k++;
    return k;
}

// The inequality times D_k: its terms are then C_i (D_k + T_i - D_i) / T_i and, for loads with
// more utilisation than k has density, C_i - C_k T_i / D_k, each at most D_k together.
bool GlobalEdf::baker_holds(Loads set, const Load &own, u64 pcpus) {
    const u128 bound = u128{pcpus} * own.deadline - u128{pcpus - 1} * own.wcet;
    u128 whole = 0;
    rests_.clear();
    for (const Load &load : set) {
        const u64 period = load.period - load.jitter;
        const u128 top = u128{load.wcet} * (own.deadline + period - load.deadline);
        u128 share = top / period;
        const u64 rest = static_cast<u64>(top - share * period);
        const u128 ours = u128{own.wcet} * period;
        u64 missing = 0;
        if (u128{load.wcet} * own.deadline > ours) {
            const u128 less = ours / own.deadline;
            const u64 left = static_cast<u64>(ours - less * own.deadline);
            missing = left == 0 ? 0 : own.deadline - left;
            share += load.wcet - less - (left != 0);
        }
        if (share >= own.deadline) {
            whole += own.deadline;
        } else {
            // One short of D_k with two fractions may be above it; that errs on the safe side.
            whole += share;
            if (rest != 0)
                rests_.emplace_back(rest, period);
            if (missing != 0)
                rests_.emplace_back(missing, own.deadline);
        }
        if (whole > bound)
            return false;
    }
    const u128 left = bound - whole;
    return left >= rests_.size() || at_most(rests_, static_cast<u64>(left));
}

Verdict GlobalEdf::bcl(Loads set, u64 pcpus) {
    bool holds = covered(set);
    for (std::size_t k = 0; holds && k < set.size(); k++)
        holds = bcl_holds(set, set[k], set[k].deadline - set[k].wcet + 1, pcpus);
    return holds ? Verdict::holds : unconfirmed(set, pcpus);
}

Verdict GlobalEdf::iterative_bcl(Loads set, u64 pcpus, std::span<u64> bounds) {
    for (u64 &bound : bounds)
        bound = never;
    if (!covered(set))
        return unconfirmed(set, pcpus);
    prepare(set);
    for (u64 round = 0; round < rounds; round++) {
        const Progress progress = improve(pcpus);
        if (progress.all) {
            for (std::size_t k = 0; k < bounds.size(); k++)
                bounds[k] = set[k].deadline - slack_[k];
            return Verdict::holds;
        }
        if (!progress.moved)
            break;
    }
    return unconfirmed(set, pcpus);
}

GlobalEdf::Progress GlobalEdf::improve(u64 pcpus) {
    Progress progress{true, false};
    const std::size_t count = sporadic_.size();
    for (std::size_t k = 0; k < count; k++) {
        const u64 room = sporadic_[k].deadline - sporadic_[k].wcet + 1;
        const Work *row = &work_[k * count];
        u128 total = 0;
        for (std::size_t i = 0; i < count; i++) {
            const u64 work = row[i].whole + carried(sporadic_[i], row[i].rest, slack_[i]);
            total += work < room ? work : room;
        }
        const u128 lost = (total - room) / pcpus; // without k itself, which filled the room
        progress.all = progress.all && lost < room;
        const u64 slack = lost < room ? room - 1 - static_cast<u64>(lost) : 0;
        if (slack > slack_[k]) {
            slack_[k] = slack;
            progress.moved = true;
        }
    }
    return progress;
}

void GlobalEdf::prepare(Loads set) {
    sporadic_.assign(set.begin(), set.end());
    const std::size_t count = set.size();
    slack_.assign(count, 0);
    work_.resize(count * count);
    for (Load &load : sporadic_)
        load.period -= load.jitter;
    for (std::size_t k = 0; k < count; k++) {
        for (std::size_t i = 0; i < count; i++) {
            const Load &load = sporadic_[i];
            const u64 jobs = sporadic_[k].deadline / load.period;
            work_[k * count + i] = {jobs * load.wcet, sporadic_[k].deadline - jobs * load.period};
        }
        work_[k * count + k].whole = limit; // more than any room
    }
}

} // namespace hyperperiod::analysis
