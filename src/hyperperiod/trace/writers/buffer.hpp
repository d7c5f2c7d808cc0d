// SPDX-License-Identifier: BSD-2-Clause
//
// What a writer has written and nobody has taken yet.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace hyperperiod::trace {

class Buffer {
  public:
    std::string_view bytes() const { return {bytes_.data(), size_}; }
    void clear() { size_ = 0; }

    // A place for so many bytes.
    char *room(std::size_t size) {
        if (size_ + size > bytes_.size()) [[unlikely]]
            bytes_.resize(2 * (size_ + size));
        return bytes_.data() + size_;
    }
    // There are bytes up to here.
    void written(const char *end) { size_ = static_cast<std::size_t>(end - bytes_.data()); }

  private:
    std::vector<char> bytes_;
    std::size_t size_ = 0;
};

} // namespace hyperperiod::trace
