# SPDX-License-Identifier: BSD-2-Clause
"""The edge of a monotone test, upward and downward."""

from hypothesis import given
from hypothesis import strategies as st

from hyperperiod.analysis.bisection import last_holding

NUMBERS = st.integers(-(10**20), 10**20)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_the_edge_is_found_and_the_ends_are_not_asked(one: int, two: int, three: int) -> None:
    low, edge, high = sorted((one, two, three))
    if edge == high:
        return
    asked: list[int] = []

    def up_to_edge(number: int) -> bool:
        asked.append(number)
        return number <= edge

    assert last_holding(up_to_edge, low, high) == edge
    assert last_holding(lambda number: not up_to_edge(number), high, edge) == edge + 1
    assert not {low, high} & set(asked) - {edge}
