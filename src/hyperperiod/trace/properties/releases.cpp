// SPDX-License-Identifier: BSD-2-Clause
//
// Jobs are released when the kind of their task says so.
//
// Periodic: at offset + k * period, up to `jitter` later. Sporadic: at least one period after the
// release before, less the jitter. Event: exactly one period after the job before has finished. A
// release never overtakes the one before it.
//
// Hops of flows: each release carries an item. At the first hop items come as the source says, in
// whole bursts, and one is dropped exactly if as many as the queue holds are on their way, or if as
// many as the ring of its device holds are at this hop. At each further hop an item is released at
// the instant at which it has finished the one before.
//
// A closed source: each item is sent by a client that has thought, since the source's offset or
// since an item of its own has left, for no shorter and no longer than clients think. Whose item it
// is a trace does not say, and need not: all think within one range, so if items can be given to
// clients at all, then each one to the client that has thought for the longest. A client that has
// not sent anything after the longest time for which it may think is found at the end.

#include <deque>
#include <map>
#include <set>

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

// Which item of which flow at which hop: the value of an item or drop record.
struct Item {
    u16 flow, hop;
    u32 number;
};

Item item_of(u64 value) {
    return {static_cast<u16>(value >> 48), static_cast<u16>(value >> 32), static_cast<u32>(value)};
}

// The earliest and the latest instant for a release.
struct Range {
    Time low;
    std::optional<Time> high;

    bool has(Time time) const { return low <= time && !(high && *high < time); }

    std::string text() const {
        return std::to_string(low) + (high ? " to " + std::to_string(*high) : "");
    }
};

// What came before: how many releases, when the last one was and when the last job had finished.
struct Before {
    u64 count = 0;
    std::optional<Time> last, finished;
};

template <class Source> Range range_of(const Source &source, const Before &before) {
    const Time jitter = source.jitter;
    if (source.kind == Releases::recorded)
        return {before.last.value_or(0), std::nullopt};
    if (source.kind == Releases::periodic && source.period) {
        const Wide exact = Wide{source.offset} + Wide{before.count} * *source.period;
        const Time own = static_cast<Time>(std::min(exact, Wide{longest}));
        const Time last = before.last.value_or(0);
        return {std::max(own, last), std::max(own + jitter, last)};
    }
    if (!before.last)
        return {source.offset, source.offset + jitter};
    if (source.kind == Releases::sporadic && source.period)
        return {std::max(*before.last, *before.last + *source.period - jitter), std::nullopt};
    if (source.kind == Releases::event && source.period && before.finished) {
        const Time due = *before.finished + *source.period;
        return {due, due + jitter};
    }
    return {*before.last, std::nullopt};
}

// An item at a hop: the record that says so.
struct Visit {
    Event kind;
    Time time;
    u16 task;
    Item item;
};

// Within an instant what completes is first; then items come, by flow and number.
bool is_before(const Visit &one, const Visit &other) {
    const auto turn = [](const Visit &visit) {
        return std::tuple(visit.kind != Event::complete, visit.item.flow, visit.item.number);
    };
    return turn(one) < turn(other);
}

// What is known of a flow: how many items are on their way, and since when clients think.
struct Source {
    Time under_way = 0;
    Before before;
    std::deque<Time> thinking;
};

class Releasing : public Property {
  public:
    explicit Releasing(const Header &run)
        : Property(run), tasks_(run.tasks.size()), is_hop_(run.tasks.size()),
          at_(run.tasks.size()) {
        for (const Flow &flow : run.flows) {
            for (const u16 task : flow.hops)
                is_hop_[task] = 1;
            Source &source = sources_.emplace_back();
            source.thinking.assign(flow.clients.value_or(0), flow.offset);
        }
    }

    void record(const Record &record, u64) override {
        const Job job{record.task, record.job};
        switch (record.event()) {
        case Event::release:
            if (is_hop_[record.task] != 0)
                released_.insert(job);
            else
                release(record);
            return;
        case Event::complete:
            tasks_[record.task].finished = record.at();
            if (const auto place = carried_.find(job); place != carried_.end()) {
                visits_.push_back({record.event(), record.at(), record.task, place->second});
                carried_.erase(place);
            }
            return;
        case Event::item:
            carry(record, job);
            return;
        case Event::drop:
            if (!sources_.empty())
                visits_.push_back(
                    {record.event(), record.at(), record.task, item_of(record.value)});
            return;
        default:
            return;
        }
    }

    void instant(Time, Time) override { follow(); }

    void close(Time end) override {
        follow();
        for (const auto &[task, number] : released_)
            add(Part::hops, end, [&, task = task, number = number] {
                return job_name(task, number) + " carries no item";
            });
        for (const auto &[item, next] : ready_)
            if (next.since < end)
                add(Part::items, next.since, [&, flow = item.first, number = item.second] {
                    return item_name(flow, number) + " is done before hop "
                           + std::to_string(next.hop) + " and never gets there";
                });
        for (std::size_t flow = 0; flow < sources_.size(); flow++)
            for (const Time since : sources_[flow].thinking)
                if (const Time high = since + header.flows[flow].think_most; high < end)
                    add(Part::items, end, [&] {
                        return header.flows[flow].name + ": a client never sends after "
                               + std::to_string(high);
                    });
    }

  private:
    using Job = std::pair<u16, u32>;
    using ItemKey = std::pair<u16, u32>;

    // In which order it is told.
    enum class Part : u64 { tasks, hops, items };

    template <class Text> void add(Part part, Time time, Text &&text) {
        verdict.add({static_cast<u64>(part), verdict.count, 0, 0}, time, std::forward<Text>(text));
    }

    void release(const Record &record) {
        Before &before = tasks_[record.task];
        const Range range = range_of(header.tasks[record.task], before);
        if (!range.has(record.at()))
            add(Part::tasks, record.at(), [&] {
                return job_name(record.task, record.job) + " is released outside " + range.text();
            });
        before.last = record.at();
        before.count++;
    }

    // Every release of a hop carries an item, and nothing else does.
    void carry(const Record &record, const Job &job) {
        if (sources_.empty())
            return;
        if (released_.erase(job) == 0)
            add(Part::hops, record.at(), [&] {
                return job_name(record.task, record.job) + " carries an item but is not released";
            });
        const Item item = item_of(record.value);
        carried_[job] = item;
        visits_.push_back({record.event(), record.at(), record.task, item});
    }

    void follow() {
        if (visits_.empty())
            return;
        std::stable_sort(visits_.begin(), visits_.end(), is_before);
        for (const Visit &visit : visits_)
            follow(visit);
        visits_.clear();
    }

    void follow(const Visit &visit) {
        const Item &item = visit.item;
        if (item.flow >= sources_.size() || item.hop >= header.flows[item.flow].hops.size())
            add(Part::items, visit.time, [&] {
                return "Item(flow=" + std::to_string(item.flow)
                       + ", hop=" + std::to_string(item.hop)
                       + ", number=" + std::to_string(item.number) + ") is an item of no flow";
            });
        else if (visit.kind == Event::complete)
            complete(visit);
        else if (item.hop == 0)
            come(visit);
        else
            go_on(visit);
    }

    void complete(const Visit &visit) {
        const Item &item = visit.item;
        const Flow &flow = header.flows[item.flow];
        at_[flow.hops[item.hop]]--;
        if (u32{item.hop} + 1 < flow.hops.size()) {
            ready_[{item.flow, item.number}] = {static_cast<u16>(item.hop + 1), visit.time};
            return;
        }
        sources_[item.flow].under_way--;
        if (flow.clients)
            sources_[item.flow].thinking.push_back(visit.time);
    }

    void come(const Visit &visit) {
        const Item &item = visit.item;
        const Flow &flow = header.flows[item.flow];
        Source &source = sources_[item.flow];
        const Time in_ring = at_[flow.hops.front()];
        const bool full = source.under_way >= static_cast<Time>(flow.queue)
                          || (flow.ring > 0 && in_ring >= static_cast<Time>(flow.ring));
        const bool dropped = visit.kind == Event::drop;
        const std::string who = item_name(item.flow, item.number);
        if (item.number != source.before.count)
            add(Part::items, visit.time,
                [&] { return who + " comes as number " + std::to_string(source.before.count); });
        check_source(visit, flow, source, who);
        if (full != dropped)
            add(Part::items, visit.time, [&] {
                return who + (dropped ? " is dropped" : " comes") + " with "
                       + std::to_string(source.under_way) + " on their way"
                       + (flow.ring > 0 ? " and " + std::to_string(in_ring) + " in the ring" : "");
            });
        if (!dropped) {
            check_task(visit);
            source.under_way++;
        }
        source.before.count++;
        source.before.last = visit.time;
    }

    void check_source(const Visit &visit, const Flow &flow, Source &source,
                      const std::string &who) {
        if (flow.clients)
            return check_client(visit, flow, source, who);
        Before before = source.before;
        const u64 place = before.count % flow.burst;
        before.count /= flow.burst;
        Range range = range_of(flow, before);
        if (place > 0 && before.last)
            range = {*before.last, *before.last};
        if (!range.has(visit.time))
            add(Part::items, visit.time, [&] { return who + " comes outside " + range.text(); });
    }

    // The client that has thought for the longest sends.
    void check_client(const Visit &visit, const Flow &flow, Source &source,
                      const std::string &who) {
        if (source.thinking.empty())
            return add(Part::items, visit.time,
                       [&] { return who + " comes while every client waits"; });
        const Time since = source.thinking.front();
        source.thinking.pop_front();
        const Range range{since + flow.think_least, since + flow.think_most};
        if (!range.has(visit.time))
            add(Part::items, visit.time, [&] { return who + " comes outside " + range.text(); });
    }

    void go_on(const Visit &visit) {
        check_task(visit);
        const Item &item = visit.item;
        const auto place = ready_.find({item.flow, item.number});
        const bool right = place != ready_.end() && place->second.hop == item.hop
                           && place->second.since == visit.time;
        if (place != ready_.end())
            ready_.erase(place);
        if (!right)
            add(Part::items, visit.time, [&] {
                return item_name(item.flow, item.number) + " is at hop " + std::to_string(item.hop)
                       + " but was not done before it";
            });
    }

    void check_task(const Visit &visit) {
        const Item &item = visit.item;
        const auto task = header.flows[item.flow].hops[item.hop];
        at_[task]++;
        if (visit.task != task)
            add(Part::items, visit.time, [&] {
                return item_name(item.flow, item.number) + " is at a task that is not hop "
                       + std::to_string(item.hop);
            });
    }

    std::string job_name(u16 task, u32 job) const {
        return header.task_name(task) + " job " + std::to_string(job);
    }

    std::string item_name(u16 flow, u32 number) const {
        return header.flows[flow].name + " item " + std::to_string(number);
    }

    // The hop that an item goes to next, and since when it may.
    struct Next {
        u16 hop;
        Time since;
    };

    std::vector<Before> tasks_;
    std::vector<u8> is_hop_;
    std::vector<Time> at_; // how many items are at each task, by the hops of their flows
    std::vector<Source> sources_;
    std::set<Job> released_;        // jobs of hops whose item is not known yet
    std::map<Job, Item> carried_;   // by the job that carries it
    std::map<ItemKey, Next> ready_; // items that have finished a hop
    std::vector<Visit> visits_;     // of this instant
};

} // namespace

const Row rows::releases{
    "releases",
    "Jobs are released when the kind of their task says so.",
    {.kinds = bit(Event::release) | bit(Event::complete) | bit(Event::item) | bit(Event::drop),
     .instants = true},
    make_property<Releasing>,
};

} // namespace hyperperiod::trace
