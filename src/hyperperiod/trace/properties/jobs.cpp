// SPDX-License-Identifier: BSD-2-Clause
//
// A job runs between its release and its completion, after the jobs of its task before it.
//
// Its response time is what its records say, and it is reported as missed exactly if it finished
// after its deadline, or had not finished when the run ended with its deadline already over.

#include <deque>

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

struct Job {
    u32 number;
    u64 release, deadline;
    bool ran = false, missed = false;
};

// What is known about one task: its unfinished jobs, oldest first.
struct Known {
    std::deque<Job> waiting;
    std::optional<u32> released;

    // Numbers follow one another, so it is where it should be, or anywhere.
    Job *job(u32 number) {
        if (waiting.empty())
            return nullptr;
        const u32 index = number - waiting.front().number;
        if (index < waiting.size() && waiting[index].number == number)
            return &waiting[index];
        for (Job &job : waiting)
            if (job.number == number)
                return &job;
        return nullptr;
    }
};

std::string text_of(bool value) {
    return value ? "True" : "False";
}

// Follows every job through its records.
class Jobs : public Property {
  public:
    explicit Jobs(const Header &run) : Property(run), tasks_(run.tasks.size()) {}

    void record(const Record &record, u64) override {
        now_ = record.at();
        switch (record.event()) {
        case Event::release:
            return release(record);
        case Event::run:
            return record.task == nobody ? void() : run(record);
        case Event::miss:
            return miss(record);
        case Event::complete:
            return complete(record);
        default:
            return;
        }
    }

    // Every overdue job that is still there must have been reported.
    void close(Time end) override {
        now_ = end;
        for (std::size_t task = 0; task < tasks_.size(); task++)
            for (const Job &job : tasks_[task].waiting)
                if (0 < job.deadline && job.deadline <= static_cast<u64>(end) && !job.missed)
                    wrong_job(static_cast<u16>(task), job.number,
                              [] { return "is overdue at the end but not reported"; });
    }

  private:
    void release(const Record &record) {
        Known &task = tasks_[record.task];
        if (task.released && u64{record.job} != u64{*task.released} + 1)
            wrong_job(record.task, record.job,
                      [&] { return "is released after job " + std::to_string(*task.released); });
        task.released = record.job;
        task.waiting.push_back({record.job, record.time, record.value});
    }

    void run(const Record &record) {
        Known &task = tasks_[record.task];
        Job *const job = task.job(record.job);
        if (job == nullptr) {
            if (!header.tasks[record.task].busy)
                wrong_job(record.task, record.job,
                          [] { return "runs but is not released or is finished"; });
            return;
        }
        job->ran = true;
        if (job != &task.waiting[0])
            wrong_job(record.task, record.job,
                      [&] { return "runs before job " + std::to_string(task.waiting[0].number); });
    }

    void miss(const Record &record) {
        Job *const job = tasks_[record.task].job(record.job);
        if (job == nullptr)
            return wrong_job(record.task, record.job,
                             [] { return "is reported as missed but is not waiting"; });
        job->missed = true;
        if (record.value != job->deadline)
            wrong_job(record.task, record.job,
                      [&] { return "had the deadline " + std::to_string(job->deadline); });
        if (job->deadline == 0 || record.time < job->deadline)
            wrong_job(record.task, record.job,
                      [] { return "is reported as missed before its deadline"; });
    }

    void complete(const Record &record) {
        Known &task = tasks_[record.task];
        Job *const job = task.job(record.job);
        if (job == nullptr)
            return wrong_job(record.task, record.job,
                             [] { return "completes but is not released or is finished"; });
        if (job != &task.waiting[0])
            wrong_job(record.task, record.job, [&] {
                return "completes before job " + std::to_string(task.waiting[0].number);
            });
        if (!job->ran)
            wrong_job(record.task, record.job, [] { return "completes without having run"; });
        const u64 response = record.time - job->release;
        if (record.value != response)
            wrong_job(record.task, record.job, [&] {
                return "responds in " + std::to_string(response) + " ns but is reported with "
                       + std::to_string(record.value);
            });
        const bool late = job->deadline > 0 && record.time > job->deadline;
        if (late != job->missed)
            wrong_job(record.task, record.job, [&] {
                return "late: " + text_of(late) + ", reported as missed: " + text_of(job->missed);
            });
        const auto is_job = [job](const Job &one) { return &one == job; };
        task.waiting.erase(std::find_if(task.waiting.begin(), task.waiting.end(), is_job));
    }

    template <class Text> void wrong_job(u16 task, u32 job, Text &&text) {
        verdict.add(now_, [&] {
            return header.task_name(task) + " job " + std::to_string(job) + " " + text();
        });
    }

    std::vector<Known> tasks_;
    Time now_ = 0;
};

} // namespace

const Row rows::jobs{
    "jobs",
    "A job runs between its release and its completion, after the jobs of its task before it.",
    {.kinds = bit(Event::release) | bit(Event::run) | bit(Event::miss) | bit(Event::complete)},
    make_property<Jobs>,
};

} // namespace hyperperiod::trace
