# SPDX-License-Identifier: BSD-2-Clause
"""Confidence intervals of 95 % for what is measured over several draws of systems or times.

A draw is one system, or one sequence of releases, made from a seed of its own, so that draws are
independent. An interval says where the mean over all possible draws lies, not where single draws
do. Under two draws there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from hyperperiod.model.result_object import ResultObject


class Interval(ResultObject):
    """A confidence interval of 95 %."""

    low: float
    high: float


def ends(value: float, interval: Interval | None) -> tuple[float, float]:
    """The ends of a value's interval; the value itself twice where it has none."""
    return (value, value) if interval is None else (interval.low, interval.high)


def interval_key(key: str) -> str:
    """The key of a number's interval beside the number's own: units come last."""
    at = key.removesuffix("_ns")
    return f"{at}_interval{key[len(at) :]}"


_NORMAL = 1.959964
# The 0.975 quantiles of Student's distribution with 1, 2, ... degrees of freedom.
_STUDENT = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)


def student(freedom: int) -> float:
    """The 0.975 quantile of Student's distribution.

    Beyond 30 degrees of freedom it is the first terms of its expansion around the normal one's,
    less than 0.0001 off.
    """
    if freedom <= len(_STUDENT):
        return _STUDENT[freedom - 1]
    first = (_NORMAL**3 + _NORMAL) / 4
    second = (5 * _NORMAL**5 + 16 * _NORMAL**3 + 3 * _NORMAL) / 96
    return _NORMAL + first / freedom + second / freedom**2


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Where the mean lies of what these values were drawn from, by Student's distribution."""
    if len(values) < 2:
        return None
    reach = student(len(values) - 1) * stdev(values) / sqrt(len(values))
    middle = fmean(values)
    return Interval(low=middle - reach, high=middle + reach)


def mean_of(
    key: str, values: Sequence[float], interval: Callable[[Sequence[float]], Interval | None]
) -> dict[str, Any]:
    """The mean of values by its key in a row, and its interval by the key of that."""
    return {key: fmean(values), interval_key(key): interval(values)}


def mean_share_interval(shares: Sequence[float]) -> Interval | None:
    """The same for shares, which are never below 0 nor above 1, and so no mean of them is."""
    found = mean_interval(shares)
    return found and Interval(low=max(found.low, 0.0), high=min(found.high, 1.0))


def ratio_interval(tops: Sequence[float], bottoms: Sequence[float]) -> Interval | None:
    """Where the ratio of two means lies, each pair of values being of the same draw.

    The ratio is that of the sums. To first order it is off by the mean of what each top has more
    than its bottom's share, over the mean bottom; that is a mean over draws.
    """
    if len(tops) < 2:
        return None
    ratio, bottom = sum(tops) / sum(bottoms), fmean(bottoms)
    errors = [(one - ratio * other) / bottom for one, other in zip(tops, bottoms, strict=True)]
    around = mean_interval(errors)
    assert around is not None, "two draws or more"
    return Interval(low=ratio + around.low, high=ratio + around.high)


def share_interval(hits: int, tries: int) -> Interval | None:
    """Where a probability lies that came out in `hits` of so many tries (Wilson's interval)."""
    if tries < 2:
        return None
    square = _NORMAL**2
    middle = (hits + square / 2) / (tries + square)
    reach = _NORMAL * sqrt(hits * (tries - hits) / tries + square / 4) / (tries + square)
    # Where all tries agree the end is theirs, and no rounding keeps it from being so.
    low = middle - reach if hits else 0.0
    high = middle + reach if hits < tries else 1.0
    return Interval(low=low, high=high)
