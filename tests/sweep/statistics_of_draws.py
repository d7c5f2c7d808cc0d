# SPDX-License-Identifier: BSD-2-Clause
"""What tests of generators compare with: exact distribution functions, and Kolmogorov-Smirnov's.

The statistic is sqrt(n) times the largest distance between what was drawn and what should be; above
1.95 it is in one of a thousand draws that are right. Seeds are fixed, so that a test passes always
or never.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import comb, factorial, floor, sqrt

UNLIKELY = 1.95


def ks(values: Sequence[float], cdf: Callable[[float], float]) -> float:
    """The statistic of continuous values."""
    ordered, count = sorted(values), len(values)
    furthest = max(
        max(abs(cdf(value) - at / count), abs(cdf(value) - (at + 1) / count))
        for at, value in enumerate(ordered)
    )
    return sqrt(count) * furthest


def ks_of_classes(counts: Sequence[int], shares: Sequence[float]) -> float:
    """The statistic of values in classes, in order; that of continuous ones bounds it."""
    count, reached, should, furthest = sum(counts), 0, 0.0, 0.0
    for one, share in zip(counts, shares, strict=True):
        reached += one
        should += share
        furthest = max(furthest, abs(reached / count - should))
    return sqrt(count) * furthest


def sum_of_uniforms(count: int, at: float) -> float:
    """The probability that so many uniform numbers of [0, 1] sum to at most `at` (Irwin-Hall)."""
    if at <= 0 or at >= count:
        return float(at > 0)
    terms: Iterator[float] = (
        (-1) ** one * comb(count, one) * (at - one) ** count for one in range(floor(at) + 1)
    )
    return sum(terms) / factorial(count)


def share_of_sum(count: int, total: float) -> Callable[[float], float]:
    """The distribution of one of `count` numbers of [0, 1], uniform among those of this sum.

    The others sum to what it leaves, and so it is at most x where they sum to at least total - x.
    """
    others = count - 1
    least = sum_of_uniforms(others, total - 1)
    most = sum_of_uniforms(others, total)

    def cdf(at: float) -> float:
        return (most - sum_of_uniforms(others, total - at)) / (most - least)

    return cdf


def share_of_simplex(count: int, total: float) -> Callable[[float], float]:
    """The distribution of one of `count` numbers above 0, uniform among those of this sum."""
    return lambda at: 1 - (1 - min(1.0, max(0.0, at / total))) ** (count - 1)
