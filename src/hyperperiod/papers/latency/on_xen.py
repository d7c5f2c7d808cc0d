# SPDX-License-Identifier: BSD-2-Clause
"""The lab on the real hypervisor: a machine is booted, and the guest under test times itself.

Each setting under each policy is one machine under QEMU, in which an instruction takes one
nanosecond, so that its figures repeat exactly. The guests are bare metal: the one under test has
no clock tick, and its loops are calibrated in instructions, so that the shortest one is the
reference. A test lasts `test_time` of clock time.

All tests of a setting happen in one run. The first begins at a time drawn with the seed, each
further one comes `pause` and the golden section of the server's period later: so they begin all
over the period, as evenly as can be, whatever their number.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import numpy as np

from hyperperiod.analysis import resolve
from hyperperiod.hosts.guests import guest_words
from hyperperiod.hosts.qemu import COUNTER_HZ
from hyperperiod.hosts.rings import GUEST_RING_OFFSET, Ring, read_ring
from hyperperiod.hosts.xen.command_line import xen_arguments
from hyperperiod.hosts.xen.images import executive, hypervisor
from hyperperiod.hosts.xen.machine import HORIZON_REACHED, MIB, Guest, XenMachine, boot
from hyperperiod.hosts.xen.run import COMPLAINTS
from hyperperiod.model import Policy, System
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.papers.latency.figures import LabRow, clocktick_row, response_row
from hyperperiod.papers.latency.samples import Samples
from hyperperiod.papers.latency.settings import LatencySetting, Scenario
from hyperperiod.papers.latency.simulated import UNDER_TEST, begin_of, system_of
from hyperperiod.trace.format import Call, Records

EPOCH_NS: Final = 400_000_000
GUEST_BYTES: Final = 24 * MIB
GOLDEN: Final = 0.618034
TICK_NS: Final = NS_PER_UNIT["s"] // COUNTER_HZ


def measure_on_xen(
    scenario: Scenario, setting: LatencySetting, policy: Policy, runs: int, seed: int
) -> LabRow:
    """Measures one setting under one policy on Xen; a row of the result."""
    system = resolve(system_of(scenario, setting, policy))
    offset_ns = _offset(setting, seed)
    words, span_ns = _test_words(scenario, setting, runs)
    ring = _run(system, setting, seed, offset_ns, span_ns, words)
    if scenario.test == "response":
        answers = _of_kind(ring.records, Call.RESPONSE)
        came, waits = (answers[key].astype(np.int64) * TICK_NS for key in ("time_ns", "value"))
        return response_row("ours", str(policy), Samples(came, waits), _due(setting) - len(waits))
    found = _runs(ring.records)[:runs]
    return clocktick_row("ours", str(policy), scenario, setting.test_time_ns, found)


def _offset(setting: LatencySetting, seed: int) -> int:
    """When the first test begins, in ns after the start of the run."""
    return begin_of(setting, seed) // TICK_NS * TICK_NS


def _due(setting: LatencySetting) -> int:
    """How many interrupts there are: from one pause after the begin to before the end."""
    return (setting.test_time_ns - 1) // setting.pause_ns


def _test_words(scenario: Scenario, setting: LatencySetting, runs: int) -> tuple[list[str], int]:
    """What the guest under test is told of the test, and how long that takes."""
    if scenario.test == "response":
        return ["workload=response", f"period={setting.pause_ns}"], setting.test_time_ns
    drift_ns = int(GOLDEN * setting.under_test.period_ns)
    every_ns = max(setting.pause_ns, 2 * setting.test_time_ns) + drift_ns
    words = [
        "workload=clocktick",
        f"loop={scenario.loop_ns}",
        f"task-time={setting.test_time_ns}",
        f"task-period={every_ns}",
    ]
    # The last test needs no pause, only its time and that of being away once.
    span_ns = (runs - 1) * every_ns + setting.test_time_ns + 2 * setting.under_test.period_ns
    return words, span_ns


def _run(
    system: System,
    setting: LatencySetting,
    seed: int,
    offset_ns: int,
    span_ns: int,
    words: list[str],
) -> Ring:
    """What the guest under test recorded."""
    horizon_ns = offset_ns + span_ns
    guests = tuple(
        _guest(system, setting, number, seed, offset_ns, span_ns, words)
        for number in range(len(system.domains))
    )
    arguments = xen_arguments(system, epoch_ns=EPOCH_NS, horizon_ns=horizon_ns, ring_bytes=0)
    machine = XenMachine(hypervisor(), f"guest_loglvl=all {arguments}", guests)
    with (
        tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder,
        boot(machine, Path(folder) / "console") as running,
    ):
        place = running.places[0].memory + GUEST_RING_OFFSET
        running.wait_for(HORIZON_REACHED, look=lambda: running.read(place, 64))
        running.stop()
        COMPLAINTS.require_none(running.console())
        return read_ring(running.read, place, UNDER_TEST)


def _guest(
    system: System,
    setting: LatencySetting,
    number: int,
    seed: int,
    offset_ns: int,
    span_ns: int,
    test_words: list[str],
) -> Guest:
    """The guest of a domain: the one under test, whose time begins at the offset, or another."""
    under_test = number == 0
    words = guest_words(
        system,
        number,
        epoch_ns=EPOCH_NS + (offset_ns if under_test else 0),
        horizon_ns=span_ns if under_test else offset_ns + span_ns,
        seed=seed,
        memory_bytes=GUEST_BYTES,
    )
    if under_test:
        kept = [word for word in words if not word.startswith(("workload=", "task="))]
        words = [*test_words, *kept]
    elif not setting.neighbours[number - 1].running:
        words = [word for word in words if not word.startswith("task=")]
    return Guest(executive(), " ".join(words), GUEST_BYTES)


def _of_kind(records: Records, kind: int) -> Records:
    found: Records = records[records["kind"] == kind]
    return found


def _runs(records: Records) -> list[Samples]:
    """The samples of each test, from the records of the guest under test."""
    found = _of_kind(records, Call.SAMPLE)
    if len(found) == 0:
        return []
    numbers = found["job"]
    first = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return [
        Samples(
            part["time_ns"].astype(np.int64) * TICK_NS, part["value"].astype(np.int64) * TICK_NS
        )
        for part in np.split(found, first)
    ]
