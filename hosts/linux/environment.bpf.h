/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core as a BPF program: included before core/hyperperiod.h.
 *
 * The kernel's verifier walks every path with all it knows about every number, and merges two
 * paths only where it knows the same. What keeps the walk short:
 *
 *  - A function is either part of its caller, or walked once, for any numbers: HP_ONCE. Such a step
 *    is told which pointers it may rely on (HP_NOT_NULL), and has to return a number; what was
 *    known inside is gone when it returns. Steps nest at most eight deep.
 *  - A loop's counter starts as a number the verifier does not know, is forgotten before every
 *    round, and the loop may be left at any time (may_goto): so the second round looks like the
 *    first and is not walked again. What else a loop carries is forgotten too: HP_FORGET.
 *  - An index is masked where the compiler cannot see it, or it turns the mask into a moving
 *    pointer that the verifier refuses.
 */
#ifndef HYPERPERIOD_LINUX_ENVIRONMENT_BPF_H
#define HYPERPERIOD_LINUX_ENVIRONMENT_BPF_H

#define HP_FN static __attribute__((always_inline, unused))
#define HP_STEP HP_FN
#define HP_RARE HP_FN
#ifndef HP_ONCE
#define HP_ONCE __attribute__((__noinline__))
#endif
#define HP_NOT_NULL __attribute__((__btf_decl_tag__("arg:nonnull")))

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
    for (hp_u32 i = (hp_u32)hp_zero; i = HP_FORGET(i), i < (n) && HP_MAY_LOOP(); i++)
/* A counter that the verifier does not know costs more than a short round does. */
#define HP_FEW(i, n) _Pragma("unroll") for (hp_u32 i = 0; i < (n); i++)
#define HP_UP_TO(i, n, ever) HP_FEW(i, ever)
#define HP_INDEX(i, n)                                                                             \
    ({                                                                                             \
        hp_u32 index_ = (i);                                                                       \
        if (!__builtin_constant_p(index_))                                                         \
            asm("" : "+r"(index_));                                                                \
        index_ &((n) - 1u);                                                                        \
    })
/* The machine has no instruction that chooses between two numbers. */
#define HP_JUMP() asm volatile("")
#define HP_ASSERT(condition) ((void)0)

#endif
