// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sets of vcpus: one bit per rank, so that "the first eligible server" under fixed priority is
 * a bit scan. All operations touch only the words that are in use.
 */
#pragma once

#include "types.h"

/* Words in use; the compiler sees the constant where a set is one word. */
HP_FN hp_u32 hp_words(const struct hp_core *core) {
    return HP_WORDS == 1u ? 1u : core->words;
}

#define HP_EACH_WORD(core, w) for (hp_u32 w = 0; w < HP_WORDS && w < hp_words(core); w++)

HP_FN void hp_set_add(struct hp_set *set, hp_u32 rank) {
    set->word[HP_INDEX(rank / 64u, HP_WORDS)] |= 1ull << (rank % 64u);
}

HP_FN void hp_set_drop(struct hp_set *set, hp_u32 rank) {
    set->word[HP_INDEX(rank / 64u, HP_WORDS)] &= ~(1ull << (rank % 64u));
}

/* Makes the rank a member or not; returns whether that changed the set. */
HP_FN hp_u32 hp_set_put(struct hp_set *set, hp_u32 rank, hp_u32 member) {
    hp_u64 *word = &set->word[HP_INDEX(rank / 64u, HP_WORDS)];
    const hp_u64 bit = 1ull << (rank % 64u);
    const hp_u32 changes = !(*word & bit) == !!member;

    if (changes)
        *word ^= bit;
    return changes;
}

HP_FN hp_u32 hp_set_has(const struct hp_set *set, hp_u32 rank) {
    return (hp_u32)(set->word[HP_INDEX(rank / 64u, HP_WORDS)] >> (rank % 64u) & 1u);
}

/*
 * A member of the order moves from one rank to another, and those in between close up: what was
 * said of their ranks is said of the new ones.
 */
HP_FN void hp_set_move(const struct hp_core *core, struct hp_set *set, hp_u32 from, hp_u32 to) {
    const hp_u32 first = from < to ? from : to;
    const hp_u32 last = from < to ? to : from;
    const hp_u32 member = hp_set_has(set, from);
    hp_u64 carried = 0;

    HP_EACH_WORD (core, w) {
        const hp_u64 word = set->word[w];
        hp_u64 moving = ~0ull;
        hp_u64 moved;

        if (w < first / 64u || w > last / 64u)
            continue;
        if (w == first / 64u)
            moving &= ~0ull << (first % 64u);
        if (w == last / 64u)
            moving &= ~0ull >> (63u - last % 64u);
        moved = word << 1 | carried;
        if (from < to) {
            moved = word >> 1;
            if (HP_WORDS > 1u && w + 1u < HP_WORDS)
                moved |= set->word[HP_INDEX(w + 1u, HP_WORDS)] << 63;
        }
        set->word[w] = (word & ~moving) | (moved & moving);
        carried = word >> 63;
    }
    hp_set_put(set, to, member);
}

/* The lowest rank at or above 'from' that is in the set, or HP_NONE. */
HP_FN hp_u32 hp_set_next(const struct hp_core *core, const struct hp_set *set, hp_u32 from) {
    HP_EACH_WORD (core, w) {
        hp_u64 bits = set->word[w];

        if (from >= (w + 1u) * 64u)
            continue;
        if (from > w * 64u)
            bits &= ~0ull << (from % 64u);
        if (bits)
            return w * 64u + (hp_u32)__builtin_ctzll(bits);
    }
    return HP_NONE;
}

HP_FN hp_u32 hp_set_empty(const struct hp_core *core, const struct hp_set *set) {
    return hp_set_next(core, set, 0) == HP_NONE;
}
