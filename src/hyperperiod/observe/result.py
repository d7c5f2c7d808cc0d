# SPDX-License-Identifier: BSD-2-Clause
"""The result of `observe`: what was seen of a machine, and what is made of it.

Times are whole nanoseconds. All numbers are of what was seen while the trace was recorded.
"""

from __future__ import annotations

from hyperperiod.model.result_object import ResultObject


class ObservedCpu(ResultObject):
    """The time of one cpu in interrupts and softirqs, each without what interrupted it."""

    cpu: int
    interrupts_ns: int
    softirqs_ns: int


class DamagedLine(ResultObject):
    """The first line that could not be read, and how it begins."""

    line: int
    text: str


class Waker(ResultObject):
    """Who woke a thread up, and how often; an interrupt has no pid."""

    name: str
    pid: int | None
    count: int


class ObservedThread(ResultObject):
    """One thread: its jobs, how they come and how long they run, and the task made of it."""

    name: str
    other_names: tuple[str, ...]
    pid: int
    process: str | None
    priority: int | None
    cpus: tuple[int, ...]
    activations: int
    partial: int
    unreleased: int
    kind: str
    jobs: int
    activations_per_job_max: int
    period_ns: int | None
    fitted_period_ns: float | None
    jitter_ns: int
    gap_min_ns: int | None
    cost_max_ns: int
    cost_mean_ns: int
    cost_p99_ns: int
    response_max_ns: int
    woken_by: tuple[Waker, ...]
    chain: tuple[str, ...]
    wcet_ns: int
    domain: str | None
    task: str | None
    left_out: str


class ObservationResult(ResultObject):
    """The threads of a trace, and what was noticed about the trace as a whole.

    `counter_hz` is what times were said to be ticks of. From the byte `damaged_from` on the file
    could not be read.
    """

    trace: str
    observed: str
    span_ns: int
    resolution_ns: int
    events: int
    least: int
    margin: float
    cpus: tuple[ObservedCpu, ...]
    threads: tuple[ObservedThread, ...]
    ended_early: int = 0
    damaged: int = 0
    first_damaged: DamagedLine | None = None
    cut: bool = False
    damaged_from: int | None = None
    gaps: int = 0
    lost: int = 0
    overwritten: int = 0
    backward: int = 0
    other_machines: int = 0
    flags: bool = True
    executors: bool = False
    counter_hz: int | None = None
