// SPDX-License-Identifier: BSD-2-Clause
//
// Did a server get its budget? Counted period by period, by every host that drives the core.
//
// A period begins at a refill and ends at the server's deadline. It counts as *wanted* if the
// server had work without a gap from its beginning until its budget was used up, or until its end:
// then its whole budget was asked for, which is what a guaranteed server is sure to get. If some of
// it was left at the end the period was *short*. What was late before is no excuse and no credit: a
// debt is budget that the server has had.
//
// A host tells of all in the order in which it happens: work that comes and goes, refills and
// depletions as the core notes them, and what was charged at the server's own level. A note may
// come later than what it is about, if a pick was late; then the time of the refill counts, which
// is its deadline less its period. A grant that is not charged yet began at `since_ns` (NEVER: the
// server does not pay now).
//
// Budgets of the sporadic rule come back in pieces, so that it has no such periods: a host does
// not tell of its refills.
#pragma once

#include "hosts/sim/scenario.h"

#include <algorithm>
#include <optional>

namespace hyperperiod::sim {

struct PeriodCount {
    u64 wanted = 0;
    u64 cut_short = 0;          // of those
    Ns least_supply_ns = NEVER; // of a budget by the end of its period
    Ns latest_ns = 0;           // after the beginning of its period a budget was used up
};

// A refill, as the core has it when it is done: `left_ns` at `now_ns`, by which the server may have
// used some of it.
struct Refill {
    Ns now_ns, deadline_ns, period_ns, budget_ns;
    i64 left_ns;
    bool keeps_old; // the rest of the old budget was used first, after its deadline (cbs)
};

class Periods {
  public:
    const PeriodCount &count() const { return count_; }

    void arrive(Ns now_ns, Ns since_ns) {
        if (!working_ && now_ns > idle_from_ns_) {
            close(now_ns, since_ns);
            wanted_ = begin_ns_ == now_ns;
            last_from_ns_ = work_from_ns_;
            last_to_ns_ = idle_from_ns_;
            work_from_ns_ = now_ns;
        }
        working_ = true;
        arrived_ns_ = now_ns;
    }

    void depart(Ns now_ns) {
        working_ = false;
        idle_from_ns_ = now_ns;
    }

    // It was charged for this time at its own level.
    void pay(Ns from_ns, Ns to_ns) {
        if (to_ns > end_ns_ && !passed_) {
            paid_at_end_ns_ = paid_ns_ + (end_ns_ > from_ns ? end_ns_ - from_ns : 0);
            passed_ = true;
        }
        paid_ns_ += to_ns - from_ns;
    }

    void refill(const Refill &refill, Ns since_ns) {
        const Ns begin_ns = refill.deadline_ns - refill.period_ns;

        close(refill.now_ns, since_ns);
        if (!refill.keeps_old)
            add_unseen(begin_ns, refill.period_ns, since_ns);
        before_ns_ = paid_by(refill.keeps_old ? refill.now_ns : begin_ns, since_ns);
        begin_ns_ = begin_ns;
        end_ns_ = refill.deadline_ns;
        budget_ns_ = refill.budget_ns;
        left_ns_ = refill.left_ns;
        keeps_old_ = refill.keeps_old;
        // One that was over when its budget came (cbs) may be told of when work comes again.
        wanted_ = left_ns_ > 0
                  && ((work_from_ns_ <= begin_ns && had_work_until(begin_ns))
                      || (last_from_ns_ <= begin_ns && end_ns_ <= last_to_ns_));
        passed_ = false;
    }

    // Nothing is left: it was used, or lost for want of work.
    void deplete(Ns now_ns, Ns since_ns) {
        if (!wanted_)
            return;
        const i64 over_ns = used(paid_by(now_ns, since_ns)) - left_ns_;

        if (over_ns < 0 && (!working_ || arrived_ns_ == now_ns))
            wanted_ = false;
        else
            complete(now_ns - static_cast<Ns>(std::max<i64>(over_ns, 0)), since_ns);
    }

    // Nothing is known of this period any more: a swap, or a move to another pcpu.
    void forget(Ns now_ns, Ns since_ns) {
        close(now_ns, since_ns);
        wanted_ = false;
        begin_ns_ = end_ns_ = NEVER;
    }

    // The run ends, and all is charged.
    void finish(Ns now_ns) {
        if (wanted_ && used(paid_ns_) >= left_ns_ && (keeps_old_ || now_ns <= end_ns_))
            complete(now_ns - static_cast<Ns>(used(paid_ns_) - left_ns_), NEVER);
        close(now_ns, NEVER);
        wanted_ = false;
        if (!keeps_old_)
            add_unseen(now_ns, end_ns_ - begin_ns_, NEVER);
    }

  private:
    i64 used(Ns paid_ns) const { return static_cast<i64>(paid_ns - before_ns_); }

    // What it had paid by an instant that is now, or the end of the period.
    Ns paid_by(Ns time_ns, Ns since_ns) const {
        if (passed_ && time_ns == end_ns_)
            return paid_at_end_ns_;
        return paid_ns_ + (since_ns < time_ns ? time_ns - since_ns : 0);
    }

    bool had_work_until(Ns time_ns) const { return working_ || idle_from_ns_ >= time_ns; }

    void complete(Ns time_ns, Ns since_ns) {
        if (!wanted_ || !had_work_until(std::min(time_ns, end_ns_))) {
            wanted_ = false;
            return;
        }
        if (time_ns > end_ns_)
            add_short(since_ns);
        else
            add(budget_ns_);
        // What it had too much may be more than the period is old: it was used up from the
        // beginning.
        if (time_ns > begin_ns_ && had_work_until(time_ns))
            count_.latest_ns = std::max(count_.latest_ns, time_ns - begin_ns_);
    }

    // The period has ended, if it has: what is left of its budget now was not given in time.
    void close(Ns now_ns, Ns since_ns) {
        if (!wanted_ || now_ns < end_ns_)
            return;
        const i64 over_ns = used(paid_by(end_ns_, since_ns)) - left_ns_;

        if (over_ns >= 0)
            complete(end_ns_ - static_cast<Ns>(over_ns), since_ns);
        else if (had_work_until(end_ns_))
            add_short(since_ns);
        wanted_ = false;
    }

    // Periods after this one that nobody looked at: the refill of a server that waits with budget
    // matters to nobody. It got nothing in them.
    void add_unseen(Ns until_ns, Ns period_ns, Ns since_ns) {
        const u64 periods = until_ns > end_ns_ ? (until_ns - end_ns_) / period_ns : 0;

        if (periods == 0 || work_from_ns_ > end_ns_ || !had_work_until(until_ns)
            || paid_by(until_ns, since_ns) != paid_by(end_ns_, since_ns))
            return;
        count_.wanted += periods;
        count_.cut_short += periods;
        count_.least_supply_ns = 0;
    }

    void add_short(Ns since_ns) {
        const i64 missing_ns = left_ns_ - std::max<i64>(used(paid_by(end_ns_, since_ns)), 0);

        count_.cut_short++;
        add(budget_ns_ - static_cast<Ns>(std::max<i64>(missing_ns, 0)));
    }

    void add(Ns supply_ns) {
        count_.wanted++;
        count_.least_supply_ns = std::min(count_.least_supply_ns, supply_ns);
        wanted_ = false;
    }

    PeriodCount count_;
    Ns paid_ns_ = 0;

    // The period: what had been paid before it, and what the server had at its beginning.
    Ns begin_ns_ = NEVER, end_ns_ = NEVER;
    Ns before_ns_ = 0, budget_ns_ = 0;
    i64 left_ns_ = 0;
    bool keeps_old_ = false;
    bool wanted_ = false; // so far, and not counted yet
    bool passed_ = false; // it was charged past the end, with what had been paid by then
    Ns paid_at_end_ns_ = 0;

    bool working_ = false;
    Ns work_from_ns_ = 0, idle_from_ns_ = 0, arrived_ns_ = NEVER;
    Ns last_from_ns_ = NEVER, last_to_ns_ = 0; // when it had work before, without a gap
};

} // namespace hyperperiod::sim
