# SPDX-License-Identifier: BSD-2-Clause
"""What becomes of drawn systems: rows for systems, domains and tasks.

A system is *accepted* by the analysis if `analyze` says that every deadline holds, by the
simulator if no job missed its deadline up to the horizon, and by a test of tasks if the test says
yes. Null is neither: a test that does not know. A domain that no interface can be computed for
cannot run: its system is not accepted, and the reason says so.

Rows are lists of columns, which `tables` writes. All systems of a part are judged together: the
simulator runs them in one call, and so does each test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hyperperiod.analysis import Analysis, AnalysisResult
from hyperperiod.experiments.sweep.experiment import (
    Host,
    PartOfWork,
    TaskTest,
    seed_of,
    system_of,
)
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import Domain, InputError, System
from hyperperiod.runs import complete, simulate_many

Columns = dict[str, list[Any]]

SYSTEMS = ("system", "seed", "utilization", "judge", "accepted", "reason")
DOMAINS = (
    "system", "domain", "utilization", "period_ns", "budget_ns", "schedulable", "supply_ns",
    "donated_ns",
)  # fmt: skip
TASKS = (
    "system", "domain", "task", "period_ns", "wcet_ns", "deadline_ns", "schedulable", "bound_ns",
    "jobs", "misses", "dmr", "min_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns",
)  # fmt: skip
NO_RUN = (None,) * 8
NO_INTERFACE = "no interface: "


def judge(part: PartOfWork) -> Mapping[str, Columns]:
    """The rows of a part, by table: `systems`, `domains` and `tasks`."""
    sweep = part.point.sweep
    numbers = range(part.first, part.end)
    systems = [system_of(part.point, number) for number in numbers]
    seeds = [seed_of(part.point, number) for number in numbers]
    analyses = [Analysis(system) for system in systems] if sweep.hosts else [None] * len(systems)
    rows = {"systems": _Rows(SYSTEMS), "domains": _Rows(DOMAINS), "tasks": _Rows(TASKS)}
    runs: list[RunResult | None] = [None] * len(systems)
    if Host.SIM in sweep.hosts:
        runs = _runs(analyses, sweep.horizon_ns, seeds)
    judged = {test: _test(test, systems) for test in sweep.tests}
    for at, (system, analysis) in enumerate(zip(systems, analyses, strict=True)):
        found = None
        utilization = float(sum(domain.utilization for domain in system.domains))
        said: list[tuple[str, bool | None, str | None]] = []
        if analysis is not None and Host.ANALYSIS in sweep.hosts:
            found = analysis.result()
            said.append((Host.ANALYSIS, found.schedulable, found.reason or None))
        if Host.SIM in sweep.hosts:
            said.append((Host.SIM, *_of_run(analysis, runs[at])))
        said += [(test, verdicts[at], None) for test, verdicts in judged.items()]
        for verdict in said:
            rows["systems"].add(numbers[at], seeds[at], utilization, *verdict)
        known = system if analysis is None else analysis.resolution.system
        _add_domains(rows, numbers[at], system, known, found, runs[at])
    return {name: one.columns for name, one in rows.items()}


class _Rows:
    """A table that grows row by row."""

    def __init__(self, names: Sequence[str]) -> None:
        self.columns: Columns = {name: [] for name in names}
        self._adders = [column.append for column in self.columns.values()]

    def add(self, *row: Any) -> None:
        """One row, in the order of the columns."""
        for append, value in zip(self._adders, row, strict=True):
            append(value)


def _runs(
    analyses: Sequence[Analysis | None], horizon_ns: int, seeds: Sequence[int]
) -> list[RunResult | None]:
    """The run of each system; None where one has no interfaces and cannot run."""
    completed: list[System | None] = []
    for analysis in analyses:
        assert analysis is not None
        try:
            completed.append(complete(analysis))
        except InputError:
            completed.append(None)
    runnable = [
        (system, seed) for system, seed in zip(completed, seeds, strict=True) if system is not None
    ]
    results = iter(simulate_many(runnable, horizon_ns))
    return [None if system is None else next(results) for system in completed]


def _of_run(analysis: Analysis | None, run: RunResult | None) -> tuple[bool, str | None]:
    if run is not None:
        return run.misses == 0, None
    assert analysis is not None
    reasons = [verdict.reason for verdict in analysis.resolution.failures.values()]
    return False, NO_INTERFACE + (reasons[0] if reasons else "none is known")


def _add_domains(
    rows: Mapping[str, _Rows],
    number: int,
    system: System,
    known: System,
    found: AnalysisResult | None,
    run: RunResult | None,
) -> None:
    """Rows for the domains of a system and their tasks, with what hosts say of them."""
    interfaces = {domain.name: domain.interface for domain in known.domains}
    for index, domain in enumerate(system.domains):
        interface = interfaces.get(domain.name)
        judged = found.domains[index] if found else None
        ran = run.domains[index] if run else None
        rows["domains"].add(
            number,
            domain.name,
            float(domain.utilization),
            interface.period_ns if interface else None,
            interface.budget_ns if interface else None,
            judged.schedulable if judged else None,
            ran.supply_ns if ran else None,
            ran.donated_ns if ran else None,
        )
        _add_tasks(rows["tasks"], number, domain, judged, ran)


def _add_tasks(rows: _Rows, number: int, domain: Domain, judged: Any, ran: Any) -> None:
    for at, task in enumerate(domain.tasks):
        verdict = (None, None)
        if judged:
            bound = judged.tasks[at]
            verdict = (bound.schedulable, bound.response_bound_ns)
        counts: tuple[Any, ...] = NO_RUN
        if ran:
            one = ran.tasks[at]
            times = one.response_ns
            counts = (one.jobs, one.misses, one.dmr) + (
                (times.min, times.mean, times.p50, times.p99, times.max) if times else NO_RUN[3:]
            )
        rows.add(
            number, domain.name, task.name, task.period_ns, task.wcet_ns, task.deadline_ns,
            *verdict, *counts,
        )  # fmt: skip


def _test(test: TaskTest, systems: Sequence[System]) -> list[bool | None]:
    """A test of the tasks of each system, without their domains, on the pcpus that it has."""
    from hyperperiod.analysis import batch
    from hyperperiod.analysis.component import Load

    sets = batch.Sets.of(
        [
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
    )
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
