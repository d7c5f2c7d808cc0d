# SPDX-License-Identifier: BSD-2-Clause
"""What the rows of Experiment D say to the ERTDS paper's claims, and their picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import ends, with_interval
from hyperperiod.experiments.reproduce.figure import caption
from hyperperiod.experiments.reproduce.request_workload import (
    DatabaseLoad,
    RequestSetting,
    RequestVm,
    Workload,
)
from hyperperiod.experiments.reproduce.result import RequestRow
from hyperperiod.report.frame import Scale
from hyperperiod.report.lines import Curve, LineChart, Ruler

NS_PER_S = 1_000_000_000

NOT_WORSE = 1.01
"""A ratio of responses up to this counts as not worse."""
GAIN = 0.03
"""A gain above this is more than luck: whoever is held up by no server gets the same in both."""
HELP = 0.01
"""A share of the pcpu above this counts as getting of the spare."""
ROOM = 1.2
"""Where the axis ends, as a multiple of the largest throughput: words fit above the curves."""


class RequestJudge:
    """Judges the paper's claims by the rows of one setting."""

    def __init__(self, experiment: Workload, setting: RequestSetting) -> None:
        self.experiment = experiment
        self.title = setting.title or experiment.title
        self.paper = experiment.paper
        self.runs = experiment.runs_of(setting)
        self.clients = setting.clients
        self.think_ns = setting.think_ns

    def claims(self, rows: Sequence[RequestRow]) -> Iterator[Claim]:
        last = {run.name: _row_at(rows, run, self.clients[-1]) for run in self.runs}
        yield from self._more(last)
        yield from (self._begin(run, rows) for run in self.runs)
        yield self._spare(last, rows)
        worst = max(rows, key=lambda row: _ratio_ends(row)[1])
        shown = with_interval(lambda one: f"{one:.3f}", worst.ratio, worst.ratio_interval)
        yield Claim(
            "At no number of clients is the mean response more than 1 % above that of RTDS.",
            self.paper.never_worse,
            f"the largest ratio is {shown}, with {worst.clients} clients and"
            f" {worst.run} in the database",
            _ratio_ends(worst)[1] <= NOT_WORSE,
            mark="ours",
        )

    def _more(self, last: Mapping[str, RequestRow]) -> Iterator[Claim]:
        gains = [_gain_ends(row) for row in last.values()]
        yield Claim(
            f"With {self.clients[-1]} clients ERTDS completes more requests per second.",
            self.paper.gain,
            "; ".join(
                f"{row.ertds_hz:.1f} and {row.rtds_hz:.1f}, {_gain_text(row)} more, with"
                f" {name} in the database"
                for name, row in last.items()
            ),
            min(low for low, _ in gains) > GAIN,
        )
        if len(gains) > 1:
            least, most = min(gains), max(gains)
            theirs = self.paper.ertds_hz / self.paper.rtds_hz - 1
            yield Claim(
                "The paper's gain lies between ours for little and for much work in the database.",
                f"{theirs:.1%}",
                " to ".join(
                    _gain_text(choose(last.values(), key=lambda row: row.gain))
                    for choose in (min, max)
                ),
                least[1] <= theirs <= most[0],
                mark="ours",
            )

    def _begin(self, run: DatabaseLoad, rows: Sequence[RequestRow]) -> Claim:
        gains = {count: _gain_ends(_row_at(rows, run, count)) for count in self.clients}
        # Whose interval reaches from one side of the limit to the other is on neither.
        first = next((count for count in self.clients if gains[count][1] > GAIN), None)
        clear = first is not None and gains[first][0] > GAIN
        begins = "" if first is None else f", where it is {_gain_text(_row_at(rows, run, first))}"
        full = self._full(run, rows)
        return Claim(
            f"{run.name} in the database: the gain begins where the demand of a tier passes what"
            " RTDS promises it.",
            self.paper.trend,
            f"it is above {GAIN:.0%} from {first} clients on{begins};"
            f" {full} ask for all that is promised",
            clear and first == next((count for count in self.clients if count > full), None),
        )

    def _spare(self, last: Mapping[str, RequestRow], rows: Sequence[RequestRow]) -> Claim:
        said, holds = [], True
        for run in self.runs:
            row = last[run.name]
            vms = self.experiment.vms
            works = {vm.name: self.experiment.work_ns(vm, run, rows) for vm in vms}
            short = [vm.name for vm in vms if _is_short(vm, works[vm.name], row.ertds_hz)]
            shares = [f"{name} {_share_text(row, name)}" for name in short]
            said.append(f"{run.name}: {' and '.join(shares)} of the pcpu")
            holds &= all(_donated_ends(row, name)[0] > HELP for name in short)
        return Claim(
            "Every tier whose demand is above its own server gets of the spare.",
            self.paper.who,
            "; ".join(said),
            holds,
        )

    def _full(self, run: DatabaseLoad, rows: Sequence[RequestRow]) -> int:
        """So many clients, if they never waited, would ask for all that RTDS promises some VM."""
        return int(
            min(
                vm.rtds.bandwidth * self.think_ns / self.experiment.work_ns(vm, run, rows)
                for vm in self.experiment.vms
            )
        )

    def chart(self, rows: Sequence[RequestRow]) -> LineChart:
        """Throughput over clients, the paper's two numbers as levels."""
        ends = (float(self.clients[0]), float(self.clients[-1]))
        curves = [
            Curve(
                f"ERTDS, database {run.name}",
                _points(rows, run, "ertds_hz"),
                dots=True,
                whiskers=_whiskers(rows, run, "ertds_hz_interval"),
            )
            for run in self.runs
        ]
        last = self.runs[-1]
        curves.append(
            Curve(
                "RTDS, any" if len(self.runs) > 1 else "RTDS",
                _points(rows, last, "rtds_hz"),
                dots=True,
                whiskers=_whiskers(rows, last, "rtds_hz_interval"),
            )
        )
        for policy, theirs in (("ERTDS", self.paper.ertds_hz), ("RTDS", self.paper.rtds_hz)):
            level = [(at, float(theirs)) for at in ends]
            curves.append(Curve(f"{policy}, paper: {theirs}", level))
        rulers = []
        if rows:
            full = float(self._full(self.runs[-1], rows))
            rulers.append(Ruler(full, "demand passes what RTDS promises"))
        largest = max((row.ertds_hz for row in rows), default=float(self.paper.ertds_hz))
        return LineChart(
            self.title,
            Scale("clients"),
            Scale("requests per second"),
            curves,
            subtitle=caption(self.experiment.source, rows[0].sets if rows else 0),
            rulers=rulers,
            x_min=ends[0],
            x_max=ends[1],
            y_max=ROOM * largest,
        )


def _is_short(vm: RequestVm, work_ns: float, throughput_hz: float) -> bool:
    """Whether so many requests need more than the server of ERTDS has."""
    return throughput_hz * work_ns / NS_PER_S > vm.ertds.bandwidth


def _row_at(rows: Sequence[RequestRow], run: DatabaseLoad, clients: int) -> RequestRow:
    return next(row for row in rows if (row.run, row.clients) == (run.name, clients))


def _points(rows: Sequence[RequestRow], run: DatabaseLoad, key: str) -> list[tuple[float, float]]:
    return [(float(row.clients), getattr(row, key)) for row in rows if row.run == run.name]


def _whiskers(
    rows: Sequence[RequestRow], run: DatabaseLoad, key: str
) -> list[tuple[float, float, float]]:
    return [
        (float(row.clients), interval.low, interval.high)
        for row in rows
        if row.run == run.name and (interval := getattr(row, key))
    ]


def _donated_ends(row: RequestRow, vm: str) -> tuple[float, float]:
    return ends(row.donated[vm], row.donated_interval.get(vm))


def _share_text(row: RequestRow, vm: str) -> str:
    share, interval = row.donated[vm], row.donated_interval.get(vm)
    return with_interval(lambda one: f"{one:.2%}", share, interval)


def _gain_ends(row: RequestRow) -> tuple[float, float]:
    return ends(row.gain, row.gain_interval)


def _ratio_ends(row: RequestRow) -> tuple[float, float]:
    return ends(row.ratio, row.ratio_interval)


def _gain_text(row: RequestRow) -> str:
    return with_interval(lambda one: f"{one:.1%}", row.gain, row.gain_interval)
