// SPDX-License-Identifier: BSD-2-Clause
//
// Records of a trace as rows of CSV, as hyperperiod.trace.convert_csv describes them.
#pragma once

#include "buffer.hpp"
#include "record.hpp"

#include <string>
#include <vector>

namespace hyperperiod::trace {

class CsvWriter {
  public:
    using Names = std::vector<std::string>;

    // Names by the numbers that records have for them.
    CsvWriter(Names vcpus, Names tasks);

    void add(const Record &record);
    // What has been written since `clear`.
    std::string_view bytes() const { return out_.bytes(); }
    void clear() { out_.clear(); }

  private:
    const std::string &server(u16 id) const;

    Names vcpus_, tasks_;
    std::size_t longest_row_;
    Buffer out_;
};

} // namespace hyperperiod::trace
