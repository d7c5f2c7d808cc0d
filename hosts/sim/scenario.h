// SPDX-License-Identifier: BSD-2-Clause
//
// What a run is made of: the input of the simulator, already validated and complete. Python
// fills one of these from a system file (src/hyperperiod/hosts/sim.py); nothing here knows
// about files, units or defaults.
//
// Identities follow the system file: domains, then vcpus and tasks, numbered in file order.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

namespace hyperperiod::sim {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using Ns = u64; // a point in virtual time, or a span of it

inline constexpr Ns NEVER = ~Ns{0};
inline constexpr u32 NONE = ~u32{0};
// A payer that is the spare and not a vcpu; never an index.
inline constexpr u32 SPARE = NONE - 1;
// One 64-bit mask holds the pcpus of a system.
inline constexpr u32 MAX_PCPUS = 64;
// Bounds a vcpu or task id in a trace record, where the highest two values are NONE and SPARE.
inline constexpr u32 MAX_IDS = 0xFFFE;

// The scheduler inside a domain.
enum class Scheduler : u8 { rm, dm, fp, edf, fifo, gedf, grm, gdm, gfp, executor };

// A hop has no releases of its own: it is an event task whose jobs are the items of flows. The jobs
// of a recorded task are those of a list.
enum class Kind : u8 { periodic, sporadic, busy, event, hop, recorded };

// A busy task without a wcet never finishes: its only job has this much work.
inline constexpr Ns ENDLESS = NEVER;

// Which jobs of a task take longer than it allows, and how much: core/draw.h has the rule.
struct Overrun {
    u64 thousandths = 0; // 0: none
    Ns from_ns = 0;
    Ns to_ns = NEVER;
    u64 every = 1;
};

struct RecordedJob {
    Ns release_ns;
    Ns ran_ns;
};

struct Task {
    Kind kind = Kind::periodic;
    Ns period_ns = 0;
    Ns wcet_ns = 0; // ENDLESS: a single job that never ends
    Ns bcet_ns = 0; // execution times are uniform in [bcet, wcet]
    Ns deadline_ns = NEVER;
    Ns offset_ns = 0;
    Ns jitter_ns = 0;
    u64 priority = NEVER; // read by fp and executor only
    u32 pinned = NONE;    // the only vcpu of the domain that may run it
    u32 domain = 0;       // index of its domain ...
    u32 index = 0;        // ... and its index there: what draws are made from
    Overrun overrun;
    std::shared_ptr<const std::vector<RecordedJob>> recorded; // by release
};

struct Server {
    u32 pcpu = 0; // ignored by global policies
    u32 priority = 0;
    Ns period_ns = 0; // no server: best effort
    Ns budget_ns = 0;
    bool best_effort = false;
    bool extra = false;
    u32 weight = 0; // of best effort, where the policy looks at it
};

struct Domain {
    Scheduler scheduler = Scheduler::rm;
    std::vector<Server> vcpus; // one for each
    std::vector<Task> tasks;
};

// Items that travel through tasks: a job that is done at one hop is a release at the next.
struct Flow {
    Task source;           // when items come: periodic or sporadic, offset and jitter
    u32 clients = 0;       // closed: that many clients send them, from the source's offset on
    Ns think_least_ns = 0; // ... and think in between for a time in this range
    Ns think_most_ns = 0;
    u64 burst = 1;         // how many come together
    u64 queue = 1;         // how many may be on their way; more are dropped
    u64 ring = 0;          // how many may be at the first hop; more are dropped. 0: any number
    Ns deadline_ns = 0;    // from the source to the end of the last hop
    std::vector<u32> hops; // tasks, by their numbers in the whole scenario
};

struct Policy {
    u32 budget = 0;
    u32 order = 0;
    u32 slack = 0;
};

struct Swap {
    Ns at_ns = 0;
    Policy policy;
};

struct Change {
    Ns at_ns = 0;
    u32 vcpu = 0;     // by its number in the whole scenario
    Ns period_ns = 0; // 0: its interface stays as it is
    Ns budget_ns = 0;
    u32 priority = 0;
    u32 pcpu = NONE; // where it goes, if it does; of partitioned policies only
};

// What the hypervisor's own work costs; Engine::overhead_ns says when each is paid.
struct Overheads {
    Ns context_switch_ns = 0;
    Ns pick_ns = 0;
    Ns replenish_ns = 0;
    Ns wake_ns = 0;
    Ns interrupt_ns = 0;
    Ns migration_ns = 0;

    bool any() const {
        return (context_switch_ns | pick_ns | replenish_ns | wake_ns | interrupt_ns | migration_ns)
               != 0;
    }
};

// Time of a pcpu that is not there to be granted: so much of it from each of these instants on.
struct Theft {
    u32 pcpu = 0;
    Ns period_ns = 0;
    Ns duration_ns = 0;
    Ns offset_ns = 0;
};

// Decides in the place of the core's rules, on pcpus with servers of their own. At an instant it is
// told of time that vcpus had, of departures, of the time for replenishments and of arrivals, in
// this order, and is then asked. Vcpus have their numbers in the system.
class Rule {
  public:
    struct Choice {
        u32 vcpu; // NONE: the pcpu idles
        Ns until_ns;
    };

    virtual ~Rule() = default;
    virtual void charge(Ns now_ns, u32 vcpu, Ns span_ns) = 0;
    virtual void arrive(Ns now_ns, u32 vcpu) = 0;
    virtual void depart(Ns now_ns, u32 vcpu) = 0;
    // Replenishes what is due; when to ask again.
    virtual Ns replenish(Ns now_ns) = 0;
    virtual Choice pick(Ns now_ns, u32 pcpu, const std::vector<u32> &ready) = 0;
};

struct Scenario {
    Policy policy;
    std::shared_ptr<Rule> rule; // in the place of the policy; null: none
    bool global = false;
    u32 pcpus = 1;
    Ns quantum_ns = 0; // 0: none
    Ns spare_period_ns = 0;
    Ns spare_budget_ns = 0;
    Ns horizon_ns = 0;
    u64 seed = 1;
    bool count_periods = false; // whether servers get their budgets
    bool check = false;         // ask the core for its conservation laws after every instant
    Overheads overheads;
    std::vector<Domain> domains;
    std::vector<Flow> flows;
    std::vector<Swap> swaps;
    std::vector<Change> changes;
    std::vector<Theft> thefts;

    u32 vcpus() const {
        std::size_t count = 0;

        for (const Domain &domain : domains)
            count += domain.vcpus.size();
        return static_cast<u32>(count);
    }

    // A task by its number over all domains; std::out_of_range if there is none.
    Task &task(u32 number) {
        for (Domain &domain : domains) {
            if (number < domain.tasks.size())
                return domain.tasks[number];
            number -= static_cast<u32>(domain.tasks.size());
        }
        throw std::out_of_range("no such task");
    }
};

} // namespace hyperperiod::sim
