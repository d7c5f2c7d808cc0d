// SPDX-License-Identifier: BSD-2-Clause
//
// Records of a trace as columns as Arrow has them in memory: numbers one after the other and, where
// not every record has one, a bit for each that says whether it does; the bits of a byte count from
// the lowest.
#pragma once

#include "record.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace hyperperiod::trace {

// Room for the columns of some records. A number that does not apply may be any. Names are numbers
// of lists: of the kinds from the first on, of the vcpus with the spare behind them, of the tasks.
struct Columns {
    u64 *time_ns;
    u32 *kind;
    u16 *pcpu;
    u8 *has_pcpu;
    u32 *vcpu;
    u8 *has_vcpu;
    u32 *payer;
    u8 *has_payer;
    u32 *task;
    u8 *has_task;
    u32 *job;
    u8 *has_job;
    u64 *value;
    u8 *also_pays;
    u8 *extra_time;
    u8 *stolen;
};

class ColumnWriter {
  public:
    // How many vcpus there are.
    explicit ColumnWriter(u32 vcpus) : vcpus_(vcpus) {}

    void write(std::span<const Record> records, const Columns &columns) const;

  private:
    void write_piece(std::span<const Record> records, std::size_t first,
                     const Columns &columns) const;
    u32 server(u16 id) const { return id == spare_id ? vcpus_ : id; }

    u32 vcpus_;
};

} // namespace hyperperiod::trace
