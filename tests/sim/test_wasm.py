# SPDX-License-Identifier: BSD-2-Clause
"""The simulator that web pages have does what the native one does, byte for byte."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.support.drawn_runs import DRAWN
from tests.support.in_wasm import run_in_wasm

from hyperperiod.hosts.described import describe
from hyperperiod.hosts.sim import run, run_many
from hyperperiod.model import System
from hyperperiod.trace.format import read


def drawn(count: int) -> list[tuple[System, int, int]]:
    """Drawn systems of every kind that the simulator runs: system, horizon (ns) and seed."""
    found = []
    for number in range(count):
        draw = random.Random(f"wasm {number}")
        system, horizon_ns = DRAWN[number % len(DRAWN)](number, draw)
        found.append((system, horizon_ns, draw.randrange(2**53)))
    return found


def compared(systems: list[tuple[System, int, int]], folder: Path) -> int:
    """Runs the systems in both; returns how many records they have, all of them the same."""
    runs = [
        {"parts": describe(system, horizon_ns, seed), "until": horizon_ns}
        for system, horizon_ns, seed in systems
    ]
    records = 0
    for one, (system, horizon_ns, seed) in zip(run_in_wasm(runs, folder), systems, strict=True):
        native = folder / "native.hpt"
        run(system, horizon_ns, seed, native)
        _, expected = read(native)
        assert one[0] == expected.tobytes(), f"{system.name}, seed {seed}"
        counts = run_many([(system, seed)], horizon_ns)
        assert one[1] == [*counts.tasks.flat, *counts.vcpus.flat]
        records += len(expected)
    return records


def test_records_and_counts_are_those_of_the_native_simulator(tmp_path: Path) -> None:
    assert compared(drawn(20), tmp_path) > 2_000


@pytest.mark.slow
def test_records_and_counts_of_a_thousand_systems(tmp_path: Path) -> None:
    assert compared(drawn(1_000), tmp_path) > 100_000


def test_what_is_refused_is_said(tmp_path: Path) -> None:
    """In the simulator's words: by the core, and by who is told a part."""
    system, horizon_ns, seed = next(one for one in drawn(8) if one[0].domains[0].interface)
    budget, priority, wcet = (describe(system, horizon_ns, seed) for _ in range(3))
    server = next(one for one in budget if one["part"] == "add_vcpu")
    server["budget_ns"] = server["period_ns"] + 1
    next(one for one in priority if one["part"] == "add_vcpu")["priority"] = 2**32
    next(one for one in wcet if one["part"] == "add_task")["bcet_ns"] = 0
    runs = [{"parts": parts, "until": horizon_ns} for parts in (budget, priority, wcet)]
    assert run_in_wasm(runs, tmp_path) == [
        (b"", "a budget is zero or above its period"),
        (b"", "a number is too large for its place"),
        (b"", "a bcet is 1 at least and the wcet at most"),
    ]


def test_a_system_is_described_in_plain_data() -> None:
    """Numbers, lists and none, in the order in which the native functions have them."""
    for system, horizon_ns, seed in drawn(8):
        parts = describe(system, horizon_ns, seed)
        assert json.loads(json.dumps(parts)) == parts
        assert [one["part"] for one in parts].count("add_domain") == len(system.domains)
        assert list(parts[0])[:4] == ["part", "sbf", "budget", "order"]
