// SPDX-License-Identifier: BSD-2-Clause
//
// The list of properties, and the pass over a trace: see checker.hpp.

#include "src/hyperperiod/trace/properties/checker.hpp"

#include <stdexcept>
#include <utility>

namespace hyperperiod::trace {

std::span<const Row *const> properties() {
    static constexpr std::array<const Row *, 15> list{
        &rows::one_pcpu,  &rows::releases,    &rows::jobs,     &rows::demand, &rows::guest_order,
        &rows::paid_time, &rows::budget,      &rows::depleted, &rows::payer,  &rows::order,
        &rows::idle,      &rows::best_effort, &rows::spare,    &rows::shares, &rows::guarantee,
    };
    return list;
}

namespace {

// Whatever is looked up by what the header says is there.
Header checked(Header header) {
    bool right = header.vcpus.size() + header.pcpus < spare_id && header.tasks.size() < nobody;
    for (const Vcpu &vcpu : header.vcpus)
        right = right && (vcpu.pcpu < header.pcpus || !header.partitioned)
                && (vcpu.best_effort || (vcpu.period && vcpu.budget));
    for (const Flow &flow : header.flows)
        for (const u16 task : flow.hops)
            right = right && task < header.tasks.size();
    if (!right)
        throw std::out_of_range("the header names what it does not have");
    return header;
}

} // namespace

Checker::Checker(Header header, const std::vector<std::string> &names)
    : header_(checked(std::move(header))), open_(header_.pcpus) {
    for (const std::string &name : names)
        for (const Row *const row : properties())
            if (row->name == name) {
                properties_.push_back(row->make(header_));
                if (!properties_.back()->verdict.skipped())
                    listen(*properties_.back(), row->wants);
            }
    if (!of_moments_.empty())
        replay_.emplace(header_, [this](Moment &moment) {
            for (Property *const property : of_moments_)
                property->moment(moment);
        });
}

void Checker::listen(Property &property, const Wants &wants) {
    for (std::size_t kind = 0; kind < of_kind_.size(); kind++)
        if (wants.kinds >> kind & 1)
            of_kind_[kind].push_back(&property);
    if (wants.intervals)
        of_intervals_.push_back(&property);
    if (wants.instants)
        of_instants_.push_back(&property);
    if (wants.moments)
        of_moments_.push_back(&property);
}

void Checker::feed(std::span<const Record> records) {
    for (const Record &record : records) {
        require(record);
        if (now_ && record.at() > *now_)
            end_instant(record.at());
        now_ = record.at();
        see(record);
        number_++;
    }
}

// Whatever is looked up by what the record says is there.
void Checker::require(const Record &record) const {
    const auto is_id = [](u16 id, std::size_t count) { return id < count; };
    const std::size_t vcpus = header_.vcpus.size();
    const bool has_pcpu = is_id(record.pcpu, header_.pcpus);
    const bool has_vcpu = is_id(record.vcpu, vcpus);
    const bool has_task = is_id(record.task, header_.tasks.size());
    bool right = (has_pcpu || record.pcpu == nobody) && (has_task || record.task == nobody)
                 && (is_id(record.payer, vcpus) || record.payer >= spare_id)
                 && (!now_ || record.at() >= *now_);
    switch (record.event()) {
    case Event::run:
        right = right && has_pcpu && has_vcpu;
        break;
    case Event::idle:
    case Event::charge:
        right = right && has_pcpu;
        break;
    case Event::arrive:
    case Event::depart:
    case Event::move:
        right = right && has_vcpu;
        break;
    case Event::release:
    case Event::complete:
    case Event::miss:
    case Event::item:
        right = right && has_task;
        break;
    case Event::swap:
        right = right && (record.value & 0xFF) < header_.budgets.size()
                && (record.value >> 8 & 0xFF) < header_.orders.size()
                && (record.value >> 16 & 0xFF) < header_.slacks.size();
        break;
    default:
        right = right && Event::run <= record.event() && record.event() <= Event::move;
    }
    if (!right)
        throw std::out_of_range("record " + std::to_string(number_)
                                + " goes back in time or names what the header does not have");
}

void Checker::see(const Record &record) {
    const bool decides = record.event() == Event::run || record.event() == Event::idle;
    if (decides)
        end_interval(record.pcpu);
    for (Property *const property : of_kind_[static_cast<std::size_t>(record.event())])
        property->record(record, number_);
    if (decides)
        open_[record.pcpu] = {true, record};
    if (replay_ && Replay::decisive(record.event()))
        together_.push_back(record);
}

// Everything of an instant has been seen; the next one is at `until`.
void Checker::end_instant(Time until) {
    if (!together_.empty()) {
        replay_->instant(*now_, together_);
        together_.clear();
    }
    for (Property *const property : of_instants_)
        property->instant(*now_, until);
}

// What the pcpu did up to now, if that was for longer than an instant.
void Checker::end_interval(u16 pcpu) {
    const Open &open = open_[pcpu];
    if (!open.is_open || open.record.at() >= *now_)
        return;
    for (Property *const property : of_intervals_)
        property->interval({open.record, open.record.at(), *now_});
}

void Checker::close() {
    if (!now_)
        return;
    // The last record says when the run ended, whatever its kind.
    if (replay_)
        replay_->instant(*now_, together_);
    for (u16 pcpu = 0; pcpu < header_.pcpus; pcpu++)
        end_interval(pcpu);
    for (const std::unique_ptr<Property> &property : properties_)
        if (!property->verdict.skipped())
            property->close(*now_);
}

std::vector<const Verdict *> Checker::verdicts() const {
    std::vector<const Verdict *> found;
    for (const std::unique_ptr<Property> &property : properties_)
        found.push_back(&property->verdict);
    return found;
}

} // namespace hyperperiod::trace
