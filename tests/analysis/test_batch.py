# SPDX-License-Identifier: BSD-2-Clause
"""The batch API: layouts, and the same verdicts as the tests of single sets."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape, Verdict
from hyperperiod.analysis import batch
from hyperperiod.analysis.batch import NO, UNKNOWN, YES, Sets
from hyperperiod.analysis.component import Load

PEERS = Path(__file__).parent.parent / "data" / "peers"
CODES = {Verdict.HOLDS: YES, Verdict.MISSES: NO, Verdict.UNKNOWN: UNKNOWN}


def peer_sets(name: str) -> Sets:
    """The sets of a file that other tools judged, in its order."""
    sets = json.loads((PEERS / name).read_text())["sets"]
    return Sets.dense([[[t["C"], t["T"], t["D"]] for t in entry["tasks"]] for entry in sets])


@pytest.mark.parametrize(
    ("name", "fixed_priority", "edf"),
    [("an1000_uni_implicit.json", 842, 1000), ("an1000_uni_constrained.json", 771, 970)],
)
def test_the_counts_of_other_tools(name: str, fixed_priority: int, edf: int) -> None:
    """1000 sets of 20 tasks: deadline monotonic, and EDF by both of its tests."""
    sets = peer_sets(name)
    quick = batch.response_time(sets.deadline_monotonic())
    assert quick.accepted == fixed_priority
    assert quick.bounds is None
    whole = batch.response_time(sets.deadline_monotonic(), bounds=True)
    assert np.array_equal(whole.verdicts, quick.verdicts)
    for test in (batch.qpa, batch.processor_demand):
        judged = test(sets)
        assert judged.accepted == edf
        assert not np.any(judged.verdicts == UNKNOWN)


def some_set(draw: random.Random) -> list[Load]:
    """Up to ten loads of any size, from 1 to 2^60."""
    count = draw.choice([0, 1, 2, 3, 4, 6, 10])
    scale = draw.choice([1, 1, 7, 1000, 10**9, 2**45, 2**54])
    loads = []
    for _ in range(count):
        period = draw.randint(1, 16) * scale - draw.choice([0, 0, draw.randint(0, scale - 1)])
        wcet = max(1, int(draw.random() * 2 / count * period))
        kind = draw.random()
        deadline = period
        if kind > 0.4:
            least = min(wcet, period)
            deadline = draw.randint(least, max(period, wcet) if kind < 0.8 else 4 * period)
        jitter = 0 if draw.random() < 0.8 else draw.randint(0, 2 * period)
        blocking = 0 if draw.random() < 0.8 else draw.randint(0, period)
        loads.append(Load(wcet, period, deadline, jitter, blocking))
    if draw.random() < 0.5:
        loads.sort(key=lambda load: load.deadline)
    return loads


def one_by_one(loads: list[Load]) -> tuple[int, list[int]]:
    """Fixed priority, load by load: the verdict of the first that fails, and all bounds."""
    verdict, bounds = YES, []
    for index in range(len(loads)):
        found, bound = _analysis.last_response(loads[: index + 1], (Shape.GENERAL, 1, 1, 0))
        bounds.append(bound if found is Verdict.HOLDS else -1)
        if verdict == YES and found is not Verdict.HOLDS:
            plain = all(one.jitter == one.blocking == 0 for one in loads[: index + 1])
            verdict = NO if found is Verdict.MISSES and plain else UNKNOWN
    return verdict, bounds


def utilization(loads: list[Load]) -> Fraction:
    return sum((Fraction(load.wcet, load.period) for load in loads), Fraction(0))


@pytest.mark.parametrize("count", [1500, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_same_verdicts_as_set_by_set(count: int) -> None:
    """Sets with and without jitter, blocking and late deadlines, of every size of numbers."""
    draw = random.Random(31)
    lists = [some_set(draw) for _ in range(count)]
    sets = Sets.of(lists)
    quick = batch.response_time(sets).verdicts
    whole = batch.response_time(sets, bounds=True)
    qpa = batch.qpa(sets).verdicts
    demand = batch.processor_demand(sets).verdicts
    assert whole.bounds is not None
    for index, loads in enumerate(lists):
        overload = utilization(loads) > 1
        verdict, bounds = one_by_one(loads)
        found = whole.bounds[sets.starts[index] : sets.starts[index + 1]].tolist()
        assert quick[index] == whole.verdicts[index] == (NO if overload else verdict), loads
        if overload:  # it is not worth while to look below the load with which it begins
            assert all(ours in (-1, theirs) for ours, theirs in zip(found, bounds, strict=True))
        else:
            assert found == bounds, loads
        edf = CODES[_analysis.judge(Local.EDF, loads, (Shape.GENERAL, 1, 1, 0))[0]]
        if any(load.jitter or load.blocking for load in loads) and edf == NO:
            edf = UNKNOWN
        assert qpa[index] == (NO if overload else edf), loads
        assert demand[index] in (qpa[index], UNKNOWN), loads
    assert min(np.count_nonzero(quick == code) for code in (YES, NO, UNKNOWN)) > count / 20
    assert np.count_nonzero(demand != qpa) < count / 100


def test_no_bound_wraps_at_the_end_of_time() -> None:
    """Jobs that overlap where the deadline of the next is beyond 2^62."""
    loads = [
        Load(75_392_132_274_393_008, 144_115_188_075_855_871, 144_115_188_075_855_871),
        Load(82_557_834_148_092_928, 288_230_376_151_711_744, 288_230_376_151_711_744),
        Load(386_177_285_962_205_632, 2_097_315_442_229_624_216, 2**61),
    ]
    assert one_by_one(loads)[0] == UNKNOWN
    judged = batch.response_time(Sets.of([loads]), bounds=True)
    assert judged.verdicts.tolist() == [UNKNOWN]
    assert judged.bounds is not None
    assert judged.bounds.tolist() == one_by_one(loads)[1]


def test_layouts_say_the_same() -> None:
    """Flat with few fields, dense with padding, and lists of loads."""
    flat = Sets.flat([[1, 4], [2, 6], [3, 9]], [0, 2, 3])
    dense = Sets.dense([[[1, 4, 4], [2, 6, 6]], [[3, 9, 9], [0, 0, 0]]])
    lists = Sets.of([[Load(1, 4, 4), Load(2, 6, 6)], [Load(3, 9, 9)]])
    for sets in (dense, lists):
        assert np.array_equal(sets.loads, flat.loads)
        assert np.array_equal(sets.starts, flat.starts)
    assert len(flat) == 2
    assert len(Sets.of([])) == 0
    assert batch.qpa(Sets.of([])).accepted == 0
    assert batch.response_time(Sets.of([[]])).verdicts.tolist() == [YES]


def test_orders_are_stable_and_keep_sets_apart() -> None:
    sets = Sets.of([[Load(1, 9, 5), Load(2, 3, 8), Load(3, 9, 5)], [Load(4, 2, 2)]])
    assert sets.deadline_monotonic().loads[:, 0].tolist() == [1, 3, 2, 4]
    assert sets.rate_monotonic().loads[:, 0].tolist() == [2, 1, 3, 4]


@pytest.mark.parametrize(
    ("loads", "starts", "said"),
    [
        ([[0, 4]], [0, 1], "of 0"),
        ([[1, 4, 4, -1]], [0, 1], "below 0"),
        ([[1, 2**62]], [0, 1], "2\\^62"),
        ([[1, 4]], [0, 2, 1], "go back"),
        ([[1, 4]], [0], "leave out"),
        ([[1, 4]], [], "no starts"),
        ([[1]], [0, 1], "two to 5"),
        ([[1.0, 4.5]], [0, 1], "not integers"),
    ],
)
def test_what_does_not_fit_is_refused(loads: list[list[int]], starts: list[int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        batch.qpa(Sets.flat(loads, starts))


def test_time_and_memory_do_not_follow_the_hyperperiod() -> None:
    """Prime periods: the hyperperiod is far above 10^18 ns, and so is that of a full pcpu."""
    primes = [10_000_019, 10_000_079, 10_000_103, 10_000_121, 10_000_139, 10_000_141]
    spare = [Load(p // 8, p, p - p // 5) for p in primes]
    full = [Load(p // 6, p, p) for p in primes]
    over = [*full, Load(5, 10, 10)]
    sets = Sets.of([spare, full, over])
    assert batch.qpa(sets).verdicts.tolist() == [YES, YES, NO]
    assert batch.processor_demand(sets).verdicts.tolist() == [YES, YES, NO]
    assert batch.response_time(sets).verdicts.tolist() == [YES, NO, NO]
