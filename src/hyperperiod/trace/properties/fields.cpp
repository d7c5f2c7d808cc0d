// SPDX-License-Identifier: BSD-2-Clause

#include "src/hyperperiod/trace/properties/fields.hpp"

namespace hyperperiod::trace {

Fields::Fields(u32 pcpus, u32 vcpus, u32 tasks, std::array<u64, 3> rules) : ids_(), rules_(rules) {
    constexpr u32 all = nobody + 1;

    for (std::size_t kind = 0; kind < ids_.size(); kind++) {
        const u32 names = kind_rows[kind].names;
        const u32 in_vcpu = names & HP_NAMES_VCPU     ? spare_id
                            : names & HP_NAMES_SERVER ? nobody
                                                      : all;

        ids_[kind] = {Allowed{pcpus, nobody, names & HP_NAMES_PCPU ? nobody : all},
                      Allowed{vcpus, spare_id, in_vcpu},
                      Allowed{vcpus, spare_id, names & HP_NAMES_PAYER ? nobody : all},
                      Allowed{tasks, nobody, names & HP_NAMES_TASK ? nobody : all}};
    }
}

std::optional<Misfit> Fields::first_wrong(std::span<const Record> records, u64 before,
                                          u64 left) const {
    for (std::size_t at = 0; at < records.size(); at++) {
        const Record &record = records[at];

        if (const char *const what = wrong_field(record)) [[unlikely]]
            return Misfit{at, what};
        if (record.time < before) [[unlikely]]
            return Misfit{at, "time_ns"};
        if (record.event() == Event::end && at + 1 < left) [[unlikely]]
            return Misfit{at, "end"};
        before = record.time;
    }
    return std::nullopt;
}

// The name of a field whose number cannot be; nullptr if all are well by themselves.
const char *Fields::wrong_field(const Record &record) const {
    if (record.row().name.empty())
        return "kind";
    const auto &[pcpu, vcpu, payer, task] = ids_[record.kind];
    if (!pcpu.has(record.pcpu))
        return "pcpu";
    if (!vcpu.has(record.vcpu))
        return "vcpu";
    if (!payer.has(record.payer))
        return "payer";
    if (!task.has(record.task))
        return "task";
    return record.event() == Event::swap && !is_swap(record.value) ? "value" : nullptr;
}

// Whether it is a budget, an order and a slack rule, a byte each from the lowest.
bool Fields::is_swap(u64 value) const {
    return (value & 0xFF) < rules_[0] && (value >> 8 & 0xFF) < rules_[1] && value >> 16 < rules_[2];
}

} // namespace hyperperiod::trace
