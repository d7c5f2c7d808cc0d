# SPDX-License-Identifier: BSD-2-Clause
"""Minimal budgets against published outputs of CARTS, leaf and root components.

CARTS computes a real budget with floating-point noise and rounds it up, so its value is ours or
one more, and one more only where the least real budget is a whole number: where our budget less
a thousandth is too little.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator
from math import lcm

import numpy as np
import pytest
from tests.support.carts_data import DATA, PAIRS, carts_budgets

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape, Verdict
from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.domain_level import components_of
from hyperperiod.model import Domain, load_system

# One period each; that of the second is in its output, the input says another.
SINGLE_PERIODS = {"bb0b500": 20, "8e39e17": 30}
EXAMPLES = ("multilevel_DM", "multilevel_EDF", "periodic_PRM_EDP", "periodic_os_scheduler")


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
        Local.FIXED_PRIORITY, fine, (Shape.GENERAL, 1000 * period, 1000 * ours - 1, 0)
    )
    assert verdict is Verdict.MISSES, (loads, period, carts)
    return "one more"


@pytest.fixture(scope="module")
def counts() -> dict[str, Counter[str]]:
    return count(PAIRS)


def count(commits: Iterable[str]) -> dict[str, Counter[str]]:
    """How often CARTS and we agree, and how, over the leaves and roots of some pairs."""
    counts: dict[str, Counter[str]] = {"leaf": Counter(), "root": Counter()}
    for commit in commits:
        tasks = leaf_loads(commit)
        leaves = carts_budgets(commit)
        root = leaves.pop("OS Scheduler")
        assert set(leaves) == set(tasks)
        for name, budgets in leaves.items():
            for period, carts in budgets.items():
                counts["leaf"][compare(tasks[name], period, carts)] += 1
        for period, carts in root.items():
            loads = [Load(budgets[period], period, period) for budgets in leaves.values()]
            counts["root"][compare(loads, period, carts)] += 1
    return counts


def test_leaves(counts: dict[str, Counter[str]]) -> None:
    assert sum(counts["leaf"].values()) == 1248
    assert counts["leaf"]["one more"] == 11


def test_roots(counts: dict[str, Counter[str]]) -> None:
    assert sum(counts["root"].values()) == 533
    # Where CARTS asks for more than the period, its 239 values only say that none will do.
    assert counts["root"] == Counter({"beyond": 239, "one more": 159, "equal": 135})


def test_pairs_of_one_period() -> None:
    for commit, period in SINGLE_PERIODS.items():
        assert list(carts_budgets(commit)["OS Scheduler"]) == [period]
    assert count(SINGLE_PERIODS) == {
        "leaf": Counter({"equal": 4}),
        "root": Counter({"equal": 1, "one more": 1}),
    }


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


def by_definition(local: Local, loads: list[Load], period: int) -> int | None:
    """The least budget, as CARTS' own search has it: every budget, every window, one by one."""
    end = 2 * lcm(*(load.period for load in loads)) if local is Local.EDF else 0
    windows = np.arange(1, max(end, *(load.deadline for load in loads)) + 1)
    for budget in range(1, period + 1):
        whole, tail = np.divmod(np.maximum(0, windows - 2 * (period - budget)), period)
        supply = whole * budget + np.minimum(tail, budget)
        if local is Local.EDF:
            due = sum(
                np.maximum(0, (windows - load.deadline) // load.period + 1) * load.wcet
                for load in loads
            )
            if bool((due <= supply).all()):
                return budget
            continue
        asked = np.cumsum([-(-windows // load.period) * load.wcet for load in loads], axis=0)
        if all(
            bool((row <= supply)[: load.deadline].any())
            for row, load in zip(asked, loads, strict=True)
        ):
            return budget
    return None


def all_depths(domains: Iterable[Domain]) -> Iterator[Domain]:
    for domain in domains:
        yield domain
        yield from all_depths(domain.domains)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_several_levels(example: str) -> None:
    """Every budget at every level, in whole milliseconds, from the inside outward."""
    system = resolve(load_system(DATA / f"example_{example}.xml"))
    levels = 0
    for domain in all_depths(system.domains):
        assert domain.interface is not None
        (part,) = components_of(domain)
        assert all(time % 10**6 == 0 for load in part.loads for time in load)
        loads = [Load(*(time // 10**6 for time in load)) for load in part.loads]
        wanted = by_definition(part.local, loads, domain.interface.period_ns // 10**6)
        assert wanted is not None
        assert domain.interface.budget_ns == wanted * 10**6, (domain.name, loads)
        levels = max(levels, depth(domain))
    assert levels == (3 if "multilevel" in example or "EDP" in example else 1)


def depth(domain: Domain) -> int:
    return 1 + max((depth(inner) for inner in domain.domains), default=0)


def test_the_example_with_jitter() -> None:
    """Each partition has an interface; together they ask for more than the pcpu."""
    result = analyze(load_system(DATA / "example_periodic_jitter_offset_arinc_EDP.xml"))
    assert [domain.schedulable for domain in result.domains] == [True, False, True]
    assert result.pcpus[0].bandwidth > 1
