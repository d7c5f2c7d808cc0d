// SPDX-License-Identifier: BSD-2-Clause
//
// A property of traces: what it is called, what it says, and how it is told of a run.
//
// A property sees what it asks for: records, in the order of the file; intervals, which are what
// one pcpu did from one run or idle record to the next; ends of instants; moments of the replay.
// Nothing is kept for longer than it may still matter, so that a trace of any length can be
// checked.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "src/hyperperiod/trace/properties/replay.hpp"
#include "src/hyperperiod/trace/properties/run.hpp"
#include "src/hyperperiod/trace/properties/verdict.hpp"

namespace hyperperiod::trace {

// What one pcpu did from one decision to the next, for longer than an instant. Its record says
// what, the `number`-th of the trace.
struct Interval {
    const Record &record;
    Time start, end;
};

class Property {
  public:
    explicit Property(const Header &run) : header(run), watch(run.late) {}
    Property(const Property &) = delete;
    Property &operator=(const Property &) = delete;
    virtual ~Property() = default;

    const Header &header;
    Verdict verdict;

    // One record; only those of the kinds that the row of the property names.
    virtual void record(const Record &, u64 /* number */) {}
    // An interval ends, at the time of the last record that was seen or at the end of the trace.
    virtual void interval(const Interval &) {}
    // Everything of the instant has been seen; the next one is at `until`.
    virtual void instant(Time /* now */, Time /* until */) {}
    // One moment of the replay; those of groups that are looked at count.
    virtual void moment(Moment &) {}
    // The trace has ended.
    virtual void close(Time /* end */) {}

  protected:
    Watch watch; // of states that may be wrong for as long as picks are late

    // Notes that a moment is wrong in the way that `what` names; it counts if it lasts.
    template <class Text>
    void wrong(const Moment &moment, Group &group, const Wrong &what, Text &&text) {
        wrong(watch, moment, group, what, std::forward<Text>(text));
    }

    template <class Text>
    void wrong(Watch &own, const Moment &moment, Group &group, const Wrong &what, Text &&text) {
        group.wrong = true;
        if (const auto since = own.wrong(what, moment.now, moment.until))
            verdict.add(*since, std::forward<Text>(text));
    }
};

constexpr u32 bit(Event kind) {
    return u32{1} << static_cast<u32>(kind);
}

constexpr u32 every_kind = ~u32{0};

// What a property is told of.
struct Wants {
    u32 kinds = 0;
    bool intervals = false, instants = false, moments = false;
};

// A property as the list has it: its name, the one sentence that it is, and who checks it.
struct Row {
    std::string_view name, statement;
    Wants wants;
    std::unique_ptr<Property> (*make)(const Header &header);
};

// One per file, which opens with the same sentence and says more.
namespace rows {
extern const Row one_pcpu, releases, jobs, demand, guest_order, paid_time, budget, depleted, payer,
    order, idle, best_effort, spare, shares, guarantee;
}

// In the order in which they are reported: what a run is made of first, then budgets, then
// decisions, then guarantees.
std::span<const Row *const> properties();

template <class Checks> std::unique_ptr<Property> make_property(const Header &header) {
    return std::make_unique<Checks>(header);
}

} // namespace hyperperiod::trace
