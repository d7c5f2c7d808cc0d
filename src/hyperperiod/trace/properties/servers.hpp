// SPDX-License-Identifier: BSD-2-Clause
//
// The budget rules once more, to check traces with: one small class per rule.
//
// These are written from the rules' definitions and share nothing with the scheduler's own code: a
// mistake there is not repeated here. They favour the obvious. A server is told what happened (time
// was charged, work arrived or departed, its refill came) and says what it has left and when its
// budget comes back by itself.
//
// `remaining` below zero is a debt: a pick came late and the server paid past its end. A refill
// does not forgive it.
#pragma once

#include <memory>
#include <vector>

#include "src/hyperperiod/trace/properties/run.hpp"

namespace hyperperiod::trace {

// The priority of servers that have none, under fp-edf.
constexpr Time ordinary_priority = (1 << 24) - 1;
constexpr u64 no_claim = std::numeric_limits<u64>::max();

// An interface to come, with the priority that goes with it.
struct Wanted {
    Time period, budget, priority;
};

// A periodic server; the base of the other rules.
//
// It is refilled at origin + k * period, whatever was left is lost, and its deadline is its next
// refill. With permission for extra time it falls one level instead of depleting, and is back at
// level 0 at its refill.
class Server {
  public:
    Server(const Wanted &terms, bool may_have_extra)
        : period(terms.period), budget(terms.budget), priority(terms.priority),
          extra(may_have_extra) {}
    virtual ~Server() = default;

    Time period, budget, priority;
    bool extra;
    Time remaining = 0;
    u32 level = 0;
    Time deadline = 0;
    bool has_work = false;
    bool settled = true; // false until the first refill after a swap or a change
    std::optional<Wanted> wanted;
    Time change = never;

    // Whether the server can pay now, at whatever level.
    bool usable() const { return remaining > 0; }

    // When its budget or its interface changes if nothing else happens.
    Time due() const { return std::min(refill_due(), change); }

    // Does what is due: the change of its interface, or else the refill.
    void come_due(Time now);

    // Asks for another interface, from the server's next whole refill on.
    void want(const Wanted &terms, Time now);

    // The most that it can hold, in budgets.
    virtual Time max_budgets() const { return 1; }

    // Charges an amount that was paid until now; only rules that queue refills ask when.
    virtual void charge(Time amount, Time now);

    // It got work after having none.
    virtual void arrive(Time now);

    // It ran out of work.
    virtual void depart() { has_work = false; }

    // Everything of this instant has happened, only the pick is still to come.
    virtual void settle() {}

    // Takes over from the server that served this vcpu before a swap: what is left and the end of
    // the period are kept, but no more than this rule lets it hold; levels of extra time are gone.
    virtual void adopt(const Server &other, Time now);

    // When its current period ends: after a swap, its first refill under the new rule.
    virtual Time period_end(Time now) const { return deadline > now ? deadline : now + period; }

    // To a share, for a slice that was lost, and how many such claims there were.
    virtual u64 claim() const { return no_claim; }
    virtual u64 claims() const { return 0; }

  protected:
    void take_wanted();
    virtual Time refill_due() const { return deadline; }
    virtual void refill(Time now);
    virtual void start_anew(Time now) { refill(now); }
    virtual Time whole_refill() const { return deadline; }

    // Falls as many levels as extra time allows; without permission, stays depleted.
    void drop();
    bool depleted() const { return level > 0 || remaining <= 0; }
    Time debt() const { return level == 0 ? std::min(Time{0}, remaining) : 0; }
};

// A server under these rules. Under fp-edf it is one of two classes.
std::unique_ptr<Server> make_server(const Rules &rules, const Wanted &terms, bool extra);

// The rules by their words; none: there is no such rule here.
std::optional<Budget> budget_rule(const std::string &word);
std::optional<Order> order_rule(const std::string &word);
std::optional<Slack> slack_rule(const std::string &word);

} // namespace hyperperiod::trace
