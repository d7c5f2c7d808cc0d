// SPDX-License-Identifier: BSD-2-Clause
//
// The module hyperperiod._sim. Python describes a scenario part by part, runs it in pieces (so
// that it can show progress and notice Ctrl-C in between; the interpreter is free meanwhile)
// and reads what was counted. src/hyperperiod/_sim.pyi is the same in Python's words.

#include "hosts/sim/scenario_parts.h"
#include "hosts/sim/simulation.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace hyperperiod::sim {

void bind_adversary(nb::module_ &module);
void bind_batch(nb::module_ &module);
void bind_core(nb::module_ &module);
void bind_replay(nb::module_ &module);

namespace {

// A rule that is an object of Python's (hosts/rule.py, which looks at what users answer).
class PythonRule final : public Rule {
  public:
    explicit PythonRule(nb::object object) : object_(std::move(object)) {}
    ~PythonRule() override {
        const nb::gil_scoped_acquire held;

        object_.reset();
    }
    PythonRule(const PythonRule &) = delete;
    PythonRule &operator=(const PythonRule &) = delete;

    void charge(Ns now_ns, u32 vcpu, Ns span_ns) override { call("charge", now_ns, vcpu, span_ns); }
    void arrive(Ns now_ns, u32 vcpu) override { call("arrive", now_ns, vcpu); }
    void depart(Ns now_ns, u32 vcpu) override { call("depart", now_ns, vcpu); }
    Ns replenish(Ns now_ns) override {
        const nb::gil_scoped_acquire held;

        return nb::cast<Ns>(object_.attr("replenish")(now_ns));
    }
    Choice pick(Ns now_ns, u32 pcpu, const std::vector<u32> &ready) override {
        const nb::gil_scoped_acquire held;
        const auto chosen = nb::cast<std::pair<u32, Ns>>(object_.attr("pick")(now_ns, pcpu, ready));

        return {chosen.first, chosen.second};
    }

  private:
    template <class... Values> void call(const char *name, Values... values) {
        const nb::gil_scoped_acquire held;

        object_.attr(name)(values...);
    }

    nb::object object_;
};

nb::int_ exact_sum(const Histogram &histogram) {
    return nb::cast<nb::int_>((nb::int_(histogram.sum_high()) << nb::int_(64))
                              | nb::int_(histogram.sum_low()));
}

void add_responses(nb::dict &counts, const Histogram &responses) {
    counts["finished"] = responses.count();
    if (responses.count() == 0)
        return;
    counts["sum_ns"] = exact_sum(responses);
    counts["min_ns"] = responses.min_ns();
    counts["max_ns"] = responses.max_ns();
    counts["p50_ns"] = responses.percentile_ns(50);
    counts["p99_ns"] = responses.percentile_ns(99);
}

nb::dict task_counts(const TaskRun &task, Ns end_ns) {
    nb::dict counts;

    counts["jobs"] = task.next.job;
    counts["misses"] = task.late;
    counts["due"] = task.due(end_ns);
    add_responses(counts, task.responses);
    return counts;
}

nb::dict flow_counts(const FlowRun &flow, Ns end_ns) {
    nb::dict counts;

    counts["items"] = flow.items();
    counts["dropped"] = flow.dropped();
    counts["misses"] = flow.late();
    counts["due"] = flow.due(end_ns);
    add_responses(counts, flow.responses());
    return counts;
}

nb::list buckets_of(const Histogram &responses) {
    nb::list list;

    for (const Bucket &bucket : responses.buckets())
        list.append(nb::make_tuple(bucket.low_ns, bucket.high_ns, bucket.count));
    return list;
}

// A run with its own records; what Python holds.
class Run {
  public:
    Run(const Scenario &scenario, const std::optional<std::string> &trace_path)
        : horizon_ns_(scenario.horizon_ns),
          simulation_(make_simulation(scenario, trace_path ? std::make_unique<Recorder>(*trace_path)
                                                           : std::make_unique<Recorder>())) {}

    Ns advance(u64 instants) {
        if (finished_)
            throw std::invalid_argument("the run is finished");
        now_ns_ = simulation_->advance(horizon_ns_, instants);
        return now_ns_;
    }
    void keep_responses() {
        if (now_ns_ > 0)
            throw std::invalid_argument("the run has begun");
        simulation_->keep_responses();
    }
    void finish() {
        if (!finished_)
            simulation_->finish(now_ns_);
        finished_ = true;
    }
    Ns now_ns() const { return now_ns_; }

    nb::list tasks() const {
        nb::list list;

        for (const TaskRun &task : simulation_->tasks())
            list.append(task_counts(task, now_ns_));
        return list;
    }
    nb::list responses(u32 task) const {
        return buckets_of(simulation_->tasks().at(task).responses);
    }
    std::vector<Ns> every_response(u32 task) const {
        return simulation_->tasks().at(task).responses.values();
    }
    std::vector<Ns> every_flow_response(u32 flow) const {
        return simulation_->flows().at(flow).responses().values();
    }
    nb::list flows() const {
        nb::list list;

        for (const FlowRun &flow : simulation_->flows())
            list.append(flow_counts(flow, now_ns_));
        return list;
    }
    nb::list flow_responses(u32 flow) const {
        return buckets_of(simulation_->flows().at(flow).responses());
    }
    nb::list vcpus() const {
        nb::list list;

        for (std::size_t id = 0; id < simulation_->vcpus().size(); id++) {
            const VcpuCount &vcpu = simulation_->vcpus()[id];
            const PeriodCount periods = simulation_->periods(id);
            nb::dict counts;

            counts["supply_ns"] = vcpu.supply_ns;
            counts["donated_ns"] = vcpu.donated_ns;
            counts["moved_here"] = vcpu.moved_here;
            counts["periods"] = nb::make_tuple(periods.wanted, periods.cut_short,
                                               periods.least_supply_ns, periods.latest_ns);
            list.append(counts);
        }
        return list;
    }
    nb::list pcpus() const {
        nb::list list;

        for (const PcpuCount &pcpu : simulation_->pcpus()) {
            nb::dict counts;

            counts["busy_ns"] = pcpu.busy_ns;
            counts["stolen_ns"] = pcpu.stolen_ns;
            counts["switches"] = pcpu.switches;
            counts["picks"] = pcpu.picks;
            counts["preemptions"] = pcpu.preemptions;
            counts["migrations"] = pcpu.migrations;
            list.append(counts);
        }
        return list;
    }

  private:
    Ns horizon_ns_;
    Ns now_ns_ = 0;
    bool finished_ = false;
    std::unique_ptr<Simulation> simulation_;
};

// When the jobs of a task (by its number in the whole scenario) are released before `end_ns`, as
// far as the draws alone say: all of a periodic or sporadic task, the first of any other.
std::vector<Ns> releases(const Scenario &scenario, u32 number, Ns end_ns) {
    std::vector<Ns> found;

    for (const Domain &domain : scenario.domains) {
        if (number >= domain.tasks.size()) {
            number -= static_cast<u32>(domain.tasks.size());
            continue;
        }
        const Workload workload(domain.tasks[number], scenario.seed);

        for (Workload::Cursor job = workload.first(); job.release_ns < end_ns;
             workload.advance(job)) {
            found.push_back(job.release_ns);
            if (!workload.releases_ahead())
                break;
        }
        return found;
    }
    throw std::invalid_argument("no such task");
}

// When the source of a flow releases before `end_ns` if items leave at these instants, ascending.
std::vector<Ns> source_releases(const Scenario &scenario, u32 number,
                                const std::vector<Ns> &left_ns, Ns end_ns) {
    FlowRun flow(scenario.flows.at(number), number, scenario.seed);
    std::vector<Ns> found;
    std::size_t left = 0;

    while (true) {
        while (left < left_ns.size() && flow.under_way() > 0 && left_ns[left] <= flow.next_ns())
            flow.leave(left_ns[left++]);
        if (flow.next_ns() >= end_ns)
            return found;
        found.push_back(flow.next_ns());
        flow.come(flow.next_ns(), [] { return u64{0}; }, [](u64) {}, [](u64) {});
    }
}

void bind_scenario(nb::module_ &module) {
    using nb::arg;

    nb::class_<Scenario>(module, "Scenario")
        .def(
            "__init__",
            [](Scenario *self, u32 budget, u32 order, u32 slack, bool is_global, u32 pcpus,
               Ns quantum_ns, Ns horizon_ns, u64 seed, bool check) {
                new (self) Scenario{};
                set_up(*self, budget, order, slack, is_global, pcpus, quantum_ns, horizon_ns, seed,
                       check);
            },
            nb::kw_only(), arg("budget"), arg("order"), arg("slack"), arg("is_global"),
            arg("pcpus"), arg("quantum_ns"), arg("horizon_ns"), arg("seed"), arg("check") = false)
        .def("set_spare", &set_spare, arg("period_ns"), arg("budget_ns"))
        .def("set_overheads", &set_overheads, nb::kw_only(), arg("context_switch_ns"),
             arg("pick_ns"), arg("replenish_ns"), arg("wake_ns"), arg("interrupt_ns"),
             arg("migration_ns"))
        .def("add_domain", &add_domain, nb::kw_only(), arg("scheduler"))
        .def("add_vcpu", &add_vcpu, nb::kw_only(), arg("pcpu"), arg("priority"), arg("period_ns"),
             arg("budget_ns"), arg("best_effort"), arg("extra"), arg("weight"))
        .def("add_task", &add_task, nb::kw_only(), arg("kind"), arg("period_ns").none(),
             arg("wcet_ns").none(), arg("bcet_ns").none(), arg("deadline_ns").none(),
             arg("offset_ns"), arg("jitter_ns"), arg("priority").none(), arg("vcpu").none())
        .def("set_jobs", &set_jobs, arg("task"), arg("releases_ns"), arg("ran_ns"))
        .def("add_overrun", &add_overrun, nb::kw_only(), arg("thousandths"), arg("from_ns"),
             arg("to_ns").none(), arg("every"))
        .def("add_flow", &add_flow, nb::kw_only(), arg("kind"), arg("period_ns"), arg("offset_ns"),
             arg("jitter_ns"), arg("burst"), arg("queue"), arg("ring"), arg("deadline_ns"),
             arg("hops"))
        .def("add_closed_flow", &add_closed_flow, nb::kw_only(), arg("clients"),
             arg("think_least_ns"), arg("think_most_ns"), arg("offset_ns"), arg("deadline_ns"),
             arg("hops"))
        .def("add_swap", &add_swap, arg("at_ns"), arg("budget"), arg("order"), arg("slack"))
        .def("add_change", &add_change, arg("at_ns"), arg("vcpu"), arg("period_ns"),
             arg("budget_ns"), arg("priority"), arg("pcpu").none() = nb::none())
        .def("add_theft", &add_theft, arg("pcpu"), arg("period_ns"), arg("duration_ns"),
             arg("offset_ns"))
        .def(
            "set_rule",
            [](Scenario &self, nb::object rule) {
                self.rule = std::make_shared<PythonRule>(std::move(rule));
            },
            arg("rule"))
        .def("count_periods", [](Scenario &self) { self.count_periods = true; })
        .def("releases", &releases, arg("task"), arg("end_ns"))
        .def("source_releases", &source_releases, arg("flow"), arg("left_ns"), arg("end_ns"));
}

void bind_run(nb::module_ &module) {
    using nb::arg;

    nb::class_<Run>(module, "Run")
        .def(nb::init<const Scenario &, const std::optional<std::string> &>(), arg("scenario"),
             arg("trace_path").none() = nb::none())
        .def("advance", &Run::advance, arg("instants"), nb::call_guard<nb::gil_scoped_release>())
        .def("keep_responses", &Run::keep_responses)
        .def("finish", &Run::finish)
        .def_prop_ro("now_ns", &Run::now_ns)
        .def("tasks", &Run::tasks)
        .def("responses", &Run::responses, arg("task"))
        .def("every_response", &Run::every_response, arg("task"))
        .def("flows", &Run::flows)
        .def("flow_responses", &Run::flow_responses, arg("flow"))
        .def("every_flow_response", &Run::every_flow_response, arg("flow"))
        .def("vcpus", &Run::vcpus)
        .def("pcpus", &Run::pcpus);
}

// What the operating system refused is an OSError with its number.
void translate(const std::exception_ptr &pointer, void *) {
    try {
        std::rethrow_exception(pointer);
    } catch (const std::system_error &error) {
        PyErr_SetObject(PyExc_OSError, nb::make_tuple(error.code().value(), error.what()).ptr());
    }
}

} // namespace

NB_MODULE(_sim, module) {
    // What an error still holds when the interpreter ends is no fault of the user's.
    nb::set_leak_warnings(false);
    module.doc() = "The simulator around the core, and the core itself.";
    module.attr("RELATIVE_ERROR") = Histogram::RELATIVE_ERROR;
    nb::register_exception_translator(translate);
    bind_scenario(module);
    bind_run(module);
    bind_adversary(module);
    bind_batch(module);
    bind_core(module);
    bind_replay(module);
}

} // namespace hyperperiod::sim
