// SPDX-License-Identifier: BSD-2-Clause
//
// The properties of traces before traces that make no sense, under the sanitizers.
//
// Headers and records are drawn: every policy, any number of pcpus, vcpus, tasks and flows, and
// records of every kind with any ids that there are, at the same instant or later. What is found is
// of no interest; but it must be the same in whatever windows the records come, at most so much is
// told as is kept, and a record that names what the header does not have is refused.
//
// fuzz_check TRACES SEED

#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "src/hyperperiod/trace/properties/checker.hpp"

using namespace hyperperiod::trace;

namespace {

class Draw {
  public:
    explicit Draw(u64 seed) : random_(seed) {}

    u64 below(u64 limit) { return limit == 0 ? 0 : random_() % limit; }
    Time time(Time most) { return static_cast<Time>(below(static_cast<u64>(most) + 1)); }
    bool chance(u64 percent) { return below(100) < percent; }
    template <class Any> Any of(std::initializer_list<Any> list) {
        return list.begin()[below(list.size())];
    }
    // Some id below the count, now and then nobody or the spare.
    u16 id(std::size_t count) {
        if (count == 0 || chance(10))
            return chance(80) ? nobody : spare_id;
        return static_cast<u16>(below(count));
    }

  private:
    std::mt19937_64 random_;
};

Vcpu draw_vcpu(Draw &draw, u16 number, u16 pcpus) {
    Vcpu vcpu;
    vcpu.name = "v" + std::to_string(number);
    vcpu.domain = "d" + std::to_string(draw.below(3));
    vcpu.best_effort = draw.chance(20);
    if (!vcpu.best_effort) {
        vcpu.period = 1 + draw.time(draw.chance(95) ? 20 : longest - 1);
        vcpu.budget = 1 + draw.time(*vcpu.period - 1);
    }
    vcpu.priority = draw.chance(30) ? (1 << 24) - 1 : draw.time(3);
    vcpu.pcpu = static_cast<u16>(draw.below(pcpus));
    vcpu.extra = draw.chance(40);
    vcpu.weight = 1 + draw.below(300);
    return vcpu;
}

Task draw_task(Draw &draw, u16 number) {
    Task task;
    task.domain = "d" + std::to_string(draw.below(3));
    task.name = "t" + std::to_string(number);
    task.kind = draw.of({Releases::periodic, Releases::sporadic, Releases::event, Releases::other});
    task.period = 1 + draw.time(20);
    task.bcet = draw.time(4);
    task.wcet = *task.bcet + draw.time(4);
    task.jitter = draw.time(2);
    if (draw.chance(80))
        task.kernel = draw.time(2);
    return task;
}

Flow draw_flow(Draw &draw, std::size_t tasks) {
    Flow flow;
    flow.name = "f";
    flow.period = 1 + draw.time(20);
    flow.burst = 1 + draw.below(2);
    flow.queue = 1 + draw.below(3);
    for (u64 hop = 0; hop <= draw.below(3); hop++)
        flow.hops.push_back(static_cast<u16>(draw.below(tasks)));
    if (draw.chance(40))
        flow.clients = 1 + draw.below(3);
    flow.think_most = draw.time(9);
    return flow;
}

Header draw_header(Draw &draw) {
    Header header;
    header.budgets = {Budget::periodic, Budget::deferrable, Budget::polling,   Budget::sporadic,
                      Budget::cbs,      Budget::slice,      Budget::slice_once};
    header.orders = {Order::fp, Order::edf, Order::fp_edf};
    header.slacks = {Slack::none,  Slack::lend,  Slack::reclaim,
                     Slack::spare, Slack::extra, Slack::weights};
    header.rules = {header.budgets[draw.below(7)], header.orders[draw.below(3)],
                    header.slacks[draw.below(6)]};
    header.partitioned = draw.chance(60);
    header.swaps = draw.chance(50);
    header.guarantees = draw.chance(80);
    header.pcpus = static_cast<u16>(1 + draw.below(4));
    header.late = draw.chance(70) ? 0 : draw.time(3);
    header.resume = header.late;
    if (draw.chance(20))
        header.quantum = 1 + draw.time(4);
    if (draw.chance(50))
        header.spare = Interface{1 + draw.time(20), draw.time(4)};
    for (u16 number = 0; number <= draw.below(8); number++)
        header.vcpus.push_back(draw_vcpu(draw, number, header.pcpus));
    for (u16 number = 0; number <= draw.below(4); number++)
        header.tasks.push_back(draw_task(draw, number));
    for (u64 flow = draw.below(3); flow > 0; flow--)
        header.flows.push_back(draw_flow(draw, header.tasks.size()));
    for (u64 change = draw.below(3); change > 0; change--)
        header.changes.push_back(
            {draw.time(200), "d0", {1 + draw.time(20), 1}, draw.time(3), std::nullopt});
    if (draw.chance(30))
        header.guests.push_back({"d1", draw.of<std::string>({"gedf", "grm", "gdm", "gfp"})});
    return header;
}

Record draw_record(Draw &draw, const Header &header, u64 now) {
    Record record{};
    record.time = now;
    record.kind = static_cast<u8>(1 + draw.below(16));
    record.value = draw.chance(90) ? draw.below(30) : draw.below(~u64{0});
    if (record.event() == Event::swap)
        record.value = draw.below(7) | draw.below(3) << 8 | draw.below(6) << 16;
    if (record.event() == Event::item || record.event() == Event::drop)
        record.value = draw.below(3) << 48 | draw.below(4) << 32 | draw.below(4);
    record.job = static_cast<u32>(draw.below(4));
    record.pcpu = draw.chance(90) ? static_cast<u16>(draw.below(header.pcpus)) : nobody;
    record.vcpu = draw.id(header.vcpus.size());
    record.payer = draw.id(header.vcpus.size());
    record.task = draw.chance(90) ? static_cast<u16>(draw.below(header.tasks.size())) : nobody;
    record.flags = static_cast<u8>(draw.chance(70) ? 0 : draw.below(16));
    return record;
}

std::string told(const Checker &checker) {
    std::string text;
    for (const Verdict *const verdict : checker.verdicts()) {
        text += verdict->reason + " " + std::to_string(verdict->count) + "\n";
        if (verdict->violations.size() != std::min<u64>(verdict->count, kept))
            return "more or less is told than is kept\n" + text;
        for (const Violation &one : verdict->violations)
            text += std::to_string(one.time) + " " + one.text + "\n";
    }
    return text;
}

// What is found in records that are fed `at_once` at a time; a refused one is left out.
std::string found(const Header &header, std::vector<Record> &records, std::size_t at_once) {
    std::vector<std::string> names;
    for (const Row *const row : properties())
        names.emplace_back(row->name);
    Checker checker(header, names);
    std::vector<Record> taken;
    for (std::size_t first = 0; first < records.size(); first += at_once) {
        const std::size_t count = std::min(at_once, records.size() - first);
        try {
            checker.feed(std::span(records).subspan(first, count));
            for (std::size_t index = first; index < first + count; index++)
                taken.push_back(records[index]);
        } catch (const std::out_of_range &) {
            if (at_once > 1)
                throw;
        }
    }
    checker.close();
    records = taken;
    return told(checker);
}

bool same_in_all_windows(Draw &draw) {
    const Header header = draw_header(draw);
    std::vector<Record> records;
    u64 now = 0;
    for (u64 count = 1 + draw.below(300); count > 0; count--) {
        now += draw.chance(60) ? 0 : draw.below(8);
        records.push_back(draw_record(draw, header, now));
    }
    const std::string one_by_one = found(header, records, 1);
    const std::string together = found(header, records, 1 + draw.below(400));
    if (one_by_one == together && one_by_one.find("more or less") != 0)
        return true;
    std::printf("one by one:\n%s\nin windows:\n%s\n", one_by_one.c_str(), together.c_str());
    return false;
}

} // namespace

int main(int count, char **words) {
    const u64 traces = count > 1 ? std::strtoull(words[1], nullptr, 10) : 1000;
    const u64 seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
    for (u64 number = 0; number < traces; number++) {
        Draw draw(seed * 1'000'003 + number);
        if (!same_in_all_windows(draw)) {
            std::printf("trace %llu of seed %llu\n", static_cast<unsigned long long>(number),
                        static_cast<unsigned long long>(seed));
            return 1;
        }
    }
    std::printf("%llu traces, seed %llu: nothing found\n", static_cast<unsigned long long>(traces),
                static_cast<unsigned long long>(seed));
    return 0;
}
