// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The set of the vcpus that have work, one bit each. What looks for one of them walks from bit to
 * bit, through the words that are in use.
 */
#pragma once

#include "types.h"

/* The word that has this vcpu's bit. */
HP_FN hp_u64 *hp_word_of(struct hp_core *core, hp_u32 vcpu) {
    return &core->work[HP_INDEX(vcpu / 64u, HP_WORDS)];
}

HP_FN void hp_set_runnable(struct hp_core *core, hp_u32 vcpu) {
    hp_server_of(core, vcpu)->runnable = 1;
    *hp_word_of(core, vcpu) |= 1ull << (vcpu % 64u);
}

HP_FN void hp_set_idle(struct hp_core *core, hp_u32 vcpu) {
    hp_server_of(core, vcpu)->runnable = 0;
    *hp_word_of(core, vcpu) &= ~(1ull << (vcpu % 64u));
}

/* Words in use; the compiler sees the constant where the set is one word. */
HP_FN hp_u32 hp_words(const struct hp_core *core) {
    return HP_WORDS == 1u ? 1u : core->words;
}

#define HP_EACH_WORD(core, w) for (hp_u32 w = 0; w < HP_WORDS && w < hp_words(core); w++)

/* The lowest vcpu from this number on that has work, or HP_NONE. */
HP_FN hp_u32 hp_next_runnable(const struct hp_core *core, hp_u32 from) {
    HP_EACH_WORD (core, w) {
        hp_u64 bits = core->work[w];

        if (from >= (w + 1u) * 64u)
            continue;
        if (from > w * 64u)
            bits &= ~0ull << (from % 64u);
        if (bits)
            return w * 64u + (hp_u32)__builtin_ctzll(bits);
    }
    return HP_NONE;
}
