// SPDX-License-Identifier: BSD-2-Clause
//
// The clients of a closed source. Each one thinks, sends an item, waits until that has left its
// last hop, and thinks again; the first time from the source's offset on. The k-th time for which
// a client thinks (from 0) is a draw of (seed, flow, client, k), so that it does not depend on the
// schedule; two clients that are done with thinking at one instant send in the order of their
// numbers.
#pragma once

#include "hosts/sim/calendar.h"

namespace hyperperiod::sim {

class Clients {
  public:
    Clients(const Flow &flow, u32 number, u64 seed);

    // When the next item is sent, and by whom.
    Ns next_ns() const { return sending_.next_ns(); }
    u32 next_client() const { return sending_.next_task(); }
    // It is sent.
    void wait(u32 client) { sending_.set(client, NEVER); }
    // The item of a client has left: the client thinks.
    void think(u32 client, Ns now_ns);

  private:
    u64 seed_;
    u32 name_;
    Ns least_ns_;
    Ns most_ns_;
    std::vector<u32> thought_; // how often each client has
    Calendar sending_;
};

} // namespace hyperperiod::sim
