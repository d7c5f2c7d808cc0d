// SPDX-License-Identifier: BSD-2-Clause
//
// The longest response there is: every behaviour of small servers, tick by tick.
//
// The first server has sporadic tasks inside, rate monotonic in the order given: each may release
// at any tick a period after its last release, and takes its wcet. The others have work in any
// ticks whatever. All states that can be reached are visited once, so the responses found are the
// true worst case on the grid of ticks, not a sample. Semantics as in docs/semantics.md for the
// budget rules periodic, deferrable and cbs, orders fp and edf, slack none, one pcpu or several;
// time is kept modulo the hyperperiod of the servers (cbs has no grid: modulo 1).
//
// Reads worlds from standard input, as numbers: budget rule, order (the core's codes), pcpus, the
// most states, how many servers; period, budget and priority of each; how many tasks; period and
// wcet of each. Writes per world: whether every state was visited, how many there are, and of each
// task its longest response with the behaviour that leads to it: "response n (who time units)*",
// where who is a task (from 0), or a server (its number plus 100).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

using u64 = std::uint64_t;
using u32 = std::uint32_t;

constexpr int periodic = 0, cbs = 4, fp = 0;
constexpr int most_servers = 5, most_tasks = 2, most_pcpus = 3;

void require(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

struct Server {
    int period, budget, priority;
};

struct Task {
    int period, wcet;
};

struct World {
    int rule = 0, order = 0, pcpus = 1;
    std::size_t most_states = 0;
    std::vector<Server> servers;
    std::vector<Task> tasks;
    int cycle = 1;
};

// Everything that the future depends on. `deadline` is a distance, of cbs only, negative once it is
// over; `pending` says that work of a cbs server goes on; `since` is the time since a task's last
// release, up to its period.
struct State {
    int time = 0;
    int left[most_servers]{}, deadline[most_servers]{}, pending[most_servers]{};
    int home[most_servers]{}; // the last pcpu, or `pcpus`
    int last[most_pcpus]{};   // the last one there, or the number of servers
    int there[most_pcpus]{};  // whether it has been there up to now
    int since[most_tasks]{}, work[most_tasks]{};
};

// What may be chosen in one tick: which tasks release, which other servers have work, and whose
// work ends with the tick (cbs).
struct Choice {
    unsigned release = 0, busy = 0, ends = 0;
};

class Visits {
  public:
    explicit Visits(std::size_t most) : slots_(1024), most_(most) {}

    bool full() const { return keys.size() >= most_; }
    void add(u64 key, u32 parent, u32 choice) {
        if (2 * keys.size() >= slots_.size())
            grow();
        u32 &slot = find(key);
        if (slot != 0 || full())
            return;
        keys.push_back(key);
        parents.push_back(parent);
        choices.push_back(choice);
        slot = static_cast<u32>(keys.size());
    }

    std::vector<u64> keys;
    std::vector<u32> parents, choices;

  private:
    u32 &find(u64 key) {
        std::size_t at = (key * 0x9e3779b97f4a7c15ull >> 20) & (slots_.size() - 1);
        while (slots_[at] != 0 && keys[slots_[at] - 1] != key)
            at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }
    void grow() {
        slots_.assign(2 * slots_.size(), 0);
        for (std::size_t i = 0; i < keys.size(); i++)
            find(keys[i]) = static_cast<u32>(i + 1);
    }

    std::vector<u32> slots_;
    std::size_t most_;
};

class Search {
  public:
    explicit Search(const World &world) : world_(world), visits_(world.most_states) {
        for (const Server &one : world.servers)
            require(one.period < 64 && one.budget <= one.period, "a server too long");
        for (std::size_t t = 0; t < world.tasks.size(); t++)
            worst_.push_back({0, 0, 0});
    }

    void run();

  private:
    struct Worst {
        int response;
        u32 state, choice;
    };

    template <typename Field> void fields(State &state, Field field) const;
    u64 pack(State state) const;
    State unpack(u64 key) const;
    bool is_busy(const State &state, int server, const Choice &choice) const;
    void begin(State &state, const Choice &choice, std::vector<char> &busy) const;
    std::vector<int> chosen(const State &state, const std::vector<char> &busy) const;
    void place(State &state, const std::vector<int> &running) const;
    void step(State &state, const Choice &choice, std::vector<int> &running, int *responses) const;
    void expand(u32 index);
    void tell(const Worst &worst) const;

    // How far a deadline of cbs is followed while work goes on: under fp a budget may outlast it.
    int latest(int server) const {
        return world_.order == fp ? 2 * world_.servers[static_cast<std::size_t>(server)].period : 0;
    }
    int servers() const { return static_cast<int>(world_.servers.size()); }
    int tasks() const { return static_cast<int>(world_.tasks.size()); }
    static u32 coded(const Choice &c) { return c.release | c.busy << 8 | c.ends << 16; }
    static Choice decoded(u32 code) { return {code & 255, code >> 8 & 255, code >> 16}; }

    const World &world_;
    Visits visits_;
    std::vector<Worst> worst_;
};

// Every field with the number of values that it can take.
template <typename Field> void Search::fields(State &state, Field field) const {
    field(state.time, world_.cycle);
    for (int s = 0; s < servers(); s++) {
        const Server &one = world_.servers[static_cast<std::size_t>(s)];
        field(state.left[s], one.budget + 1);
        if (world_.rule == cbs) {
            const int late = latest(s);

            state.deadline[s] += late;
            field(state.deadline[s], one.period + late + 1);
            state.deadline[s] -= late;
            field(state.pending[s], 2);
        }
        if (world_.pcpus > 1)
            field(state.home[s], world_.pcpus + 1);
    }
    for (int p = 0; p < world_.pcpus; p++) {
        field(state.last[p], servers() + 1);
        if (world_.pcpus > 1)
            field(state.there[p], 2);
    }
    for (int t = 0; t < tasks(); t++) {
        field(state.since[t], world_.tasks[static_cast<std::size_t>(t)].period + 1);
        field(state.work[t], world_.tasks[static_cast<std::size_t>(t)].wcet + 1);
    }
}

u64 Search::pack(State state) const {
    u64 key = 0;
    unsigned __int128 room = 1;
    fields(state, [&](int &value, int values) {
        key += static_cast<u64>(room) * static_cast<u64>(value);
        room *= static_cast<unsigned>(values);
        require(room >> 63 == 0, "a world with too many states");
    });
    return key;
}

State Search::unpack(u64 key) const {
    State state;
    fields(state, [&](int &value, int values) {
        value = static_cast<int>(key % static_cast<u64>(values));
        key /= static_cast<u64>(values);
    });
    return state;
}

bool Search::is_busy(const State &state, int server, const Choice &choice) const {
    if (server > 0)
        return state.pending[server] != 0 || (choice.busy >> server & 1) != 0;
    return std::any_of(state.work, state.work + tasks(), [](int work) { return work > 0; });
}

// Refills, then releases and arrivals.
void Search::begin(State &state, const Choice &choice, std::vector<char> &busy) const {
    for (int s = 0; s < servers(); s++) {
        const Server &one = world_.servers[static_cast<std::size_t>(s)];
        if (world_.rule != cbs && state.time % one.period == 0)
            state.left[s] = one.budget;
        if (world_.rule == cbs && state.left[s] == 0 && state.deadline[s] <= 0) {
            state.left[s] = one.budget;
            state.deadline[s] += one.period;
        }
    }
    for (int t = 0; t < tasks(); t++) {
        if ((choice.release >> t & 1) == 0)
            continue;
        state.since[t] = 0;
        state.work[t] = world_.tasks[static_cast<std::size_t>(t)].wcet;
    }
    for (int s = 0; s < servers(); s++) {
        const Server &one = world_.servers[static_cast<std::size_t>(s)];
        busy.push_back(is_busy(state, s, choice));
        const bool arrives = busy.back() && state.pending[s] == 0;
        if (world_.rule == cbs && arrives && state.left[s] > 0
            && state.left[s] * one.period > state.deadline[s] * one.budget) {
            state.left[s] = one.budget;
            state.deadline[s] = one.period;
        }
    }
}

std::vector<int> Search::chosen(const State &state, const std::vector<char> &busy) const {
    std::vector<int> eligible;
    for (int s = 0; s < servers(); s++) {
        if (state.left[s] > 0 && (world_.rule == periodic || busy[static_cast<std::size_t>(s)]))
            eligible.push_back(s);
    }
    const auto urgency = [&](int s) {
        const Server &one = world_.servers[static_cast<std::size_t>(s)];
        if (world_.order == fp)
            return one.priority;
        return world_.rule == cbs ? state.deadline[s] : one.period - state.time % one.period;
    };
    const auto is_last = [&](int s) {
        return std::find(state.last, state.last + world_.pcpus, s) != state.last + world_.pcpus;
    };
    std::stable_sort(eligible.begin(), eligible.end(), [&](int left, int right) {
        if (urgency(left) != urgency(right))
            return urgency(left) < urgency(right);
        return is_last(left) && !is_last(right);
    });
    eligible.resize(std::min(eligible.size(), static_cast<std::size_t>(world_.pcpus)));
    return eligible;
}

// Who has a pcpu stays; others, in their order, take their last one if it is free, else the lowest
// free one.
void Search::place(State &state, const std::vector<int> &running) const {
    int on[most_pcpus];
    std::vector<int> moving;
    std::fill(on, on + world_.pcpus, servers());
    for (const int s : running) {
        const int home = state.home[s];
        if (home < world_.pcpus && state.there[home] != 0 && state.last[home] == s)
            on[home] = s;
        else
            moving.push_back(s);
    }
    for (const int s : moving) {
        int at = state.home[s];
        if (at == world_.pcpus || on[at] != servers())
            at = static_cast<int>(std::find(on, on + world_.pcpus, servers()) - on);
        on[at] = s;
    }
    for (int p = 0; p < world_.pcpus; p++) {
        const bool used = on[p] != servers();
        state.there[p] = used && world_.pcpus > 1;
        if (!used)
            continue;
        state.last[p] = on[p];
        state.home[on[p]] = world_.pcpus > 1 ? p : 1;
    }
}

// One tick. `responses` gets that of each task whose job ends with it, else 0.
void Search::step(State &state, const Choice &choice, std::vector<int> &running,
                  int *responses) const {
    std::vector<char> busy;
    begin(state, choice, busy);
    running = chosen(state, busy);
    place(state, running);
    for (int s = 0; s < servers(); s++)
        state.pending[s] = world_.rule == cbs && busy[static_cast<std::size_t>(s)];
    for (const int s : running) {
        state.left[s]--;
        if ((choice.ends >> s & 1) != 0)
            state.pending[s] = 0;
    }
    int *const job =
        std::find_if(state.work, state.work + tasks(), [](int work) { return work > 0; });
    if (std::find(running.begin(), running.end(), 0) != running.end()
        && job != state.work + tasks()) {
        const long task = job - state.work;
        if (--*job == 0)
            responses[task] = state.since[task] + 1;
    }
    if (world_.rule == cbs)
        state.pending[0] =
            std::any_of(state.work, state.work + tasks(), [](int work) { return work > 0; });
    state.time = (state.time + 1) % world_.cycle;
    for (int s = 0; s < servers() && world_.rule == cbs; s++)
        state.deadline[s] = std::max(state.pending[s] != 0 ? -latest(s) : 0, state.deadline[s] - 1);
    for (int t = 0; t < tasks(); t++) {
        const int period = world_.tasks[static_cast<std::size_t>(t)].period;
        state.since[t] = std::min(period, state.since[t] + 1);
        require(state.work[t] == 0 || state.since[t] < period, "a task later than its period");
    }
}

void Search::expand(u32 index) {
    const State from = unpack(visits_.keys[index]);
    unsigned ready = 0, free = 0;
    for (int t = 0; t < tasks(); t++) {
        const Task &task = world_.tasks[static_cast<std::size_t>(t)];
        if (from.since[t] == task.period && from.work[t] == 0)
            ready |= 1u << t;
    }
    for (int s = 1; s < servers(); s++) {
        const bool refilled = from.time % world_.servers[static_cast<std::size_t>(s)].period == 0;
        if (world_.rule == cbs ? from.pending[s] == 0
                               : world_.rule != periodic && (refilled || from.left[s] > 0))
            free |= 1u << s;
    }
    const unsigned others = world_.rule == cbs ? (1u << servers()) - 2 : 0;
    // All subsets of the three sets of choices.
    for (unsigned release = ready;; release = (release - 1) & ready) {
        for (unsigned busy = free;; busy = (busy - 1) & free) {
            for (unsigned ends = others;; ends = (ends - 1) & others) {
                State to = from;
                std::vector<int> running;
                int responses[most_tasks]{};
                const Choice choice{release, busy, ends};
                step(to, choice, running, responses);
                visits_.add(pack(to), index, coded(choice));
                for (int t = 0; t < tasks(); t++) {
                    Worst &worst = worst_[static_cast<std::size_t>(t)];
                    if (responses[t] > worst.response)
                        worst = {responses[t], index, coded(choice)};
                }
                if (ends == 0)
                    break;
            }
            if (busy == 0)
                break;
        }
        if (release == 0)
            break;
    }
}

// The behaviour that leads to a response: releases of tasks, and work that is done.
void Search::tell(const Worst &worst) const {
    std::vector<u32> path{worst.choice};
    for (u32 at = worst.state; at != 0; at = visits_.parents[at])
        path.push_back(visits_.choices[at]);
    std::reverse(path.begin(), path.end());
    State state = unpack(visits_.keys[0]);
    std::vector<int> events; // who, time, units
    std::vector<int> open(static_cast<std::size_t>(servers()), -1);
    for (std::size_t now = 0; now < path.size(); now++) {
        const Choice choice = decoded(path[now]);
        const State before = state;
        std::vector<int> running;
        int responses[most_tasks]{};
        step(state, choice, running, responses);
        const int time = static_cast<int>(now);
        for (int t = 0; t < tasks(); t++) {
            if ((choice.release >> t & 1) != 0)
                events.insert(events.end(),
                              {t, time, world_.tasks[static_cast<std::size_t>(t)].wcet});
        }
        for (int s = 1; s < servers(); s++) {
            const auto own = static_cast<std::size_t>(s);
            const bool ran = std::find(running.begin(), running.end(), s) != running.end();
            const bool works = world_.rule == cbs ? is_busy(before, s, choice) : ran;
            if (world_.rule == periodic || !works)
                continue;
            if (world_.rule != cbs || before.pending[s] == 0) {
                open[own] = static_cast<int>(events.size()) + 2;
                events.insert(events.end(), {100 + s, time, 0});
            }
            events[static_cast<std::size_t>(open[own])] += ran;
        }
    }
    for (int s = 1; s < servers(); s++) {
        if (state.pending[s] != 0) // not done by then
            events[static_cast<std::size_t>(open[static_cast<std::size_t>(s)])]++;
    }
    std::printf(" %d %zu", worst.response, events.size() / 3);
    for (const int number : events)
        std::printf(" %d", number);
}

void Search::run() {
    State start;
    for (int s = 0; s < servers(); s++) {
        const Server &one = world_.servers[static_cast<std::size_t>(s)];
        start.left[s] = one.budget;
        start.home[s] = world_.pcpus;
    }
    std::fill(start.last, start.last + world_.pcpus, servers());
    for (int t = 0; t < tasks(); t++)
        start.since[t] = world_.tasks[static_cast<std::size_t>(t)].period;
    visits_.add(pack(start), 0, 0);
    for (u32 index = 0; index < visits_.keys.size(); index++)
        expand(index);
    std::printf("%d %zu", !visits_.full(), visits_.keys.size());
    for (const Worst &worst : worst_)
        tell(worst);
    std::printf("\n");
}

bool read_world(World &world) {
    std::size_t servers = 0, tasks = 0;
    world = World();
    if (std::scanf("%d %d %d %zu %zu", &world.rule, &world.order, &world.pcpus, &world.most_states,
                   &servers)
        != 5)
        return false;
    require(servers <= most_servers && world.pcpus <= most_pcpus, "too many servers or pcpus");
    world.servers.resize(servers);
    for (Server &one : world.servers) {
        require(std::scanf("%d %d %d", &one.period, &one.budget, &one.priority) == 3,
                "a server is missing");
        if (world.rule != cbs)
            world.cycle = std::lcm(world.cycle, one.period);
    }
    require(std::scanf("%zu", &tasks) == 1 && tasks <= most_tasks, "too many tasks");
    world.tasks.resize(tasks);
    for (Task &task : world.tasks)
        require(std::scanf("%d %d", &task.period, &task.wcet) == 2, "a task is missing");
    return true;
}

} // namespace

int main() {
    World world;

    while (read_world(world)) {
        Search(world).run();
        std::fflush(stdout);
    }
    return 0;
}
