# SPDX-License-Identifier: BSD-2-Clause
"""Ways to split a utilization among tasks: random shares that sum to it.

Each function takes a source of draws, how many shares, their sum and the most that one share may
be, and returns the shares as floating-point numbers; whoever makes tasks of them rounds. What is
drawn is uniform over all vectors of shares at or above 0 that have the sum:

- `uunifast` (Bini, Buttazzo: Measuring the performance of schedulability tests, 2005) knows no
  bound on a share;
- `uunifast_discard` (Davis, Burns, RTSS 2009) draws anew until no share is above the bound: uniform
  under the bound, and slow where the bound is nearly always passed;
- `randfixedsum` (Stafford 2006; Emberson, Stafford, Davis, WATERS 2010) is uniform under the bound
  at once, by cutting what is allowed into simplices;
- `dirichlet_rescale` (Griffin, Bate, Davis, RTSS 2020) rescales a share that is above the bound.
  Its authors found later that it is not quite uniform (RTAS 2025, where ConvolutionalFixedSum
  replaces it). It is where no two shares can be above the bound at once; elsewhere it is here for
  comparison with what was published.

Only `random.Random.random` is drawn from, whose sequence Python promises to keep. `Undrawable`
where the sum cannot be reached under the bound, or was not in many tries.
"""

from __future__ import annotations

import random
from functools import lru_cache
from math import log
from typing import NamedTuple

TRIES = 10_000
"""How often `uunifast_discard` draws before it gives up."""


class Undrawable(Exception):  # noqa: N818 - it is about what was asked for
    """No shares like these; the message says why."""


def uunifast(draw: random.Random, count: int, total: float) -> list[float]:
    """`count` shares that sum to `total`, uniform over the simplex."""
    shares, left = [], total
    for others in range(count - 1, 0, -1):
        after = left * draw.random() ** (1 / others)
        shares.append(left - after)
        left = after
    return [*shares, left]


def uunifast_discard(draw: random.Random, count: int, total: float, most: float) -> list[float]:
    """The same with no share above `most`, by drawing again."""
    _require_room(count, total, most)
    for _ in range(TRIES):
        shares = uunifast(draw, count, total)
        if max(shares) <= most:
            return shares
    raise Undrawable(
        f"in {TRIES:,} draws a share above {most:g} of a sum of {total:g}; randfixedsum needs one"
    )


def dirichlet_rescale(draw: random.Random, count: int, total: float, most: float) -> list[float]:
    """The same by rescaling: see above on how uniform that is."""
    _require_room(count, total, most)
    if total > count * most / 2:
        # What is missing to the bounds is the smaller simplex, and has the same shape.
        rest = dirichlet_rescale(draw, count, count * most - total, most)
        return [most - share for share in rest]
    weights = [-log(1 - draw.random()) for _ in range(count)]
    scale = total / sum(weights)
    shares = [weight * scale for weight in weights]
    while max(shares) > most:
        over = [share > most for share in shares]
        scale = total / (total - most * sum(over))
        shares = [(share - most * above) * scale for share, above in zip(shares, over, strict=True)]
    return shares


def randfixedsum(draw: random.Random, count: int, total: float, most: float) -> list[float]:
    """The same by a walk through simplices, whose volumes say how likely each step is."""
    _require_room(count, total, most)
    if count == 1:
        return [total]
    cut = _cut(count, total / most)
    left, layer = total / most, cut.layer
    shares, reached, width = [], 0.0, 1.0
    for others in range(count - 1, 0, -1):
        # A unit step with the probability that the simplex of this step has, else none.
        step = draw.random() <= cut.steps[others - 1][layer - 1]
        factor = draw.random() ** (1 / others)
        reached += (1 - factor) * width * left / (others + 1)
        width *= factor
        shares.append((reached + width * step) * most)
        left -= step
        layer -= step
    shares.append((reached + width * left) * most)
    _shuffle(draw, shares)
    return shares


class _Cut(NamedTuple):
    """How a slice of the unit cube is cut into simplices.

    `layer` is 1 + the whole part of the sum; `steps[i][j]` is the probability of a unit step with
    i + 1 shares to go in layer j + 1.
    """

    layer: int
    steps: tuple[tuple[float, ...], ...]


@lru_cache(maxsize=64)
def _cut(count: int, total: float) -> _Cut:
    """The cut of the points of [0, 1]^count that sum to `total`."""
    whole = min(int(total), count - 1)
    total = max(min(total, whole + 1.0), float(whole))
    below = [total - whole + index for index in range(count)]
    above = [whole + count - index - total for index in range(count)]
    volumes = [0.0] * (count + 1)
    volumes[1] = 1.0
    steps = []
    for size in range(2, count + 1):
        kept = [volumes[at + 1] * below[at] / size for at in range(size)]
        moved = [volumes[at] * above[count - size + at] / size for at in range(size)]
        both = [one + other for one, other in zip(kept, moved, strict=True)]
        steps.append(
            tuple(other / sum_ if sum_ else 0.0 for other, sum_ in zip(moved, both, strict=True))
        )
        # Only ratios count: kept near 1, volumes of many shares do not vanish.
        largest = max(both)
        volumes = [0.0, *(volume / largest for volume in both), *[0.0] * (count - size)]
    return _Cut(whole + 1, tuple(steps))


def _shuffle(draw: random.Random, shares: list[float]) -> None:
    for last in range(len(shares) - 1, 0, -1):
        other = int(draw.random() * (last + 1))
        shares[last], shares[other] = shares[other], shares[last]


def _require_room(count: int, total: float, most: float) -> None:
    if total > count * most * (1 + 1e-12):
        raise Undrawable(f"{count} shares of at most {most:g} do not sum to {total:g}")
