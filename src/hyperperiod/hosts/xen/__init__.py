# SPDX-License-Identifier: BSD-2-Clause
"""Xen as a host: a system booted on the real hypervisor inside QEMU, and what it recorded.

From the bottom up: `images` finds what was built, `machine` boots it, `devicetree` and
`command_line` say what runs. None of these knows more of Xen's scheduler than its options and its
ring, which is read, played again and merged into a trace beside this folder.
"""
