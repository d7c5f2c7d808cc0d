// SPDX-License-Identifier: BSD-2-Clause
//
// A finished job has run for at least its least and at most its worst execution time.
//
// With overheads (picks may come late, by L at most) a job's pieces on the pcpu are longer than
// what it executed, by what the host did in them. It does that at the ends of a piece, and wherever
// something happens inside that leaves the piece whole. What comes before a pick (the interrupt,
// what wakes or is refilled) takes at most L, that is how L is measured. What comes after one (the
// pick itself, the way back) is not in L: it takes at most A, and C more if the pcpu was another
// vcpu's before. The header has A as `resume_ns` and C as `switch_ns`; without them A is L and C is
// 0. So a job may have run longer by
//
//     (L + A) * (1 for each piece, 1 for each event inside a piece)
//     + C * (pieces after another vcpu, vcpus that leave this pcpu for another during a piece)
//
// but not shorter. Where a vcpu leaves that was not running, the one that runs is interrupted by
// more than a decision: on the pcpu that is left the host takes it out of one lock domain, points
// its interrupts at the other pcpu and puts it into the lock domain there. That is the way out of
// one context and into another, which C bounds for a switch. The pcpu where it arrives only picks.
// The events inside a piece are
//
// - the instants at which anything is recorded, except what names another pcpu or has a vcpu leave
//   another one;
// - where nobody pays, the ends of quanta and of shares (the slack rule weights): a pick there
//   leaves no charge, and no record if the same job goes on. The first is due when the piece's
//   record says, and each quantum begins anew with a pick. One that is due less than L before the
//   piece ends is not counted: what is left of the piece is no longer than the L for its end.
//
// The jobs that the `overrun` of a task names have as many thousandths of that range.
//
// Where the header has `job_overhead_ns` a job may miss its range by that much more, both ways:
// what the guest itself needs for a job lies in part outside the pieces that name the job.
//
// A guest with a kernel of its own does more in the pieces of its jobs, and at the same times: it
// takes interrupts, wakes threads and switches. Where a task has `kernel_ns`, its jobs may have run
// longer by that for each piece, each event inside one, and each `kernel_period_ns` of one (a
// tick). Where it is null no bound is known: with several vcpus a kernel waits for locks of one
// that has no pcpu.

#include <deque>
#include <unordered_map>

#include "src/hyperperiod/trace/properties/property.hpp"
#include "src/hyperperiod/trace/properties/shares.hpp"

namespace hyperperiod::trace {

namespace {

// Counts, for each pcpu, what may have interrupted who runs there: instants at which anything is
// recorded that may concern it, and vcpus that leave it for another.
class Interruptions {
  public:
    explicit Interruptions(const Header &header) : own_(header.pcpus), left_(header.pcpus) {
        for (const Vcpu &vcpu : header.vcpus)
            homes_.push_back(vcpu.pcpu);
    }

    struct Counts {
        u64 instants = 0, departures = 0;
    };

    // Up to the instant before this one.
    Counts before(u16 pcpu) const { return {all_ + own_[pcpu], left_[pcpu]}; }

    void note(const Record &record) {
        if (record.event() == Event::move && record.pcpu == nobody) {
            note_departure(homes_[record.vcpu]);
            return;
        }
        if (record.event() == Event::move)
            homes_[record.vcpu] = record.pcpu;
        if (record.pcpu == nobody)
            concerns_all_ = true;
        else if (concerned_.empty() || concerned_.back() != record.pcpu)
            concerned_.push_back(record.pcpu);
    }

    // The instant is over.
    void pass() {
        all_ += concerns_all_ ? 1 : 0;
        if (!concerns_all_) {
            std::sort(concerned_.begin(), concerned_.end());
            concerned_.erase(std::unique(concerned_.begin(), concerned_.end()), concerned_.end());
            for (const u16 pcpu : concerned_)
                own_[pcpu]++;
        }
        for (const u16 pcpu : leaving_)
            left_[pcpu]++;
        concerns_all_ = false;
        concerned_.clear();
        leaving_.clear();
    }

  private:
    void note_departure(u16 pcpu) {
        if (pcpu >= own_.size())
            return;
        concerned_.push_back(pcpu);
        leaving_.push_back(pcpu);
    }

    u64 all_ = 0;
    std::vector<u64> own_, left_;
    std::vector<u16> homes_;
    // At this instant.
    bool concerns_all_ = false;
    std::vector<u16> concerned_, leaving_;
};

// Compares what each job got, the sum of its intervals, with what it needs.
class Demand : public Property {
  public:
    explicit Demand(const Header &run)
        : Property(run), interruptions_(run), pcpus_(run.pcpus), finished_(run.tasks.size()),
          shares_(run.rules.slack == Slack::weights) {
        if (run.host_timing)
            verdict.reason = "execution times are those of a busy machine";
    }

    void record(const Record &record, u64 number) override {
        switch (record.event()) {
        case Event::run:
        case Event::idle:
            decide(record);
            break;
        case Event::complete:
            complete(record, number);
            break;
        case Event::swap:
            shares_ |= header.slacks[record.value >> 16 & 0xFF] == Slack::weights;
            break;
        default:
            break;
        }
        if (header.late > 0)
            interruptions_.note(record);
    }

    void instant(Time, Time) override {
        if (header.late > 0)
            interruptions_.pass();
    }

    void interval(const Interval &interval) override {
        const Record &record = interval.record;
        Pcpu &pcpu = pcpus_[record.pcpu];
        if (record.event() == Event::run && record.task != nobody) {
            Work &work = works_[key_of(record.task, record.job)];
            work.ran += interval.end - interval.start;
            if (header.late > 0)
                work.host += most_overhead(interval, pcpu);
        }
        pcpu.vcpu = record.vcpu;
    }

    void close(Time) override {
        for (Pcpu &pcpu : pcpus_)
            stop(pcpu);
    }

  private:
    using Key = u64;

    struct Completion {
        Time time;
        u64 number;
        Time release;
    };

    // What a job got, and the most that the host may have taken of that.
    struct Work {
        Time ran = 0;
        Wide host = 0;
        u32 running = 0; // on how many pcpus it is
        std::vector<Completion> completions;
    };

    struct Pcpu {
        std::optional<Key> job;
        std::optional<u16> vcpu; // of the last interval
        Interruptions::Counts since;
    };

    // Jobs of a task that are remembered behind their completion.
    static constexpr std::size_t remembered = 8;

    static Key key_of(u16 task, u32 job) { return u64{task} << 32 | job; }

    void decide(const Record &record) {
        Pcpu &pcpu = pcpus_[record.pcpu];
        stop(pcpu);
        if (header.late > 0)
            pcpu.since = interruptions_.before(record.pcpu);
        if (record.event() == Event::run && record.task != nobody) {
            pcpu.job = key_of(record.task, record.job);
            works_[*pcpu.job].running++;
        }
    }

    // The job of a pcpu is not on it any more: all that it got is known.
    void stop(Pcpu &pcpu) {
        if (!pcpu.job)
            return;
        const Key key = *pcpu.job;
        Work &work = works_[key];
        pcpu.job.reset();
        if (--work.running == 0 && !work.completions.empty())
            judge(key, work);
    }

    void complete(const Record &record, u64 number) {
        const Task &task = header.tasks[record.task];
        if (!task.bcet || !task.wcet)
            return;
        const Key key = key_of(record.task, record.job);
        Work &work = works_[key];
        const Time release = record.at() - static_cast<Time>(record.value);
        work.completions.push_back({record.at(), number, release});
        if (work.running == 0)
            judge(key, work);
    }

    void judge(Key key, Work &work) {
        const u16 number = static_cast<u16>(key >> 32);
        const Task &task = header.tasks[number];
        const u32 job = static_cast<u32>(key);
        for (const Completion &completion : work.completions) {
            const Wide shortest = task.taken(*task.bcet, job, completion.release);
            const Wide longest = task.taken(*task.wcet, job, completion.release);
            const Wide least = std::max(Wide{0}, shortest - header.job_overhead);
            const Wide most = longest + header.job_overhead + work.host;
            if (work.ran < least || (task.kernel && work.ran > most))
                verdict.add({completion.number, 0, 0, 0}, completion.time, [&] {
                    return header.task_name(number) + " job " + std::to_string(job) + " ran "
                           + std::to_string(work.ran) + " ns; its range is "
                           + std::to_string(static_cast<Time>(least)) + " to "
                           + std::to_string(static_cast<Time>(most));
                });
        }
        work.completions.clear();
        forget(finished_[number], key);
    }

    void forget(std::deque<Key> &finished, Key key) {
        if (std::find(finished.begin(), finished.end(), key) != finished.end())
            return;
        finished.push_back(key);
        if (finished.size() <= remembered)
            return;
        const auto oldest = works_.find(finished.front());
        finished.pop_front();
        if (oldest != works_.end() && oldest->second.running == 0)
            works_.erase(oldest);
    }

    // The most that the host and the guest's kernel took of an interval.
    Wide most_overhead(const Interval &interval, const Pcpu &pcpu) const {
        const Record &record = interval.record;
        const Interruptions::Counts until = interruptions_.before(record.pcpu);
        // The instant at which it began is among them.
        const u64 inside = until.instants - pcpu.since.instants - 1;
        const Wide events = Wide{1} + inside + unrecorded(interval);
        const Wide switches =
            (pcpu.vcpu != record.vcpu ? 1 : 0) + Wide{until.departures - pcpu.since.departures};
        Wide most = events * (header.late + header.resume) + switches * header.switching;
        const Task &task = header.tasks[record.task];
        if (task.kernel && *task.kernel > 0) {
            const Time ticks = (interval.end - interval.start) / task.kernel_period;
            most += (events + ticks) * *task.kernel;
        }
        return most;
    }

    // How many ends of quanta or shares lie inside an interval of which no record tells.
    Time unrecorded(const Interval &interval) const {
        Time round = header.quantum.value_or(never);
        if (shares_)
            round = std::min(round, share_length);
        if (interval.record.payer != nobody || round == never)
            return 0;
        const u64 until = std::min<u64>(interval.record.value, static_cast<u64>(interval.end));
        const Time left = interval.end - static_cast<Time>(until) - header.late;
        return left <= 0 ? 0 : (left + round - 1) / round;
    }

    Interruptions interruptions_;
    std::vector<Pcpu> pcpus_;
    std::unordered_map<Key, Work> works_;
    std::vector<std::deque<Key>> finished_;
    bool shares_; // whether the run has had any
};

} // namespace

const Row rows::demand{
    "demand",
    "A finished job has run for at least its least and at most its worst execution time.",
    {.kinds = every_kind, .intervals = true, .instants = true},
    make_property<Demand>,
};

} // namespace hyperperiod::trace
