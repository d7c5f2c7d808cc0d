// SPDX-License-Identifier: BSD-2-Clause
//
// The record of a trace file (record/record.hpp), and numbers in short.
#pragma once

#include "record/record.hpp"

#include <cstdint>

namespace hyperperiod::trace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

} // namespace hyperperiod::trace
