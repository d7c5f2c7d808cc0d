// SPDX-License-Identifier: BSD-2-Clause
//
// Who may run where servers pay for idle time: see choice.hpp.

#include "src/hyperperiod/trace/properties/choice.hpp"

namespace hyperperiod::trace {

std::vector<u16> periodic_choice(const Moment &moment, u16 pcpu, const Group &group) {
    const u16 payer = moment.grants[pcpu].pay;
    if (payer == nobody)
        return {};
    if (moment.has_work(payer))
        return {payer};
    const Slack slack = moment.rules[pcpu].slack;
    if (slack == Slack::none)
        return {};
    if (!group.able.empty() || slack == Slack::lend)
        return moment.first(group.able, moment.last_run[pcpu]);
    return moment.first(group.working, moment.last_run[pcpu]);
}

std::string names(const Header &header, const std::vector<u16> &ids, const char *joint,
                  const char *empty) {
    std::string text;
    for (const u16 id : ids)
        text += (text.empty() ? "" : joint) + header.server_name(id);
    return text.empty() ? empty : text;
}

} // namespace hyperperiod::trace
