// SPDX-License-Identifier: BSD-2-Clause
//
// The charges on each pcpu cover exactly the time for which its run and idle records name a payer.
//
// A charge of v that ends at t says: this server paid for [t - v, t) on this pcpu. All charges of a
// server on a pcpu together must be the stretches in which that pcpu named it as payer: nothing is
// charged twice, nothing that nobody ordered, and nothing is left unpaid.
//
// Charges of a server on a pcpu come in the order of the time for which they pay. So what is due
// before a charge ends is either covered by it or is never paid.

#include <unordered_map>

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

namespace {

struct Span {
    Time start, end;
};

// What one server owes and pays on one pcpu.
struct PaidBook {
    std::vector<Span> due;       // since its last charge
    std::optional<Span> surplus; // charged last, but not due; may go on
    std::optional<Time> paid;    // when its last charge ended
};

// Compares charged stretches with ordered ones, per pcpu and payer.
class PaidTime : public Property {
  public:
    explicit PaidTime(const Header &run) : Property(run), open_(run.pcpus) {}

    void record(const Record &record, u64) override {
        if (record.event() == Event::charge) {
            if (record.value != 0)
                charge(record);
            return;
        }
        order(record.pcpu, record.at());
        const bool also = record.has(HP_RECORD_SECOND_PAYER) && record.vcpu != record.payer;
        open_[record.pcpu] = {record.at(), record.payer,
                              also ? std::optional(record.vcpu) : std::nullopt};
    }

    void close(Time end) override {
        for (u16 pcpu = 0; pcpu < header.pcpus; pcpu++)
            order(pcpu, end);
        for (auto &[key, book] : books_) {
            for (const Span &left : book.due)
                if (left.end < end)
                    unpaid(key, left);
            flush(key, book);
        }
    }

  private:
    // The decision that holds on a pcpu, ordered up to `since`.
    struct Open {
        Time since = 0;
        u16 payer = nobody;
        std::optional<u16> second;
    };

    using Key = u32;
    static Key key_of(u16 pcpu, u16 payer) { return u32{pcpu} << 16 | payer; }

    // The decision of a pcpu has held up to now: that long its payers are due.
    void order(u16 pcpu, Time now) {
        Open &open = open_[pcpu];
        if (open.since < now) {
            if (open.payer != nobody)
                add_due(key_of(pcpu, open.payer), open.since, now);
            if (open.second)
                add_due(key_of(pcpu, *open.second), open.since, now);
        }
        open.since = now;
    }

    void add_due(Key key, Time start, Time end) {
        std::vector<Span> &due = books_[key].due;
        if (!due.empty() && due.back().end == start)
            due.back().end = end;
        else
            due.push_back({start, end});
    }

    void charge(const Record &record) {
        const Time end = record.at();
        const Time start = end - static_cast<Time>(std::min<u64>(record.value, u64{longest}));
        order(record.pcpu, end);
        const Key key = key_of(record.pcpu, record.payer);
        PaidBook &book = books_[key];
        if (book.paid && start < *book.paid)
            verdict.add({0, verdict.count, 0, 0}, start, [&] {
                return header.server_name(record.payer) + " is charged twice for one time on pcpu "
                       + std::to_string(record.pcpu);
            });
        Time covered = book.paid ? std::max(start, *book.paid) : start;
        for (const Span &due : book.due) {
            if (due.start < covered)
                unpaid(key, {due.start, std::min(due.end, covered)});
            if (due.end <= covered)
                continue;
            overpaid(key, book, {covered, std::max(due.start, covered)});
            covered = due.end;
        }
        overpaid(key, book, {covered, end});
        book.due.clear();
        book.paid = end;
    }

    void unpaid(Key key, const Span &left) {
        if (left.end - left.start <= header.late)
            return;
        add(key, 1, left.start, [&] {
            return who(key) + " is the payer until " + std::to_string(left.end)
                   + " but is not charged";
        });
    }

    void overpaid(Key key, PaidBook &book, const Span &more) {
        if (more.start >= more.end)
            return;
        if (book.surplus && book.surplus->end == more.start) {
            book.surplus->end = more.end;
            return;
        }
        flush(key, book);
        book.surplus = more;
    }

    void flush(Key key, PaidBook &book) {
        if (book.surplus && book.surplus->end - book.surplus->start > header.late)
            add(key, 0, book.surplus->start, [&] {
                return who(key) + " is charged until " + std::to_string(book.surplus->end)
                       + " but is not the payer";
            });
        book.surplus.reset();
    }

    template <class Text> void add(Key key, u64 kind, Time start, Text &&text) {
        // A charge may begin before the run does: that comes first.
        const u64 place = static_cast<u64>(start) + (u64{1} << 63);
        verdict.add({1, key, kind, place}, start, std::forward<Text>(text));
    }

    std::string who(Key key) const {
        return header.server_name(static_cast<u16>(key)) + " on pcpu " + std::to_string(key >> 16);
    }

    std::vector<Open> open_;
    std::unordered_map<Key, PaidBook> books_;
};

} // namespace

const Row rows::paid_time{
    "paid-time",
    "The charges on each pcpu cover exactly the time for which its run and idle records name a "
    "payer.",
    {.kinds = bit(Event::run) | bit(Event::idle) | bit(Event::charge)},
    make_property<PaidTime>,
};

} // namespace hyperperiod::trace
