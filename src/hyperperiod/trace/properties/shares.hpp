// SPDX-License-Identifier: BSD-2-Clause
//
// How long a share of time lasts that goes by weight (the slack rule weights).
#pragma once

#include "src/hyperperiod/trace/properties/run.hpp"

namespace hyperperiod::trace {

constexpr Time share_length = 500'000;

} // namespace hyperperiod::trace
