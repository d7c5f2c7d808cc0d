# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of drawn systems: rows for systems, domains and tasks.

A system is *accepted* by the analysis if `analyze` says that every deadline holds, by the
simulator or a machine if no job missed its deadline up to the horizon, and by a test of tasks if
the test says yes. Null is neither: a test that does not know. A domain that no interface can be
computed for cannot run: its system is not accepted, and the reason says so.

Rows are columns, which `tables` writes: lists, and arrays in which a negative number is null. All
systems of a part are judged together: the simulator runs them in one call, and so does each test;
machines, which boot for each, run them one after the other. Where the analysis
alone is asked, systems that are alike but for their tasks are judged from what was drawn
(`plain_systems`), and only those that need a reason of their own become objects.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from math import fsum, lcm
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperperiod import runs as running
from hyperperiod.analysis import Analysis
from hyperperiod.analysis.plain_systems import PlainSystems, PlainVerdict, Row, plain_like
from hyperperiod.analysis.result import AnalysisResult, DomainResult
from hyperperiod.experiments.sweep.experiment import (
    MACHINES,
    Host,
    PartOfWork,
    TaskTest,
    domain_name,
    drawn_domains,
    only_loads_are_drawn,
    seed_of,
    system_of,
    task_name,
)
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.sim import TASK_COUNTS, ManyCounts
from hyperperiod.model import Domain, InputError, System
from hyperperiod.runs import complete, simulate_many

Columns = dict[str, list[Any] | NDArray[Any]]

SYSTEMS = ("system", "seed", "utilization", "judge", "accepted", "reason")
DOMAINS = ("system", "domain", "utilization", "period_ns", "budget_ns", "schedulable")
TASKS = (
    *("system", "domain", "task", "period_ns", "wcet_ns", "deadline_ns"),
    *("schedulable", "bound_ns"),
)
RUN_OF_DOMAIN = ("supply_ns", "donated_ns")
RUN_OF_TASK = ("jobs", "misses", "dmr", "min_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns")
NO_INTERFACE = "no interface: "


def judge(part: PartOfWork) -> Mapping[str, Columns]:
    """The rows of a part, by table: `systems`, `domains` and `tasks`."""
    # What a part makes goes when nothing refers to it any more. To look for cycles, of which there
    # are none, takes a tenth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _judge(part)
    finally:
        if collects:
            gc.enable()


def _judge(part: PartOfWork) -> Mapping[str, Columns]:
    sweep, numbers = part.point.sweep, range(part.first, part.end)
    rows = {"systems": _Rows(SYSTEMS), "domains": _Rows(DOMAINS), "tasks": _Rows(TASKS)}
    verdicts: dict[str, list[_Verdict]] = {judge: [] for judge in (*sweep.hosts, *sweep.tests)}
    utilizations: list[float] = []
    systems, runs = [], []
    plain = _plain(part)
    to_run = bool(set(sweep.hosts) - {Host.ANALYSIS})
    for number in numbers:
        drawn = drawn_domains(part.point, number) if plain else []
        quick = plain.judge(drawn) if plain else None
        if quick:
            verdicts[Host.ANALYSIS].append((quick.whole.holds, quick.whole.reason or None))
            utilizations.append(_add_plain(rows, number, drawn, quick))
            continue
        system, known, found = system_of(part.point, number), None, None
        if sweep.hosts:
            analysis = Analysis(system, verdicts_only=True)
            known = analysis.system
        if Host.ANALYSIS in sweep.hosts:
            found = analysis.result()
            verdicts[Host.ANALYSIS].append((found.schedulable, found.reason or None))
        runs.append(_run_of(analysis) if to_run else NO_RUN)
        systems.append(system)
        utilizations.append(fsum(float(domain.utilization) for domain in system.domains))
        _add_domains(rows, number, system, known or system, found)
    seeds = [seed_of(part.point, number) for number in numbers]
    if Host.SIM in sweep.hosts:
        runnable = [(run.system, seed) for run, seed in zip(runs, seeds, strict=True) if run.system]
        counts = simulate_many(runnable, sweep.horizon_ns)
        verdicts[Host.SIM] = _verdicts_of_runs(runs, counts)
        counted = _columns_of_runs(systems, [run.system is not None for run in runs], counts)
    else:
        counted = _columns_of_no_run(len(rows["domains"]), len(rows["tasks"]))
    for host in MACHINES:
        if host in sweep.hosts:
            measured = _measured(host, runs, seeds, sweep.horizon_ns)
            verdicts[host] = [
                (found.misses == 0, None) if found else (False, run.reason)
                for found, run in zip(measured, runs, strict=True)
            ]
            for table, columns in _columns_of_machine(host, systems, measured).items():
                counted[table] |= columns
    for test in sweep.tests:
        verdicts[test] = [(said, None) for said in _test(test, systems)]
    for at, number in enumerate(numbers):
        for name, said in verdicts.items():
            rows["systems"].add(number, seeds[at], utilizations[at], name, *said[at])
    return {name: one.columns | counted.get(name, {}) for name, one in rows.items()}


def _plain(part: PartOfWork) -> PlainSystems | None:
    """What judges the systems of a part without making them, if all that is asked for is that."""
    sweep = part.point.sweep
    if sweep.tests or sweep.hosts != (Host.ANALYSIS,):
        return None
    if sweep.draw is None or not only_loads_are_drawn(sweep.draw):
        return None
    return plain_like(system_of(part.point, part.first))


_Verdict = tuple[bool | None, str | None]
"""Whether a system is accepted, and why not."""


class _Run(NamedTuple):
    """A system with all its interfaces, or why it cannot run."""

    system: System | None
    reason: str = ""


NO_RUN = _Run(None)


class _Rows:
    """A table that grows row by row."""

    def __init__(self, names: Sequence[str]) -> None:
        lists: dict[str, list[Any]] = {name: [] for name in names}
        self.columns: Columns = {**lists}
        self._adders = [column.append for column in lists.values()]

    def __len__(self) -> int:
        return len(self.columns["system"])

    def add(self, *row: Any) -> None:
        """One row, in the order of the columns."""
        for append, value in zip(self._adders, row, strict=True):
            append(value)


def _run_of(analysis: Analysis) -> _Run:
    try:
        return _Run(complete(analysis))
    except InputError:
        reasons = [verdict.reason for verdict in analysis.resolution.failures.values()]
        return _Run(None, NO_INTERFACE + (reasons[0] if reasons else "none is known"))


def _verdicts_of_runs(runs: Sequence[_Run], counts: ManyCounts) -> list[_Verdict]:
    """What the simulator says of each system."""
    misses = iter(counts.misses.tolist())
    return [(next(misses) == 0, None) if run.system else (False, run.reason) for run in runs]


def _columns_of_runs(
    systems: Sequence[System], runs: Sequence[bool], counts: ManyCounts
) -> dict[str, Columns]:
    """Columns for all domains and tasks; they say nothing of systems that did not run."""
    tasks = _spread(
        counts.tasks, runs, [sum(len(one.tasks) for one in system.domains) for system in systems]
    )
    numbers = dict(zip(TASK_COUNTS, tasks.T, strict=True))
    due, _ = numbers.pop("due"), numbers.pop("finished")
    dmr = np.where(due > 0, numbers["misses"] / np.maximum(due, 1), -1.0)
    vcpus = [
        one.vcpus
        for system, ran in zip(systems, runs, strict=True)
        if ran
        for one in system.domains
    ]
    first_vcpus = np.cumsum([0, *vcpus])[:-1]
    given = np.add.reduceat(counts.vcpus, first_vcpus) if vcpus else counts.vcpus
    domains = _spread(given, runs, [len(system.domains) for system in systems])
    return {
        "tasks": {**numbers, "dmr": dmr},
        "domains": {"supply_ns": domains[:, 0], "donated_ns": domains[:, 1]},
    }


def _columns_of_no_run(domains: int, tasks: int) -> dict[str, Columns]:
    """The columns of runs where there are none."""
    nothing = np.full(tasks, -1, np.int64)
    numbers = {name: nothing for name in TASK_COUNTS if name not in ("due", "finished")}
    no_supply = np.full(domains, -1, np.int64)
    return {
        "tasks": {**numbers, "dmr": np.full(tasks, -1.0)},
        "domains": {"supply_ns": no_supply, "donated_ns": no_supply},
    }


def _measured(
    host: Host, runs: Sequence[_Run], seeds: Sequence[int], horizon_ns: int
) -> list[RunResult | None]:
    """What a machine made of each system that can run.

    Ctrl-C, after which a machine says what it reached, is no result, and ends the part.
    """
    run_on = running.run_on_xen if host is Host.XEN else running.run_on_linux
    found: list[RunResult | None] = []
    for run, seed in zip(runs, seeds, strict=True):
        found.append(None if run.system is None else run_on(run.system, horizon_ns, seed))
        if found[-1] is not None and found[-1].interrupted:
            raise KeyboardInterrupt
    return found


def _columns_of_machine(
    host: Host, systems: Sequence[System], found: Sequence[RunResult | None]
) -> dict[str, Columns]:
    """The columns of runs on a machine, called as those of the simulator behind its name."""
    tasks, domains = [], []
    for system, run in zip(systems, found, strict=True):
        if run is None:
            tasks += [dict.fromkeys(RUN_OF_TASK) for one in system.domains for _ in one.tasks]
            domains += [dict.fromkeys(RUN_OF_DOMAIN) for _ in system.domains]
        else:
            tasks += run.rows("tasks")
            domains += run.rows("domains")
    return {
        "tasks": {f"{host}_{name}": [row[name] for row in tasks] for name in RUN_OF_TASK},
        "domains": {f"{host}_{name}": [row[name] for row in domains] for name in RUN_OF_DOMAIN},
    }


def _spread(
    counts: NDArray[np.int64], runs: Sequence[bool], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """The rows of the systems that ran at their places among those of all; -1 between them."""
    there = np.repeat(runs, sizes)
    rows = np.full((len(there), counts.shape[1]), -1, np.int64)
    rows[there] = counts
    return rows


def _add_domains(
    rows: Mapping[str, _Rows],
    number: int,
    system: System,
    known: System,
    found: AnalysisResult | None,
) -> None:
    """Rows for the domains of a system and their tasks, with what the analysis says of them."""
    interfaces = {domain.name: domain.interface for domain in known.domains}
    for index, domain in enumerate(system.domains):
        interface = interfaces.get(domain.name)
        judged = found.domains[index] if found else None
        rows["domains"].add(
            number,
            domain.name,
            judged.utilization if judged else float(domain.utilization),
            interface.period_ns if interface else None,
            interface.budget_ns if interface else None,
            judged.schedulable if judged else None,
        )
        _add_tasks(rows["tasks"], number, domain, judged)


def _add_tasks(rows: _Rows, number: int, domain: Domain, judged: DomainResult | None) -> None:
    bounds = judged.tasks if judged else [None] * len(domain.tasks)
    for task, bound in zip(domain.tasks, bounds, strict=True):
        rows.add(
            number,
            domain.name,
            task.name,
            task.period_ns,
            task.wcet_ns,
            task.deadline_ns,
            bound.schedulable if bound else None,
            bound.response_bound_ns if bound else None,
        )


def _add_plain(
    rows: Mapping[str, _Rows], number: int, drawn: Sequence[Sequence[Row]], found: PlainVerdict
) -> float:
    """The rows of a system that was judged without being made; its utilization."""
    shares: list[float] = []
    add_domain, add_task = rows["domains"].add, rows["tasks"].add
    for index, loads in enumerate(drawn):
        holds, name = found.domains[index].holds, domain_name(index)
        shares.append(_utilization(loads))
        add_domain(number, name, shares[-1], *found.interfaces[index], holds)
        # A task is in time by its bound if its servers get their budgets, and else nobody knows.
        known = True if holds else None
        for at, (wcet_ns, period_ns, deadline_ns, _, _) in enumerate(loads):
            bound_ns = found.bounds_ns[index][at] if holds else None
            add_task(number, name, task_name(at), period_ns, wcet_ns, deadline_ns, known, bound_ns)
    return fsum(shares)


def _utilization(loads: Sequence[Row]) -> float:
    """What the loads ask for, rounded once."""
    top, bottom = 0, 1
    for wcet_ns, period_ns, *_ in loads:
        both = lcm(bottom, period_ns)
        top = top * (both // bottom) + wcet_ns * (both // period_ns)
        bottom = both
    return top / bottom


def _test(test: TaskTest, systems: Sequence[System]) -> list[bool | None]:
    """A test of the tasks of each system, without their domains, on the pcpus that it has."""
    from hyperperiod.analysis import batch
    from hyperperiod.analysis.component import Load
    from hyperperiod.analysis.tasks.hyperbolic import hyperbolic
    from hyperperiod.analysis.tasks.liu_layland import liu_layland

    loads = [
        [
            Load(
                task.wcet_ns or 0,
                task.period_ns or 0,
                task.deadline_ns or 0,
                task.jitter_ns,
                task.blocking_ns,
            )
            for domain in system.domains
            for task in domain.tasks
            if task.period_ns is not None
        ]
        for system in systems
    ]
    if test in (TaskTest.LIU_LAYLAND, TaskTest.HYPERBOLIC):
        bound = liu_layland if test is TaskTest.LIU_LAYLAND else hyperbolic
        return [bound(one).holds for one in loads]
    sets = batch.Sets.of(loads)
    pcpus = systems[0].pcpus
    if test in (TaskTest.RESPONSE_TIME, TaskTest.QPA):
        on_one = batch.response_time if test is TaskTest.RESPONSE_TIME else batch.qpa
        judged = on_one(sets.deadline_monotonic())
    else:
        judged = {
            TaskTest.GFB: batch.gfb,
            TaskTest.BAKER: batch.baker,
            TaskTest.BCL: batch.bcl,
            TaskTest.ITERATIVE_BCL: batch.iterative_bcl,
        }[test](sets, pcpus)
    words = {batch.YES: True, batch.NO: False, batch.UNKNOWN: None}
    return [words[int(verdict)] for verdict in judged.verdicts]
