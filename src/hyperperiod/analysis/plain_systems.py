# SPDX-License-Identifier: BSD-2-Clause
"""Systems that say no more than which tasks they have, judged from numbers alone.

Of very many systems that are alike but for their tasks, as sweeps draw them, what is not a number
is the same: the rules, the proofs behind them, the local scheduler. An example tells it once. Then
a system is lists of loads, and is asked of the kernels and of the tests of its servers, without an
object for each task. The verdicts are those of `analyze`, with the same interfaces and bounds.

*Plain* is a system on one pcpu whose domains have one vcpu, periodic tasks under rm, dm or edf, and
an interface that is given or computed, all of them the same way; nothing is taken by overheads,
stolen, spared or to be changed. What else a system may say, and what does not hold within its
interfaces, is for `analyze`, which has reasons for everything: here the answer is None.

Inputs: an example; loads (ns) by domain, in the order of the file. Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.analyze import of_domain
from hyperperiod.analysis.domains.domain_level import NotCovered, contract_under, shape_for
from hyperperiod.analysis.resolve import grid_of
from hyperperiod.analysis.servers.host_level import HostVerdict, host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.model import Domain, Interface, Scheduler, Slack, System, Task, priorities_in

Row = tuple[int, int, int, int, int]
"""Wcet, period, deadline; no jitter and no blocking."""

_WCET, _PERIOD, _DEADLINE = range(3)
_LOCALS = {
    Scheduler.RM: (Local.FIXED_PRIORITY, _PERIOD),
    Scheduler.DM: (Local.FIXED_PRIORITY, _DEADLINE),
    Scheduler.EDF: (Local.EDF, _PERIOD),
}
"""The kernel of a local scheduler, and which number of a load comes first the smaller it is."""


class PlainVerdict(NamedTuple):
    """What is known of a system: (period, budget) of each domain, and the bounds of its tasks.

    `domains` says whether each gets its budgets, by which all its tasks are in time within
    `bounds_ns`.
    """

    whole: Verdict
    domains: tuple[Verdict, ...]
    interfaces: list[tuple[int, int]]
    bounds_ns: list[list[int]]


def plain_like(example: System) -> PlainSystems | None:
    """What judges plain systems that are like the example; None if it is not plain."""
    first = example.domains[0]
    if first.scheduler not in _LOCALS or example.policy.slack is Slack.SPARE:
        return None
    if first.best_effort or example != _only_tasks_of(example):
        return None
    contract = contract_under(example.policy, first, example.sbf)
    try:
        shape = shape_for(contract, None, [])
    except NotCovered:
        return None
    return PlainSystems(example, first, shape)


def _only_tasks_of(system: System) -> System:
    """The system with nothing but the keys that are looked at here."""
    first = system.domains[0]
    return System(
        name=system.name,
        policy=system.policy,
        quantum_ns=system.quantum_ns,
        domains=[
            Domain(
                name=domain.name,
                scheduler=first.scheduler,
                interface=first.interface,
                interface_period_ns=first.interface_period_ns,
                interface_period_range=first.interface_period_range,
                tasks=[
                    Task(
                        name=task.name,
                        period_ns=task.period_ns,
                        wcet_ns=task.wcet_ns,
                        deadline_ns=task.deadline_ns,
                        etf=task.etf,
                    )
                    for task in domain.tasks
                    if task.period_ns is not None and task.wcet_ns is not None
                ],
            )
            for domain in system.domains
        ],
    )


class PlainSystems:
    """Judges systems that are like an example, which `plain_like` has looked at."""

    def __init__(self, example: System, first: Domain, shape: Shape) -> None:
        self._policy, self._shape = example.policy, shape
        self._local, self._rank = _LOCALS[first.scheduler]
        self._given: Interface | None = first.interface
        self._period_ns = first.interface_period_ns
        self._granule_ns = example.quantum_ns or 1
        grid = grid_of(first, example.quantum_ns)
        self._grid = (grid.granule_ns, grid.first_ns, grid.step_ns, grid.last_ns or 0)
        self._turns = example.quantum_ns is not None
        self._priority_of = priorities_in(example)
        self._names = [domain.name for domain in example.domains]

    def judge(self, domains: Sequence[Sequence[Row]]) -> PlainVerdict | None:
        """What is known of a system of these loads; None if `analyze` is to be asked.

        There may be no more domains than the example has.
        """
        if len(domains) > len(self._names) or any(map(_too_long, domains)):
            return None
        ranks = [
            sorted(range(len(rows)), key=[row[self._rank] for row in rows].__getitem__)
            for rows in domains
        ]
        ranked = [[rows[at] for at in rank] for rows, rank in zip(domains, ranks, strict=True)]
        interfaces: list[tuple[int, int]] = []
        for rows in ranked:
            interface = self._interface(rows)
            if interface is None:
                return None
            interfaces.append(interface)
        bounds_ns: list[list[int]] = []
        for rows, rank, interface in zip(ranked, ranks, interfaces, strict=True):
            found = self._bounds(rows, interface)
            if found is None:
                return None
            in_order = [0] * len(found)
            for at, bound_ns in zip(rank, found, strict=True):
                in_order[at] = bound_ns
            bounds_ns.append(in_order)
        host = self._host(interfaces)
        counted = [
            Verdict(said.holds, "" if said.holds else of_domain(name, said.reason))
            for name, said in zip(self._names, host.servers, strict=False)
        ]
        whole = all_of([*counted, host.whole] if host.overload else counted)
        return PlainVerdict(whole, host.servers, interfaces, bounds_ns)

    def _interface(self, rows: list[Row]) -> tuple[int, int] | None:
        """Period and budget, given or computed; None if none serves the loads."""
        if self._given is not None:
            return self._given.period_ns, self._given.budget_ns
        if self._period_ns is None:
            found = _analysis.optimal_interface([(self._local, rows)], self._shape, self._grid)
            return (found[0], found[1]) if found[1] else None
        budget_ns, _ = _analysis.minimal_budget(
            self._local, rows, self._shape, self._period_ns, self._granule_ns
        )
        return None if budget_ns is None else (self._period_ns, max(self._granule_ns, budget_ns))

    def _bounds(self, rows: list[Row], interface: tuple[int, int]) -> list[int] | None:
        """The response bound of each load, highest priority first; None if not all have one."""
        if self._local is Local.EDF:
            verdict, _ = _analysis.judge(self._local, rows, (self._shape, *interface, 0))
            holds = verdict is _analysis.Verdict.HOLDS
            return [row[_DEADLINE] for row in rows] if holds else None
        found = _analysis.responses(rows, (self._shape, *interface, 0))
        if any(verdict is not _analysis.Verdict.HOLDS for verdict, _ in found):
            return None
        return [bound_ns for _, bound_ns in found]

    def _host(self, interfaces: Sequence[tuple[int, int]]) -> HostVerdict:
        """Whether the servers get their budgets."""
        servers = tuple(
            Server(
                order=index,
                name=self._names[index],
                period_ns=period_ns,
                budget_ns=budget_ns,
                priority=self._priority_of(None, period_ns),
                domain_index=index,
            )
            for index, (period_ns, budget_ns) in enumerate(interfaces)
        )
        group = Group(servers, turns=self._turns)
        return host_level(self._policy, group, verdicts_only=True)


def _too_long(rows: Sequence[Row]) -> bool:
    """Whether a load cannot be done before it is due, or comes again."""
    return any(row[_WCET] > min(row[_PERIOD], row[_DEADLINE]) for row in rows)
