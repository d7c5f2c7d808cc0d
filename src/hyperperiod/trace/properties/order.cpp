// SPDX-License-Identifier: BSD-2-Clause
//
// Who runs at each instant is whom the policy names: the first in its order that may run.
//
// Per pcpu, under periodic servers, H being the one that pays: H if it has work; else, where time
// is lent, the first with work and budget; where it is reclaimed, the first with work, those with
// budget before the depleted; else nobody. Under all other rules the first m with work and budget
// run on m pcpus. What runs beyond that (best effort, the spare, shares) has its own properties.

#include "src/hyperperiod/trace/properties/choice.hpp"
#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

// Compares who runs with who should.
class InOrder : public Property {
  public:
    using Property::Property;

    void moment(Moment &moment) override {
        for (Group &group : moment.groups)
            if (group.looked_at && !group.there.empty())
                judge(moment, group);
    }

  private:
    void judge(const Moment &moment, Group &group) {
        if (moment.rules[group.there[0]].budget == Budget::periodic) {
            for (const u16 pcpu : group.there)
                judge_one(moment, group, pcpu, periodic_choice(moment, pcpu, group));
        } else if (group.there.size() == 1) {
            judge_first(moment, group, group.there[0]);
        } else {
            judge_several(moment, group);
        }
    }

    // The only pcpu that is there. Those that are stolen have their last ones, too.
    void judge_first(const Moment &moment, Group &group, u16 pcpu) {
        const u16 last = incumbent(moment, group);
        if (!moment.is_first(group.able, last, server_run(moment, pcpu)))
            judge_one(moment, group, pcpu, moment.first(group.able, last));
    }

    // Of those that are first and were the last on a pcpu of the group, the lowest number.
    static u16 incumbent(const Moment &moment, const Group &group) {
        u16 found = nobody;
        for (const u16 pcpu : group.pcpus) {
            const u16 last = moment.last_run[pcpu];
            if (last < found && among(moment.first(group.able, last), last))
                found = last;
        }
        return found;
    }

    void judge_one(const Moment &moment, Group &group, u16 pcpu, const std::vector<u16> &right) {
        const u16 run = server_run(moment, pcpu);
        if (among(right, run) || (run == nobody && right.empty()))
            return;
        Wrong what{pcpu, run};
        what.insert(what.end(), right.begin(), right.end());
        wrong(moment, group, what, [&] {
            return "pcpu " + std::to_string(pcpu) + ": " + header.server_name(run) + " runs, not "
                   + names(header, right, " or ", "nobody");
        });
    }

    void judge_several(const Moment &moment, Group &group) {
        std::vector<u16> running;
        std::vector<Place> places;
        for (const u16 pcpu : group.there)
            if (const u16 run = server_run(moment, pcpu); run != nobody) {
                running.push_back(run);
                places.push_back(moment.place(run));
            }
        std::sort(places.begin(), places.end());
        const std::size_t count = std::min(group.there.size(), group.able.size());
        bool right = places.size() == count;
        for (std::size_t at = 0; right && at < count; at++)
            right = places[at] == group.able[at].place;
        if (!right)
            wrong_several(moment, group, running, count);
    }

    void wrong_several(const Moment &moment, Group &group, const std::vector<u16> &running,
                       std::size_t count) {
        std::vector<u16> best;
        for (std::size_t at = 0; at < count; at++)
            best.push_back(group.able[at].id);
        const auto without = [](std::vector<u16> ids, const std::vector<u16> &others) {
            std::erase_if(ids, [&](u16 id) { return among(others, id); });
            return ids;
        };
        wrong(moment, group, {best.begin(), best.end()}, [&] {
            return names(header, without(best, running), ", ", "nobody") + " should run, and "
                   + names(header, without(running, best), ", ", "nobody") + " should not";
        });
    }

    // Who runs there on the time of a server: not best effort, on the spare or on a share.
    static u16 server_run(const Moment &moment, u16 pcpu) {
        const Grant &grant = moment.grants[pcpu];
        if (grant.pay == nobody && moment.rules[pcpu].slack == Slack::weights)
            return nobody;
        if (grant.run == nobody || grant.pay == spare_id || moment.best_effort(grant.run))
            return nobody;
        return grant.run;
    }
};

} // namespace

const Row rows::order{
    "order",
    "Who runs at each instant is whom the policy names: the first in its order that may run.",
    {.moments = true},
    make_property<InOrder>,
};

} // namespace hyperperiod::trace
