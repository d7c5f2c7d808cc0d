// SPDX-License-Identifier: BSD-2-Clause
//
// A record of a trace file as it lies there: hyperperiod.trace.format says what it means.
#pragma once

#include <cstdint>

namespace hyperperiod::trace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Record {
    u64 time_ns;
    u64 value;
    u32 job;
    u16 pcpu;
    u16 vcpu;
    u16 payer;
    u16 task;
    u8 kind;
    u8 flags;
    u16 reserved;
};
static_assert(sizeof(Record) == 32);

enum Kind : u8 {
    RUN = 1,
    IDLE,
    CHARGE,
    REPLENISH,
    DEPLETE,
    ARRIVE,
    DEPART,
    RELEASE,
    COMPLETE,
    MISS,
    KICK,
    SWAP,
    END,
    ITEM,
    DROP,
    MOVE,
};

inline constexpr u16 NONE = 0xFFFF;  // in a vcpu, payer, task or pcpu field: nobody
inline constexpr u16 SPARE = 0xFFFE; // in a vcpu or payer field: the spare server

inline constexpr u8 SECOND_PAYER = 1; // run: the vcpu pays as well
inline constexpr u8 EXTRA = 2;        // run, charge: at an extra-time level

} // namespace hyperperiod::trace
