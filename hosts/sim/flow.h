// SPDX-License-Identifier: BSD-2-Clause
//
// A flow: items come from a source, pass through tasks (its hops), and leave.
//
// The source is a sequence like that of a periodic or sporadic task; each of its releases brings
// `burst` items. Or it is closed: clients send an item each, when they have thought about the one
// before (clients.h). Items are numbered through the run. An item that comes while `queue` others
// are on their way is dropped, and so is one that finds the ring of its device full. Hops serve
// items in the order in which they reach them, so items of one flow never overtake one another:
// those on their way are a list, taken from the front.
#pragma once

#include "hosts/sim/clients.h"
#include "hosts/sim/workload.h"

namespace hyperperiod::sim {

class FlowRun {
  public:
    FlowRun(const Flow &flow, u32 number, u64 seed);

    // When the source releases next.
    Ns next_ns() const { return closed() ? clients_.next_ns() : next_.release_ns; }
    // Whether an item that leaves changes that.
    bool closed() const { return flow_.clients > 0; }
    const std::vector<u32> &hops() const { return flow_.hops; }

    // The source releases at `now_ns`. Calls enter(item) or drop(item) for each item of it; `there`
    // says how many items of all flows are at the first hop.
    template <class There, class Enter, class Drop>
    void come(Ns now_ns, There &&there, Enter &&enter, Drop &&drop) {
        if (closed()) {
            const u32 client = clients_.next_client();

            clients_.wait(client);
            under_way_.push_back({now_ns, client});
            open_.add(now_ns, now_ns + flow_.deadline_ns);
            enter(items_++);
            return;
        }
        for (u64 i = 0; i < flow_.burst; i++) {
            const u64 item = items_++;

            if (under_way_.size() >= flow_.queue || (flow_.ring > 0 && there() >= flow_.ring)) {
                dropped_++;
                drop(item);
            } else {
                under_way_.push_back({now_ns, NONE});
                open_.add(now_ns, now_ns + flow_.deadline_ns);
                enter(item);
            }
        }
        source_.advance(next_);
    }
    // The oldest item has left its last hop.
    void leave(Ns now_ns);
    // The run ends; items on their way whose deadline has come are late.
    void close(Ns end_ns);

    const Histogram &responses() const { return responses_; }
    void keep_responses() { responses_.keep_values(); }
    u64 items() const { return items_; }
    u64 under_way() const { return under_way_.size(); }
    u64 most_under_way() const { return closed() ? flow_.clients : flow_.queue; }
    u64 dropped() const { return dropped_; }
    u64 late() const { return late_; }
    // Items that were not dropped and whose deadline is at or before `end_ns`.
    u64 due(Ns end_ns) const { return items_ - dropped_ - open_.after(end_ns); }

  private:
    // An item on its way: when the source released it, and for whom.
    struct Sent {
        Ns release_ns;
        u32 client;
    };

    Flow flow_;
    Workload source_;
    Workload::Cursor next_;
    Clients clients_; // none, or those of a closed source, which the two above do not count for
    std::deque<Sent> under_way_;
    OpenDeadlines open_;
    Histogram responses_;
    u64 items_ = 0;
    u64 dropped_ = 0;
    u64 late_ = 0; // left after the deadline
};

} // namespace hyperperiod::sim
