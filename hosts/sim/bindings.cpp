// SPDX-License-Identifier: BSD-2-Clause
//
// The module hyperperiod._sim. Python describes a scenario part by part, runs it in pieces (so
// that it can show progress and notice Ctrl-C in between; the interpreter is free meanwhile)
// and reads what was counted. src/hyperperiod/_sim.pyi is the same in Python's words.

#include "hosts/sim/simulation.h"

#include <algorithm>
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

using Time = std::optional<Ns>;

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

void add_domain(Scenario &scenario, u32 scheduler) {
    if (scheduler > static_cast<u32>(Scheduler::executor))
        throw std::invalid_argument("no such scheduler");
    scenario.domains.push_back({static_cast<Scheduler>(scheduler), {}, {}});
}

void add_vcpu(Scenario &scenario, u32 pcpu, u32 priority, Ns period_ns, Ns budget_ns,
              bool best_effort, bool extra, u32 weight) {
    if (scenario.domains.empty())
        throw std::invalid_argument("a vcpu needs a domain");
    scenario.domains.back().vcpus.push_back(
        {pcpu, priority, period_ns, budget_ns, best_effort, extra, weight});
}

void add_task(Scenario &scenario, u32 kind, Time period_ns, Time wcet_ns, Time bcet_ns,
              Time deadline_ns, Ns offset_ns, Ns jitter_ns, std::optional<u64> priority,
              std::optional<u32> vcpu) {
    if (scenario.domains.empty())
        throw std::invalid_argument("a task needs a domain");
    if (kind > static_cast<u32>(Kind::event))
        throw std::invalid_argument("no such kind of task");
    Domain &domain = scenario.domains.back();
    Task task;

    task.kind = static_cast<Kind>(kind);
    task.period_ns = period_ns.value_or(0);
    task.wcet_ns = wcet_ns.value_or(ENDLESS);
    task.bcet_ns = bcet_ns.value_or(task.wcet_ns);
    task.deadline_ns = deadline_ns.value_or(NEVER);
    task.offset_ns = offset_ns;
    task.jitter_ns = jitter_ns;
    task.priority = priority.value_or(NEVER);
    task.pinned = vcpu.value_or(NONE);
    task.domain = static_cast<u32>(scenario.domains.size()) - 1;
    task.index = static_cast<u32>(domain.tasks.size());
    if (task.kind != Kind::busy && (task.period_ns == 0 || task.wcet_ns == ENDLESS))
        throw std::invalid_argument("a task that is not busy needs a period and a wcet");
    if (task.bcet_ns == 0 || task.bcet_ns > task.wcet_ns)
        throw std::invalid_argument("a bcet is 1 at least and the wcet at most");
    if (task.pinned != NONE && task.pinned >= domain.vcpus.size())
        throw std::invalid_argument("a task is pinned to a vcpu that does not exist");
    domain.tasks.push_back(task);
}

// Of the task that was added last.
void add_overrun(Scenario &scenario, u64 thousandths, Ns from_ns, Time to_ns, u64 every) {
    if (scenario.domains.empty() || scenario.domains.back().tasks.empty() || every == 0)
        throw std::invalid_argument("an overrun needs a task and jobs");
    Task &task = scenario.domains.back().tasks.back();

    if (task.kind == Kind::busy || thousandths == 0 || task.wcet_ns >= NEVER / thousandths * 500)
        throw std::invalid_argument("an overrun is of jobs that end");
    task.overrun = {thousandths, from_ns, to_ns.value_or(NEVER), every};
}

// A task (by its number over all domains) has these jobs, by release, in the place of its own:
// none, if there is none.
void set_jobs(Scenario &scenario, u32 number, const std::vector<Ns> &releases_ns,
              const std::vector<Ns> &ran_ns) {
    Task &task = scenario.task(number);
    std::vector<RecordedJob> jobs;

    if (task.kind == Kind::busy || task.kind == Kind::hop)
        throw std::invalid_argument("a busy task and a hop have no releases to record");
    if (task.overrun.thousandths != 0)
        throw std::invalid_argument("recorded jobs do not overrun");
    if (releases_ns.size() != ran_ns.size()
        || !std::is_sorted(releases_ns.begin(), releases_ns.end()))
        throw std::invalid_argument("recorded jobs come by release");
    for (std::size_t job = 0; job < ran_ns.size(); job++)
        jobs.push_back({releases_ns[job], ran_ns[job]});
    if (!ran_ns.empty()) {
        const auto [shortest, longest] = std::minmax_element(ran_ns.begin(), ran_ns.end());
        task.bcet_ns = *shortest;
        task.wcet_ns = *longest;
    }
    if (task.bcet_ns == 0)
        throw std::invalid_argument("a job runs for a while");
    task.kind = Kind::recorded;
    task.recorded = std::make_shared<const std::vector<RecordedJob>>(std::move(jobs));
}

// The numbers of the tasks, which must be event tasks, count over all domains.
void add_way(Scenario &scenario, Flow flow, u64 queue, Ns deadline_ns,
             const std::vector<u32> &hops) {
    if (queue == 0 || hops.empty() || hops.size() > 0xFFFF || scenario.flows.size() >= 0xFFFF)
        throw std::invalid_argument("a flow needs a queue and hops");
    flow.queue = queue;
    flow.deadline_ns = deadline_ns;
    flow.hops = hops;
    for (u32 hop : hops) {
        Task &task = scenario.task(hop);

        if (task.kind != Kind::event && task.kind != Kind::hop)
            throw std::invalid_argument("a hop is an event task");
        task.kind = Kind::hop;
    }
    scenario.flows.push_back(std::move(flow));
}

void add_flow(Scenario &scenario, u32 kind, Ns period_ns, Ns offset_ns, Ns jitter_ns, u64 burst,
              u64 queue, u64 ring, Ns deadline_ns, const std::vector<u32> &hops) {
    Flow flow;

    if (kind > static_cast<u32>(Kind::sporadic))
        throw std::invalid_argument("a source is periodic or sporadic");
    if (period_ns == 0 || burst == 0)
        throw std::invalid_argument("a source needs a period and items");
    flow.source.kind = static_cast<Kind>(kind);
    flow.source.period_ns = period_ns;
    flow.source.offset_ns = offset_ns;
    flow.source.jitter_ns = jitter_ns;
    flow.burst = burst;
    flow.ring = ring;
    add_way(scenario, std::move(flow), queue, deadline_ns, hops);
}

void add_closed_flow(Scenario &scenario, u32 clients, Ns think_least_ns, Ns think_most_ns,
                     Ns offset_ns, Ns deadline_ns, const std::vector<u32> &hops) {
    Flow flow;

    if (clients == 0 || clients > 1u << 16 || think_least_ns > think_most_ns)
        throw std::invalid_argument("a closed source needs 1 to 65536 clients and times to think");
    flow.source.offset_ns = offset_ns;
    flow.clients = clients;
    flow.think_least_ns = think_least_ns;
    flow.think_most_ns = think_most_ns;
    add_way(scenario, std::move(flow), clients, deadline_ns, hops);
}

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
                self->policy = {budget, order, slack};
                self->global = is_global;
                self->pcpus = pcpus;
                self->quantum_ns = quantum_ns;
                self->horizon_ns = horizon_ns;
                self->seed = seed;
                self->check = check;
            },
            nb::kw_only(), arg("budget"), arg("order"), arg("slack"), arg("is_global"),
            arg("pcpus"), arg("quantum_ns"), arg("horizon_ns"), arg("seed"), arg("check") = false)
        .def(
            "set_spare",
            [](Scenario &self, Ns period_ns, Ns budget_ns) {
                self.spare_period_ns = period_ns;
                self.spare_budget_ns = budget_ns;
            },
            arg("period_ns"), arg("budget_ns"))
        .def(
            "set_overheads",
            [](Scenario &self, Ns context_switch_ns, Ns pick_ns, Ns replenish_ns, Ns wake_ns,
               Ns interrupt_ns, Ns migration_ns) {
                self.overheads = {context_switch_ns, pick_ns,      replenish_ns,
                                  wake_ns,           interrupt_ns, migration_ns};
            },
            nb::kw_only(), arg("context_switch_ns"), arg("pick_ns"), arg("replenish_ns"),
            arg("wake_ns"), arg("interrupt_ns"), arg("migration_ns"))
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
        .def(
            "add_swap",
            [](Scenario &self, Ns at_ns, u32 budget, u32 order, u32 slack) {
                self.swaps.push_back({at_ns, {budget, order, slack}});
            },
            arg("at_ns"), arg("budget"), arg("order"), arg("slack"))
        .def(
            "add_change",
            [](Scenario &self, Ns at_ns, u32 vcpu, Ns period_ns, Ns budget_ns, u32 priority,
               std::optional<u32> pcpu) {
                if (vcpu >= self.vcpus())
                    throw std::invalid_argument("a change needs a vcpu");
                self.changes.push_back(
                    {at_ns, vcpu, period_ns, budget_ns, priority, pcpu.value_or(NONE)});
            },
            arg("at_ns"), arg("vcpu"), arg("period_ns"), arg("budget_ns"), arg("priority"),
            arg("pcpu").none() = nb::none())
        .def(
            "add_theft",
            [](Scenario &self, u32 pcpu, Ns period_ns, Ns duration_ns, Ns offset_ns) {
                if (pcpu >= self.pcpus || period_ns == 0 || duration_ns == 0)
                    throw std::invalid_argument("a theft needs a pcpu, a period and a duration");
                self.thefts.push_back({pcpu, period_ns, duration_ns, offset_ns});
            },
            arg("pcpu"), arg("period_ns"), arg("duration_ns"), arg("offset_ns"))
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
