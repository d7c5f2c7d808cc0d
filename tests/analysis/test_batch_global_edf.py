# SPDX-License-Identifier: BSD-2-Clause
"""The kernels of the tests of global EDF say what the tests say, set by set."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.analysis import plain
from tests.support.peer_sets import task_sets

from hyperperiod.analysis import batch
from hyperperiod.analysis.batch import Sets
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.baker import baker
from hyperperiod.analysis.multiprocessor.bcl import bcl
from hyperperiod.analysis.multiprocessor.gfb import gfb
from hyperperiod.analysis.multiprocessor.iterative_bcl import iterative_bcl
from hyperperiod.analysis.multiprocessor.sporadic import as_sporadic
from hyperperiod.analysis.verdict import Verdict

_NUMBER = {True: batch.YES, False: batch.NO, None: batch.UNKNOWN}


def drawn(rng: random.Random, unit: int) -> list[Load]:
    """A small set, now and then with something that no test covers."""
    loads = []
    for _ in range(rng.randint(1, 7)):
        period = rng.randint(2, 12) * unit + rng.randrange(unit)
        wcet = rng.randint(1, max(1, period // rng.randint(1, 5)))
        deadline = rng.randint(max(1, wcet - 1), period + 1) if rng.random() < 0.5 else period
        jitter = rng.randint(0, 2) if rng.random() < 0.1 else 0
        blocking = 1 if rng.random() < 0.02 else 0
        loads.append(Load(wcet, period, deadline, jitter, blocking))
    return loads


@pytest.mark.parametrize("unit", [1, 1000, 2**56])
@pytest.mark.parametrize("pcpus", [1, 2, 4])
def test_kernels_and_tests_agree(unit: int, pcpus: int) -> None:
    rng = random.Random(f"{unit} {pcpus}")
    lists = [drawn(rng, unit) for _ in range(400)]
    sets = Sets.of(lists)
    for kernel, test in ((batch.gfb, gfb), (batch.baker, baker), (batch.bcl, bcl)):
        said = [_NUMBER[test(loads, pcpus).holds] for loads in lists]
        assert kernel(sets, pcpus).verdicts.tolist() == said, test.__name__
    found = [iterative_bcl(loads, pcpus) for loads in lists]
    judged = batch.iterative_bcl(sets, pcpus, bounds=True)
    assert judged.verdicts.tolist() == [_NUMBER[one.whole.holds] for one in found]
    bounds = [
        bound
        for one, loads in zip(found, lists, strict=True)
        for bound in one.bounds or [-1] * len(loads)
    ]
    assert judged.bounds is not None
    assert judged.bounds.tolist() == bounds
    assert batch.YES in judged.verdicts


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("an1000_m4_implicit.json", (567, 6, 0, 496)),
        ("an1000_m4_constrained.json", (335, 0, 0, 357)),
    ],
)
def test_published_counts(name: str, counts: tuple[int, ...]) -> None:
    sets = Sets.of(task_sets(name))
    tests = (batch.gfb, batch.baker, batch.bcl, batch.iterative_bcl)
    assert tuple(test(sets, 4).accepted for test in tests) == counts


def test_equality_of_thirds_is_decided() -> None:
    """GFB's bound met exactly, with fractions that have no finite binary form."""
    sets = Sets.of(
        [[Load(1, 3, 3)] * 5, [Load(1, 3, 3)] * 4 + [Load(10**15 + 1, 3 * 10**15, 3 * 10**15)]]
    )
    assert batch.gfb(sets, 2).verdicts.tolist() == [batch.YES, batch.UNKNOWN]
    # Sums of utilizations that are exactly the pcpus are not more than there is.
    full = Sets.of([[Load(1, 3, 3)] * 6, [Load(1, 3, 3)] * 7, [Load(2, 3, 4)]])
    assert batch.bcl(full, 2).verdicts.tolist() == [batch.YES, batch.NO, batch.UNKNOWN]


def test_nothing_is_always_schedulable() -> None:
    empty = Sets(np.empty((0, 5), dtype=np.int64), np.array([0, 0]))
    for test in (batch.gfb, batch.baker, batch.bcl, batch.iterative_bcl):
        assert test(empty, 2).verdicts.tolist() == [batch.YES]


def test_the_tests_follow_their_definitions() -> None:
    """Verdicts, bounds and the load that a reason names, as the papers' formulas give them."""
    confirmed = dict.fromkeys(("baker", "bcl", "iterative bcl"), 0)
    named = 0
    for seed in range(40):
        rng = random.Random(seed)
        unit, pcpus = rng.choice((1, 1000, 2**50)), rng.choice((2, 3, 4))
        for _ in range(25):
            loads = drawn(rng, unit)
            if isinstance(as_sporadic(loads, pcpus), Verdict):
                continue
            apart = [load._replace(period=load.period - load.jitter) for load in loads]
            failing = plain.baker(apart, pcpus)
            said = baker(loads, pcpus)
            assert said.holds is (True if failing is None else None), (seed, loads)
            assert failing is None or said.reason.startswith(f"load {failing}:"), (seed, loads)
            assert bcl(loads, pcpus).holds is (plain.bcl(apart, pcpus) or None), (seed, loads)
            bounds = plain.iterative_bcl(apart, pcpus)
            found = iterative_bcl(loads, pcpus)
            assert found.whole.holds is (None if bounds is None else True), (seed, loads)
            assert list(found.bounds) == (bounds or []), (seed, loads)
            confirmed["baker"] += failing is None
            confirmed["bcl"] += plain.bcl(apart, pcpus)
            confirmed["iterative bcl"] += bounds is not None
            named += failing is not None
    assert min(*confirmed.values(), named) > 50, (confirmed, named)
