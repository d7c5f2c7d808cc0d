# SPDX-License-Identifier: BSD-2-Clause
"""The cost model: exact where it says so, a bound where it says so, and the paper's two cases."""

from __future__ import annotations

import random
from fractions import Fraction
from math import lcm
from pathlib import Path

import pytest

from hyperperiod.analysis.fit import cost
from hyperperiod.analysis.fit.result import _events_of
from hyperperiod.model import Overheads, load_system

SYSTEMS = Path(__file__).parents[2] / "systems"
S = cost.NS_PER_S


def counted(periods: list[int]) -> Fraction:
    """Instants per second, one by one over the hyperperiod."""
    whole = lcm(*periods)
    return Fraction(S * len({t for p in periods for t in range(0, whole, p)}), whole)


@pytest.mark.parametrize("seed", range(40))
def test_unions_are_exact(seed: int) -> None:
    draw = random.Random(seed)
    periods = [draw.randint(1, 30) for _ in range(draw.randint(1, 5))]
    assert cost.union_rate(periods) == counted(periods)
    # The classes of instants give every union of some of the periods.
    classes = cost.signatures(periods, 4096)
    some = draw.sample(periods, draw.randint(1, len(periods)))
    rate = sum((value for meeting, value in classes if set(meeting) & set(some)), Fraction(0))
    assert rate == counted(some)


def test_long_unions_are_bounded_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    periods = [7, 8, 9, 11, 13]
    monkeypatch.setattr(cost, "LATTICE_LIMIT", 4)
    assert cost.union_rate(periods) >= counted(periods)


def test_few_classes_are_a_lower_bound() -> None:
    periods = [6, 7, 9, 10, 11]
    classes = cost.signatures(periods, 5)
    assert len(classes) <= 5
    assert sum((value for _, value in classes), Fraction(0)) <= counted(periods)


def test_the_papers_recommendations() -> None:
    """Grouping by period causes fewer events than mixing, as the paper measured (1502, 2129 us)."""
    grouped, mixed = (
        _events_of(load_system(SYSTEMS / f"{name}.toml"))
        for name in ("exsched-table2", "exsched-table2-mixed")
    )
    assert grouped is not None
    assert mixed is not None
    assert grouped.runs < mixed.runs
    assert grouped.switches < mixed.switches
    assert grouped.depletions == mixed.depletions


def test_prices() -> None:
    assert cost.prices_of(Overheads(migration_ns=5)) == cost.EventPrices()
    prices = cost.prices_of(
        Overheads(pick_ns=2, interrupt_ns=1, replenish_ns=7, context_switch_ns=9)
    )
    assert prices == cost.EventPrices(run=3, replenish=7, switch=9, in_time=True)
    one = cost.EventRates(Fraction(10), Fraction(4), Fraction(12), Fraction(20))
    assert one.count == 34
    assert one.cost(prices) == 3 * 14 + 7 * 12 + 9 * 20
