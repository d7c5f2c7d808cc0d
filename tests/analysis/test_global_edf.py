# SPDX-License-Identifier: BSD-2-Clause
"""Tests of global EDF: published counts, worked examples, what they refuse to speak about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from tests.support.peer_sets import task_sets

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.multiprocessor.baker import baker
from hyperperiod.analysis.multiprocessor.bcl import bcl
from hyperperiod.analysis.multiprocessor.gfb import gfb
from hyperperiod.analysis.multiprocessor.iterative_bcl import iterative_bcl
from hyperperiod.analysis.servers.global_edf import (
    baker_of_servers,
    gfb_of_servers,
    iterative_bcl_of_servers,
)
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model.policy import parse_policy

TESTS: dict[str, Callable[[Sequence[Load], int], Verdict]] = {
    "gfb": gfb,
    "baker": baker,
    "bcl": bcl,
    "iterative bcl": lambda loads, pcpus: iterative_bcl(loads, pcpus).whole,
}
every_test = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS.keys())


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("an1000_m4_implicit.json", {"gfb": 567, "baker": 6, "bcl": 0, "iterative bcl": 496}),
        ("an1000_m4_constrained.json", {"gfb": 335, "baker": 0, "bcl": 0, "iterative bcl": 357}),
    ],
)
def test_published_counts(name: str, counts: dict[str, int]) -> None:
    """What other tools accept of 1000 sets of 20 tasks on four pcpus."""
    sets = task_sets(name)
    for test, accepted in counts.items():
        assert sum(TESTS[test](loads, 4).holds is True for loads in sets) == accepted


@every_test
def test_a_set_that_another_tool_accepts(test: Callable[[Sequence[Load], int], Verdict]) -> None:
    """Three tasks with C, D, T = 5, 6, 100 ms on two pcpus: the third ends at 10."""
    (loads,) = task_sets("eva_bcl09_counterexample.json")
    assert test(loads, 2).holds is None
    assert test(loads, 15).holds is True


def test_the_papers_own_example() -> None:
    """Two tasks of 2/3 and one of 1/6 on two pcpus: too dense for GFB, not for BCL."""
    loads = [Load(20, 30, 30), Load(20, 30, 30), Load(5, 30, 30)]
    assert gfb(loads, 2).holds is None
    assert bcl(loads, 2).holds is True


def test_slack_helps_where_bcl_alone_does_not() -> None:
    """The third task's job is done early, so less of it is carried into the others' windows."""
    loads = [Load(4, 8, 8), Load(4, 8, 8), Load(1, 5, 3)]
    found = iterative_bcl(loads, 2)
    assert found.whole.holds is True
    assert bcl(loads, 2).holds is not False
    assert all(bound <= load.deadline for bound, load in zip(found.bounds, loads, strict=True))


def test_bounds_are_met_by_the_schedule_that_is_worst() -> None:
    """Three equal tasks on two pcpus, released together: the third waits for the first."""
    assert iterative_bcl([Load(2, 8, 8)] * 3, 2).bounds == (4, 4, 4)


@every_test
def test_equality_is_decided_exactly(test: Callable[[Sequence[Load], int], Verdict]) -> None:
    """Five thirds meet GFB's bound of 2 - 1/3 with equality, and a hair more does not."""
    loads = [Load(1, 3, 3)] * 4
    assert gfb([*loads, Load(1, 3, 3)], 2).holds is True
    huge = 10**15
    assert gfb([*loads, Load(huge + 1, 3 * huge, 3 * huge)], 2).holds is None
    assert test([Load(1, 3, 3)] * 7, 2).holds is False


@every_test
def test_what_no_scheduler_can_do_is_false(test: Callable[[Sequence[Load], int], Verdict]) -> None:
    assert test([Load(4, 8, 3)], 2).holds is False
    assert test([Load(3, 4, 4)] * 3, 2).holds is False
    assert test([], 2).holds is True
    with pytest.raises(ValueError, match="0 pcpus"):
        test([Load(1, 2, 2)], 0)


@every_test
def test_what_is_not_covered_is_null(test: Callable[[Sequence[Load], int], Verdict]) -> None:
    for load in (Load(1, 4, 5), Load(1, 4, 3, 2), Load(1, 4, 4, 0, 1)):
        verdict = test([load, Load(1, 9, 9)], 2)
        assert verdict.holds is None
        assert "no test" in verdict.reason
    assert test([Load(1, 9, 4, 5), Load(1, 9, 9)], 2).holds is True


@every_test
def test_jitter_counts_as_releases_that_always_come_closer(
    test: Callable[[Sequence[Load], int], Verdict],
) -> None:
    jittery = [Load(3, 12, 6, 6), Load(3, 12, 6, 6), Load(2, 12, 6, 6)]
    close = [Load(load.wcet, 6, 6) for load in jittery]
    assert test(jittery, 2).holds == test(close, 2).holds


def test_iterative_bcl_accepts_what_bcl_accepts() -> None:
    for loads in task_sets("an1000_m4_constrained.json")[:100]:
        for pcpus in (8, 14):
            if bcl(loads, pcpus).holds:
                assert iterative_bcl(loads, pcpus).whole.holds


def servers(*pairs: tuple[int, int], pcpus: int) -> Group:
    return Group(
        tuple(Server(i, str(i), period, budget, 0) for i, (budget, period) in enumerate(pairs)),
        pcpus,
    )


def test_periodic_servers_may_take_any_test() -> None:
    group = servers((20, 30), (20, 30), (5, 30), pcpus=2)
    assert gfb_of_servers(group).holds is None
    assert baker_of_servers(group).holds is None
    assert [verdict.bound_ns for verdict in iterative_bcl_of_servers(group)] == [28, 28, 25]
    host = host_level(parse_policy("periodic+edf+none+global"), group)
    assert host.whole.holds is True
    assert host.test == "iterative bcl"
    overloaded = servers((3, 4), (3, 4), (3, 4), pcpus=2)
    assert all(verdict.holds is False for verdict in iterative_bcl_of_servers(overloaded))
    overhead = Group(group.servers, 2, overhead=(Load(1, 100, 100),))
    for said in (gfb_of_servers(overhead), *iterative_bcl_of_servers(overhead)):
        assert "overheads" in said.reason


def test_density_is_what_counts_with_constrained_deadlines() -> None:
    loads = [Load(1, 100, 2), Load(1, 100, 2), Load(1, 100, 2), Load(1, 100, 2)]
    assert sum(Fraction(load.wcet, load.period) for load in loads) < 1
    assert gfb(loads, 2).holds is None
    assert gfb(loads, 3).holds is True
