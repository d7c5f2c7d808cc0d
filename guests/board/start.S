/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first instructions of a guest on each of its vcpus, the exception vectors, and the busy
 * loop that all work is made of.
 *
 * An interrupt is taken in one place only, inside busy_loop, and all it does is to end the loop
 * early: whoever called the loop sees how many rounds are left and looks at the interrupt
 * controller itself. So there is nothing to save, no second stack, and no code that can be
 * interrupted where it would matter. Most of the loop's instructions do nothing, in a block of many
 * rounds: a machine that counts instructions is through those at once. A round is two of them, and
 * an interrupt inside the block gives back the rounds that it had not come to.
 *
 * The MMU maps addresses to themselves, with caches on: one table of 1 GiB blocks, which is part
 * of the image, so that nothing is written to memory before caches are on.
 */

    .section .head, "ax"
    .global _start
_start:
    b       first_vcpu
    .long   0
    .quad   0x80000                 /* where the image goes, from the start of RAM */
    .quad   image_size
    .quad   0xa                     /* little endian, pages of 4 KiB */
    .quad   0, 0, 0
    .ascii  "ARM\x64"
    .long   0

    .text
first_vcpu:
    mov     x19, x0                 /* the device tree */
    bl      enable_mmu
    adrp    x0, bss_start           /* from here on: domain 0 is not where it was linked for */
    add     x0, x0, :lo12:bss_start
    adrp    x1, bss_end
    add     x1, x1, :lo12:bss_end
1:  stp     xzr, xzr, [x0], #16
    cmp     x0, x1
    b.lo    1b
    mov     x0, #0
    bl      take_stack
    mov     x0, x19
    b       guest_main

    .global next_vcpu
next_vcpu:                          /* x0: the vcpu's number, as start_vcpu gave it */
    mov     x19, x0
    bl      enable_mmu
    mov     x0, x19
    bl      take_stack
    mov     x0, x19
    b       guest_main_of_vcpu

take_stack:                         /* the stack of vcpu x0 */
    adrp    x1, stacks
    add     x1, x1, :lo12:stacks
    add     x0, x0, #1
    add     x1, x1, x0, lsl #12
    mov     sp, x1
    ret

enable_mmu:
    ldr     x0, =0xff00             /* attribute 0: device, 1: memory with write-back caches */
    msr     mair_el1, x0
    ldr     x0, =0x100803519        /* 39 bits, 4 KiB pages, cached inner shareable walks */
    msr     tcr_el1, x0
    adr     x0, first_table
    msr     ttbr0_el1, x0
    adr     x0, vectors
    msr     vbar_el1, x0
    dsb     ish
    tlbi    vmalle1
    dsb     ish
    ic      iallu
    dsb     ish
    isb
    ldr     x0, =0x30d01805         /* MMU, caches for data and instructions; the rest reserved */
    msr     sctlr_el1, x0
    isb
    ret

    .set    BLOCK_ROUNDS, 128
    .set    BLOCK_BYTES, 8 * BLOCK_ROUNDS
    .set    BEFORE_TAKEN, 12        /* bytes of the block before its rounds are taken */

/* unsigned long long busy_loop(unsigned long long rounds): what an interrupt left of them. */
    .global busy_loop
busy_loop:
    cbz     x0, 2f
    msr     daifclr, #2
    b       busy_block
    .balign BLOCK_BYTES             /* on one page */
busy_block:
    cmp     x0, #BLOCK_ROUNDS
    b.lo    1f
    sub     x0, x0, #BLOCK_ROUNDS
    .rept   2 * BLOCK_ROUNDS - 4
    nop
    .endr
    b       busy_block
1:  cbz     x0, busy_loop_end
3:  subs    x0, x0, #1
    b.ne    3b
busy_loop_end:
    msr     daifset, #2
2:  ret

    .macro  unexpected
    .balign 0x80
    mrs     x0, esr_el1
    mrs     x1, elr_el1
    mrs     x2, far_el1
    b       guest_exception
    .endm

    .balign 0x800
vectors:
    .rept   5
    unexpected
    .endr
    .balign 0x80                    /* an interrupt, on this stack; x16 and x17 are free */
    mrs     x16, elr_el1
    adr     x17, busy_block
    sub     x16, x16, x17
    cmp     x16, #BLOCK_BYTES
    b.hs    1f
    sub     x0, x0, x16, lsr #3     /* a round is eight bytes */
    cmp     x16, #BEFORE_TAKEN
    b.lo    1f
    add     x0, x0, #BLOCK_ROUNDS
1:  adr     x16, busy_loop_end
    msr     elr_el1, x16
    mrs     x17, spsr_el1
    orr     x17, x17, #0x80         /* with interrupts off */
    msr     spsr_el1, x17
    eret
    .rept   10
    unexpected
    .endr

    .section .rodata
    .balign 4096
first_table:
    .quad   0x0060000000000401      /* 0: devices, never executed */
    .quad   0x40000705              /* 1 GiB to 4 GiB: memory */
    .quad   0x80000705
    .quad   0xc0000705
    .quad   0x100000705             /* 4 GiB to 5 GiB: shared memory */
    .fill   507, 8, 0

    .bss
    .balign 4096
    .global stacks
stacks:
    .skip   4096 * 16               /* MAX_VCPUS */
