# SPDX-License-Identifier: BSD-2-Clause
"""Server priorities as small numbers, which is what the core takes.

Given priorities are replaced by their rank, and where none are given a server's is the rank of
its period. Beside given ones, and under fp-edf, a server without one is ordinary: it has the last
number of all. A parameter change may bring a period that no server had before: ranks are taken over
all periods that any server will ever have, so that a change never moves anyone else.
"""

from __future__ import annotations

from hyperperiod.model import Change, Domain, System, by_period

LAST = 2**24 - 1
"""The core's HP_ORDINARY, which is after every rank."""


class Priorities:
    """The priorities of one system, now and after each of its changes."""

    def __init__(self, system: System) -> None:
        served = [domain for domain in system.domains if not domain.best_effort]
        self._given = {domain.name: domain.priority for domain in served}
        self._by_period = by_period(system)
        keys = {key for domain in served if (key := self._key(domain)) is not None}
        if self._by_period:
            keys |= {change.interface.period_ns for change in system.changes}
        self._ranks = {key: rank for rank, key in enumerate(sorted(keys))}

    def of(self, domain: Domain) -> int:
        """The priority that a domain's servers start with."""
        return self._rank(self._key(domain))

    def after(self, change: Change) -> int:
        """The priority of the changed domain's servers from then on."""
        if self._by_period:
            return self._ranks[change.interface.period_ns]
        return self._rank(self._given[change.domain])

    def _rank(self, key: int | None) -> int:
        return LAST if key is None else self._ranks[key]

    def _key(self, domain: Domain) -> int | None:
        if not self._by_period:
            return domain.priority
        assert domain.interface is not None, "interfaces must be known"
        return domain.interface.period_ns
