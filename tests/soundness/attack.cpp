// SPDX-License-Identifier: BSD-2-Clause
//
// Looks for a pattern of work under which a server gets less than its supply bound.
//
// Reads one world after another from standard input, as numbers: budget, order, slack, pcpus,
// quantum, period and budget of the spare, tries, steps, seed, how many servers; and of each
// server period, budget, priority, flags, blackout (-1: nothing is promised to it), and how many
// stairs its bound has; if any, after what time and amount they repeat, and the amount and wait of
// each (the blackout is not looked at then). Writes a line for each: how much is lacking in the
// worst window that was found, and if that is above 0 the pattern: server, time and units of every
// arrival.
//
// The bound is nothing during the blackout, and the whole budget at the end of every period that
// follows. It must hold in every window in which the vcpu has work; those that matter begin with
// the work or at the end of a run, and end at the beginning of a run or with the work.
// Patterns are drawn to hurt: budgets saved up to the end of a period, used piece by piece, in
// heaps; the worst of them is changed, one arrival at a time, as long as that makes it worse.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#define HP_VCPUS 64u

#include "core/hyperperiod.h"

namespace {

using Time = std::int64_t;
using Pattern = std::map<Time, Time>; // when how much work comes
using Patterns = std::vector<Pattern>;

struct Server {
    Time period, budget;
    hp_u32 priority, flags;
    Time blackout;
    Time repeat_time = 0, repeat_amount = 0;
    std::vector<std::pair<Time, Time>> stairs{}; // amount, wait
    std::vector<Time> by_window{};               // what they promise
};

struct World {
    hp_u32 budget, order, slack, pcpus;
    Time quantum, spare_period, spare_budget;
    int tries, steps;
    std::uint64_t seed;
    std::vector<Server> servers;
    Time horizon;
};

struct Span {
    Time begin, end;
};

struct History {
    std::vector<Span> worked, ran;
};

void require(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

class Player {
  public:
    Player(const World &world, const Patterns &patterns)
        : world_(world), patterns_(patterns), backlog_(patterns.size()), begun_(patterns.size()),
          next_(patterns.size()), histories_(patterns.size()), run_(world.pcpus, HP_NONE),
          until_(world.pcpus) {
        hp_config config{};

        config.policy = {world.budget, world.order, world.slack};
        config.pcpus = world.pcpus;
        config.quantum_ns = static_cast<hp_u64>(world.quantum);
        config.spare_period_ns = static_cast<hp_u64>(world.spare_period);
        config.spare_budget_ns = static_cast<hp_u64>(world.spare_budget);
        require(hp_init(core_.get(), &config, 0) == HP_OK, "the core refuses the policy");
        for (std::size_t v = 0; v < world.servers.size(); v++) {
            const Server &one = world.servers[v];
            const hp_params params{static_cast<hp_u64>(one.period), static_cast<hp_u64>(one.budget),
                                   one.priority, one.flags, 0};

            require(hp_add(core_.get(), static_cast<hp_u32>(v), &params, 0) == HP_OK,
                    "the core refuses a server");
            next_[v] = patterns[v].begin();
        }
    }

    const std::vector<History> &play() {
        while (now_ < world_.horizon) {
            instant();
            const Time then = std::min(next_event(), world_.horizon);

            for (const hp_u32 run : run_) {
                if (run == HP_NONE)
                    continue;
                std::vector<Span> &ran = histories_[run].ran;

                backlog_[run] -= then - now_;
                if (!ran.empty() && ran.back().end == now_)
                    ran.back().end = then;
                else
                    ran.push_back({now_, then});
            }
            now_ = then;
        }
        for (std::size_t v = 0; v < backlog_.size(); v++) {
            if (backlog_[v] > 0)
                histories_[v].worked.push_back({begun_[v], world_.horizon});
        }
        return histories_;
    }

  private:
    Time next_event() const {
        Time next = *std::min_element(until_.begin(), until_.end());

        for (const hp_u32 run : run_) {
            if (run != HP_NONE)
                next = std::min(next, now_ + backlog_[run]);
        }
        for (std::size_t v = 0; v < next_.size(); v++) {
            if (next_[v] != patterns_[v].end())
                next = std::min(next, next_[v]->first);
        }
        return next;
    }

    void instant() {
        const auto now = static_cast<hp_u64>(now_);
        hp_u64 due = 0;

        for (hp_u32 p = 0; p < world_.pcpus; p++) {
            const hp_u32 run = run_[p];

            due |= until_[p] <= now_ ? 1ull << p : 0;
            if (run == HP_NONE || backlog_[run] > 0)
                continue;
            hp_depart(core_.get(), run, now);
            histories_[run].worked.push_back({begun_[run], now_});
            due |= 1ull << p;
        }
        for (std::size_t v = 0; v < next_.size(); v++) {
            if (next_[v] == patterns_[v].end() || next_[v]->first != now_)
                continue;
            if (backlog_[v] == 0) {
                hp_arrive(core_.get(), static_cast<hp_u32>(v), now);
                begun_[v] = now_;
            }
            backlog_[v] += next_[v]->second;
            ++next_[v];
        }
        for (hp_u32 round = 0;; round++) {
            due |= hp_kicks(core_.get(), now);
            if (due == 0)
                return;
            require(round < 4 * world_.pcpus + 4, "the picks of one instant do not settle");
            for (hp_u32 p = 0; p < world_.pcpus; p++) {
                if ((due >> p & 1) != 0)
                    pick(p, now);
            }
            due = 0;
        }
    }

    void pick(hp_u32 pcpu, hp_u64 now) {
        const hp_grant &grant = *hp_pick(core_.get(), pcpu, now);

        run_[pcpu] = grant.run;
        until_[pcpu] =
            static_cast<Time>(std::min<hp_u64>(grant.until_ns, static_cast<hp_u64>(INT64_MAX)));
    }

    const World &world_;
    const Patterns &patterns_;
    std::unique_ptr<hp_core> core_ = std::make_unique<hp_core>();
    std::vector<Time> backlog_, begun_;
    std::vector<Pattern::const_iterator> next_;
    std::vector<History> histories_;
    std::vector<hp_u32> run_;
    std::vector<Time> until_;
    Time now_ = 0;
};

// To get more than the amount of a stair takes its wait beside.
Time bound_by_stairs(const Server &server, Time window) {
    Time most = 0;

    for (Time round = 0; round * server.repeat_time <= window; round++) {
        for (std::size_t s = 0; s < server.stairs.size(); s++) {
            const auto [amount, wait] = server.stairs[s];
            const Time end =
                s + 1 < server.stairs.size() ? server.stairs[s + 1].first : server.repeat_amount;
            const Time here = std::min(end, window - round * server.repeat_time - wait);

            if (here > amount)
                most = std::max(most, round * server.repeat_amount + here);
        }
    }
    return most;
}

Time bound(const Server &server, Time window) {
    if (!server.by_window.empty())
        return server.by_window[static_cast<std::size_t>(window)];
    const Time rest = std::max<Time>(0, window - server.blackout);

    return rest / server.period * server.budget + std::min(server.budget, rest % server.period);
}

// The most that is lacking in a window of the history.
Time lack(const Server &server, const History &history) {
    Time most = INT64_MIN;

    for (const Span &work : history.worked) {
        std::vector<Time> starts{work.begin}, ends;
        std::vector<Time> got_before{0}, got_until;
        Time got = 0;

        for (const Span &run : history.ran) {
            if (run.end <= work.begin || run.begin >= work.end)
                continue;
            ends.push_back(run.begin);
            got_until.push_back(got);
            got += std::min(run.end, work.end) - std::max(run.begin, work.begin);
            starts.push_back(run.end);
            got_before.push_back(got);
        }
        ends.push_back(work.end);
        got_until.push_back(got);
        for (std::size_t s = 0; s < starts.size(); s++) {
            for (std::size_t e = 0; e < ends.size(); e++) {
                if (ends[e] > starts[s])
                    most = std::max(most, bound(server, ends[e] - starts[s])
                                              - (got_until[e] - got_before[s]));
            }
        }
    }
    return most;
}

Time score(const World &world, const Patterns &patterns) {
    Player player(world, patterns);
    const std::vector<History> &histories = player.play();
    Time most = INT64_MIN;

    for (std::size_t v = 0; v < histories.size(); v++) {
        if (world.servers[v].blackout >= 0)
            most = std::max(most, lack(world.servers[v], histories[v]));
    }
    return most;
}

class Draw {
  public:
    explicit Draw(std::uint64_t seed) : bits_(seed) {}
    Time between(Time least, Time most) {
        return least + static_cast<Time>(bits_() % static_cast<std::uint64_t>(most - least + 1));
    }
    bool once_in(Time times) { return between(1, times) == 1; }

  private:
    std::mt19937_64 bits_;
};

// A queue of refills filled up: single units, a heap behind them, a few units more, then work
// for ever.
Pattern full_queue(Draw &draw, const Server &server, Time horizon) {
    Time at = draw.between(0, server.period);
    Pattern pattern;

    for (Time left = draw.between(5, 8); left > 0; left--) {
        pattern[at] = 1;
        at += 2;
    }
    pattern[at] = draw.between(1, server.budget);
    at += pattern[at] + draw.between(1, 3);
    for (Time left = draw.between(0, 3); left > 0; left--) {
        pattern[at] = 1;
        at += draw.between(2, 4);
    }
    pattern[at] = horizon;
    return pattern;
}

Pattern some_pattern(Draw &draw, const Server &server, Time horizon) {
    const Time style = draw.between(0, 7);
    const Time period = server.period, budget = server.budget;
    Pattern pattern;

    if (style <= 1) {
        pattern[draw.between(0, 2 * period)] = horizon;
        return pattern;
    }
    if (style == 2)
        return full_queue(draw, server, horizon);
    for (Time at = draw.between(0, period); at < horizon;) {
        switch (style) {
        case 3: // saved up to the end of a period
            at = (at / period + 1) * period - draw.between(1, budget);
            pattern[at] = draw.between(1, 2 * budget);
            at += period;
            break;
        case 4: // one unit after the other
            pattern[at] = 1;
            at += draw.between(2, 3);
            break;
        case 5:
            pattern[at] = 1;
            at += draw.between(2, std::max<Time>(2, period / 2));
            break;
        case 6:
            pattern[at] = draw.between(1, 3 * budget);
            at += draw.between(1, 2 * period);
            break;
        default:
            pattern[at] = draw.between(1, 2);
            at += draw.between(1, 2 * period);
        }
    }
    if (draw.once_in(2)) {
        const Time from = draw.between(0, horizon - 1);

        pattern.erase(pattern.lower_bound(from), pattern.end());
        pattern[from] = horizon; // always from then on
    }
    return pattern;
}

Patterns changed(Draw &draw, Patterns patterns, Time horizon) {
    Pattern &one =
        patterns[static_cast<std::size_t>(draw.between(0, static_cast<Time>(patterns.size()) - 1))];
    const Time kind = draw.between(0, 3);

    if (kind == 0 || one.empty()) {
        one[draw.between(0, horizon - 1)] = draw.once_in(4) ? horizon : draw.between(1, 3);
        return patterns;
    }
    const auto chosen = std::next(one.begin(), draw.between(0, static_cast<Time>(one.size()) - 1));
    const auto [at, units] = *chosen;

    one.erase(chosen);
    if (kind == 1)
        one[std::clamp<Time>(at + draw.between(-2, 2), 0, horizon - 1)] = units;
    else if (kind == 2)
        one[at] = std::max<Time>(1, units + draw.between(-1, 1));
    return patterns;
}

void attack(const World &world) {
    Draw draw(world.seed);
    Patterns worst;
    Time most = INT64_MIN;

    for (int i = 0; i < world.tries + world.steps; i++) {
        Patterns patterns;

        if (i < world.tries) {
            for (const Server &server : world.servers)
                patterns.push_back(some_pattern(draw, server, world.horizon));
        } else {
            patterns = changed(draw, worst, world.horizon);
        }
        const Time found = score(world, patterns);

        if (worst.empty() || found >= most) {
            most = found;
            worst = std::move(patterns);
        }
        if (most > 0)
            break;
    }
    std::printf("%lld", static_cast<long long>(std::max<Time>(most, 0)));
    for (std::size_t v = 0; most > 0 && v < worst.size(); v++) {
        for (const auto &[at, units] : worst[v])
            std::printf(" %zu:%lld:%lld", v, static_cast<long long>(at),
                        static_cast<long long>(units));
    }
    std::printf("\n");
}

bool read_world(World &world) {
    int servers = 0;

    if (std::scanf("%u %u %u %u %ld %ld %ld %d %d %lu %d", &world.budget, &world.order,
                   &world.slack, &world.pcpus, &world.quantum, &world.spare_period,
                   &world.spare_budget, &world.tries, &world.steps, &world.seed, &servers)
        != 11)
        return false;
    world.servers.clear();
    world.horizon = 0;
    for (int i = 0; i < servers; i++) {
        Server one{};

        std::size_t stairs = 0;
        require(std::scanf("%ld %ld %u %u %ld %zu", &one.period, &one.budget, &one.priority,
                           &one.flags, &one.blackout, &stairs)
                    == 6,
                "a server is missing");
        one.stairs.resize(stairs);
        if (stairs > 0)
            require(std::scanf("%ld %ld", &one.repeat_time, &one.repeat_amount) == 2,
                    "a repetition is missing");
        for (auto &[amount, wait] : one.stairs)
            require(std::scanf("%ld %ld", &amount, &wait) == 2, "a stair is missing");
        world.servers.push_back(one);
        world.horizon = std::max(world.horizon, 6 * one.period);
    }
    for (Server &one : world.servers) {
        for (Time window = 0; !one.stairs.empty() && window <= world.horizon; window++)
            one.by_window.push_back(bound_by_stairs(one, window));
    }
    return true;
}

} // namespace

int main() {
    World world{};

    while (read_world(world))
        attack(world);
    return 0;
}
