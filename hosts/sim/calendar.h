// SPDX-License-Identifier: BSD-2-Clause
//
// The release timers: one per task, the earliest first, the lower task on a tie. A tournament
// tree: leaves are tasks, every inner node holds the earlier of its two children, the left one
// on a tie, so that the order is total without comparing ids. Setting a timer replays one path
// to the root, log2(tasks) steps of one comparison each, wherever the task stands.
#pragma once

#include "hosts/sim/scenario.h"

#include <bit>

namespace hyperperiod::sim {

class Calendar {
  public:
    explicit Calendar(u32 tasks) : leaves_(std::bit_ceil(tasks < 2 ? 2u : tasks)) {
        nodes_.resize(std::size_t{2} * leaves_);
        for (u32 i = 0; i < leaves_; i++)
            nodes_[leaves_ + i] = {NEVER, i};
        for (u32 i = leaves_ - 1; i > 0; i--)
            nodes_[i] = nodes_[2 * i];
    }

    Ns next_ns() const { return nodes_[1].at_ns; }
    u32 next_task() const { return nodes_[1].task; }

    void set(u32 task, Ns at_ns) {
        u32 node = leaves_ + task;

        nodes_[node].at_ns = at_ns;
        while (node > 1) {
            const Node &left = nodes_[node & ~1u];
            const Node &right = nodes_[node | 1u];

            node /= 2;
            nodes_[node] = right.at_ns < left.at_ns ? right : left;
        }
    }

  private:
    struct Node {
        Ns at_ns;
        u32 task;
    };

    u32 leaves_;
    std::vector<Node> nodes_; // nodes_[1] is the root
};

} // namespace hyperperiod::sim
