// SPDX-License-Identifier: BSD-2-Clause
//
// Several hops in a row on one vcpu: see pieces.hpp.

#include <algorithm>
#include <map>
#include <utility>

#include "src/hyperperiod/analysis/kernels/pieces.hpp"

namespace hyperperiod::analysis {

namespace {

constexpr std::size_t nowhere = ~std::size_t{0};

class Rows {
  public:
    Rows(std::span<const Visit> visits, std::size_t levels) : visits_(visits), entries_(levels) {
        for (std::size_t index = 0; index < visits.size(); index++) {
            if (visits[index].flow != no_flow)
                at_[{visits[index].flow, visits[index].hop}] = index;
        }
        for (const Visit &visit : visits)
            before_.push_back(visit.flow == no_flow || visit.hop == 0
                                  ? nowhere
                                  : find(visit.flow, visit.hop - 1));
    }

    // All that are short, and whole rows.
    std::vector<Piece> pieces() const {
        std::vector<Piece> found;
        for (std::size_t index = 0; index < visits_.size(); index++) {
            const auto [flow, first, level, stream] = visits_[index];
            if (flow == no_flow)
                continue;
            for (u64 last = first; find(flow, last) != nowhere; last++) {
                const bool whole = before_[index] == nowhere && find(flow, last + 1) == nowhere;
                if (whole || last - first < longest_piece)
                    found.push_back({flow, first, last, {}});
            }
        }
        return found;
    }

    Longest bound(const Piece &piece, const Supply &supply, std::span<const u64> blocking) {
        std::vector<u64> levels; // of the hops of the piece
        for (u64 hop = piece.first; hop <= piece.last; hop++)
            levels.push_back(visits_[find(piece.flow, hop)].level);
        const u64 lowest = *std::max_element(levels.begin(), levels.end());
        const std::vector<std::size_t> &entries = entries_at(lowest);

        own_.clear();
        above_.clear();
        for (std::size_t index = 0; index < visits_.size(); index++) {
            if (visits_[index].level > lowest)
                continue;
            Stream stream = visits_[entries[index]].stream;
            stream.wcet = visits_[index].stream.wcet;
            (is_behind(index, piece, levels, entries) ? own_ : above_).push_back(stream);
        }
        return response_bound(own_, above_, supply, blocking[lowest]);
    }

  private:
    std::size_t find(u64 flow, u64 hop) const {
        const auto found = at_.find({flow, hop});
        return found == at_.end() ? nowhere : found->second;
    }

    // Where an item came into a row of hops of this priority or above, for each visit.
    const std::vector<std::size_t> &entries_at(u64 lowest) {
        std::vector<std::size_t> &entries = entries_[lowest];
        for (std::size_t index = entries.size(); index < visits_.size(); index++) {
            std::size_t entry = index;
            while (before_[entry] != nowhere && visits_[before_[entry]].level <= lowest)
                entry = before_[entry];
            entries.push_back(entry);
        }
        return entries;
    }

    // Whether what enters after the item has no part in its wait.
    bool is_behind(std::size_t index, const Piece &piece, std::span<const u64> levels,
                   std::span<const std::size_t> entries) const {
        const Visit &visit = visits_[index];
        if (piece.first == piece.last && visit.level == levels.front())
            return true;
        if (visit.flow != piece.flow || entries[index] != entries[find(piece.flow, piece.first)])
            return false;
        const u64 next = std::max(piece.first, visit.hop + 1);
        return next > piece.last
               || std::all_of(levels.begin() + static_cast<std::ptrdiff_t>(next - piece.first),
                              levels.end(), [&](u64 level) { return level < visit.level; });
    }

    std::span<const Visit> visits_;
    std::map<std::pair<u64, u64>, std::size_t> at_; // by flow and hop
    std::vector<std::size_t> before_;               // the hop before, if it is here
    std::vector<std::vector<std::size_t>> entries_; // by level
    std::vector<Stream> own_, above_;
};

} // namespace

std::vector<Piece> piece_bounds(std::span<const Visit> visits, const Supply &supply,
                                std::span<const u64> blocking, void (*interrupt)()) {
    Rows rows(visits, blocking.size());
    std::vector<Piece> pieces = rows.pieces();
    for (Piece &piece : pieces) {
        interrupt();
        piece.longest = rows.bound(piece, supply, blocking);
    }
    return pieces;
}

} // namespace hyperperiod::analysis
