// SPDX-License-Identifier: BSD-2-Clause
//
// A run as its trace tells it: the header, and the records (docs/formats.md).
//
// Times are nanoseconds. Whatever a header or a record says is at most `longest`, so that sums of
// some times fit; what is longer (36 years) is taken for that.
#pragma once

#include "record/record.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace hyperperiod::trace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Time = std::int64_t;
__extension__ using Wide = __int128;

constexpr Time longest = Time{1} << 60;
constexpr Time never = std::numeric_limits<Time>::max();

using hyperperiod::Event;
using hyperperiod::nobody;
using hyperperiod::spare_id;

struct Record : hyperperiod::Record {
    Time at() const { return static_cast<Time>(std::min<u64>(time, static_cast<u64>(longest))); }
};
static_assert(sizeof(Record) == sizeof(hyperperiod::Record));

enum class Budget { periodic, deferrable, polling, sporadic, cbs, slice, slice_once };
enum class Order { fp, edf, fp_edf };
enum class Slack { none, lend, reclaim, spare, extra, weights };

struct Rules {
    Budget budget;
    Order order;
    Slack slack;

    bool operator==(const Rules &) const = default;
};

struct Vcpu {
    std::string name, domain;
    std::optional<Time> period, budget; // none: best effort
    Time priority = 0;
    u16 pcpu = 0;
    bool best_effort = false, extra = false;
    u64 weight = 1;
};

struct Interface {
    Time period, budget;
};

enum class Releases { periodic, sporadic, event, recorded, other };

struct Task {
    std::string domain, name;
    Releases kind = Releases::other;
    bool busy = false;
    std::optional<Time> period, deadline, wcet, bcet, priority;
    Time offset = 0, jitter = 0;
    std::optional<Time> kernel; // none: no bound is known
    Time kernel_period = 1;
    Wide thousandths = 1000; // of the execution times of jobs that overrun
    Time overrun_from = 0, overrun_to = 0;
    u64 overrun_every = 1;

    // How long a job that takes `time` otherwise does take: rounded up, if it overruns.
    Wide taken(Time time, u32 job, Time release) const {
        const bool overruns =
            release >= overrun_from && release < overrun_to && (u64{job} + 1) % overrun_every == 0;
        return overruns ? (Wide{time} * thousandths + 999) / 1000 : Wide{time};
    }
};

// An interface that a domain gets at some instant, or some vcpus of it.
struct Change {
    Time at;
    std::string domain;
    Interface interface;
    std::optional<Time> priority;
    std::optional<std::vector<u16>> vcpus;
};

struct Flow {
    std::string name;
    Releases kind = Releases::other;
    std::optional<Time> period;
    Time offset = 0, jitter = 0;
    u64 burst = 1, queue = 1, ring = 0; // ring 0: none
    std::vector<u16> hops;
    std::optional<u64> clients; // of a closed source
    Time think_least = 0, think_most = 0;
};

// A domain that schedules its jobs globally.
struct Guest {
    std::string domain, scheduler;
};

struct Header {
    Rules rules{};
    std::string budget_word;
    bool partitioned = true, swaps = false, guarantees = false, host_timing = false;
    std::optional<Time> quantum;
    u16 pcpus = 1;
    std::vector<Vcpu> vcpus;
    std::optional<Interface> spare;
    std::vector<Task> tasks;
    std::vector<Change> changes;
    std::vector<Flow> flows;
    std::vector<Guest> guests;
    Time late = 0; // how late a pick may be
    Time resume = 0, switching = 0, job_overhead = 0;
    // What the numbers in swap records stand for.
    std::vector<Budget> budgets;
    std::vector<Order> orders;
    std::vector<Slack> slacks;

    // The name of a payer in everything that users read.
    std::string server_name(u16 server) const {
        if (server == spare_id || server == nobody)
            return server == spare_id ? "spare" : "nobody";
        return vcpus[server].name;
    }

    std::string task_name(u16 task) const { return tasks[task].domain + "." + tasks[task].name; }
};

} // namespace hyperperiod::trace
