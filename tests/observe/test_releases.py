# SPDX-License-Identifier: BSD-2-Clause
"""A grid that is found holds by definition: every release is on it, each at a point of its own."""

from __future__ import annotations

import random
from itertools import accumulate, pairwise

import pytest

from hyperperiod.observe.releases import WARM_UP, Grid, Releases


def grid_of(releases: list[int], resolution_ns: int = 1) -> Grid | None:
    found = Releases()
    for release_ns in releases:
        found.add(release_ns)
    return found.grid(resolution_ns)


def holds(releases: list[int], grid: Grid) -> bool:
    """Whether some phase has all releases at most a jitter behind points, no two behind one."""
    for begin_ns in releases:
        places = [divmod(one - begin_ns, grid.period_ns) for one in releases]
        late = all(behind_ns <= grid.jitter_ns for _, behind_ns in places)
        if late and all(a < b for (a, _), (b, _) in pairwise(places)):
            return True
    return False


def drawn(draw: random.Random, count: int) -> tuple[int, list[int]]:
    """A period, and releases with holes; a few are much later than the others, none overtakes."""
    period_ns = draw.randint(10**6, 10**8)
    usual_ns, rare_ns = period_ns // draw.choice([8, 100, 10**4]), period_ns * 3 // 4
    releases, number = [], 0
    for _ in range(count):
        number += draw.choices([1, 2, 5], [90, 9, 1])[0]
        late_ns = rare_ns if draw.random() < 0.01 else draw.randint(0, usual_ns)
        releases.append(10**12 + number * period_ns + late_ns)
    return period_ns, releases


def test_grids_are_found_and_hold() -> None:
    """Very few are not found: many late releases in a row look like another grid."""
    found = 0
    for seed in range(200):
        draw = random.Random(f"releases {seed}")
        period_ns, releases = drawn(draw, 2 * WARM_UP if seed == 0 else draw.randint(20, 200))
        grid = grid_of(releases, draw.choice([1, 1000]))
        if grid is None:
            continue
        found += 1
        assert holds(releases, grid), (seed, grid)
        # A line between the earliest and the latest can turn so far, and no further.
        points = round((releases[-1] - releases[0]) / period_ns)
        turns_ns = abs(grid.period_ns - period_ns) * points
        assert turns_ns <= grid.jitter_ns + period_ns * 3 // 4, (seed, grid)
    assert found >= 198


@pytest.mark.parametrize("seed", range(100))
def test_what_has_no_grid_gets_none_that_does_not_hold(seed: int) -> None:
    draw = random.Random(f"no grid {seed}")
    longest_ns = draw.choice([2, 3, 20]) * 10**6
    releases = [10**9]
    for _ in range(draw.randint(1, 300)):
        releases.append(releases[-1] + draw.randint(0, longest_ns))
    grid = grid_of(releases)
    assert grid is None or holds(releases, grid), (seed, grid)


def late(seed: int, count: int, late_us: int, hole: int = 0) -> list[int]:
    """Releases every 10 ms, each late by up to so much, and a hole in the middle."""
    draw = random.Random(f"late {seed}")
    points = [*range(count // 2), *range(count // 2 + hole, count + hole)]
    return [10**12 + point * 10**7 + draw.randint(0, late_us) * 1000 for point in points]


@pytest.mark.parametrize("count", [60, 500, 2000])
@pytest.mark.parametrize("late_us", [100, 2000, 3000])
def test_lateness_of_a_third_is_no_matter_however_long_one_looks(count: int, late_us: int) -> None:
    for seed in range(3):
        grid = grid_of(late(seed, count, late_us), 1000)
        assert grid is not None
        assert abs(grid.period_ns - 10**7) * count <= late_us * 1000
        assert grid.jitter_ns <= 1.2 * late_us * 1000


@pytest.mark.parametrize("hole", [20, 100, 200, 1000])
def test_a_hole_gives_no_other_period(hole: int) -> None:
    for seed in range(20):
        grid = grid_of(late(seed, 300, 1000, hole), 1000)
        assert (grid is None) == (hole >= 200)
        assert grid is None or abs(grid.period_ns - 10**7) * 300 <= 10**6 >= grid.jitter_ns


@pytest.mark.parametrize("count", [50, 500, 2000])
@pytest.mark.parametrize("varies_ns", [3 * 10**4, 3 * 10**5, 3 * 10**6])
def test_sleeps_after_each_job_are_no_grid(count: int, varies_ns: int) -> None:
    for seed in range(5):
        draw = random.Random(f"sleeps {seed}")
        gaps = (10**7 + draw.randint(0, varies_ns) for _ in range(count))
        assert grid_of(list(accumulate(gaps, initial=10**12))) is None


def test_a_cycle_of_two_gaps_is_no_grid_of_a_third() -> None:
    gaps = [8 * 10**6, 12 * 10**6] * 300
    assert grid_of(list(accumulate(gaps, initial=10**12))) is None


def test_time_that_goes_back_leaves_no_grid() -> None:
    found = Releases()
    for release_ns in (*range(1000, 9000, 10), *range(900, 9900, 10)):
        found.add(release_ns)
    assert (found.gap_min_ns, found.grid(1)) == (10, None)


def test_the_least_gap_is_known_at_once() -> None:
    found = Releases()
    for release_ns in (10, 17, 30):
        found.add(release_ns)
    assert (found.count, found.gap_min_ns) == (3, 7)


def test_a_period_is_as_round_as_the_clock_allows() -> None:
    """Times cut to microseconds: 16.666667 ms stays, since a rounder one would run away."""
    exact = [number * 16_666_667 // 1000 * 1000 for number in range(3000)]
    grid = grid_of(exact, 1000)
    assert grid is not None
    assert (grid.period_ns, grid.jitter_ns) == (16_666_667, 999)
    short = grid_of(exact[:30], 1000)
    assert short is not None
    assert short.period_ns == 16_666_700
