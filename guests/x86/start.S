/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where Xen enters a paravirtual guest, and the notes that tell its domain builder how to load it.
 */
#define __ASSEMBLY__
#include <xen/elfnote.h>

.macro note_text type, text
    .pushsection .note.xen, "a", @note
    .balign 4
    .long 4, 2f - 1f, \type
    .asciz "Xen"
1:  .asciz "\text"
2:  .balign 4
    .popsection
.endm

.macro note_number type, number
    .pushsection .note.xen, "a", @note
    .balign 4
    .long 4, 8, \type
    .asciz "Xen"
    .quad \number
    .popsection
.endm

    note_text XEN_ELFNOTE_GUEST_OS, "hyperperiod"
    note_text XEN_ELFNOTE_XEN_VERSION, "xen-3.0"
    note_text XEN_ELFNOTE_LOADER, "generic"
    note_number XEN_ELFNOTE_VIRT_BASE, 0
    note_number XEN_ELFNOTE_PADDR_OFFSET, 0
    note_number XEN_ELFNOTE_ENTRY, start
    note_number XEN_ELFNOTE_HYPERCALL_PAGE, hypercall_page

.text
.globl start
start:
    cld
    mov %rsi, %rdi /* the start info */
    lea first_stack_end(%rip), %rsp
    xor %ebp, %ebp
    call begin
    ud2

.balign 4096
.globl hypercall_page
hypercall_page:
    .skip 4096

.bss
.balign 16
    .skip 16384
first_stack_end:

.section .note.GNU-stack, "", @progbits
