// SPDX-License-Identifier: BSD-2-Clause
//
// Trace records on their way to a file whose header is already there.
//
// Within one instant records stand in the order in which a host acts, whatever order the
// simulator learns of them in: a record is moved up past the later steps of its own instant as
// it is added. A recorder without a file records nothing and costs one predictable branch.
#pragma once

#include "hosts/sim/scenario.h"

#include <string>

namespace hyperperiod::sim {

enum class Event : u8 {
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

inline constexpr u8 FLAG_ALSO = 1;   // run: the vcpu itself pays as well (lend)
inline constexpr u8 FLAG_EXTRA = 2;  // run, charge: at an extra-time level
inline constexpr u8 FLAG_STOLEN = 4; // idle: the pcpu is not there to be granted
inline constexpr u8 FLAG_LATER = 8;  // depart: after picks of its instant, not before its refills

// NONE and SPARE keep their meaning when cut to 16 bits.
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
    struct Record {
        u64 time_ns;
        u64 value;
        u32 job;
        u16 pcpu;
        u16 vcpu;
        u16 payer;
        u16 task;
        u8 kind;
        u8 flags;
        u16 reserved;
    };
    static_assert(sizeof(Record) == 32);

    static constexpr std::size_t FLUSH_AT = 16384;

    void insert(Ns now_ns, const Entry &entry);

    int file_ = -1;
    std::size_t instant_ = 0; // the first record of the present instant
    std::vector<Record> records_;
};

} // namespace hyperperiod::sim
