// SPDX-License-Identifier: BSD-2-Clause
//
// Best-effort vcpus run exactly where the pcpu would idle, pay nothing, and leave at once.
//
// So a pcpu on which one could run does not idle. Inside such time they take turns of 1 ms: on one
// pcpu none runs longer while another one waits, and where several pcpus are shared, none runs for
// more turns than there are vcpus to take them. Under the slack rule weights both is said by
// another property (shares).

#include "src/hyperperiod/trace/properties/choice.hpp"
#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

constexpr Time guest_turn = 1'000'000;

// How long one may run while others wait.
Time longest_run(const Header &header) {
    const auto guests = std::count_if(header.vcpus.begin(), header.vcpus.end(),
                                      [](const Vcpu &vcpu) { return vcpu.best_effort; });
    const bool shared = !header.partitioned && header.pcpus > 1;
    return (shared ? guests : 1) * (guest_turn + header.late);
}

// Looks for best effort in time that belongs to others, on others' bills, or without end.
class BestEffort : public Property {
  public:
    explicit BestEffort(const Header &run) : Property(run), turns_(longest_run(run)) {
        for (const Vcpu &vcpu : run.vcpus)
            any_ |= vcpu.best_effort;
    }

    void moment(Moment &moment) override {
        if (!any_)
            return;
        for (Group &group : moment.groups)
            if (group.looked_at)
                for (const u16 pcpu : group.there) {
                    const u16 run = moment.grants[pcpu].run;
                    if (run == nobody)
                        judge_idle(moment, group, pcpu);
                    else if (moment.best_effort(run))
                        judge(moment, group, pcpu);
                }
    }

  private:
    void judge_idle(const Moment &moment, Group &group, u16 pcpu) {
        const u16 vcpu = waiting(moment, group);
        if (vcpu == nobody || moment.rules[pcpu].slack == Slack::weights)
            return;
        wrong(moment, group, {pcpu, 0}, [&] {
            return "pcpu " + std::to_string(pcpu) + " idles although " + header.server_name(vcpu)
                   + " would run best effort";
        });
    }

    void judge(const Moment &moment, Group &group, u16 pcpu) {
        const Grant &grant = moment.grants[pcpu];
        const auto say = [&](const std::string &what) {
            return [this, &grant, what] { return header.server_name(grant.run) + what; };
        };
        if (grant.also || !may_pay(moment, pcpu))
            wrong(moment, group, {pcpu, 1}, say(" runs best effort and is charged"));
        if (!moment.has_work(grant.run))
            wrong(moment, group, {pcpu, 2}, say(" runs best effort without work"));
        if (is_wanted(moment, group, pcpu))
            wrong(moment, group, {pcpu, 3}, [&] {
                return header.server_name(grant.run) + " runs best effort on pcpu "
                       + std::to_string(pcpu) + ", which is wanted";
            });
        if (moment.rules[pcpu].slack != Slack::weights && waiting(moment, group) != nobody)
            wrong(turns_, moment, group, {pcpu, grant.run},
                  say(" runs best effort for more than its turn while others wait"));
    }

    // The first best-effort vcpu with work and without a pcpu that could have one of these.
    static u16 waiting(const Moment &moment, const Group &group) {
        for (const u16 vcpu : group.guests)
            if (!moment.runs(vcpu))
                return vcpu;
        return nobody;
    }

    static bool may_pay(const Moment &moment, u16 pcpu) {
        const u16 pay = moment.grants[pcpu].pay;
        return pay == nobody || pay == spare_id || moment.rules[pcpu].budget == Budget::periodic;
    }

    // Whether somebody with a server should have that pcpu instead.
    static bool is_wanted(const Moment &moment, const Group &group, u16 pcpu) {
        if (moment.rules[pcpu].budget == Budget::periodic)
            return !periodic_choice(moment, pcpu, group).empty();
        if (group.there.size() == 1)
            return !group.able.empty();
        return std::any_of(group.able.begin(), group.able.end(),
                           [&](const Queue::Entry &entry) { return !moment.runs(entry.id); });
    }

    bool any_ = false;
    Watch turns_;
};

} // namespace

const Row rows::best_effort{
    "best-effort",
    "Best-effort vcpus run exactly where the pcpu would idle, pay nothing, and leave at once.",
    {.moments = true},
    make_property<BestEffort>,
};

} // namespace hyperperiod::trace
