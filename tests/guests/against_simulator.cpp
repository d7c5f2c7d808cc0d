// SPDX-License-Identifier: BSD-2-Clause
//
// The executive's tasks and its scheduler beside the simulator's: the same random tasks must
// release the same jobs with the same execution times, and the same random sequence of offers,
// completions and dispatches must leave the same jobs on the same vcpus.
//
//   against_simulator AMOUNT SEED
//
// Prints what it did; the first difference ends it with 1.

#include "guests/executive/domain.h"
#include "guests/executive/flow.h"
#include "hosts/sim/flow.h"
#include "hosts/sim/guest.h"
#include "hosts/sim/workload.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>

namespace sim = hyperperiod::sim;

namespace {

std::mt19937_64 random_number;

// From 0 to below n.
hp_u64 below(hp_u64 n) {
    return random_number() % n;
}

// A span from 0 to 2^bits - 1, of any size.
hp_u64 span(unsigned bits) {
    return random_number() >> (64 - bits) >> below(bits);
}

template <class A, class B> void same(const char *what, A ours, B theirs) {
    if (static_cast<hp_u64>(ours) == static_cast<hp_u64>(theirs))
        return;
    std::printf("%s: the executive has %" PRIu64 ", the simulator %" PRIu64 "\n", what,
                static_cast<std::uint64_t>(ours), static_cast<std::uint64_t>(theirs));
    std::exit(1);
}

sim::Task random_task() {
    const sim::Kind kinds[] = {sim::Kind::periodic, sim::Kind::sporadic, sim::Kind::event,
                               sim::Kind::busy};
    sim::Task task;

    task.kind = kinds[below(4)];
    task.period_ns = 1 + span(36);
    task.bcet_ns = 1 + span(32);
    task.wcet_ns = task.bcet_ns + (below(2) ? span(30) : 0);
    task.deadline_ns = below(4) ? 1 + span(36) : sim::NEVER;
    task.offset_ns = span(34);
    task.jitter_ns = below(2) ? span(36) : 0;
    task.domain = static_cast<sim::u32>(below(1024));
    task.index = static_cast<sim::u32>(below(MAX_TASKS));
    if (below(2) && task.kind != sim::Kind::busy)
        task.overrun = {1 + below(1000000), span(36), below(2) ? span(40) : sim::NEVER,
                        1 + below(3)};
    return task;
}

::task ours_of(const sim::Task &theirs) {
    ::task task{};

    switch (theirs.kind) {
    case sim::Kind::periodic:
        task.kind = TASK_PERIODIC;
        break;
    case sim::Kind::sporadic:
        task.kind = TASK_SPORADIC;
        break;
    case sim::Kind::event:
        task.kind = TASK_EVENT;
        break;
    case sim::Kind::hop:
        task.kind = TASK_HOP;
        break;
    case sim::Kind::busy:
        task.kind = TASK_BUSY;
        break;
    case sim::Kind::recorded: // guests have no lists of jobs, and none is drawn
        std::abort();
    }
    task.vcpu = HP_NONE;
    task.period_ns = theirs.period_ns;
    task.wcet_ns = theirs.wcet_ns;
    task.bcet_ns = theirs.bcet_ns;
    task.deadline_ns = theirs.deadline_ns;
    task.offset_ns = theirs.offset_ns;
    task.jitter_ns = theirs.jitter_ns;
    task.overrun = {theirs.overrun.thousandths, theirs.overrun.from_ns, theirs.overrun.to_ns,
                    theirs.overrun.every};
    return task;
}

// Follows one random task over its first jobs.
void check_task() {
    const hp_u64 seed = random_number();
    const sim::Task theirs = random_task();
    const ::task ours = ours_of(theirs);
    const task_name name{seed, theirs.domain, theirs.index};
    const sim::Workload workload(theirs, seed);
    sim::Workload::Cursor cursor = workload.first();
    job job = task_first_job(&ours, name);

    for (hp_u32 i = 0; i < 50; i++) {
        same("job", job.number, cursor.job);
        same("arrival", job.arrival_ns, cursor.arrival_ns);
        same("release", job.release_ns, cursor.release_ns);
        same("execution time", task_execution_ns(&ours, name, job.number, job.release_ns),
             workload.execution_ns(cursor));
        same("deadline", task_deadline_of(&ours, job.release_ns),
             workload.deadline_of(cursor.release_ns));
        same("releases ahead", task_releases_ahead(&ours) != 0, workload.releases_ahead());
        if (workload.releases_ahead()) {
            job = task_next_job(&ours, name, job);
            workload.advance(cursor);
        } else {
            const hp_u64 finish_ns = job.release_ns + span(36);

            job = task_job_after(&ours, name, job, finish_ns);
            workload.follow(cursor, finish_ns);
        }
    }
}

// Follows a random flow: when its items come, and how long each one takes at its hops.
void check_flow() {
    const hp_u64 seed = random_number();
    const auto number = static_cast<hp_u32>(below(MAX_FLOWS));
    sim::Flow theirs;
    sim::Task hop = random_task();

    do {
        theirs.source = random_task();
    } while (theirs.source.kind != sim::Kind::periodic
             && theirs.source.kind != sim::Kind::sporadic);
    theirs.burst = 1 + below(4);
    theirs.queue = 1u << 20;
    hop.kind = sim::Kind::hop;
    const ::task source = ours_of(theirs.source);
    const ::task ours = ours_of(hop);
    const sim::Workload work(hop, seed);
    sim::FlowRun run(theirs, number, seed);
    job job = task_first_job(&source, source_name(seed, number));

    for (hp_u32 i = 0; i < 20; i++) {
        same("a source's release", job.release_ns, run.next_ns());
        run.come(
            run.next_ns(), [] { return sim::u64{0}; },
            [&](sim::u64 item) {
                const auto at = static_cast<sim::u32>(below(MAX_HOPS));
                const sim::Passage passage{number, at, item, job.release_ns};
                const hp_u64 place = place_of(number, at, item);

                same("a place", place, passage.packed());
                same("an item's execution time",
                     item_execution_ns(&ours, seed, place, job.release_ns),
                     work.execution_ns(passage));
            },
            [](sim::u64) {});
        job = task_next_job(&source, source_name(seed, number), job);
    }
}

// Follows the clients of a random closed flow, which get their answers at once or later.
void check_clients() {
    const hp_u64 seed = random_number();
    const auto number = static_cast<hp_u32>(below(MAX_FLOWS));
    sim::Flow theirs;
    ::flow ours{};

    theirs.clients = static_cast<sim::u32>(1 + below(8));
    theirs.source.offset_ns = span(20);
    theirs.think_least_ns = span(20);
    theirs.think_most_ns = theirs.think_least_ns + (below(2) ? span(20) : 0);
    ours.think_least_ns = theirs.think_least_ns;
    ours.think_most_ns = theirs.think_most_ns;
    sim::Clients run(theirs, number, seed);
    heap sending;
    std::vector<hp_u32> thoughts(theirs.clients);

    const auto think = [&](hp_u32 client, hp_u64 now_ns) {
        heap_push(&sending, now_ns + think_ns(&ours, seed, number, client, thoughts[client]++),
                  client);
    };

    heap_init(&sending);
    for (hp_u32 client = 0; client < theirs.clients; client++)
        think(client, theirs.source.offset_ns);
    for (hp_u32 i = 0; i < 40; i++) {
        const hp_u64 now_ns = heap_key(&sending);
        const hp_u32 client = sending.entry[0].task;

        same("a client's sending", now_ns, run.next_ns());
        same("the client", client, run.next_client());
        heap_pop(&sending);
        run.wait(client);
        const hp_u64 answer_ns = now_ns + span(20);
        think(client, answer_ns);
        run.think(client, answer_ns);
    }
}

// A domain of the executive and one of the simulator's, driven alike.
struct Pair {
    explicit Pair(const sim::Domain &told)
        : theirs(told, 0, 0), ours(std::make_unique<domain>()), offered(told.tasks.size()) {
        switch (told.scheduler) {
        case sim::Scheduler::edf:
            domain_init(ours.get(), DOMAIN_EDF, static_cast<hp_u32>(told.vcpus.size()));
            break;
        case sim::Scheduler::fifo:
            domain_init(ours.get(), DOMAIN_FIFO, static_cast<hp_u32>(told.vcpus.size()));
            break;
        default:
            domain_init(ours.get(), DOMAIN_RANKED, static_cast<hp_u32>(told.vcpus.size()));
        }
        for (hp_u32 i = 0; i < told.tasks.size(); i++) {
            ours->pinned[i] = told.tasks[i].pinned == sim::NONE ? HP_NONE : told.tasks[i].pinned;
            ours->key[i] = told.tasks[i].priority;
        }
    }

    void place(hp_u32 task) {
        const hp_u64 release_ns = below(8), deadline_ns = below(8);
        hp_u32 next = task;

        offered[task] = true;
        theirs.place(task, release_ns, deadline_ns, [](sim::u32) {});
        if (ours->scheduler == DOMAIN_EDF)
            ours->key[task] = deadline_ns;
        if (ours->scheduler == DOMAIN_FIFO)
            ours->key[task] = release_ns;
        while (next != HP_NONE && domain_place(ours.get(), next, &next) != HP_NONE)
            continue;
    }

    void finish(hp_u32 vcpu) {
        const hp_u32 task = ours->slot[vcpu].task;

        if (task == HP_NONE)
            return;
        offered[task] = false;
        theirs.finish(vcpu);
        theirs.fill([](sim::u32) {});
        ours->slot[vcpu].task = HP_NONE;
        for (hp_u32 i = 0; i < ours->vcpus; i++)
            domain_fill(ours.get(), i);
    }

    void execute(hp_u32 vcpu) {
        theirs.executed(vcpu);
        ours->slot[vcpu].fresh = 0;
    }

    void compare() const {
        for (hp_u32 vcpu = 0; vcpu < ours->vcpus; vcpu++)
            same("task on a vcpu", ours->slot[vcpu].task, theirs.task_on(vcpu));
    }

    sim::Guest theirs;
    std::unique_ptr<domain> ours;
    std::vector<bool> offered;
};

sim::Domain random_domain() {
    const sim::Scheduler schedulers[] = {sim::Scheduler::fp, sim::Scheduler::edf,
                                         sim::Scheduler::fifo};
    sim::Domain domain;
    const bool pins = below(2) != 0;

    domain.scheduler = schedulers[below(3)];
    domain.vcpus.resize(1 + below(4));
    domain.tasks.resize(1 + below(12));
    for (hp_u64 i = 0; i < domain.tasks.size(); i++) {
        domain.tasks[i].priority = i;
        if (pins && below(2))
            domain.tasks[i].pinned = static_cast<sim::u32>(below(domain.vcpus.size()));
    }
    for (hp_u64 i = 0; i < domain.tasks.size(); i++)
        std::swap(domain.tasks[i].priority, domain.tasks[below(domain.tasks.size())].priority);
    return domain;
}

void check_domain() {
    Pair pair(random_domain());

    for (hp_u32 i = 0; i < 200; i++) {
        const hp_u32 task = static_cast<hp_u32>(below(pair.offered.size()));
        const hp_u32 vcpu = static_cast<hp_u32>(below(pair.ours->vcpus));

        if (below(2) && !pair.offered[task])
            pair.place(task);
        else if (below(2))
            pair.finish(vcpu);
        else if (pair.ours->slot[vcpu].task != HP_NONE)
            pair.execute(vcpu);
        pair.compare();
    }
}

} // namespace

int main(int count, char **words) {
    if (count != 3) {
        std::fprintf(stderr, "usage: against_simulator AMOUNT SEED\n");
        return 2;
    }
    const long amount = std::atol(words[1]);

    random_number.seed(std::strtoull(words[2], nullptr, 10));
    for (long i = 0; i < amount; i++) {
        check_task();
        check_flow();
        check_clients();
        check_domain();
    }
    std::printf("%ld tasks, flows and domains, seed %s\n", amount, words[2]);
    return 0;
}
