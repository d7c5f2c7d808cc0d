# SPDX-License-Identifier: BSD-2-Clause
"""A small system whose trace is written by hand, with what a run and an analysis would say."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import example_traces as examples

from hyperperiod.analysis import AnalysisResult, analyze
from hyperperiod.hosts.result import Responses, RunDomain, RunPcpu, RunResult, RunTask
from hyperperiod.model import System, load_system
from hyperperiod.model.vcpus import InterfaceResult
from hyperperiod.report import windows as windows_module
from hyperperiod.report import write_report
from hyperperiod.runs import simulate

SYSTEM = """
name = "by-hand"
policy = "ptps"
description = "Two domains, <one> of them & its tasks late"

[[domain]]
name = "high"
interface = { period = "10ns", budget = "4ns" }
[[domain.task]]
name = "t"
period = "20ns"
wcet = "3ns"

[[domain]]
name = "low"
interface = { period = "20ns", budget = "10ns" }
[[domain.task]]
name = "u"
period = "40ns"
wcet = "8ns"
"""


ROBBED = """
name = "robbed"
policy = "ds"

[[stolen]]
period = "10ms"
duration = "2ms"

[[domain]]
name = "high"
interface = { period = "10ms", budget = "4ms" }
[[domain.task]]
name = "t"
period = "10ms"
wcet = "3ms"
"""


def robbed(folder: Path) -> System:
    """A system whose pcpu is stolen for the first 2 ms of each 10."""
    path = folder / "robbed.toml"
    path.write_text(ROBBED)
    return load_system(path)


def system(folder: Path) -> System:
    """The system of the trace `examples.ptps`."""
    path = folder / "by-hand.toml"
    path.write_text(SYSTEM)
    return load_system(path)


def analysis(folder: Path) -> AnalysisResult:
    """What the analysis says about it."""
    return analyze(system(folder))


def result(policy: str = "ptps", misses: int = 0) -> RunResult:
    """The result object of its run."""

    def task(name: str, jobs: int, missed: int, each_ns: int) -> RunTask:
        response_ns = Responses(min=each_ns, mean=each_ns, p50=each_ns, p99=each_ns, max=each_ns)
        return RunTask(
            name=name, jobs=jobs, misses=missed, dmr=missed / jobs, response_ns=response_ns
        )

    def domain(
        name: str, period_ns: int, budget_ns: int, supply_ns: int, one: RunTask
    ) -> RunDomain:
        bandwidth = budget_ns / period_ns
        return RunDomain(
            name=name,
            vcpus=1,
            interface=InterfaceResult(
                period_ns=period_ns, budget_ns=budget_ns, bandwidth=bandwidth
            ),
            supply_ns=supply_ns,
            donated_ns=0,
            tasks=(one,),
        )

    return RunResult(
        system="by-hand",
        host="sim",
        policy=policy,
        horizon_ns=40,
        seed=1,
        interrupted=False,
        preemptions=0,
        migrations=0,
        response_error=0.0,
        domains=(
            domain("high", 10, 4, 6, task("t", 2, 0, 3)),
            domain("low", 20, 10, 8, task("u", 1, misses, 16)),
        ),
        pcpus=(
            RunPcpu(
                id=0, busy_ns=14, idle_ns=26, switches=6, picks=14, preemptions=0, migrations=0
            ),
        ),
    )


def trace(folder: Path) -> Path:
    """Its trace."""
    return examples.ptps().write(folder / "by-hand.hpt")


LATE = """
name = "late"
policy = "ds"

[[domain]]
name = "video"
interface = { period = "10ms", budget = "6ms" }
[[domain.task]]
name = "frame"
period = "10ms"
wcet = "3ms"
[[domain.task]]
name = "rescale"
period = "100s"
offset = "3s"
deadline = "50ms"
wcet = "40ms"

[[domain]]
name = "other"
interface = { period = "20ms", budget = "7ms" }
[[domain.task]]
name = "job"
period = "20ms"
wcet = "5ms"
etf = 0.5
"""
"""Its only miss: rescale asks for 40 ms of what frame leaves, at 3 s."""


def late_system(folder: Path) -> System:
    path = folder / "late.toml"
    path.write_text(LATE)
    return load_system(path)


def late_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The report of a run of four seconds whose start, cut short, ends long before the miss."""
    monkeypatch.setattr(windows_module, "START", 1000)
    monkeypatch.setattr(windows_module, "RECORDS", 1000)
    monkeypatch.setattr(windows_module, "MIN_RECORDS", 200)
    system = late_system(folder)
    trace, page = folder / "late.hpt", folder / "late.html"
    result = simulate(system, 4_000_000_000, trace_path=trace)
    assert [row.misses for domain in result.domains for row in domain.tasks] == [0, 1, 0]
    write_report(page, system, analyze(system), result, trace)
    return page
