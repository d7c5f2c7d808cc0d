# SPDX-License-Identifier: BSD-2-Clause
"""An experiment of a paper: what its file says, how it is measured, judged and drawn.

The file (`experiments/NAME.toml`) says what is measured and how much of it, the columns of the
table, the claims with the paper's words beside ours (`ClaimText`), and the picture (`ChartText`).
What is special is Python: a class per kind of measurement (`measured`), found by the file's
`measure`. In the tables `[xen]` and `[linux]` stand keys that have other values on that host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Self

from hyperperiod.hosts.result import RunResult
from hyperperiod.model import InputError, System
from hyperperiod.model.part import Part, fields_of, key
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.values import Finding, Positive, Reading, Time
from hyperperiod.papers.chart import ChartText, Each, Text, Value
from hyperperiod.papers.claim import Claim
from hyperperiod.papers.expressions import (
    FUNCTIONS,
    Expression,
    Formula,
    Scope,
    rounds,
    viewed,
)
from hyperperiod.papers.result import ReproductionResult
from hyperperiod.report.panels import Chart, Panels, chart_svg
from hyperperiod.runs import run_on_linux, run_on_xen, simulate

Host = Literal["sim", "xen", "linux"]
Progress = Callable[[int], None]
SEEDS = 2**64


@dataclass(frozen=True)
class FigureOptions:
    """Where and how much is measured, where the experiment's file is not to say: None leaves it.

    `sets`: draws per point, of task sets or of when packets come; `horizon_ns`: for how long each
    of them runs; `packets`: how many are sent for each wheel and draw; `plays`: how many a search
    tries.
    """

    seed: int = 1
    host: Host = "sim"
    sets: int | None = None
    horizon_ns: int | None = None
    packets: int | None = None
    plays: int | None = None


def run_on(host: Host, system: System, horizon_ns: int, seed: int) -> RunResult:
    """The result object of a run.

    KeyboardInterrupt if Ctrl-C ended it: part of a run is no measurement. Errors are those of the
    hosts.
    """
    match host:
        case "sim":
            result = simulate(system, horizon_ns, seed)
        case "xen":
            result = run_on_xen(system, horizon_ns, seed)
        case "linux":
            result = run_on_linux(system, horizon_ns, seed)
    if result.interrupted:
        raise KeyboardInterrupt
    return result


class Measuring:
    """A measurement under way: its host, the seed of its first draw, its steps done."""

    def __init__(self, options: FigureOptions, progress: Progress) -> None:
        self.host, self.seed = options.host, options.seed
        self._progress, self.done = progress, 0

    def seeds(self, draws: int) -> list[int]:
        """The seeds of so many draws."""
        return [(self.seed + number) % SEEDS for number in range(draws)]

    def reach(self, done: int) -> None:
        """Reports that so many steps are done."""
        self.done = done
        self._progress(done)

    def step(self) -> None:
        """Reports that one step more is done."""
        self.reach(self.done + 1)

    def run(self, system: System, horizon_ns: int, seed: int) -> RunResult:
        """The result object of a run on the host; errors are those of `run_on`."""
        return run_on(self.host, system, horizon_ns, seed)


class ClaimText(Part):
    """A claim as files say it: made once, or for `each` round, `when` that holds.

    `let` names values, in order, for the texts and for `holds`.
    """

    each: Each | None = None
    when: Value = Expression.of("whole")
    let: dict[str, Annotated[Expression, Formula()]] = key(default={})
    text: Text
    paper: Text
    ours: Text
    holds: Value
    mark: Text = Expression.of("'paper'")

    def made(self, scope: Scope) -> Iterator[Claim]:
        """The claim over the names of a scope, if it is made there."""
        if self.when(scope):
            here = dict(scope)
            for name, value in self.let.items():
                here[name] = value(here)
            text, paper, ours = (one(here) for one in (self.text, self.paper, self.ours))
            yield Claim(text, paper, ours, bool(self.holds(here)), self.mark(here))


@dataclass(frozen=True)
class Figure:
    """A paper's figure as it came out here.

    `columns` are those keys of a row that people want to see, of which the first `keys` say what a
    row is about. `shown` is what people see instead of the rows; `measured` is everything that was
    measured, if the rows are only some of it.
    """

    name: str
    title: str
    source: str
    rows: Sequence[ResultObject]
    claims: Sequence[Claim]
    chart: Chart | Panels
    columns: Sequence[str]
    keys: int
    interrupted: bool = False
    measured: Sequence[ResultObject] = ()
    shown: Sequence[ResultObject] | None = None

    @property
    def picture(self) -> str:
        """The chart as SVG."""
        return chart_svg(self.chart)

    @property
    def result(self) -> ReproductionResult:
        """Returns the result object that `reproduce --json` prints."""
        rows: Any = tuple(self.rows)
        measured: Any = tuple(self.measured)
        return ReproductionResult(
            name=self.name,
            title=self.title,
            source=self.source,
            rows=rows,
            measured=measured,
            claims=tuple(self.claims),
            interrupted=self.interrupted,
        )


class Experiment(Part):
    """One of the papers' experiments, as its file describes it.

    `measure` is what measures it (`catalogue`), and `like` a file whose keys hold where this one
    has none. `hosts` are those on which it is measured, and `elsewhere` says why not on others;
    `options` are those of `FigureOptions` that it has a use for.
    """

    name: str
    title: str
    source: str
    measure: str
    like: str = ""
    hosts: tuple[Host, ...] = ("sim", "xen", "linux")
    elsewhere: str = ""
    options: tuple[Literal["sets", "horizon", "packets", "plays"], ...] = ()
    sets: Positive = 1
    horizon_ns: Time = 0
    packets: Positive = 1
    plays: Positive = 1
    xen: dict[str, Any] = key(default={})
    linux: dict[str, Any] = key(default={})
    columns: tuple[str, ...]
    keys: Positive
    paper: dict[str, str] = key(default={})
    claims: tuple[ClaimText, ...] = key(name="claim", default=())
    chart: ChartText | None = None

    def _findings(self) -> Iterable[Finding]:
        for host in ("xen", "linux"):
            reading = Reading(from_file=True)
            self._read_for(host, reading)
            yield from reading.findings

    def _read_for(self, host: str, reading: Reading) -> dict[str, Any]:
        """The values of fields that are others on a host."""
        fields = {field.key: field for field in fields_of(type(self)).values()}
        found = {}
        for name, value in getattr(self, host, {}).items():
            if name in fields:
                found[fields[name].name] = fields[name].kind.read(value, (host, name), reading)
            else:
                reading.refuse((host, name), f"the unknown key {name}", "a key of the file")
        return found

    def on(self, host: Host) -> Self:
        """The experiment as it is measured on a host."""
        return self.replace(**self._read_for(host, Reading(from_file=True)))

    def settled(self, options: FigureOptions) -> Self:
        """The experiment with what is asked for; InputError for what it has no use for."""
        given = {
            name: getattr(options, name) for name in ("sets", "horizon_ns", "packets", "plays")
        }
        given = {name: value for name, value in given.items() if value is not None}
        for field in given:
            option = field.removesuffix("_ns")
            if option not in self.options:
                found = f"--{option} with {self.name}"
                raise InputError("", None, f"--{option}", found, "no such option there")
        if options.host not in self.hosts:
            allowed = f"{' or '.join(self.hosts)}: {self.elsewhere}"
            raise InputError("", None, "--on", f"{options.host} for {self.name}", allowed)
        return self.on(options.host).replace(**given)

    def steps(self, options: FigureOptions) -> int:
        """How many steps of progress `reproduce` reports."""
        return self.settled(options)._steps(options.host)

    def reproduce(self, options: FigureOptions, progress: Progress) -> Figure:
        """The figure; Ctrl-C ends the measuring, and what is there by then is judged and drawn.

        InputError for options that the experiment has no use for.
        """
        here = self.settled(options)
        rows: list[ResultObject] = []
        interrupted = False
        try:
            rows.extend(here.measured(Measuring(options, progress)))
        except KeyboardInterrupt:
            interrupted = True
        figure_rows = here.standing(rows)
        return Figure(
            self.name,
            here.title,
            self.source,
            figure_rows,
            self.judge(rows, options, whole=not interrupted),
            self.draw(rows, options),
            here.columns,
            here.keys,
            interrupted,
            measured=() if figure_rows is rows else here.listed(rows),
            shown=here.shown(rows),
        )

    def judge(
        self, rows: Sequence[ResultObject], options: FigureOptions, *, whole: bool = True
    ) -> list[Claim]:
        """The claims that these rows can show; fewer if they are not the whole."""
        scope = self._scope(rows, options, whole=whole)
        return [
            claim
            for _, alike in groupby(self.claims, key=lambda one: one.each and one.each.text)
            for claim in _claims(list(alike), scope)
        ]

    def draw(self, rows: Sequence[ResultObject], options: FigureOptions) -> Chart | Panels:
        """The picture of these rows."""
        return self.settled(options).drawn(rows, self._scope(rows, options, whole=False))

    def _scope(self, rows: Sequence[Any], options: FigureOptions, *, whole: bool) -> Scope:
        """Returns the names that expressions may use: rows, all fields on this host, and `file`."""
        here = self.settled(options)

        def caption(draws: int) -> str:
            """What stands below a title: where the paper has it, and what whiskers are."""
            means = f"; means over {draws} draws, with intervals of 95 %"
            return self.source + (means if draws > 1 else "")

        return {
            **vars(here),
            **FUNCTIONS,
            "paper": SimpleNamespace(**here.paper),
            "file": self,
            "here": here,
            "host": options.host,
            "rows": viewed(rows),
            "whole": whole,
            "caption": caption,
            **here.names(rows, options),
        }

    # -- what a kind of measurement says --------------------------------------------------------

    def _steps(self, host: Host) -> int:
        """How many steps `measured` reports on a host."""
        raise NotImplementedError

    def measured(self, run: Measuring) -> Iterator[ResultObject]:
        """The rows, each as soon as it is measured."""
        raise NotImplementedError

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        """What expressions know beside the rows and what the file says."""
        return {}

    def standing(self, rows: Sequence[ResultObject]) -> Sequence[ResultObject]:
        """Those rows that stand for the paper's figure; the same list if all of them do."""
        return rows

    def listed(self, rows: Sequence[ResultObject]) -> Sequence[ResultObject]:
        """All rows as they are printed, if those of the figure are only some of them."""
        return rows

    def shown(self, rows: Sequence[ResultObject]) -> Sequence[ResultObject] | None:  # noqa: ARG002
        """What people see instead of the rows; None for these."""
        return None

    def drawn(self, rows: Sequence[Any], scope: Scope) -> Chart | Panels:  # noqa: ARG002
        """The picture that the file describes; the title is the experiment's."""
        assert self.chart is not None, "described by the file, or drawn by the class"
        return self.chart.drawn(self.title, scope)


def _claims(alike: Sequence[ClaimText], scope: Scope) -> Iterator[Claim]:
    """Those claims that are made in the same rounds, round after round."""
    for here in rounds(alike[0].each, scope):
        for one in alike:
            yield from one.made(here)
