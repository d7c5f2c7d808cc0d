// SPDX-License-Identifier: BSD-2-Clause
//
// The simulator as a WebAssembly module, for web pages (docs/playground.md). An instance is one
// run: its scenario is told by the functions of scenario_parts.h, each of which finds its values,
// one 64-bit number after the other, where `room` said; then `start`, and `advance` up to an
// instant. Records leave through standard output. report/templates/simulator.js is the other side.
//
// What the simulator throws is handed to the page, which throws it on; the instance is then of no
// further use, and nothing in it is unwound.

#include "hosts/sim/count_rows.h"
#include "hosts/sim/scenario_parts.h"

#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <tuple>
#include <typeinfo>
#include <unistd.h>
#include <utility>

#define EXPORT(name) extern "C" __attribute__((export_name(name)))

extern "C" {

[[noreturn]] __attribute__((import_module("page"), import_name("refuse"))) void
refuse(const char *why);

// The two functions that a throw expression calls; the toolchain has none.
void *__cxa_allocate_exception(std::size_t size) noexcept {
    return std::malloc(size);
}
[[noreturn]] void __cxa_throw(void *thrown, std::type_info *, void (*)(void *)) {
    refuse(static_cast<std::exception *>(thrown)->what());
}

} // extern "C"

namespace hyperperiod::sim {

namespace {

Scenario scenario;
std::unique_ptr<Simulation> simulation;
Ns now_ns = 0;
std::vector<u64> values;
std::vector<Number> rows;

// Reads a number, a list after its length, or what may be missing: then NEVER stands there.
struct Reader {
    const u64 *at, *end;

    u64 next() {
        if (at == end)
            throw std::invalid_argument("a part has fewer values than this version takes");
        return *at++;
    }
    template <class T> void operator()(T &value) {
        const u64 number = next();
        value = static_cast<T>(number);
        if (static_cast<u64>(value) != number)
            throw std::invalid_argument("a number is too large for its place");
    }
    template <class T> void operator()(std::optional<T> &value) {
        if (at == end || *at != NEVER)
            (*this)(value.emplace());
        else
            at++;
    }
    template <class T> void operator()(std::vector<T> &list) {
        for (u64 left = next(); left > 0; left--)
            (*this)(list.emplace_back());
    }
};

template <class... Values> void tell(void (*part)(Scenario &, Values...)) {
    std::tuple<std::remove_cvref_t<Values>...> told;
    Reader read{values.data(), values.data() + values.size()};

    std::apply([&](auto &...value) { (read(value), ...); }, told);
    if (read.at != read.end)
        throw std::invalid_argument("a part has more values than this version takes");
    std::apply([&](const auto &...value) { part(scenario, value...); }, told);
}

} // namespace

// The larger build of the engine is left out, which halves the module.
std::unique_ptr<Simulation> make_engine_1024(const Scenario &, std::unique_ptr<Recorder>) {
    throw std::invalid_argument("more than 64 vcpus on one pcpu are too many here");
}

EXPORT("room") u64 *room(u32 count) {
    values.assign(count, 0);
    return values.data();
}

#define TOLD(part)                                                                                 \
    EXPORT(#part) void told_##part() {                                                             \
        tell(&part);                                                                               \
    }
TOLD(set_up)
TOLD(set_spare)
TOLD(set_overheads)
TOLD(add_domain)
TOLD(add_vcpu)
TOLD(add_task)
TOLD(add_overrun)
TOLD(set_jobs)
TOLD(add_flow)
TOLD(add_closed_flow)
TOLD(add_swap)
TOLD(add_change)
TOLD(add_theft)
#undef TOLD

EXPORT("start") void start() {
    simulation = make_simulation(scenario, std::make_unique<Recorder>(STDOUT_FILENO));
}

EXPORT("advance") Ns advance(Ns until_ns) {
    now_ns = simulation->advance(until_ns, NEVER);
    return now_ns;
}

EXPORT("finish") void finish() {
    simulation->finish(now_ns);
}

// A row for each task, then one for each vcpu.
EXPORT("counts") const Number *counts() {
    const auto &tasks = simulation->tasks();
    const auto &vcpus = simulation->vcpus();

    rows.resize(tasks.size() * TASK_FIELDS + vcpus.size() * VCPU_FIELDS);
    Number *row = rows.data();
    for (const TaskRun &task : tasks) {
        write_task(task, now_ns, row);
        row += TASK_FIELDS;
    }
    for (const VcpuCount &vcpu : vcpus) {
        write_vcpu(vcpu, row);
        row += VCPU_FIELDS;
    }
    return rows.data();
}
EXPORT("numbers") std::size_t numbers() {
    return rows.size();
}

} // namespace hyperperiod::sim
