# SPDX-License-Identifier: BSD-2-Clause
"""Packets through a driver domain and back, under SEDF, SEDF' and PSEDF: bounds of the whole loop.

`driver_domain` is what the three rules share, `sedf`, `sedf_prime` and `psedf` are one file each,
in the table of `rules`; `with_overheads` has the bounds where picks take time, by the `account` of
the system. `driver_flows` finds the loop in a system, for the tests of whole flows
(`flows.registry`). `fit.loop` looks for slices by all that.
"""
