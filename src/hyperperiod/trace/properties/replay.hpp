// SPDX-License-Identifier: BSD-2-Clause
//
// A trace replayed: the state in which the machine was between any two events.
//
// The replay knows from the records only what a host reports: who runs on each pcpu and who pays,
// when work arrives and departs, when the policy is swapped. Budgets, refills and deadlines it
// works out itself (servers.hpp), so that what the scheduler believed can be compared with what the
// rules say. It shows one `Moment` per stretch of time in which nothing changes.
//
// What a moment costs does not grow with the servers: they stand in queues, in order, and a queue
// is touched where a server of it changes. Pcpus that share a queue are a group. Properties look at
// the groups in which anything changed, or was wrong in the moment before.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "src/hyperperiod/trace/properties/run.hpp"
#include "src/hyperperiod/trace/properties/servers.hpp"

namespace hyperperiod::trace {

// What one pcpu does.
struct Grant {
    u16 run = nobody, pay = nobody;
    bool also = false, extra = false;
    bool stolen = false; // the pcpu is not there to be granted
};

// The place of a server in the order; the smaller comes first, equal is a tie.
struct Place {
    u64 level = 0; // twice the level of extra time, one more if ordinary
    Time key = 0;

    auto operator<=>(const Place &) const = default;
};

// Servers in order, equals by id.
class Queue {
  public:
    struct Entry {
        Place place;
        u16 id;

        auto operator<=>(const Entry &) const = default;
    };

    void insert(const Entry &entry);
    void erase(const Entry &entry);

    void clear() { entries_.clear(); }
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    const Entry &operator[](std::size_t index) const { return entries_[index]; }
    auto begin() const { return entries_.begin(); }
    auto end() const { return entries_.end(); }

  private:
    std::vector<Entry> entries_;
};

// The least of many times, each of which changes by itself.
class Calendar {
  public:
    explicit Calendar(std::size_t count);

    void set(std::size_t index, Time time);
    Time soonest() const { return times_[1]; }
    std::size_t who() const;

  private:
    std::size_t leaves_;
    std::vector<Time> times_;
};

// Pcpus that share one queue, with the servers of that queue (never the spare).
struct Group {
    std::vector<u16> pcpus;
    std::vector<u16> there;  // those that are not stolen
    Queue usable;            // with budget; kept where those without work matter
    Queue able;              // with budget and work
    Queue working;           // with work
    std::vector<u16> guests; // best-effort vcpus with work, by id
    bool looked_at = true;   // in this moment
    bool wrong = false;      // in this moment, in some way
};

// The state from `now` to `until`.
class Moment {
  public:
    explicit Moment(const Header &run);

    const Header &header;
    Time now = 0, until = 0;
    std::vector<Rules> rules; // by pcpu: partitioned ones may be swapped one after the other
    std::vector<Grant> grants;
    std::vector<u16> last_payer;                  // by pcpu, before the decision that holds now
    std::vector<u16> last_run;                    // the same, of vcpus with a server
    std::vector<std::unique_ptr<Server>> servers; // by id, then spares; none: it has no server
    std::vector<u8> work;                         // by vcpu
    std::vector<Time> work_since;                 // when each vcpu last got work; -1: it never did
    std::vector<u16> pcpus_of;                    // by vcpu, how many pcpus run it
    std::vector<Group> groups;
    std::vector<u16> touched; // servers of which anything changed since the moment before
    u64 swaps = 0, moves = 0; // how many there have been

    bool best_effort(u16 vcpu) const { return header.vcpus[vcpu].best_effort; }
    bool runs(u16 vcpu) const { return pcpus_of[vcpu] > 0; }
    bool has_work(u16 id) const { return id < work.size() && work[id] != 0; }
    bool is_spare(std::size_t key) const { return key >= header.vcpus.size(); }

    // Where a payer on that pcpu stands among the servers; partitioned pcpus have a spare each.
    std::size_t key_of(u16 payer, u16 pcpu) const {
        return payer == spare_id ? spare_on(pcpu) : payer;
    }
    std::size_t spare_on(u16 pcpu) const {
        return header.vcpus.size() + (header.partitioned ? pcpu : 0);
    }
    const Server *server(std::size_t key) const { return servers[key].get(); }
    bool usable(std::size_t key) const { return servers[key] != nullptr && servers[key]->usable(); }

    // The pcpu of a server, `none` if it is on its way to one; 0 if all pcpus are shared.
    u16 home(std::size_t key) const { return away_[key] ? nobody : last_home(key); }
    // The rules for a server: those of its pcpu, or of all pcpus.
    const Rules &rules_of(std::size_t key) const { return rules[last_home(key)]; }

    // Whether the server comes, under fp-edf, after all that have a priority.
    bool ordinary(u16 vcpu) const {
        return rules_of(vcpu).order == Order::fp_edf
               && servers[vcpu]->priority == ordinary_priority;
    }
    Place place(u16 vcpu) const;

    // The keys of all servers that are charged while the grant of the pcpu lasts.
    struct Payers {
        std::size_t keys[2];
        u32 count;
        const std::size_t *begin() const { return keys; }
        const std::size_t *end() const { return keys + count; }
    };
    Payers payers(u16 pcpu) const;

    // Who may be chosen from a queue: the first in the order. Among equals the last one chosen goes
    // on, else the lowest id is taken. With a quantum equals take turns: then any of them is right.
    std::vector<u16> first(const Queue &queue, u16 last) const;
    bool is_first(const Queue &queue, u16 last, u16 vcpu) const;

  private:
    friend class Replay;

    u16 last_home(std::size_t key) const {
        if (!header.partitioned)
            return 0;
        return static_cast<u16>(is_spare(key) ? key - header.vcpus.size() : homes_[key]);
    }

    std::vector<u16> homes_;
    std::vector<u8> away_;
};

// Walks through the decisive records of one trace.
class Replay {
  public:
    using See = std::function<void(Moment &)>;

    // `see` is called with every moment of positive length, in order.
    Replay(const Header &header, See see);

    static bool decisive(Event kind);

    // What happened at one instant, after which nothing is recorded of an earlier one.
    void instant(Time time, std::span<const Record> together);

  private:
    // How a server stands in the queues.
    struct Seat {
        Place place;
        Time deadline = 0;
        u16 group = nobody;
        bool usable = false, working = false;
        u32 named = 0; // by how many grants
        bool touched = false;
    };

    void add_server(u16 vcpu);
    void add_spares();
    void pass(Time to);
    void show();
    Time next() const;
    void advance(Time to);
    void remember(u16 pcpu);
    void refill_due();
    void settle();
    void apply(const Record &record);
    void decide(const Record &record);
    void grant(u16 pcpu, const Grant &grant);
    void name(const Grant &grant, bool is_new);
    void arrive(const Record &record);
    void depart(const Record &record);
    void swap(const Record &record);
    void move(const Record &record);
    void leave(u16 vcpu, u16 old);
    void take_over(u16 vcpu);
    void apply_changes();
    bool concerns(const Change &change, u16 vcpu) const;
    void changed(std::size_t key);
    void file(u16 vcpu);
    void unfile(u16 vcpu);
    void refile(u16 vcpu);
    void unfile_all();
    void file_all();
    void seat_guest(u16 vcpu, bool has_work);
    void look_at(u16 group);
    void look_at_all();
    void find_foreign(u16 pcpu);
    u16 group_of(std::size_t key) const;

    See see_;
    Moment state_;
    std::vector<Seat> seats_;
    Calendar calendar_;
    std::vector<Change> changes_;
    std::size_t next_change_ = 0;
    std::vector<u8> foreign_; // by pcpu: whether it runs or has one pay that belongs elsewhere
    u32 foreigners_ = 0;
};

} // namespace hyperperiod::trace
