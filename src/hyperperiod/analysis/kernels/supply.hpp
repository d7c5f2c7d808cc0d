// SPDX-License-Identifier: BSD-2-Clause
//
// Supply: the least time that a vcpu with an interface (period, budget) gets in any window.
//
// The three bounds that use nothing but the interface have one form. In the worst window nothing
// comes for a `blackout`; from then on every period brings the whole budget and then a gap of
// period - budget:
//
//   general   blackout period + deadline - 2 budget: the budget of one period came at once, just
//             before the window, that of the next one comes as late as it may: by the end of that
//             period, or by an explicit deadline within it (the EDP model)
//   harmonic  blackout period - budget: the window begins where a period begins
//   polling   blackout 2 period - budget: work came just after the server found none
//
// What is known of other servers makes bounds of another form, a staircase: to get more than the
// `amount` of a stair takes its `wait` beside. The first stair is at 0; at `budget` the staircase
// repeats: as much again takes `period`.
//
// `within` is the bound itself (sbf), `time_for` its inverse: the shortest window that surely
// holds an amount. Times are below `limit`; what would be longer is `never`, which compares as
// later than every time and so makes every test say no, which is the truth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace hyperperiod::analysis {

using u64 = std::uint64_t;
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 i128;

// Every time of a system is below 2^62 ns, so sums of two and doubled gaps fit 64 bits.
constexpr u64 limit = u64{1} << 62;
constexpr u64 never = ~u64{0};

constexpr u64 clamp(u128 time) {
    return time > limit ? never : static_cast<u64>(time);
}

enum class Shape { general, harmonic, polling };

struct Stair {
    u64 amount, wait;
};

using Stairs = std::span<const Stair>;

struct Supply {
    // `deadline` is for the general shape: at least the budget, at most the period.
    Supply(Shape shape, u64 period_, u64 budget_, u64 deadline) : period(period_), budget(budget_) {
        const u64 gap = period - budget;
        switch (shape) {
        case Shape::general:
            blackout = gap + deadline - budget;
            break;
        case Shape::harmonic:
            blackout = gap;
            break;
        case Shape::polling:
            blackout = gap + period;
            break;
        }
    }

    Supply(Shape shape, u64 period_, u64 budget_) : Supply(shape, period_, budget_, period_) {}

    // The stairs outlive the supply; both numbers of them increase, amounts from 0 and below
    // `budget`. The blackout is that of the line below the staircase.
    Supply(u64 period_, u64 budget_, Stairs stairs_)
        : period(period_), budget(budget_), stairs(stairs_) {
        for (const Stair &stair : stairs) {
            const u128 ahead = u128{stair.amount} * period / budget;
            const u128 reached = u128{stair.amount} + stair.wait;
            blackout = std::max(blackout, reached > ahead ? clamp(reached - ahead) : 0);
        }
    }

    u64 within(u64 window) const {
        if (!stairs.empty())
            return within_steps(window);
        if (window <= blackout)
            return 0;
        const u64 rest = window - blackout;
        const u64 periods = rest / period;
        const u64 tail = rest - periods * period;
        return periods * budget + (tail < budget ? tail : budget);
    }

    u64 time_for(u64 amount) const {
        if (amount == 0)
            return 0;
        if (amount >= limit)
            return never;
        const u64 gaps = (amount - 1) / budget;
        if (!stairs.empty()) {
            const u64 rest = amount - gaps * budget;
            return clamp(u128{gaps} * period + rest + last_below(rest)->wait);
        }
        return clamp(u128{gaps} * (period - budget) + blackout + amount);
    }

    u64 period, budget, blackout = 0;
    Stairs stairs{};

  private:
    // The stair that an amount within one repetition, above 0, is on.
    const Stair *last_below(u64 amount) const {
        const auto below = [](const Stair &stair, u64 bound) { return stair.amount < bound; };
        return &*std::lower_bound(stairs.begin(), stairs.end(), amount, below) - 1;
    }

    u64 within_steps(u64 window) const {
        const u64 first = stairs.front().wait + 1; // until the first unit
        if (window < first)
            return 0;
        const u64 periods = (window - first) / period;
        const u64 rest = window - periods * period;
        const auto ends = [](u64 bound, const Stair &stair) {
            return bound < stair.amount + stair.wait + 1;
        };
        const auto beyond = std::upper_bound(stairs.begin(), stairs.end(), rest, ends);
        const u64 most = beyond == stairs.end() ? budget : beyond->amount;
        return periods * budget + std::min(most, rest - std::prev(beyond)->wait);
    }
};

} // namespace hyperperiod::analysis
