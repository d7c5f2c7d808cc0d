// SPDX-License-Identifier: BSD-2-Clause
//
// What the files of the Python face share: checked arguments.
#pragma once

#include <nanobind/nanobind.h>
#include <stdexcept>

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

// A deadline of 0 is none: the budget comes by the end of the period.
Supply supply_of(Shape shape, u64 period, u64 budget, u64 deadline);

void check_signals();

void bind_flows(nanobind::module_ &module);

} // namespace hyperperiod::analysis
