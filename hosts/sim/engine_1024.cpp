// SPDX-License-Identifier: BSD-2-Clause
//
// The engine for systems whose lock domains have up to 1024 vcpus.

#define HP_VCPUS 1024u
#define HP_SIM_CAPACITY capacity_1024
#include "hosts/sim/engine.h"

namespace hyperperiod::sim {

std::unique_ptr<Simulation> make_engine_1024(const Scenario &scenario,
                                             std::unique_ptr<Recorder> recorder) {
    return std::make_unique<capacity_1024::Engine>(scenario, std::move(recorder));
}

} // namespace hyperperiod::sim
