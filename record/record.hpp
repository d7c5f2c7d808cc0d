// SPDX-License-Identifier: BSD-2-Clause
//
// A record of a trace file as C++ has it (docs/formats.md): what the simulator writes and what is
// checked and converted.
#pragma once

#include "record/ring.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace hyperperiod {

enum class Event : std::uint8_t {
#define ROW(number, NAME, name, step, names) name = (number),
    HP_TRACE_KINDS(ROW)
#undef ROW
};

// In a pcpu, vcpu, payer or task field: nobody, and the spare server.
inline constexpr std::uint16_t nobody = HP_RECORD_NONE;
inline constexpr std::uint16_t spare_id = HP_RECORD_SPARE;

// What the rows say of a kind of records in trace files.
struct KindRow {
    std::string_view name; // empty: there is no such kind
    std::uint8_t step = 0;
    std::uint8_t names = 0;
};

// The rows by the numbers of their kinds.
inline constexpr std::array<KindRow, 256> kind_rows = [] {
    std::array<KindRow, 256> rows{};
#define ROW(number, NAME, name, step, names) rows[number] = {#name, step, names};
    HP_TRACE_KINDS(ROW)
#undef ROW
    return rows;
}();

struct Record : hp_record {
    Event event() const { return static_cast<Event>(kind); }
    bool has(hp_record_flag flag) const { return (flags & flag) != 0; }
    const KindRow &row() const { return kind_rows[kind]; }
    bool has_job() const { return task != nobody && (row().names & HP_NAMES_JOB) != 0; }
};

static_assert(std::endian::native == std::endian::little, "records are little endian");
static_assert(sizeof(Record) == 32 && std::is_trivially_copyable_v<Record>);
static_assert(sizeof(hp_ring) == 64);

} // namespace hyperperiod
