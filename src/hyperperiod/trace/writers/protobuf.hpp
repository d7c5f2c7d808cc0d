// SPDX-License-Identifier: BSD-2-Clause
//
// Protocol Buffers' wire format, as far as a writer of messages needs it: varints, texts and
// messages in messages (https://protobuf.dev/programming-guides/encoding). A message's length
// stands before it, and is one byte for nearly all of them: one byte is kept free, and a longer
// message is moved up when its length is known.
#pragma once

#include "record.hpp"

#include <bit>
#include <cstring>
#include <string_view>
#include <vector>

namespace hyperperiod::trace {

class Protobuf {
  public:
    std::string_view bytes() const {
        return {reinterpret_cast<const char *>(buffer_.data()), size_};
    }
    void clear() { size_ = 0; }

    void number(u32 field, u64 value) {
        tag(field, 0);
        varint(value);
    }
    void text(u32 field, std::string_view value) {
        message(field, [&] { append(value); });
    }
    // The fields that `body` writes, or the parts of a text, as one field.
    template <class Body> void message(u32 field, Body body) {
        tag(field, 2);
        const std::size_t start = ++size_;
        body();
        set_length(start);
    }
    void append(std::string_view part) {
        reserve(part.size());
        std::memcpy(buffer_.data() + size_, part.data(), part.size());
        size_ += part.size();
    }

  private:
    // What may be written without a further look: a tag, a varint and the byte of a length.
    static constexpr std::size_t ROOM = 32;

    void tag(u32 field, u32 type) {
        reserve(0);
        varint(u64{field} << 3 | type);
    }
    void varint(u64 value) {
        u8 *at = buffer_.data() + size_;

        while (value >= 0x80) {
            *at++ = static_cast<u8>(value | 0x80);
            value >>= 7;
        }
        *at++ = static_cast<u8>(value);
        size_ = static_cast<std::size_t>(at - buffer_.data());
    }
    void reserve(std::size_t more) {
        if (size_ + more + ROOM > buffer_.size()) [[unlikely]]
            buffer_.resize(2 * (size_ + more + ROOM));
    }
    // Writes how much has been written from `start` on into the byte before it.
    void set_length(std::size_t start) {
        const std::size_t length = size_ - start;
        // A varint has a byte for each seven bits of its number.
        const std::size_t more = static_cast<std::size_t>(std::bit_width(length | 1) - 1) / 7;

        if (more > 0) [[unlikely]] {
            reserve(more);
            std::memmove(buffer_.data() + start + more, buffer_.data() + start, length);
        }
        size_ = start - 1;
        varint(length);
        size_ += length;
    }

    std::vector<u8> buffer_;
    std::size_t size_ = 0;
};

} // namespace hyperperiod::trace
