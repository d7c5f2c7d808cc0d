// SPDX-License-Identifier: BSD-2-Clause
//
// Protocol Buffers' wire format, as far as a writer of messages needs it: varints, texts and
// messages in messages (https://protobuf.dev/programming-guides/encoding). A message's length
// stands before it, and is one byte for nearly all of them: one byte is kept free, and a longer
// message is moved up when its length is known.
//
// Who writes has made room for all of it. A Message is small and lives where it is used, so that
// its place stays in a register: bytes that are written may be anything, also a pointer in memory.
#pragma once

#include "record.hpp"

#include <bit>
#include <cstring>
#include <string_view>

namespace hyperperiod::trace {

class Message {
  public:
    explicit Message(char *at) : at_(at) {}

    // Where the next byte goes.
    char *at() const { return at_; }

    [[gnu::always_inline]] void number(u32 field, u64 value) {
        varint(u64{field} << 3);
        varint(value);
    }
    void text(u32 field, std::string_view value) {
        message(field, [&] { append(value); });
    }
    // The fields that `body` writes here, or the parts of a text, as one field.
    template <class Body> [[gnu::always_inline]] void message(u32 field, Body body) {
        varint(u64{field} << 3 | 2);
        char *start = ++at_;
        body();
        const auto length = static_cast<std::size_t>(at_ - start);
        if (length < 0x80) [[likely]]
            start[-1] = static_cast<char>(length);
        else
            move_up(start, length);
    }
    void append(std::string_view part) {
        std::memcpy(at_, part.data(), part.size());
        at_ += part.size();
    }

  private:
    [[gnu::always_inline]] void varint(u64 value) {
        while (value >= 0x80) {
            *at_++ = static_cast<char>(value | 0x80);
            value >>= 7;
        }
        *at_++ = static_cast<char>(value);
    }
    // Makes room for a length of more than one byte, and writes it.
    void move_up(char *start, std::size_t length) {
        // A varint has a byte for each seven bits of its number.
        const auto more = static_cast<std::size_t>(std::bit_width(length) - 1) / 7;

        std::memmove(start + more, start, length);
        at_ = start - 1;
        varint(length);
        at_ += length;
    }

    char *at_;
};

} // namespace hyperperiod::trace
