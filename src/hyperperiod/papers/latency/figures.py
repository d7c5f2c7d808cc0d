# SPDX-License-Identifier: BSD-2-Clause
"""From samples to the figures of the paper's tables; one `LabRow` per policy and setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hyperperiod.experiments.confidence import Interval, share_interval
from hyperperiod.papers.latency.result import LatencyResponse, LatencyRow
from hyperperiod.papers.latency.samples import Samples
from hyperperiod.papers.latency.settings import Figures, LatencySetting, Scenario


@dataclass(frozen=True)
class Response:
    """How long interrupts waited for their answer; `unanswered` are still waiting.

    The paper prints one figure, which is taken for the mean.
    """

    unanswered: int | None
    min_ns: int | None
    mean_ns: int
    max_ns: int | None


@dataclass(frozen=True)
class LabRow:
    """What was measured in one setting under one policy.

    `source` is "ours", "paper" or the name of a quirk. Lengths are those of the busy loop, as in
    the paper: `longest_tick_ns` of the loops that nothing but ticks lengthened, `longest_ns` of
    all. `gap_ns` is by how much the longest loop exceeds the shortest, 0 where that may be ticks;
    `stretch` how many times as long the slowest run took as if all its loops had been as short as
    the shortest. `response` is until the VM answered: its handler, or where it is Linux with a card
    a thread; then `handler` is until the handler began. What was not measured is None. `series` are
    the loops of the worst run, or interrupts: when each came, and how long it waited. `seen_ns` are
    the longest loops of all tests, or the waits of all answered interrupts.
    """

    source: str
    policy: str
    label: str
    runs: int
    tick_only: float | None = None
    longest_tick_ns: int | None = None
    longest_ns: int | None = None
    gap_ns: int | None = None
    stretch: float | None = None
    response: Response | None = None
    handler: Response | None = None
    table: int | None = None
    series: Samples | None = field(default=None, repr=False, compare=False)
    seen_ns: Sequence[int] = field(default=(), repr=False, compare=False)

    @property
    def tick_only_interval(self) -> Interval | None:
        """Where the share of tests with ticks only lies; tests begin at drawn instants."""
        if self.tick_only is None:
            return None
        return share_interval(round(self.tick_only * self.runs), self.runs)

    @property
    def result(self) -> LatencyRow:
        """The row as `--json` prints it."""
        return LatencyRow(
            source=self.source,
            policy=self.policy,
            label=self.label,
            table=self.table,
            runs=self.runs,
            tick_only=self.tick_only,
            tick_only_interval=self.tick_only_interval,
            longest_tick_ns=self.longest_tick_ns,
            longest_ns=self.longest_ns,
            gap_ns=self.gap_ns,
            stretch=self.stretch,
            response_ns=_response_result(self.response),
            handler_ns=_response_result(self.handler),
            unanswered=None if self.response is None else self.response.unanswered,
        )


def _response_result(found: Response | None) -> LatencyResponse | None:
    if found is None:
        return None
    return LatencyResponse(min=found.min_ns, mean=found.mean_ns, max=found.max_ns)


def clocktick_row(
    source: str, policy: str, scenario: Scenario, test_time_ns: int, runs: Sequence[Samples]
) -> LabRow:
    """The figures of several runs of the clock-tick test."""
    limit_ns = scenario.loop_ns + scenario.tick_limit_ns
    runs = [run for run in runs if len(run.length_ns)]
    if not runs:
        return LabRow(source, policy, policy, 0)
    longest = [int(run.length_ns.max()) for run in runs]
    lengths = np.concatenate([run.length_ns for run in runs])
    ticks = lengths[lengths <= limit_ns]
    worst = max(longest)
    shortest = int(lengths.min())
    executed = max(run.executed_ns / (len(run.length_ns) * shortest) for run in runs)
    shown = runs[longest.index(worst)]
    return LabRow(
        source=source,
        policy=policy,
        label=policy,
        runs=len(runs),
        tick_only=sum(one <= limit_ns for one in longest) / len(runs),
        longest_tick_ns=int(ticks.max()) if len(ticks) else None,
        longest_ns=worst,
        gap_ns=worst - shortest if worst > limit_ns else 0,
        stretch=executed if test_time_ns >= STRETCH_FROM_NS else None,
        series=shown,
        seen_ns=longest,
    )


# Shorter tests have no stretch worth a name: the paper gives it for its long ones only.
STRETCH_FROM_NS = 100_000_000


def response_row(
    policy: str, answered: Samples, due: int, handled: Samples | None = None
) -> LabRow:
    """Our figures of an interrupt test with so many that were due: when those that were answered
    came and how they waited, and if known how those waited that were handled.
    """
    return LabRow(
        "ours",
        policy,
        policy,
        due,
        response=_response(answered, due),
        handler=None if handled is None else _response(handled, due),
        series=answered,
        seen_ns=answered.length_ns.tolist(),
    )


def _response(answered: Samples, due: int) -> Response | None:
    """The waits of those that were answered of so many; None where there are none."""
    waits = answered.length_ns
    if len(waits) == 0:
        return None
    mean_ns = (2 * int(waits.sum()) + len(waits)) // (2 * len(waits))
    return Response(due - len(waits), int(waits.min()), mean_ns, int(waits.max()))


def paper_row(scenario: Scenario, setting: LatencySetting, printed: Figures) -> LabRow:
    """The row that the paper prints for a setting, in the fields of ours."""
    longest_ns = printed.longest_ns or printed.longest_tick_ns
    time_ns = printed.time_ns or setting.test_time_ns
    response_ns = printed.response_ns
    return LabRow(
        source="paper",
        policy=printed.policy,
        label=printed.server,
        runs=printed.runs,
        tick_only=None if printed.tick_only is None else printed.tick_only / 100,
        longest_tick_ns=printed.longest_tick_ns,
        longest_ns=longest_ns,
        gap_ns=(printed.longest_ns - scenario.loop_ns if printed.longest_ns else 0)
        if longest_ns
        else None,
        stretch=None if printed.executed_ns is None else printed.executed_ns / time_ns,
        response=None if response_ns is None else Response(None, None, response_ns, None),
        table=printed.table,
    )
