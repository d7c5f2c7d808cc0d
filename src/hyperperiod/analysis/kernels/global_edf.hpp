// SPDX-License-Identifier: BSD-2-Clause
//
// Tests of global EDF on m pcpus, for sets of sporadic loads with deadlines within periods.
//
//   gfb            densities: sum d_i <= m - (m - 1) max d_i
//   baker          what each load can bring into a window with too much demand
//   bcl            work that can get in the way of one job, load by load
//   iterative_bcl  the same, with the slack found for one load helping the others
//
// The typed functions, and why the tests hold, are in hyperperiod.analysis.multiprocessor. All
// are sufficient: "no" is unknown, and misses only where no scheduler could do it. Everything is
// decided in integers.
#pragma once

#include <utility>
#include <vector>

#include "src/hyperperiod/analysis/kernels/component.hpp"

namespace hyperperiod::analysis {

// BCL's inequality for one load of the set: whether the others leave it more than `room` - 1, its
// deadline without its work and whatever else delays it, on one of the pcpus.
bool bcl_holds(Loads set, const Load &own, u64 room, u64 pcpus);

// Scratch space that outlives one set, so that a set costs no allocation.
struct GlobalEdf {
    Verdict gfb(Loads set, u64 pcpus);
    Verdict baker(Loads set, u64 pcpus);
    // The first load at or behind `first` whose inequality of Baker's does not surely hold, or how
    // many loads there are.
    std::size_t baker_confirms(Loads set, u64 pcpus, std::size_t first);
    Verdict bcl(Loads set, u64 pcpus);
    // `bounds` is empty or has a slot per load for its response bound (never: none).
    Verdict iterative_bcl(Loads set, u64 pcpus, std::span<u64> bounds);

  private:
    struct Work {
        u64 whole, rest; // floor(D_k / T_i) C_i and D_k mod T_i
    };
    struct Progress {
        bool all, moved; // every load is confirmed; some slack grew
    };
    bool baker_holds(Loads set, const Load &own, u64 pcpus);
    void prepare(Loads set);
    Progress improve(u64 pcpus);

    std::vector<std::pair<u64, u64>> rests_;
    std::vector<Load> sporadic_;
    std::vector<Work> work_;
    std::vector<u64> slack_;
};

} // namespace hyperperiod::analysis
