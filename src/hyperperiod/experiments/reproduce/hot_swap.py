# SPDX-License-Identifier: BSD-2-Clause
"""Servers swapped while the system runs: CSA paper, sections I and III.C.

A drawn workload runs under one server after the other without stopping. The picture is the share of
the lowest domain's jobs that miss their deadlines, over the time at which they were released.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Annotated

from hyperperiod.analysis import resolve
from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import (
    ends,
    mean_interval,
    mean_share_interval,
    with_interval,
)
from hyperperiod.experiments.reproduce.figure import Asked, Progress, caption, refuse, refuse_host
from hyperperiod.experiments.reproduce.measured import Judged, MeasuredFigure
from hyperperiod.experiments.reproduce.responsiveness import lowest_domain
from hyperperiod.experiments.reproduce.result import HotSwapRow
from hyperperiod.model import Swap, System, parse_policy
from hyperperiod.model.generate import csa_system
from hyperperiod.model.part import AtLeast, Part
from hyperperiod.model.values import PositiveTime, Whole
from hyperperiod.report.frame import Scale, time_scale
from hyperperiod.report.lines import Curve, LineChart, Ruler
from hyperperiod.runs import simulate
from hyperperiod.trace.format import read
from hyperperiod.trace.jobs import jobs

COLUMNS = ("policy", "host", "draws", "start_ns", "jobs", "dmr", "dmr_interval")


class SwapFindings(Part):
    """The paper's sentences on swaps, as the experiment's file quotes them: one for each claim."""

    swap: str
    order: str


class HotSwap(MeasuredFigure[HotSwapRow]):
    """An experiment: what is drawn, how long each policy runs, and the windows of the picture."""

    utilization: Annotated[int, Whole(1, 100)]
    low: Annotated[int, Whole(1)]
    high: Annotated[int, Whole(1)]
    sets: Annotated[int, Whole(1)]
    stage_ns: PositiveTime
    window_ns: PositiveTime
    policies: Annotated[tuple[str, ...], AtLeast(2)]
    paper: SwapFindings

    def steps(self, asked: Asked) -> int:
        return asked.sets or self.sets

    def _columns(self) -> tuple[Sequence[str], int]:
        return COLUMNS, COLUMNS.index("draws")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[HotSwapRow]:
        refuse(asked, self.name, "horizon_ns")
        refuse_host(asked, self.name, "minutes of many systems")
        windows = len(self.policies) * self.stage_ns // self.window_ns
        found: list[dict[int, float]] = [{} for _ in range(windows)]
        counted = [0] * windows
        for number in range(asked.sets or self.sets):
            released, missed = self._draw(asked.seed + number, windows)
            for at in range(windows):
                counted[at] += released[at]
                if released[at]:
                    found[at][number] = missed[at] / released[at]
            progress(number + 1)
        for at in range(windows):
            start_ns = at * self.window_ns
            first = found[start_ns // self.stage_ns * self.stage_ns // self.window_ns]
            less = [first[draw] - dmr for draw, dmr in found[at].items() if draw in first]
            shares = list(found[at].values())
            yield HotSwapRow(
                policy=self.policies[start_ns // self.stage_ns],
                host="sim",
                draws=len(shares),
                start_ns=start_ns,
                jobs=counted[at],
                dmr=fmean(shares) if shares else 0.0,
                dmr_interval=mean_share_interval(shares),
                less=fmean(less) if less else None,
                less_interval=mean_interval(less),
            )

    def system(self, seed: int) -> System:
        """The drawn system with its swaps."""
        drawn = csa_system(
            "csa-synthetic",
            parse_policy(self.policies[0]),
            seed=seed,
            utilization=Fraction(self.utilization, 100),
            periods_ms=(self.low, self.high),
        )
        swaps = tuple(
            Swap(at_ns=stage * self.stage_ns, policy=parse_policy(name))
            for stage, name in enumerate(self.policies)
            if stage
        )
        return resolve(drawn).replace(swaps=swaps)

    def _draw(self, seed: int, windows: int) -> tuple[list[int], list[int]]:
        """Jobs of the lowest domain, by the window of their release: how many, how many late.

        Jobs whose deadline is not before the end are left out. KeyboardInterrupt if Ctrl-C ended
        the run.
        """
        system = self.system(seed)
        lowest, horizon_ns = lowest_domain(system), len(self.policies) * self.stage_ns
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.hpt"
            if simulate(system, horizon_ns, seed, path).interrupted:
                raise KeyboardInterrupt
            ran = [one for one in jobs(*read(path)) if one.domain == lowest]
        released, missed = [0] * windows, [0] * windows
        for job in ran:
            if job.deadline_ns is None or job.deadline_ns > horizon_ns:
                continue
            at = job.release_ns // self.window_ns
            released[at] += 1
            missed[at] += job.finish_ns is None or job.finish_ns > job.deadline_ns
        return released, missed

    def _judged(self, rows: Sequence[HotSwapRow], asked: Asked) -> Judged:
        def middle(row: HotSwapRow) -> float:
            return row.start_ns + self.window_ns / 2

        chart = LineChart(
            self.title,
            time_scale("released at", len(self.policies) * self.stage_ns),
            Scale("deadlines missed", "%", 0.01),
            [
                Curve(
                    "lowest domain",
                    [(middle(row), row.dmr) for row in rows],
                    dots=True,
                    whiskers=[
                        (middle(row), row.dmr_interval.low, row.dmr_interval.high)
                        for row in rows
                        if row.dmr_interval
                    ],
                )
            ],
            subtitle=caption(self.source, asked.sets or self.sets),
            rulers=[
                Ruler(float(stage * self.stage_ns), f"to {name.upper()}")
                for stage, name in enumerate(self.policies)
                if stage
            ],
            x_max=float(len(self.policies) * self.stage_ns),
            y_max=1.04,
        )
        return list(self._claims(rows)) if rows else [], chart

    def _claims(self, rows: Sequence[HotSwapRow]) -> Iterator[Claim]:
        """What the last window of each stage says, long after the swap, but for jobs cut off."""
        last = [
            next(
                row for row in reversed(rows) if row.start_ns // self.stage_ns == stage and row.jobs
            )
            for stage in range(len(self.policies))
        ]
        said = ", ".join(
            f"{row.policy} {with_interval(_percent, row.dmr, row.dmr_interval)}" for row in last
        )
        bounds = [ends(row.dmr, row.dmr_interval) for row in last]
        yield Claim(
            "At the end of each stage misses are those of its policy: fewer under WCPS, fewer still"
            " under CRPS, and back under PTPS as before.",
            self.paper.order,
            f"in the last window of each stage: {said}",
            bounds[0][0] > bounds[1][1] > bounds[1][0] > bounds[2][1]
            and bounds[3][0] > bounds[2][1],
            mark="ours",
        )
        worked_off = last[1:-1]
        yield Claim(
            "What has piled up under a worse policy is worked off after the swap, not at it.",
            self.paper.swap,
            "; ".join(
                f"under {row.policy} {with_interval(_percent, row.less, row.less_interval)} fewer"
                " in the last window than in the first"
                for row in worked_off
                if row.less is not None
            ),
            all(
                row.less is not None and ends(row.less, row.less_interval)[0] > 0
                for row in worked_off
            ),
            mark="ours",
        )


def _percent(share: float) -> str:
    return f"{share:.1%}"
