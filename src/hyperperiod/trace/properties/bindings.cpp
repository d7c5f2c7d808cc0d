// SPDX-License-Identifier: BSD-2-Clause
//
// The Python face of the properties: hyperperiod._check. src/hyperperiod/_check.pyi is the same in
// Python's words; the typed functions around it are in hyperperiod.trace.properties.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>

#include "src/hyperperiod/trace/properties/checker.hpp"
#include "src/hyperperiod/trace/properties/fields.hpp"

namespace nb = nanobind;
using namespace hyperperiod::trace;

namespace {

// A whole number of a header, at most `longest`; the header is known to have none below 0.
Time number_of(const nb::handle &value) {
    u64 number = 0;
    if (!nb::try_cast(value, number) || number > static_cast<u64>(longest))
        return longest;
    return static_cast<Time>(number);
}

nb::object entry_of(const nb::dict &table, const char *key) {
    return table.contains(key) ? nb::object(table[key]) : nb::none();
}

std::optional<Time> optional_of(const nb::dict &table, const char *key) {
    const nb::object value = entry_of(table, key);
    return value.is_none() ? std::nullopt : std::optional(number_of(value));
}

Time time_of(const nb::dict &table, const char *key, Time otherwise = 0) {
    return optional_of(table, key).value_or(otherwise);
}

std::string word_of(const nb::dict &table, const char *key) {
    return nb::cast<std::string>(table[key]);
}

bool flag_of(const nb::dict &table, const char *key) {
    const nb::object value = entry_of(table, key);
    return !value.is_none() && nb::cast<bool>(value);
}

// The ids in a list.
std::vector<u16> ids_of(const nb::handle &list) {
    std::vector<u16> ids;
    for (const nb::handle one : nb::borrow<nb::list>(list))
        ids.push_back(static_cast<u16>(std::min(number_of(one), Time{nobody})));
    return ids;
}

// One table after the other of a list.
template <class Read> void each_of(const nb::dict &table, const char *key, Read &&read) {
    const nb::object list = entry_of(table, key);
    if (!list.is_none())
        for (const nb::handle one : nb::borrow<nb::list>(list))
            read(nb::borrow<nb::dict>(one));
}

Interface interface_of(const nb::handle &value) {
    const nb::dict table = nb::borrow<nb::dict>(value);
    return {time_of(table, "period_ns", 1), time_of(table, "budget_ns")};
}

Releases releases_of(const std::string &kind) {
    return kind == "periodic"   ? Releases::periodic
           : kind == "sporadic" ? Releases::sporadic
           : kind == "event"    ? Releases::event
           : kind == "recorded" ? Releases::recorded
                                : Releases::other;
}

Vcpu vcpu_of(const nb::dict &table) {
    Vcpu vcpu;
    vcpu.name = word_of(table, "name");
    vcpu.domain = word_of(table, "domain");
    vcpu.period = optional_of(table, "period_ns");
    vcpu.budget = optional_of(table, "budget_ns");
    vcpu.priority = time_of(table, "priority");
    vcpu.pcpu = static_cast<u16>(std::min(time_of(table, "pcpu"), Time{nobody}));
    vcpu.best_effort = flag_of(table, "best_effort");
    vcpu.extra = flag_of(table, "extra");
    vcpu.weight = static_cast<u64>(time_of(table, "weight", 1));
    return vcpu;
}

Task task_of(const nb::dict &table, Time horizon) {
    Task task;
    task.domain = word_of(table, "domain");
    task.name = word_of(table, "name");
    task.kind = releases_of(word_of(table, "kind"));
    task.busy = word_of(table, "kind") == "busy";
    task.period = optional_of(table, "period_ns");
    task.deadline = optional_of(table, "deadline_ns");
    task.wcet = optional_of(table, "wcet_ns");
    task.bcet = optional_of(table, "bcet_ns");
    task.priority = optional_of(table, "priority");
    task.offset = time_of(table, "offset_ns");
    task.jitter = time_of(table, "jitter_ns");
    task.kernel = table.contains("kernel_ns") ? optional_of(table, "kernel_ns") : Time{0};
    task.kernel_period = std::max(Time{1}, time_of(table, "kernel_period_ns", horizon));
    if (table.contains("overrun")) {
        const auto overrun = nb::cast<nb::dict>(table["overrun"]);
        task.thousandths = time_of(overrun, "thousandths");
        task.overrun_from = time_of(overrun, "from_ns");
        task.overrun_to = optional_of(overrun, "to_ns").value_or(std::numeric_limits<Time>::max());
        task.overrun_every = static_cast<u64>(std::max(Time{1}, time_of(overrun, "every", 1)));
    }
    return task;
}

Change change_of(const nb::dict &table) {
    Change change{time_of(table, "at_ns"), word_of(table, "domain"),
                  interface_of(table["interface"]), optional_of(table, "priority"), std::nullopt};
    if (table.contains("vcpus"))
        change.vcpus = ids_of(table["vcpus"]);
    return change;
}

Flow flow_of(const nb::dict &table) {
    Flow flow;
    flow.name = word_of(table, "name");
    flow.kind = releases_of(word_of(table, "kind"));
    flow.period = optional_of(table, "period_ns");
    flow.offset = time_of(table, "offset_ns");
    flow.jitter = time_of(table, "jitter_ns");
    flow.burst = static_cast<u64>(time_of(table, "burst", 1));
    flow.queue = static_cast<u64>(time_of(table, "queue", 1));
    flow.ring = static_cast<u64>(time_of(table, "ring"));
    flow.hops = ids_of(table["hops"]);
    if (const auto clients = optional_of(table, "clients"))
        flow.clients = static_cast<u64>(*clients);
    flow.think_least = time_of(table, "think_least_ns");
    flow.think_most = time_of(table, "think_most_ns");
    return flow;
}

// The rules that go by these words, in their order.
template <class Rule>
std::vector<Rule> rules_of(const std::vector<std::string> &words,
                           std::optional<Rule> (*rule)(const std::string &)) {
    std::vector<Rule> found;
    for (const std::string &word : words) {
        const std::optional<Rule> one = rule(word);
        if (!one)
            throw std::invalid_argument("no rule here is called " + word);
        found.push_back(*one);
    }
    return found;
}

using Words = std::vector<std::string>;

Header header_of(const nb::dict &table, Time late, const std::array<Words, 3> &rules) {
    Header header;
    header.budgets = rules_of(rules[0], budget_rule);
    header.orders = rules_of(rules[1], order_rule);
    header.slacks = rules_of(rules[2], slack_rule);
    header.budget_word = word_of(table, "budget");
    header.rules = {rules_of({header.budget_word}, budget_rule)[0],
                    rules_of({word_of(table, "order")}, order_rule)[0],
                    rules_of({word_of(table, "slack")}, slack_rule)[0]};
    header.partitioned = word_of(table, "scope") == "partitioned";
    header.guarantees = flag_of(table, "guarantees");
    header.host_timing = table.contains("timing") && word_of(table, "timing") == "host";
    header.quantum = optional_of(table, "quantum_ns");
    header.pcpus = static_cast<u16>(std::min(time_of(table, "pcpus"), Time{spare_id} - 1));
    header.swaps = nb::len(nb::object(table["swaps"])) > 0;
    header.late = late;
    header.resume = time_of(table, "resume_ns", late);
    header.switching = time_of(table, "switch_ns");
    header.job_overhead = time_of(table, "job_overhead_ns");
    if (const nb::object spare = entry_of(table, "spare"); !spare.is_none())
        header.spare = interface_of(spare);
    const Time horizon = time_of(table, "horizon_ns");
    each_of(table, "vcpus", [&](const nb::dict &one) { header.vcpus.push_back(vcpu_of(one)); });
    each_of(table, "tasks",
            [&](const nb::dict &one) { header.tasks.push_back(task_of(one, horizon)); });
    each_of(table, "changes",
            [&](const nb::dict &one) { header.changes.push_back(change_of(one)); });
    each_of(table, "flows", [&](const nb::dict &one) { header.flows.push_back(flow_of(one)); });
    if (const nb::object guests = entry_of(table, "global_guests"); !guests.is_none())
        for (const auto [domain, scheduler] : nb::borrow<nb::dict>(guests))
            header.guests.push_back(
                {nb::cast<std::string>(domain), nb::cast<std::string>(scheduler)});
    return header;
}

using Bytes = nb::ndarray<const u8, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const Record> records_in(const Bytes &bytes) {
    const auto *const records = reinterpret_cast<const Record *>(bytes.data());
    return {records, bytes.size() / sizeof(Record)};
}

void feed(Checker &checker, const Bytes &bytes) {
    const nb::gil_scoped_release released;
    checker.feed(records_in(bytes));
}

std::optional<std::pair<std::size_t, std::string>>
first_wrong(const Fields &fields, const Bytes &bytes, u64 before, u64 left) {
    const nb::gil_scoped_release released;
    const auto wrong = fields.first_wrong(records_in(bytes), before, left);
    return wrong ? std::optional(std::pair(wrong->at, wrong->what)) : std::nullopt;
}

using Told = std::tuple<std::string, u64, std::vector<std::pair<Time, std::string>>>;

std::vector<Told> finish(Checker &checker) {
    checker.close();
    std::vector<Told> told;
    for (const Verdict *const verdict : checker.verdicts()) {
        std::vector<std::pair<Time, std::string>> violations;
        for (const Violation &one : verdict->violations)
            violations.emplace_back(one.time, one.text);
        told.emplace_back(verdict->reason, verdict->count, std::move(violations));
    }
    return told;
}

// The rows of record/record.h and record/ring.h. A field is its name and how many bytes it has.
void add_rows(nb::module_ &module) {
    nb::list fields, ring_fields, steps;
    nb::enum_<Event> kinds(module, "Kind", nb::is_arithmetic());
    nb::enum_<hp_record_kind> calls(module, "Call", nb::is_arithmetic());

#define FIELD(type, name) fields.append(nb::make_tuple(#name, sizeof(type)));
    HP_RECORD_FIELDS(FIELD)
#undef FIELD
#define FIELD(type, name) ring_fields.append(nb::make_tuple(#name, sizeof(type)));
    HP_RING_FIELDS(FIELD)
#undef FIELD
#define ROW(number, NAME, name, step, names) kinds.value(#NAME, Event::name);
    HP_TRACE_KINDS(ROW)
#undef ROW
#define ROW(number, NAME, text) calls.value(#NAME, HP_RECORD_##NAME);
    HP_CALL_KINDS(ROW)
#undef ROW
#define ROW(bit, NAME) module.attr(#NAME) = bit;
    HP_RECORD_FLAGS(ROW)
#undef ROW
    for (const hyperperiod::KindRow &row : hyperperiod::kind_rows)
        steps.append(row.step);
    module.attr("NONE") = HP_RECORD_NONE;
    module.attr("SPARE") = HP_RECORD_SPARE;
    module.attr("FIELDS") = nb::tuple(fields);
    module.attr("STEPS") = nb::tuple(steps);
    module.attr("RING_FIELDS") = nb::tuple(ring_fields);
    module.attr("RING_MAGIC") = nb::bytes(HP_RING_MAGIC, 8);
    module.attr("RING_OVERFLOW") = HP_RING_OVERFLOW;
    module.attr("RING_ENDED") = HP_RING_ENDED;
    module.attr("RING_PAUSED") = HP_RING_PAUSED;
}

} // namespace

NB_MODULE(_check, module) {
    // What an error still holds when the interpreter ends is no fault of the user's.
    nb::set_leak_warnings(false);
    add_rows(module);
    nb::list list;
    for (const Row *const row : properties())
        list.append(nb::make_tuple(std::string(row->name), std::string(row->statement)));
    module.attr("PROPERTIES") = nb::tuple(list);
    nb::class_<Checker>(module, "Checker")
        .def(
            "__init__",
            [](Checker *self, const nb::dict &header, Time late, const Words &budgets,
               const Words &orders, const Words &slacks, const Words &names) {
                new (self) Checker(header_of(header, late, {budgets, orders, slacks}), names);
            },
            nb::arg("header"), nb::arg("lateness_ns"), nb::arg("budgets"), nb::arg("orders"),
            nb::arg("slacks"), nb::arg("properties"))
        .def("feed", feed, nb::arg("records"))
        .def("close", finish);
    nb::class_<Fields>(module, "Fields")
        .def(nb::init<u32, u32, u32, std::array<u64, 3>>(), nb::arg("pcpus"), nb::arg("vcpus"),
             nb::arg("tasks"), nb::arg("rules"))
        .def("first_wrong", first_wrong, nb::arg("records"), nb::arg("before_ns"), nb::arg("left"));
}
