// SPDX-License-Identifier: BSD-2-Clause
//
// Reading a histogram back; adding to one is in the header because it is in the event loop.

#include "hosts/sim/histogram.h"

#include <algorithm>

namespace hyperperiod::sim {

std::vector<Bucket> Histogram::buckets() const {
    std::vector<Bucket> hit;

    for (u32 octave = 0; octave < OCTAVES; octave++) {
        if (!octaves_[octave])
            continue;
        const u32 shift = octave > 1 ? octave - 1 : 0;
        const u64 base = octave == 0 ? 0 : SPLIT;

        for (u32 i = 0; i < SPLIT; i++) {
            const u64 count = (*octaves_[octave])[i];
            const Ns low_ns = (base + i) << shift;

            if (count != 0)
                hit.push_back({low_ns, low_ns + ((Ns{1} << shift) - 1), count});
        }
    }
    return hit;
}

Ns Histogram::percentile_ns(u32 percent) const {
    const u64 rank = (count_ * percent + 99) / 100;
    u64 seen = 0;

    for (const Bucket &bucket : buckets()) {
        seen += bucket.count;
        if (seen >= rank) {
            const Ns middle_ns = bucket.low_ns + (bucket.high_ns - bucket.low_ns) / 2;
            return std::clamp(middle_ns, min_ns_, max_ns_);
        }
    }
    return 0;
}

} // namespace hyperperiod::sim
