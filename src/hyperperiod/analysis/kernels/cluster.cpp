// SPDX-License-Identifier: BSD-2-Clause
//
// For every load k and every window L from its deadline on: the work of others that can get in
// the way of its job must be less than what the cluster surely gets, less what it gets while the
// job itself runs. Both sides never fall as L grows, so windows are looked at from a horizon
// downward, and one look settles all windows down to the shortest that holds as much supply
// (Zhang and Burns 2009 do so for one pcpu). Where that clears little, because both sides rise
// alike, the walk goes on at the next corner below: between two corners work is a maximum of lines
// and supply is a line, so that what holds at both holds between them. The horizon is where a line
// above the work and one below the supply cross; without room between utilisation and bandwidth
// there is none.
//
// A response bound is any window in which so little can get in the way of a job; the search for a
// short one goes upward, from what the job needs alone.

#include "src/hyperperiod/analysis/kernels/cluster.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace hyperperiod::analysis {

namespace {

constexpr int point = 40;

// Work in a window: jobs that begin in it, and what a job from before it can add.
struct Work {
    u128 inside, carried;
};

Work work_in(const Load &load, u64 window) {
    const u64 jobs = (window + load.period - load.deadline) / load.period;
    const u128 begun = u128{jobs} * load.period;
    const u64 rest = begun < window ? window - static_cast<u64>(begun) : 0;
    return {u128{jobs} * load.wcet, std::min(load.wcet, rest)};
}

// One cluster, one set of loads: what is the same for every load under test.
class Test {
  public:
    Test(Loads loads, const Cluster &cluster, Effort &effort)
        : loads_(loads), cluster_(cluster), effort_(effort) {
        extra_.reserve(loads.size());
    }

    Verdict confirm(const Load &own, u64 &window) {
        window = horizon(own);
        if (window == never)
            return Verdict::unknown;
        while (window >= own.deadline) {
            if (!effort_.spend(loads_.size()))
                return Verdict::unknown;
            const u128 needed = interference(own, window) + 1 + more_;
            const u64 shortest = cluster_.time_for(needed, own.wcet - 1);
            if (shortest > window)
                return Verdict::unknown;
            const bool little = window - shortest < window / 256;
            const u64 corner = little ? corner_below(own, window) : never;
            window = std::min(shortest - 1, corner);
        }
        return Verdict::holds;
    }

    // Of a load that is confirmed: a window in which least is left. That is the most that all could
    // hold besides, so the test itself is asked with that much more, until it says yes.
    u64 tightest(const Load &own) {
        u64 found = own.deadline, window = 0;
        more_ = left(own, found);
        while (confirm(own, window) != Verdict::holds && window != never) {
            const u128 left = this->left(own, window);
            if (left >= more_)
                break; // it gave up there
            more_ = left;
            found = window;
        }
        more_ = 0;
        return found;
    }

    // What is supplied while the job runs.
    u128 ahead(const Load &own, u64 window) const {
        return cluster_.within(window) - cluster_.beside(window, own.wcet - 1);
    }

    // The most that others, and earlier jobs of its own, run while the job waits.
    u128 interference(const Load &own, u64 window) {
        const u128 total = inside(own, window, [](u128) {});
        return total + largest(cluster_.width() - 1);
    }

    // What each load adds to the interference; of those that carry most in, that too.
    std::vector<u64> parts(const Load &own, u64 window) {
        std::vector<u64> parts;
        inside(own, window, [&](u128 without) { parts.push_back(clamp(without)); });
        std::vector<std::size_t> order(extra_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto more = [&](std::size_t one, std::size_t two) {
            return extra_[one] > extra_[two];
        };
        std::stable_sort(order.begin(), order.end(), more);
        order.resize(std::min<std::size_t>(order.size(), cluster_.width() - 1));
        for (const std::size_t load : order)
            parts[load] += clamp(extra_[load]);
        return parts;
    }

  private:
    // What a window that is confirmed holds beside all that must be in it.
    u128 left(const Load &own, u64 window) {
        return cluster_.beside(window, own.wcet - 1) - interference(own, window) - 1;
    }

    // The part of it of jobs that begin in the window; leaves what they can carry in in `extra_`.
    template <typename Note> u128 inside(const Load &own, u64 window, const Note &note) {
        u128 total = 0;
        extra_.clear();
        for (const Load &load : loads_) {
            const Work work = work_in(load, window);
            const bool same = &load == &own;
            const u64 room = same ? window - own.deadline : window - own.wcet + 1;
            const u128 begun = same ? work.inside - own.wcet : work.inside;
            const u128 without = std::min<u128>(begun, room);
            total += without;
            note(without);
            extra_.push_back(std::min<u128>(begun + work.carried, room) - without);
        }
        return total;
    }

    // The longest window below this one at which work or supply may turn or jump, or 0.
    u64 corner_below(const Load &own, u64 window) const {
        u64 corner = 0;
        const auto note = [&](u128 turn) {
            if (turn < window && turn > corner)
                corner = static_cast<u64>(turn);
        };
        for (const Load &load : loads_) {
            const u64 jobs = (window + load.period - load.deadline) / load.period;
            const u128 begun = u128{jobs} * load.period;
            u128 inside = u128{jobs} * load.wcet + own.wcet - 1; // where the room ends
            if (&load == &own)
                inside = inside + 1 + own.deadline - 2 * u128{own.wcet};
            if (jobs != 0) {
                note(begun - load.period + load.deadline);
                note(begun - load.period + load.deadline - 1);
            }
            note(begun);
            note(begun + load.wcet);
            note(inside);
            note(inside + load.wcet);
        }
        for (const Vcpus &kind : cluster_.kinds) {
            const Supply &vcpu = kind.each;
            note(vcpu.blackout);
            note(vcpu.time_for(own.wcet - 1)); // where something is left of it
            if (window > vcpu.blackout && vcpu.budget < vcpu.period) {
                const u64 periods = (window - 1 - vcpu.blackout) / vcpu.period;
                const u128 start = u128{periods} * vcpu.period + vcpu.blackout;
                note(start);
                note(start + vcpu.budget);
            }
        }
        return corner;
    }

    u128 largest(u64 count) {
        if (count >= extra_.size())
            count = extra_.size();
        const auto middle = extra_.begin() + static_cast<std::ptrdiff_t>(count);
        std::nth_element(extra_.begin(), middle, extra_.end(), std::greater<>());
        u128 total = 0;
        for (auto extra = extra_.begin(); extra != middle; ++extra)
            total += *extra;
        return total;
    }

    // A window beyond which nothing can fail.
    u64 horizon(const Load &own) {
        u128 bandwidth = 0, utilisation = 0, constant = u128{cluster_.width()} * own.wcet;
        for (const auto &[vcpu, count] : cluster_.kinds) {
            bandwidth += (u128{count} * vcpu.budget << point) / vcpu.period;
            constant += u128{count} * vcpu.blackout;
        }
        extra_.clear();
        for (const Load &load : loads_) {
            utilisation += (u128{load.wcet} << point) / load.period + 1;
            constant += load.wcet;
            extra_.push_back(load.wcet);
        }
        constant += largest(cluster_.width() - 1);
        constant += more_;
        if (bandwidth <= utilisation || constant >= (u128{1} << (127 - point)))
            return never;
        const u128 window = (constant << point) / (bandwidth - utilisation) + own.deadline;
        return window < limit ? static_cast<u64>(window) : never;
    }

    Loads loads_;
    const Cluster &cluster_;
    Effort &effort_;
    std::vector<u128> extra_;
    u128 more_ = 0; // what every window must hold besides
};

std::vector<Load> without_jitter(Loads loads) {
    std::vector<Load> sporadic(loads.begin(), loads.end());
    for (Load &load : sporadic) {
        load.period = load.period > load.jitter ? load.period - load.jitter : 0;
        load.jitter = 0;
    }
    return sporadic;
}

bool covered(Loads sporadic) {
    return std::all_of(sporadic.begin(), sporadic.end(), [](const Load &load) {
        return load.blocking == 0 && load.wcet <= load.deadline && load.deadline <= load.period;
    });
}

// Jobs of others that may run in a window that begins when a job is released, or when no more than
// one job less than there are vcpus was pending.
class Window {
  public:
    Window(Local local, Loads loads, std::span<const u64> bounds, std::size_t index,
           const Cluster &cluster)
        : by_deadline_(local == Local::edf), loads_(loads), bounds_(bounds), own_(loads[index]),
          others_(by_deadline_ ? loads.size() : index), cluster_(cluster) {}

    u64 response() {
        u64 failed = 0, window = own_.wcet;
        for (int round = 0; window <= own_.deadline; round++) {
            const u64 reached = shortest(window);
            if (reached <= window)
                return shorter(failed, window);
            failed = window;
            if (reached > own_.deadline)
                break;
            // Where all others fill what is supplied alike it would go on in single units.
            const u64 stride = round < patience ? 0 : window / patience;
            window = std::max(reached, std::min(window + stride, own_.deadline));
        }
        return never;
    }

  private:
    static constexpr int patience = 32;

    // The shortest window that holds what may get in the way in one of this length.
    u64 shortest(u64 window) { return cluster_.time_for(interference(window) + 1, own_.wcet - 1); }

    // One that holds as well, where a stride may have gone too far.
    u64 shorter(u64 failed, u64 window) {
        while (window - failed > 1) {
            const u64 middle = failed + (window - failed) / 2;
            (shortest(middle) <= middle ? window : failed) = middle;
        }
        return window;
    }

    u128 interference(u64 window) {
        const u64 room = window - own_.wcet + 1;
        u128 total = 0;
        extra_.clear();
        for (std::size_t other = 0; other < others_; other++) {
            const Load &load = loads_[other];
            if (&load == &own_)
                continue;
            const u128 most = std::min<u128>(work(load, bounds_[other], window), room);
            if (by_deadline_) {
                total += std::min(most, due(load, bounds_[other]));
                continue;
            }
            const u64 jobs = window / load.period;
            const u128 released =
                u128{jobs} * load.wcet + std::min(load.wcet, window - jobs * load.period);
            const u128 without = std::min<u128>(released, room);
            total += without;
            extra_.push_back(most - without);
        }
        std::sort(extra_.begin(), extra_.end(), std::greater<>());
        extra_.resize(std::min<std::size_t>(extra_.size(), cluster_.width() - 1));
        return std::accumulate(extra_.begin(), extra_.end(), total);
    }

    // The first job ends as late as it may, the next ones run as soon as they are released.
    static u128 work(const Load &load, u64 bound, u64 window) {
        const u64 reach = window + bound - load.wcet, jobs = reach / load.period;
        return u128{jobs} * load.wcet + std::min(load.wcet, reach - jobs * load.period);
    }

    // Of jobs due no later than the own one, between its release and its deadline.
    u128 due(const Load &load, u64 bound) const {
        const u64 jobs = own_.deadline / load.period, slack = load.deadline - bound;
        const u64 rest = own_.deadline - jobs * load.period;
        return u128{jobs} * load.wcet + std::min(load.wcet, rest - std::min(rest, slack));
    }

    bool by_deadline_;
    Loads loads_;
    std::span<const u64> bounds_;
    const Load &own_;
    std::size_t others_;
    const Cluster &cluster_;
    std::vector<u128> extra_;
};

} // namespace

u64 Cluster::width() const {
    u64 width = 0;
    for (const Vcpus &kind : kinds)
        width += kind.count;
    return width;
}

u128 Cluster::beside(u64 window, u64 units) const {
    u128 total = 0;
    for (const auto &[vcpu, count] : kinds) {
        const u64 supplied = vcpu.within(window);
        total += u128{count} * (supplied - std::min(supplied, units));
    }
    return total;
}

u64 Cluster::time_for(u128 amount, u64 units) const {
    if (amount == 0)
        return 0;
    // No more can come than if all vcpus always ran, and each kind alone brings it at some time.
    u64 below = clamp(amount / width()), enough = never;
    for (const auto &[vcpu, count] : kinds)
        enough = std::min(enough, vcpu.time_for(clamp((amount + count - 1) / count + units)));
    if (kinds.size() == 1 || enough == never)
        return enough;
    if (beside(below, units) >= amount)
        return below;
    while (enough - below > 1) {
        const u64 middle = below + (enough - below) / 2;
        (beside(middle, units) >= amount ? enough : below) = middle;
    }
    return enough;
}

ClusterAnswer cluster_edf(Loads loads, const Cluster &cluster, Effort &effort, std::size_t first) {
    const std::vector<Load> sporadic = without_jitter(loads);
    if (!covered(sporadic))
        return {Verdict::unknown, 0, 0};
    Test test(sporadic, cluster, effort);
    for (std::size_t k = first; k < sporadic.size(); k++) {
        u64 window = 0;
        if (test.confirm(sporadic[k], window) != Verdict::holds)
            return {Verdict::unknown, k, window == never ? 0 : window};
    }
    return {Verdict::holds, 0, 0};
}

u64 cluster_demand(Loads loads, std::size_t index, u64 width, u64 window) {
    const std::vector<Load> sporadic = without_jitter(loads);
    const Load &own = sporadic[index];
    if (!covered(sporadic) || window < own.deadline)
        return 0;
    Effort none(0);
    const Cluster whole{{{Supply(Shape::general, 1, 1), width}}};
    return clamp(Test(sporadic, whole, none).interference(own, window) + 1
                 + u128{width} * (own.wcet - 1));
}

ClusterWitness cluster_witness(Loads loads, std::size_t index, const Cluster &cluster,
                               Effort &effort) {
    const std::vector<Load> sporadic = without_jitter(loads);
    if (!covered(sporadic))
        return {Verdict::unknown, 0, 0, 0, {}};
    const Load &own = sporadic[index];
    Test test(sporadic, cluster, effort);
    u64 window = 0;
    const Verdict verdict = test.confirm(own, window);
    if (verdict == Verdict::holds)
        window = test.tightest(own);
    if (window == never)
        return {verdict, 0, 0, 0, {}};
    return {verdict, window, clamp(cluster.within(window)), clamp(test.ahead(own, window) + 1),
            test.parts(own, window)};
}

u64 cluster_response(Local local, Loads loads, std::span<const u64> bounds, std::size_t index,
                     const Cluster &cluster) {
    const std::vector<Load> sporadic = without_jitter(loads);
    if (!covered(sporadic))
        return never;
    return Window(local, sporadic, bounds, index, cluster).response();
}

Budget minimal_cluster_budget(Loads loads, Shape shape, u64 period, u64 granule, u64 shared,
                              u64 whole) {
    const auto serves = [&](u64 granules) {
        Effort effort(default_effort / 32);
        Cluster cluster{{{Supply(shape, period, granules * granule), shared}}};
        if (whole != 0)
            cluster.kinds.push_back({Supply(Shape::general, 1, 1), whole});
        return cluster_edf(loads, cluster, effort).verdict == Verdict::holds;
    };
    u64 below = 0, enough = period / granule;
    if (enough == 0 || !serves(enough))
        return {0, false};
    while (enough - below > 1) {
        const u64 middle = below + (enough - below) / 2;
        (serves(middle) ? enough : below) = middle;
    }
    return {enough * granule, true};
}

} // namespace hyperperiod::analysis
