// SPDX-License-Identifier: BSD-2-Clause
//
// What checking one property of one trace found.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "src/hyperperiod/trace/properties/run.hpp"

namespace hyperperiod::trace {

// Violations told in full; the others are counted.
constexpr std::size_t kept = 10;

// The place of a violation among those of its property; the first ones are kept.
using Turn = std::array<u64, 4>;

struct Violation {
    Turn turn;
    Time time;
    std::string text;
};

// The verdict on one property; `reason` says why it was skipped, if it was.
class Verdict {
  public:
    std::string reason;
    u64 count = 0;
    std::vector<Violation> violations;

    bool skipped() const { return !reason.empty(); }

    // Adds a violation, the last so far. `text` makes its words, if they will be told.
    template <class Text> void add(Time time, Text &&text) { add({0, count, 0, 0}, time, text); }

    template <class Text> void add(const Turn &turn, Time time, Text &&text) {
        count++;
        if (violations.size() == kept) {
            if (violations.back().turn <= turn)
                return;
            violations.pop_back();
        }
        auto place = violations.end();
        while (place != violations.begin() && turn < (place - 1)->turn)
            --place;
        violations.insert(place, {turn, time, text()});
    }
};

// What is wrong about a state: numbers that tell it from other wrongs.
using Wrong = std::vector<u32>;

// Turns states into violations: a wrong state counts once it has lasted too long. One that is wrong
// for no longer than the allowed lateness is a pick that came late.
class Watch {
  public:
    explicit Watch(Time allowed) : allowed_(allowed) {}

    // The state was wrong from now until then. Since when, if that makes it a violation.
    std::optional<Time> wrong(const Wrong &what, Time now, Time until) {
        forget(now);
        auto [place, is_new] = since_.try_emplace(what, Stretch{now, now});
        Stretch &stretch = place->second;
        if (stretch.until != now)
            stretch.since = now;
        const Time before = now - stretch.since;
        stretch.until = until;
        if (before <= allowed_ && allowed_ < until - stretch.since)
            return stretch.since;
        return std::nullopt;
    }

  private:
    struct Stretch {
        Time since, until;
    };

    // What ended before now does not go on: it need not be remembered.
    void forget(Time now) {
        if (since_.size() < limit_)
            return;
        std::erase_if(since_, [now](const auto &entry) { return entry.second.until < now; });
        limit_ = 2 * since_.size() + 64;
    }

    Time allowed_;
    std::size_t limit_ = 64;
    std::map<Wrong, Stretch> since_;
};

} // namespace hyperperiod::trace
