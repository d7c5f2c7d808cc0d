// SPDX-License-Identifier: BSD-2-Clause
//
// Many runs in one call, for sweeps: scenarios in, counts out, on as many threads as are asked for
// and without the interpreter, which is free meanwhile. A run belongs to one thread, shares nothing
// with others and is gone when its counts are written, so that memory does not grow with the number
// of runs and counts do not depend on the threads. The caller's thread only waits, and looks now
// and then whether Ctrl-C was pressed; runs under way then end early and nothing is returned.

#include "hosts/sim/count_rows.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace hyperperiod::sim {

namespace {

constexpr u64 INSTANTS_AT_ONCE = u64{1} << 17;
constexpr auto LOOK_EVERY = std::chrono::milliseconds(50);

template <std::size_t fields>
using Rows = nb::ndarray<Number, nb::shape<-1, fields>, nb::c_contig, nb::device::cpu>;
using Column = nb::ndarray<Number, nb::shape<-1>, nb::c_contig, nb::device::cpu>;

class Batch {
  public:
    Batch(const std::vector<const Scenario *> &scenarios, Rows<TASK_FIELDS> &tasks,
          Rows<VCPU_FIELDS> &vcpus, Column &misses)
        : scenarios_(scenarios), tasks_(tasks.data()), vcpus_(vcpus.data()),
          misses_(misses.data()) {
        std::size_t task = 0, vcpu = 0;

        for (const Scenario *scenario : scenarios) {
            first_task_.push_back(task);
            first_vcpu_.push_back(vcpu);
            for (const Domain &domain : scenario->domains) {
                task += domain.tasks.size();
                vcpu += domain.vcpus.size();
            }
        }
        if (task != tasks.shape(0) || vcpu != vcpus.shape(0) || scenarios.size() != misses.shape(0))
            throw std::invalid_argument("one row for each task, each vcpu and each scenario");
    }

    // Runs all of them. Throws what the first of the scenarios threw that were refused, or what
    // `interrupted` throws.
    void run(u32 threads, void (*interrupted)()) {
        std::vector<std::thread> working;

        running_ = threads;
        for (u32 i = 0; i < threads; i++)
            working.emplace_back([this] { work(); });
        const std::exception_ptr stop = wait(interrupted);
        for (std::thread &thread : working)
            thread.join();
        if (stop || refused_)
            std::rethrow_exception(stop ? stop : refused_);
    }

  private:
    std::exception_ptr wait(void (*interrupted)()) {
        std::unique_lock lock(mutex_);

        while (!done_.wait_for(lock, LOOK_EVERY, [this] { return running_ == 0; })) {
            lock.unlock();
            try {
                interrupted();
            } catch (...) {
                stopped_ = true;
                return std::current_exception();
            }
            lock.lock();
        }
        return nullptr;
    }

    void work() {
        while (!stopped_) {
            const std::size_t number = next_++;

            if (number >= scenarios_.size())
                break;
            try {
                run_one(number);
            } catch (...) {
                const std::lock_guard lock(mutex_);

                if (!refused_ || number < refused_number_) {
                    refused_ = std::current_exception();
                    refused_number_ = number;
                }
            }
        }
        const std::lock_guard lock(mutex_);
        running_--;
        done_.notify_one();
    }

    void run_one(std::size_t number) {
        const Scenario &scenario = *scenarios_[number];
        const auto simulation = make_simulation(scenario, std::make_unique<Recorder>());
        Ns now_ns = 0;

        while (now_ns < scenario.horizon_ns && !stopped_)
            now_ns = simulation->advance(scenario.horizon_ns, INSTANTS_AT_ONCE);
        simulation->finish(now_ns);
        write(number, *simulation, now_ns);
    }

    void write(std::size_t number, const Simulation &simulation, Ns end_ns) {
        Number *task_row = tasks_ + first_task_[number] * TASK_FIELDS;
        Number *vcpu_row = vcpus_ + first_vcpu_[number] * VCPU_FIELDS;
        u64 misses = 0;

        for (const TaskRun &task : simulation.tasks()) {
            write_task(task, end_ns, task_row);
            task_row += TASK_FIELDS;
            misses += task.late;
        }
        for (const FlowRun &flow : simulation.flows())
            misses += flow.late();
        for (const VcpuCount &vcpu : simulation.vcpus()) {
            write_vcpu(vcpu, vcpu_row);
            vcpu_row += VCPU_FIELDS;
        }
        misses_[number] = static_cast<Number>(misses);
    }

    const std::vector<const Scenario *> &scenarios_;
    std::vector<std::size_t> first_task_, first_vcpu_;
    Number *tasks_, *vcpus_, *misses_;

    std::atomic<std::size_t> next_ = 0;
    std::atomic<bool> stopped_ = false;
    std::mutex mutex_; // for all below
    std::condition_variable done_;
    u32 running_ = 0;
    std::exception_ptr refused_;
    std::size_t refused_number_ = 0;
};

void look_for_signals() {
    const nb::gil_scoped_acquire held;

    if (PyErr_CheckSignals() != 0)
        throw nb::python_error();
}

void run_batch(const std::vector<const Scenario *> &scenarios, u32 threads, Rows<TASK_FIELDS> tasks,
               Rows<VCPU_FIELDS> vcpus, Column misses) {
    if (threads == 0 || threads > 1024)
        throw std::invalid_argument("1 to 1024 threads");
    Batch batch(scenarios, tasks, vcpus, misses);
    const nb::gil_scoped_release released;

    batch.run(threads, look_for_signals);
}

} // namespace

void bind_batch(nb::module_ &module) {
    using nb::arg;

    module.def("run_batch", &run_batch, arg("scenarios"), arg("threads"), arg("tasks").noconvert(),
               arg("vcpus").noconvert(), arg("misses").noconvert());
}

} // namespace hyperperiod::sim
