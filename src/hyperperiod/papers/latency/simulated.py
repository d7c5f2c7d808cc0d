# SPDX-License-Identifier: BSD-2-Clause
"""The lab on the simulator: the samples follow from who ran when.

The VM under test has one task. For the clock-tick test it is an `event`: a run begins `pause`
after the one before has ended, plus a time drawn from [0, period of the server] with the seed, so
that the runs begin everywhere in the server's period, as the paper's did by drifting. For the
interrupt test it is released every `pause` by a clock of its own, from a drawn instant on; what
the schedule adds to its response is the time until it first runs. A neighbour that runs is busy
for good, an idle one has a task that is never released.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from hyperperiod.model import Domain, Policy, System, Task, TaskKind
from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.papers.latency.figures import LabRow, clocktick_row, response_row
from hyperperiod.papers.latency.samples import PAPER_TICK, Samples, Tick, sample
from hyperperiod.papers.latency.settings import (
    GivenServer,
    LatencySetting,
    Neighbour,
    Scenario,
)
from hyperperiod.runs import simulate
from hyperperiod.trace.format import Header, Kind, Records, read
from hyperperiod.trace.interval_arrays import interval_array
from hyperperiod.trace.jobs import jobs

HANDLER_NS = 5_000
"""What an interrupt's handler takes of its VM."""
NEVER_NS = TIME_LIMIT_NS // 4
UNDER_TEST = "under-test"
TEST_TASK = 0


def measure_simulated(
    scenario: Scenario,
    setting: LatencySetting,
    policy: Policy,
    runs: int,
    seed: int,
    tick: Tick = PAPER_TICK,
) -> LabRow:
    """Measures one setting under one policy in the simulator; a row of the result."""
    offset_ns = begin_of(setting, seed) if scenario.test == "response" else 0
    system = system_of(scenario, setting, policy, offset_ns)
    with tempfile.TemporaryDirectory(prefix="hyperperiod-") as folder:
        trace = Path(folder) / "run.hpt"
        simulate(system, offset_ns + horizon_of(scenario, setting, runs), seed, trace)
        header, records = read(trace)
        if scenario.test == "response":
            return _response(policy, header, records)
        found = _runs(records, scenario.loop_ns, tick)[:runs]
        del records
    return clocktick_row("ours", str(policy), scenario, setting.test_time_ns, found)


def begin_of(setting: LatencySetting, seed: int) -> int:
    """When tests begin that do so once, in ns after the start of the run: within a period."""
    return Random(f"{setting.name} {seed}").randrange(setting.under_test.period_ns)


def system_of(
    scenario: Scenario, setting: LatencySetting, policy: Policy, offset_ns: int = 0
) -> System:
    """The system that a setting describes, under a policy; interrupts begin after the offset."""
    return System(
        name=f"{scenario.name}: {setting.name}".replace(",", ""),
        policy=policy,
        quantum_ns=scenario.quantum_ns,
        domains=(
            _domain(UNDER_TEST, setting.under_test, _test_task(scenario, setting, offset_ns)),
            *(
                _domain(f"neighbour-{number}", neighbour, _neighbour_task(neighbour))
                for number, neighbour in enumerate(setting.neighbours, 1)
            ),
        ),
    )


def horizon_of(scenario: Scenario, setting: LatencySetting, runs: int) -> int:
    """Long enough for all runs when every VM gets an equal share, and then some."""
    if scenario.test == "response":
        return setting.test_time_ns
    sharers = 1 + len(setting.neighbours)
    period_ns = setting.under_test.period_ns
    busy_ns = 2 * sharers * (setting.test_time_ns + period_ns)
    return runs * (setting.pause_ns + period_ns + busy_ns)


def _domain(name: str, server: GivenServer, task: Task) -> Domain:
    return Domain(name=name, priority=server.priority, interface=server.interface, tasks=(task,))


def _test_task(scenario: Scenario, setting: LatencySetting, offset_ns: int) -> Task:
    if scenario.test == "response":
        return Task(
            name="interrupt",
            period_ns=setting.pause_ns,
            offset_ns=offset_ns,
            wcet_ns=min(HANDLER_NS, setting.pause_ns),
        )
    return Task(
        name="clock-tick",
        kind=TaskKind.EVENT,
        period_ns=setting.pause_ns,
        wcet_ns=setting.test_time_ns,
        jitter_ns=setting.under_test.period_ns,
    )


def _neighbour_task(neighbour: Neighbour) -> Task:
    offset_ns = 0 if neighbour.running else NEVER_NS
    return Task(name="load", kind=TaskKind.BUSY, offset_ns=offset_ns)


def _runs(records: Records, loop_ns: int, tick: Tick) -> list[Samples]:
    """The loops of every run that was finished, in order."""
    found = interval_array(records, 0)
    ours = found[(found["kind"] == Kind.RUN) & (found["task"] == TEST_TASK)]
    done = set(_finished(records).tolist())
    numbers = ours["job"]
    first = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    parts = np.split(ours, first[1:]) if len(ours) else []
    return [
        sample(part["start_ns"].astype(np.int64), part["end_ns"].astype(np.int64), loop_ns, tick)
        for part in parts
        if int(part["job"][0]) in done
    ]


def _finished(records: Records) -> NDArray[np.uint32]:
    return np.asarray(
        records["job"][(records["kind"] == Kind.COMPLETE) & (records["task"] == TEST_TASK)]
    )


def _response(policy: Policy, header: Header, records: Records) -> LabRow:
    """How long each interrupt waited until its handler ran."""
    found = [job for job in jobs(header, records) if job.domain == UNDER_TEST]
    answered = [(job.release_ns, job.start_ns) for job in found if job.start_ns is not None]
    came, began = np.array(answered, np.int64).reshape(-1, 2).T
    return response_row(str(policy), Samples(came, began - came), len(found))
