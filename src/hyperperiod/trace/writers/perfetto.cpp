// SPDX-License-Identifier: BSD-2-Clause

#include "perfetto.hpp"
#include "perfetto_fields.hpp"

#include <charconv>

namespace hyperperiod::trace {

namespace {

constexpr u64 SEQUENCE = 1; // all packets come from one writer

// Names that every trace has, and their numbers: 1, 2, and so on.
enum Category : u64 {
    IN_NONE,
    IN_RUN,
    IN_IDLE,
    IN_STOLEN,
    IN_RELEASE,
    IN_JOB,
    IN_MISS,
    IN_BUDGET,
    IN_MACHINE
};
constexpr const char *CATEGORIES[] = {"run", "idle", "stolen", "release",
                                      "job", "miss", "budget", "machine"};
enum EventName : u64 { NO_NAME, IDLES, IS_STOLEN, RELEASES, REPLENISHES, DEPLETES };
constexpr const char *EVENT_NAMES[] = {"idle", "stolen", "release", "replenish", "deplete"};
enum Note : u64 { NO_NOTE, VCPU, TASK, JOB, PAYS, UNTIL_NS, RELEASE_NS, DEADLINE_NS };
constexpr const char *NOTES[] = {"vcpu",     "task",       "job",        "pays",
                                 "until_ns", "release_ns", "deadline_ns"};

// A number in digits, in memory of its own.
class Digits {
  public:
    explicit Digits(u64 number) : end_(std::to_chars(text_, text_ + sizeof(text_), number).ptr) {}
    operator std::string_view() const { return {text_, static_cast<std::size_t>(end_ - text_)}; }

  private:
    char text_[20];
    char *end_;
};

// The most that the numbers of a packet take, digits and lengths included.
constexpr std::size_t ROOM = 512;

// Arguments of an event.
[[gnu::always_inline]] inline void note(Message &to, u64 name, u64 value) {
    to.message(TrackEvent_debug_annotations, [&] {
        to.number(DebugAnnotation_name_iid, name);
        to.number(DebugAnnotation_uint_value, value);
    });
}

[[gnu::always_inline]] inline void note_text(Message &to, u64 name, u64 iid) {
    to.message(TrackEvent_debug_annotations, [&] {
        to.number(DebugAnnotation_name_iid, name);
        to.number(DebugAnnotation_string_value_iid, iid);
    });
}

u32 pair_of(u16 high, u16 low) {
    return u32{high} << 16 | low;
}

} // namespace

PerfettoWriter::PerfettoWriter(Machine machine)
    : machine_(std::move(machine)), is_open_(machine_.pcpus), waiting_(machine_.tasks.size()) {
    intern_names();
    add_tracks();
}

void PerfettoWriter::add(const Record &record) {
    switch (record.event()) {
    case Event::run:
    case Event::idle:
        return decide(record);
    case Event::charge:
        return charge(record);
    case Event::replenish:
    case Event::deplete:
        return refill_or_deplete(record);
    case Event::release:
        return release(record);
    case Event::complete:
        return complete(record);
    case Event::miss:
        return miss(record);
    case Event::swap:
        return swap(record);
    case Event::move:
        return move(record);
    case Event::drop:
        return drop(record);
    case Event::end:
        return name_on_machine(record.time, "end of the run");
    case Event::arrive:
    case Event::depart:
    case Event::kick:
    case Event::item:
        return; // they show in the slices of others
    }
}

void PerfettoWriter::end(u64 now_ns) {
    for (std::size_t pcpu = 0; pcpu < is_open_.size(); pcpu++)
        if (is_open_[pcpu])
            end_slice(now_ns, pcpu_tracks_[pcpu]);
}

// Names.

void PerfettoWriter::intern_names() {
    packet(TracePacket_SEQ_INCREMENTAL_STATE_CLEARED, 0, [](Message &) {});
    u64 categories = 0, notes = 0;
    for (const char *name : CATEGORIES)
        intern(InternedData_event_categories, ++categories, name);
    for (const char *name : NOTES)
        intern(InternedData_debug_annotation_names, ++notes, name);
    for (const char *name : EVENT_NAMES)
        intern(InternedData_event_names, ++event_names_, name);
    for (const VcpuName &vcpu : machine_.vcpus) {
        intern(InternedData_event_names, ++event_names_, vcpu.name);
        intern(InternedData_debug_annotation_string_values, ++texts_, vcpu.name);
    }
    for (const char *name : {"spare", "nobody"})
        intern(InternedData_debug_annotation_string_values, ++texts_, name);
    for (const TaskName &task : machine_.tasks)
        intern(InternedData_debug_annotation_string_values, ++texts_,
               task.domain + "." + task.name);
}

// EventCategory, EventName, DebugAnnotationName and InternedString have the same two fields.
void PerfettoWriter::intern(u32 field, u64 iid, std::string_view name) {
    packet(TracePacket_SEQ_NEEDS_INCREMENTAL_STATE, name.size(), [&](Message &to) {
        to.message(TracePacket_interned_data, [&] {
            to.message(field, [&] {
                to.number(EventName_iid, iid);
                to.text(EventName_name, name);
            });
        });
    });
}

u64 PerfettoWriter::server_text(u16 id) const {
    const u64 vcpus = machine_.vcpus.size();
    return 1 + (id == nobody ? vcpus + 1 : id == spare_id ? vcpus : id);
}

u64 PerfettoWriter::task_text(u16 task) const {
    return server_text(nobody) + 1 + task;
}

std::string PerfettoWriter::server_name(u16 id) const {
    return id == nobody ? "nobody" : id == spare_id ? "spare" : machine_.vcpus.at(id).name;
}

u64 PerfettoWriter::name_of_run(u16 vcpu, u16 task) {
    if (task == nobody)
        return 1 + std::size(EVENT_NAMES) + vcpu;
    u64 &iid = run_names_[pair_of(vcpu, task)];
    if (iid == 0) {
        iid = ++event_names_;
        intern(InternedData_event_names, iid,
               server_name(vcpu) + " · " + machine_.tasks.at(task).name);
    }
    return iid;
}

u64 PerfettoWriter::payers(const Record &record) {
    if (record.event() != Event::run || !record.has(HP_RECORD_SECOND_PAYER))
        return server_text(record.payer);
    if (record.payer == nobody)
        return server_text(record.vcpu);
    u64 &iid = second_payers_[pair_of(record.payer, record.vcpu)];
    if (iid == 0) {
        iid = ++texts_;
        intern(InternedData_debug_annotation_string_values, iid,
               server_name(record.payer) + ", " + server_name(record.vcpu));
    }
    return iid;
}

// Tracks.

void PerfettoWriter::add_tracks() {
    machine_track_ = add_track("machine");
    const u64 pcpus = add_track("pcpus");
    for (u32 pcpu = 0; pcpu < machine_.pcpus; pcpu++)
        pcpu_tracks_.push_back(add_track("pcpu " + std::to_string(pcpu), pcpus, pcpu));
    std::unordered_map<std::string, u64> domains;
    for (const TaskName &task : machine_.tasks) {
        u64 &domain = domains[task.domain];
        if (domain == 0)
            domain = add_track("domain " + task.domain);
        const u32 rank = static_cast<u32>(task_tracks_.size());
        task_tracks_.push_back(add_track(task.name, domain, rank));
    }
    const u64 budgets = add_track("budgets");
    for (std::size_t id = 0; id <= machine_.vcpus.size(); id++) {
        const bool is_spare = id == machine_.vcpus.size();
        const bool shown = is_spare ? machine_.has_one_spare : machine_.vcpus[id].has_server;
        Server server{.counter_track = 0, .track = 0, .remaining_ns = 0, .shown = shown};
        if (shown) {
            const std::string name = is_spare ? "spare" : machine_.vcpus[id].name;
            server.counter_track = add_track(name + " remaining", budgets, 0, true);
            server.track = add_track(name, budgets);
        }
        servers_.push_back(server);
    }
}

u64 PerfettoWriter::add_track(std::string_view name, u64 parent, u32 rank, bool is_counter) {
    const u64 uuid = ++tracks_;
    packet(TracePacket_SEQ_NEEDS_INCREMENTAL_STATE, name.size(), [&](Message &to) {
        to.message(TracePacket_track_descriptor, [&] {
            to.number(TrackDescriptor_uuid, uuid);
            to.text(TrackDescriptor_name, name);
            if (parent != 0)
                to.number(TrackDescriptor_parent_uuid, parent);
            if (is_counter)
                to.message(TrackDescriptor_counter, [&] {
                    to.number(CounterDescriptor_unit, CounterDescriptor_UNIT_TIME_NS);
                });
            to.number(TrackDescriptor_child_ordering, TrackDescriptor_EXPLICIT);
            to.number(TrackDescriptor_sibling_order_rank, rank);
        });
    });
    return uuid;
}

// Packets. `texts` is how many bytes there are in the texts of one, numbers in digits apart.

template <class Body> void PerfettoWriter::packet(u64 flags, std::size_t texts, Body body) {
    Message message(out_.room(ROOM + texts));

    message.message(Trace_packet, [&] {
        message.number(TracePacket_trusted_packet_sequence_id, SEQUENCE);
        message.number(TracePacket_sequence_flags, flags);
        body(message);
    });
    out_.written(message.at());
}

template <class Body>
void PerfettoWriter::event(u64 time_ns, u64 track, u32 type, std::size_t texts, Body body) {
    packet(TracePacket_SEQ_NEEDS_INCREMENTAL_STATE, texts, [&](Message &to) {
        to.number(TracePacket_timestamp, time_ns);
        to.message(TracePacket_track_event, [&] {
            to.number(TrackEvent_type, type);
            to.number(TrackEvent_track_uuid, track);
            body(to);
        });
    });
}

void PerfettoWriter::instant(u64 time_ns, u64 track, u64 category, u64 name) {
    event(time_ns, track, TrackEvent_TYPE_INSTANT, 0, [&](Message &to) {
        to.number(TrackEvent_category_iids, category);
        to.number(TrackEvent_name_iid, name);
    });
}

void PerfettoWriter::end_slice(u64 time_ns, u64 track) {
    event(time_ns, track, TrackEvent_TYPE_SLICE_END, 0, [](Message &) {});
}

// Records.

void PerfettoWriter::decide(const Record &record) {
    const u64 track = pcpu_tracks_.at(record.pcpu);
    const bool runs = record.event() == Event::run;
    const bool is_stolen = !runs && record.has(HP_RECORD_STOLEN);

    if (is_open_[record.pcpu])
        end_slice(record.time, track);
    is_open_[record.pcpu] = runs || is_stolen || record.payer != nobody;
    if (!is_open_[record.pcpu])
        return;
    const Category category = runs ? IN_RUN : is_stolen ? IN_STOLEN : IN_IDLE;
    const u64 name =
        runs ? name_of_run(record.vcpu, record.task) : u64{is_stolen ? IS_STOLEN : IDLES};
    const u64 paying = payers(record);
    event(record.time, track, TrackEvent_TYPE_SLICE_BEGIN, 0, [&](Message &to) {
        to.number(TrackEvent_category_iids, category);
        to.number(TrackEvent_name_iid, name);
        if (runs)
            note_text(to, VCPU, server_text(record.vcpu));
        if (runs && record.task != nobody) {
            note_text(to, TASK, task_text(record.task));
            note(to, JOB, record.job);
        }
        note_text(to, PAYS, paying);
        note(to, UNTIL_NS, record.value);
    });
}

PerfettoWriter::Server &PerfettoWriter::server(u16 id) {
    return servers_.at(id == spare_id ? servers_.size() - 1 : id);
}

void PerfettoWriter::charge(const Record &record) {
    Server &paying = server(record.payer);

    if (!paying.shown || record.has(HP_RECORD_EXTRA))
        return;
    paying.remaining_ns -= record.value;
    count(record.time, paying);
}

void PerfettoWriter::refill_or_deplete(const Record &record) {
    Server &changed = server(record.vcpu);
    const bool refilled = record.event() == Event::replenish;

    if (!changed.shown)
        return;
    changed.remaining_ns = refilled ? record.value : 0;
    count(record.time, changed);
    instant(record.time, changed.track, IN_BUDGET, refilled ? REPLENISHES : DEPLETES);
}

void PerfettoWriter::count(u64 time_ns, const Server &server) {
    event(time_ns, server.counter_track, TrackEvent_TYPE_COUNTER, 0,
          [&](Message &to) { to.number(TrackEvent_counter_value, server.remaining_ns); });
}

void PerfettoWriter::release(const Record &record) {
    std::deque<Release> &waiting = waiting_.at(record.task);

    event(record.time, task_tracks_[record.task], TrackEvent_TYPE_INSTANT, 0, [&](Message &to) {
        to.number(TrackEvent_category_iids, IN_RELEASE);
        to.number(TrackEvent_name_iid, RELEASES);
        note_text(to, TASK, task_text(record.task));
        note(to, JOB, record.job);
        if (record.value != 0)
            note(to, DEADLINE_NS, record.value);
    });
    waiting.push_back({record.time, record.value, record.job});
    if (waiting.size() == 1)
        begin_job(record.time, record.task, waiting.front());
}

void PerfettoWriter::begin_job(u64 now_ns, u16 task, const Release &release) {
    event(now_ns, task_tracks_[task], TrackEvent_TYPE_SLICE_BEGIN, 0, [&](Message &to) {
        to.number(TrackEvent_category_iids, IN_JOB);
        to.message(TrackEvent_name, [&] {
            to.append("job ");
            to.append(Digits(release.job));
        });
        note_text(to, TASK, task_text(task));
        note(to, JOB, release.job);
        note(to, RELEASE_NS, release.time_ns);
        if (release.deadline_ns != 0)
            note(to, DEADLINE_NS, release.deadline_ns);
    });
}

void PerfettoWriter::complete(const Record &record) {
    std::deque<Release> &waiting = waiting_.at(record.task);

    if (waiting.empty())
        return;
    end_slice(record.time, task_tracks_[record.task]);
    waiting.pop_front();
    if (!waiting.empty())
        begin_job(record.time, record.task, waiting.front());
}

void PerfettoWriter::miss(const Record &record) {
    const TaskName &task = machine_.tasks.at(record.task);

    const std::size_t texts = task.domain.size() + task.name.size();
    event(record.time, task_tracks_[record.task], TrackEvent_TYPE_INSTANT, texts, [&](Message &to) {
        to.number(TrackEvent_category_iids, IN_MISS);
        to.message(TrackEvent_name, [&] {
            for (std::string_view part :
                 {std::string_view("miss: "), std::string_view(task.domain), std::string_view("."),
                  std::string_view(task.name), std::string_view(" job ")})
                to.append(part);
            to.append(Digits(record.job));
        });
        note_text(to, TASK, task_text(record.task));
        note(to, JOB, record.job);
        note(to, DEADLINE_NS, record.value);
    });
}

void PerfettoWriter::swap(const Record &record) {
    std::string name = "swap to " + machine_.budgets.at(record.value & 0xFF) + " + "
                       + machine_.orders.at(record.value >> 8 & 0xFF) + " + "
                       + machine_.slacks.at(record.value >> 16 & 0xFF);
    if (record.pcpu != nobody)
        name += " on pcpu " + std::to_string(record.pcpu);
    name_on_machine(record.time, name);
}

void PerfettoWriter::move(const Record &record) {
    const std::string where =
        record.pcpu == nobody ? "away" : "to pcpu " + std::to_string(record.pcpu);
    name_on_machine(record.time, server_name(record.vcpu) + " moves " + where);
}

// The value says which flow in its upper 16 bits, and which item in its lower 32.
void PerfettoWriter::drop(const Record &record) {
    name_on_machine(record.time, "drop: " + machine_.flows.at(record.value >> 48) + " item "
                                     + std::to_string(record.value & 0xFFFFFFFF));
}

void PerfettoWriter::name_on_machine(u64 time_ns, std::string_view name) {
    event(time_ns, machine_track_, TrackEvent_TYPE_INSTANT, name.size(), [&](Message &to) {
        to.number(TrackEvent_category_iids, IN_MACHINE);
        to.text(TrackEvent_name, name);
    });
}

} // namespace hyperperiod::trace
