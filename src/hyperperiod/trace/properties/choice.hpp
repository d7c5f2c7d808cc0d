// SPDX-License-Identifier: BSD-2-Clause
//
// Who may run where servers pay for idle time, and how that is said; for several properties.
#pragma once

#include <algorithm>
#include <vector>

#include "src/hyperperiod/trace/properties/replay.hpp"

namespace hyperperiod::trace {

// Who may run on a pcpu with periodic servers, given who pays there: H if it has work; else, where
// time is lent, the first with work and budget; where it is reclaimed, the first with work, those
// with budget before the depleted.
std::vector<u16> periodic_choice(const Moment &moment, u16 pcpu, const Group &group);

inline bool among(const std::vector<u16> &ids, u16 id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// The names of these, joined by a word; `empty` if there are none.
std::string names(const Header &header, const std::vector<u16> &ids, const char *joint,
                  const char *empty);

} // namespace hyperperiod::trace
