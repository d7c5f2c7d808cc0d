# SPDX-License-Identifier: BSD-2-Clause
"""Linux as a host: servers in the kernel by sched_ext, a process of threads for each domain.

From the bottom up: `build` makes what runs, `machine` boots it in QEMU, `script` says what happens
there, `run` makes a result of what was recorded.
"""
