// SPDX-License-Identifier: BSD-2-Clause
//
// The vcpu of a depleted server runs only on donated time, the spare, extra time or a share.
//
// Extra time is marked as such: the grant of a vcpu that has fallen below its own level says so.
// (Where pcpus are shared, a grant that a refill leaves right is not made anew, so its mark may
// stay on after that.)

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

// Looks for a vcpu that runs with nothing left and nobody to pay for it.
class Depleted : public Property {
  public:
    using Property::Property;

    void moment(Moment &moment) override {
        for (Group &group : moment.groups)
            if (group.looked_at)
                for (const u16 pcpu : group.pcpus)
                    judge(moment, group, pcpu);
    }

  private:
    void judge(const Moment &moment, Group &group, u16 pcpu) {
        const Grant &grant = moment.grants[pcpu];
        if (grant.run == nobody || moment.best_effort(grant.run))
            return;
        const Server &server = *moment.server(grant.run);
        if (!server.usable() && !helped(moment, pcpu))
            wrong(moment, group, {grant.run},
                  [&] { return header.server_name(grant.run) + " runs depleted"; });
        const bool marked = grant.extra == (server.level > 0);
        if (grant.pay == grant.run && !marked)
            wrong(moment, group, {grant.run, 1}, [&] {
                return header.server_name(grant.run) + " is on level "
                       + std::to_string(server.level)
                       + ", marked as extra time: " + (grant.extra ? "True" : "False");
            });
    }

    // Whether another server with budget pays, or nobody, as the policy allows.
    static bool helped(const Moment &moment, u16 pcpu) {
        const Grant &grant = moment.grants[pcpu];
        const Slack slack = moment.rules[pcpu].slack;
        if (grant.pay == nobody && slack == Slack::weights)
            return true;
        if (grant.pay == nobody || grant.pay == grant.run)
            return false;
        if (grant.pay != spare_id && slack != Slack::reclaim)
            return false;
        for (const std::size_t payer : moment.payers(pcpu))
            if (!moment.usable(payer))
                return false;
        return true;
    }
};

} // namespace

const Row rows::depleted{
    "depleted",
    "The vcpu of a depleted server runs only on donated time, the spare, extra time or a share.",
    {.moments = true},
    make_property<Depleted>,
};

} // namespace hyperperiod::trace
