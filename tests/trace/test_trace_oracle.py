# SPDX-License-Identifier: BSD-2-Clause
"""The properties find exactly what their oracle in Python finds, in good traces and in bad ones.

Traces are those of drawn systems: every policy, several pcpus, swaps, changes, moves, thefts, late
picks, flows and domains that schedule globally. Then something in them is falsified.
"""

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.drawn_runs import DRAWN
from tests.support.naive_traces import CASES, play
from tests.support.rules import LOCAL
from tests.trace.oracle import CHECKS

from hyperperiod.model import System
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Header, Kind, Records, read
from hyperperiod.trace.properties import PROPERTIES, PropertyVerdict, Status, check_all

Falsify = Callable[[random.Random, Records, int, Header], Records]


def another(field: str, ids: Callable[[Header], int]) -> Falsify:
    """A record names somebody else."""

    def falsify(draw: random.Random, records: Records, at: int, header: Header) -> Records:
        if ids(header) > int(records[field][at]):
            records[field][at] = draw.randrange(ids(header))
        return records

    return falsify


def another_time(draw: random.Random, records: Records, at: int, header: Header) -> Records:
    """It stands at another time, in the same order."""
    del header
    low = int(records["time_ns"][at - 1]) if at else 0
    high = int(records["time_ns"][at + 1]) if at + 1 < len(records) else low
    records["time_ns"][at] = draw.randint(low, max(low, high))
    return records


def another_value(draw: random.Random, records: Records, at: int, header: Header) -> Records:
    """A charge, a deadline or a response is a bit off."""
    del header
    if records["kind"][at] != Kind.SWAP:
        value = int(records["value"][at])
        other = draw.choice([value // 2, value + 1, 0, value + draw.randint(0, 9)])
        records["value"][at] = np.uint64(other % (1 << 64))
    return records


def other_flags(draw: random.Random, records: Records, at: int, header: Header) -> Records:
    """Who pays as well, what is extra time, what is stolen."""
    del header
    records["flags"][at] ^= draw.choice([1, 2, 4, 8])
    return records


def left_out(draw: random.Random, records: Records, at: int, header: Header) -> Records:
    """It is not there."""
    del draw, header
    return np.delete(records, at)


def twice(draw: random.Random, records: Records, at: int, header: Header) -> Records:
    """It is there once more."""
    del draw, header
    return np.insert(records, at, records[at])


FALSIFY: tuple[Falsify, ...] = (
    another("payer", lambda header: len(header["vcpus"])),
    another("vcpu", lambda header: len(header["vcpus"])),
    another("pcpu", lambda header: header["pcpus"]),
    another("task", lambda header: len(header["tasks"])),
    another_time,
    another_value,
    other_flags,
    left_out,
    twice,
)


def compare(header: Header, records: Records) -> set[str]:
    """The properties that fail, which must be those of the oracle, with all that is told."""
    verdicts = {
        one.name: found for one, found in zip(PROPERTIES, check_all(header, records), strict=True)
    }
    for name, found in verdicts.items():
        expected = CHECKS[name](header, records)
        if has_no_answer(name, verdicts):
            continue
        got = (found.status, found.reason, found.count, found.violations)
        assert got == (expected.status, expected.reason, expected.count, expected.violations), name
    return {name for name, found in verdicts.items() if found.status is Status.FAILS}


def has_no_answer(name: str, verdicts: Mapping[str, PropertyVerdict]) -> bool:
    """Whether what is wrong leaves open what a property should say about it.

    What a job ran that completes twice, or before it runs. What was left unpaid before a charge for
    a time that is paid already. Both fail; the oracle looks at what comes after as well.
    """
    if name == "demand":
        return verdicts["jobs"].status is Status.FAILS
    twice = any("charged twice" in one.text for one in verdicts["paid-time"].violations)
    return name == "paid-time" and twice


def place(draw: random.Random, records: Records) -> int:
    """Somewhere in a trace, whatever happens there as likely as anything else."""
    kind = draw.choice(np.unique(records["kind"][:-1]).tolist())
    return int(draw.choice(np.flatnonzero(records["kind"][:-1] == kind)))


def compare_all(header: Any, records: Records, draw: random.Random, falsifications: int) -> None:
    """The trace as it is, as if guarantees held and picks came late, and falsified."""
    header["guarantees"] = draw.random() < 0.8
    if draw.random() < 0.3:
        late_ns = int(records["time_ns"][-1]) // draw.choice((500, 5_000))
        header |= {"lateness_ns": late_ns, "switch_ns": late_ns // 2, "job_overhead_ns": 1}
        for task in header["tasks"]:
            task |= draw.choice(
                ({}, {"kernel_ns": 3, "kernel_period_ns": 100}, {"kernel_ns": None})
            )
    compare(header, records)
    for falsify in draw.sample(FALSIFY, falsifications):
        bad = falsify(draw, records.copy(), place(draw, records), header)
        try:
            compare(header, bad)
        except (KeyError, IndexError):
            # The oracle does not know how to look at this; the product must not fall over.
            check_all(header, bad)


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records come a few at a time: what is found does not depend on where windows end."""
    monkeypatch.setattr("hyperperiod.trace.properties.AT_ONCE", 50)


def compare_drawn(
    draw_it: Callable[[int, random.Random], tuple[System, int]],
    seed: int,
    path: Path,
    falsifications: int,
) -> None:
    draw = random.Random(f"{draw_it.__name__} {seed}")
    system, horizon_ns = draw_it(seed, draw)
    simulate(system, horizon_ns, seed, path)
    compare_all(*read(path), draw, falsifications)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("draw_it", DRAWN)
def test_runs_of_the_simulator(draw_it: Any, seed: int, tmp_path: Path) -> None:
    compare_drawn(draw_it, seed, tmp_path / "run.hpt", 2)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(12, 42, 10))
@pytest.mark.parametrize("draw_it", DRAWN)
def test_many_runs_of_the_simulator(draw_it: Any, first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 10):
        compare_drawn(draw_it, seed, tmp_path / "run.hpt", len(FALSIFY))


@pytest.mark.parametrize(("rules", "pcpus"), CASES, ids=str)
def test_schedules_of_the_naive_model(rules: Any, pcpus: int, tmp_path: Path) -> None:
    draw = random.Random(f"{rules} {pcpus}")
    script = play(rules, pcpus, draw.randrange(1 << 20), LOCAL if pcpus == 1 else ())
    compare_all(*script.trace(tmp_path), draw, 2)


def test_every_property_is_seen_to_fail_here(tmp_path: Path) -> None:
    """What is compared are violations, too."""
    seen: set[str] = set()
    for number, rules in enumerate(LOCAL):
        seen |= seen_to_fail(*play(rules, 1, number).trace(tmp_path), random.Random(number))
    for seed in range(20):
        draw = random.Random(seed)
        system, horizon_ns = DRAWN[seed % len(DRAWN)](seed, draw)
        simulate(system, horizon_ns, seed, tmp_path / "run.hpt")
        seen |= seen_to_fail(*read(tmp_path / "run.hpt"), draw)
    assert seen == {one.name for one in PROPERTIES}


def seen_to_fail(header: Any, records: Records, draw: random.Random) -> set[str]:
    """The properties that fail when something is falsified."""
    header["guarantees"] = True
    failing = set()
    for falsify in FALSIFY:
        bad = falsify(draw, records.copy(), place(draw, records), header)
        found = zip(PROPERTIES, check_all(header, bad), strict=True)
        failing |= {one.name for one, verdict in found if verdict.status is Status.FAILS}
    return failing
