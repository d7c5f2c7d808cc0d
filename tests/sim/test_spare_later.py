# SPDX-License-Identifier: BSD-2-Clause
"""A spare can make a single job of somebody else later: a search among small systems finds some.

Two servers on one pcpu, three jobs, everything in whole milliseconds. Such a system is *found* if a
job of the domain that never gets of the spare is done later under ERTDS than under RTDS.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from hyperperiod.model import (
    Domain,
    Interface,
    System,
    Task,
    load_system,
    parse_policy,
    with_policy,
)
from hyperperiod.runs import simulate

MS = 1_000_000
SYSTEMS = 2000
LATER = Path(__file__).parents[2] / "docs/examples/spare-later.toml"


def some_system(draw: Random) -> System:
    """Two jobs of a domain that the spare may help, and one of another."""

    def server() -> Interface:
        period = draw.randint(3, 8)
        return Interface(period_ns=period * MS, budget_ns=draw.randint(1, period // 2) * MS)

    def job(name: str) -> Task:
        offset_ns = draw.randrange(12) * MS
        wcet_ns = draw.randint(1, 3) * MS
        return Task(name=name, period_ns=48 * MS, offset_ns=offset_ns, wcet_ns=wcet_ns)

    return System(
        name="some",
        policy=parse_policy("ertds"),
        spare=Interface(period_ns=24 * MS, budget_ns=draw.randint(1, 6) * MS),
        domains=(
            Domain(name="helped", interface=server(), tasks=(job("early"), job("late"))),
            Domain(name="steady", interface=server(), tasks=(job("work"),)),
        ),
    )


def made_later(system: System) -> int:
    """By how much the spare makes the job of `steady` later, which gets none of it; 0 if not."""
    done: list[int] = []
    for policy in ("rtds", "ertds"):
        result = simulate(with_policy(system, parse_policy(policy)), 48 * MS)
        steady = result.domains[1]
        response = steady.tasks[0].response_ns
        if response is None or steady.donated_ns:
            return 0
        done.append(response.max)
    return max(0, done[1] - done[0])


def test_a_search_finds_some() -> None:
    draw = Random(1)
    found = [later for _ in range(SYSTEMS) if (later := made_later(some_system(draw)))]
    assert len(found) >= SYSTEMS // 400
    assert max(found) >= MS


def test_the_one_in_the_documentation_is_one() -> None:
    assert made_later(load_system(LATER)) == MS
