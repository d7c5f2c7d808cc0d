// SPDX-License-Identifier: BSD-2-Clause
//
// Records of a trace as packets of Perfetto's trace format: tracks, slices, counters, instants.
// hyperperiod.trace.convert_perfetto says what the tracks and events are.
//
// Names are interned: a packet says each of them once, all others refer to it by a number. What is
// kept from record to record are these numbers, what servers have left, which pcpus run something
// and which jobs have been released and not completed.
#pragma once

#include "buffer.hpp"
#include "protobuf.hpp"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace hyperperiod::trace {

struct VcpuName {
    std::string name;
    bool has_server;
};

struct TaskName {
    std::string domain;
    std::string name;
};

// What the header of the trace says.
struct Machine {
    u32 pcpus;
    std::vector<VcpuName> vcpus;
    std::vector<TaskName> tasks;
    std::vector<std::string> flows;
    bool has_one_spare;
    std::vector<std::string> budgets, orders, slacks; // the names of rules by their numbers
};

class PerfettoWriter {
  public:
    explicit PerfettoWriter(Machine machine);

    void add(const Record &record);
    // Ends what pcpus do. Jobs that are not completed stay open.
    void end(u64 now_ns);
    // What has been written since `clear`.
    std::string_view bytes() const { return out_.bytes(); }
    void clear() { out_.clear(); }

  private:
    struct Release {
        u64 time_ns;
        u64 deadline_ns;
        u32 job;
    };
    struct Server {
        u64 counter_track;
        u64 track;
        u64 remaining_ns; // signed: a debt wraps
        bool shown;
    };

    void add_tracks();
    u64 add_track(std::string_view name, u64 parent = 0, u32 rank = 0, bool is_counter = false);
    void intern_names();
    void intern(u32 field, u64 iid, std::string_view name);
    u64 name_of_run(u16 vcpu, u16 task);
    u64 payers(const Record &record);

    template <class Body> void packet(u64 flags, std::size_t texts, Body body);
    template <class Body>
    void event(u64 time_ns, u64 track, u32 type, std::size_t texts, Body body);
    void instant(u64 time_ns, u64 track, u64 category, u64 name);
    void end_slice(u64 time_ns, u64 track);

    void decide(const Record &record);
    void charge(const Record &record);
    void refill_or_deplete(const Record &record);
    void release(const Record &record);
    void complete(const Record &record);
    void miss(const Record &record);
    void swap(const Record &record);
    void move(const Record &record);
    void drop(const Record &record);
    void begin_job(u64 now_ns, u16 task, const Release &release);
    void count(u64 time_ns, const Server &server);
    void name_on_machine(u64 time_ns, std::string_view name);

    Server &server(u16 id);
    // The numbers of the names of a server and of a task as texts of annotations.
    u64 server_text(u16 id) const;
    u64 task_text(u16 task) const;
    std::string server_name(u16 id) const;

    Machine machine_;
    Buffer out_;
    u64 tracks_ = 0;
    u64 machine_track_ = 0;
    std::vector<u64> pcpu_tracks_, task_tracks_;
    std::vector<bool> is_open_;                // by pcpu: a slice has begun
    std::vector<std::deque<Release>> waiting_; // by task: jobs that are not completed
    std::vector<Server> servers_;              // by vcpu; the last is the spare
    u64 event_names_ = 0, texts_ = 0;          // how many there are
    std::unordered_map<u32, u64> run_names_, second_payers_;
};

} // namespace hyperperiod::trace
