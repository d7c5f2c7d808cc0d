# SPDX-License-Identifier: BSD-2-Clause
"""Rows of hops on one vcpu, and the shortest way through them, worked out by hand."""

from __future__ import annotations

import random

import pytest
from tests.analysis import plain_flows
from tests.support.drawn_streams import draw_stream, draw_supply
from tests.support.worlds import domain, server, system, task

from hyperperiod._analysis import Shape
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.flows.best_case import limit_of, shortest_ns
from hyperperiod.analysis.flows.pieces import Piece, Visit, piece_bounds
from hyperperiod.analysis.flows.stream import Stream

WHOLE = Supply(Shape.GENERAL, 1, 1)


def visit(hop: int, level: int, wcet: int, period: int, jitter: int = 0) -> Visit:
    return Visit("f", hop, level, Stream(wcet, period, jitter))


def test_a_row_pays_for_both_hops_and_for_what_comes_first_at_the_former() -> None:
    """Items every 10 of 3 and 4: done after 7; at a jitter of 4 the next is read before, at 6."""
    read, law = visit(0, 0, 3, 10), visit(1, 1, 4, 10)
    assert piece_bounds([read, law], WHOLE, [0, 0])[Piece("f", 0, 1)] == 7
    late = [one._replace(stream=one.stream._replace(jitter=4)) for one in (read, law)]
    assert piece_bounds(late, WHOLE, [0, 0])[Piece("f", 0, 1)] == 10


def test_where_priorities_rise_nothing_later_is_before_an_item() -> None:
    """As above with the second hop first: 7, and 14 less the 6 that the next item came later."""
    read, law = visit(0, 1, 3, 10, 4), visit(1, 0, 4, 10, 4)
    assert piece_bounds([read, law], WHOLE, [0, 0])[Piece("f", 0, 1)] == 8


def test_releases_in_a_row_spread_like_those_at_its_entry() -> None:
    """The second hop's own jitter, of 25, would count three items at once."""
    read, law = visit(0, 0, 3, 10), visit(1, 1, 4, 10, 25)
    found = piece_bounds([read, law], WHOLE, [0, 0])
    assert found[Piece("f", 0, 1)] == 7
    assert found[Piece("f", 1, 1)] == 7


def test_a_row_ends_at_a_hop_of_lower_priority() -> None:
    """For the first hop alone the one behind it does not count, nor what that is blocked by."""
    read, law = visit(0, 0, 3, 10), visit(1, 1, 4, 10)
    found = piece_bounds([read, law], WHOLE, [1, 50])
    assert found[Piece("f", 0, 0)] == 4
    assert found[Piece("f", 0, 1)] is not None


def test_others_count_until_the_item_is_done() -> None:
    beside = Visit("", 0, 0, Stream(2, 8))
    read, law = visit(0, 1, 3, 40), visit(1, 2, 4, 40)
    assert piece_bounds([beside, read, law], WHOLE, [0, 0, 0])[Piece("f", 0, 1)] == 11


def test_more_work_than_bandwidth_has_no_bound() -> None:
    assert piece_bounds([visit(0, 0, 11, 10)], WHOLE, [0]) == {Piece("f", 0, 0): None}


def draw_visits(rng: random.Random, scale: int) -> list[Visit]:
    """Up to three flows with gaps in their rows, and tasks beside them, at levels in any order."""
    levels = rng.randint(1, 5)
    visits = []
    for flow in ("f", "g", "h")[: rng.randint(1, 3)]:
        queue = draw_stream(rng, scale)
        for hop in range(rng.randint(1, 9)):
            if rng.random() < 0.85:
                jitter = None if queue.queue and rng.random() < 0.2 else rng.randint(0, 40) * scale
                stream = queue._replace(wcet=rng.randint(1, 2 * scale), jitter=jitter)
                visits.append(Visit(flow, hop, rng.randrange(levels), stream))
    visits += [
        Visit("", 0, level, Stream(scale, rng.randint(9, 40) * scale))
        for level in range(levels)
        if rng.random() < 0.3
    ]
    rng.shuffle(visits)
    return visits


@pytest.mark.parametrize("seed", range(12))
def test_the_kernel_is_the_definition(seed: int) -> None:
    rng = random.Random(f"pieces:{seed}")
    bounded = 0
    for _ in range(12):
        scale = rng.choice((1, 1, 997, 2**40))
        asked = (
            draw_visits(rng, scale),
            rng.choice((WHOLE, draw_supply(rng, scale))),
            [rng.choice((0, 0, rng.randint(1, 5) * scale)) for _ in range(5)],
        )
        found, expected = piece_bounds(*asked), plain_flows.piece_bounds(*asked)
        assert list(found.items()) == list(expected.items())
        bounded += sum(bound is not None for bound in found.values())
    assert bounded > 5


@pytest.mark.parametrize(("work", "shortest"), [(1, 1), (8, 8), (9, 15), (12, 18), (13, 25)])
def test_two_budgets_may_touch_and_no_more(work: int, shortest: int) -> None:
    """4 in 10: the end of one period and the beginning of the next, then gaps of 6."""
    assert shortest_ns([(work, server(4, 10))]) == shortest
    assert shortest_ns([(work, None), (work, server(4, 10))]) == work + shortest


@pytest.mark.parametrize(("policy", "limited"), [("ptps", True), ("ds", True), ("crps", False)])
def test_time_of_others_is_beyond_any_limit(policy: str, limited: bool) -> None:
    one = domain("d", (4, 10), task("t", 100, 1))
    known = limit_of(system(policy, one), one)
    assert known == (one.interface if limited else None)


def test_overheads_and_tasks_that_move_have_no_limit() -> None:
    one = domain("d", (4, 10), task("t", 100, 1))
    assert limit_of(system("ds", one, overheads={"pick": 1}), one) is None
    two = domain("d", (4, 10), task("t", 100, 1), vcpus=2, scheduler="gedf")
    assert limit_of(system("rtds", two, pcpus=2), two) is None
