// SPDX-License-Identifier: BSD-2-Clause
//
// A server with work throughout a window gets at least what its supply bound promises for it.
//
// For periodic and deferrable servers the bound is that of the periodic resource model: nothing for
// at most 2 (period - budget), then the budget in each period. A polling server may be empty when
// work comes, so its longest wait is 2 period - budget; so may a slice that is lost (slice-once),
// and one that is kept may lose its rest to earlier deadlines (slice under edf). A window that
// starts at a refill has no such wait: the whole budget by each refill to come. Checked are all
// windows that start when work arrives or at a refill and are at most 64 periods long. Under
// slice-once work that runs out and comes anew at one instant loses a slice: it ends a window and
// begins another. The ordinary servers of fp-edf are slice-once under edf here.
//
// This is a promise only where the host-level test holds; whoever writes the trace says so in its
// header. Other budget rules are skipped. After a swap or a change the promise rests until the
// server's first refill.
//
// Late picks. Let each pick come at most L late, on a pcpu of its own. The bound is then lowered,
// for a window of length t of server i, by
//
//     L * (2 + (floor(t / period) + 2) * (1 + sum over the others j on the pcpu of c(i, j)))
//
// with c = 1, or floor(period of i / period of j) + 2 where j may have extra time. The argument,
// for one period of i in which it has work throughout. Take the time from the last instant before
// which nobody ahead of i could run, or from the refill if that was later, up to when i has its
// budget.
//
// - Once somebody of i and those ahead of it could run, one pick later one of them has the pcpu:
//   what was there before them takes at most L, once. From then on each pick, late or not, is
//   between them.
// - What i runs too long by is its own supply. What j runs too long by is charged to j. If it is a
//   debt, j pays it back, so that over the whole time j is charged at most the budgets that the
//   host-level test counts, and L for the last debt. If instead j's deadline moves behind that of i
//   while it runs, there is no debt, and at most L once, since j is behind i from then on. Debts in
//   extra time are forgiven: there it is L for each of j's periods that the time touches.
// - What the test counts for j does not depend on when j runs, and what nobody has used by the end
//   of its period is lost. So one period's loss, L (1 + sum c), is not carried into the next.
//
// A window touches at most floor(t / period) + 2 periods. Once per window i itself may start with a
// debt of L, and its work may arrive while another one runs at i's expense: the 2 in front.
//
// Skipped are runs in which picks come so late that this leaves nothing; shared pcpus, for which
// this argument says nothing; and polling servers and slices that are lost under edf with extra
// time, since there the time looked at may be as long as the run, with forgiven debts all along.

#include <deque>

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

constexpr Time window_periods = 64;

// A rule with an interface, which promise something together.
struct Terms {
    Budget budget;
    Order order;
    Time period, amount;

    bool operator==(const Terms &) const = default;
};

bool is_bounded(Budget budget) {
    return budget == Budget::periodic || budget == Budget::deferrable || budget == Budget::polling
           || budget == Budget::slice || budget == Budget::slice_once;
}

// Whether the budget may be gone, although nobody used it, when work comes.
bool is_lost(Budget budget) {
    return budget == Budget::polling || budget == Budget::slice_once;
}

// What late picks may take from a server: in each of its periods so many.
struct Taken {
    Time late, picks;

    // The most in any window of that length.
    Wide most(Time window, Time period) const {
        return Wide{late} * (2 + Wide{window / period + 2} * picks);
    }
};

// The least supply in any window of that length, as the CSA paper's Eq. 1 counts it.
Time least_supply(const Terms &terms, Time window) {
    const Time gap = terms.period - terms.amount;
    const bool worse =
        is_lost(terms.budget) || (terms.budget == Budget::slice && terms.order == Order::edf);
    const Time blackout = worse ? 2 * terms.period - terms.amount : 2 * gap;
    const Time first = blackout - gap;
    if (window < first)
        return 0;
    const Time whole = (window - first) / terms.period;
    return whole * terms.amount + std::max(Time{0}, window - blackout - whole * terms.period);
}

// What is due in a window of this length that begins at a refill, if every pick is in time.
Time supply_from_refill(const Terms &terms, Time window) {
    const Time whole = window / terms.period, part = window % terms.period;
    return whole * terms.amount + std::max(Time{0}, part - (terms.period - terms.amount));
}

// Where windows begin, and how much the server had got by then.
struct Start {
    Time time;
    Time supplied;
    u64 number;
    bool at_refill;
};

// A window with less supply than was due.
struct Short {
    Start start;
    Time window, got;
    Wide due;
};

// A time throughout which one server has work under one rule with one interface. The bound can only
// be broken where a gap in the supply ends, or the stretch does.
//
// Windows that start at refills of one grid are judged together: the i-th refill promises i budgets
// less than the first, so all hold if the one does that has got the most beyond that so far. Only
// if it does not are they looked at one by one.
class Stretch {
  public:
    Stretch(const Terms &promise, const Taken &taken, u64 count)
        : terms(promise), number(count), taken_(taken) {}

    const Terms terms;
    const u64 number; // of those that began before it

    bool has_starts() const { return starts_ > 0; }

    void add_start(Time now, bool at_refill) {
        const Start start{now, supplied_, starts_++, at_refill};
        if (at_refill && origin_ < 0)
            origin_ = now;
        if (!at_refill || (now - origin_) % terms.period != 0) {
            loose_.push_back(start);
            return;
        }
        grid_.push_back(start);
        most_ = std::max(most_, beyond(start));
    }

    // It runs from `start` to `end`: a gap ends, or the run before goes on.
    template <class Report> void run(Time start, Time end, Report &&report) {
        if (start != run_end_)
            judge(start, report);
        supplied_ += end - start;
        run_end_ = end;
    }

    // A gap in the supply ends now: what is short there?
    template <class Report> void judge(Time now, Report &&report) {
        const Wide exact = now - Wide{window_periods} * terms.period;
        const Time oldest = static_cast<Time>(std::max(Wide{-1}, exact));
        while (!grid_.empty() && grid_.front().time < oldest)
            grid_.pop_front();
        if (!grid_.empty() && most_ > allowed(now)) {
            judge_each(grid_, now, report);
            most_ = least;
            for (const Start &start : grid_)
                most_ = std::max(most_, beyond(start));
        }
        std::erase_if(loose_, [oldest](const Start &start) { return start.time < oldest; });
        judge_each(loose_, now, report);
    }

  private:
    static constexpr Wide least = -(Wide{1} << 120);

    Wide lost() const { return Wide{taken_.late} * taken_.picks; }

    // What had been got at a refill beyond what a window from the first one on is due until then.
    Wide beyond(const Start &start) const {
        const Time index = (start.time - origin_) / terms.period;
        return start.supplied - index * (terms.amount - lost());
    }

    // The most of that with which no window up to now is short.
    Wide allowed(Time now) const {
        const Time index = (now - origin_) / terms.period, part = (now - origin_) % terms.period;
        const Time due = std::max(Time{0}, part - (terms.period - terms.amount));
        return supplied_ - Wide{index} * terms.amount - due + 2 * Wide{taken_.late}
               + (Wide{index} + 2) * lost();
    }

    // Each start tells of its first window that is short, and is then done with.
    template <class Starts, class Report>
    void judge_each(Starts &starts, Time now, Report &report) {
        std::erase_if(starts, [&](const Start &start) {
            const Time window = now - start.time, got = supplied_ - start.supplied;
            if (window <= 0)
                return false;
            const Time in_time =
                start.at_refill ? supply_from_refill(terms, window) : least_supply(terms, window);
            const Wide due = in_time - taken_.most(window, terms.period);
            if (got >= due)
                return false;
            report(*this, Short{start, window, got, due});
            return true;
        });
    }

    Taken taken_;
    Time supplied_ = 0, run_end_ = -1;
    u64 starts_ = 0;
    Time origin_ = -1;         // the first refill; -1: none yet
    std::deque<Start> grid_;   // at refills a whole number of periods after it
    std::vector<Start> loose_; // all others
    Wide most_ = least;
};

// Gathers stretches of work and the supply in them, and measures their windows.
class Guarantee : public Property {
  public:
    explicit Guarantee(const Header &run)
        : Property(run), open_(run.vcpus.size()), deadlines_(run.vcpus.size(), never) {
        verdict.reason = why_not();
        for (std::size_t vcpu = 0; vcpu < run.vcpus.size(); vcpu++)
            picks_.push_back(late_picks(vcpu));
    }

    void moment(Moment &moment) override {
        for (const u16 vcpu : moment.touched)
            if (!moment.is_spare(vcpu))
                look_at(moment, vcpu);
        for (const Grant &grant : moment.grants)
            if (grant.run != nobody && open_[grant.run])
                open_[grant.run]->run(moment.now, moment.until, reporter(grant.run));
        last_ = moment.until;
    }

    void close(Time) override {
        for (std::size_t vcpu = 0; vcpu < open_.size(); vcpu++)
            end(static_cast<u16>(vcpu), last_);
    }

  private:
    void look_at(const Moment &moment, u16 vcpu) {
        const Server &server = *moment.server(vcpu);
        Rules rules = moment.rules_of(vcpu);
        if (moment.ordinary(vcpu))
            rules = {Budget::slice_once, Order::edf, rules.slack};
        const Terms terms{rules.budget, rules.order, server.period, server.budget};
        std::optional<Stretch> &stretch = open_[vcpu];
        const bool bound = moment.has_work(vcpu) && server.settled && promises(rules);
        const bool woke =
            rules.budget == Budget::slice_once && moment.work_since[vcpu] == moment.now;
        if (stretch && (woke || !bound || stretch->terms != terms))
            end(vcpu, moment.now);
        if (bound) {
            if (!stretch)
                stretch.emplace(terms, Taken{header.late, picks_[vcpu]}, stretches_++);
            const bool begins = server.deadline - server.period == moment.now;
            // Without budget it was lost at that very instant.
            if (!stretch->has_starts() || deadlines_[vcpu] != server.deadline)
                stretch->add_start(moment.now, begins && server.usable());
        }
        deadlines_[vcpu] = server.deadline;
    }

    void end(u16 vcpu, Time now) {
        if (open_[vcpu])
            open_[vcpu]->judge(now, reporter(vcpu));
        open_[vcpu].reset();
    }

    // Tells of windows of one vcpu that are short.
    struct Reporter {
        Guarantee &guarantee;
        u16 vcpu;

        void operator()(const Stretch &stretch, const Short &found) const {
            const Turn turn{stretch.number, found.start.number, 0, 0};
            guarantee.verdict.add(turn, found.start.time, [&] {
                return guarantee.header.server_name(vcpu) + " got " + std::to_string(found.got)
                       + " of " + std::to_string(static_cast<Time>(found.due))
                       + " ns in a window of " + std::to_string(found.window) + " ns";
            });
        }
    };

    Reporter reporter(u16 vcpu) { return {*this, vcpu}; }

    bool promises(const Rules &rules) const {
        const bool endless =
            is_lost(rules.budget) && rules.order == Order::edf && rules.slack == Slack::extra;
        return is_bounded(rules.budget) && !(header.late > 0 && endless);
    }

    // Why nothing is promised in this run, or empty.
    std::string why_not() const;

    // Whether late picks may take everything from every server, however long the window.
    bool is_empty() const {
        bool any = false;
        for (std::size_t number = 0; number < header.vcpus.size(); number++) {
            const Vcpu &vcpu = header.vcpus[number];
            if (!vcpu.period || !vcpu.budget)
                continue;
            any = true;
            const Taken taken{header.late, late_picks(number)};
            const Wide window = Wide{window_periods} * *vcpu.period;
            const Time length = static_cast<Time>(std::min(window, Wide{longest}));
            if (Wide{window_periods} * *vcpu.budget > taken.most(length, *vcpu.period))
                return false;
        }
        return any;
    }

    // How many late picks may take time from a server in one of its periods; see above.
    Time late_picks(std::size_t vcpu) const {
        const Vcpu &own = header.vcpus[vcpu];
        Time picks = 1;
        for (std::size_t number = 0; number < header.vcpus.size(); number++) {
            const Vcpu &other = header.vcpus[number];
            const bool apart = header.partitioned && other.pcpu != own.pcpu;
            if (number != vcpu && !apart && own.period && other.period)
                picks += other.extra ? *own.period / *other.period + 2 : 1;
        }
        return picks;
    }

    std::vector<std::optional<Stretch>> open_;
    std::vector<Time> deadlines_, picks_;
    u64 stretches_ = 0;
    Time last_ = 0;
};

std::string Guarantee::why_not() const {
    if (!header.guarantees)
        return "the header does not promise it: no host-level test is known to hold";
    if (header.late > 0 && !header.partitioned && header.pcpus > 1)
        return "no bound is known for what late picks take where pcpus are shared";
    if (is_empty())
        return "picks come up to " + std::to_string(header.late)
               + " ns late, which leaves no bound above 0";
    if (!is_bounded(header.rules.budget) && !header.swaps)
        return "no bound is promised for " + header.budget_word + " servers";
    return "";
}

} // namespace

const Row rows::guarantee{
    "guarantee",
    "A server with work throughout a window gets at least what its supply bound promises for it.",
    {.moments = true},
    make_property<Guarantee>,
};

} // namespace hyperperiod::trace
