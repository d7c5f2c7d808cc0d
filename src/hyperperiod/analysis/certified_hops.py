# SPDX-License-Identifier: BSD-2-Clause
"""Jitters and responses of hops that agree with one another, as a certificate has them.

That is the analysis of flows (`flows`) as far as the theorems go (proofs/flow_bounds.v): each visit
of a flow to a task is a task of its own, all of equal rank, and an item is through a hop within the
response there. Releases at the next hop spread by that response more, less what a job takes at
least. What queues, spacing, gaps between budgets and rows of hops bound is not used.

Under EDF the response is the deadline, if all are kept with these jitters: that is left to the
points of the domain.

Inputs: flows, and the domains that may be certified. Results: the loads of these domains, and why
some of them have none; times in nanoseconds. Errors: none.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from hyperperiod.analysis.component import Load, component_of_tasks
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.flows.busy_window import response_bound
from hyperperiod.analysis.flows.fixed_point import ROUNDS
from hyperperiod.analysis.flows.stream import Stream
from hyperperiod.model import Domain, Flow, Scheduler, Task

Visit = tuple[str, int]
"""A flow, by its name, and the number of a hop on its way, from 0."""


class Supplied(NamedTuple):
    """A domain that may be certified, and its supply."""

    domain: Domain
    supply: Supply


class Row(NamedTuple):
    """A task that is no hop, or a visit to one; rows of one level are of equal rank.

    The deadline of a visit is the bound on its response.
    """

    task: str
    level: int
    load: Load
    visit: Visit | None = None


Rows = dict[str, list[Row]]
"""By domain, highest priority first."""


def known_rows(
    flows: Sequence[Flow], refused: Container[str], domains: Iterable[Supplied]
) -> tuple[Rows, dict[str, str]]:
    """Returns the rows of all domains of which enough is known, and why of others that is not so.

    Of the flows that are refused, by their names, nothing is known.
    """
    known = list(domains)
    why: dict[str, str] = {}
    while True:
        lost = dict(_behind_a_gap(flows, refused, known))
        rows: Rows = {}
        if not lost:
            rows, lost = _settled([one for one in flows if one.name not in refused], known)
        if not lost:
            return rows, why
        why |= lost
        known = [one for one in known if one.domain.name not in lost]


def hops_of(domains: Iterable[Supplied]) -> dict[str, tuple[str, Task]]:
    """Returns the tasks of domains with the names of these, by what flows call them."""
    return {
        f"{one.domain.name}.{task.name}": (one.domain.name, task)
        for one in domains
        for task in one.domain.tasks
    }


def first_hops(flow: Flow, known: Container[str]) -> tuple[str, ...]:
    """Returns the hops of a flow up to the first one that is not among the known."""
    return tuple(takewhile(known.__contains__, flow.hops))


def _behind_a_gap(
    flows: Sequence[Flow], refused: Container[str], known: Sequence[Supplied]
) -> Iterator[tuple[str, str]]:
    """Yields the domains to which items come of which too little is known, and why."""
    tasks = hops_of(known)
    for flow in flows:
        start = 0 if flow.name in refused else len(first_hops(flow, tasks))
        for hop in flow.hops[start:]:
            if hop in tasks:
                yield tasks[hop][0], f"flow {flow.name}: too little is known of it before {hop}"


def _settled(flows: Sequence[Flow], known: Sequence[Supplied]) -> tuple[Rows, dict[str, str]]:
    """Returns rows whose jitters and responses agree, or why some domains have none."""
    tasks = hops_of(known)
    responses: dict[Visit, int] = {}
    for _ in range(ROUNDS):
        jitters = dict(_jitters(flows, tasks, responses))
        rows = {one.domain.name: list(_rows(one.domain, flows, jitters)) for one in known}
        found: dict[Visit, int] = {}
        lost: dict[str, str] = {}
        for one in known:
            own = rows[one.domain.name]
            for row in own:
                if row.visit is None:
                    continue
                response = _response(row, own, one)
                if response is None:
                    lost[one.domain.name] = f"task {row.task}: no bound within its deadline"
                else:
                    found[row.visit] = response
        if lost:
            return {}, lost
        if found == responses:
            return {name: [_due(row, found) for row in own] for name, own in rows.items()}, {}
        growing = {visit for visit in found if found[visit] != responses.get(visit)}
        responses = found
    return {}, {
        name: f"responses of hops still grow after {ROUNDS} rounds"
        for name, own in rows.items()
        if any(row.visit in growing for row in own)
    }


def _jitters(
    flows: Sequence[Flow], tasks: Mapping[str, tuple[str, Task]], responses: Mapping[Visit, int]
) -> Iterator[tuple[Visit, int]]:
    """Yields how far the releases spread at each hop, by responses or, at first, the least ones."""
    for flow in flows:
        jitter = flow.source.jitter_ns
        for number, hop in enumerate(first_hops(flow, tasks)):
            visit = flow.name, number
            yield visit, jitter
            least = tasks[hop][1].bcet_ns or 1
            jitter += responses.get(visit, least) - least


def _rows(domain: Domain, flows: Sequence[Flow], jitters: Mapping[Visit, int]) -> Iterator[Row]:
    """Yields the tasks of a domain and the visits to them, with these jitters."""
    for level, source in enumerate(component_of_tasks(domain.scheduler, domain.tasks).sources):
        visits = [
            (flow, number)
            for flow in flows
            for number, hop in enumerate(flow.hops)
            if hop == f"{domain.name}.{source.name}"
        ]
        if not visits:
            yield Row(source.name, level, source.load)
        for flow, number in visits:
            assert flow.source.period_ns is not None, "it is no closed one"
            visit = flow.name, number
            load = source.load._replace(period=flow.source.period_ns, jitter=jitters[visit])
            yield Row(source.name, level, load, visit)


def _response(row: Row, rows: Sequence[Row], inside: Supplied) -> int | None:
    """Returns the bound on the response (ns) of a visit; None: there is none by its deadline."""
    if inside.domain.scheduler is Scheduler.EDF:
        return row.load.deadline
    above = [_stream(one.load) for one in rows if one.level <= row.level and one is not row]
    found = response_bound([_stream(row.load)], above, inside.supply)
    return None if found is None or found > row.load.deadline else found


def _stream(load: Load) -> Stream:
    return Stream(load.wcet, load.period, load.jitter)


def _due(row: Row, responses: Mapping[Visit, int]) -> Row:
    """Returns a row with the bound on its response as its deadline, if it is a visit."""
    if row.visit is None:
        return row
    return row._replace(load=row.load._replace(deadline=responses[row.visit]))
