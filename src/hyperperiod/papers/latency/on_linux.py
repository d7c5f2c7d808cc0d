# SPDX-License-Identifier: BSD-2-Clause
"""The lab on Linux: a machine is booted, and a process in a server of its own times itself.

Each setting under each policy is one machine under QEMU, in which an instruction takes one
nanosecond, so that its figures repeat exactly. What is a VM on Xen is a server here, whose member
is the only thread of a process. The one under test makes the test as a guest on Xen does
(guests/executive/latency.h): its interrupt is a timer of Linux for which it sleeps. A neighbour
that runs is a thread that never sleeps, one that is idle a thread that sleeps for good. Linux's own
clock tick comes while servers run, every 4 ms.
"""

from __future__ import annotations

from typing import Final

from hyperperiod.analysis import resolve
from hyperperiod.hosts.guests import Workload
from hyperperiod.hosts.linux.attend import LinuxOptions
from hyperperiod.hosts.linux.run import record
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.rings import Ring
from hyperperiod.model import Budget, Policy, Slack, Swap, System
from hyperperiod.papers.latency.figures import LabRow
from hyperperiod.papers.latency.guest_test import drift_of, every_of, row_of, workload_of
from hyperperiod.papers.latency.settings import LatencySetting, Scenario
from hyperperiod.papers.latency.simulated import begin_of, system_of

BUSY_NS: Final = 20_000_000_000
"""For so long neighbours may keep all others from the cpu: when somebody has waited for 30 s, the
kernel ends the scheduler."""

AFTER_NS: Final = 10_000_000
"""How long a machine goes on when the tests are over. An idle server that wastes a whole cpu then
gets a policy under which it does not, or nobody could end anything."""


def measure_on_linux(
    scenario: Scenario, setting: LatencySetting, policy: Policy, runs: int, seed: int
) -> LabRow:
    """Measures one setting under one policy on Linux; a row of the result.

    Errors are those of `hosts.linux.run.record`; KeyboardInterrupt after Ctrl-C.
    """
    system = resolve(system_of(scenario, setting, policy))
    wasteful = policy.budget is Budget.PERIODIC and policy.slack is Slack.NONE
    at_once = _tests_at_once(scenario, setting, runs)
    rings = []
    for first in range(0, runs, at_once):
        offset_ns = begin_of(setting, seed) + first * drift_of(setting)
        count = min(at_once, runs - first)
        workload = workload_of(scenario, setting, count, offset_ns % setting.under_test.period_ns)
        end_ns = workload.offset_ns + workload.span_ns
        swaps = (Swap(at_ns=end_ns, policy=policy.replace(name=None, budget=Budget.DEFERRABLE)),)
        rings.append(_run(system.replace(swaps=swaps if wasteful else ()), workload, seed))
    return row_of(scenario, setting, policy, runs, rings)


def _tests_at_once(scenario: Scenario, setting: LatencySetting, runs: int) -> int:
    """How many of so many tests one machine makes; interrupts are tested once."""
    if scenario.test == "response" or not any(one.running for one in setting.neighbours):
        return runs
    return max(1, BUSY_NS // every_of(setting))


def _run(system: System, workload: Workload, seed: int) -> Ring:
    """Boots a machine with this system, on which the process of its first domain makes the test.

    Returns the ring that this process wrote: its loops, or how late it saw its interrupts.
    KeyboardInterrupt where Ctrl-C ended the run early: half a test is no row.
    """
    request = RunRequest(system, workload.offset_ns + workload.span_ns + AFTER_NS, seed)
    (recording,) = record([request], LinuxOptions(workloads={0: workload}))
    if recording.interrupted:
        raise KeyboardInterrupt
    return recording.guests[0]
