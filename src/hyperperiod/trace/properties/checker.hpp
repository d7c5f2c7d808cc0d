// SPDX-License-Identifier: BSD-2-Clause
//
// One trace before some properties, in one pass and in windows of any size.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/hyperperiod/trace/properties/property.hpp"

namespace hyperperiod::trace {

class Checker {
  public:
    // Checks the properties of these names; the header must say which there are.
    Checker(Header header, const std::vector<std::string> &names);
    Checker(const Checker &) = delete;
    Checker &operator=(const Checker &) = delete;

    // The next records. std::out_of_range if one names what the header does not have.
    void feed(std::span<const Record> records);
    // The last record has been seen.
    void close();
    // In the order of the names.
    std::vector<const Verdict *> verdicts() const;

  private:
    // What a pcpu does since its last decision.
    struct Open {
        bool is_open = false;
        Record record{};
    };

    void listen(Property &property, const Wants &wants);
    void require(const Record &record) const;
    void see(const Record &record);
    void end_instant(Time until);
    void end_interval(u16 pcpu);

    Header header_;
    std::vector<std::unique_ptr<Property>> properties_;
    std::array<std::vector<Property *>, 32> of_kind_;
    std::vector<Property *> of_intervals_, of_instants_, of_moments_;
    std::optional<Replay> replay_;
    std::vector<Record> together_; // the decisive ones of this instant
    std::vector<Open> open_;       // by pcpu
    std::optional<Time> now_;
    u64 number_ = 0;
};

} // namespace hyperperiod::trace
