# SPDX-License-Identifier: BSD-2-Clause
"""The extra time of SEDF in the simulator: by lost time first, then by weight, worked out by hand.

Times are microseconds in the drawings.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.worlds import Run, domain, run, system, task

from hyperperiod.model import Domain

US = 1000
MS = 1_000_000


def busy(name: str, given: tuple[int, int] | None = None, **more: Any) -> Domain:
    server = None if given is None else (given[0] * US, given[1] * US)
    return domain(name, server, task(name, kind="busy"), **more)


def drawn(ran: Run) -> str:
    """As `Run.drawn`, in microseconds."""
    words = ran.drawn().split()
    return " ".join(str(int(word) // US) if word.isdigit() else word for word in words)


def supplied(ran: Run) -> dict[str, int]:
    return {one.name: one.supply_ns for one in ran.result.domains}


def test_best_effort_shares_by_weight() -> None:
    """Three to one of all time, in shares of 500 us."""
    ran = run(
        system(
            "sedf", busy("a", best_effort=True, weight=30), busy("b", best_effort=True, weight=10)
        ),
        400 * MS,
    )
    got = supplied(ran)
    assert sum(got.values()) == 400 * MS
    assert abs(got["a"] - 3 * got["b"]) <= 4 * MS


def test_without_a_weight_it_is_one() -> None:
    got = supplied(
        run(system("sedf", busy("a", best_effort=True), busy("b", best_effort=True)), 9 * MS)
    )
    assert got == {"a": 4_500 * US, "b": 4_500 * US}


def test_servers_share_by_utilisation() -> None:
    """Half of the pcpu is left, 4 to 1 like the slices: 40 + 40 of 100 and 10 + 10."""
    ran = run(
        system(
            "sedf-prime",
            busy("a", (4000, 10_000), extra=True),
            busy("b", (1000, 10_000), extra=True),
        ),
        1000 * MS,
    )
    got = supplied(ran)
    assert abs(got["a"] - 800 * MS) <= 10 * MS
    assert abs(got["b"] - 200 * MS) <= 10 * MS


def test_a_short_gap_is_idle() -> None:
    """The first work waits for a slice, 9.6 ms of 10; then 400 us are too little for a share."""
    ran = run(system("sedf", busy("a", (9600, 10_000)), busy("rest", best_effort=True)), 40 * MS)
    assert (
        drawn(ran) == "0 rest 9500 - 9600 a 19200 - 19600 a 29200 - 29600 a 39200 - 39600 a 40000"
    )


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        # The slice is lost at 3 ms, 1 of 2 ms in 10: one share for that, the rest by weight.
        ("sedf", "0 rest 2000 a 3000 b 4000 a 4500 rest"),
        ("sedf-prime", "0 a 1000 rest 2000 b 3000 a 4000 rest"),
    ],
)
def test_lost_time_comes_first(policy: str, expected: str) -> None:
    ran = run(
        system(
            policy,
            domain("a", (2 * MS, 10 * MS), task("a", 3 * MS, MS)),
            domain("b", (1 * MS, 10 * MS), task("b", 20 * MS, MS, offset=2 * MS)),
            busy("rest", best_effort=True),
        ),
        5 * MS,
    )
    assert drawn(ran).startswith(expected)
