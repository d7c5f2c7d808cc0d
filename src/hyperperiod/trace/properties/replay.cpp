// SPDX-License-Identifier: BSD-2-Clause
//
// The replay: see replay.hpp.

#include "src/hyperperiod/trace/properties/replay.hpp"

#include <bit>
#include <utility>

namespace hyperperiod::trace {

namespace {

// Whether it matters who has budget but no work.
bool idle_budgets_matter(const Rules &rules) {
    return rules.budget == Budget::periodic || rules.slack == Slack::reclaim;
}

} // namespace

void Queue::insert(const Entry &entry) {
    entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), entry), entry);
}

void Queue::erase(const Entry &entry) {
    entries_.erase(std::lower_bound(entries_.begin(), entries_.end(), entry));
}

Calendar::Calendar(std::size_t count)
    : leaves_(std::bit_ceil(std::max<std::size_t>(count, 1))), times_(2 * leaves_, never) {}

void Calendar::set(std::size_t index, Time time) {
    std::size_t node = leaves_ + index;
    times_[node] = time;
    while (node > 1) {
        node /= 2;
        const Time soonest = std::min(times_[2 * node], times_[2 * node + 1]);
        if (times_[node] == soonest)
            return;
        times_[node] = soonest;
    }
}

std::size_t Calendar::who() const {
    std::size_t node = 1;
    while (node < leaves_)
        node = 2 * node + (times_[2 * node] == times_[node] ? 0 : 1);
    return node - leaves_;
}

Moment::Moment(const Header &run)
    : header(run), rules(run.pcpus, run.rules), grants(run.pcpus), last_payer(run.pcpus, nobody),
      last_run(run.pcpus, nobody), servers(run.vcpus.size() + run.pcpus), work(run.vcpus.size()),
      work_since(run.vcpus.size(), -1), pcpus_of(run.vcpus.size()),
      groups(run.partitioned ? run.pcpus : 1), away_(run.vcpus.size() + run.pcpus) {
    for (const Vcpu &vcpu : run.vcpus)
        homes_.push_back(vcpu.pcpu);
    for (u16 pcpu = 0; pcpu < run.pcpus; pcpu++)
        groups[run.partitioned ? pcpu : 0].pcpus.push_back(pcpu);
    for (Group &group : groups)
        group.there = group.pcpus;
}

Place Moment::place(u16 vcpu) const {
    const Server &server = *servers[vcpu];
    const bool is_ordinary = ordinary(vcpu);
    const u64 level = 2 * u64{server.level};
    if (is_ordinary || rules_of(vcpu).order == Order::edf)
        return {level + (is_ordinary ? 1 : 0), server.deadline};
    return {level, server.priority};
}

Moment::Payers Moment::payers(u16 pcpu) const {
    const Grant &grant = grants[pcpu];
    Payers paying{{}, 0};
    if (grant.pay != nobody)
        paying.keys[paying.count++] = key_of(grant.pay, pcpu);
    if (grant.also && grant.run != nobody && grant.run != grant.pay)
        paying.keys[paying.count++] = grant.run;
    return paying;
}

std::vector<u16> Moment::first(const Queue &queue, u16 last) const {
    std::vector<u16> equals;
    for (const Queue::Entry &entry : queue) {
        if (entry.place != queue[0].place)
            break;
        equals.push_back(entry.id);
    }
    if (header.quantum || equals.empty())
        return equals;
    const bool goes_on = std::find(equals.begin(), equals.end(), last) != equals.end();
    return {goes_on ? last : equals.front()};
}

bool Moment::is_first(const Queue &queue, u16 last, u16 vcpu) const {
    if (queue.empty())
        return false;
    // Most often there is one that is first, or the last one is.
    const bool alone = queue.size() == 1 || queue[1].place != queue[0].place;
    if (alone)
        return queue[0].id == vcpu;
    const std::vector<u16> right = first(queue, last);
    return std::find(right.begin(), right.end(), vcpu) != right.end();
}

Replay::Replay(const Header &header, See see)
    : see_(std::move(see)), state_(header), seats_(state_.servers.size()),
      calendar_(state_.servers.size()), changes_(header.changes), foreign_(header.pcpus) {
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const Change &one, const Change &other) { return one.at < other.at; });
    for (std::size_t vcpu = 0; vcpu < header.vcpus.size(); vcpu++)
        add_server(static_cast<u16>(vcpu));
    add_spares();
    for (std::size_t key = 0; key < state_.servers.size(); key++)
        if (state_.servers[key])
            changed(key);
}

bool Replay::decisive(Event kind) {
    switch (kind) {
    case Event::run:
    case Event::idle:
    case Event::charge:
    case Event::arrive:
    case Event::depart:
    case Event::swap:
    case Event::move:
        return true;
    default:
        return false;
    }
}

void Replay::instant(Time time, std::span<const Record> together) {
    pass(time);
    const auto is_before = [](const Record &record) {
        return record.event() == Event::charge
               || (record.event() == Event::depart && !record.has(HP_RECORD_AFTER_PICK));
    };
    std::size_t at = 0;
    for (; at < together.size() && is_before(together[at]); at++)
        apply(together[at]);
    refill_due();
    for (; at < together.size(); at++)
        apply(together[at]);
    apply_changes();
    settle();
}

// Every moment up to that instant.
void Replay::pass(Time to) {
    while (state_.now < to) {
        state_.until = std::min(to, next());
        if (state_.until > state_.now)
            show();
        advance(state_.until);
        if (state_.now < to) {
            refill_due();
            apply_changes();
            settle();
        }
    }
}

void Replay::show() {
    if (foreigners_ > 0)
        look_at_all();
    std::sort(state_.touched.begin(), state_.touched.end());
    see_(state_);
    for (Group &group : state_.groups)
        group.looked_at = std::exchange(group.wrong, false);
    for (const u16 key : state_.touched)
        seats_[key].touched = false;
    state_.touched.clear();
}

// A new server under the rules of now, in the place of one before it.
void Replay::add_server(u16 vcpu) {
    const Vcpu &entry = state_.header.vcpus[vcpu];
    if (entry.best_effort || !entry.period || !entry.budget)
        return;
    const Rules &rules = state_.rules_of(vcpu);
    const bool extra = entry.extra && rules.slack == Slack::extra;
    state_.servers[vcpu] =
        make_server(rules, {*entry.period, *entry.budget, entry.priority}, extra);
}

// The spare is refilled at its multiples even while the policy has no use for it.
void Replay::add_spares() {
    const std::optional<Interface> &spare = state_.header.spare;
    if (!spare)
        return;
    for (u16 pcpu = 0; pcpu < state_.header.pcpus; pcpu++) {
        const Wanted terms{spare->period, spare->budget, 0};
        state_.servers[state_.spare_on(pcpu)] = std::make_unique<Server>(terms, false);
    }
}

// When the rules change something by themselves.
Time Replay::next() const {
    Time soonest = std::max(calendar_.soonest(), state_.now + 1);
    if (next_change_ < changes_.size())
        soonest = std::min(soonest, changes_[next_change_].at);
    for (u16 pcpu = 0; pcpu < state_.header.pcpus; pcpu++)
        for (const std::size_t payer : state_.payers(pcpu))
            if (state_.usable(payer))
                soonest = std::min(soonest, state_.now + state_.servers[payer]->remaining);
    return soonest;
}

void Replay::advance(Time to) {
    const Time span = to - state_.now;
    state_.now = to;
    for (u16 pcpu = 0; pcpu < state_.header.pcpus; pcpu++) {
        for (const std::size_t payer : state_.payers(pcpu)) {
            Server *const server = state_.servers[payer].get();
            if (server == nullptr)
                continue;
            const u32 level = server->level;
            const Time deadline = server->deadline;
            server->charge(span, to);
            if (!server->usable() || server->level != level || server->deadline != deadline)
                changed(payer);
        }
        remember(pcpu);
    }
}

// Keeps what the pcpu did until now as what it did last.
void Replay::remember(u16 pcpu) {
    const Grant &grant = state_.grants[pcpu];
    if (grant.pay == nobody)
        return;
    if (grant.pay != spare_id)
        state_.last_payer[pcpu] = grant.pay;
    if (grant.run == nobody || state_.best_effort(grant.run) || state_.last_run[pcpu] == grant.run)
        return;
    // Who goes on elsewhere is no longer the last where it was.
    std::replace(state_.last_run.begin(), state_.last_run.end(), grant.run, nobody);
    state_.last_run[pcpu] = grant.run;
}

void Replay::refill_due() {
    while (calendar_.soonest() <= state_.now) {
        const std::size_t key = calendar_.who();
        Server &server = *state_.servers[key];
        server.come_due(server.due());
        changed(key);
    }
}

void Replay::settle() {
    // What settles is noted behind those that are gone through, which settle once only.
    for (std::size_t at = 0; at < state_.touched.size(); at++) {
        Server &server = *state_.servers[state_.touched[at]];
        const Time remaining = server.remaining;
        server.settle();
        if (server.remaining != remaining)
            changed(state_.touched[at]);
    }
}

void Replay::apply(const Record &record) {
    switch (record.event()) {
    case Event::run:
    case Event::idle:
        return decide(record);
    case Event::arrive:
        return arrive(record);
    case Event::depart:
        return depart(record);
    case Event::swap:
        return swap(record);
    case Event::move:
        // Of one that gets a new interface as well, that comes first.
        apply_changes();
        return move(record);
    default:
        return;
    }
}

void Replay::decide(const Record &record) {
    remember(record.pcpu);
    const bool running = record.event() == Event::run;
    Grant next;
    next.run = running ? record.vcpu : nobody;
    next.pay = record.payer;
    next.also = running && record.has(HP_RECORD_SECOND_PAYER);
    next.extra = running && record.has(HP_RECORD_EXTRA);
    next.stolen = !running && record.has(HP_RECORD_STOLEN);
    grant(record.pcpu, next);
}

void Replay::grant(u16 pcpu, const Grant &grant) {
    Grant &now = state_.grants[pcpu];
    const bool there = !grant.stolen;
    if (now.stolen == there) {
        std::vector<u16> &pcpus = state_.groups[state_.header.partitioned ? pcpu : 0].there;
        const auto place = std::lower_bound(pcpus.begin(), pcpus.end(), pcpu);
        if (there)
            pcpus.insert(place, pcpu);
        else
            pcpus.erase(place);
    }
    name(now, false);
    now = grant;
    name(now, true);
    look_at(state_.header.partitioned ? pcpu : 0);
    find_foreign(pcpu);
}

// Counts who is named by a grant that begins or ends.
void Replay::name(const Grant &grant, bool is_new) {
    const int change = is_new ? 1 : -1;
    if (grant.run != nobody) {
        state_.pcpus_of[grant.run] = static_cast<u16>(state_.pcpus_of[grant.run] + change);
        seats_[grant.run].named += static_cast<u32>(change);
    }
    if (grant.pay != nobody && grant.pay != spare_id)
        seats_[grant.pay].named += static_cast<u32>(change);
}

void Replay::arrive(const Record &record) {
    state_.work[record.vcpu] = 1;
    state_.work_since[record.vcpu] = record.at();
    if (Server *const server = state_.servers[record.vcpu].get()) {
        server->arrive(record.at());
        changed(record.vcpu);
    } else {
        seat_guest(record.vcpu, true);
    }
}

void Replay::depart(const Record &record) {
    state_.work[record.vcpu] = 0;
    if (Server *const server = state_.servers[record.vcpu].get()) {
        server->depart();
        changed(record.vcpu);
    } else {
        seat_guest(record.vcpu, false);
    }
}

// Puts the rules of a swap record in force, on one pcpu or on all.
void Replay::swap(const Record &record) {
    const Header &header = state_.header;
    state_.swaps++;
    unfile_all();
    const Rules rules{header.budgets[record.value & 0xFF], header.orders[record.value >> 8 & 0xFF],
                      header.slacks[record.value >> 16 & 0xFF]};
    const bool alone = header.partitioned && record.pcpu != nobody;
    for (u16 pcpu = 0; pcpu < header.pcpus; pcpu++)
        if (!alone || pcpu == record.pcpu)
            state_.rules[pcpu] = rules;
    for (std::size_t key = 0; key < header.vcpus.size(); key++)
        if (state_.servers[key] && (!alone || state_.home(key) == record.pcpu))
            take_over(static_cast<u16>(key));
    file_all();
    // A change that waited may find that nothing is owed under the new rule.
    refill_due();
}

// A vcpu goes to another pcpu, where its server goes on as after a swap.
void Replay::move(const Record &record) {
    const u16 vcpu = record.vcpu;
    state_.moves++;
    unfile_all();
    leave(vcpu, state_.homes_[vcpu]);
    state_.away_[vcpu] = record.pcpu == nobody;
    if (record.pcpu != nobody)
        state_.homes_[vcpu] = record.pcpu;
    if (record.pcpu != nobody && state_.servers[vcpu])
        take_over(vcpu);
    file_all();
    if (record.pcpu != nobody && state_.servers[vcpu])
        // A change that waited may find that nothing is owed where it is now.
        refill_due();
}

// The pcpu that it was on has it no more and remembers nothing of it.
void Replay::leave(u16 vcpu, u16 old) {
    if (old >= state_.header.pcpus)
        return;
    Grant left = state_.grants[old];
    left.run = left.run == vcpu ? nobody : left.run;
    left.pay = left.pay == vcpu ? nobody : left.pay;
    grant(old, left);
    for (std::vector<u16> *const last : {&state_.last_payer, &state_.last_run})
        if ((*last)[old] == vcpu)
            (*last)[old] = nobody;
}

// A new server in the place of one before it, whose budget and period it goes on with.
void Replay::take_over(u16 vcpu) {
    const std::unique_ptr<Server> before = std::move(state_.servers[vcpu]);
    add_server(vcpu);
    Server &server = *state_.servers[vcpu];
    server.adopt(*before, state_.now);
    if (before->wanted)
        server.want(*before->wanted, state_.now);
    changed(vcpu);
}

void Replay::apply_changes() {
    bool any = false;
    for (; next_change_ < changes_.size() && changes_[next_change_].at <= state_.now;
         next_change_++) {
        const Change &change = changes_[next_change_];
        any = true;
        for (std::size_t key = 0; key < state_.header.vcpus.size(); key++) {
            const u16 vcpu = static_cast<u16>(key);
            Server *const server = state_.servers[vcpu].get();
            if (server == nullptr || !concerns(change, vcpu))
                continue;
            const Time priority = change.priority.value_or(server->priority);
            const Interface &interface = change.interface;
            server->want({interface.period, interface.budget, priority}, state_.now);
            changed(vcpu);
        }
    }
    if (any)
        refill_due();
}

// Whether this server gets a new interface by that change.
bool Replay::concerns(const Change &change, u16 vcpu) const {
    if (state_.header.vcpus[vcpu].domain != change.domain)
        return false;
    if (!change.vcpus)
        return true;
    return std::find(change.vcpus->begin(), change.vcpus->end(), vcpu) != change.vcpus->end();
}

// Something about a server is not as before: it may come due at another time, or stand elsewhere.
void Replay::changed(std::size_t key) {
    calendar_.set(key, state_.servers[key]->due());
    Seat &seat = seats_[key];
    if (!seat.touched) {
        seat.touched = true;
        state_.touched.push_back(static_cast<u16>(key));
    }
    if (!state_.is_spare(key))
        return refile(static_cast<u16>(key));
    const bool usable = state_.servers[key]->usable();
    if (seat.usable != usable) {
        seat.usable = usable;
        look_at(group_of(key));
    }
}

void Replay::refile(u16 vcpu) {
    const Server &server = *state_.servers[vcpu];
    Seat &seat = seats_[vcpu];
    const Place place = state_.place(vcpu);
    const u16 group = group_of(vcpu);
    const bool usable = server.usable(), working = state_.work[vcpu] != 0;
    const bool same = seat.place == place && seat.group == group && seat.usable == usable
                      && seat.working == working;
    if (same && seat.deadline == server.deadline)
        return;
    seat.deadline = server.deadline;
    if (seat.working || working || seat.named > 0 || idle_budgets_matter(state_.rules_of(vcpu))) {
        look_at(seat.group);
        look_at(group);
    }
    if (same)
        return;
    unfile(vcpu);
    seat.place = place;
    seat.group = group;
    seat.usable = usable;
    seat.working = working;
    file(vcpu);
}

void Replay::file(u16 vcpu) {
    const Seat &seat = seats_[vcpu];
    if (seat.group == nobody)
        return;
    Group &group = state_.groups[seat.group];
    const Queue::Entry entry{seat.place, vcpu};
    if (seat.usable && idle_budgets_matter(state_.rules[group.pcpus[0]]))
        group.usable.insert(entry);
    if (seat.usable && seat.working)
        group.able.insert(entry);
    if (seat.working)
        group.working.insert(entry);
}

void Replay::unfile(u16 vcpu) {
    const Seat &seat = seats_[vcpu];
    if (seat.group == nobody)
        return;
    Group &group = state_.groups[seat.group];
    const Queue::Entry entry{seat.place, vcpu};
    if (seat.usable && idle_budgets_matter(state_.rules[group.pcpus[0]]))
        group.usable.erase(entry);
    if (seat.usable && seat.working)
        group.able.erase(entry);
    if (seat.working)
        group.working.erase(entry);
}

// Rules or places are about to change: nobody stands in a queue.
void Replay::unfile_all() {
    for (Group &group : state_.groups) {
        group.usable.clear();
        group.able.clear();
        group.working.clear();
        group.guests.clear();
    }
    for (Seat &seat : seats_)
        seat.group = nobody;
}

// They have changed.
void Replay::file_all() {
    for (std::size_t key = 0; key < state_.header.vcpus.size(); key++) {
        const u16 vcpu = static_cast<u16>(key);
        if (state_.servers[vcpu])
            changed(vcpu);
        else if (state_.work[vcpu] != 0)
            seat_guest(vcpu, true);
    }
    for (u16 pcpu = 0; pcpu < state_.header.pcpus; pcpu++)
        find_foreign(pcpu);
    look_at_all();
}

void Replay::seat_guest(u16 vcpu, bool has_work) {
    const u16 group = group_of(vcpu);
    if (group == nobody)
        return;
    std::vector<u16> &guests = state_.groups[group].guests;
    const auto place = std::lower_bound(guests.begin(), guests.end(), vcpu);
    const bool seated = place != guests.end() && *place == vcpu;
    if (has_work && !seated)
        guests.insert(place, vcpu);
    if (!has_work && seated)
        guests.erase(place);
    look_at(group);
}

void Replay::look_at(u16 group) {
    if (group != nobody)
        state_.groups[group].looked_at = true;
}

void Replay::look_at_all() {
    for (Group &group : state_.groups)
        group.looked_at = true;
}

// A pcpu that has to do with servers of another group is looked at whenever those change.
void Replay::find_foreign(u16 pcpu) {
    if (!state_.header.partitioned)
        return;
    const Grant &grant = state_.grants[pcpu];
    const auto elsewhere = [&](u16 vcpu) {
        return vcpu != nobody && vcpu != spare_id && state_.home(vcpu) != pcpu;
    };
    foreigners_ -= foreign_[pcpu];
    foreign_[pcpu] = elsewhere(grant.run) || elsewhere(grant.pay);
    foreigners_ += foreign_[pcpu];
}

u16 Replay::group_of(std::size_t key) const {
    return state_.header.partitioned ? state_.home(key) : 0;
}

} // namespace hyperperiod::trace
