// SPDX-License-Identifier: BSD-2-Clause
//
// The flattened tree: a header, a block of tokens (a node begins, ends, has a property) and a
// block of the properties' names; numbers have their highest byte first.

#include "guests/executive/tree.h"

#include "words/words.h"

#define MAGIC 0xd00dfeedu
#define HEADER_BYTES 40u
#define SIZE_MAX_BYTES 0x200000u /* as large as the boot protocol allows */

enum token { NODE = 1, END_NODE = 2, PROPERTY = 3, NOTHING = 4, END = 9 };

struct reader {
    const hp_u8 *bytes;
    hp_u32 at;
    hp_u32 end;
    hp_u32 names;
    hp_u32 names_end;
};

static hp_u32 number_at(const hp_u8 *bytes) {
    return (hp_u32)bytes[0] << 24 | (hp_u32)bytes[1] << 16 | (hp_u32)bytes[2] << 8 | bytes[3];
}

/* Whether [at, at + length) lies below end. */
static hp_u32 fits(hp_u32 at, hp_u32 length, hp_u32 end) {
    return at <= end && length <= end - at;
}

static hp_u32 open(struct reader *reader, const void *tree) {
    const hp_u8 *bytes = (const hp_u8 *)tree;
    hp_u32 total;

    if (bytes == 0 || number_at(bytes) != MAGIC)
        return 0;
    total = number_at(bytes + 4);
    reader->bytes = bytes;
    reader->at = number_at(bytes + 8);
    reader->names = number_at(bytes + 12);
    if (total < HEADER_BYTES || total > SIZE_MAX_BYTES
        || !fits(reader->at, number_at(bytes + 36), total)
        || !fits(reader->names, number_at(bytes + 32), total))
        return 0;
    reader->end = reader->at + number_at(bytes + 36);
    reader->names_end = reader->names + number_at(bytes + 32);
    return 1;
}

/* The next number of the token block, or END behind its end. */
static hp_u32 next(struct reader *reader) {
    hp_u32 at = reader->at;

    if (!fits(at, 4, reader->end))
        return END;
    reader->at += 4;
    return number_at(reader->bytes + at);
}

/* Goes over `length` bytes and the padding behind them; whether they were all there. */
static hp_u32 skip(struct reader *reader, hp_u32 length) {
    if (!fits(reader->at, length, reader->end))
        return 0;
    reader->at = (reader->at + length + 3u) & ~3u;
    return 1;
}

/* The text at `at`, or an empty one if it does not end before `end`. */
static const char *text_at(const struct reader *reader, hp_u32 at, hp_u32 end) {
    for (hp_u32 i = at; i < end; i++) {
        if (reader->bytes[i] == 0)
            return (const char *)reader->bytes + at;
    }
    return "";
}

static hp_u32 length_of(const char *text) {
    hp_u32 length = 0;

    while (text[length] != 0)
        length++;
    return length;
}

struct tree_value tree_chosen(const void *tree, const char *property) {
    const struct tree_value none = {0, 0};
    struct reader reader;
    hp_u32 depth = 0, inside = 0;

    if (!open(&reader, tree))
        return none;
    while (1) {
        const char *name;
        struct tree_value value;

        switch (next(&reader)) {
        case NODE:
            name = text_at(&reader, reader.at, reader.end);
            depth++;
            inside = depth == 2 && word_is(word_of(name), "chosen");
            if (!skip(&reader, length_of(name) + 1u))
                return none;
            break;
        case END_NODE:
            depth--;
            inside = 0;
            break;
        case PROPERTY:
            value.length = next(&reader);
            name = text_at(&reader, reader.names + next(&reader), reader.names_end);
            value.bytes = reader.bytes + reader.at;
            if (!skip(&reader, value.length))
                return none;
            if (inside && word_is(word_of(name), property))
                return value;
            break;
        case NOTHING:
            break;
        default:
            return none;
        }
    }
}

hp_u64 tree_number(struct tree_value value) {
    if (value.length == 4)
        return number_at(value.bytes);
    if (value.length == 8)
        return (hp_u64)number_at(value.bytes) << 32 | number_at(value.bytes + 4);
    return 0;
}
