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

/* A function of the algorithm: where it is called it is part of its caller. */
#ifndef HP_FN
#define HP_FN static inline
#endif
/* A step that many call, or a long one: where room or a verifier's time is dear, it is there once.
 */
#ifndef HP_STEP
#define HP_STEP HP_FN
#endif
/* A step that many paths lead to. A verifier looks at it once, for any numbers, so it takes numbers
 * and the lock domain (HP_NOT_NULL), and returns one: 0 if it has nothing to say. */
#ifndef HP_ONCE
#define HP_ONCE HP_STEP
#endif
#ifndef HP_NOT_NULL
#define HP_NOT_NULL
#endif
/* A function off the common path: kept out of line, so that the common path stays short. */
#ifndef HP_RARE
#define HP_RARE static __attribute__((__noinline__, __unused__))
#endif

/* A loop. Its bound is a constant, or it is left where one is reached. */
#ifndef HP_FOR
#define HP_FOR(i, n) for (hp_u32 i = 0; i < (n); i++)
#endif
/* A loop of few rounds, a constant: they are done in a row. */
#ifndef HP_FEW
#define HP_FEW(i, n) _Pragma("GCC unroll 8") for (hp_u32 i = 0; i < (n); i++)
#endif
/* A loop of n rounds. A verifier is shown all that there ever are in a row: those that are not
 * needed change nothing. */
#ifndef HP_UP_TO
#define HP_UP_TO(i, n, ever) HP_FOR (i, n)
#endif
/* The number itself. A verifier forgets what it knew about it: what a loop carries needs that. */
#ifndef HP_FORGET
#define HP_FORGET(x) (x)
#endif
/* Stands in what an if is about, and keeps a compiler from making two jumps of two choices. */
#ifndef HP_JUMP
#define HP_JUMP() ((void)0)
#endif

/* An assertion states what cannot happen; it never has an effect. */
#ifndef HP_ASSERT
#define HP_ASSERT(condition) ((void)0)
#endif
/* Where no verifier asks for a mask an index is taken as it is, and asserted to be in range. */
#ifndef HP_INDEX
#define HP_INDEX(i, n) (HP_ASSERT((i) < (n)), (n) == 1u ? 0u : (i))
#endif

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
