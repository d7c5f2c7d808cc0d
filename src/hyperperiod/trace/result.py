# SPDX-License-Identifier: BSD-2-Clause
"""The results of `trace check --json` and `trace diff --json`. Times are whole nanoseconds."""

from __future__ import annotations

from hyperperiod.model.result_object import ResultObject


class ViolationResult(ResultObject):
    """One place at which a property does not hold."""

    time_ns: int
    text: str


class PropertyResult(ResultObject):
    """What checking one property found; of many violations the first are the examples."""

    name: str
    statement: str
    status: str
    reason: str
    violations: int
    examples: tuple[ViolationResult, ...]


class TraceCheckResult(ResultObject):
    """The answer of `trace check` about one trace: each property with what breaks it."""

    trace: str
    system: str
    host: str
    policy: str
    records: int
    horizon_ns: int
    end_ns: int
    interrupted: bool
    ok: bool
    properties: tuple[PropertyResult, ...]


class DivergenceResult(ResultObject):
    """A stretch of time in which two schedules say different things, each in words."""

    pcpu: int
    start_ns: int
    end_ns: int
    first: str
    second: str


class TraceDiffResult(ResultObject):
    """Whether two traces show the same schedule within a bound, and where they first do not."""

    hosts: tuple[str, str]
    agrees: bool
    bound_ns: int
    total_ns: int
    compared_ns: int
    least_bound_ns: int
    jobs: int
    response_ns: int
    divergence: DivergenceResult | None
    unequal_jobs: tuple[str, ...]
