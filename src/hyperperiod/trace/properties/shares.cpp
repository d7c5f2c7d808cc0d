// SPDX-License-Identifier: BSD-2-Clause
//
// Time that nobody with budget asks for goes in shares, to lost time first and then by weight.
//
// Under the slack rule weights. A share lasts at most 500 us and begins only if no period of a
// server that waits for it begins before its end. It goes to the vcpu with the lowest claim (made
// when a slice was lost; settled by the share), else to the one with the lowest score among
// best-effort vcpus and servers that may have extra time; the lower id among equals. It ends early
// only when its vcpu has no work any more, somebody with budget has, or a claim comes up that is
// lower than its own. A pcpu idles beside vcpus that take part only where a share does not fit.
//
// Shares of one vcpu that follow one another leave one record, so their number is known only if
// every pick is in time. Where a domain schedules globally, a share may end at the instant at which
// it begins, and a score is paid of which a trace knows nothing. Such runs are skipped.

#include "src/hyperperiod/trace/properties/shares.hpp"

#include <map>

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

constexpr u64 unit = 1024;
constexpr u64 whole = 128; // the weight that is as good as all of a pcpu

struct Share {
    u16 vcpu;
    Time start;
    u64 claim;
};

// The book of one pcpu: what was given out there, and to whom.
struct ShareBook {
    u64 swaps = 0, moves = 0;
    std::optional<Share> share;
    std::map<u16, u64> scores;
    std::map<u16, u64> settled; // by vcpu, how many of its claims are
};

u64 found_in(const std::map<u16, u64> &kept, u16 vcpu) {
    const auto place = kept.find(vcpu);
    return place == kept.end() ? 0 : place->second;
}

// Gives out the shares once more, and compares.
class Shares : public Property {
  public:
    explicit Shares(const Header &run) : Property(run), books_(run.pcpus) {
        if (run.rules.slack != Slack::weights && !run.swaps)
            verdict.reason = "the policy of this run gives no shares";
        else if (run.late > 0)
            verdict.reason = "picks come late: how many shares a vcpu had is not known";
        else if (!run.guests.empty())
            verdict.reason = "a domain schedules globally: a share may end when it begins";
    }

    void moment(Moment &moment) override {
        for (u16 pcpu = 0; pcpu < header.pcpus; pcpu++) {
            std::optional<ShareBook> &book = books_[pcpu];
            if (moment.rules[pcpu].slack != Slack::weights) {
                book.reset();
                continue;
            }
            if (!book || book->swaps != moment.swaps)
                book = ShareBook{moment.swaps, moment.moves, {}, {}, {}};
            forget_moved(moment, pcpu, *book);
            judge(moment, pcpu, *book);
        }
    }

  private:
    // Those that have moved begin anew where they are.
    static void forget_moved(const Moment &moment, u16 pcpu, ShareBook &book) {
        if (book.moves == moment.moves)
            return;
        book.moves = moment.moves;
        for (std::map<u16, u64> *const kept : {&book.scores, &book.settled})
            std::erase_if(*kept, [&](const auto &one) { return moment.home(one.first) != pcpu; });
    }

    void judge(Moment &moment, u16 pcpu, ShareBook &book) {
        const Grant &grant = moment.grants[pcpu];
        Group &group = group_of(moment, pcpu);
        if (grant.run == nobody || grant.pay != nobody) {
            book.share.reset();
            if (grant.run == nobody && !grant.stolen)
                judge_idle(moment, group, pcpu, book);
            return;
        }
        if (!goes_on(moment, grant.run, book)) {
            judge_end(moment, group, grant.run, book);
            begin(moment, pcpu, grant.run, book, moment.now);
        } else if (is_claimed(moment, pcpu, book)) {
            wrong(moment, group, {pcpu, 1}, [&] {
                return header.server_name(grant.run) + " goes on although there is a lower claim";
            });
        }
        while (book.share && book.share->start + share_length < moment.until)
            begin(moment, pcpu, grant.run, book, book.share->start + share_length);
    }

    void judge_idle(const Moment &moment, Group &group, u16 pcpu, const ShareBook &book) {
        const u16 waiting = first(moment, pcpu, book, moment.now);
        if (waiting == nobody)
            return;
        wrong(moment, group, {pcpu}, [&] {
            return "pcpu " + std::to_string(pcpu) + " idles although " + header.server_name(waiting)
                   + " may have a share";
        });
    }

    static bool goes_on(const Moment &moment, u16 run, const ShareBook &book) {
        return book.share && book.share->vcpu == run && moment.has_work(run)
               && moment.now < book.share->start + share_length
               && moment.work_since[run] <= book.share->start;
    }

    // Another share begins: was the one before it over, or beaten by a claim?
    void judge_end(const Moment &moment, Group &group, u16 run, const ShareBook &book) {
        if (!book.share || moment.now >= book.share->start + share_length)
            return;
        const Share &share = *book.share;
        const bool lost_work = !moment.has_work(share.vcpu)
                               || moment.work_since[share.vcpu] > share.start
                               || moment.home(share.vcpu) != moment.home(run);
        if (!lost_work && claim_of(moment, run, book) >= share.claim)
            wrong(moment, group, {share.vcpu, 0, 2},
                  [&] { return "the share of " + header.server_name(share.vcpu) + " ends early"; });
    }

    bool is_claimed(const Moment &moment, u16 pcpu, const ShareBook &book) const {
        const u16 vcpu = first(moment, pcpu, book, moment.now);
        return vcpu != nobody && claim_of(moment, vcpu, book) < book.share->claim;
    }

    // A share for the one that runs: is it its turn? It costs a claim, or score.
    void begin(const Moment &moment, u16 pcpu, u16 run, ShareBook &book, Time at) {
        const u16 right = first(moment, pcpu, book, at);
        if (run != right)
            verdict.add(at, [&] {
                return "a share for " + header.server_name(run) + ", not for "
                       + header.server_name(right);
            });
        const u64 claim = claim_of(moment, run, book);
        book.share = Share{run, at, claim};
        if (claim != no_claim) {
            book.settled[run] = moment.server(run)->claims();
            return;
        }
        const u64 score = found_in(book.scores, run);
        for (const u16 vcpu : by_score(moment, pcpu)) {
            u64 &own = book.scores[vcpu];
            own -= std::min(own, score);
        }
        book.scores[run] = cost(moment, run);
    }

    // Who may have a share that begins then; nobody if there is no room for it.
    u16 first(const Moment &moment, u16 pcpu, const ShareBook &book, Time at) const {
        u16 best = nobody;
        u64 least = no_claim;
        for (const Queue::Entry &entry : group_of(moment, pcpu).working) {
            if (moment.server(entry.id)->deadline < at + share_length)
                return nobody;
            const u64 claim = claim_of(moment, entry.id, book);
            if (claim < least || (claim == least && claim != no_claim && entry.id < best)) {
                best = entry.id;
                least = claim;
            }
        }
        if (least != no_claim)
            return best;
        for (const u16 vcpu : by_score(moment, pcpu))
            if (const u64 score = found_in(book.scores, vcpu); best == nobody || score < least) {
                best = vcpu;
                least = score;
            }
        return best;
    }

    // The vcpus of a pcpu that have work and take part by their score, by id.
    std::vector<u16> by_score(const Moment &moment, u16 pcpu) const {
        const Group &group = group_of(moment, pcpu);
        std::vector<u16> found = group.guests;
        for (const Queue::Entry &entry : group.working)
            if (header.vcpus[entry.id].extra)
                found.push_back(entry.id);
        std::sort(found.begin(), found.end());
        return found;
    }

    static u64 claim_of(const Moment &moment, u16 vcpu, const ShareBook &book) {
        const Server *const server = moment.server(vcpu);
        if (server == nullptr || server->claims() == found_in(book.settled, vcpu))
            return no_claim;
        return server->claim();
    }

    u64 cost(const Moment &moment, u16 vcpu) const {
        if (moment.best_effort(vcpu))
            return unit * whole / header.vcpus[vcpu].weight;
        const Server &server = *moment.server(vcpu);
        return static_cast<u64>(Wide{unit} * server.period / server.budget);
    }

    // A policy with shares is of pcpus that share nothing, but a header may say what it likes.
    static const Group &group_of(const Moment &moment, u16 pcpu) {
        return moment.groups[moment.header.partitioned ? pcpu : 0];
    }
    static Group &group_of(Moment &moment, u16 pcpu) {
        return moment.groups[moment.header.partitioned ? pcpu : 0];
    }

    std::vector<std::optional<ShareBook>> books_;
};

} // namespace

const Row rows::shares{
    "shares",
    "Time that nobody with budget asks for goes in shares, to lost time first and then by weight.",
    {.moments = true},
    make_property<Shares>,
};

} // namespace hyperperiod::trace
