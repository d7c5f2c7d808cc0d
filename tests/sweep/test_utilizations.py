# SPDX-License-Identifier: BSD-2-Clause
"""Shares of a utilization have the distribution that their generator is defined by."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest
from tests.sweep.statistics_of_draws import UNLIKELY, ks, share_of_simplex, share_of_sum

from hyperperiod.experiments.sweep.utilizations import (
    Undrawable,
    dirichlet_rescale,
    randfixedsum,
    uunifast,
    uunifast_discard,
)

Bounded = Callable[[random.Random, int, float, float], list[float]]
BOUNDED: list[Bounded] = [uunifast_discard, randfixedsum, dirichlet_rescale]
EVERY_BOUNDED = pytest.mark.parametrize("generator", BOUNDED)
DRAWS = 5000


def drawn(generator: Callable[[random.Random], list[float]], seed: int = 1) -> list[list[float]]:
    draw = random.Random(seed)
    return [generator(draw) for _ in range(DRAWS)]


@pytest.mark.parametrize(("count", "total"), [(1, 0.3), (2, 0.9), (5, 0.7), (10, 3.5)])
def test_uunifast_is_uniform_on_the_simplex(count: int, total: float) -> None:
    sets = drawn(lambda draw: uunifast(draw, count, total))
    for shares in sets:
        assert min(shares) >= 0
        assert sum(shares) == pytest.approx(total, abs=1e-12)
    if count > 1:
        for place in range(count):
            values = [shares[place] for shares in sets]
            assert ks(values, share_of_simplex(count, total)) < UNLIKELY, place


@EVERY_BOUNDED
@pytest.mark.parametrize(("count", "total"), [(2, 1.2), (4, 0.7), (5, 1.5), (6, 4.2), (8, 3.2)])
def test_bounded_shares_are_uniform_under_the_bound(
    generator: Bounded, count: int, total: float
) -> None:
    """Each share has the exact distribution of one among uniform numbers of this sum."""
    sets = drawn(lambda draw: generator(draw, count, total, 1.0))
    for shares in sets:
        assert len(shares) == count
        assert min(shares) >= -1e-12
        assert max(shares) <= 1 + 1e-9
        assert sum(shares) == pytest.approx(total, abs=1e-9)
    for place in range(count):
        values = [shares[place] for shares in sets]
        assert ks(values, share_of_sum(count, total)) < UNLIKELY, place


@EVERY_BOUNDED
def test_the_bound_scales(generator: Bounded) -> None:
    """Shares of at most a quarter are those of at most 1, of four times the sum."""
    small = drawn(lambda draw: generator(draw, 5, 0.6, 0.25))
    large = drawn(lambda draw: generator(draw, 5, 2.4, 1.0))
    for one, other in zip(small, large, strict=True):
        assert [4 * share for share in one] == pytest.approx(other, abs=1e-9)


@EVERY_BOUNDED
def test_neighbours_are_uniform_too(generator: Bounded) -> None:
    """Given one of three shares, the next is uniform in what is left: the pair is uniform."""
    sets = drawn(lambda draw: generator(draw, 3, 0.9, 1.0), seed=2)
    parts = [shares[1] / (0.9 - shares[0]) for shares in sets]
    assert ks(parts, partial(min, 1.0)) < UNLIKELY


def test_a_wrong_generator_is_found_out() -> None:
    """Uniform numbers that are scaled to the sum are not uniform over the simplex."""

    def naive(draw: random.Random) -> list[float]:
        weights = [draw.random() for _ in range(5)]
        return [0.7 * weight / sum(weights) for weight in weights]

    values = [shares[0] for shares in drawn(naive)]
    assert ks(values, share_of_simplex(5, 0.7)) > 2 * UNLIKELY


@EVERY_BOUNDED
def test_what_cannot_be_is_refused(generator: Bounded) -> None:
    with pytest.raises(Undrawable, match="do not sum"):
        generator(random.Random(1), 4, 2.1, 0.5)


def test_what_is_hardly_ever_drawn_is_given_up() -> None:
    with pytest.raises(Undrawable, match="randfixedsum"):
        uunifast_discard(random.Random(1), 20, 19.9, 1.0)
    shares = randfixedsum(random.Random(1), 20, 19.9, 1.0)
    assert sum(shares) == pytest.approx(19.9)


@pytest.mark.parametrize("generator", [randfixedsum, dirichlet_rescale])
def test_many_shares_are_fine(generator: Bounded) -> None:
    shares = generator(random.Random(1), 500, 100.0, 1.0)
    assert sum(shares) == pytest.approx(100)
    assert min(shares) >= 0
    assert max(shares) <= 1 + 1e-9
