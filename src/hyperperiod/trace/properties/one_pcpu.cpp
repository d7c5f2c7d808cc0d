// SPDX-License-Identifier: BSD-2-Clause
//
// A vcpu runs on one pcpu at a time, and under a partitioned policy only on its own.

#include <set>

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

// Looks for intervals of one vcpu that overlap, and for intervals on a foreign pcpu.
class OnePcpu : public Property {
  public:
    explicit OnePcpu(const Header &run)
        : Property(run), latest_(run.vcpus.size()), running_(run.pcpus) {
        for (const Vcpu &vcpu : run.vcpus)
            homes_.push_back(vcpu.pcpu);
    }

    void record(const Record &record, u64) override {
        if (record.event() == Event::move) {
            homes_[record.vcpu] = record.pcpu;
            return;
        }
        const u16 run = record.event() == Event::run ? record.vcpu : nobody;
        running_[record.pcpu] = {run, record.at()};
        decided_.push_back(record.pcpu);
    }

    // What is decided now holds for longer than an instant.
    void instant(Time now, Time) override {
        std::sort(decided_.begin(), decided_.end());
        decided_.erase(std::unique(decided_.begin(), decided_.end()), decided_.end());
        for (const u16 pcpu : decided_)
            if (running_[pcpu].vcpu != nobody)
                begin(now, pcpu, running_[pcpu].vcpu);
        decided_.clear();
    }

  private:
    struct Running {
        u16 vcpu = nobody;
        Time start = 0;
    };

    // Where a vcpu began to run last.
    struct Latest {
        u16 pcpu = nobody;
        Time start = 0;
    };

    void begin(Time now, u16 pcpu, u16 vcpu) {
        check_home(now, pcpu, vcpu);
        Latest &latest = latest_[vcpu];
        if (latest.pcpu != nobody && latest.pcpu != pcpu) {
            const Running &there = running_[latest.pcpu];
            if (there.vcpu == vcpu && there.start == latest.start)
                verdict.add({1, vcpu, static_cast<u64>(now), pcpu}, now, [&] {
                    return header.server_name(vcpu) + " runs on two pcpus at once";
                });
        }
        latest = {pcpu, now};
    }

    // Told once for each vcpu on each pcpu.
    void check_home(Time now, u16 pcpu, u16 vcpu) {
        if (!header.partitioned || homes_[vcpu] == pcpu || !abroad_.emplace(pcpu, vcpu).second)
            return;
        verdict.add({0, pcpu, vcpu, 0}, now, [&] {
            return header.server_name(vcpu) + " runs on pcpu " + std::to_string(pcpu)
                   + ", its own is " + std::to_string(homes_[vcpu]);
        });
    }

    std::vector<u16> homes_;
    std::vector<Latest> latest_;
    std::vector<Running> running_;
    std::vector<u16> decided_;
    std::set<std::pair<u16, u16>> abroad_;
};

} // namespace

const Row rows::one_pcpu{
    "one-pcpu",
    "A vcpu runs on one pcpu at a time, and under a partitioned policy only on its own.",
    {.kinds = bit(Event::run) | bit(Event::idle) | bit(Event::move), .instants = true},
    make_property<OnePcpu>,
};

} // namespace hyperperiod::trace
