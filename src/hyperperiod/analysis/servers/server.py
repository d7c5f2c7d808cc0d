# SPDX-License-Identifier: BSD-2-Clause
"""Servers as the host-level tests see them.

A host-level test asks: does each server get its budget in every one of its periods in which it
has work? Overheads and stolen time come to it as loads above every server: time that a pcpu may
lose in a window (`overheads`, `stolen`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.model import TimeWindow


class Server(NamedTuple):
    """One vcpu's server; smaller `priority` numbers are higher, `order` is that of the file."""

    order: int
    name: str
    period_ns: int
    budget_ns: int
    priority: int
    domain_index: int = 0
    windows: tuple[TimeWindow, ...] = ()  # where in each period it has its budget, if that is given

    @property
    def bandwidth(self) -> Fraction:
        return Fraction(self.budget_ns, self.period_ns)


@dataclass(frozen=True)
class Group:
    """Servers that compete for `pcpus` pcpus, and what those lose to overheads and thefts."""

    servers: tuple[Server, ...]
    pcpus: int = 1
    overhead: tuple[Load, ...] = ()
    turns: bool = False  # a quantum is set: equals take turns
    stolen: tuple[Load, ...] = ()
    moving: bool = False  # jobs move between some of the vcpus, which may wake up at any time

    @cached_property
    def bandwidth(self) -> Fraction:
        """The sum over all servers, kept since each of them asks for it."""
        return total_bandwidth(self.servers)

    @cached_property
    def periods_ns(self) -> frozenset[int]:
        return frozenset(server.period_ns for server in self.servers)

    @cached_property
    def _numbers(self) -> dict[int, list[int]]:
        numbers: dict[int, list[int]] = {}
        for number, server in enumerate(self.servers):
            numbers.setdefault(server.domain_index, []).append(number)
        return numbers

    def numbers_of(self, domain_index: int) -> list[int]:
        """Returns the places of a domain's servers in `servers`."""
        return self._numbers.get(domain_index, [])

    def before(self, own: Server) -> list[Server]:
        """Returns the other servers of at least its priority: they go before it, or as equals."""
        return [one for one in self.servers if one is not own and one.priority <= own.priority]

    @property
    def overloaded(self) -> bool:
        return self.bandwidth > self.pcpus

    @property
    def lost(self) -> tuple[Load, ...]:
        """Returns the loads that go before every server: overheads and stolen time."""
        return (*self.overhead, *self.stolen)

    def lost_ns(self, window_ns: int) -> int:
        """At most this much of any window on one pcpu is nobody's to be granted."""
        return rbf(self.lost, window_ns)


def total_bandwidth(servers: Sequence[Server]) -> Fraction:
    budgets: dict[int, int] = {}
    for server in servers:
        budgets[server.period_ns] = budgets.get(server.period_ns, 0) + server.budget_ns
    return sum((Fraction(budget, period) for period, budget in budgets.items()), Fraction(0))
