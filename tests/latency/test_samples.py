# SPDX-License-Identifier: BSD-2-Clause
"""The arithmetic of the clock-tick test, against loops that are stepped through one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyperperiod.papers.latency.samples import NO_TICK, PAPER_TICK, Tick, sample


def lengths(spans: list[tuple[int, int]], loop_ns: int, tick: Tick) -> list[int]:
    starts, ends = np.array(spans, np.int64).T
    return [int(length) for length in sample(starts, ends, loop_ns, tick).length_ns]


def stepped(spans: list[tuple[int, int]], loop_ns: int, tick: Tick) -> list[int]:
    """The same, one nanosecond of execution at a time."""
    found: list[int] = []
    begin, done, handling, pending = spans[0][0], 0, 0, False
    away = spans[0][0]
    for start, end in spans:
        pending = pending or any(now % tick.every_ns == 0 for now in range(away, start))
        for now in range(start, end):
            if now % tick.every_ns == 0 or pending:
                handling, pending = handling + tick.cost_ns, False
            if handling:
                handling -= 1
                continue
            done += 1
            if done == loop_ns:
                found.append(now + 1 - begin)
                begin, done = now + 1, 0
        away = end
    return found


def test_a_vm_alone_has_nothing_but_ticks() -> None:
    found = lengths([(0, 7_000_000)], 68_000, PAPER_TICK)
    assert set(found) == {68_000, 76_000}
    assert found.count(76_000) == 7
    assert len(found) == (7_000_000 - 7 * 8_000) // 68_000


def test_time_away_lengthens_one_loop() -> None:
    found = lengths([(0, 100), (350, 500)], 40, NO_TICK)
    assert found == [40, 40, 40 + 250, 40, 40, 40]


def test_time_away_between_two_loops_belongs_to_the_second() -> None:
    assert lengths([(0, 80), (100, 180)], 40, NO_TICK) == [40, 40, 60, 40]


def test_ticks_of_the_time_away_are_handled_once() -> None:
    tick = Tick(1000, 10)
    found = lengths([(0, 500), (5500, 6000)], 100, tick)
    assert found == [110, 100, 100, 100, 110 + 5000, 100, 100, 100, 100]


spans_of = st.lists(st.tuples(st.integers(1, 60), st.integers(20, 90)), min_size=1, max_size=6).map(
    lambda steps: [
        (sum(map(sum, steps[:at])) + steps[at][0], sum(map(sum, steps[: at + 1])))
        for at in range(len(steps))
    ]
)


@given(spans=spans_of, loop=st.integers(2, 40), every=st.integers(23, 50), cost=st.integers(1, 5))
def test_as_stepping_through(
    spans: list[tuple[int, int]], loop: int, every: int, cost: int
) -> None:
    tick = Tick(every, cost)
    found, expected = lengths(spans, loop, tick), stepped(spans, loop, tick)
    assert found[: len(expected)] == expected[: len(found)]
    assert abs(len(found) - len(expected)) <= 1
