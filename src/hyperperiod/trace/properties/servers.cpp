// SPDX-License-Identifier: BSD-2-Clause
//
// The budget rules: see servers.hpp.

#include "src/hyperperiod/trace/properties/servers.hpp"

#include <array>
#include <string_view>

namespace hyperperiod::trace {

void Server::come_due(Time now) {
    if (change <= now && wanted) {
        take_wanted();
        start_anew(now);
    } else {
        refill(now);
    }
    settled = true;
}

void Server::take_wanted() {
    period = wanted->period;
    budget = wanted->budget;
    priority = wanted->priority;
    wanted.reset();
    change = never;
}

void Server::want(const Wanted &terms, Time now) {
    wanted = terms;
    change = std::max(now, whole_refill());
    settled = false;
}

void Server::refill(Time now) {
    const Time owed = debt();
    level = 0;
    remaining = budget + owed;
    deadline = now + period;
    drop();
}

void Server::charge(Time amount, Time) {
    remaining -= amount;
    drop();
}

void Server::arrive(Time) {
    has_work = true;
}

void Server::adopt(const Server &other, Time now) {
    period = other.period;
    budget = other.budget;
    priority = other.priority;
    const Time left = other.level == 0 ? other.remaining : 0;
    remaining = std::min(left, max_budgets() * budget);
    deadline = other.period_end(now);
    has_work = other.has_work;
    settled = false;
}

void Server::drop() {
    if (!extra || remaining > 0 || budget <= 0)
        return;
    const Time levels = -remaining / budget + 1;
    level += static_cast<u32>(levels);
    remaining += levels * budget;
}

namespace {

// What is left is lost at any instant at which there is no work: that depletes the server.
class Polling : public Server {
  public:
    using Server::Server;

    void settle() override {
        if (!has_work && level == 0 && remaining > 0) {
            remaining = 0;
            drop();
        }
    }
};

// A period begins with work: at an arrival after the deadline, or at the deadline itself.
//
// One that has used up its slice has moved on to the period that begins at its deadline. Work
// that arrives before the deadline finds what is left of the slice, or loses it.
class Slice : public Server {
  public:
    using Server::Server;

    void arrive(Time now) override {
        has_work = true;
        if (fresh_) {
            fresh_ = false;
            wake_first(now);
            return;
        }
        if (depleted() && deadline <= now && now < deadline + period) {
            refill(deadline);
            settled = true;
        }
        if (now >= deadline)
            begin(now);
        else
            wake_early();
    }

    void adopt(const Server &other, Time now) override {
        Server::adopt(other, now);
        fresh_ = false;
    }

    u64 claim() const override { return claim_ == 0 ? no_claim : claim_; }
    u64 claims() const override { return claims_; }

  protected:
    // Whether what is left is lost by a block.
    virtual bool loses() const { return false; }

    Time refill_due() const override { return has_work ? deadline : never; }

    void start_anew(Time now) override {
        if (has_work) {
            refill(now);
            return;
        }
        const Time left = level == 0 ? remaining : 0;
        level = 0;
        remaining = std::min(left, budget);
    }

  private:
    // Long unblocking: a period from now on.
    void begin(Time now) {
        settled = true;
        claim_ = 0;
        const Time periods = (now - deadline) / period;
        const Wide paid = Wide{debt()} + Wide{periods} * budget;
        level = 0;
        remaining = static_cast<Time>(std::min(Wide{0}, paid)) + budget;
        deadline = now + period;
        drop();
    }

    // The server's first work of all begins a period, a slice later where slices are lost.
    void wake_first(Time now) {
        if (now < deadline)
            return;
        if (loses())
            deadline = now + budget;
        else
            begin(now);
    }

    void wake_early() {
        if (!loses() || level > 0 || remaining <= 0)
            return;
        const Wide claim = Wide{1024} * period / remaining;
        claim_ = static_cast<u64>(std::min(claim, Wide{longest}));
        claims_++;
        remaining = 0;
        drop();
    }

    bool fresh_ = true; // until its first work, if it was not served under another policy before
    u64 claim_ = 0;
    u64 claims_ = 0;
};

// Slices that are lost by a block.
class SliceOnce : public Slice {
  public:
    using Slice::Slice;

  protected:
    bool loses() const override { return true; }
};

// Under fp-edf: a slice is kept by those with a priority, and lost by ordinary servers.
class SliceOfClass : public Slice {
  public:
    using Slice::Slice;

  protected:
    bool loses() const override { return priority == ordinary_priority; }
};

// Hard constant bandwidth server: the deadline moves with arrivals and with depletion.
class Cbs : public Server {
  public:
    using Server::Server;

    void arrive(Time now) override {
        has_work = true;
        if (depleted())
            return;
        if (Wide{remaining} * period <= Wide{deadline - now} * budget)
            return;
        if (wanted) {
            take_wanted();
            settled = true;
        }
        remaining = budget;
        deadline = now + period;
    }

  protected:
    Time refill_due() const override { return depleted() ? deadline : never; }
};

// What was used comes back one period after the activation that used it.
//
// A queue of (time, amount) whose amounts sum to the budget; the head is usable once its time has
// come. Time used is taken off the head and queued again one period after the head's time. The
// deadline is one period after the activation and does not move while the head is used. An
// activation lasts at most one period, so that a server that waits long builds up no backlog.
class Sporadic : public Server {
  public:
    Sporadic(const Wanted &terms, bool may_have_extra)
        : Server(terms, may_have_extra), refills_{{0, budget}} {}

    void charge(Time amount, Time now) override {
        if (level > 0) {
            Server::charge(amount, now);
            return;
        }
        if (!use(amount, now - amount) && remaining > 0) {
            remaining = refills_.front().amount;
            return;
        }
        look(now);
        drop();
    }

    void arrive(Time now) override {
        has_work = true;
        if (depleted())
            return;
        refills_.front().time = now;
        merge_head();
        look(now);
    }

    void adopt(const Server &other, Time now) override {
        Server::adopt(other, now);
        const Time owed = std::max(Time{0}, -remaining);
        fill(std::max(Time{0}, remaining), now, deadline);
        use(owed, now);
        look(now);
    }

    Time period_end(Time now) const override {
        const Time end = whole_refill();
        return end > now ? end : now + period;
    }

  protected:
    Time refill_due() const override { return depleted() ? refills_.front().time : never; }

    void refill(Time now) override {
        level = 0;
        look(now);
    }

    void start_anew(Time now) override {
        Time left = 0;
        for (const Refill &one : refills_)
            left += one.time <= now ? one.amount : 0;
        level = 0;
        fill(std::min(left, budget), now, now + period);
    }

    Time whole_refill() const override { return refills_.back().time; }

  private:
    struct Refill {
        Time time, amount;
    };

    // Refills that a server remembers.
    static constexpr std::size_t queue = 8;

    // A new queue: what is left at once, the rest of the budget later.
    void fill(Time left, Time now, Time rest) {
        refills_.clear();
        if (left > 0)
            refills_.push_back({now, left});
        if (left < budget)
            append(rest, budget - left, 0);
        look(now);
    }

    void look(Time now) {
        const Refill &head = refills_.front();
        const bool usable = head.time <= now;
        remaining = usable ? head.amount : 0;
        deadline = usable ? head.time + period : head.time;
    }

    // Spends from the head on, each refill coming back one period later; was one used up?
    bool use(Time amount, Time from) {
        bool used_up = false;
        while (amount > 0) {
            renew(from);
            const Refill head = refills_.front();
            const Time used = std::min(amount, head.amount);
            const bool whole = used == head.amount;
            if (whole)
                refills_.erase(refills_.begin());
            else
                refills_.front() = {head.time + used, head.amount - used};
            used_up = used_up || whole;
            append(head.time + period, used, whole ? 0 : 1);
            from += used;
            amount -= used;
        }
        return used_up;
    }

    // An activation that is a whole period old when it is used starts anew.
    void renew(Time used_at) {
        if (refills_.front().time + period <= used_at) {
            refills_.front().time = used_at;
            merge_head();
        }
    }

    // What continues the tail joins it; into a full queue it joins at its own, later time. `heads`
    // is 1 while a head is in use: nothing joins that.
    void append(Time time, Time amount, std::size_t heads) {
        if (refills_.size() > heads) {
            Refill &tail = refills_.back();
            if (time <= tail.time + tail.amount) {
                tail.amount += amount;
                return;
            }
            if (refills_.size() - heads == queue - 1) {
                tail = {time, tail.amount + amount};
                return;
            }
        }
        refills_.push_back({time, amount});
    }

    // Refills that come due before the head could be used up join it.
    void merge_head() {
        while (refills_.size() > 1) {
            const Refill head = refills_[0], next = refills_[1];
            if (next.time > head.time + head.amount)
                return;
            refills_.erase(refills_.begin());
            refills_.front() = {head.time, head.amount + next.amount};
        }
    }

    std::vector<Refill> refills_;
};

using Make = std::unique_ptr<Server> (*)(const Wanted &terms, bool extra);

template <class Rule> std::unique_ptr<Server> make(const Wanted &terms, bool extra) {
    return std::make_unique<Rule>(terms, extra);
}

struct BudgetRow {
    std::string_view word;
    Budget rule;
    Make make;
};

// Periodic and deferrable differ in who is charged when, not in how budget comes back.
constexpr auto budgets = std::to_array<BudgetRow>({
    {"periodic", Budget::periodic, make<Server>},
    {"deferrable", Budget::deferrable, make<Server>},
    {"polling", Budget::polling, make<Polling>},
    {"sporadic", Budget::sporadic, make<Sporadic>},
    {"cbs", Budget::cbs, make<Cbs>},
    {"slice", Budget::slice, make<Slice>},
    {"slice-once", Budget::slice_once, make<SliceOnce>},
});

constexpr auto orders = std::to_array<std::pair<std::string_view, Order>>({
    {"fp", Order::fp},
    {"edf", Order::edf},
    {"fp-edf", Order::fp_edf},
});

constexpr auto slacks = std::to_array<std::pair<std::string_view, Slack>>({
    {"none", Slack::none},
    {"lend", Slack::lend},
    {"reclaim", Slack::reclaim},
    {"spare", Slack::spare},
    {"extra", Slack::extra},
    {"weights", Slack::weights},
});

} // namespace

std::unique_ptr<Server> make_server(const Rules &rules, const Wanted &terms, bool extra) {
    if (rules.order == Order::fp_edf)
        return make<SliceOfClass>(terms, extra);
    for (const BudgetRow &row : budgets)
        if (row.rule == rules.budget)
            return row.make(terms, extra);
    return nullptr;
}

std::optional<Budget> budget_rule(const std::string &word) {
    for (const BudgetRow &row : budgets)
        if (row.word == word)
            return row.rule;
    return std::nullopt;
}

std::optional<Order> order_rule(const std::string &word) {
    for (const auto &[name, rule] : orders)
        if (name == word)
            return rule;
    return std::nullopt;
}

std::optional<Slack> slack_rule(const std::string &word) {
    for (const auto &[name, rule] : slacks)
        if (name == word)
            return rule;
    return std::nullopt;
}

} // namespace hyperperiod::trace
