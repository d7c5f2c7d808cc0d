# SPDX-License-Identifier: BSD-2-Clause
"""Packets through a driver domain and back, under SEDF, SEDF' and PSEDF: bounds of the whole loop.

`driver_domain` is what the three rules share, `sedf`, `sedf_prime` and `psedf` are one file each,
and `driver_flows` finds the loop in a system. `fit.loop` looks for slices by them.
"""
