// SPDX-License-Identifier: BSD-2-Clause
//
// The Python face of the kernels: hyperperiod._analysis. Loads come as (wcet, period,
// deadline, jitter, blocking) in whole units, in order of priority; the typed functions around
// these are in hyperperiod.analysis.

#include <array>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <optional>

#include "src/hyperperiod/analysis/kernels/batch.hpp"
#include "src/hyperperiod/analysis/kernels/bindings.hpp"
#include "src/hyperperiod/analysis/kernels/cluster.hpp"
#include "src/hyperperiod/analysis/kernels/global_edf.hpp"
#include "src/hyperperiod/analysis/kernels/optimal_interface.hpp"
#include "src/hyperperiod/analysis/kernels/processor_demand.hpp"
#include "src/hyperperiod/analysis/kernels/sensitivity.hpp"
#include "src/hyperperiod/analysis/kernels/witness.hpp"

namespace nb = nanobind;
using namespace hyperperiod::analysis;

namespace {

using Row = std::array<u64, 5>;
using Rows = std::vector<Row>;

std::vector<Load> loads_of(const Rows &rows) {
    std::vector<Load> loads;
    loads.reserve(rows.size());
    for (const Row &row : rows) {
        require(row[0] != 0 && row[1] != 0 && row[2] != 0, "a wcet, period or deadline of 0");
        loads.push_back(
            {checked(row[0]), checked(row[1]), checked(row[2]), checked(row[3]), checked(row[4])});
    }
    return loads;
}

Component component_of(Local local, const Rows &rows) {
    return {local, loads_of(rows)};
}

// A deadline of 0 is none: the budget comes by the end of the period.
Frame frame_of(Shape shape, u64 period, u64 deadline) {
    require(period != 0, "a period of 0");
    require(deadline <= period, "a deadline above its period");
    require(deadline == 0 || deadline == period || shape == Shape::general,
            "a deadline is for the general shape");
    return {shape, checked(period), deadline == 0 ? period : deadline};
}

// A deadline of 0 is none: the budget comes by the end of the period.
Supply supply_of(Shape shape, u64 period, u64 budget, u64 deadline) {
    const Frame frame = frame_of(shape, period, deadline);
    require(budget != 0 && budget <= frame.deadline, "a budget of 0, or above period or deadline");
    return frame.with(budget);
}

std::vector<Stair> stairs_in(const SupplyRow &row) {
    const auto *staircase = std::get_if<StaircaseRow>(&row);
    if (staircase == nullptr)
        return {};
    const auto &[pairs, period, budget] = *staircase;
    require(budget != 0 && budget <= checked(period), "a budget of 0, or above the period");
    require(!pairs.empty() && pairs.front().first == 0, "a staircase that does not begin at 0");
    std::vector<Stair> stairs;
    for (const auto &[amount, wait] : pairs) {
        require(stairs.empty() || (amount > stairs.back().amount && wait > stairs.back().wait),
                "steps that do not rise");
        require(amount < budget, "a step beyond the budget");
        stairs.push_back({amount, checked(wait)});
    }
    require(stairs.back().wait - stairs.front().wait <= period - budget,
            "steps that rise more than in a period");
    return stairs;
}

Supply supply_in(const SupplyRow &row, Stairs stairs) {
    if (const auto *staircase = std::get_if<StaircaseRow>(&row))
        return {std::get<1>(*staircase), std::get<2>(*staircase), stairs};
    const auto &[shape, period, budget, deadline] = std::get<0>(row);
    return supply_of(shape, period, budget, deadline);
}

} // namespace

hyperperiod::analysis::AnySupply::AnySupply(const SupplyRow &row)
    : stairs_(stairs_in(row)), supply_(supply_in(row, stairs_)) {}

void hyperperiod::analysis::check_signals() {
    if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
}

namespace {

using Finding = std::pair<Verdict, u64>;

Finding judge(Local local, const Rows &rows, const SupplyRow &supply, u64 looks) {
    Effort effort(looks);
    const Answer answer = schedulable(component_of(local, rows), AnySupply(supply), effort);
    return {answer.verdict, answer.time};
}

Finding last_response(const Rows &rows, const SupplyRow &supply, u64 looks) {
    require(!rows.empty(), "no loads");
    const std::vector<Load> loads = loads_of(rows);
    Effort effort(looks);
    const Loads above = Loads(loads).first(loads.size() - 1);
    const Answer answer = response(above, loads.back(), AnySupply(supply), effort);
    return {answer.verdict, answer.time};
}

// What `last_response` finds of every load below those before it, each with as many looks.
std::vector<Finding> responses(const Rows &rows, const SupplyRow &row, u64 looks) {
    const std::vector<Load> loads = loads_of(rows);
    const AnySupply supply(row);
    Responses bounds(loads, supply);
    std::vector<Finding> found;

    found.reserve(loads.size());
    for (std::size_t i = 0; i < loads.size(); i++) {
        Effort effort(looks);
        const Answer answer = bounds.next(effort);
        found.emplace_back(answer.verdict, answer.time);
    }
    return found;
}

// Window, supply and blocking in it, the jobs of each load.
using AskedRow = std::tuple<u64, u64, u64, std::vector<u64>>;
// Verdict, completeness, release, finish (None: not known), windows.
using Why = std::tuple<Verdict, bool, u64, std::optional<u64>, std::vector<AskedRow>>;

Witness witness_of(Local local, Loads loads, std::size_t index, const Supply &supply, u64 looks) {
    Effort effort(looks);
    switch (local) {
    case Local::fixed_priority:
        return response_witness(loads.first(index), loads[index], supply, effort);
    case Local::edf:
        return edf_witness(loads, supply, effort);
    case Local::fifo:
        return fifo_witness(loads, loads[index].deadline, supply, effort);
    case Local::executor: // asked for under fixed priority, with the load last
        break;
    }
    return {Verdict::unknown};
}

Why why(Local local, const Rows &rows, std::size_t index, const SupplyRow &supply, u64 looks) {
    require(index < rows.size(), "no load of that number");
    const Witness found = witness_of(local, loads_of(rows), index, AnySupply(supply), looks);
    std::vector<AskedRow> windows;
    for (const Asked &asked : found.windows)
        windows.emplace_back(asked.window, asked.supply, asked.blocking, asked.jobs);
    return {found.verdict, found.complete, found.release,
            found.finish == never ? std::nullopt : std::optional<u64>(found.finish), windows};
}

// Budget (None: none will do) and whether it is certainly the least.
std::pair<std::optional<u64>, bool> budget_for(Local local, const Rows &rows, Shape shape,
                                               u64 period, u64 granule, u64 deadline) {
    require(granule != 0, "a granule of 0");
    const Budget found = minimal_budget(component_of(local, rows),
                                        frame_of(shape, period, deadline), checked(granule));
    return {found.budget == 0 ? std::nullopt : std::optional<u64>(found.budget), found.exact};
}

using Best = std::tuple<u64, u64, u64, u64, u64, bool>;

// The grid: granule, first period, step, last period (0: as far as it pays).
Best best_interface(const std::vector<std::pair<Local, Rows>> &parts, Shape shape,
                    const std::array<u64, 4> &grid, u64 until) {
    const auto [granule, first, step, last] = grid;
    require(granule != 0 && first != 0 && step != 0, "a granule, period or step of 0");
    require(first % granule == 0 && step % granule == 0, "periods that are no whole granules");
    require(last == 0 || last >= first, "a last period before the first");
    std::vector<Component> components;
    for (const auto &[local, rows] : parts) {
        require(!rows.empty(), "no loads");
        components.push_back(component_of(local, rows));
    }
    require(!components.empty(), "no components");
    const Grid whole{granule, checked(first), checked(step), last == 0 ? limit : checked(last)};
    const Optimum best = optimal_interface(components, shape, whole, until, check_signals);
    return {best.period, best.budget, best.tried, best.pruned, best.bound, best.exact};
}

using Ask = Limit (*)(const Component &, std::size_t, const Supply &);

// How far each load alone can move (None: no value will do), and whether that is surely all.
template <Ask ask>
std::vector<std::pair<std::optional<u64>, bool>> limits(Local local, const Rows &rows,
                                                        const SupplyRow &row) {
    const Component component = component_of(local, rows);
    const AnySupply supply(row);
    std::vector<std::pair<std::optional<u64>, bool>> limits;
    for (std::size_t index = 0; index < rows.size(); index++) {
        check_signals();
        const Limit found = ask(component, index, supply);
        limits.emplace_back(found.value == 0 ? std::nullopt : std::optional<u64>(found.value),
                            found.exact);
    }
    return limits;
}

// Verdict, window, demand, bound (None: no bound is known), overload.
std::tuple<Verdict, u64, u64, std::optional<u64>, bool> demand_test(const Rows &rows) {
    Effort effort(default_effort);
    const Demand found = processor_demand(loads_of(rows), effort);
    return {found.verdict, found.window, found.demand,
            found.bound == never ? std::nullopt : std::optional<u64>(found.bound), found.overload};
}

template <typename Item, typename... More>
using Array = nb::ndarray<Item, nb::c_contig, nb::device::cpu, More...>;

// Rows of an array of numpy, in place.
Loads loads_in(const Array<const std::int64_t, nb::shape<-1, 5>> &rows) {
    static_assert(sizeof(Load) == 5 * sizeof(u64) && alignof(Load) == alignof(u64));
    const Loads loads(reinterpret_cast<const Load *>(rows.data()), rows.shape(0));
    for (const Load &load : loads) {
        require(load.wcet != 0 && load.period != 0 && load.deadline != 0,
                "a wcet, period or deadline of 0");
        require((load.wcet | load.period | load.deadline | load.jitter | load.blocking) < limit,
                "a time below 0, or of 2^62 or more");
    }
    return loads;
}

// Writes 1 (holds), 0 (misses) or -1 (unknown) per set; bounds are -1 where there is none.
void judge_batch(Test which, const Array<const std::int64_t, nb::shape<-1, 5>> &rows,
                 const Array<const std::int64_t, nb::ndim<1>> &starts, u64 pcpus,
                 const Array<std::int8_t, nb::ndim<1>> &verdicts,
                 const std::optional<Array<std::int64_t, nb::ndim<1>>> &bounds) {
    const Loads loads = loads_in(rows);
    const std::size_t sets = verdicts.shape(0);
    require(starts.shape(0) == sets + 1, "as many starts as sets, and the end of the last");
    require(pcpus >= 1, "no pcpu");
    std::vector<u64> firsts(starts.data(), starts.data() + sets + 1);
    require(firsts.front() == 0 && firsts.back() == loads.size(), "starts that leave out loads");
    for (std::size_t set = 0; set < sets; set++)
        require(firsts[set] <= firsts[set + 1], "starts that go back");
    std::vector<u64> slots(bounds ? loads.size() : 0);
    require(!bounds || bounds->shape(0) == loads.size(), "a bound for each load");
    std::vector<Verdict> found(sets);
    judge_sets(make_test(which), {loads, firsts, pcpus}, found, slots, check_signals);
    for (std::size_t set = 0; set < sets; set++)
        verdicts.data()[set] = found[set] == Verdict::holds    ? 1
                               : found[set] == Verdict::misses ? 0
                                                               : -1;
    for (std::size_t index = 0; index < slots.size(); index++)
        bounds->data()[index] =
            slots[index] == never ? -1 : static_cast<std::int64_t>(slots[index]);
}

// BCL's inequality for each load, with so much room (0: none, and it fails).
std::vector<bool> bcl_of(const Rows &rows, const std::vector<u64> &rooms, u64 pcpus) {
    require(rows.size() == rooms.size(), "a room for each load");
    const std::vector<Load> loads = loads_of(rows);
    std::vector<bool> holds;
    for (std::size_t index = 0; index < loads.size(); index++)
        holds.push_back(rooms[index] != 0 && bcl_holds(loads, loads[index], rooms[index], pcpus));
    return holds;
}

// Bounds on all responses, where iterative BCL finds them.
std::optional<std::vector<u64>> iterative_bcl_of(const Rows &rows, u64 pcpus) {
    std::vector<u64> bounds(rows.size());
    if (GlobalEdf().iterative_bcl(loads_of(rows), pcpus, bounds) != Verdict::holds)
        return std::nullopt;
    return bounds;
}

std::size_t baker_confirms(const Rows &rows, u64 pcpus, std::size_t first) {
    return GlobalEdf().baker_confirms(loads_of(rows), pcpus, first);
}

// Shape, period, budget and deadline of the vcpus of one kind, and how many they are.
using VcpusRow = std::tuple<Shape, u64, u64, u64, u64>;
constexpr u64 widest = 1 << 16;

Cluster cluster_of(const std::vector<VcpusRow> &rows) {
    Cluster cluster;
    for (const auto &[shape, period, budget, deadline, count] : rows) {
        require(count != 0 && count < widest, "no vcpus of a kind, or too many");
        cluster.kinds.push_back({supply_of(shape, period, budget, deadline), count});
    }
    require(!rows.empty() && rows.size() < widest, "no vcpus, or too many");
    return cluster;
}

using ClusterFinding = std::tuple<Verdict, std::size_t, u64>;

ClusterFinding cluster_finding(const Rows &rows, const std::vector<VcpusRow> &vcpus,
                               std::size_t first) {
    Effort effort(default_effort);
    const ClusterAnswer answer = cluster_edf(loads_of(rows), cluster_of(vcpus), effort, first);
    return {answer.verdict, answer.load, answer.window};
}

// Verdict, window (0: none), supply in it, what is supplied while the job runs, parts of the loads.
using ClusterWhy = std::tuple<Verdict, u64, u64, u64, std::vector<u64>>;

ClusterWhy cluster_why(const Rows &rows, std::size_t index, const std::vector<VcpusRow> &vcpus) {
    require(index < rows.size(), "no load of that number");
    Effort effort(default_effort);
    const ClusterWitness found = cluster_witness(loads_of(rows), index, cluster_of(vcpus), effort);
    return {found.verdict, found.window, found.supply, found.ahead, found.parts};
}

u64 demand_of_cluster(const Rows &rows, std::size_t index, u64 width, u64 window) {
    require(index < rows.size(), "no load of that number");
    require(width != 0 && width < widest, "no vcpus, or too many");
    return cluster_demand(loads_of(rows), index, width, checked(window));
}

std::optional<u64> response_on_cluster(Local local, const Rows &rows,
                                       const std::vector<u64> &bounds, std::size_t index,
                                       const std::vector<VcpusRow> &vcpus) {
    require(local == Local::fixed_priority || local == Local::edf,
            "no test of fifo or an executor on several vcpus");
    require(index < rows.size() && bounds.size() == rows.size(), "a bound for each load");
    const std::vector<Load> loads = loads_of(rows);
    for (std::size_t other = 0; other < loads.size(); other++)
        require(loads[other].wcet <= bounds[other] && bounds[other] <= loads[other].deadline,
                "bounds from the execution time to the deadline");
    const u64 found = cluster_response(local, loads, bounds, index, cluster_of(vcpus));
    return found == never ? std::nullopt : std::optional<u64>(found);
}

std::pair<std::optional<u64>, bool> cluster_budget(const Rows &rows, Shape shape, u64 period,
                                                   u64 granule, u64 shared, u64 whole) {
    require(granule != 0 && period != 0, "a period or granule of 0");
    require(shared != 0 && shared < widest && whole < widest, "no vcpus, or too many");
    const Budget found = minimal_cluster_budget(loads_of(rows), shape, checked(period),
                                                checked(granule), shared, whole);
    return {found.budget == 0 ? std::nullopt : std::optional<u64>(found.budget), found.exact};
}

} // namespace

NB_MODULE(_analysis, module) {
    // What an error still holds when the interpreter ends is no fault of the user's.
    nb::set_leak_warnings(false);
    module.doc() = "Schedulability tests and interface computation in exact integers.";
    nb::enum_<Shape>(module, "Shape")
        .value("GENERAL", Shape::general)
        .value("HARMONIC", Shape::harmonic)
        .value("POLLING", Shape::polling);
    nb::enum_<Local>(module, "Local")
        .value("FIXED_PRIORITY", Local::fixed_priority)
        .value("EDF", Local::edf)
        .value("FIFO", Local::fifo)
        .value("EXECUTOR", Local::executor);
    nb::enum_<Verdict>(module, "Verdict")
        .value("HOLDS", Verdict::holds)
        .value("MISSES", Verdict::misses)
        .value("UNKNOWN", Verdict::unknown);
    nb::enum_<Test>(module, "Test")
        .value("RESPONSE_TIME", Test::response_time)
        .value("QPA", Test::qpa)
        .value("PROCESSOR_DEMAND", Test::processor_demand)
        .value("GFB", Test::gfb)
        .value("BAKER", Test::baker)
        .value("BCL", Test::bcl)
        .value("ITERATIVE_BCL", Test::iterative_bcl);
    module.def("judge_batch", &judge_batch, nb::arg("test"), nb::arg("loads"), nb::arg("starts"),
               nb::arg("pcpus"), nb::arg("verdicts"), nb::arg("bounds").none());
    module.def("largest_wcets", &limits<largest_wcet>, nb::arg("local"), nb::arg("loads"),
               nb::arg("supply"));
    module.def("shortest_deadlines", &limits<shortest_deadline>, nb::arg("local"), nb::arg("loads"),
               nb::arg("supply"));
    module.def("processor_demand", &demand_test, nb::arg("loads"));
    module.def("judge", &judge, nb::arg("local"), nb::arg("loads"), nb::arg("supply"),
               nb::arg("looks") = default_effort);
    module.def("last_response", &last_response, nb::arg("loads"), nb::arg("supply"),
               nb::arg("looks") = default_effort);
    module.def("responses", &responses, nb::arg("loads"), nb::arg("supply"),
               nb::arg("looks") = default_effort);
    module.def("witness", &why, nb::arg("local"), nb::arg("loads"), nb::arg("index"),
               nb::arg("supply"), nb::arg("looks") = default_effort);
    module.def("minimal_budget", &budget_for, nb::arg("local"), nb::arg("loads"), nb::arg("shape"),
               nb::arg("period"), nb::arg("granule"), nb::arg("deadline") = 0);
    module.def("optimal_interface", &best_interface, nb::arg("components"), nb::arg("shape"),
               nb::arg("grid"), nb::arg("until") = 0);
    module.def("bcl", &bcl_of, nb::arg("loads"), nb::arg("rooms"), nb::arg("pcpus"));
    module.def("iterative_bcl", &iterative_bcl_of, nb::arg("loads"), nb::arg("pcpus"));
    module.def("baker_confirms", &baker_confirms, nb::arg("loads"), nb::arg("pcpus"),
               nb::arg("first"));
    module.def("judge_cluster", &cluster_finding, nb::arg("loads"), nb::arg("vcpus"),
               nb::arg("first") = 0);
    module.def("cluster_witness", &cluster_why, nb::arg("loads"), nb::arg("index"),
               nb::arg("vcpus"));
    module.def("cluster_demand", &demand_of_cluster, nb::arg("loads"), nb::arg("index"),
               nb::arg("width"), nb::arg("window"));
    module.def("cluster_response", &response_on_cluster, nb::arg("local"), nb::arg("loads"),
               nb::arg("bounds"), nb::arg("index"), nb::arg("vcpus"));
    module.def("minimal_cluster_budget", &cluster_budget, nb::arg("loads"), nb::arg("shape"),
               nb::arg("period"), nb::arg("granule"), nb::arg("shared"), nb::arg("whole"));
    module.def(
        "sbf",
        [](const SupplyRow &supply, u64 window) {
            return Supply(AnySupply(supply)).within(checked(window));
        },
        nb::arg("supply"), nb::arg("window"));
    bind_flows(module);
}
