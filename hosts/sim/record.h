// SPDX-License-Identifier: BSD-2-Clause
//
// A record of a trace file as it lies there, little endian: what the simulator writes and what is
// checked and converted (docs/formats.md). Its fields are those of a ring's (hosts/xen/ring.h), but
// that its time is always in nanoseconds since the beginning of the run.
#pragma once

#include "hosts/xen/ring.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hyperperiod {

enum class Event : std::uint8_t {
    run = 1,
    idle,
    charge,
    replenish,
    deplete,
    arrive,
    depart,
    release,
    complete,
    miss,
    kick,
    swap,
    end,
    item,
    drop,
    move,
};

// In a pcpu, vcpu, payer or task field: nobody, and the spare server.
inline constexpr std::uint16_t nobody = HP_RECORD_NONE;
inline constexpr std::uint16_t spare_id = HP_RECORD_SPARE;

// Flags of records. Run: the vcpu pays as well (lend). Run, charge: at an extra-time level. Idle:
// the pcpu is not there to be granted. Depart: after picks of its instant, not before its refills.
inline constexpr std::uint8_t second_payer = HP_RECORD_ALSO;
inline constexpr std::uint8_t extra_time = HP_RECORD_EXTRA;
inline constexpr std::uint8_t stolen_pcpu = 4;
inline constexpr std::uint8_t later = 8;

struct Record : hp_record {
    Event event() const { return static_cast<Event>(kind); }
    bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};

static_assert(std::endian::native == std::endian::little, "records are little endian");
static_assert(sizeof(Record) == 32 && std::is_trivially_copyable_v<Record>);
static_assert(offsetof(hp_record, time) == 0 && offsetof(hp_record, value) == 8);
static_assert(offsetof(hp_record, job) == 16 && offsetof(hp_record, pcpu) == 20);
static_assert(offsetof(hp_record, vcpu) == 22 && offsetof(hp_record, payer) == 24);
static_assert(offsetof(hp_record, task) == 26 && offsetof(hp_record, kind) == 28);
static_assert(offsetof(hp_record, flags) == 29 && offsetof(hp_record, reserved) == 30);

// The kinds that rings have as well.
constexpr bool is_kind(Event event, hp_record_kind kind) {
    return static_cast<unsigned int>(event) == static_cast<unsigned int>(kind);
}
static_assert(is_kind(Event::run, HP_RECORD_RUN) && is_kind(Event::idle, HP_RECORD_IDLE));
static_assert(is_kind(Event::arrive, HP_RECORD_ARRIVE) && is_kind(Event::depart, HP_RECORD_DEPART));
static_assert(is_kind(Event::release, HP_RECORD_RELEASE));
static_assert(is_kind(Event::complete, HP_RECORD_COMPLETE));
static_assert(is_kind(Event::swap, HP_RECORD_SWAP) && is_kind(Event::end, HP_RECORD_END));
static_assert(is_kind(Event::item, HP_RECORD_ITEM) && is_kind(Event::drop, HP_RECORD_DROP));

} // namespace hyperperiod
