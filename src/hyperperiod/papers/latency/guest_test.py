# SPDX-License-Identifier: BSD-2-Clause
"""What hosts with a real kernel share: the test as the guest makes it, and a row of what it wrote.

The guest under test times itself (guests/executive/latency.h), without a clock tick, by loops that
are calibrated in instructions, so that the shortest one is the reference. A test lasts `test_time`
of clock time.

The first of several tests begins at a time drawn with the seed, each further one comes `pause` and
the golden section of the server's period later: so they begin all over the period, as evenly as can
be, whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.guests import Workload
from hyperperiod.hosts.rings import Ring
from hyperperiod.model import Policy
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.papers.latency.figures import LabRow, clocktick_row, response_row
from hyperperiod.papers.latency.samples import Samples
from hyperperiod.papers.latency.settings import LatencySetting, Scenario
from hyperperiod.trace.format import NONE, Call, Records

GOLDEN: Final = 0.618034


def drift_of(setting: LatencySetting) -> int:
    """How much later (ns) than after a pause the next test begins."""
    return int(GOLDEN * setting.under_test.period_ns)


def every_of(setting: LatencySetting) -> int:
    """The time (ns) from the begin of a test to that of the next one."""
    return max(setting.pause_ns, 2 * setting.test_time_ns) + drift_of(setting)


def workload_of(scenario: Scenario, setting: LatencySetting, runs: int, offset_ns: int) -> Workload:
    """What the guest under test is told, of so many tests, the first `offset_ns` after the epoch.

    It takes as long as that needs.
    """
    if scenario.test == "response":
        return Workload(
            ("workload=device", f"forks={setting.forks}")
            if scenario.device
            else ("workload=response", f"period={setting.pause_ns}"),
            offset_ns,
            setting.test_time_ns,
            _due(setting),
        )
    every_ns = every_of(setting)
    words = (
        "workload=clocktick",
        f"loop={scenario.loop_ns}",
        f"task-time={setting.test_time_ns}",
        f"task-period={every_ns}",
    )
    # The last test needs no pause, only its time and that of being away once.
    span_ns = (runs - 1) * every_ns + setting.test_time_ns + 2 * setting.under_test.period_ns
    # Beside its loops a test has a record when it begins and one when it ends.
    loops = setting.test_time_ns // scenario.loop_ns + 3
    return Workload(words, offset_ns, span_ns, runs * loops)


def _samples(ring: Ring) -> list[Samples]:
    """The loops of each test in a ring."""
    found = _of_kind(ring.records, Call.SAMPLE)
    if len(found) == 0:
        return []
    numbers = found["job"]
    first = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    return [
        Samples(_ns(part["time_ns"], ring), _ns(part["value"], ring))
        for part in np.split(found, first)
    ]


def row_of(
    scenario: Scenario, setting: LatencySetting, policy: Policy, runs: int, rings: Sequence[Ring]
) -> LabRow:
    """The row of so many tests, which guests wrote into these rings; interrupts are in one."""
    if scenario.test == "response":
        (ring,) = rings
        answers = _of_kind(ring.records, Call.RESPONSE)
        by_handler = answers["task"] == NONE
        handled, answered = (
            Samples(_ns(some["time_ns"], ring), _ns(some["value"], ring))
            for some in (answers[by_handler], answers[~by_handler])
        )
        if scenario.device and len(answered.length_ns) > 0:
            return response_row(str(policy), answered, _due(setting), handled)
        return response_row(str(policy), handled, _due(setting))
    found = [samples for ring in rings for samples in _samples(ring)][:runs]
    return clocktick_row("ours", str(policy), scenario, setting.test_time_ns, found)


def _due(setting: LatencySetting) -> int:
    """How many interrupts there are: from one pause after the begin to before the end."""
    return (setting.test_time_ns - 1) // setting.pause_ns


def _of_kind(records: Records, kind: int) -> Records:
    found: Records = records[records["kind"] == kind]
    return found


def _ns(ticks: NDArray[np.uint64], ring: Ring) -> NDArray[np.int64]:
    """Ticks of the machine's counter in nanoseconds."""
    return ticks.astype(np.int64) * (NS_PER_UNIT["s"] // ring.header.frequency_hz)
