/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a Linux guest executes before Linux: it notes how far the system counter is ahead of the
 * virtual one, which is all that Linux lets its programs read. Only whoever is privileged can read
 * both, and until Linux begins that is we.
 *
 * This is an image of its own for boot loaders and hypervisors, 2 MiB long; Linux's follows. The
 * difference goes to where the ring will begin (init.c), into `reserved` of its header. The build
 * says how far that is from here (RING_OFFSET), and how large both images are (IMAGE_BYTES).
 */

#define LINUX_OFFSET 0x200000
#define RESERVED 56 /* of struct hp_ring */
#define TRIALS 32

    .text
image:
    b       begin
    .long   0
    .quad   0           /* from the beginning of RAM */
    .quad   IMAGE_BYTES
    .quad   0xa         /* little endian, pages of 4 KiB, anywhere */
    .quad   0, 0, 0
    .ascii  "ARM\x64"
    .long   0

/* The virtual counter is read between two readings of the system counter; the middle of the two
 * that are closest together is right to half their distance. x0 is the device tree, for Linux. */
begin:
    mov     x1, #TRIALS
    mov     x2, #-1     /* the shortest distance */
next:
    isb
    mrs     x4, cntpct_el0
    isb
    mrs     x5, cntvct_el0
    isb
    mrs     x6, cntpct_el0
    sub     x6, x6, x4
    cmp     x6, x2
    b.hs    worse
    mov     x2, x6
    add     x3, x4, x6, lsr #1
    sub     x3, x3, x5
worse:
    subs    x1, x1, #1
    b.ne    next
    adr     x5, image
    mov     x4, #RING_OFFSET
    add     x4, x5, x4
    str     x3, [x4, #RESERVED]
    dsb     sy
    mov     x2, #0
    mov     x3, #0
    mov     x4, #LINUX_OFFSET
    add     x5, x5, x4
    br      x5
