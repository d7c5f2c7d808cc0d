// SPDX-License-Identifier: BSD-2-Clause
//
// Response-time analysis of sets on a pcpu of their own, fixed priority (Joseph and Pandya 1986;
// Audsley et al. 1993; Lehoczky 1990 and Tindell, Burns and Wellings 1994 where jobs of a load
// can overlap): the same fixed points as in fixed_priority.cpp, found in one sweep of time.
//
// The busy window of a level contains those of the levels above it, so the search for a load's
// response begins where the one before it ended (Sjoedin and Hansson 1998). Time only grows, and
// with every load above is kept until when its number of releases stays the same: a step costs
// a comparison for most loads and a division for few. Where only a verdict is wanted, the bound
// of Bini, Nguyen, Richard and Baruah (IEEE Trans. Computers 2009),
//   R <= (C + sum of C_k (1 - u_k) + u_k J_k) / (1 - sum of u_k),
// saves the search for loads with time to spare. Rates are 64-bit fractions rounded so that every
// error makes the bound longer; all else is exact.
//
// No sum overflows: a level is searched only while its utilisation is at most 1 and one job of
// each load together with the blocking fits `limit`, so all work within a window of `limit` is
// below limit + the longest jitter + these jobs.

#include <algorithm>

#include "src/hyperperiod/analysis/kernels/batch.hpp"

namespace hyperperiod::analysis {

namespace {

constexpr u128 one = u128{1} << 64; // of a rate
constexpr u64 long_window = 32;     // jobs after which it pays to ask whether a window ever ends

struct Above {
    u64 until; // the longest window with the releases counted so far
    u64 wcet, period;
};

class ResponseTime {
  public:
    Verdict operator()(Loads set, u64 pcpus, std::span<u64> bounds);

  private:
    bool overload(Loads set);
    void restart(Loads above);
    void add(const Load &load);
    Verdict judge_next(Loads set, u64 *bound, Effort &effort);
    void advance();
    bool surely_holds(const Load &own) const;
    Answer response(Loads above, const Load &own, Effort &effort);
    Answer finish(u64 base, u64 last, Effort &effort);

    std::vector<u128> rates_; // of all loads, rounded down
    std::vector<Above> above_;
    u64 blocking_ = 0; // in the window that ends at time_
    u64 time_ = 1;     // no response still to be found is earlier
    u64 work_ = 0;     // of the loads above within time_
    u64 soonest_ = 0;  // the next change of work_
    u128 rate_ = 0;    // utilisation of the loads above, rounded up
    u128 surplus_ = 0; // sum of C (1 - u) + u J, rounded up
    u128 jobs_ = 0;    // one job of each
};

u128 rate_of(const Load &load) {
    return (u128{load.wcet} << 64) / load.period;
}

// Time goes back to its beginning, for a load whose response may be earlier than time_.
void ResponseTime::restart(Loads above) {
    above_.clear();
    time_ = 1;
    work_ = 0;
    blocking_ = 0;
    rate_ = surplus_ = jobs_ = 0;
    for (const Load &load : above)
        add(load);
}

void ResponseTime::add(const Load &load) {
    const u64 jobs = (time_ + load.jitter + load.period - 1) / load.period;
    const u128 rate = rates_[above_.size()];
    above_.push_back({jobs * load.period - load.jitter, load.wcet, load.period});
    work_ += jobs * load.wcet;
    rate_ += rate + 1;
    surplus_ += load.wcet - static_cast<u64>((u128{load.wcet} * rate) >> 64);
    surplus_ += static_cast<u64>((u128{load.jitter} * rate + load.jitter) >> 64) + 1;
    jobs_ += load.wcet;
}

// Counts all releases within time_.
void ResponseTime::advance() {
    const u64 time = time_;
    u64 soonest = never, work = work_;
    for (Above &load : above_) {
        if (load.until < time) {
            const u64 missing = time - load.until;
            const u64 jobs = missing <= load.period ? 1 : (missing + load.period - 1) / load.period;
            load.until += jobs * load.period;
            work += jobs * load.wcet;
        }
        soonest = load.until < soonest ? load.until : soonest;
    }
    work_ = work;
    soonest_ = soonest;
}

bool ResponseTime::surely_holds(const Load &own) const {
    const u128 work = surplus_ + own.wcet + own.blocking;
    if (rate_ >= one || work > limit || u128{own.deadline} + own.jitter > own.period)
        return false;
    return work << 64 <= (one - rate_) * own.deadline;
}

// The least time that holds `base` and all releases above; `last` is the latest that matters.
Answer ResponseTime::finish(u64 base, u64 last, Effort &effort) {
    for (;;) {
        if (!effort.spend(above_.size() + 1))
            return {Verdict::unknown, 0};
        advance();
        const u64 next = base + work_;
        if (next > last)
            return {Verdict::misses, 0};
        const bool found = next <= soonest_;
        if (next <= time_)
            return {Verdict::holds, time_};
        time_ = next;
        if (found)
            return {Verdict::holds, next};
    }
}

Answer ResponseTime::response(Loads above, const Load &own, Effort &effort) {
    const u128 least = u128{own.wcet} + own.blocking;
    if (rate_ < one) {
        const u128 floor = rate_ > above_.size() ? rate_ - above_.size() : 0;
        const u128 enough = (least << 64) / (one - floor);
        if (enough > limit)
            return {Verdict::misses, 0};
        time_ = enough > time_ ? static_cast<u64>(enough) : time_;
    }
    u64 release = 0, worst = 0, last_job = never;
    for (u64 job = 0;; job++) {
        if (job == long_window)
            last_job = repeats_after(above, own, Supply(Shape::general, 1, 1));
        const u128 base = least + u128{job} * own.wcet;
        const u64 last = clamp(u128{release} + own.deadline);
        if (last == never || base > limit)
            return {Verdict::unknown, 0};
        if (time_ > last)
            return {Verdict::misses, 0};
        const Answer done = finish(static_cast<u64>(base), last, effort);
        if (done.verdict != Verdict::holds)
            return done;
        worst = done.time - release > worst ? done.time - release : worst;
        const u128 next = u128{job + 1} * own.period;
        release = next > own.jitter ? clamp(next - own.jitter) : 0;
        if (release >= done.time || job >= last_job)
            return {Verdict::holds, worst};
    }
}

// Whether work piles up whatever the phases: utilisation above 1.
bool ResponseTime::overload(Loads set) {
    u128 total = 0;
    for (const Load &load : set) {
        rates_.push_back(rate_of(load));
        total += rates_.back() < 2 * one ? rates_.back() : 2 * one;
    }
    return total > one;
}

// The verdict on the last load of `set` below all others.
Verdict ResponseTime::judge_next(Loads set, u64 *bound, Effort &effort) {
    const Load &own = set.back();
    if (bound == nullptr && surely_holds(own))
        return Verdict::holds;
    if (jobs_ + own.wcet + own.blocking > limit)
        return no_for(set);
    if (own.wcet + own.blocking < blocking_)
        restart(set.first(set.size() - 1));
    const Answer answer = response(set.first(set.size() - 1), own, effort);
    blocking_ = own.blocking;
    if (answer.verdict == Verdict::misses)
        return no_for(set);
    if (bound != nullptr && answer.verdict == Verdict::holds)
        *bound = answer.time;
    return answer.verdict;
}

Verdict ResponseTime::operator()(Loads set, u64, std::span<u64> bounds) {
    rates_.clear();
    restart({});
    Verdict whole = overload(set) ? Verdict::misses : Verdict::holds;
    if (whole == Verdict::misses && bounds.empty())
        return whole;
    Effort effort(default_effort);
    u128 total = 0;
    for (std::size_t index = 0; index < set.size(); index++) {
        total += rates_[index];
        if (total > one)
            break;
        u64 *const bound = bounds.empty() ? nullptr : &bounds[index];
        const Verdict verdict = judge_next(set.first(index + 1), bound, effort);
        if (verdict != Verdict::holds && bounds.empty())
            return verdict;
        if (whole == Verdict::holds)
            whole = verdict;
        add(set[index]);
    }
    return whole;
}

} // namespace

SetTest make_response_time() {
    return ResponseTime();
}

} // namespace hyperperiod::analysis
