# SPDX-License-Identifier: BSD-2-Clause
"""Confidence intervals have the mean, ratio or probability inside as often as they say."""

from __future__ import annotations

from math import gamma, pi, sqrt
from random import Random

import pytest

from hyperperiod.experiments.confidence import (
    Interval,
    ends,
    mean_interval,
    ratio_interval,
    share_interval,
    student,
)
from hyperperiod.papers.expressions import estimate, time

TRIALS = 4000
# With so many trials a frequency of 0.95 comes out within this, 4.4 standard deviations.
NEAR = 0.015


def below(quantile: float, freedom: int) -> float:
    """Student's distribution function, by Simpson's rule over its density."""
    scale = gamma((freedom + 1) / 2) / (sqrt(freedom * pi) * gamma(freedom / 2))
    steps = 4000
    width = quantile / steps
    weights = [1, *([4, 2] * (steps // 2))[:-1], 1]
    total = sum(
        weight * (1 + (at * width) ** 2 / freedom) ** (-(freedom + 1) / 2)
        for at, weight in enumerate(weights)
    )
    return float(0.5 + scale * total * width / 3)


@pytest.mark.parametrize("freedom", [*range(1, 31), 31, 40, 60, 200])
def test_quantiles_are_students(freedom: int) -> None:
    assert below(student(freedom), freedom) == pytest.approx(0.975, abs=2e-5)


def inside(value: float, interval: Interval | None) -> bool:
    assert interval is not None
    return interval.low <= value <= interval.high


@pytest.mark.parametrize("draws", [2, 5, 20, 50])
def test_the_mean_is_inside(draws: int) -> None:
    random = Random(draws)
    hits = sum(
        inside(7.0, mean_interval([random.gauss(7, 3) for _ in range(draws)]))
        for _ in range(TRIALS)
    )
    assert hits / TRIALS == pytest.approx(0.95, abs=NEAR)


@pytest.mark.parametrize("draws", [20, 50])
def test_the_ratio_is_inside(draws: int) -> None:
    """Also where both depend on the draw: a long set is long under both policies."""
    random = Random(draws)

    def pair() -> tuple[float, float]:
        size = random.uniform(1, 3)
        return size * random.uniform(0.5, 0.9), size * random.uniform(0.9, 1.1)

    hits = sum(
        inside(0.7, ratio_interval(*zip(*(pair() for _ in range(draws)), strict=True)))
        for _ in range(TRIALS)
    )
    assert hits / TRIALS == pytest.approx(0.95, abs=NEAR)


@pytest.mark.parametrize("probability", [0.3, 0.5, 0.9])
def test_the_probability_is_inside(probability: float) -> None:
    random = Random(1)
    hits = sum(
        inside(
            probability, share_interval(sum(random.random() < probability for _ in range(60)), 60)
        )
        for _ in range(TRIALS)
    )
    assert hits / TRIALS == pytest.approx(0.95, abs=2 * NEAR)


def test_an_interval_holds_what_was_seen() -> None:
    """To the last bit, also where no try hit or all did."""
    for tries in range(2, 200):
        for hits in {0, 1, tries // 2, tries - 1, tries}:
            found = share_interval(hits, tries)
            assert found is not None
            assert 0 <= found.low <= hits / tries <= found.high <= 1


def test_the_ends_of_what_there_is() -> None:
    assert mean_interval([1.0]) is ratio_interval([1.0], [2.0]) is share_interval(1, 1) is None
    assert mean_interval([3.0, 3.0]) == Interval(low=3.0, high=3.0)
    assert ends(2.0, None) == (2.0, 2.0)
    assert ends(2.0, Interval(low=1.0, high=4.0)) == (1.0, 4.0)
    none, all_of_them = share_interval(0, 20), share_interval(20, 20)
    assert none is not None
    assert all_of_them is not None
    assert (none.low, all_of_them.high) == (0.0, 1.0)
    assert none.high == pytest.approx(1 - all_of_them.low)
    assert f"{estimate(2.0, None):.1f}" == "2.0"
    known = estimate(2.0, Interval(low=1.0, high=4.0))
    assert (f"{known:.1f}", f"{+known:.1f}") == ("2.0 (95 %: 1.0 to 4.0)", "2.0")
    assert time(1000 * known, 1000) == "2us"
    assert time(estimate(2e6, Interval(low=1e6, high=4e6))) == "2ms (95 %: 1ms to 4ms)"
