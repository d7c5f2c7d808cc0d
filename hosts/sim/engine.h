// SPDX-License-Identifier: BSD-2-Clause
//
// The event loop around the core, for one capacity: a file that includes this defines HP_VCPUS
// and HP_SIM_CAPACITY first. The core is included into a namespace of that name, because its
// structures have another size in each build.
//
// The simulator is a host like any other: it tells the core the time, does what the grants say
// and interrupts the pcpus that the core names. A partitioned system has one core per pcpu, a
// global one has one core for all of them.
//
// Virtual time jumps from one instant to the next. Within an instant t:
//   1. jobs that finish at t finish; vcpus left without a job depart;
//   2. sources of flows release items; releases at t, in the order of the tasks, items that have
//      reached a hop among them; vcpus that get their first job arrive;
//   3. scripted swaps and changes of parameters; pcpus are stolen and come back. One that is in the
//      hypervisor is stolen when that is over, and thefts that meet follow one another;
//   4. picks, on every pcpu whose grant ends at t, whose vcpu departed or that is kicked, in the
//      order of the pcpus, again and again until no pcpu is kicked;
//      domains that schedule globally then change which of their vcpus have work, and the picks
//      that follow from it are made, until nothing changes (engine_global.h);
//   5. what runs now is compared with what ran before t: work done is settled, switches,
//      preemptions and migrations are counted, changes are recorded.
// The core charges up to t and refills within any of its calls, before anything else they do.
// Events inside a domain that change no vcpu's having work never reach the core.
#pragma once

#include "hosts/sim/calendar.h"
#include "hosts/sim/global_guest.h"
#include "hosts/sim/guest.h"
#include "hosts/sim/simulation.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

namespace hyperperiod::sim::HP_SIM_CAPACITY {

struct hp_core;
void note(const struct hp_core *core, u32 kind, u64 now_ns, u32 vcpu, u64 value);

#define HP_NOTE(core, kind, now_ns, vcpu, value)                                                   \
    note(core, kind, now_ns, vcpu, static_cast<hp_u64>(value))

#include "core/hyperperiod.h"
#include "core/move.h"

class Engine;

// One lock domain, and what the simulator keeps beside it. The core is the first member, so
// that a note can be traced back to this.
struct LockDomain {
    hp_core core;
    Engine *listens; // to its notes; null: nobody
    u32 first_pcpu;
    u32 unpaid_refills;       // noted since the last pick
    u32 unpaid_wakes;         // arrivals since the last pick
    std::vector<u32> vcpu_of; // global ids, by the core's numbers

    u32 global(u32 vcpu) const { return vcpu < HP_VCPUS ? vcpu_of[vcpu] : vcpu; }
};

static_assert(NONE == HP_NONE && SPARE == HP_SPARE && NEVER == HP_NEVER);

// Reasons why a core refused something, for a message.
inline const char *reason(u32 error) {
    switch (static_cast<hp_error>(error)) {
    case HP_OK:
        return "no error";
    case HP_ERROR_POLICY:
        return "the rules of the policy do not go together, or not on this many pcpus";
    case HP_ERROR_PCPUS:
        return "too many pcpus, or none";
    case HP_ERROR_VCPU:
        return "too many vcpus";
    case HP_ERROR_PRESENT:
        return "a vcpu is there twice";
    case HP_ERROR_PERIOD:
        return "a period is zero or too long";
    case HP_ERROR_BUDGET:
        return "a budget is zero or above its period";
    case HP_ERROR_QUANTUM:
        return "a period or budget is not a multiple of the quantum";
    case HP_ERROR_PRIORITY:
        return "a priority is out of range";
    case HP_ERROR_SPARE:
        return "the spare needs a period, and a budget that is not above it";
    case HP_ERROR_FLAGS:
        return "a best-effort vcpu has no server";
    case HP_ERROR_WEIGHT:
        return "a weight is out of range, or of a vcpu that has a server";
    case HP_ERROR_SHORT:
        return "a budget is shorter than a decision";
    case HP_ERROR_RATE:
        return "the periods are so short that deciding would take half the time";
    }
    return "unknown error";
}

inline void require(u32 error) {
    if (error != HP_OK)
        throw std::invalid_argument(reason(error));
}

class Engine final : public Simulation {
  public:
    Engine(const Scenario &scenario, std::unique_ptr<Recorder> recorder);

    Ns advance(Ns until_ns, u64 instants) override;
    void finish(Ns end_ns) override;
    // The core of a lock domain tells of a refill or a depletion.
    void noted(LockDomain &lock, bool is_refill, u32 vcpu, i64 value);

  private:
    struct Vcpu {
        u32 domain;
        u32 lock;
        u32 local; // its number in the core
        bool extra;
        bool best_effort;
        u32 pcpu = NONE;      // that was granted to it
        u32 last_pcpu = NONE; // where it was executed last
        bool working = false; // as the core was told
    };

    // What a pcpu does. Grants hold global ids.
    struct Pcpu {
        // The earlier of the two below.
        Ns next_ns = 0;
        // When to pick: the end of the grant, but not while the pcpu is in the hypervisor.
        Ns pick_ns = 0;
        // When the job that makes progress here finishes. What remains of it at a time t is
        // complete_ns - max(t, progress_ns).
        Ns complete_ns = NEVER;
        Ns progress_ns = 0;
        Ns overhead_end_ns = 0;
        u32 making_progress = NONE; // the task whose job does

        Ns start_ns = 0;
        Ns until_ns = 0;
        u32 run = NONE;
        u32 pay = NONE;
        u32 also = NONE;
        u32 level = 0;

        // Thefts that wait for the hypervisor to be done, and the end of those that do not.
        Ns theft_ns = 0;
        Ns stolen_until_ns = 0;
        bool stolen = false;

        // What was executed up to this instant, as recorded and counted.
        u32 ran = NONE;
        u32 ran_task = NONE;
        u64 ran_job = 0;
        u32 ran_pay = NONE;
        u8 ran_flags = 0;
        bool recorded = false;
    };

    struct Finished {
        u32 task;
        u32 vcpu;
    };

    // A scripted event, by its place in the scenario.
    struct Action {
        Ns at_ns;
        bool swap;
        std::size_t index;
    };

    static u64 bit(u32 pcpu) { return u64{1} << pcpu; }
    static u32 take_lowest(u64 &mask) {
        const u32 pcpu = static_cast<u32>(std::countr_zero(mask));

        mask &= mask - 1;
        return pcpu;
    }

    void make_locks();
    void make_guests();
    void add_vcpus(u32 domain);
    bool comes_to(u32 lock, u32 id, const Server &spec) const;
    Ns next_instant_ns() const;
    void instant();

    void completions();
    void finish_job(u32 id);
    void drop_head(u32 task);
    void record_release(u32 task, const Workload::Cursor &released);
    void release(u32 task);
    void offer_head(u32 task);
    void vcpu_changed(u32 vcpu);
    void arrive(u32 id);
    void depart(u32 id, u8 flags = 0);

    // Flows, which most systems do without: kept out of what all of them run.
    [[gnu::cold]] void come(u32 flow);
    [[gnu::cold]] void pass_on(u32 task);
    [[gnu::cold]] void release_items(u32 task);
    void reach(const Passage &passage);
    void set_source(u32 flow);

    // Domains that schedule globally, which most systems do without, too.
    GlobalGuest *global_guest(u32 domain) {
        return global_guests_.empty() ? nullptr : global_guest_of_[domain];
    }
    u32 task_on(u32 vcpu);
    void begin_round();
    bool is_granted(u32 vcpu) const;
    u32 place_jobs(GlobalGuest &guest);
    [[gnu::cold]] void stir(u32 vcpu);
    void stir_after_overheads();
    u32 lowest_without_work(const GlobalGuest &guest) const;
    [[gnu::cold]] void wake_for_releases();
    bool wake_for_waiting();
    bool retire(bool after_picks);
    [[gnu::cold]] void balance();
    void check_global(u32 domain) const;
    void check_demand(u32 domain, bool waits) const;

    void act();
    void swap_policy(const Policy &policy);
    void change_interface(const Change &change);
    [[gnu::cold]] void move(u32 id, u32 pcpu);

    // Thefts, which most systems do without as well.
    [[gnu::cold]] void steal_and_return();
    void steal(u32 id);
    void give_back(u32 id);

    // A rule in the place of the core's, for experiments.
    [[gnu::cold]] void charge_by_rule();
    [[gnu::cold]] void replenish_by_rule();
    [[gnu::cold]] void pick_by_rule(u32 id, hp_grant &grant);

    void settle();
    void settle_alone(u32 id, u64 due);
    void settle_together(u64 due);
    u64 kicked(LockDomain &lock);
    void pick(u32 id, bool interrupted);
    void close_grant(u32 id);
    Ns pays_since_ns(u32 vcpu) const;
    void forget_period(u32 vcpu);
    Ns overhead_ns(LockDomain &lock, u32 id, u32 run, bool interrupted);

    void dispatch();
    void stop_progress(Pcpu &pcpu);
    void start_progress(u32 id);
    void count_dispatch(u32 id, u32 task);
    void record_dispatch(u32 id, u32 task, u64 job);
    void check();

    u32 lock_of(u32 pcpu) const { return scenario_.global ? 0 : pcpu; }
    bool is_unfinished(u32 task, u64 job) const {
        return tasks_[task].head.job == job && tasks_[task].unfinished() > 0;
    }

    Ns now_ns_ = 0;
    u32 budget_rule_;           // in force
    Rule *rule_;                // null: the core's
    Ns next_replenish_ns_ = 0;  // by the rule
    Ns next_source_ns_ = NEVER; // of sources_
    Ns next_theft_ns_ = NEVER;  // when one begins or ends
    bool overheads_;
    Recorder &trace_;
    // A deque because a core must stay where it is.
    std::deque<LockDomain> locks_;
    std::vector<Vcpu> vcpus_;
    std::vector<Guest> guests_;
    std::deque<GlobalGuest> global_guests_;
    std::vector<GlobalGuest *> global_guest_of_; // by domain; null: it is another one
    std::vector<Pcpu> pcpu_;
    Calendar calendar_;
    Calendar sources_; // the same of flows
    std::vector<Action> script_;
    std::size_t next_action_ = 0;
    std::vector<Theft> thefts_; // with the next one's time in place of the offset

    // What this instant is about, one bit per pcpu; touched_ has one per core.
    u64 departed_ = 0; // the vcpu that runs here has no work any more
    u64 timers_ = 0;   // the grant ends
    u64 touched_ = 0;  // the core was told something
    u64 dirty_ = 0;    // something else may be executed here from now on
    std::vector<Finished> finished_;
};

inline void note(const struct hp_core *core, u32 kind, u64, u32 vcpu, u64 value) {
    // The engine owns every core that can make a note, and none of them is const.
    auto *lock = const_cast<LockDomain *>(reinterpret_cast<const LockDomain *>(core));

    lock->unpaid_refills += kind == HP_NOTE_REPLENISH;
    if (lock->listens != nullptr)
        lock->listens->noted(*lock, kind == HP_NOTE_REPLENISH, vcpu, static_cast<i64>(value));
}

} // namespace hyperperiod::sim::HP_SIM_CAPACITY

#include "hosts/sim/engine_global.h"
#include "hosts/sim/engine_picks.h"
#include "hosts/sim/engine_setup.h"
#include "hosts/sim/engine_work.h"
