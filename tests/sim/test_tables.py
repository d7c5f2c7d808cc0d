# SPDX-License-Identifier: BSD-2-Clause
"""Tables of windows in the simulator: a partition runs in its windows, and nowhere else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.drawn_tables import naive_responses, owner_at, some_table, with_offsets

from hyperperiod import System, TimeWindow, resolve
from hyperperiod.model import Domain
from hyperperiod.runs import simulate, simulate_many
from hyperperiod.trace.check import check_file
from hyperperiod.trace.format import read
from hyperperiod.trace.intervals import intervals
from hyperperiod.trace.properties import Status

TICKS = 240
CASES = 40


@pytest.mark.parametrize("number", range(CASES))
def test_partitions_run_in_their_windows_and_nowhere_else(number: int, tmp_path: Path) -> None:
    """Busy partitions: every tick of a window is theirs, none other is, whoever else is there."""
    draw = random.Random(number)
    drawn = some_table(draw)
    busy = [Domain(name=d.name, pcpu=d.pcpu, windows=d.windows) for d in drawn.domains]
    system = System(
        name="busy",
        policy="table",
        pcpus=drawn.pcpus,
        major_frame_ns=drawn.major_frame_ns,
        domains=busy,
    )
    path = tmp_path / "run.hpt"
    simulate(system, TICKS, 1, path)
    header, records = read(path)
    ran = {one.name: [False] * TICKS for one in system.domains}
    for one in intervals(header, records):
        if one.run in ran:
            ran[one.run][one.start_ns : one.end_ns] = [True] * (one.end_ns - one.start_ns)
    frame = system.major_frame_ns
    assert frame
    for domain in system.domains:
        assert ran[domain.name] == [owner_at(domain, frame, tick) for tick in range(TICKS)]
    assert {found.status for _, found in check_file(path).findings} <= {
        Status.HOLDS,
        Status.SKIPPED,
    }


@pytest.mark.parametrize("number", range(CASES))
def test_every_response_is_that_of_the_naive_model(number: int) -> None:
    draw = random.Random(number)
    system = with_offsets(draw, some_table(draw, plain=True))
    result = simulate(system, TICKS, 1, responses=True)
    assert result.policy == "table"
    for domain, found in zip(system.domains, result.domains, strict=True):
        expected = naive_responses(domain, system.major_frame_ns or 0, TICKS)
        assert {one.name: list(one.responses_ns or ()) for one in found.tasks} == expected
    counts = simulate_many([(resolve(system), 1)], TICKS).tasks
    assert [row[0] for row in counts] == [t.jobs for d in result.domains for t in d.tasks]


def test_a_window_of_the_whole_frame_and_one_at_each_end() -> None:
    """Nothing is stolen of the first; the second has 2 of 10, at both ends of the frame."""
    system = System(
        name="two",
        policy="table",
        pcpus=2,
        major_frame_ns=10,
        domains=[
            Domain(name="all", pcpu=0, windows=[TimeWindow(start=0, duration=10)]),
            Domain(
                name="ends",
                pcpu=1,
                windows=[TimeWindow(start=0, duration=1), TimeWindow(start=9, duration=1)],
            ),
        ],
    )
    result = simulate(system, 100)
    assert [one.supply_ns for one in result.domains] == [100, 20]
