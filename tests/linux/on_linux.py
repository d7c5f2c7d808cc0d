# SPDX-License-Identifier: BSD-2-Clause
"""Systems on Linux, for tests: booted with what was just built, or the test is skipped.

Booting and loading the programs takes most of the time, so systems run one after the other on one
machine.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from hyperperiod.analysis import Analysis
from hyperperiod.cli.progress import bar
from hyperperiod.hosts.build_job import BuildJob
from hyperperiod.hosts.linux.build import build
from hyperperiod.hosts.linux.machine import tool
from hyperperiod.hosts.linux.run import Order, RunOptions, run_all
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import MissingError, System
from hyperperiod.runs import complete, guaranteed
from hyperperiod.trace.check import check_file
from hyperperiod.trace.compare import Trace
from hyperperiod.trace.format import read
from hyperperiod.trace.properties import Status

TOP = Path(__file__).parents[2]


@functools.cache
def need_linux() -> Path:
    """The folder of kernel and initial file system, with QEMU to boot them; skips without."""
    try:
        tool()
        return build(BuildJob(TOP / "build", None, bar))
    except MissingError as error:
        pytest.skip(str(error))


class OnLinux(NamedTuple):
    """The result of a run and its trace."""

    result: RunResult
    trace: Trace


def run_on_linux(
    systems: Sequence[System], horizon_ns: int, seed: int, folder: Path
) -> list[OnLinux]:
    """Run systems on one machine; decisions are replayed by the runner, traces are checked here."""
    need_linux()
    orders = []
    for number, system in enumerate(systems):
        analysis = Analysis(system)
        path = folder / f"{number}.hpt"
        orders.append(Order(complete(analysis), horizon_ns, seed, path, guaranteed(analysis)))
    results = run_all(orders, options=RunOptions(folder=folder))
    for number, order in enumerate(orders):
        assert order.trace_path is not None, number
        require_properties(order.trace_path)
    return [
        OnLinux(result, read(order.trace_path))
        for order, result in zip(orders, results, strict=True)
        if order.trace_path is not None
    ]


def require_properties(path: Path) -> None:
    """`trace check` must find nothing."""
    checked = check_file(path)
    assert not checked.interrupted
    for one, finding in checked.findings:
        assert finding.status is not Status.FAILS, (path, one.name, finding.violations[:3])
