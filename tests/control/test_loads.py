# SPDX-License-Identifier: BSD-2-Clause
"""The sum of budgets over periods in hyperperiod-xen, against Python's fractions: exactly."""

from __future__ import annotations

import random
import subprocess
from fractions import Fraction

from tests.support.control_machines import program

Share = tuple[int, int]
LARGEST = 2**32 - 1


def added_up(cases: list[tuple[int, list[Share]]]) -> list[tuple[bool, int, bool]]:
    """For each case what the tool says: too much, in millionths, first larger than second."""
    lines = (
        " ".join(map(str, (pcpus, *(word for share in shares for word in share))))
        for pcpus, shares in cases
    )
    done = subprocess.run(
        [program("sums")], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return [(row[0] == "1", int(row[1]), row[2] == "1") for row in rows]


def expected(pcpus: int, shares: list[Share]) -> tuple[bool, int, bool]:
    parts = [Fraction(budget, period) if period else Fraction(0) for budget, period in shares]
    total = sum(parts, Fraction(0))
    return total > pcpus, int(total * 10**6), len(parts) > 1 and parts[0] > parts[1]


def check(cases: list[tuple[int, list[Share]]]) -> None:
    assert added_up(cases) == [expected(pcpus, shares) for pcpus, shares in cases]


def test_edges() -> None:
    """Nothing, all of a pcpu, one unit too much, sums that no 64 bits hold."""
    thirds = [(1, 3)] * 3
    primes = [4294967291, 4294967279, 4294967231, 4294967197, 4294967189]
    check(
        [
            (1, []),
            (1, [(0, 0), (0, 0)]),
            (1, thirds),
            (1, [*thirds, (1, LARGEST)]),
            (1, [(LARGEST, LARGEST)]),
            (1, [(LARGEST, LARGEST), (1, LARGEST)]),
            (2, [(LARGEST, LARGEST), (LARGEST - 1, LARGEST)]),
            (1, [(1, prime) for prime in primes]),
            (1, [(prime // 5, prime) for prime in primes]),
            (1, [(prime // 5 + 1, prime) for prime in primes]),
            (64, [(1, 1)] * 64),
            (63, [(1, 1)] * 64),
            (1, [(5, 7), (0, 0)]),
        ]
    )


def test_sums_at_one() -> None:
    """Sums that are 1 exactly, and those beside them, of periods with nothing in common."""
    draw = random.Random(20261122)
    cases = []
    for _ in range(60):
        periods = [draw.randrange(10, 10**4) for _ in range(draw.randrange(1, 8))]
        whole = 1
        for period in periods:
            whole *= period
        shares = [(draw.randrange(1, period) // len(periods), period) for period in periods]
        rest = 1 - sum((Fraction(*share) for share in shares), Fraction(0))
        if not 0 < rest.denominator <= LARGEST:
            continue
        for more in (-1, 0, 1):
            budget, period = rest.numerator, rest.denominator
            if 0 <= budget + more <= LARGEST:
                cases.append((1, [*shares, (budget + more, period)]))
    assert len(cases) > 60
    check(cases)


def test_many_servers() -> None:
    """As many servers as a pool has places and more, of any 32 bits."""
    draw = random.Random(1)
    cases = []
    for count in (1, 2, 63, 64, 300):
        shares = []
        for _ in range(count):
            period = draw.randrange(1, LARGEST + 1)
            shares.append((draw.randrange(0, period + 1), period))
        cases += [(pcpus, shares) for pcpus in (1, count // 2, count)]
    check(cases)
