// SPDX-License-Identifier: BSD-2-Clause
//
// The beginning and the end of an item's way.

#include "hosts/sim/flow.h"

namespace hyperperiod::sim {

namespace {

Task source_of(const Flow &flow, u32 number) {
    Task source = flow.source;

    source.domain = FLOWS;
    source.index = draw_index(number, 0);
    return source;
}

} // namespace

FlowRun::FlowRun(const Flow &flow, u32 number, u64 seed)
    : flow_(flow), source_(source_of(flow, number), seed), next_(source_.first()),
      clients_(flow, number, seed) {}

void FlowRun::leave(Ns now_ns) {
    const Sent done = under_way_.front();
    const Ns response_ns = now_ns - done.release_ns;

    under_way_.pop_front();
    if (closed())
        clients_.think(done.client, now_ns);
    responses_.add(response_ns);
    late_ += response_ns > flow_.deadline_ns;
}

void FlowRun::close(Ns end_ns) {
    for (const Sent &item : under_way_)
        late_ += item.release_ns + flow_.deadline_ns <= end_ns;
}

} // namespace hyperperiod::sim
