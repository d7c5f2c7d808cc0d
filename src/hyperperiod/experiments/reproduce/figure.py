# SPDX-License-Identifier: BSD-2-Clause
"""What every reproduction is: rows that were measured, claims about them, and a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.reproduce.on_host import Host
from hyperperiod.experiments.reproduce.result import (
    PacketRunRow,
    ReproductionResult,
    Row,
    WorstPacketRow,
)
from hyperperiod.model import InputError
from hyperperiod.model.result_object import ResultObject
from hyperperiod.report.panels import Chart, Panels, chart_svg

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Asked:
    """How much to measure, where the experiment's file is not to say: None leaves it that.

    `host`: where it is measured. `sets`: draws per point, of task sets or of when packets come;
    `horizon_ns`: for how long each of them runs; `packets`: how many are sent for each wheel and
    draw; `plays`: how many a search tries.
    """

    seed: int = 1
    host: Host = "sim"
    sets: int | None = None
    horizon_ns: int | None = None
    packets: int | None = None
    plays: int | None = None


def refuse(asked: Asked, name: str, *fields: str) -> None:
    """InputError for what an experiment has no use for."""
    for field in fields:
        if getattr(asked, field) is not None:
            option = f"--{field.removesuffix('_ns')}"
            raise InputError("", None, option, f"{option} with {name}", "no such option there")


def refuse_host(asked: Asked, name: str, reason: str, *others: Host) -> None:
    """InputError for a host on which an experiment is not measured: sim and `others` do it."""
    if asked.host not in ("sim", *others):
        allowed = " or ".join(("sim", *others))
        raise InputError("", None, "--on", f"{asked.host} for {name}", f"{allowed}: {reason}")


def caption(source: str, draws: int) -> str:
    """What stands below a picture's title: where the paper has it, and what whiskers are."""
    if draws < 2:
        return source
    return f"{source}; means over {draws} draws, with intervals of 95 %"


@dataclass(frozen=True)
class Figure:
    """A paper's figure as it came out here."""

    name: str
    title: str
    source: str
    rows: Sequence[Row]
    claims: Sequence[Claim]
    chart: Chart | Panels
    columns: Sequence[str]
    """Those keys of a row that people want to see."""
    interrupted: bool = False
    measured: Sequence[PacketRunRow | WorstPacketRow] = ()
    """Everything that was measured, if the rows are only some of it, with more keys."""
    shown: Sequence[ResultObject] | None = None
    """What people see instead of the rows."""
    keys: int = 1
    """How many of the columns, from the first on, say what a row is about."""

    @property
    def picture(self) -> str:
        """The chart as SVG."""
        return chart_svg(self.chart)

    @property
    def result(self) -> ReproductionResult:
        """What `reproduce --json` prints."""
        return ReproductionResult(
            name=self.name,
            title=self.title,
            source=self.source,
            rows=tuple(self.rows),
            measured=tuple(self.measured),
            claims=tuple(self.claims),
            interrupted=self.interrupted,
        )


class Experiment(Protocol):
    """One of the papers' experiments, as its file in `experiments/` describes it."""

    @property
    def title(self) -> str: ...

    def steps(self, asked: Asked) -> int:
        """How many steps of progress `reproduce` reports."""
        ...

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        """Measures everything; Ctrl-C ends it with the points measured so far."""
        ...
