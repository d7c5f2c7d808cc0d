// SPDX-License-Identifier: BSD-2-Clause
//
// What a run has counted of a task and of a vcpu, as rows of numbers: where many runs are compared
// (batch.cpp) and where nothing but numbers gets out (wasm/exports.cpp). hosts/sim.py names the
// columns.
#pragma once

#include "hosts/sim/simulation.h"

#include <cstdint>
#include <iterator>

namespace hyperperiod::sim {

// Rows of numbers below 2^63; -1 where a task has no response time.
constexpr std::size_t TASK_FIELDS = 9, VCPU_FIELDS = 2;
using Number = std::int64_t;

// The mean of all responses to the nearest nanosecond, halves up: of the exact sum, long division
// by a count below 2^63 whose quotient, a mean of 64-bit numbers, fits.
inline Ns mean_ns(const Histogram &responses) {
    const u64 count = responses.count();
    u64 rest = responses.sum_high() % count;
    u64 mean = 0;

    for (u32 bit = 64; bit-- > 0;) {
        rest = rest << 1 | (responses.sum_low() >> bit & 1);
        mean <<= 1;
        if (rest >= count) {
            rest -= count;
            mean |= 1;
        }
    }
    return mean + (rest >= count - rest);
}

inline void write_task(const TaskRun &task, Ns end_ns, Number *row) {
    const Histogram &responses = task.responses;
    const u64 finished = responses.count();
    const u64 counts[] = {task.next.job, task.late, task.due(end_ns), finished};
    u64 times[] = {NEVER, NEVER, NEVER, NEVER, NEVER};

    if (finished != 0) {
        times[0] = responses.min_ns();
        times[1] = mean_ns(responses);
        times[2] = responses.percentile_ns(50);
        times[3] = responses.percentile_ns(99);
        times[4] = responses.max_ns();
    }
    static_assert(std::size(counts) + std::size(times) == TASK_FIELDS);
    for (u64 count : counts)
        *row++ = static_cast<Number>(count);
    for (u64 time : times)
        *row++ = time == NEVER ? -1 : static_cast<Number>(time);
}

inline void write_vcpu(const VcpuCount &vcpu, Number *row) {
    row[0] = static_cast<Number>(vcpu.supply_ns);
    row[1] = static_cast<Number>(vcpu.donated_ns);
}

} // namespace hyperperiod::sim
