// SPDX-License-Identifier: BSD-2-Clause
//
// For how long clients think.

#include "hosts/sim/clients.h"

#include "core/draw.h"
#include "hosts/sim/workload.h"

namespace hyperperiod::sim {

Clients::Clients(const Flow &flow, u32 number, u64 seed)
    : seed_(seed), name_(draw_index(number, 0)), least_ns_(flow.think_least_ns),
      most_ns_(flow.think_most_ns), thought_(flow.clients), sending_(flow.clients) {
    for (u32 client = 0; client < flow.clients; client++)
        think(client, flow.source.offset_ns);
}

void Clients::think(u32 client, Ns now_ns) {
    const u64 which = u64{client} << 32 | thought_[client]++;
    Ns think_ns = least_ns_;

    if (least_ns_ != most_ns_)
        think_ns =
            hp_draw_between(hp_draw(seed_, FLOWS, name_, which, HP_DRAW_GAP), least_ns_, most_ns_);
    sending_.set(client, now_ns + think_ns);
}

} // namespace hyperperiod::sim
