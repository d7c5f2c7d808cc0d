// SPDX-License-Identifier: BSD-2-Clause
/*
 * A fuzzer for the core, with its own books.
 *
 * It makes random lock domains - every legal policy, one to four pcpus, a few or many vcpus, with
 * and without a quantum - and drives them as a host would, through arrivals, departures, late and
 * prompt picks, new parameters, vcpus and pcpus that come and go, pcpus that are stolen for a
 * while, vcpus that are bound to some pcpus, contexts that take their time to be saved, and hot
 * swaps. After every event the core must pass its own conservation laws; beside that the fuzzer
 * keeps an account of every nanosecond that was granted, written without the core's arithmetic,
 * and checks:
 *
 *   - a vcpu runs only with work, on one pcpu, and on no other before it is saved there; every
 *     grant lasts;
 *   - a server is never charged more, at its own level, than its budget in any number of
 *     consecutive periods, plus the lateness of the last pick;
 *   - nobody pays for a stolen pcpu, and none is kicked;
 *   - nobody runs on a pcpu that it may not run on; once the host has done all it was asked, one
 *     that waits with budget could not be placed beside those that are not behind it, by a search
 *     that tries all placements;
 *   - once the host has done all it was asked, nothing is left to kick, and no pcpu idles while a
 *     vcpu with work and budget waits (rules that do not idle budget away), nor, but for gaps that
 *     are shorter than a share, while a best-effort one does;
 *   - a plan that is kept is the one that would be made now; a second pick grants the same and
 *     begins no turn;
 *   - in worlds that pass a schedulability test and whose picks are prompt, a server that has work
 *     during a whole period of its own gets its budget in it.
 *
 * Usage: fuzz_core [events [seed [world]]] [budget=RULE]. The same seed gives the same run; the
 * calls of the world that is named are printed. With a budget rule all worlds begin under it. At
 * the end it prints a hash of all grants and kicks: one that makes the core faster leaves that as
 * it is.
 */
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

[[noreturn]] static void assertion_failed(const char *text, const char *file, int line);
#define HP_ASSERT(condition)                                                                       \
    ((condition) ? (void)0 : assertion_failed(#condition, __FILE__, __LINE__))
#include "core/draw.h"
#include "core/hyperperiod.h"

namespace {

using Time = hp_u64;

// Where a failure happened, so that it can be replayed.
struct Context {
    hp_u64 seed = 0;
    hp_u64 world = 0;
    hp_u64 event = 0;
    std::string description;
    bool tells = false;
    std::string budget; // that all worlds begin under, or empty
    hp_u64 hash = 0;    // of all that the core said
} context;

void hash(hp_u64 value) {
    context.hash = hp_mix(context.hash ^ value);
}

// Prints one call into the core, if this is the world that is asked for.
template <typename... Values> void tell(const char *format, Values... values) {
    if (context.tells)
        std::printf(format, values...);
}

[[noreturn]] void fail(const std::string &what) {
    std::fprintf(stderr, "fuzz_core: %s\n  seed %llu, world %llu, event %llu\n  %s\n", what.c_str(),
                 context.seed, context.world, context.event, context.description.c_str());
    std::exit(1);
}

void require(bool holds, const char *what) {
    if (!holds)
        fail(what);
}

// A stream of draws: the core's own generator, counted.
class Random {
  public:
    explicit Random(hp_u64 seed) : seed_(seed) {}
    hp_u64 between(hp_u64 low, hp_u64 high) {
        return hp_draw_between(hp_draw(seed_, 0, 0, count_++, 0), low, high);
    }
    bool one_in(hp_u64 n) { return between(1, n) == 1; }

  private:
    hp_u64 seed_;
    hp_u64 count_ = 0;
};

// What the fuzzer knows about one vcpu, without asking the core.
struct Vcpu {
    bool present = false;
    bool best_effort = false;
    bool working = false;
    hp_u32 held_on = HP_NONE; // where its context is still to be saved
    hp_u64 affinity = 0;      // the pcpus that it is bound to; 0: to none
    hp_params params{};
    Time own_charged_ns = 0; // at its own level, ever
    Time window_from = 0;    // a window opened at random, and what had been charged by then
    Time window_charged_ns = 0;
    Time period_charged_ns = 0;
    Time period_end = 0;  // end of the period that is being filled, on the grid of its origin
    Time late_ns = 0;     // how late the last pick was that charged it
    hp_i64 excess_ns = 0; // charged beyond budgets in the worst window that ends now
    bool worked_throughout = false; // had work during all of the current period so far
    Time supplied_ns = 0;           // run in the current period, whoever paid
};

constexpr const char *budget_names[] = {HP_BUDGETS(HP_RULE_NAME)};

// Every policy that is legal on one pcpu, as the core says; of one budget rule if it is named.
std::vector<hp_policy> legal_policies(const std::string &only = "") {
    std::vector<hp_policy> list;
    for (hp_u32 order = 0; order < HP_ORDER_RULES; order++)
        for (hp_u32 budget = 0; budget < HP_BUDGET_RULES; budget++)
            for (hp_u32 slack = 0; slack < HP_SLACK_RULES; slack++) {
                const hp_policy policy{budget, order, slack};
                if ((only.empty() || only == budget_names[budget]) && hp_policy_legal(&policy, 1))
                    list.push_back(policy);
            }
    return list;
}

class World {
  public:
    World(Random &random, hp_u64 number) : random_(random), core_(std::make_unique<hp_core>()) {
        choose_config(number);
        require(hp_init(core_.get(), &config_, now_) == HP_OK, "a legal configuration is refused");
        const hp_u64 count = random_.one_in(8) ? random_.between(9, 64) : random_.between(1, 8);
        vcpus_.resize(count);
        for (hp_u32 v = 0; v < count; v++)
            add(v);
        describe();
        guaranteed_ = prompt_ && steady_ && !steals_ && !binds_ && passes_test();
        settle_host();
    }

    // Lives through one instant at which something happens; returns how many core events.
    hp_u64 step() {
        const hp_u64 before = events_;
        now_ = next_instant();
        close_periods();
        change_work();
        if (!steady_)
            disturb();
        if (steals_)
            steal();
        if (binds_)
            bind();
        prompt_ ? settle_host() : neglect_host();
        check();
        return events_ - before;
    }

    [[nodiscard]] bool guaranteed() const { return guaranteed_; }

  private:
    Random &random_;
    std::unique_ptr<hp_core> core_;
    std::unique_ptr<hp_core> before_ = std::make_unique<hp_core>();
    std::unique_ptr<hp_core> unchecked_ = std::make_unique<hp_core>();
    hp_config config_{};
    std::vector<Vcpu> vcpus_;
    Time now_ = 0;
    Time unit_ = 1;
    bool prompt_ = true;      // every pick comes when it is due
    bool steady_ = true;      // no parameter or policy changes
    bool steals_ = false;     // pcpus are taken away for a while
    bool binds_ = false;      // vcpus are bound to pcpus
    bool guaranteed_ = false; // a schedulability test says that budgets are delivered
    bool comparable_ = true;  // the books compare: refills are on a grid that the fuzzer knows
    hp_u64 events_ = 0;
    Time spare_charged_ns_ = 0; // in the period that is being filled
    hp_u64 spare_period_ = 0;
    hp_i64 spare_excess_ns_ = 0;
    bool spare_steady_ = true;
    std::array<hp_grant, HP_PCPUS> grants_{};
    std::array<bool, HP_PCPUS> stolen_{};

    void choose_config(hp_u64 number) {
        static const auto policies = legal_policies(context.budget);
        const auto index = number % policies.size();
        config_.policy = policies[index];
        config_.pcpus = random_.one_in(2) ? 1 : static_cast<hp_u32>(random_.between(2, 4));
        if (!hp_policy_legal(&config_.policy, config_.pcpus))
            config_.pcpus = 1;
        unit_ = random_.one_in(2) ? 1 : random_.between(2, 2'000'000);
        config_.quantum_ns = random_.one_in(4) ? unit_ : 0;
        config_.spare_period_ns = unit_ * random_.between(4, 40);
        config_.spare_budget_ns = random_.between(0, config_.spare_period_ns);
        config_.reports_saved = random_.one_in(2);
        // Some hosts need time to decide: for half of those a few short periods are too much.
        if (random_.one_in(4))
            config_.decision_ns = std::min(random_.between(1, 2 * unit_), Time{1'000'000});
        if (random_.one_in(2))
            config_.decision_ns /= 16;
        if (hp_validate_config(&config_) != HP_OK) {
            require(config_.decision_ns > 0, "a legal configuration is refused");
            const Time shortest =
                config_.quantum_ns > 0 ? config_.quantum_ns : config_.spare_period_ns;
            require(std::min(shortest, config_.spare_period_ns) < 8 * config_.decision_ns,
                    "there is time for a configuration that is refused");
            config_.decision_ns = 0;
        }
        prompt_ = !random_.one_in(4);
        steady_ = random_.one_in(2);
        steals_ = random_.one_in(3);
        binds_ = random_.one_in(3);
        if (random_.one_in(3))
            now_ = random_.between(0, 1ull << 50);
        for (hp_u32 p = 0; p < config_.pcpus; p++)
            grants_[p] = {now_, now_, HP_NONE, HP_NONE, HP_NONE, 0};
    }

    hp_params draw_params() {
        hp_params params{};
        const hp_u64 period = random_.between(1, random_.one_in(3) ? 200 : 12);
        const hp_u64 most = config_.pcpus * 3 * period / (2 * vcpus_.size()) + 1;
        params.period_ns = period * unit_;
        params.budget_ns = random_.between(1, std::min(period, most)) * unit_;
        params.priority =
            random_.one_in(4) ? HP_ORDINARY : static_cast<hp_u32>(random_.between(0, 5));
        params.flags = random_.one_in(2) ? HP_EXTRA : 0;
        return params;
    }

    // The part of the time that deciding takes with these parameters for one of the vcpus.
    [[nodiscard]] double deciding_with(hp_u32 v, const hp_params &params) const {
        const double two = 2 * static_cast<double>(config_.decision_ns);
        double sum = params.period_ns > 0 ? two / static_cast<double>(params.period_ns) : 0;
        for (hp_u32 other = 0; other < vcpus_.size(); other++) {
            const Vcpu &vcpu = vcpus_[other];
            if (other == v || !vcpu.present || vcpu.best_effort)
                continue;
            const hp_server &server = core_->server[other];
            const Time now = server.params.period_ns;
            const Time then = server.change_at_ns == HP_NEVER ? now : server.wanted.period_ns;
            sum += two / static_cast<double>(std::min(now, then));
        }
        return sum;
    }

    // Whether the host has the time for legal parameters; the core's answer is held against it.
    bool has_time(hp_u32 error, hp_u32 v, const hp_params &params) const {
        if (params.flags & HP_BEST_EFFORT || config_.decision_ns == 0) {
            require(error == HP_OK, "legal parameters are refused");
            return true;
        }
        const bool is_short = params.budget_ns < config_.decision_ns;
        require((error == HP_ERROR_SHORT) == is_short, "a short budget is judged wrongly");
        if (is_short)
            return false;
        const double sum = deciding_with(v, params);
        const double rounding = 1e-6 * static_cast<double>(vcpus_.size() + 2);
        require(error == HP_OK || error == HP_ERROR_RATE, "legal parameters are refused");
        require(error == HP_OK ? sum < 0.5 + rounding : sum > 0.5 - 1e-9,
                "the time that deciding takes is judged wrongly");
        return error == HP_OK;
    }

    hp_u32 draw_weight() {
        return static_cast<hp_u32>(random_.one_in(2) ? 0 : random_.between(1, HP_WEIGHT_MAX));
    }

    void add(hp_u32 v) {
        Vcpu &vcpu = vcpus_[v];
        vcpu = Vcpu{};
        vcpu.best_effort = random_.one_in(6);
        vcpu.params = draw_params();
        if (vcpu.best_effort)
            vcpu.params = {0, 0, 0, HP_BEST_EFFORT, draw_weight()};
        if (!has_time(hp_add(core_.get(), v, &vcpu.params, now_), v, vcpu.params)) {
            vcpu.best_effort = true;
            vcpu.params = {0, 0, 0, HP_BEST_EFFORT, draw_weight()};
            require(hp_add(core_.get(), v, &vcpu.params, now_) == HP_OK, "no best effort");
        }
        vcpu.present = true;
        require(hp_add(core_.get(), v, &vcpu.params, now_) == HP_ERROR_PRESENT, "added twice");
        events_ += 2;
        tell("%llu add %u: %llu/%llu priority %u flags %u\n", now_, v, vcpu.params.budget_ns,
             vcpu.params.period_ns, vcpu.params.priority, vcpu.params.flags);
        if (!vcpu.best_effort) {
            const Time period = vcpu.params.period_ns;
            vcpu.period_end = (now_ + period - 1) / period * period;
            vcpu.window_from = now_;
        }
    }

    void describe() {
        const auto &policy = config_.policy;
        context.description =
            "budget " + std::to_string(policy.budget) + " order " + std::to_string(policy.order)
            + " slack " + std::to_string(policy.slack) + " pcpus " + std::to_string(config_.pcpus)
            + " quantum " + std::to_string(config_.quantum_ns) + (prompt_ ? " prompt" : " late")
            + (steady_ ? " steady" : "") + " vcpus";
        for (const Vcpu &vcpu : vcpus_)
            context.description += " (" + std::to_string(vcpu.params.budget_ns) + ","
                                   + std::to_string(vcpu.params.period_ns) + ","
                                   + std::to_string(vcpu.params.priority) + ")";
    }

    [[nodiscard]] bool has(hp_u32 trait) const { return hp_has(core_.get(), trait) != 0; }

    // The most that a server may have, in budgets.
    [[nodiscard]] hp_u32 most() const { return hp_most_budgets(core_->policy.budget); }

    // The budget rules whose refills stand on a grid that does not depend on the workload.
    [[nodiscard]] bool timed() const { return has(HP_TIMED); }

    Time next_instant() {
        Time next = now_ + unit_ * random_.between(1, 8);
        if (!prompt_)
            return next;
        for (hp_u32 p = 0; p < config_.pcpus; p++)
            next = std::min(next, grants_[p].until_ns);
        for (const Vcpu &vcpu : vcpus_)
            if (vcpu.present && !vcpu.best_effort)
                next = std::min(next, std::max(vcpu.period_end, now_ + 1));
        require(next > now_, "a grant ended before it began");
        return next;
    }

    void change_work() {
        for (hp_u32 pass = 0; pass < 2; pass++) { // departures come before arrivals
            for (hp_u32 v = 0; v < vcpus_.size(); v++) {
                Vcpu &vcpu = vcpus_[v];
                if (!vcpu.present || vcpu.working != (pass == 0) || !random_.one_in(4))
                    continue;
                vcpu.working = !vcpu.working;
                tell("%llu %s %u\n", now_, vcpu.working ? "arrive" : "depart", v);
                vcpu.worked_throughout = vcpu.worked_throughout && vcpu.working;
                if (vcpu.working)
                    hp_arrive(core_.get(), v, now_);
                else
                    hp_depart(core_.get(), v, now_);
                if (vcpu.working && starts_now(vcpu))
                    vcpu.worked_throughout = true;
                events_++;
            }
        }
    }

    // Whether the current period of this server begins at this very instant.
    [[nodiscard]] bool starts_now(const Vcpu &vcpu) const {
        return !vcpu.best_effort && vcpu.period_end == now_ + vcpu.params.period_ns;
    }

    void disturb() {
        if (!random_.one_in(24))
            return;
        const auto v = static_cast<hp_u32>(random_.between(0, vcpus_.size() - 1));
        Vcpu &vcpu = vcpus_[v];
        switch (random_.between(0, 4)) {
        case 0:
            swap_policy();
            break;
        case 1:
            if (vcpu.present) {
                tell("%llu remove %u\n", now_, v);
                require(hp_remove(core_.get(), v, now_) == HP_OK, "a vcpu cannot be removed");
                vcpu = Vcpu{};
                forget_grants(v);
            } else {
                add(v);
            }
            break;
        case 2:
            if (vcpu.present && !vcpu.best_effort) {
                const hp_params params = draw_params();
                tell("%llu update %u: %llu/%llu\n", now_, v, params.budget_ns, params.period_ns);
                const hp_u32 error = hp_update(core_.get(), v, &params, now_);
                if (has_time(error, v, params))
                    comparable_ = false;
            }
            break;
        case 3:
            random_.one_in(2) ? add_pcpu() : drop_pcpu();
            break;
        default:
            tell("%llu spare\n", now_);
            spare_steady_ = false;
            require(hp_set_spare(core_.get(), config_.spare_period_ns,
                                 random_.between(0, config_.spare_period_ns), now_)
                        == HP_OK,
                    "no new spare");
        }
        events_++;
    }

    void swap_policy() {
        static const auto policies = legal_policies();
        const hp_policy policy = policies[random_.between(0, policies.size() - 1)];
        const hp_policy none{random_.between(0, 1) != 0 ? HP_BUDGET_RULES : 0, 0, HP_SLACK_RULES};
        require(hp_set_policy(core_.get(), &none, now_) == HP_ERROR_POLICY, "no policy is taken");
        const bool was_clear = timed() && extra_is_clear() && most() == 1;
        tell("%llu swap %u %u %u\n", now_, policy.budget, policy.order, policy.slack);
        const hp_u32 error = hp_set_policy(core_.get(), &policy, now_);
        require(error == (hp_policy_legal(&policy, config_.pcpus) ? HP_OK : HP_ERROR_POLICY),
                "a swap is judged wrongly");
        // Between the rules with a fixed grid a swap keeps each server's grid and what it used.
        comparable_ = comparable_ && (error != HP_OK || (was_clear && timed() && extra_is_clear()));
    }

    void add_pcpu() {
        if (config_.pcpus == 4)
            return;
        tell("%llu add pcpu\n", now_);
        const bool legal = hp_policy_legal(&core_->policy, config_.pcpus + 1) != 0;
        const hp_u32 error = hp_add_pcpu(core_.get(), now_);
        require(error == (legal ? HP_OK : HP_ERROR_POLICY), "a new pcpu is judged wrongly");
        if (!legal)
            return;
        grants_[config_.pcpus++] = {now_, now_, HP_NONE, HP_NONE, HP_NONE, 0};
        // While there was one pcpu the core did not watch whose context is where.
        for (hp_u32 v = 0; v < vcpus_.size(); v++)
            if (config_.reports_saved && vcpus_[v].held_on != HP_NONE)
                hp_hold(core_.get(), v, vcpus_[v].held_on);
    }

    // The last pcpu takes the number of the one that goes; who ran there has its context there.
    void drop_pcpu() {
        const auto gone = static_cast<hp_u32>(random_.between(0, config_.pcpus - 1));
        const hp_u32 last = config_.pcpus - 1;
        const hp_u32 ran = grants_[gone].run;
        tell("%llu drop pcpu %u\n", now_, gone);
        const hp_u32 error = hp_drop_pcpu(core_.get(), gone, now_);
        require(error == (last == 0 ? HP_ERROR_PCPUS : HP_OK), "a pcpu cannot go");
        if (error != HP_OK)
            return;
        if (config_.reports_saved != 0 && hp_is_vcpu(ran))
            vcpus_[ran].held_on = gone;
        grants_[gone] = grants_[last];
        stolen_[gone] = gone != last && stolen_[last];
        stolen_[last] = false;
        config_.pcpus = last;
        for (hp_u32 v = 0; v < vcpus_.size(); v++) {
            const hp_u64 moved = (vcpus_[v].affinity >> last & 1) << gone;
            if (vcpus_[v].affinity == 0)
                continue;
            vcpus_[v].affinity &= ~(1ull << gone | 1ull << last);
            vcpus_[v].affinity |= gone != last ? moved : 0;
            bind_again(v);
        }
        for (Vcpu &vcpu : vcpus_) {
            if (vcpu.held_on == gone)
                vcpu.held_on = HP_PCPUS;
            else if (vcpu.held_on == last)
                vcpu.held_on = gone;
        }
    }

    // Some pcpus are taken away, and some come back, at times after a theft at the same instant.
    void steal() {
        for (hp_u32 p = 0; p < config_.pcpus; p++) {
            if (stolen_[p] && random_.one_in(3)) {
                tell("%llu return %u\n", now_, p);
                hp_return(core_.get(), p, now_);
                stolen_[p] = false;
                events_++;
            } else if (random_.one_in(12)) { // one that is stolen stays so
                tell("%llu steal %u\n", now_, p);
                hp_steal(core_.get(), p, now_);
                hand_over(p, grants_[p].run, HP_NONE);
                grants_[p] = {now_, HP_NEVER, HP_NONE, HP_NONE, HP_NONE, 0};
                stolen_[p] = true;
                events_++;
            }
        }
    }

    // A vcpu is bound to some of the pcpus, to one that is not here, or to none any more.
    void bind() {
        const auto v = static_cast<hp_u32>(random_.between(0, vcpus_.size() - 1));
        if (!vcpus_[v].present || !random_.one_in(4))
            return;
        vcpus_[v].affinity = random_.one_in(4) ? 0 : random_.between(1, 31);
        bind_again(v);
    }

    void bind_again(hp_u32 v) {
        tell("%llu bind %u: %llu\n", now_, v, vcpus_[v].affinity);
        hp_bind(core_.get(), v, vcpus_[v].affinity);
        events_++;
    }

    // The pcpus that a vcpu may run on, of those that are there.
    [[nodiscard]] hp_u64 allowed(hp_u32 v) const {
        const hp_u64 here = (1ull << config_.pcpus) - 1;
        const hp_u64 bound = vcpus_[v].affinity & here;
        return bound != 0 && config_.pcpus > 1 ? bound : here;
    }

    // Whether these vcpus, from the i-th on, fit on these pcpus: all ways are tried.
    [[nodiscard]] bool fit(const std::vector<hp_u32> &list, hp_u64 pcpus, std::size_t i = 0) const {
        if (i == list.size())
            return true;
        for (hp_u32 p = 0; p < config_.pcpus; p++)
            if ((allowed(list[i]) & pcpus) >> p & 1 && fit(list, pcpus & ~(1ull << p), i + 1))
                return true;
        return false;
    }

    // Whoever is gone neither runs nor pays; who ran at its cost is there until the next pick.
    void forget_grants(hp_u32 v) {
        for (hp_u32 p = 0; p < config_.pcpus; p++) {
            hp_grant &grant = grants_[p];
            if (grant.run == v || grant.pay == v || grant.also == v)
                grant.until_ns = std::min(grant.until_ns, now_);
            grant.run = grant.run == v ? HP_NONE : grant.run;
            grant.pay = grant.pay == v ? HP_NONE : grant.pay;
            grant.also = grant.also == v ? HP_NONE : grant.also;
        }
    }

    // Writes the time of a grant up to now into the books.
    void book(hp_u32 pcpu) {
        hp_grant &grant = grants_[pcpu];
        const Time late = now_ > grant.until_ns ? now_ - grant.until_ns : 0;
        if (hp_is_vcpu(grant.pay) && grant.level == 0)
            book_charge(vcpus_[grant.pay], grant.start_ns, late);
        if (hp_is_vcpu(grant.also))
            book_charge(vcpus_[grant.also], grant.start_ns, late);
        if (grant.pay == HP_SPARE)
            book_spare(grant.start_ns, late);
        if (hp_is_vcpu(grant.run) && !vcpus_[grant.run].best_effort)
            vcpus_[grant.run].supplied_ns += now_ - grant.start_ns;
        grant.start_ns = now_;
    }

    // Whether the books can tell extra time from a server's own: a late pick mixes the two.
    [[nodiscard]] bool extra_is_clear() const { return prompt_ || !has(HP_HAS_LEVELS); }

    // Whether what the fuzzer books is what is charged at the server's own level.
    [[nodiscard]] bool has_books(const Vcpu &vcpu) const {
        return comparable_ && (extra_is_clear() || !(vcpu.params.flags & HP_EXTRA));
    }

    void book_charge(Vcpu &vcpu, Time start, Time late) {
        vcpu.own_charged_ns += now_ - start;
        vcpu.late_ns = late;
        while (vcpu.period_end < now_) { // split at each end of a period in between
            const Time cut = std::max(start, vcpu.period_end);
            vcpu.period_charged_ns += cut - start;
            start = cut;
            close_period(vcpu);
        }
        vcpu.period_charged_ns += now_ - start;
    }

    void book_spare(Time start, Time late) {
        const Time period = config_.spare_period_ns;
        for (; start < now_; start = std::min(now_, (start / period + 1) * period)) {
            if (start / period != spare_period_)
                close_spare(start / period);
            spare_charged_ns_ += std::min(now_, (start / period + 1) * period) - start;
        }
        const auto charged = static_cast<hp_i64>(spare_charged_ns_);
        const auto budget = static_cast<hp_i64>(config_.spare_budget_ns);
        require(spare_excess_ns_ + charged - budget <= static_cast<hp_i64>(late) || !spare_steady_,
                "the spare is charged beyond its budget");
    }

    // The spare begins another period: what was used beyond its budget is carried on.
    void close_spare(hp_u64 period) {
        const auto budget = static_cast<hp_i64>(config_.spare_budget_ns);
        const auto periods = static_cast<hp_i64>(period - spare_period_);
        const auto charged = static_cast<hp_i64>(spare_charged_ns_);
        spare_excess_ns_ = std::max<hp_i64>(0, spare_excess_ns_ + charged - budget);
        for (hp_i64 i = 1; i < periods && spare_excess_ns_ > 0; i++)
            spare_excess_ns_ = std::max<hp_i64>(0, spare_excess_ns_ - budget);
        spare_charged_ns_ = 0;
        spare_period_ = period;
    }

    void close_periods() {
        for (hp_u32 p = 0; p < config_.pcpus; p++)
            book(p);
        for (Vcpu &vcpu : vcpus_) {
            if (!vcpu.present || vcpu.best_effort)
                continue;
            while (vcpu.period_end <= now_)
                close_period(vcpu);
            check_window(vcpu);
        }
    }

    void close_period(Vcpu &vcpu) {
        const auto budget = static_cast<hp_i64>(vcpu.params.budget_ns);
        const auto charged = static_cast<hp_i64>(vcpu.period_charged_ns);
        vcpu.excess_ns = std::max<hp_i64>(0, vcpu.excess_ns + charged - budget);
        if (timed() && has_books(vcpu))
            require(vcpu.excess_ns <= static_cast<hp_i64>(vcpu.late_ns) + (most() - 1) * budget,
                    "charged beyond budget");
        if (guaranteed_ && vcpu.worked_throughout)
            require(vcpu.supplied_ns >= vcpu.params.budget_ns, "a guarantee is broken");
        vcpu.period_charged_ns = 0;
        vcpu.supplied_ns = 0;
        vcpu.period_end += vcpu.params.period_ns;
        vcpu.worked_throughout = vcpu.working;
    }

    // In any window a server is charged its bandwidth, and at most what it may hold when the
    // window opens, and a budget that belongs to a period that reaches out of it.
    void check_window(Vcpu &vcpu) {
        const Time period = vcpu.params.period_ns;
        const Time periods = (now_ - vcpu.window_from + period - 1) / period + 1 + most();
        const Time charged = vcpu.own_charged_ns - vcpu.window_charged_ns;
        if (has_books(vcpu))
            require(charged <= periods * vcpu.params.budget_ns + vcpu.late_ns,
                    "charged beyond the bandwidth");
        // A cbs server that an overbooked pcpu keeps waiting makes up for it later: its windows
        // all begin when it was added.
        if (core_->policy.budget != HP_BUDGET_CBS && random_.one_in(50)) {
            vcpu.window_from = now_;
            vcpu.window_charged_ns = vcpu.own_charged_ns;
        }
    }

    void pick(hp_u32 pcpu) {
        const hp_grant grant = *hp_pick(core_.get(), pcpu, now_);
        events_++;
        hash(hp_u64{grant.run} << 32 | grant.pay);
        hash(hp_u64{grant.also} << 32 | grant.level);
        hash(grant.until_ns - now_);
        tell("%llu pick %u: run %d pay %d also %d level %u until +%llu\n", now_, pcpu,
             static_cast<int>(grant.run), static_cast<int>(grant.pay), static_cast<int>(grant.also),
             grant.level, grant.until_ns - now_);
        require(grant.start_ns == now_ && grant.until_ns > now_, "a grant that does not last");
        if (hp_is_vcpu(grant.run)) {
            require(vcpus_[grant.run].working, "a vcpu without work runs");
            require(allowed(grant.run) >> pcpu & 1, "a vcpu runs where it may not");
            if (has(HP_HAS_SHARES) && grant.pay == HP_NONE)
                require(grant.until_ns <= now_ + HP_SHARE_NS, "a share is too long");
            for (hp_u32 p = 0; p < config_.pcpus; p++)
                require(p == pcpu || grants_[p].run != grant.run, "a vcpu on two pcpus");
        }
        hand_over(pcpu, grants_[pcpu].run, grant.run);
        grants_[pcpu] = grant;
    }

    // Who ran here is on its way off the pcpu; who runs now is not on its way off another.
    void hand_over(hp_u32 pcpu, hp_u32 before, hp_u32 after) {
        if (config_.reports_saved == 0 || before == after)
            return;
        if (hp_is_vcpu(before))
            vcpus_[before].held_on = pcpu;
        if (!hp_is_vcpu(after))
            return;
        hp_u32 &held_on = vcpus_[after].held_on;
        require(held_on == HP_NONE || held_on == pcpu, "a vcpu whose context is elsewhere");
        held_on = HP_NONE;
    }

    // Saves the contexts that are still to be saved, one in so many; returns whether any was.
    bool save(hp_u64 one_in) {
        bool any = false;
        for (hp_u32 v = 0; v < vcpus_.size(); v++) {
            if (vcpus_[v].held_on == HP_NONE || !random_.one_in(one_in))
                continue;
            tell("%llu saved %u\n", now_, v);
            hp_saved(core_.get(), v, now_);
            vcpus_[v].held_on = HP_NONE;
            events_++;
            any = true;
        }
        return any;
    }

    // A prompt host: does all that is due, until nothing is.
    void settle_host() {
        for (hp_u32 round = 0;; round++) {
            require(round < 3 * HP_PCPUS, "the host is never done");
            hp_u64 due = hp_kicks(core_.get(), now_);
            events_++;
            hash(due);
            for (hp_u32 p = 0; p < config_.pcpus; p++)
                require(!stolen_[p] || !(due >> p & 1), "a stolen pcpu is kicked");
            for (hp_u32 p = 0; p < config_.pcpus; p++)
                if (grants_[p].until_ns <= now_)
                    due |= 1ull << p;
            if (due == 0 && !save(1))
                break;
            for (hp_u32 p = 0; p < config_.pcpus; p++)
                if (due >> p & 1)
                    pick(p);
        }
        conserves_work();
        places_in_order();
    }

    // A slow host: some picks come late, in any order.
    void neglect_host() {
        const auto first = static_cast<hp_u32>(random_.between(0, config_.pcpus - 1));
        for (hp_u32 i = 0; i < config_.pcpus; i++) {
            const hp_u32 p = (first + i) % config_.pcpus;
            if (!stolen_[p] && random_.one_in(2))
                pick(p);
            save(3);
        }
        if (random_.one_in(2)) {
            hp_kicks(core_.get(), now_);
            events_++;
        }
    }

    // Nobody with work and budget waits while a pcpu idles, unless budget idles away.
    void conserves_work() {
        bool idle = false;
        for (hp_u32 p = 0; p < config_.pcpus; p++)
            idle = idle || (!stolen_[p] && !hp_is_vcpu(grants_[p].run));
        if (!idle || has(HP_PAYS_IDLE))
            return;
        for (hp_u32 v = 0; v < vcpus_.size(); v++) {
            const Vcpu &vcpu = vcpus_[v];
            bool runs = !vcpu.present || !vcpu.working;
            for (hp_u32 p = 0; p < config_.pcpus; p++)
                runs = runs || grants_[p].run == v;
            require(runs || (!vcpu.best_effort && core_->server[v].remaining_ns <= 0)
                        || (vcpu.best_effort && is_short_gap()) || (binds_ && !has_room(v)),
                    "idle while a vcpu with work and budget waits");
        }
    }

    // Whether a vcpu that waits could be placed beside those of its kind that run: one that has
    // budget beside others that run on theirs, a best-effort one where no server runs.
    [[nodiscard]] bool has_room(hp_u32 v) const {
        std::vector<hp_u32> list{v};
        hp_u64 pcpus = 0;
        for (hp_u32 p = 0; p < config_.pcpus; p++) {
            const hp_u32 run = grants_[p].run;
            const bool served = hp_is_vcpu(run) && !vcpus_[run].best_effort;
            const bool own = served && grants_[p].pay == run && grants_[p].level == 0;
            pcpus |= hp_u64{!stolen_[p] && !(vcpus_[v].best_effort && served)} << p;
            if (vcpus_[v].best_effort ? hp_is_vcpu(run) && !served : own)
                list.push_back(run);
        }
        return fit(list, pcpus);
    }

    // Best-effort vcpus that run where one waits to are there for a turn at most.
    void waits_its_turn(hp_u32 v) const {
        for (hp_u32 p = 0; p < config_.pcpus; p++) {
            const hp_u32 run = grants_[p].run;
            if (hp_is_vcpu(run) && vcpus_[run].best_effort && allowed(v) >> p & 1)
                require(grants_[p].until_ns <= now_ + HP_EFFORT_TURN_NS,
                        "a best-effort vcpu does not get its turn");
        }
    }

    // Nobody with work and budget waits who could be placed beside those that are not behind it.
    void places_in_order() {
        if (!binds_ || has(HP_PAYS_IDLE))
            return;
        hp_u64 pcpus = 0;
        for (hp_u32 p = 0; p < config_.pcpus; p++)
            pcpus |= hp_u64{!stolen_[p]} << p;
        for (hp_u32 v = 0; v < vcpus_.size(); v++) {
            std::vector<hp_u32> list{v};
            bool runs = false;
            for (hp_u32 p = 0; p < config_.pcpus; p++) {
                const hp_grant &grant = grants_[p];
                runs = runs || grant.run == v;
                if (hp_is_vcpu(grant.run) && grant.pay == grant.run && grant.level == 0
                    && hp_urgency(core_.get(), &core_->server[grant.run])
                           <= hp_urgency(core_.get(), &core_->server[v]))
                    list.push_back(grant.run);
            }
            const Vcpu &vcpu = vcpus_[v];
            if (!runs && vcpu.best_effort && vcpu.working)
                waits_its_turn(v);
            require(runs || !vcpu.present || vcpu.best_effort || !vcpu.working
                        || core_->server[v].remaining_ns <= 0 || !fit(list, pcpus),
                    "a vcpu waits that could be placed");
        }
    }

    // Whether a share would not end before the period of some server that waits for it begins.
    [[nodiscard]] bool is_short_gap() const {
        bool is_short = false;
        for (hp_u32 v = 0; v < vcpus_.size(); v++)
            is_short = is_short
                       || (vcpus_[v].present && !vcpus_[v].best_effort && vcpus_[v].working
                           && core_->server[v].deadline_ns < now_ + HP_SHARE_NS);
        return is_short && has(HP_HAS_SHARES);
    }

    // The laws hold. A copy is asked: what the core puts off until somebody looks stays put off.
    void check() {
        std::memcpy(before_.get(), core_.get(), sizeof(hp_core));
        const hp_u32 law = hp_check(before_.get(), now_);
        events_ += 2;
        if (law != HP_LAW_HOLDS)
            fail("law " + std::to_string(law) + " is broken");
        std::memcpy(unchecked_.get(), core_.get(), sizeof(hp_core));
        require(hp_kicks(before_.get(), now_) == hp_kicks(unchecked_.get(), now_),
                "the check changes what is to be kicked");
        // While some pcpus have picked and others are to, who was the last among equals is as yet
        // open.
        if (prompt_ || config_.pcpus == 1)
            keeps_its_plan();
        if (prompt_)
            picks_again();
    }

    // A plan that is kept is the one that would be made now.
    void keeps_its_plan() {
        hp_kicks(core_.get(), now_);
        std::memcpy(before_.get(), core_.get(), sizeof(hp_core));
        before_->planned = 0;
        hp_kicks(before_.get(), now_);
        for (hp_u32 p = 0; p < config_.pcpus; p++) {
            const struct hp_plan &kept = core_->pcpu[p].plan;
            const struct hp_plan &made = before_->pcpu[p].plan;
            require(kept.run == made.run && kept.pay == made.pay && kept.also == made.also
                        && kept.effort == made.effort,
                    "a plan is kept that is out of date");
        }
    }

    // A pick that nobody asked for grants what is granted, and begins no turn.
    void picks_again() {
        std::memcpy(before_.get(), core_.get(), sizeof(hp_core));
        for (hp_u32 p = 0; p < config_.pcpus; p++) {
            if (stolen_[p])
                continue;
            const hp_grant grant = *hp_pick(before_.get(), p, now_);
            require(grant.run == grants_[p].run && grant.pay == grants_[p].pay
                        && grant.also == grants_[p].also && grant.level == grants_[p].level,
                    "a second pick grants something else");
        }
        for (hp_u32 v = 0; v < vcpus_.size(); v++)
            require(std::ranges::equal(before_->server[v].turn_ns, core_->server[v].turn_ns),
                    "a second pick begins a turn");
    }

    // The budget rules that the tests below are about.
    [[nodiscard]] bool is_known() const {
        const hp_u32 budget = config_.policy.budget;
        return budget == HP_BUDGET_PERIODIC || budget == HP_BUDGET_DEFERRABLE
               || budget == HP_BUDGET_POLLING;
    }

    // Whether a schedulability test of the theory says that every server gets its budget.
    [[nodiscard]] bool passes_test() const {
        if (!is_known())
            return false;
        for (const Vcpu &vcpu : vcpus_)
            if (vcpu.present && !vcpu.best_effort && !passes(vcpu))
                return false;
        return true;
    }

    [[nodiscard]] bool passes(const Vcpu &vcpu) const {
        const bool deferrable = config_.policy.budget == HP_BUDGET_DEFERRABLE;
        if (config_.policy.order == HP_ORDER_FP)
            return config_.pcpus == 1 && response(vcpu, deferrable) <= vcpu.params.period_ns;
        if (deferrable)
            return interference_fits(vcpu);
        return config_.pcpus == 1 && bandwidth_fits();
    }

    // The least fixed point of R = B + sum over higher or equal of ceil((R + J) / P) B, with
    // J = P - B for servers that may run late in one period and early in the next.
    [[nodiscard]] Time response(const Vcpu &vcpu, bool deferrable) const {
        Time found = vcpu.params.budget_ns;
        for (;;) {
            Time next = vcpu.params.budget_ns;
            for (const Vcpu &other : vcpus_) {
                if (&other == &vcpu || !other.present || other.best_effort)
                    continue;
                const hp_params &k = other.params;
                if (k.priority > vcpu.params.priority)
                    continue;
                const Time jitter = deferrable ? k.period_ns - k.budget_ns : 0;
                next += (found + jitter + k.period_ns - 1) / k.period_ns * k.budget_ns;
            }
            if (next == found || next > vcpu.params.period_ns)
                return next;
            found = next;
        }
    }

    // sum over others of min(W, P - B + 1) < m (P - B + 1): they cannot keep it off m pcpus.
    [[nodiscard]] bool interference_fits(const Vcpu &vcpu) const {
        const Time period = vcpu.params.period_ns;
        const Time slack = period - vcpu.params.budget_ns + 1;
        Time sum = 0;
        for (const Vcpu &other : vcpus_) {
            if (&other == &vcpu || !other.present || other.best_effort)
                continue;
            const hp_params &k = other.params;
            const Time work =
                period / k.period_ns * k.budget_ns + std::min(k.budget_ns, period % k.period_ns);
            sum += std::min(work, slack);
        }
        return sum < config_.pcpus * slack;
    }

    // Whether the bandwidths sum to at most one, in exact arithmetic over small units.
    [[nodiscard]] bool bandwidth_fits() const {
        unsigned __int128 common = 1;
        for (const Vcpu &vcpu : vcpus_)
            if (vcpu.present && !vcpu.best_effort) {
                const Time period = vcpu.params.period_ns / unit_;
                if (common % period != 0)
                    common *= period;
                if (common > (static_cast<unsigned __int128>(1) << 100))
                    return false;
            }
        unsigned __int128 sum = 0;
        for (const Vcpu &vcpu : vcpus_)
            if (vcpu.present && !vcpu.best_effort)
                sum += common / (vcpu.params.period_ns / unit_) * (vcpu.params.budget_ns / unit_);
        return sum <= common;
    }
};

} // namespace

static void assertion_failed(const char *text, const char *file, int line) {
    fail(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

int main(int argc, char **argv) {
    const std::string last = argc > 1 ? argv[argc - 1] : "";
    if (last.starts_with("budget=")) {
        context.budget = last.substr(7);
        if (legal_policies(context.budget).empty())
            fail("no budget rule has the name " + context.budget);
        argc--;
    }
    const hp_u64 events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
    context.seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    hp_u64 worlds = 0;
    hp_u64 guaranteed = 0;
    std::printf("fuzz_core: seed %llu\n", context.seed);
    while (context.event < events) {
        context.world = worlds;
        Random random(hp_mix(context.seed) + worlds);
        context.tells = argc > 3 && worlds == std::strtoull(argv[3], nullptr, 10);
        World world(random, worlds);
        guaranteed += world.guaranteed();
        for (int i = 0; i < 400 && context.event < events; i++)
            context.event += world.step();
        worlds++;
    }
    if (guaranteed == 0 && context.budget.empty())
        fail("no world passed a schedulability test: the guarantee was never checked");
    std::printf(
        "fuzz_core: %llu events in %llu worlds, %llu of them with guarantees; all laws hold\n"
        "fuzz_core: hash of all grants %016llx\n",
        context.event, worlds, guaranteed, context.hash);
    return 0;
}
