# SPDX-License-Identifier: BSD-2-Clause
"""Server priorities as small numbers, which is what the core takes.

Given priorities are replaced by their rank, and where none are given a server's is the rank of
its period. Beside given ones, and under fp-edf, a server without one is ordinary: it has the last
number of all. A parameter change may bring a period that no server had before: ranks are taken over
all periods that any server will ever have, so that a change never moves anyone else.
"""

from __future__ import annotations

from hyperperiod.model import Change, System, Vcpu, VcpuKeys, by_period, vcpus_of

LAST = 2**24 - 1
"""The core's HP_ORDINARY, which is after every rank."""


class Priorities:
    """The priorities of one system, now and after each of its changes."""

    def __init__(self, system: System) -> None:
        served = [vcpu.given for vcpu in vcpus_of(system) if not vcpu.best_effort]
        self._by_period = by_period(system)
        keys = {key for one in served if (key := self._key(one)) is not None}
        if self._by_period:
            given = (change.interface for change in system.changes)
            keys |= {interface.period_ns for interface in given if interface is not None}
        self._ranks = {key: rank for rank, key in enumerate(sorted(keys))}

    def of(self, vcpu: Vcpu) -> int:
        """The priority that a vcpu's server starts with."""
        return self._rank(self._key(vcpu.given))

    def after(self, change: Change, vcpu: Vcpu) -> int:
        """The priority of a vcpu's server from a change of its interface on."""
        if self._by_period and change.interface is not None:
            return self._ranks[change.interface.period_ns]
        return self._rank(self._key(vcpu.given))

    def _rank(self, key: int | None) -> int:
        return LAST if key is None else self._ranks[key]

    def _key(self, keys: VcpuKeys) -> int | None:
        if not self._by_period:
            return keys.priority
        assert keys.interface is not None, "interfaces must be known"
        return keys.interface.period_ns
