// SPDX-License-Identifier: BSD-2-Clause
//
// Why a test said what it said. A witness comes from the very functions that give the verdict, with
// a note taken where they decide, so that it cannot say anything else:
//
//   fixed priority  holds: the job with the longest response, and the window in which it is done.
//                   misses: the first late job. Every window up to its deadline is short; the
//                   first one given is that in which least is missing, the second the longest.
//   edf             misses: the shortest window that is short. Holds: the tightest window.
//   fifo            of one load: its job that waits longest, or the first that is late.
#pragma once

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

// A window, what the loads ask for in it and what the supply has.
struct Asked {
    u64 window, supply, blocking;
    std::vector<u64> jobs; // of each load
};

struct Witness {
    Verdict verdict;
    // Under EDF: no shorter window is short, or tighter, than the one given.
    bool complete = true;
    // Of the job that decides; it is done at `finish`, or nobody knows when.
    u64 release = 0, finish = never;
    // The first one decides; none if the verdict came without a window.
    std::vector<Asked> windows = {};
};

// The last load below the others.
Witness response_witness(Loads above, const Load &own, const Supply &supply, Effort &effort);
Witness edf_witness(Loads loads, const Supply &supply, Effort &effort);
// A load with this deadline among all of them.
Witness fifo_witness(Loads loads, u64 deadline, const Supply &supply, Effort &effort);

// What a search for a better window to show may spend once the verdict is known.
constexpr u64 witness_effort = 5'000'000;

} // namespace hyperperiod::analysis
