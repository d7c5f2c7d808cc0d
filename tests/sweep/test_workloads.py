# SPDX-License-Identifier: BSD-2-Clause
"""Drawn periods, deadlines and workloads have the distributions that their papers give."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from math import exp, log
from statistics import fmean

import pytest
from tests.sweep.statistics_of_draws import UNLIKELY, ks, ks_of_classes

from hyperperiod.experiments.sweep.periods import (
    AUTOMOTIVE_SHARES,
    DRAW_PERIOD,
    NS_PER_MS,
    Periods,
    Range,
)
from hyperperiod.experiments.sweep.workloads import (
    NARROW_MS,
    RUNNABLES,
    DrawRequest,
    Generator,
    draw_tasks,
    runnable_ns,
)
from hyperperiod.model import PRESETS
from hyperperiod.model.generate import csa_system

DRAWS = 5000
WITHIN = Range(10 * NS_PER_MS, 1000 * NS_PER_MS, NS_PER_MS)


def asked(generator: Generator, utilization: str = "0.7", **more: object) -> DrawRequest:
    said = DrawRequest(
        generator, 5, 25, Fraction(utilization), Fraction(1), Periods.LOG_UNIFORM, WITHIN,
        Fraction(1), 1000,
    )  # fmt: skip
    return said._replace(**more)  # type: ignore[arg-type]


def counted(kind: Periods, within: Range = WITHIN) -> Counter[int]:
    draw = random.Random(1)
    return Counter(DRAW_PERIOD[kind](draw, within) for _ in range(DRAWS))


def statistic(counts: Counter[int], shares: dict[int, float]) -> float:
    assert set(counts) <= set(shares)
    return ks_of_classes([counts[one] for one in shares], list(shares.values()))


def test_uniform_periods() -> None:
    shares = {ms * NS_PER_MS: 1 / 991 for ms in range(10, 1001)}
    assert statistic(counted(Periods.UNIFORM), shares) < UNLIKELY


def test_log_uniform_periods() -> None:
    """The share of a period is that of the logarithms between it and the next."""
    whole = log(1001 / 10)
    shares = {ms * NS_PER_MS: log((ms + 1) / ms) / whole for ms in range(10, 1001)}
    assert statistic(counted(Periods.LOG_UNIFORM), shares) < UNLIKELY


def test_harmonic_periods() -> None:
    within = Range(10 * NS_PER_MS, 100 * NS_PER_MS, NS_PER_MS)
    shares = {10 * NS_PER_MS << power: 1 / 4 for power in range(4)}
    assert statistic(counted(Periods.HARMONIC, within), shares) < UNLIKELY


def test_automotive_periods() -> None:
    shares = {ms * NS_PER_MS: share / 85 for ms, share in AUTOMOTIVE_SHARES.items()}
    assert sum(AUTOMOTIVE_SHARES.values()) == 85
    assert statistic(counted(Periods.AUTOMOTIVE), shares) < UNLIKELY


def test_a_step_is_kept() -> None:
    within = Range(10 * NS_PER_MS, 100 * NS_PER_MS, 7 * NS_PER_MS)
    for kind in (Periods.UNIFORM, Periods.LOG_UNIFORM):
        found = counted(kind, within)
        assert set(found) == {7 * ms * NS_PER_MS for ms in range(2, 15)}


@pytest.mark.parametrize("generator", list(Generator))
def test_utilizations_are_as_asked_but_for_rounding(generator: Generator) -> None:
    for seed in range(20):
        tasks = draw_tasks(asked(generator), seed)
        whole = sum(Fraction(task.wcet_ns, task.period_ns) for task in tasks)
        if generator is Generator.CSA:
            assert Fraction("0.7") <= whole < Fraction("0.7") + Fraction(51, 1000)
        else:
            # Each execution time is a microsecond above what was drawn, at most.
            dust = sum(Fraction(1001, task.period_ns) for task in tasks)
            assert abs(whole - Fraction("0.7")) <= dust
        assert draw_tasks(asked(generator), seed) == tasks
        assert draw_tasks(asked(generator), seed + 1) != tasks


def test_deadlines_are_uniform_in_their_part_of_the_period() -> None:
    few = asked(Generator.UUNIFAST, "0.01", min_deadline=Fraction(1, 2))
    tasks = [task for seed in range(200) for task in draw_tasks(few, seed)]
    places = [2 * task.deadline_ns / task.period_ns - 1 for task in tasks]
    assert ks(places, lambda at: min(1.0, max(0.0, at))) < UNLIKELY


def test_csa_is_the_systems_of_the_paper() -> None:
    """The same rule as that of the example system, draw by draw."""
    within = Range(350 * NS_PER_MS, 850 * NS_PER_MS, NS_PER_MS)
    system = csa_system("x", PRESETS["ptps"], seed=7, utilization=Fraction("0.9"))
    tasks = draw_tasks(asked(Generator.CSA, "0.9", within=within), 7)
    times = [(task.period_ns, task.wcet_ns) for task in tasks]
    both = [(task.period_ns, task.wcet_ns) for one in system.domains for task in one.tasks]
    assert times == both


def test_csa_has_the_distribution_of_the_paper() -> None:
    within = Range(350 * NS_PER_MS, 850 * NS_PER_MS, NS_PER_MS)
    tasks = [
        task
        for seed in range(200)
        for task in draw_tasks(asked(Generator.CSA, "0.9", within=within), seed)
    ]
    shares = [(task.wcet_ns / task.period_ns - 0.002) / 0.048 for task in tasks]
    # The last task is the one that passes the sum, and so rather a large one: one of 35.
    assert ks(shares, lambda at: min(1.0, max(0.0, at))) < 2 * UNLIKELY
    counts = Counter(task.period_ns for task in tasks)
    assert statistic(counts, {ms * NS_PER_MS: 1 / 501 for ms in range(350, 851)}) < UNLIKELY


def test_ertds_cuts_the_share_of_each_vm_in_three() -> None:
    firsts = []
    for seed in range(1000):
        tasks = draw_tasks(asked(Generator.ERTDS, "1", domains=2), seed)
        assert [task.domain for task in tasks] == [0, 0, 0, 1, 1, 1]
        assert all(20 <= task.period_ns / NS_PER_MS <= 200 for task in tasks)
        firsts.append(tasks[0].wcet_ns / tasks[0].period_ns / 0.5)
    # The first of three parts of a whole that is cut at random: 1 - (1 - x)^2.
    assert ks(firsts, lambda at: 1 - (1 - min(1.0, max(0.0, at))) ** 2) < UNLIKELY


@pytest.mark.parametrize("period_ms", RUNNABLES)
def test_runnables_keep_the_limits_and_averages_of_the_tables(period_ms: int) -> None:
    row, draw = RUNNABLES[period_ms], random.Random(1)
    wcets = [runnable_ns(draw, period_ms) for _ in range(20_000)]
    assert min(wcets) >= row.min_ns * row.min_factor
    assert max(wcets) <= row.max_ns * row.max_factor
    # Two independent draws: the mean is the product. The cut takes at most 3 % of the average.
    mean_ns = row.mean_ns * (row.min_factor + row.max_factor) / 2
    if period_ms == NARROW_MS:
        mean_ns *= (row.min_ns + row.max_ns) / 2 / row.mean_ns
    assert fmean(wcets) == pytest.approx(mean_ns, rel=0.04)


def test_the_cut_exponential_is_one() -> None:
    """Execution times of 10 ms before their factor: seen where the factor is taken out again."""
    row = RUNNABLES[10]._replace(min_factor=1.0, max_factor=1.0)
    draw, scale = random.Random(1), RUNNABLES[10].mean_ns - RUNNABLES[10].min_ns
    values = [runnable_ns(draw, 10, row) for _ in range(DRAWS)]
    kept = 1 - exp(-(row.max_ns - row.min_ns) / scale)
    assert ks(values, lambda at: (1 - exp(-(at - row.min_ns) / scale)) / kept) < UNLIKELY


def test_automotive_tasks_gather_runnables_by_period() -> None:
    for seed in range(20):
        tasks = draw_tasks(asked(Generator.AUTOMOTIVE), seed)
        homes = [(task.domain, task.period_ns) for task in tasks]
        assert len(set(homes)) == len(homes)
        assert {task.period_ns // NS_PER_MS for task in tasks} <= set(AUTOMOTIVE_SHARES)
