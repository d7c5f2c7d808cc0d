// SPDX-License-Identifier: BSD-2-Clause
//
// The spare serves one depleted vcpu at a time, never while one with budget lacks a pcpu.
//
// It serves the waiting depleted vcpu with the latest deadline, at most its own budget in each of
// its periods (that is checked with all other budgets), and nobody who has budget left.

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

// Looks at where the spare is, and for whom.
class Spare : public Property {
  public:
    explicit Spare(const Header &run) : Property(run) {
        if (!run.spare)
            verdict.reason = "this run has no spare";
    }

    // Partitioned pcpus have one each.
    void moment(Moment &moment) override {
        for (Group &group : moment.groups)
            if (group.looked_at && !group.there.empty()
                && moment.rules[group.there[0]].slack == Slack::spare)
                judge(moment, group);
    }

  private:
    enum What : u32 { two, absent, waits, idles, needless, latest };

    void judge(const Moment &moment, Group &group) {
        const u32 place = group.there[0];
        std::vector<u16> here, free;
        for (const u16 pcpu : group.there) {
            if (moment.grants[pcpu].pay == spare_id)
                here.push_back(pcpu);
            if (is_free(moment, pcpu))
                free.push_back(pcpu);
        }
        if (here.size() > 1)
            wrong(moment, group, {two, place},
                  [&] { return "the spare is on pcpus " + list(here) + " at once"; });
        if (!free.empty() && here.empty() && moment.usable(moment.spare_on(free[0])))
            wrong(moment, group, {absent, place}, [&] {
                return "the spare is not on pcpu " + std::to_string(free[0]) + ", which is free";
            });
        if (here.empty())
            return;
        if (const u16 vcpu = last_waiting(moment, group); vcpu != nobody)
            wrong(moment, group, {waits, place}, [&] {
                return "the spare has pcpu " + std::to_string(here[0]) + " while "
                       + header.server_name(vcpu) + " waits with budget";
            });
        judge_choice(moment, group, here[0]);
    }

    static bool is_free(const Moment &moment, u16 pcpu) {
        const u16 run = moment.grants[pcpu].run;
        return run == nobody || moment.best_effort(run);
    }

    // Of those with budget and work and without a pcpu the last one in the file.
    static u16 last_waiting(const Moment &moment, const Group &group) {
        std::optional<u16> found;
        for (const Queue::Entry &entry : group.able)
            if (!moment.runs(entry.id))
                found = std::max(entry.id, found.value_or(0));
        return found.value_or(nobody);
    }

    void judge_choice(const Moment &moment, Group &group, u16 pcpu) {
        const u16 run = moment.grants[pcpu].run;
        std::optional<Time> last;
        bool serves = false;
        for (const Queue::Entry &entry : group.working)
            if (const Server &server = *moment.server(entry.id); !server.usable()) {
                last = std::max(server.deadline, last.value_or(server.deadline));
                serves |= entry.id == run;
            }
        if (is_free(moment, pcpu)) {
            if (last)
                wrong(moment, group, {idles, pcpu}, [&] {
                    return "the spare idles on pcpu " + std::to_string(pcpu)
                           + " while a depleted vcpu waits";
                });
        } else if (!serves) {
            wrong(moment, group, {needless, pcpu}, [&] {
                return "the spare pays for " + header.server_name(run) + ", which is not depleted";
            });
        } else if (moment.server(run)->deadline < *last) {
            wrong(moment, group, {latest, pcpu}, [&] {
                return "the spare runs " + header.server_name(run)
                       + ", which has not the latest deadline";
            });
        }
    }

    static std::string list(const std::vector<u16> &pcpus) {
        std::string text;
        for (const u16 pcpu : pcpus)
            text += (text.empty() ? "[" : ", ") + std::to_string(pcpu);
        return text + "]";
    }
};

} // namespace

const Row rows::spare{
    "spare",
    "The spare serves one depleted vcpu at a time, never while one with budget lacks a pcpu.",
    {.moments = true},
    make_property<Spare>,
};

} // namespace hyperperiod::trace
