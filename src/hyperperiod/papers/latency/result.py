# SPDX-License-Identifier: BSD-2-Clause
"""The result of the latency lab: what `latency --json` prints.

Times are whole nanoseconds, and what was not measured is null. docs/formats.md has every key.
"""

from __future__ import annotations

from hyperperiod.experiments.confidence import Interval
from hyperperiod.model.result_object import ResultObject
from hyperperiod.papers.claim import Claim


class LatencyServer(ResultObject):
    """The server of the VM under test; `paper_budget_ns` as printed, perhaps above the period."""

    budget_ns: int
    period_ns: int
    paper_budget_ns: int
    priority: int


class LatencyNeighbour(ResultObject):
    """The server of another VM on the pcpu, which runs all the time or is idle."""

    budget_ns: int
    period_ns: int
    paper_budget_ns: int
    priority: int
    running: bool


class LatencyResponse(ResultObject):
    """How long interrupts waited; the paper has only a mean."""

    min: int | None
    mean: int
    max: int | None


class LatencyRow(ResultObject):
    """What was measured in one setting under one policy, here or in the paper."""

    source: str
    policy: str
    label: str
    table: int | None
    runs: int
    tick_only: float | None
    tick_only_interval: Interval | None
    longest_tick_ns: int | None
    longest_ns: int | None
    gap_ns: int | None
    stretch: float | None
    response_ns: LatencyResponse | None
    handler_ns: LatencyResponse | None
    unanswered: int | None


class LatencySettingResult(ResultObject):
    """A setting, with the paper's rows and ours."""

    name: str
    test_time_ns: int
    pause_ns: int
    under_test: LatencyServer
    neighbours: tuple[LatencyNeighbour, ...]
    rows: tuple[LatencyRow, ...]


class ScenarioResult(ResultObject):
    """A scenario measured, and what it shows."""

    name: str
    title: str
    source: str
    settings: tuple[LatencySettingResult, ...]
    claims: tuple[Claim, ...]


class LatencyResult(ResultObject):
    """All that was measured; after Ctrl-C up to there."""

    host: str
    guest: str
    seed: int
    policies: tuple[str, ...]
    quirks: tuple[str, ...]
    interrupted: bool
    scenarios: tuple[ScenarioResult, ...]
