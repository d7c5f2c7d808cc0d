// SPDX-License-Identifier: BSD-2-Clause
//
// A pcpu idles while a vcpu with a server waits only where the policy wants it to.
//
// Without slack, under periodic servers, it idles whenever the payer has no work. Where time is
// lent it idles only if no waiting vcpu has budget, where it is reclaimed only if nobody has any.
// Under the other rules it idles only if no waiting vcpu has budget. Best effort does not count as
// idling here, nor does the spare.

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

// Looks for idle pcpus beside vcpus that should have had them.
class Idle : public Property {
  public:
    using Property::Property;

    void moment(Moment &moment) override {
        for (Group &group : moment.groups)
            if (group.looked_at)
                judge(moment, group);
    }

  private:
    void judge(const Moment &moment, Group &group) {
        const auto idles = [&](u16 pcpu) { return moment.grants[pcpu].run == nobody; };
        const auto idle = std::find_if(group.there.begin(), group.there.end(), idles);
        if (idle == group.there.end())
            return;
        for (const u16 vcpu : wronged(moment, group))
            wrong(moment, group, {vcpu}, [&] {
                return "pcpu " + std::to_string(*idle) + " idles although "
                       + header.server_name(vcpu) + " may run";
            });
    }

    // Who may not be left waiting while a pcpu of the group idles, and is, by id.
    static std::vector<u16> wronged(const Moment &moment, const Group &group) {
        const Rules &rules = moment.rules[group.there[0]];
        const bool strict = rules.budget == Budget::periodic && rules.slack == Slack::none;
        const bool anybody = rules.slack == Slack::reclaim && !group.usable.empty();
        std::vector<u16> found;
        for (const Queue::Entry &entry : anybody ? group.working : group.able)
            if (!moment.runs(entry.id) && (!strict || pays(moment, entry.id)))
                found.push_back(entry.id);
        std::sort(found.begin(), found.end());
        return found;
    }

    static bool pays(const Moment &moment, u16 vcpu) {
        const auto named = [vcpu](const Grant &grant) { return grant.pay == vcpu; };
        return std::any_of(moment.grants.begin(), moment.grants.end(), named);
    }
};

} // namespace

const Row rows::idle{
    "idle",
    "A pcpu idles while a vcpu with a server waits only where the policy wants it to.",
    {.moments = true},
    make_property<Idle>,
};

} // namespace hyperperiod::trace
