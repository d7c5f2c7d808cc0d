# SPDX-License-Identifier: BSD-2-Clause
"""Systems that say no more than which tasks they have, judged from numbers alone.

Of very many systems that are alike but for their tasks, as sweeps draw them, what is not a number
is the same: the rules, the proofs behind them, the local scheduler. An example tells it once. Then
a system is lists of loads, and the functions that `analyze` asks are asked of these, without
reading, checking and numbering tasks before and without making a result after. The verdicts are
those of `analyze`, with the same interfaces and bounds.

*Plain* is a system on one pcpu whose domains have one vcpu, periodic tasks under rm, dm or edf, and
an interface that is given or computed, all of them the same way; nothing is taken by overheads,
stolen, spared or to be changed. What else a system may say, and what does not hold within its
interfaces, is for `analyze`, which has reasons for everything: here the answer is None.

Inputs: an example; loads (ns) by domain, in the order of the file. Errors: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod._analysis import Shape
from hyperperiod.analysis.analyze import of_domain
from hyperperiod.analysis.component import LOCALS, Component, Load, NamedLoad
from hyperperiod.analysis.domains.algorithm_1 import optimal_interface
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    contract_under,
    judge_component,
    shape_for,
)
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.resolve import grid_of
from hyperperiod.analysis.servers.host_level import HostVerdict, host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.model import Domain, Interface, Scheduler, Slack, System, Task, priorities_in

Row = tuple[int, int, int, int, int]
"""Wcet, period, deadline; no jitter and no blocking."""

_WCET, _PERIOD, _DEADLINE = range(3)
_RANKS = {Scheduler.RM: _PERIOD, Scheduler.DM: _DEADLINE, Scheduler.EDF: _PERIOD}
"""Which number of a load comes first under a local scheduler the smaller it is."""


class PlainVerdict(NamedTuple):
    """The verdicts on a system, (period, budget) of each domain, and the bounds of its tasks.

    `domains` says whether each gets its budgets, by which all its tasks are in time within
    `bounds_ns`.
    """

    whole: Verdict
    domains: tuple[Verdict, ...]
    interfaces: list[tuple[int, int]]
    bounds_ns: list[list[int]]


def plain_like(example: System) -> PlainSystems | None:
    """Returns the judge of plain systems that are like the example; None if it is not plain."""
    first = example.domains[0]
    if first.scheduler not in _RANKS or example.policy.slack is Slack.SPARE:
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
        self._local, self._rank = LOCALS[first.scheduler], _RANKS[first.scheduler]
        self._given: Interface | None = first.interface
        self._period_ns = first.interface_period_ns
        self._granule_ns = example.quantum_ns or 1
        self._grid = grid_of(first, example.quantum_ns)
        self._turns = example.quantum_ns is not None
        self._priority_of = priorities_in(example)
        self._names = [domain.name for domain in example.domains]

    def judge(self, domains: Sequence[Sequence[Row]]) -> PlainVerdict | None:
        """Returns the verdict on a system of these loads; None if `analyze` is to be asked.

        There may be no more domains than the example has.
        """
        if len(domains) > len(self._names) or any(map(_too_long, domains)):
            return None
        interfaces: list[tuple[int, int]] = []
        bounds_ns: list[list[int]] = []
        for rows in domains:
            component = self._component(rows)
            interface = self._interface(component)
            if interface is None:
                return None
            whole, found = judge_component(component, Supply(self._shape, *interface))
            if not whole.holds:
                return None
            interfaces.append(interface)
            bounds_ns.append([found[str(at)].bound_ns or 0 for at in range(len(rows))])
        host = self._host(interfaces)
        counted = [
            Verdict(said.holds, "" if said.holds else of_domain(name, said.reason))
            for name, said in zip(self._names, host.servers, strict=False)
        ]
        whole = all_of([*counted, host.whole] if host.overload else counted)
        return PlainVerdict(whole, host.servers, interfaces, bounds_ns)

    def _component(self, rows: Sequence[Row]) -> Component:
        """The loads of one domain, each called by its number, highest priority first."""
        order = sorted(range(len(rows)), key=[row[self._rank] for row in rows].__getitem__)
        return Component(self._local, tuple(NamedLoad(str(at), Load(*rows[at])) for at in order))

    def _interface(self, component: Component) -> tuple[int, int] | None:
        """Period and budget, given or computed; None if none serves the loads."""
        if self._given is not None:
            return self._given.period_ns, self._given.budget_ns
        if self._period_ns is None:
            found = optimal_interface([component], self._shape, self._grid)
            return (found.period_ns, found.budget_ns) if found.budget_ns else None
        budget_ns, _ = minimal_budget([component], self._shape, self._period_ns, self._granule_ns)
        return None if budget_ns is None else (self._period_ns, budget_ns)

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
