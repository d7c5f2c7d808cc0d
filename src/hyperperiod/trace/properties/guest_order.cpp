// SPDX-License-Identifier: BSD-2-Clause
//
// A domain that schedules globally runs the first of its jobs, one on each vcpu with a pcpu.
//
// Such a domain (its scheduler is gedf, grm, gdm or gfp) is in the header's `global_guests`. A task
// offers its oldest unfinished job. At every moment
//
// - a job runs on one vcpu at a time;
// - no job waits for one that comes after it in the domain's order;
// - while a job waits, all vcpus of the domain have work, and each that has a pcpu runs a job;
// - while none waits, those vcpus have work that run a job, and no others.
//
// Of jobs that are equal any may be first here. A host that is late (overheads) may be so here,
// too.

#include <deque>

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

struct WaitingJob {
    u32 number;
    u64 deadline; // 0: none
};

// The smaller is first; what has no deadline, period or priority is behind all that have.
struct Rank {
    bool is_last;
    u64 key;
    u16 task;

    auto operator<=>(const Rank &) const = default;
};

// A domain that schedules globally: its vcpus and tasks, by their ids.
struct Members {
    std::string scheduler;
    std::vector<u16> vcpus, tasks;
    bool looked_at = true, wrong = false;
};

// Follows the jobs of such domains, and the vcpus that they are on.
class GuestOrder : public Property {
  public:
    explicit GuestOrder(const Header &run)
        : Property(run), jobs_(run.tasks.size()), grants_(run.pcpus), work_(run.vcpus.size()),
          of_vcpu_(run.vcpus.size(), nobody), of_task_(run.tasks.size(), nobody) {
        if (run.guests.empty())
            verdict.reason = "no domain schedules its jobs globally";
        for (const Guest &guest : run.guests)
            add(guest);
    }

    void record(const Record &record, u64) override {
        switch (record.event()) {
        case Event::release:
            jobs_[record.task].push_back({record.job, record.value});
            return look_at(of_task_[record.task]);
        case Event::complete:
            if (!jobs_[record.task].empty())
                jobs_[record.task].pop_front();
            return look_at(of_task_[record.task]);
        case Event::run:
            return grant(record.pcpu, {record.vcpu, record.task});
        case Event::idle:
            return grant(record.pcpu, {});
        case Event::arrive:
        case Event::depart:
            work_[record.vcpu] = record.event() == Event::arrive;
            return look_at(of_vcpu_[record.vcpu]);
        default:
            return;
        }
    }

    // Everything of an instant has happened, and stays so until the next.
    void instant(Time now, Time until) override {
        now_ = now;
        until_ = until;
        for (Members &guest : guests_) {
            if (!guest.looked_at)
                continue;
            judge(guest);
            guest.looked_at = std::exchange(guest.wrong, false);
        }
    }

  private:
    struct Running {
        u16 vcpu = nobody, task = nobody;
    };

    enum What : u32 { twice, asks, idles, works, order };

    void add(const Guest &guest) {
        const u16 number = static_cast<u16>(guests_.size());
        Members &members = guests_.emplace_back();
        members.scheduler = guest.scheduler;
        for (std::size_t vcpu = 0; vcpu < header.vcpus.size(); vcpu++)
            if (header.vcpus[vcpu].domain == guest.domain) {
                members.vcpus.push_back(static_cast<u16>(vcpu));
                of_vcpu_[vcpu] = number;
            }
        for (std::size_t task = 0; task < header.tasks.size(); task++)
            if (header.tasks[task].domain == guest.domain) {
                members.tasks.push_back(static_cast<u16>(task));
                of_task_[task] = number;
            }
    }

    void look_at(u16 guest) {
        if (guest != nobody)
            guests_[guest].looked_at = true;
    }

    void grant(u16 pcpu, const Running &running) {
        for (const u16 vcpu : {grants_[pcpu].vcpu, running.vcpu})
            if (vcpu != nobody)
                look_at(of_vcpu_[vcpu]);
        grants_[pcpu] = running;
    }

    void judge(Members &guest) {
        const std::vector<Running> granted = granted_to(guest);
        std::vector<u16> running;
        for (const Running &one : granted)
            if (one.task != nobody)
                running.push_back(one.task);
        judge_twice(guest, running);
        std::vector<u16> waiting;
        for (const u16 task : guest.tasks)
            if (!jobs_[task].empty() && count(running, task) == 0)
                waiting.push_back(task);
        for (const u16 late : running)
            for (const u16 early : waiting)
                judge_pair(guest, early, late);
        for (const u16 vcpu : guest.vcpus)
            judge_work(guest, vcpu, granted, !waiting.empty());
    }

    static std::ptrdiff_t count(const std::vector<u16> &tasks, u16 task) {
        return std::count(tasks.begin(), tasks.end(), task);
    }

    // The vcpus of a domain that have a pcpu, with what they run there.
    std::vector<Running> granted_to(const Members &guest) const {
        std::vector<Running> found;
        for (const Running &grant : grants_) {
            if (grant.vcpu == nobody || &guests_[0] + of_vcpu_[grant.vcpu] != &guest)
                continue;
            const auto same = [&](const Running &one) { return one.vcpu == grant.vcpu; };
            const auto place = std::find_if(found.begin(), found.end(), same);
            if (place == found.end())
                found.push_back(grant);
            else
                *place = grant;
        }
        return found;
    }

    void judge_twice(Members &guest, std::vector<u16> running) {
        std::sort(running.begin(), running.end());
        running.erase(std::remove_if(running.begin(), running.end(),
                                     [&, all = running](u16 task) { return count(all, task) < 2; }),
                      running.end());
        running.erase(std::unique(running.begin(), running.end()), running.end());
        for (const u16 task : running)
            wrong_guest(guest, {twice, task},
                        [&] { return header.task_name(task) + " runs on two vcpus at once"; });
    }

    void judge_pair(Members &guest, u16 early, u16 late) {
        if (jobs_[late].empty() || rank(guest, early) >= rank(guest, late))
            return;
        wrong_guest(guest, {order, early, late}, [&] {
            return header.task_name(early) + " job " + std::to_string(jobs_[early][0].number)
                   + " waits for " + header.task_name(late) + " job "
                   + std::to_string(jobs_[late][0].number);
        });
    }

    void judge_work(Members &guest, u16 vcpu, const std::vector<Running> &granted, bool waits) {
        const auto same = [vcpu](const Running &one) { return one.vcpu == vcpu; };
        const auto place = std::find_if(granted.begin(), granted.end(), same);
        const bool has_pcpu = place != granted.end();
        const bool runs = has_pcpu && place->task != nobody;
        const auto say = [&](const char *what) {
            return [this, vcpu, what] { return header.server_name(vcpu) + what; };
        };
        if (waits && work_[vcpu] == 0)
            wrong_guest(guest, {asks, vcpu}, say(" has no work while a job of its domain waits"));
        else if (waits && has_pcpu && !runs)
            wrong_guest(guest, {idles, vcpu}, say(" runs nothing while a job of its domain waits"));
        else if (!waits && work_[vcpu] != 0 && !runs)
            wrong_guest(guest, {works, vcpu}, say(" has work but no job of its domain waits"));
    }

    // Equal under gedf are those with one deadline.
    Rank rank(const Members &guest, u16 task) const {
        if (guest.scheduler == "gedf") {
            const u64 deadline = jobs_[task][0].deadline;
            return {deadline == 0, deadline, 0};
        }
        const Task &entry = header.tasks[task];
        const std::optional<Time> &key = guest.scheduler == "grm"   ? entry.period
                                         : guest.scheduler == "gdm" ? entry.deadline
                                                                    : entry.priority;
        return {!key, static_cast<u64>(key.value_or(0)), task};
    }

    template <class Text> void wrong_guest(Members &guest, const Wrong &what, Text &&text) {
        guest.wrong = true;
        if (const auto since = watch.wrong(what, now_, until_))
            verdict.add(*since, std::forward<Text>(text));
    }

    std::vector<Members> guests_;
    std::vector<std::deque<WaitingJob>> jobs_;
    std::vector<Running> grants_;
    std::vector<u8> work_;
    std::vector<u16> of_vcpu_, of_task_; // the number of the guest that they belong to
    Time now_ = 0, until_ = 0;
};

} // namespace

const Row rows::guest_order{
    "guest-order",
    "A domain that schedules globally runs the first of its jobs, one on each vcpu with a pcpu.",
    {.kinds = bit(Event::release) | bit(Event::complete) | bit(Event::run) | bit(Event::idle)
              | bit(Event::arrive) | bit(Event::depart),
     .instants = true},
    make_property<GuestOrder>,
};

} // namespace hyperperiod::trace
