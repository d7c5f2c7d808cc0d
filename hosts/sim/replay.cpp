// SPDX-License-Identifier: BSD-2-Clause
//
// A host's ring (record/ring.h), played again: the core's calls that it holds, made on the same
// core built here, which must keep its laws after each. Every answer must be the one that the host
// got; the first that is not ends the replay. On the way the events become records of a trace file,
// together with those that a ring does not hold because they follow from the calls: charges,
// refills, depletions.
//
// Also measured here: how late a grant ended, by a pick or because the pcpu was stolen, after it
// was to end or should no longer have been.

#define HP_VCPUS 64u

#include "hosts/sim/periods.h"
#include "hosts/sim/recorder.h"
#include "record/ring.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <nanobind/nanobind.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hyperperiod::sim::replay {

struct hp_core;
void note(const struct hp_core *core, u32 kind, u64 now_ns, u32 vcpu, u64 value);

#define HP_NOTE(core, kind, now_ns, vcpu, value)                                                   \
    note(core, kind, now_ns, vcpu, static_cast<hp_u64>(value))

#include "core/hyperperiod.h"
#include "core/move.h"

static_assert(NEVER == HP_NEVER);

namespace nb = nanobind;

class Replay;

// The core is the first member, so that a note can be traced back to its replay.
struct Heard {
    hp_core core;
    Replay *replay;
};

class Replay {
  public:
    // Records up to `end_ns` become records of the trace, where seat 0 is `first_pcpu`; those
    // after it are only checked.
    Replay(u32 first_pcpu, Ns end_ns)
        : first_pcpu_(first_pcpu), end_ns_(end_ns), heard_(std::make_unique<Heard>()) {}

    // Whether the answer, if there is one, was the same.
    bool play(const hp_record &record);
    void close();
    void note(bool is_refill, u64 now_ns, u32 vcpu, u64 value);

    const hp_record &answer() const { return answer_; }
    const std::vector<hp_record> &trace() const { return trace_; }
    const std::vector<Periods> &periods() const { return periods_; }
    bool started() const { return started_; }
    bool ended() const { return ended_; }
    u32 pcpus() const { return started_ ? hp_pcpus(&heard_->core) : 0; }
    Ns lateness_ns() const { return lateness_ns_; }

  private:
    // What a pcpu was granted, for the charge when that ends.
    struct Seat {
        hp_grant grant{};
        Ns wrong_ns = NEVER; // since when the grant should not be
    };

    void add(Ns now_ns, const Entry &entry);
    void start(const hp_record &record);
    void call(const hp_record &record);
    bool pick(const hp_record &record);
    void steal_or_return(const hp_record &record);
    u32 leave(u32 vcpu);
    u32 join(const hp_record &record);
    void charge(u32 pcpu);
    Ns pays_since_ns(u32 vcpu) const;
    void forget_period(u32 vcpu) { periods_[vcpu].forget(now_ns_, pays_since_ns(vcpu)); }
    void look_how_late(u32 pcpu);
    void look_for_wrong();
    void check();
    u32 pcpu_of(u64 number);
    Seat &seat(u32 pcpu) { return seats_[pcpu]; }
    hp_core *core() { return &heard_->core; }
    hp_params params_of(const hp_record &record) const {
        if (record.flags & HP_BEST_EFFORT)
            return {0, 0, record.job, record.flags, static_cast<hp_u32>(record.value)};
        return {record.value, budget_ns_, record.job, record.flags, 0};
    }
    static hp_policy policy_of(u64 value) {
        return {static_cast<hp_u32>(value & 0xff), static_cast<hp_u32>(value >> 8 & 0xff),
                static_cast<hp_u32>(value >> 16 & 0xff)};
    }

    u32 first_pcpu_;
    Ns end_ns_;
    std::unique_ptr<Heard> heard_;
    std::vector<hp_record> trace_;
    std::vector<Seat> seats_{HP_PCPUS};
    std::vector<Periods> periods_{HP_VCPUS};
    hp_record answer_{};
    hp_config config_{};
    hp_moving moving_{}; // what the next vcpu that joins brings along, as far as it is known
    Ns budget_ns_ = 0;
    Ns now_ns_ = 0;
    Ns traced_ns_ = 0;
    Ns lateness_ns_ = 0;
    bool started_ = false;
    bool ended_ = false;
    bool closed_ = false;
};

void note(const struct hp_core *core, u32 kind, u64 now_ns, u32 vcpu, u64 value) {
    Replay *replay = reinterpret_cast<const Heard *>(core)->replay;

    if (replay != nullptr)
        replay->note(kind == HP_NOTE_REPLENISH, now_ns, vcpu, value);
}

void Replay::note(bool is_refill, u64 now_ns, u32 vcpu, u64 value) {
    add(now_ns,
        {.event = is_refill ? Event::replenish : Event::deplete, .value = value, .vcpu = vcpu});
    if (vcpu >= HP_VCPUS || closed_ || config_.policy.budget == HP_BUDGET_SPORADIC)
        return;
    if (is_refill)
        periods_[vcpu].refill({now_ns_, hp_deadline_ns(core(), vcpu), hp_period_ns(core(), vcpu),
                               hp_budget_ns(core(), vcpu), static_cast<i64>(value),
                               config_.policy.budget == HP_BUDGET_CBS},
                              pays_since_ns(vcpu));
    else
        periods_[vcpu].deplete(now_ns_, pays_since_ns(vcpu));
}

// Since when a vcpu has been paying by a grant that is not charged yet; NEVER: it is not.
Ns Replay::pays_since_ns(u32 vcpu) const {
    for (u32 pcpu = 0; pcpu < pcpus(); pcpu++) {
        const hp_grant &grant = seats_[pcpu].grant;

        if (grant.level == 0 && (grant.pay == vcpu || grant.also == vcpu))
            return grant.start_ns;
    }
    return NEVER;
}

void Replay::add(Ns now_ns, const Entry &entry) {
    if (now_ns > end_ns_)
        return;
    // A core that began anew may be told a time before the last one of the core before it.
    traced_ns_ = std::max(traced_ns_, now_ns);
    trace_.push_back({traced_ns_, entry.value, static_cast<u32>(entry.job),
                      static_cast<u16>(entry.pcpu), static_cast<u16>(entry.vcpu),
                      static_cast<u16>(entry.payer), static_cast<u16>(entry.task),
                      static_cast<u8>(entry.event), entry.flags, 0});
}

bool Replay::play(const hp_record &record) {
    // Two pcpus may read the clock in another order than they get the lock.
    now_ns_ = std::max<Ns>(now_ns_, record.time);
    if (now_ns_ > end_ns_)
        close();
    switch (record.kind) {
    case HP_RECORD_QUANTUM:
        // A core begins, perhaps again: a pool's last pcpu left and another came. Its time is new.
        started_ = false;
        now_ns_ = record.time;
        config_.quantum_ns = record.value;
        return true;
    case HP_RECORD_BUDGET:
        budget_ns_ = record.value;
        return true;
    case HP_RECORD_WANTED:
        moving_.wanted = params_of(record);
        moving_.waits = 1;
        return true;
    case HP_RECORD_REFILL:
        moving_.refill_ns = record.value;
        return true;
    case HP_RECORD_LEFT:
        moving_.left_ns = static_cast<hp_i64>(record.value);
        moving_.runnable = record.job;
        return true;
    case HP_RECORD_START:
        start(record);
        return true;
    case HP_RECORD_END:
        ended_ = true;
        return true;
    default:
        break;
    }
    if (!started_ && record.kind == HP_RECORD_SET_SPARE) {
        config_.spare_period_ns = record.value;
        config_.spare_budget_ns = budget_ns_;
        return true;
    }
    if (!started_)
        throw std::invalid_argument("the ring does not begin with the start of the core");
    const bool picks = record.kind == HP_RECORD_RUN || record.kind == HP_RECORD_IDLE;
    bool same = true;

    if (picks)
        same = pick(record);
    else
        call(record);
    look_for_wrong();
    check();
    return same;
}

// The laws that the core keeps between any two calls.
void Replay::check() {
    if (const u32 law = hp_check(core(), now_ns_); law != HP_LAW_HOLDS)
        throw std::invalid_argument("the core breaks its law " + std::to_string(law) + " at "
                                    + std::to_string(now_ns_) + " ns");
}

void Replay::start(const hp_record &record) {
    config_.policy = policy_of(record.value);
    config_.pcpus = record.job;
    config_.reports_saved = record.value >> 24 & 1;
    heard_->replay = nullptr;
    if (const u32 error = hp_init(core(), &config_, now_ns_); error != HP_OK)
        throw std::invalid_argument("hp_init: error " + std::to_string(error));
    heard_->replay = this;
    started_ = true;
    closed_ = false;
    periods_.assign(HP_VCPUS, {});
    for (u32 pcpu = 0; pcpu < HP_PCPUS; pcpu++) {
        seats_[pcpu] = {*hp_granted(&heard_->core, pcpu), now_ns_};
    }
}

void Replay::call(const hp_record &record) {
    const hp_params params = params_of(record);
    u32 error = HP_OK;

    if (record.vcpu >= HP_VCPUS && record.vcpu != HP_RECORD_NONE)
        throw std::invalid_argument("no vcpu has the number " + std::to_string(record.vcpu));
    switch (record.kind) {
    case HP_RECORD_ARRIVE:
        add(now_ns_, {.event = Event::arrive, .vcpu = record.vcpu});
        periods_.at(record.vcpu).arrive(now_ns_, pays_since_ns(record.vcpu));
        hp_arrive(core(), record.vcpu, now_ns_);
        break;
    case HP_RECORD_DEPART:
        add(now_ns_, {.event = Event::depart, .vcpu = record.vcpu});
        periods_.at(record.vcpu).depart(now_ns_);
        hp_depart(core(), record.vcpu, now_ns_);
        break;
    case HP_RECORD_SWAP: {
        const hp_policy policy = policy_of(record.value);

        add(now_ns_, {.event = Event::swap, .value = record.value & 0xffffff});
        error = hp_set_policy(core(), &policy, now_ns_);
        config_.policy = policy;
        for (u32 vcpu = 0; vcpu < HP_VCPUS; vcpu++)
            forget_period(vcpu);
        break;
    }
    case HP_RECORD_SET_SPARE:
        error = hp_set_spare(core(), record.value, budget_ns_, now_ns_);
        break;
    case HP_RECORD_ADD:
        error = hp_add(core(), record.vcpu, &params, now_ns_);
        break;
    case HP_RECORD_UPDATE:
        error = hp_update(core(), record.vcpu, &params, now_ns_);
        break;
    case HP_RECORD_REMOVE:
        error = hp_remove(core(), record.vcpu, now_ns_);
        forget_period(record.vcpu);
        break;
    case HP_RECORD_LEAVE:
        error = leave(record.vcpu);
        break;
    case HP_RECORD_JOIN:
        error = join(record);
        break;
    case HP_RECORD_ADD_PCPU:
        error = hp_add_pcpu(core(), now_ns_);
        break;
    case HP_RECORD_DROP_PCPU:
        error = hp_drop_pcpu(core(), static_cast<u32>(record.value), now_ns_);
        break;
    case HP_RECORD_HOLD:
        hp_hold(core(), record.vcpu, static_cast<u32>(record.value));
        break;
    case HP_RECORD_BIND:
        hp_bind(core(), record.vcpu, record.value);
        break;
    case HP_RECORD_SAVED:
        hp_saved(core(), record.vcpu, now_ns_);
        break;
    case HP_RECORD_STEAL:
    case HP_RECORD_RETURN:
        steal_or_return(record);
        break;
    default:
        throw std::invalid_argument("no record has the kind " + std::to_string(record.kind));
    }
    if (error != HP_OK)
        throw std::invalid_argument("the core refuses a call that the hypervisor made: error "
                                    + std::to_string(error));
}

// A grant ends now; it should have by its end, or since it should not be any more.
void Replay::look_how_late(u32 pcpu) {
    const Ns due_ns = std::min<Ns>(seat(pcpu).grant.until_ns, seat(pcpu).wrong_ns);

    if (now_ns_ > due_ns && now_ns_ < end_ns_)
        lateness_ns_ = std::max(lateness_ns_, now_ns_ - due_ns);
}

// A pcpu is not there to be granted, or is again: until its next pick nobody has it.
void Replay::steal_or_return(const hp_record &record) {
    const u32 pcpu = pcpu_of(record.value);
    const bool steals = record.kind == HP_RECORD_STEAL;

    charge(pcpu);
    look_how_late(pcpu);
    if (steals)
        hp_steal(core(), pcpu, now_ns_);
    else
        hp_return(core(), pcpu, now_ns_);
    seat(pcpu) = {*hp_granted(core(), pcpu), NEVER};
    add(now_ns_, {.event = Event::idle,
                  .value = seat(pcpu).grant.until_ns,
                  .pcpu = first_pcpu_ + pcpu,
                  .flags = static_cast<u8>(steals ? HP_RECORD_STOLEN : 0)});
}

// The number of a pcpu that a record names.
u32 Replay::pcpu_of(u64 number) {
    if (number >= pcpus())
        throw std::invalid_argument("no pcpu has the number " + std::to_string(number));
    return static_cast<u32>(number);
}

// What it pays for ends here. That its pcpu has it no more is seen when that picks.
u32 Replay::leave(u32 vcpu) {
    hp_moving left;

    for (u32 pcpu = 0; pcpu < pcpus(); pcpu++) {
        hp_grant &grant = seat(pcpu).grant;

        charge(pcpu);
        for (u32 *payer : {&grant.pay, &grant.also})
            *payer = *payer == vcpu ? u32{HP_NONE} : *payer;
    }
    add(now_ns_, {.event = Event::move, .vcpu = vcpu});
    forget_period(vcpu);
    periods_[vcpu].depart(now_ns_);
    return hp_leave(core(), vcpu, &left, now_ns_);
}

u32 Replay::join(const hp_record &record) {
    hp_moving moving = std::exchange(moving_, {});

    moving.params = params_of(record);
    add(now_ns_, {.event = Event::move, .pcpu = first_pcpu_, .vcpu = record.vcpu});
    const u32 error = hp_join(core(), record.vcpu, &moving, now_ns_);

    forget_period(record.vcpu);
    if (moving.runnable)
        periods_[record.vcpu].arrive(now_ns_, NEVER);
    return error;
}

// Answers as the ring has them.
bool Replay::pick(const hp_record &record) {
    const u32 pcpu = pcpu_of(record.pcpu);
    const u8 known = HP_RECORD_SECOND_PAYER | HP_RECORD_EXTRA;

    charge(pcpu);
    const hp_grant grant = *hp_pick(core(), pcpu, now_ns_);
    look_how_late(pcpu);
    seat(pcpu) = {grant, NEVER};
    answer_ = record;
    answer_.value = grant.until_ns;
    answer_.job = grant.level;
    answer_.vcpu = static_cast<u16>(grant.run);
    answer_.payer = static_cast<u16>(grant.pay);
    answer_.kind = grant.run == HP_NONE ? HP_RECORD_IDLE : HP_RECORD_RUN;
    answer_.flags = static_cast<u8>((record.flags & ~known)
                                    | (grant.also == HP_NONE ? 0 : HP_RECORD_SECOND_PAYER)
                                    | (grant.level > 0 ? HP_RECORD_EXTRA : 0));
    add(now_ns_, {.event = static_cast<Event>(answer_.kind),
                  .value = grant.until_ns,
                  .pcpu = first_pcpu_ + pcpu,
                  .vcpu = grant.run,
                  .payer = grant.pay,
                  .flags = static_cast<u8>(answer_.flags & known)});
    return std::memcmp(&answer_, &record, sizeof record) == 0;
}

// Books the time since a pcpu's last pick, as far as the trace goes.
void Replay::charge(u32 pcpu) {
    const hp_grant &grant = seat(pcpu).grant;
    const Ns now_ns = std::min(now_ns_, end_ns_);

    if (now_ns <= grant.start_ns)
        return;
    for (const u32 payer : {grant.pay, grant.also}) {
        if (payer < HP_VCPUS && grant.level == 0)
            periods_[payer].pay(grant.start_ns, now_ns);
        if (payer != HP_NONE)
            add(now_ns, {.event = Event::charge,
                         .value = now_ns - grant.start_ns,
                         .pcpu = first_pcpu_ + pcpu,
                         .vcpu = grant.run,
                         .payer = payer,
                         .flags = static_cast<u8>(grant.level > 0 ? HP_RECORD_EXTRA : 0)});
    }
    seat(pcpu).grant.start_ns = now_ns;
}

// Which grants are not right any more. The hypervisor asks this too, after each call.
void Replay::look_for_wrong() {
    const u64 kicks = hp_kicks(core(), now_ns_);

    for (u32 pcpu = 0; pcpu < pcpus(); pcpu++) {
        const bool wrong = (kicks >> pcpu & 1) != 0;

        seat(pcpu).wrong_ns = wrong ? std::min(seat(pcpu).wrong_ns, now_ns_) : NEVER;
    }
}

// The trace ends, and with it what is counted.
void Replay::close() {
    if (std::exchange(closed_, true))
        return;
    now_ns_ = std::max(now_ns_, end_ns_);
    for (u32 pcpu = 0; pcpu < pcpus(); pcpu++)
        charge(pcpu);
    for (Periods &server : periods_)
        server.finish(end_ns_);
}

nb::bytes bytes_of(const std::vector<hp_record> &records) {
    return nb::bytes(records.data(), records.size() * sizeof(hp_record));
}

nb::dict replay_ring(const nb::bytes &ring, u32 first_pcpu, Ns end_ns) {
    const std::size_t count = ring.size() / sizeof(hp_record);
    const char *from = ring.c_str();
    Replay replay(first_pcpu, end_ns);
    nb::dict result;

    result["difference"] = nb::none();
    for (std::size_t at = 0; at < count && !replay.ended(); at++) {
        hp_record record;

        std::memcpy(&record, from + at * sizeof record, sizeof record);
        if (!replay.play(record)) {
            result["difference"] = nb::make_tuple(at, bytes_of({replay.answer()}));
            break;
        }
    }
    replay.close();
    result["pcpus"] = replay.pcpus();
    result["lateness_ns"] = replay.lateness_ns();
    result["trace"] = bytes_of(replay.trace());
    nb::list periods;
    for (const Periods &server : replay.periods()) {
        const PeriodCount &found = server.count();

        periods.append(
            nb::make_tuple(found.wanted, found.cut_short, found.least_supply_ns, found.latest_ns));
    }
    result["periods"] = periods;
    return result;
}

} // namespace hyperperiod::sim::replay

namespace hyperperiod::sim {

void bind_replay(nanobind::module_ &module) {
    module.def("replay_ring", &replay::replay_ring, nanobind::arg("ring"),
               nanobind::arg("first_pcpu"), nanobind::arg("end_ns"));
}

} // namespace hyperperiod::sim
