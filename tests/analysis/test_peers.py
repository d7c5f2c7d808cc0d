# SPDX-License-Identifier: BSD-2-Clause
"""Sets that other tools judged: the same numbers of them are accepted here."""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape, Verdict
from hyperperiod.analysis.component import Load

DATA = Path(__file__).parent.parent / "data" / "peers"


def task_sets(name: str) -> list[list[dict[str, Any]]]:
    return [entry["tasks"] for entry in json.loads((DATA / name).read_text())["sets"]]


def deadline_monotonic(tasks: list[dict[str, Any]], unit: int = 1) -> list[Load]:
    ranked = sorted(tasks, key=lambda task: (task["D"], task["id"]))
    return [Load(task["C"] * unit, task["T"] * unit, task["D"] * unit) for task in ranked]


@pytest.mark.parametrize(
    ("name", "local", "accepted"),
    [
        ("an1000_uni_implicit.json", Local.FIXED_PRIORITY, 842),
        ("an1000_uni_constrained.json", Local.FIXED_PRIORITY, 771),
        ("an1000_uni_implicit.json", Local.EDF, 1000),
        ("an1000_uni_constrained.json", Local.EDF, 970),
    ],
)
def test_one_pcpu(name: str, local: Local, accepted: int) -> None:
    """Response-time analysis and QPA on a whole pcpu, 1000 sets of 20 tasks."""
    verdicts = [
        _analysis.judge(local, deadline_monotonic(tasks), (Shape.GENERAL, 1, 1, 0))[0]
        for tasks in task_sets(name)
    ]
    assert verdicts.count(Verdict.UNKNOWN) == 0
    assert verdicts.count(Verdict.HOLDS) == accepted


@pytest.mark.parametrize("local", [Local.FIXED_PRIORITY, Local.EDF])
@pytest.mark.parametrize("period_us", [1000, 5000, 10_000])
def test_budgets_in_nanoseconds_are_exact_and_fast(local: Local, period_us: int) -> None:
    """A hundred components of ten tasks, with hyperperiods beyond any integer type.

    The bound, of processor time, is generous, for slow machines; `bench/` measures.
    """
    spent = []
    exact = 0
    for tasks in task_sets("comp100_10tasks.json"):
        loads = deadline_monotonic(tasks, unit=1000)
        began = time.process_time()
        budget, sure = _analysis.minimal_budget(local, loads, Shape.GENERAL, period_us * 1000, 1)
        spent.append(time.process_time() - began)
        exact += sure
        assert budget is not None
        holds = _analysis.judge(local, loads, (Shape.GENERAL, period_us * 1000, budget, 0))[0]
        assert holds is Verdict.HOLDS
        less = _analysis.judge(local, loads, (Shape.GENERAL, period_us * 1000, budget - 1, 0))[0]
        assert less is Verdict.MISSES
    assert exact == 100
    assert statistics.median(spent) < 0.01
