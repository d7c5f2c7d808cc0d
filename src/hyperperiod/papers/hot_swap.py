# SPDX-License-Identifier: BSD-2-Clause
"""Servers swapped while the system runs: CSA paper, sections I and III.C.

A drawn workload runs under one server after the other without stopping. The picture is the share of
the lowest domain's jobs that miss their deadlines, over the time at which they were released.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from hyperperiod.analysis import resolve
from hyperperiod.experiments.confidence import mean_interval, mean_share_interval
from hyperperiod.model import Swap, System, parse_policy
from hyperperiod.model.part import AtLeast
from hyperperiod.model.values import Positive, PositiveTime
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.responses import Percent, drawn_system, lowest_domain
from hyperperiod.papers.result import HotSwapRow
from hyperperiod.runs import simulate
from hyperperiod.trace.format import read
from hyperperiod.trace.jobs import jobs


class HotSwap(Experiment):
    """What is drawn, how long each policy runs, and the windows of the picture."""

    utilization: Percent
    low: Positive
    high: Positive
    stage_ns: PositiveTime
    window_ns: PositiveTime
    policies: Annotated[tuple[str, ...], AtLeast(2)]

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return self.sets

    def measured(self, run: Measuring) -> Iterator[HotSwapRow]:
        windows = len(self.policies) * self.stage_ns // self.window_ns
        found: list[dict[int, float]] = [{} for _ in range(windows)]
        counted = [0] * windows
        for number, seed in enumerate(run.seeds(self.sets)):
            released, missed = self.counted(seed, windows)
            for at in range(windows):
                counted[at] += released[at]
                if released[at]:
                    found[at][number] = missed[at] / released[at]
            run.step()
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
        drawn = drawn_system(self.policies[0], self.utilization, self.low, self.high, seed)
        swaps = tuple(
            Swap(at_ns=stage * self.stage_ns, policy=parse_policy(name))
            for stage, name in enumerate(self.policies)
            if stage
        )
        return resolve(drawn).replace(swaps=swaps)

    def counted(self, seed: int, windows: int) -> tuple[list[int], list[int]]:
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

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        return {"stages": range(len(self.policies))}
