# SPDX-License-Identifier: BSD-2-Clause
"""Generated systems follow the CSA paper's rule and are the same everywhere."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from hyperperiod.model import System, load_system, parse_policy
from hyperperiod.model.generate import CSA_PERIOD_RANGES_MS, csa_system

SYSTEMS = Path(__file__).parents[2] / "systems"
MS = 1_000_000


def generated(seed: int, percent: int = 90, periods_ms: tuple[int, int] = (350, 850)) -> System:
    return csa_system(
        "csa-synthetic",
        parse_policy("ptps"),
        seed=seed,
        utilization=Fraction(percent, 100),
        periods_ms=periods_ms,
    )


@pytest.mark.parametrize("periods_ms", CSA_PERIOD_RANGES_MS)
@pytest.mark.parametrize("percent", [70, 80, 90, 100])
def test_the_rule(percent: int, periods_ms: tuple[int, int]) -> None:
    for seed in range(5):
        system = generated(seed, percent, periods_ms)
        total = sum((domain.utilization for domain in system.domains), Fraction(0))
        assert Fraction(percent, 100) <= total < Fraction(percent, 100) + Fraction(51, 1000)
        assert len(system.domains) <= 5
        for domain in system.domains:
            for task in domain.tasks:
                assert task.period_ns is not None
                assert periods_ms[0] * MS <= task.period_ns <= periods_ms[1] * MS
                assert Fraction(2, 1000) <= task.utilization < Fraction(5001, 100_000)


def test_the_seed_is_the_system() -> None:
    assert generated(1) == generated(1)
    assert generated(1) != generated(2)


def test_the_example_is_what_the_generator_gives() -> None:
    """It also pins the sequence down: another Python must draw the same."""
    assert load_system(SYSTEMS / "csa-synthetic.toml") == generated(2012)
