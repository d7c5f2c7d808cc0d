// SPDX-License-Identifier: BSD-2-Clause
//
// Over any n consecutive periods a server is charged at most n budgets at its own level.
//
// What exceeds that may only be the lateness of the last pick, and what a server may save where its
// rule lets it hold more than one budget. A server's periods are its own, from refill to refill,
// worked out from its parameters and from what happened, never taken from the records of its
// refills: multiples of its period for periodic, deferrable and polling servers; from deadline to
// deadline for a constant bandwidth server. A sporadic server has no fixed periods: any window of n
// periods that starts when it gets work after having none counts.

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

// What periods count together: those of one kind that one interface has from one origin on.
struct Series {
    enum class Event { no_period, phase, to, from } kind = Event::no_period;
    Time origin = 0, period = 0, budget = 0, max_budgets = 0;

    bool operator==(const Series &) const = default;
};

// One period of a server. It ends at `end` at the latest; most end with a refill, at which the
// replay stops anyway.
struct Period {
    Series series;
    Time index = 0, end = never;

    bool operator==(const Period &) const = default;
};

// How far the charges of consecutive periods exceed the budgets of those periods.
struct Account {
    Period period, reported;
    Wide carried = 0, charged = 0;
    Time busy_since = -1; // of a sporadic server: -1 is never
    Time busy_period = 0, busy_budget = 0;

    // A charge in `now`; the excess of the worst window that ends with it. A window starts with any
    // period, or else only with the first one counted.
    Wide charge(const Period &now, Time amount, bool any_start) {
        if (now != period)
            close(now, any_start);
        charged += amount;
        return carried + charged - now.series.budget;
    }

    void close(const Period &now, bool any_start) {
        const Time budget = now.series.budget;
        if (period.series != now.series)
            carried = -Wide{now.index} * budget;
        else
            carried += charged - Wide{now.index - period.index} * budget;
        if (any_start)
            carried = std::max(Wide{0}, carried);
        charged = 0;
        period = now;
    }
};

std::string text_of(Wide number) {
    return std::to_string(static_cast<Time>(number));
}

// Adds up the charges of each server, period by period.
class Budgets : public Property {
  public:
    explicit Budgets(const Header &run) : Property(run), accounts_(run.vcpus.size() + run.pcpus) {}

    void moment(Moment &moment) override {
        for (const u16 key : moment.touched)
            note_start(moment, key);
        for (u16 pcpu = 0; pcpu < header.pcpus; pcpu++)
            for (const std::size_t payer : moment.payers(pcpu)) {
                const Server *const server = moment.server(payer);
                if (server == nullptr)
                    verdict.add(moment.now,
                                [&] { return name(payer) + " pays but has no server"; });
                else if (server->level == 0)
                    charge(moment, payer, *server);
            }
    }

  private:
    // Charges the moment, cut where a period of a sporadic server ends in it.
    void charge(const Moment &moment, std::size_t payer, const Server &server) {
        const Budget rule = moment.rules_of(payer).budget;
        Account &account = accounts_[payer];
        const Wide allowed = Wide{header.late} + (server.max_budgets() - 1) * server.budget;
        for (Time now = moment.now; now < moment.until;) {
            const Period period = period_of(rule, account, server, now);
            const Time stop = std::min(moment.until, period.end);
            const Wide excess = account.charge(period, stop - now, rule != Budget::sporadic);
            now = stop;
            if (excess > allowed && account.reported != period) {
                account.reported = period;
                verdict.add(stop, [&] {
                    return name(payer) + " is " + text_of(excess) + " ns over its budgets";
                });
            }
        }
    }

    // Since when a sporadic server has had work, this rule and this interface.
    void note_start(const Moment &moment, u16 key) {
        Account &account = accounts_[key];
        const Server &server = *moment.server(key);
        const bool works = moment.has_work(key);
        if (moment.rules_of(key).budget != Budget::sporadic || !works) {
            account.busy_since = -1;
        } else if (account.busy_since < 0 || account.busy_period != server.period
                   || account.busy_budget != server.budget) {
            account.busy_since = moment.now;
            account.busy_period = server.period;
            account.busy_budget = server.budget;
        }
    }

    // The server's current period; periodic rules and cbs have one deadline in each.
    static Period period_of(Budget rule, const Account &account, const Server &server, Time now) {
        const Time period = server.period, deadline = server.deadline;
        const auto series = [&](Series::Event kind, Time origin) {
            return Series{kind, origin, period, server.budget, server.max_budgets()};
        };
        if (rule == Budget::sporadic && account.busy_since >= 0) {
            const Time since = account.busy_since, index = (now - since) / period;
            return {series(Series::Event::from, since), index, since + (index + 1) * period};
        }
        if (rule == Budget::cbs)
            return {series(Series::Event::to, deadline), 0, never};
        return {series(Series::Event::phase, deadline % period), deadline / period, never};
    }

    std::string name(std::size_t payer) const {
        return payer < header.vcpus.size() ? header.vcpus[payer].name : "spare";
    }

    std::vector<Account> accounts_;
};

} // namespace

const Row rows::budget{
    "budget",
    "Over any n consecutive periods a server is charged at most n budgets at its own level.",
    {.moments = true},
    make_property<Budgets>,
};

} // namespace hyperperiod::trace
