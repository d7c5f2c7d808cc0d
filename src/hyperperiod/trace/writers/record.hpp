// SPDX-License-Identifier: BSD-2-Clause
//
// The record of a trace file (hosts/sim/record.h), and numbers in short.
#pragma once

#include "hosts/sim/record.h"

#include <cstdint>

namespace hyperperiod::trace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

} // namespace hyperperiod::trace
