# SPDX-License-Identifier: BSD-2-Clause
"""Slices for driver loops: from deadlines and execution times to slices, periods, priorities.

`fit_loop.fit_loop` is the whole; `problem` says what is open, `paper` follows the inequalities of
the PSEDF paper, `search` looks for the least bandwidth that the sound bounds accept, with
`relaxation` for what no choice in a whole range can do better.
"""
