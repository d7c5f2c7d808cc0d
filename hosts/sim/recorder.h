// SPDX-License-Identifier: BSD-2-Clause
//
// Trace records on their way to a file whose header is already there.
//
// Within one instant records stand in the order in which a host acts, whatever order the
// simulator learns of them in: a record is moved up past the later steps of its own instant as
// it is added. A recorder without a file records nothing and costs one predictable branch.
#pragma once

#include "hosts/sim/scenario.h"
#include "record/record.hpp"

#include <string>

namespace hyperperiod::sim {

// NONE and SPARE keep their meaning when cut to 16 bits.
static_assert(static_cast<u16>(NONE) == nobody && static_cast<u16>(SPARE) == spare_id);
struct Entry {
    Event event;
    u64 value = 0;
    u32 pcpu = NONE;
    u32 vcpu = NONE;
    u32 payer = NONE;
    u32 task = NONE;
    u64 job = 0;
    u8 flags = 0;
};

class Recorder {
  public:
    Recorder() = default;
    explicit Recorder(const std::string &path);
    // Of a file that is open for writing, which it closes at its end.
    explicit Recorder(int file);
    ~Recorder();
    Recorder(const Recorder &) = delete;
    Recorder &operator=(const Recorder &) = delete;

    bool on() const { return file_ >= 0; }

    void add(Ns now_ns, const Entry &entry) {
        if (on())
            insert(now_ns, entry);
    }
    // No record of an earlier instant can follow; writes the buffer out when it is full.
    void end_instant() {
        if (records_.size() >= FLUSH_AT)
            flush();
        instant_ = records_.size();
    }
    // What is added from now on stands behind what is there, also within one instant.
    void begin_round() { instant_ = records_.size(); }
    void flush();

  private:
    static constexpr std::size_t FLUSH_AT = 16384;

    void insert(Ns now_ns, const Entry &entry);

    int file_ = -1;
    std::size_t instant_ = 0; // the first record of the present instant
    std::vector<Record> records_;
};

} // namespace hyperperiod::sim
