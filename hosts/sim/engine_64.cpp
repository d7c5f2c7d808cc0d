// SPDX-License-Identifier: BSD-2-Clause
//
// The engine for systems whose lock domains have at most 64 vcpus each.

#define HP_VCPUS 64u
#define HP_SIM_CAPACITY capacity_64
#include "hosts/sim/engine.h"

namespace hyperperiod::sim {

std::unique_ptr<Simulation> make_engine_64(const Scenario &scenario,
                                           std::unique_ptr<Recorder> recorder) {
    return std::make_unique<capacity_64::Engine>(scenario, std::move(recorder));
}

} // namespace hyperperiod::sim
