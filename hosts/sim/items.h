// SPDX-License-Identifier: BSD-2-Clause
//
// Items of flows where they wait, and deadlines that have not passed yet. What comes in order of
// time stays in order: both lists are taken from the front only.
#pragma once

#include "hosts/sim/scenario.h"

#include <algorithm>
#include <deque>

namespace hyperperiod::sim {

// Of things that are released in order and have a deadline each: the deadlines that had not
// passed at the latest release. All others are due whenever the run ends.
class OpenDeadlines {
  public:
    void add(Ns now_ns, Ns deadline_ns) {
        while (first_ < deadlines_.size() && deadlines_[first_] <= now_ns)
            first_++;
        if (first_ > deadlines_.size() / 2)
            drop_passed();
        deadlines_.push_back(deadline_ns);
    }
    // How many are later than `end_ns`, which is not before the latest release.
    u64 after(Ns end_ns) const {
        const auto later = std::upper_bound(deadlines_.begin(), deadlines_.end(), end_ns);

        return static_cast<u64>(deadlines_.end() - later);
    }

  private:
    void drop_passed() {
        deadlines_.erase(deadlines_.begin(),
                         deadlines_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }

    std::size_t first_ = 0;
    std::vector<Ns> deadlines_; // ascending; those before first_ have passed
};

// An item at one of its hops.
struct Passage {
    u32 flow;
    u32 hop;
    u64 item;
    Ns release_ns = 0; // here

    // The order of those that reach a task at one instant. Two of one flow are two items.
    bool operator<(const Passage &other) const {
        return flow != other.flow ? flow < other.flow : item < other.item;
    }
    // As a trace has it.
    u64 packed() const { return u64{flow} << 48 | u64{hop} << 32 | (item & 0xFFFFFFFFu); }
};

// The items at a task that is a hop.
struct HopItems {
    std::vector<Passage> reaching; // at this instant, not released yet
    std::deque<Passage> waiting;   // released and unfinished, oldest first
};

} // namespace hyperperiod::sim
