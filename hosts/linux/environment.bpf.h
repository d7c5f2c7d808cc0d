/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core as a BPF program: included before core/hyperperiod.h.
 *
 * The kernel's verifier walks every path with all it knows about every number, and merges two
 * paths only where it knows the same. What keeps the walk short:
 *
 *  - A function is either part of its caller or a step of its own, whose inner state is gone when
 *    it returns. Steps nest at most eight deep.
 *  - A step is walked anew for everything its callers may know. One that many paths lead to is
 *    walked once instead, for any numbers: HP_ONCE. Such a step is told which pointers it may rely
 *    on (HP_NOT_NULL), and has to return a number: 0 if it has nothing to say (HP_DONE).
 *  - A loop's counter starts as a number the verifier does not know, is forgotten before every
 *    round, and the loop may be left at any time (may_goto): so the second round looks like the
 *    first and is not walked again. What else a loop carries is forgotten too: HP_FORGET.
 *  - An index is masked where the compiler cannot see it, or it turns the mask into a moving
 *    pointer that the verifier refuses.
 */
#ifndef HYPERPERIOD_LINUX_ENVIRONMENT_BPF_H
#define HYPERPERIOD_LINUX_ENVIRONMENT_BPF_H

#define HP_FN static __attribute__((always_inline, unused))
#define HP_RARE static __attribute__((__noinline__, __unused__))
#define HP_STEP HP_RARE
#define HP_ASIDE HP_FN
#define HP_PART HP_RARE
#define HP_SHARED HP_FN
#ifndef HP_ONCE
#define HP_ONCE __attribute__((__noinline__))
#endif
#define HP_APART HP_ONCE
#define HP_RARE_ONCE HP_ONCE
#define HP_PART_ONCE HP_ONCE
#define HP_NOT_NULL __attribute__((__btf_decl_tag__("arg:nonnull")))
#define HP_NOTHING hp_u32
#define HP_DONE() return 0
#define HP_COLD HP_FN

/* Zero, which neither compiler nor verifier may know: every BPF program defines it. */
extern volatile unsigned long long hp_zero;
#define HP_FORGET(x) ((__typeof__(x))((x) ^ (__typeof__(x))hp_zero))
#define HP_MAY_LOOP()                                                                              \
    ({                                                                                             \
        __label__ leave, stay;                                                                     \
        hp_u32 more = 1;                                                                           \
        asm volatile goto("may_goto %l[leave]" : : : : leave);                                     \
        goto stay;                                                                                 \
    leave:                                                                                         \
        more = 0;                                                                                  \
    stay:                                                                                          \
        more;                                                                                      \
    })
#define HP_FOR(i, n)                                                                               \
    for (hp_u32 i = (hp_u32)hp_zero; i = HP_FORGET(i), HP_MAY_LOOP() && i < (n); i++)
/* A loop whose rounds from n up to 'most', a constant, change nothing: here it is all rounds in a
 * row, as a counter that the verifier does not know costs more than a short round does. */
#define HP_FEW(i, n, most) _Pragma("unroll") for (hp_u32 i = ((void)(n), 0); i < (most); i++)
/* Whether a number, a constant, is in a set of them, one bit each: one jump of the machine, which
 * the compiler does not know. */
#define HP_IS_IN(i, set)                                                                           \
    ({                                                                                             \
        __label__ is_in, done;                                                                     \
        hp_u32 found = 0;                                                                          \
        asm goto("if %[in] & %[bit] goto %l[is_in]"                                                \
                 :                                                                                 \
                 : [in] "r"((hp_u64)(set)), [bit] "i"(1u << (i))                                   \
                 :                                                                                 \
                 : is_in);                                                                         \
        goto done;                                                                                 \
    is_in:                                                                                         \
        found = 1;                                                                                 \
    done:                                                                                          \
        found;                                                                                     \
    })
/* What is done for each member of a set of numbers below 'most', a constant up to 31: here a
 * question for each number, since what is known about a number is known about its place. */
#define HP_EACH_OF(i, set, most)                                                                   \
    _Pragma("unroll") for (hp_u32 i = 0; i < (most); i++) if (HP_IS_IN(i, set))
#define HP_INDEX(i, n)                                                                             \
    ({                                                                                             \
        hp_u32 index_ = (i);                                                                       \
        asm("" : "+r"(index_));                                                                    \
        index_ &((n) - 1u);                                                                        \
    })
/* Stands in what an if is about: the machine has no instruction that chooses between two numbers,
 * and the compiler would make two jumps of two choices, which are one this way. */
#define HP_JUMP() asm volatile("")
/* Whether this holds, which is seldom: registers are for where it does not. */
#define HP_SELDOM(x) __builtin_expect(!!(x), 0)
#define HP_SHORT_WAY(x) (x)
#define HP_ASSERT(condition) ((void)0)

#endif
