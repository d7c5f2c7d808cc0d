# SPDX-License-Identifier: BSD-2-Clause
"""Minimal budgets against published outputs of CARTS, leaf and root components.

CARTS computes a real budget with floating-point noise and rounds it up, so its value is ours or
one more, and one more only where the least real budget is a whole number: where our budget less
a thousandth is too little.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape, Verdict
from hyperperiod.analysis.component import Load

DATA = Path(__file__).parent.parent / "data" / "carts"
PAIRS = ("979581c", "4f21596", "7873188", "8164fe8", "a906aff")

Budgets = dict[int, int]


def leaf_loads(commit: str) -> dict[str, list[Load]]:
    """The tasks of each component in deadline-monotonic order."""
    system = ET.parse(DATA / f"airsched_{commit}_input.xml").getroot()
    return {
        component.attrib["name"]: sorted(
            (
                Load(int(task.attrib["e"]), int(task.attrib["p"]), int(task.attrib["d"]))
                for task in component.iter("task")
            ),
            key=lambda load: load.deadline,
        )
        for component in system.iter("component")
    }


def carts_budgets(component: ET.Element) -> Budgets:
    """CARTS' budget for each period."""
    processed = component.find("processed_task")
    assert processed is not None
    return {
        int(model.attrib["period"]): int(model.attrib["execution_time"])
        for model in processed.iter("model")
    }


def compare(loads: list[Load], period: int, carts: int) -> str:
    """How CARTS' value stands to ours: equal, one more, or beyond the period."""
    ours, exact = _analysis.minimal_budget(Local.FIXED_PRIORITY, loads, Shape.GENERAL, period, 1)
    assert exact
    if ours is None:
        assert carts > period
        return "beyond"
    assert carts - ours in (0, 1), (loads, period, carts)
    if carts == ours:
        return "equal"
    fine = [Load(1000 * load.wcet, 1000 * load.period, 1000 * load.deadline) for load in loads]
    verdict, _ = _analysis.judge(
        Local.FIXED_PRIORITY, fine, Shape.GENERAL, 1000 * period, 1000 * ours - 1
    )
    assert verdict is Verdict.MISSES, (loads, period, carts)
    return "one more"


@pytest.fixture(scope="module")
def counts() -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {"leaf": Counter(), "root": Counter()}
    for commit in PAIRS:
        tasks = leaf_loads(commit)
        root = ET.parse(DATA / f"airsched_{commit}_output.xml").getroot()
        leaves = {
            component.attrib["name"]: carts_budgets(component)
            for component in root.iterfind("component")
        }
        assert set(leaves) == set(tasks)
        for name, budgets in leaves.items():
            for period, carts in budgets.items():
                counts["leaf"][compare(tasks[name], period, carts)] += 1
        for period, carts in carts_budgets(root).items():
            loads = [Load(budgets[period], period, period) for budgets in leaves.values()]
            counts["root"][compare(loads, period, carts)] += 1
    return counts


def test_leaves(counts: dict[str, Counter[str]]) -> None:
    assert sum(counts["leaf"].values()) == 1248
    assert counts["leaf"]["one more"] == 11


def test_roots(counts: dict[str, Counter[str]]) -> None:
    assert sum(counts["root"].values()) == 533
    assert counts["root"]["equal"] + counts["root"]["beyond"] < 533


def test_small_cases_by_hand() -> None:
    """Two DM components at periods 20 and 30, and their root."""
    part_1 = [Load(3, 50, 50), Load(4, 60, 60)]
    part_2 = [Load(2, 40, 40), Load(3, 45, 45), Load(3, 50, 50)]
    for period, budgets in ((20, (5, 8)), (30, (9, 13))):
        found = tuple(
            _analysis.minimal_budget(Local.FIXED_PRIORITY, part, Shape.GENERAL, period, 1)[0]
            for part in (part_1, part_2)
        )
        assert found == budgets
    for period, budgets, root in ((20, (5, 8), 17), (30, (9, 13), 26)):
        loads = [Load(budget, period, period) for budget in budgets]
        found_root, _ = _analysis.minimal_budget(
            Local.FIXED_PRIORITY, loads, Shape.GENERAL, period, 1
        )
        assert found_root == root
