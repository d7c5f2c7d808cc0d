// SPDX-License-Identifier: BSD-2-Clause
//
// What the files of the Python face share: checked arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "src/hyperperiod/analysis/kernels/supply.hpp"

namespace hyperperiod::analysis {

inline void require(bool condition, const char *message) {
    if (!condition)
        throw std::invalid_argument(message);
}

inline u64 checked(u64 time) {
    require(time < limit, "a time of 2^62 or more");
    return time;
}

// The pairs (amount, wait) of a staircase, its period and budget: see supply.hpp.
using StaircaseRow = std::tuple<std::vector<std::pair<u64, u64>>, u64, u64>;

// Shape, period, budget, deadline (0: none); or a staircase.
using SupplyRow = std::variant<std::tuple<Shape, u64, u64, u64>, StaircaseRow>;

// Either kind of supply, with the stairs that it may have.
class AnySupply {
  public:
    explicit AnySupply(const SupplyRow &row);
    AnySupply(const AnySupply &) = delete;
    AnySupply &operator=(const AnySupply &) = delete;
    operator const Supply &() const { return supply_; }

  private:
    std::vector<Stair> stairs_;
    Supply supply_;
};

void check_signals();

void bind_flows(nanobind::module_ &module);

} // namespace hyperperiod::analysis
