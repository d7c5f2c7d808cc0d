# SPDX-License-Identifier: BSD-2-Clause
"""The worst case of small systems is the simulator's, and a bound below it is found out."""

import json
from itertools import pairwise

import pytest
from bench.pessimism import (
    NUMBERS,
    PAGE,
    POLICIES,
    Small,
    UnsoundError,
    build,
    measured,
    page_with,
    picture,
    quantiles,
    worst_case,
)

from bench import pessimism


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "rtds"])
def test_the_simulator_shows_the_worst_case(policy: str) -> None:
    program = build()
    for number in range(2):
        found = measured(program, policy, number)
        assert found["worst"] <= found["servers"] <= found["interface"]


def test_the_worst_case_of_a_deferrable_server() -> None:
    """Budget used up early, and the next one late behind two budgets of the other in a row."""
    small = Small("ds", ((10, 2), (6, 3)), ((40, 2),))
    worst = worst_case(build(), small)
    assert worst is not None
    assert worst[0].response == 8


def test_a_bound_that_is_too_low_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pessimism, "bounds", lambda system: [1] * len(system.domains[0].tasks))
    with pytest.raises(UnsoundError, match="bound 1, "):
        measured(build(), "ptps", 0)


def test_quantiles() -> None:
    found = quantiles([1.0 + step / 20 for step in range(21)])
    assert found["median"] == 1.5
    # Of 21 values the 6th and the 16th: 0.027 of the binomial distribution lie outside.
    assert (found["low"], found["high"]) == (1.25, 1.75)
    ordered = [found[name] for name in ("low", "median", "high", "p90", "largest")]
    assert all(left <= right for left, right in pairwise(ordered))


def test_page_and_picture_have_the_numbers() -> None:
    known = json.loads(NUMBERS.read_text())
    assert PAGE.read_text() == page_with(PAGE.read_text(), known)
    assert tuple(known) == POLICIES
    assert all(policy in picture(known) for policy in POLICIES)
