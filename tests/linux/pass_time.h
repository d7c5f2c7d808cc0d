/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loop whose instructions are known, and mostly do nothing. QEMU, where it counts them, is
 * through a block of those at once; of a loop of two each round would be a block.
 */
#ifndef TESTS_LINUX_PASS_TIME_H
#define TESTS_LINUX_PASS_TIME_H

#ifdef __aarch64__
#define ROUND_ENDS "subs %0, %0, #1\n\tb.ne 1b"
#else
#define ROUND_ENDS "dec %0\n\tjnz 1b"
#endif

/* 400 instructions a round, whatever the compiler thinks of loops; at least one round. */
static inline void pass_time(unsigned long rounds) {
    __asm__ volatile("1:\t.rept 398\n\tnop\n\t.endr\n\t" ROUND_ENDS : "+r"(rounds) : : "cc");
}

#endif /* TESTS_LINUX_PASS_TIME_H */
