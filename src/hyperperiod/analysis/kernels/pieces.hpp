// SPDX-License-Identifier: BSD-2-Clause
//
// Several hops in a row on one vcpu, under fixed priority, as one piece of work: what is before an
// item on its way through them, and how long that takes. The proof is in
// hyperperiod/analysis/flows/pieces.py.
#pragma once

#include "src/hyperperiod/analysis/kernels/busy_window.hpp"

namespace hyperperiod::analysis {

constexpr u64 no_flow = never;

// What releases a task at a place in the order of priority: a hop of a flow, or the task itself.
struct Visit {
    u64 flow, hop, level;
    Stream stream;
};

struct Piece {
    u64 flow, first, last; // hops
    Longest longest;       // from the release at the first hop to the completion at the last one
};

// Hops of a piece; whole rows of hops may be longer.
constexpr u64 longest_piece = 4;

// All pieces of some visits; `blocking` is that of each level. `interrupt` is called between pieces
// and may throw.
std::vector<Piece> piece_bounds(std::span<const Visit> visits, const Supply &supply,
                                std::span<const u64> blocking, void (*interrupt)());

} // namespace hyperperiod::analysis
