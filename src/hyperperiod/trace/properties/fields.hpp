// SPDX-License-Identifier: BSD-2-Clause
//
// Records whose fields no trace has: a kind that there is not, an id that the header does not
// know, a rule that there is not, time that goes back, an end that is not the last. Whoever reads
// a file looks for the first such record; which ids a kind allows is said by its row.
#pragma once

#include "src/hyperperiod/trace/properties/run.hpp"

#include <array>
#include <span>
#include <string>

namespace hyperperiod::trace {

// Which numbers a field may have: those below the first, and those from the second up to before the
// third, which stand for nobody or for the spare.
struct Allowed {
    u32 count, special, limit;

    bool has(u32 number) const { return number < count || (special <= number && number < limit); }
};

// What is allowed in pcpu, vcpu, payer and task of a record of one kind.
using Ids = std::array<Allowed, 4>;

struct Misfit {
    std::size_t at;   // which of the records
    std::string what; // the name of the field
};

class Fields {
  public:
    // How many pcpus, vcpus and tasks there are, and how many budget, order and slack rules.
    Fields(u32 pcpus, u32 vcpus, u32 tasks, std::array<u64, 3> rules);

    // The first of some records that is wrong, if one is. The one before them was at `before`, and
    // with them so many of the trace are left.
    std::optional<Misfit> first_wrong(std::span<const Record> records, u64 before, u64 left) const;

  private:
    const char *wrong_field(const Record &record) const;
    bool is_swap(u64 value) const;

    std::array<Ids, kind_rows.size()> ids_;
    std::array<u64, 3> rules_;
};

} // namespace hyperperiod::trace
