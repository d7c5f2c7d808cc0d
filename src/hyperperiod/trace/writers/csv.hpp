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

    // Names by the numbers that records have for them; that of kind 0 is not used. Only records of
    // some kinds are of a job.
    CsvWriter(Names vcpus, Names tasks, Names kinds, const std::vector<u8> &of_job);

    void add(const Record &record);
    // What has been written since `clear`.
    std::string_view bytes() const { return out_.bytes(); }
    void clear() { out_.clear(); }

  private:
    const std::string &server(u16 id) const;

    Names vcpus_, tasks_, kinds_;
    std::vector<bool> is_of_job_; // by kind
    std::size_t longest_row_;
    Buffer out_;
};

} // namespace hyperperiod::trace
