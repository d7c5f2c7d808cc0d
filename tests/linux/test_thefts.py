# SPDX-License-Identifier: BSD-2-Clause
"""Tables that bound thefts do so in every window, and are no larger than they must be."""

from __future__ import annotations

import random
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np

from hyperperiod.hosts.costs import HostCosts
from hyperperiod.hosts.linux.thefts import Theft, bound, thefts_in
from hyperperiod.hosts.rings import Ring, RingHeader
from hyperperiod.model import Stolen, load_system
from hyperperiod.trace.format import RECORD

US, MS = 1_000, 1_000_000


def some_thefts(draw: random.Random) -> list[Theft]:
    """A few short ones at random, in bursts or apart, and maybe long ones again and again."""
    found = []
    for burst in range(draw.randint(1, 12)):
        begin_ns = burst * draw.choice((3, 10, 40)) * MS + draw.randrange(MS)
        for _ in range(draw.choice((1, 1, 2, 5))):
            end_ns = begin_ns + draw.randint(1, draw.choice((30, 300)) * US)
            found.append(Theft(begin_ns, end_ns))
            begin_ns = end_ns + draw.randint(1, 200 * US)
    if draw.random() < 0.5:
        begin_ns = max(theft.end_ns for theft in found) + 1
        for _ in range(draw.randint(1, 8)):
            end_ns = begin_ns + 2 * MS + draw.randrange(50 * US)
            found.append(Theft(begin_ns, end_ns))
            begin_ns = end_ns + 7 * MS + draw.randrange(MS)
    return together(sorted(found))


def together(thefts: list[Theft]) -> list[Theft]:
    """Thefts that meet are one."""
    found: list[Theft] = []
    for theft in thefts:
        if found and theft.begin_ns <= found[-1].end_ns:
            found[-1] = Theft(found[-1].begin_ns, max(found[-1].end_ns, theft.end_ns))
        else:
            found.append(theft)
    return found


def require_bounded(thefts: list[Theft], stolen: tuple[Stolen, ...]) -> None:
    for first, last in combinations_with_replacement(range(len(thefts)), 2):
        span_ns = thefts[last].end_ns - thefts[first].begin_ns
        rows = [(-(-span_ns // one.period_ns), one.duration_ns) for one in stolen]
        inside = thefts[first : last + 1]
        assert sum(theft.length_ns for theft in inside) <= sum(n * c for n, c in rows)
        assert len(inside) <= sum(n for n, _ in rows)


def test_no_window_has_more_than_the_tables_allow() -> None:
    for seed in range(40):
        thefts = some_thefts(random.Random(seed))
        require_bounded(thefts, bound(thefts))


def test_one_thief_has_one_table_as_long_as_it_is() -> None:
    """A period of 50 ms is among those that are tried."""
    thefts = [Theft(n * 50 * MS, n * 50 * MS + 19_500) for n in range(20)]
    assert bound(thefts) == (Stolen(period_ns=50 * MS, duration_ns=20 * US),)
    assert bound([]) == ()


def test_a_long_thief_and_short_ones_are_bounded_apart() -> None:
    """So what is short may come often, and is not taken for long."""
    short = [Theft(n * MS, n * MS + 5 * US) for n in range(1, 200) if n % 20 > 3]
    long = [Theft(n * 20 * MS, n * 20 * MS + 2 * MS) for n in range(10)]
    stolen = bound([*short, *long])
    require_bounded(sorted([*short, *long]), stolen)
    assert sum(one.duration_ns / one.period_ns for one in stolen) < 0.25


def test_tables_are_read_as_part_of_a_system_file(tmp_path: Path) -> None:
    stolen = bound(some_thefts(random.Random(1)))
    file = tmp_path / "robbed.toml"
    server = '[[domain]]\nname = "a"\nbest_effort = true\n'
    tables = HostCosts(stolen=stolen).table()
    file.write_text(f'name = "robbed"\npolicy = "ds"\n\n{tables}\n{server}')
    assert load_system(file).stolen == stolen


def test_thefts_are_read_from_a_ring() -> None:
    """Stolen before the epoch it has no length there; what does not end is no theft yet."""
    kinds = [(49, 0), (50, 0), (49, 5), (50, 9), (32, 10), (49, 12), (50, 12), (49, 20)]
    records = np.zeros(len(kinds), RECORD)
    records["kind"], records["time_ns"] = zip(*kinds, strict=True)
    ring = Ring(RingHeader(64, 8, 8, 10**9, 0, 0, 0, 0), records, 0)
    assert thefts_in(ring) == [Theft(5, 9)]
