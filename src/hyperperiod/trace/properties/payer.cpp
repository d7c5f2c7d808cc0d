// SPDX-License-Identifier: BSD-2-Clause
//
// Who pays at each instant is whom the policy names, judged by budgets worked out independently.
//
// Periodic servers: the first server in the order that has budget pays, whoever runs; globally the
// first m of them. A vcpu that runs on lent time pays as well. Every other server pays for itself
// while it runs and for nothing else; the spare pays where it stands; nobody pays for a share of
// the rule weights, nor when nobody is in charge.

#include "src/hyperperiod/trace/properties/choice.hpp"
#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

// Compares the payers of every grant with those that the policy names.
class Payer : public Property {
  public:
    using Property::Property;

    void moment(Moment &moment) override {
        for (Group &group : moment.groups)
            if (group.looked_at && !group.there.empty())
                judge(moment, group);
        for (Group &group : moment.groups)
            if (group.looked_at)
                for (const u16 pcpu : group.pcpus)
                    judge_second(moment, group, pcpu);
    }

  private:
    void judge(const Moment &moment, Group &group) {
        if (moment.rules[group.there[0]].budget != Budget::periodic) {
            for (const u16 pcpu : group.there)
                judge_own(moment, group, pcpu);
        } else if (header.partitioned) {
            judge_first(moment, group, group.there[0]);
        } else {
            judge_global(moment, group);
        }
    }

    void judge_first(const Moment &moment, Group &group, u16 pcpu) {
        const u16 pay = moment.grants[pcpu].pay, last = moment.last_payer[pcpu];
        if (group.usable.empty())
            return pay == nobody ? void() : wrong_payer(moment, group, pcpu, {nobody});
        if (!moment.is_first(group.usable, last, pay))
            wrong_payer(moment, group, pcpu, moment.first(group.usable, last));
    }

    // The payers are the first m, each on one pcpu; of equals all are right.
    void judge_global(const Moment &moment, Group &group) {
        const std::vector<Queue::Entry> paying = payers_with_budget(moment, group);
        const std::size_t count = std::min(group.there.size(), group.usable.size());
        bool right = paying.size() == count;
        for (std::size_t at = 0; right && at < count; at++)
            right = paying[at].place == group.usable[at].place;
        std::vector<u16> best, missing;
        for (std::size_t at = 0; at < count; at++)
            best.push_back(right ? paying[at].id : group.usable[at].id);
        for (const u16 vcpu : best)
            if (!pays(moment, group, vcpu))
                missing.push_back(vcpu);
        if (missing.empty())
            missing.push_back(nobody);
        std::vector<u16> elsewhere;
        for (const u16 pcpu : group.there) {
            const u16 pay = moment.grants[pcpu].pay;
            if (among(elsewhere, pay) || (!among(best, pay) && !among(missing, pay)))
                wrong_payer(moment, group, pcpu, missing);
            if (pay != nobody)
                elsewhere.push_back(pay);
        }
    }

    // The servers that pay and have budget, in order.
    static std::vector<Queue::Entry> payers_with_budget(const Moment &moment, const Group &group) {
        std::vector<Queue::Entry> found;
        for (const u16 pcpu : group.there) {
            const u16 pay = moment.grants[pcpu].pay;
            if (pay != nobody && pay != spare_id && moment.usable(pay))
                found.push_back({moment.place(pay), pay});
        }
        std::sort(found.begin(), found.end());
        found.erase(std::unique(found.begin(), found.end()), found.end());
        return found;
    }

    static bool pays(const Moment &moment, const Group &group, u16 vcpu) {
        for (const u16 pcpu : group.there)
            if (moment.grants[pcpu].pay == vcpu)
                return true;
        return false;
    }

    // Where a server pays only for itself.
    void judge_own(const Moment &moment, Group &group, u16 pcpu) {
        const Grant &grant = moment.grants[pcpu];
        const Slack slack = moment.rules[group.there[0]].slack;
        if (grant.run == nobody || moment.best_effort(grant.run)) {
            const bool spares = slack == Slack::spare;
            if (grant.pay != nobody && !(spares && grant.pay == spare_id))
                wrong_payer(moment, group, pcpu,
                            spares ? std::vector<u16>{nobody, spare_id} : std::vector<u16>{nobody});
        } else if (moment.usable(grant.run)) {
            if (grant.pay != grant.run)
                wrong_payer(moment, group, pcpu, {grant.run});
        } else if (slack == Slack::spare) {
            if (grant.pay != spare_id)
                wrong_payer(moment, group, pcpu, {spare_id});
        } else if (slack != Slack::weights) {
            wrong_payer(moment, group, pcpu, {});
        } else if (grant.pay != nobody) {
            wrong_payer(moment, group, pcpu, {nobody});
        }
    }

    void wrong_payer(const Moment &moment, Group &group, u16 pcpu, const std::vector<u16> &right) {
        const u16 pay = moment.grants[pcpu].pay;
        wrong(moment, group, {pcpu, pay}, [&] {
            std::vector<u16> by_name = right;
            std::sort(by_name.begin(), by_name.end(), [this](u16 one, u16 other) {
                return header.server_name(one) < header.server_name(other);
            });
            return "pcpu " + std::to_string(pcpu) + ": " + header.server_name(pay) + " pays, not "
                   + names(header, by_name, " or ", "anybody");
        });
    }

    // Who runs on lent time pays as well, and nobody else does.
    void judge_second(const Moment &moment, Group &group, u16 pcpu) {
        const Grant &grant = moment.grants[pcpu];
        const bool lends = moment.rules[pcpu].slack == Slack::lend && grant.run != nobody
                           && !moment.best_effort(grant.run);
        if (grant.also == (lends && grant.pay != grant.run))
            return;
        wrong(moment, group, {pcpu, 0, 1}, [&] {
            return "pcpu " + std::to_string(pcpu) + ": " + header.server_name(grant.run)
                   + " pays as well: " + (grant.also ? "True" : "False");
        });
    }
};

} // namespace

const Row rows::payer{
    "payer",
    "Who pays at each instant is whom the policy names, judged by budgets worked out "
    "independently.",
    {.moments = true},
    make_property<Payer>,
};

} // namespace hyperperiod::trace
