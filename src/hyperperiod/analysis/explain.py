# SPDX-License-Identifier: BSD-2-Clause
"""The test of one task, window by window: what is asked for and what is surely there.

For people who want to see why. Under fixed priority the windows are those in which the first
job of the task can be done; one that holds is enough. Under EDF they are those that end at a
deadline; all must hold, and those up to a few of the longest deadlines are shown. The verdict
itself is that of the analysis, which also covers what is not shown here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.domains.domain_level import NotCovered, Promise, components_of, supply_of
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.overheads import overhead_loads
from hyperperiod.analysis.resolve import Resolution
from hyperperiod.analysis.servers.groups import domains_by_group
from hyperperiod.analysis.tasks.demand_bound import dbf, deadlines_up_to
from hyperperiod.analysis.tasks.request_bound import rbf, testing_points
from hyperperiod.model import Budget, Domain, InputError, System, format_time

MAX_ROWS = 200


def explain_task(resolution: Resolution, name: str) -> str:
    """The text for one task, named domain.task, or only task where that is unique."""
    domain, rule, outermost, task = _find(resolution.system, name)
    system = resolution.system
    members = next(m for m in domains_by_group(system) if outermost in m)
    overhead = overhead_loads(system, [system.domains[index] for index in members])
    period_ns = domain.interface.period_ns if domain.interface else 0
    try:
        if domain.name in resolution.failures:
            raise NotCovered(resolution.failures[domain.name].reason)
        components = components_of(domain)
        promise = Promise(rule, system.sbf, rbf(overhead, period_ns))
        supply = supply_of(domain, promise, components)
    except NotCovered as error:
        return f"{domain.name}.{task}: {error}"
    for component in components:
        for index, source in enumerate(component.sources):
            if source.name == task:
                return "\n".join(_text(domain, component, index, supply))
    return f"{domain.name}.{task}: it has no deadline that a test could show"


def _find(system: System, name: str) -> tuple[Domain, Budget, int, str]:
    """The domain, its budget rule, the index of its outermost domain, and the task's name."""
    found = [
        (domain, rule, index, task.name)
        for index, outermost in enumerate(system.domains)
        for domain, rule in _with_rule(outermost, system.policy.budget)
        for task in domain.tasks
        if name in (task.name, f"{domain.name}.{task.name}")
    ]
    if len(found) == 1:
        return found[0]
    exact = [entry for entry in found if f"{entry[0].name}.{entry[3]}" == name]
    if len(exact) == 1:
        return exact[0]
    tasks = [
        f"{domain.name}.{task.name}"
        for outermost in system.domains
        for domain, _ in _with_rule(outermost, system.policy.budget)
        for task in domain.tasks
    ]
    shown = ", ".join(tasks[:8]) + (", ..." if len(tasks) > 8 else "")
    raise InputError("", None, "--explain", repr(name), f"one task of {shown}")


def _with_rule(domain: Domain, rule: Budget) -> Iterator[tuple[Domain, Budget]]:
    yield domain, rule
    for inner in domain.domains:
        yield from _with_rule(inner, Budget.PERIODIC)


def _text(domain: Domain, component: Component, index: int, supply: Supply) -> Iterator[str]:
    source = component.sources[index]
    yield (
        f"{domain.name}.{source.name}: wcet {format_time(source.load.wcet)}, period"
        f" {format_time(source.load.period)}, deadline {format_time(source.load.deadline)}"
    )
    yield (
        f"supply: {format_time(supply.budget_ns)} in every {format_time(supply.period_ns)},"
        f" blackout {format_time(supply.blackout_ns)}"
    )
    if component.local is Local.FIXED_PRIORITY:
        yield from _request_rows(component.loads[: index + 1], supply)
    elif component.local is Local.EDF:
        yield from _demand_rows(component.loads, supply)
    else:
        yield "fifo: every job waits for all work released before it"


def _request_rows(loads: Sequence[Load], supply: Supply) -> Iterator[str]:
    yield "fixed priority: one window must hold what the task and those above it ask for"
    own, above = loads[-1], loads[:-1]
    yield from _rows(
        [
            (window, rbf(above, window) + own.wcet, supply.sbf(window))
            for window in testing_points(loads)
        ]
    )


def _demand_rows(loads: Sequence[Load], supply: Supply) -> Iterator[str]:
    yield "edf: every window must hold what is released and due in it"
    longest = max(load.deadline for load in loads)
    yield from _rows(
        [
            (window, dbf(loads, window), supply.sbf(window))
            for window in deadlines_up_to(loads, 4 * longest)
        ]
    )


def _rows(rows: Sequence[tuple[int, int, int]]) -> Iterator[str]:
    yield f"{'window':>14} {'demand':>14} {'supply':>14}"
    for window, demand, supply in rows[:MAX_ROWS]:
        mark = "holds" if supply >= demand else "short"
        times = (format_time(window), format_time(demand), format_time(supply))
        yield " ".join(f"{text:>14}" for text in times) + f"  {mark}"
    if len(rows) > MAX_ROWS:
        yield f"... and {len(rows) - MAX_ROWS} longer windows"
