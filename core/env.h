// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a host may change about the core: the integer types, how a function is qualified, how a
 * loop is written, how an index is bounded, what an assertion does and where a record goes.
 * This is the only file of the core with conditional compilation; everything else is the same
 * text in the simulator, in Xen and in the BPF program.
 *
 * A host defines what it wants to differ before it includes hyperperiod.h; what BPF wants is in
 * hosts/linux/environment.bpf.h.
 */
#pragma once

/* Elements of arrays take a power of two of bytes: then an index is a shift. */
#define HP_ALIGNED(bytes) __attribute__((__aligned__(bytes)))

typedef unsigned char hp_u8;
typedef unsigned int hp_u32;
typedef unsigned long long hp_u64;
typedef long long hp_i64;

/* Capacity of one lock domain. Powers of two, so that an index can be bounded by a mask. A host
 * that never has several pcpus under one lock says so (HP_PCPUS 1), and what looks after them is
 * left out. */
#ifndef HP_VCPUS
#define HP_VCPUS 64u
#endif
#ifndef HP_PCPUS
#define HP_PCPUS 64u
#endif

/* The refills that a sporadic server can have outstanding. */
#ifndef HP_REFILLS
#define HP_REFILLS 8u
#endif

/* A set of vcpus is this many 64-bit words: one everywhere but in the simulator. */
#define HP_WORDS ((HP_VCPUS + 63u) / 64u)

/* A queue of vcpus is this many groups of so many: eight of eight, or 64 of more. */
#define HP_GROUP (HP_VCPUS > 512u ? HP_VCPUS / 64u : 8u)
#define HP_GROUPS ((HP_VCPUS + HP_GROUP - 1u) / HP_GROUP)

#ifndef HP_FN
#define HP_FN static inline
#endif
/* A function off the common path: kept out of line, so that the common path stays short. */
#ifndef HP_RARE
#define HP_RARE static __attribute__((__noinline__, __unused__))
#endif
/* A long step that is there once, so that those who take it stay short. */
#ifndef HP_APART
#define HP_APART static __attribute__((__noinline__, __unused__))
#endif
/* The same, but to a verifier a part of its caller. */
#ifndef HP_ASIDE
#define HP_ASIDE HP_RARE
#endif
/* A part of its caller, but on a small stack a function with a frame of its own. */
#ifndef HP_PART
#define HP_PART HP_FN
#endif
/* A function that parameters change by: seldom called, and made small rather than fast. */
#ifndef HP_COLD
#define HP_COLD static __attribute__((__cold__, __noinline__, __unused__))
#endif
/* A step of the algorithm that a verifier looks at on its own; elsewhere a function like others,
 * or, where room is dear, one that is there once. */
#ifndef HP_STEP
#define HP_STEP HP_FN
#endif
/* A small function that many call: where room is dear, one that is there once. */
#ifndef HP_SHARED
#define HP_SHARED HP_FN
#endif
/* Whether to take a short way that does in one case what the long one does in all: where room is
 * dear there is the long one alone. */
#ifndef HP_SHORT_WAY
#define HP_SHORT_WAY(x) (x)
#endif
/* A step that a verifier looks at once, and what it has to be told about a pointer there. */
#ifndef HP_ONCE
#define HP_ONCE HP_STEP
#endif
/* The same off the common path, and as a part of its caller. */
#ifndef HP_RARE_ONCE
#define HP_RARE_ONCE HP_RARE
#endif
#ifndef HP_PART_ONCE
#define HP_PART_ONCE HP_FN
#endif
#ifndef HP_NOT_NULL
#define HP_NOT_NULL
#endif
#ifndef HP_NOTHING
#define HP_NOTHING void
#endif
#ifndef HP_DONE
#define HP_DONE() ((void)0)
#endif
#ifndef HP_FOR
#define HP_FOR(i, n) for (hp_u32 i = 0; i < (n); i++)
#endif
#ifndef HP_FEW
#define HP_FEW(i, n, most) for (hp_u32 i = ((void)(most), 0); i < (n); i++)
#endif
#ifndef HP_EACH_OF
#define HP_EACH_OF(i, set, most)                                                                   \
    for (hp_u32 i = hp_member_from(set, 0); i < (most); i = hp_member_from(set, i + 1u))
#endif
#ifndef HP_JUMP
#define HP_JUMP() ((void)0)
#endif
#ifndef HP_SELDOM
#define HP_SELDOM(x) (x)
#endif
/* The number itself. A verifier forgets what it knew about it: what a loop carries needs that. */
#ifndef HP_FORGET
#define HP_FORGET(x) (x)
#endif

/* An assertion states what cannot happen; it never has an effect. */
#ifndef HP_ASSERT
#define HP_ASSERT(condition) ((void)0)
#endif

/* Where no verifier asks for a mask an index is taken as it is, and asserted to be in range. */
#ifndef HP_INDEX
#define HP_INDEX(i, n) (HP_ASSERT((i) < (n)), (n) == 1u ? 0u : (i))
#endif

/* The least member of this set of numbers, one bit each, that is not below 'from'; or 64. */
HP_FN hp_u32 hp_member_from(hp_u64 set, hp_u32 from) {
    const hp_u64 rest = set >> from;

    return rest ? from + (hp_u32)__builtin_ctzll(rest) : 64u;
}

/* Whether the host offers a rule, as in HP_OFFERS(BUDGET_CBS): what it does not is refused, and the
 * compiler leaves it out. */
#ifndef HP_OFFERS
#define HP_OFFERS(RULE) 1u
#endif

/* Whether the host ever says that a pcpu is stolen (hp_steal): what looks after that is left out
 * where it does not. */
#ifndef HP_STEALS
#define HP_STEALS 1
#endif

/* A record of a refill or a depletion: (core, kind, time, vcpu, value). Off unless asked for. */
#ifndef HP_NOTE
#define HP_NOTE(core, kind, now_ns, vcpu, value) ((void)0)
#endif
