# SPDX-License-Identifier: BSD-2-Clause
"""Where the overhead of servers on one core and on two comes from.

ExSched HSF paper, section 5.2: its Fig. 7 (`ServerNumbers`), Table 1 (`ServerTests`) and Table 3
(`ServerAllocations`). What is counted is said in `server_events`; the paper's execution times stand
beside, in microseconds of its machine. On Linux and on Xen ours stand there too (`server_times`).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import fmean
from typing import Annotated, Any

from hyperperiod.analysis.fit.answer import Options
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.confidence import Interval, ends, mean_interval, ratio_interval
from hyperperiod.experiments.reproduce.figure import Asked, Figure, Progress, caption, refuse
from hyperperiod.experiments.reproduce.measured import Judged, MeasuredFigure
from hyperperiod.experiments.reproduce.on_host import Host
from hyperperiod.experiments.reproduce.result import ServerEventsRow
from hyperperiod.experiments.reproduce.server_events import (
    POLICIES,
    Events,
    count_events,
    two_level_system,
)
from hyperperiod.experiments.reproduce.server_times import (
    HANDLER_TIMES,
    allocation_claims,
    handler_bars,
    number_claims,
    overhead_lines,
    test_claims,
)
from hyperperiod.model import Interface, System, format_time, load_system
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import PositiveTime, Whole
from hyperperiod.report.frame import Scale
from hyperperiod.report.groups import Group, GroupChart, Mark
from hyperperiod.report.lines import Curve, LineChart
from hyperperiod.resources import SOURCES

HSF, PARTITIONED = POLICIES
PRICED_TO = 0.05
"""How far the price of mixing may be from the paper's, as a part of it."""


class ServerFigure(MeasuredFigure[ServerEventsRow]):
    """What the three experiments share: how long a run is, and what is not theirs to say."""

    horizon_ns: PositiveTime

    def _horizon(self, asked: Asked) -> int:
        return asked.horizon_ns or self.horizon_ns

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        """The figure, on Linux and on Xen with what handlers took."""
        figure = super().reproduce(asked, progress)
        if asked.host == "sim":
            return figure
        shown = [name for name in figure.columns if name not in _INTERVALS]
        at = len(shown) - (shown[-1] == "paper_ns")
        return replace(figure, columns=[*shown[:at], *self._time_columns(), *shown[at:]])

    def _time_columns(self) -> Sequence[str]:
        """What people see of handlers' times."""
        return ("overhead_ns", *HANDLER_TIMES)


class Jiffies(Part):
    """A range of periods in ticks of the paper's kernel, both ends in it."""

    low: Annotated[int, Whole(1)]
    high: Annotated[int, Whole(1)]


class NumberFindings(Part):
    """The paper's sentences on Fig. 7, as the file quotes them: one for each claim."""

    more: str
    less: str


class FewerSets(Part):
    """How many sets of servers are drawn on Xen, where a run takes as long as it takes."""

    sets: Annotated[int, Whole(1)]


class ServerNumbers(ServerFigure):
    """Random servers, 2 to 10 of them, on one core and at random on two."""

    jiffy_ns: PositiveTime
    sets: Annotated[int, Whole(1)]
    xen: FewerSets
    servers: tuple[Annotated[int, Whole(2)], ...]
    period: Jiffies
    below: Annotated[int, Whole(1, 100)]
    paper: NumberFindings

    def steps(self, asked: Asked) -> int:
        return len(self.servers) * self._sets(asked)

    def _sets(self, asked: Asked) -> int:
        return asked.sets or (self.xen.sets if asked.host == "xen" else self.sets)

    def _columns(self) -> tuple[Sequence[str], int]:
        columns = ("policy", "host", "servers", "pcpus", "draws", *_COUNTED_WITH_INTERVALS)
        return columns, columns.index("draws")

    def _time_columns(self) -> Sequence[str]:
        return ("overhead_ns", "overhead_interval_ns", "times", "times_interval")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[ServerEventsRow]:
        horizon_ns, sets = self._horizon(asked), self._sets(asked)
        done = 0
        for count in self.servers:
            found: dict[str, list[Events]] = {policy: [] for policy in POLICIES}
            systems = [
                system for number in range(sets) for system in self._pair(asked.seed, count, number)
            ]
            for at, events in enumerate(_events_of(asked.host, systems, horizon_ns, asked.seed)):
                found[POLICIES[at % 2]].append(events)
                done += at % 2
                progress(done)
            rows = [_row(policy, asked.host, count, "", found[policy]) for policy in POLICIES]
            yield rows[0]
            yield rows[1].replace(**_times(found[PARTITIONED], found[HSF]))

    def _pair(self, seed: int, count: int, number: int) -> Iterator[System]:
        """Servers of a draw, on one core and on two."""
        draw = random.Random(f"{seed}:{self.name}:{count}:{number}")
        servers = self._drawn(draw, count)
        sides = [index % 2 for index in range(count)]
        draw.shuffle(sides)
        for pcpus in ([0] * count, sides):
            yield two_level_system(self.name, servers, pcpus)

    def _drawn(self, draw: random.Random, count: int) -> list[Interface]:
        """Servers whose shares are cut at random from `below` percent, in whole jiffies.

        A share of less than a jiffy is one, so a draw may come out at `below` or above: then the
        next one is taken.
        """
        while True:
            cuts = [0.0, *sorted(draw.random() for _ in range(count - 1)), 1.0]
            periods = [draw.randint(self.period.low, self.period.high) for _ in range(count)]
            budgets = [
                max(1, int(period * (end - begin) * self.below / 100))
                for period, begin, end in zip(periods, cuts, cuts[1:], strict=False)
            ]
            pairs = list(zip(periods, budgets, strict=True))
            if sum(Fraction(budget, period) for period, budget in pairs) * 100 < self.below:
                return [
                    Interface(period_ns=period * self.jiffy_ns, budget_ns=budget * self.jiffy_ns)
                    for period, budget in pairs
                ]

    def _judged(self, rows: Sequence[ServerEventsRow], asked: Asked) -> Judged:
        whole = len(rows) == len(POLICIES) * len(self.servers)
        if asked.host != "sim":
            claims = number_claims(rows, self.paper.more, self.paper.less)
            chart = overhead_lines(self.title, self.source, rows, self._horizon(asked))
            return list(claims) if whole else [], chart
        return list(self._claims(rows)) if whole else [], self._chart(rows)

    def _claims(self, rows: Sequence[ServerEventsRow]) -> Iterator[Claim]:
        pairs = list(zip(_of(rows, HSF), _of(rows, PARTITIONED), strict=True))
        fewer = [one.servers for one, two in pairs if two.refill_runs < one.refill_runs]
        yield Claim(
            "Releases that coincide on one core are handled apart on two: never fewer refill runs.",
            self.paper.more,
            "; ".join(
                f"{one.servers} servers: {two.refill_runs / one.refill_runs:.2f} times as many"
                for one, two in pairs
            ),
            not fewer,
            mark="ours",
        )
        apart = all(
            ends(two.preemptions, two.preemptions_interval)[1]
            < ends(one.preemptions, one.preemptions_interval)[0]
            for one, two in pairs
        )
        yield Claim(
            "Servers on two cores preempt one another less often than on one: the intervals of the"
            " two do not meet.",
            self.paper.less,
            "; ".join(
                f"{one.servers} servers: {two.preemptions:.1f} and {one.preemptions:.1f}"
                for one, two in pairs
            ),
            apart,
        )
        prices = {
            one.servers: (one.preemptions - two.preemptions) / (two.refill_runs - one.refill_runs)
            for one, two in pairs
            if two.refill_runs > one.refill_runs
        }
        yield Claim(
            "Which costs more depends on the prices: neither has both fewer runs and fewer"
            " preemptions.",
            f"{self.paper.more}; {self.paper.less}",
            "two cores cost more where a refill run costs more than so many preemptions: "
            + ", ".join(f"{price:.1f} ({count} servers)" for count, price in prices.items()),
            len(prices) == len(pairs) and all(price > 0 for price in prices.values()),
            mark="ours",
        )

    def _chart(self, rows: Sequence[ServerEventsRow]) -> LineChart:
        curves = [
            Curve(
                f"{name}, {policy}",
                [(float(row.servers), float(getattr(row, counted))) for row in _of(rows, policy)],
                dots=True,
                whiskers=[
                    (float(row.servers), interval.low, interval.high)
                    for row in _of(rows, policy)
                    if (interval := getattr(row, f"{counted}_interval"))
                ],
            )
            for counted, name in (("refill_runs", "refill runs"), ("preemptions", "preemptions"))
            for policy in POLICIES
        ]
        return LineChart(
            self.title,
            Scale("servers"),
            Scale(f"events in {format_time(self.horizon_ns)}"),
            curves,
            subtitle=caption(self.source, rows[0].draws if rows else 0),
            x_min=float(self.servers[0]),
            x_max=float(self.servers[-1]),
        )


class TestTimes(Part):
    """The paper's overheads of a test."""

    partitioned_ns: PositiveTime
    hsf_ns: PositiveTime


class ServerTest(Part):
    """Servers of a test; with `count` there are so many of the only one."""

    name: str
    count: Annotated[int, Whole(1)] = 1
    servers: Annotated[tuple[Interface, ...], AtLeast(1)]
    paper: TestTimes

    @property
    def each(self) -> list[Interface]:
        """The servers one by one."""
        return list(self.servers) * self.count


class TestFindings(Part):
    """What the paper says of Table 1."""

    release: str
    preemption: str


class ServerTests(ServerFigure):
    """Ten servers that are released together; two of which one preempts the other."""

    tests: Annotated[tuple[ServerTest, ...], AtLeast(1)] = key(name="test")
    paper: TestFindings

    def steps(self, asked: Asked) -> int:  # noqa: ARG002
        return len(POLICIES) * len(self.tests)

    def _columns(self) -> tuple[Sequence[str], int]:
        columns = ("test", "policy", "host", "servers", "pcpus", *_COUNTED, "paper_ns")
        return columns, columns.index("refill_runs")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[ServerEventsRow]:
        refuse(asked, self.name, "sets")
        systems, rows = [], []
        for test in self.tests:
            servers = test.each
            sides = [index * 2 // len(servers) for index in range(len(servers))]
            theirs = (test.paper.hsf_ns, test.paper.partitioned_ns)
            for policy, pcpus, paper_ns in zip(
                POLICIES, ([0] * len(servers), sides), theirs, strict=True
            ):
                systems.append(two_level_system(self.name, servers, pcpus))
                rows.append((policy, len(servers), test.name, paper_ns))
        found = _events_of(asked.host, systems, self._horizon(asked), asked.seed)
        for done, (row, events) in enumerate(zip(rows, found, strict=True), start=1):
            policy, count, name, paper_ns = row
            yield _row(policy, asked.host, count, name, [events], paper_ns)
            progress(done)

    def _judged(self, rows: Sequence[ServerEventsRow], asked: Asked) -> Judged:
        whole = len(rows) == self.steps(asked)
        if asked.host != "sim":
            claims = test_claims(rows, self.paper.release, self.paper.preemption)
            return list(claims) if whole else [], handler_bars(self.title, self.source, rows)
        return list(self._claims(rows)) if whole else [], _bars(self, rows)

    def _claims(self, rows: Sequence[ServerEventsRow]) -> Iterator[Claim]:
        found = {(row.test, row.policy): row for row in rows}
        one, two = found["release", HSF], found["release", PARTITIONED]
        yield Claim(
            "Servers that are released together on one core take two refill runs on two.",
            f"{self.paper.release}: {_paper_times(one, two)}",
            f"{one.refill_runs} and {two.refill_runs} refill runs; {one.picks} and {two.picks}"
            f" picks, {two.picks / one.picks:.2f} times as many",
            two.refill_runs == 2 * one.refill_runs,
        )
        one, two = found["preemption", HSF], found["preemption", PARTITIONED]
        yield Claim(
            "On one core the server with the long period is preempted, on two cores nobody is.",
            f"{self.paper.preemption}: {_paper_times(one, two)}",
            f"{one.preemptions} preemptions and {two.preemptions}",
            one.preemptions > 0 and two.preemptions == 0,
        )


class Allocation(Part):
    """The servers on cores, by a file, or as `fit` puts them there; the paper's overhead."""

    name: str
    system: str
    fit: bool = False
    paper_ns: PositiveTime | None = None


class Prices(Part):
    """What events took on the paper's machine, if its release test had the first of `periods_ns`.

    The paper prints the time of that test and not the period of its servers: with twice the period
    there were half as many events, each of which took twice as long.
    """

    refill_run_ns: PositiveTime
    pick_ns: PositiveTime
    periods_ns: Annotated[tuple[PositiveTime, ...], AtLeast(1)]

    def time_ns(self, row: ServerEventsRow, period_ns: int | None = None) -> float:
        """The time that the events of a row take if that period was this one, in nanoseconds."""
        times = (period_ns or self.periods_ns[0]) / self.periods_ns[0]
        return times * (row.refill_runs * self.refill_run_ns + row.picks * self.pick_ns)


class AllocationFindings(Part):
    """What the paper says of Table 3."""

    mixed: str
    advice: str


class ServerAllocations(ServerFigure):
    """The same servers allocated to two cores in several ways."""

    allocations: Annotated[tuple[Allocation, ...], AtLeast(1)] = key(name="allocation")
    price: Prices
    paper: AllocationFindings

    def steps(self, asked: Asked) -> int:  # noqa: ARG002
        return len(self.allocations)

    def _columns(self) -> tuple[Sequence[str], int]:
        columns = ("test", "policy", "host", "servers", "pcpus", *_COUNTED, "paper_ns")
        return columns, columns.index("refill_runs")

    def _measured(self, asked: Asked, progress: Progress) -> Iterator[ServerEventsRow]:
        refuse(asked, self.name, "sets")
        systems = [self.allocated(one) for one in self.allocations]
        found = _events_of(asked.host, systems, self._horizon(asked), asked.seed)
        for done, (one, events) in enumerate(zip(self.allocations, found, strict=True), start=1):
            count = len(systems[done - 1].domains)
            yield _row(PARTITIONED, asked.host, count, one.name, [events], one.paper_ns)
            progress(done)

    @staticmethod
    def allocated(one: Allocation) -> System:
        """The system of an allocation.

        `fit` allocates by its heuristics, which need no solver: on these servers they find what
        the solver proves to be optimal.
        """
        path = str(SOURCES / one.system)
        if not one.fit:
            return load_system(path)
        options = Options(least=Least.OVERHEAD, solver=False)
        fitted = fit(load_system(path, pinned=False), options).system
        assert fitted is not None, "the paper's own allocation is one"
        return fitted

    def _judged(self, rows: Sequence[ServerEventsRow], asked: Asked) -> Judged:
        whole = len(rows) == self.steps(asked)
        if asked.host != "sim":
            claims = allocation_claims(rows, self.paper.mixed, self.paper.advice)
            return list(claims) if whole else [], handler_bars(self.title, self.source, rows)
        share = self._horizon(asked) / self.horizon_ns
        counted = [*self._claims(rows), self._priced(rows, share)] if whole else []
        return counted, _bars(self, rows)

    def _claims(self, rows: Sequence[ServerEventsRow]) -> Iterator[Claim]:
        grouped, mixed, fitted = rows[:3]
        assert grouped.paper_ns is not None
        assert mixed.paper_ns is not None
        yield Claim(
            "Mixed periods cost at least a third more picks than periods grouped by core.",
            f"{self.paper.mixed}: {mixed.paper_ns / grouped.paper_ns:.2f} times as much",
            f"{mixed.picks / grouped.picks:.2f} times as many picks, {mixed.preemptions}"
            f" preemptions and {grouped.preemptions}; the paper's time is"
            f" {grouped.paper_ns / grouped.picks / 1000:.2f} and"
            f" {mixed.paper_ns / mixed.picks / 1000:.2f} us for each of our picks",
            3 * mixed.picks >= 4 * grouped.picks,
        )
        same = all(getattr(fitted, one) <= getattr(grouped, one) for one in _COUNTED)
        yield Claim(
            "`fit --least overhead` finds an allocation that is as good as the paper's grouping.",
            self.paper.advice,
            f"{fitted.refill_runs}, {fitted.preemptions}, {fitted.picks} against"
            f" {grouped.refill_runs}, {grouped.preemptions}, {grouped.picks}",
            same,
            mark="ours",
        )

    def _priced(self, rows: Sequence[ServerEventsRow], share: float) -> Claim:
        """What mixing costs with the paper's prices, and how a period of ours moves each time.

        Counts are those of this share of the paper's run.
        """
        grouped, mixed = rows[:2]
        assert grouped.paper_ns is not None
        assert mixed.paper_ns is not None
        ours = self.price.time_ns(mixed) / self.price.time_ns(grouped)
        theirs = mixed.paper_ns / grouped.paper_ns
        said = [
            f"{one.test}: "
            + ", ".join(
                f"{self.price.time_ns(one, period_ns) / ((one.paper_ns or 0) * share):.2f}"
                f" ({format_time(period_ns)})"
                for period_ns in self.price.periods_ns
            )
            for one in (grouped, mixed)
        ]
        return Claim(
            "With what refill runs and picks took in the paper's release test, mixed periods take"
            " as many times as long as grouped ones as it measured, to 5 %.",
            f"{theirs:.2f} times",
            f"{ours:.2f} times, {ours / theirs:.2f} of the paper's; each time goes with the period"
            f" of that test, which the paper does not print and we chose: of the paper's,"
            f" {'; '.join(said)}",
            abs(ours / theirs - 1) <= PRICED_TO,
            mark="ours",
        )


_COUNTED = ("refill_runs", "preemptions", "picks")
_COUNTED_WITH_INTERVALS = tuple(
    name for counted in _COUNTED for name in (counted, f"{counted}_interval")
)
_INTERVALS = tuple(f"{counted}_interval" for counted in _COUNTED)


def _events_of(
    host: Host, systems: Sequence[System], horizon_ns: int, seed: int
) -> Iterator[Events]:
    """The events of a run of each system. KeyboardInterrupt if Ctrl-C ended one."""
    if host == "sim":
        for system in systems:
            yield count_events(system, horizon_ns, seed)
    else:
        from hyperperiod.experiments.reproduce.server_handlers import measured

        yield from measured(host, systems, horizon_ns, seed)


def _of(rows: Sequence[ServerEventsRow], policy: str) -> list[ServerEventsRow]:
    return [row for row in rows if row.policy == policy]


def _row(
    policy: str,
    host: str,
    servers: int,
    test: str,
    found: Sequence[Events],
    paper_ns: int | None = None,
) -> ServerEventsRow:
    """The mean over draws; of one draw the numbers themselves. None for what was not measured."""

    def mean(name: str) -> float:
        total: int = sum(getattr(one, name) for one in found)
        return total if len(found) == 1 else total / len(found)

    def interval(name: str) -> Interval | None:
        return mean_interval([float(getattr(one, name)) for one in found])

    timed = all(one.overhead_ns is not None for one in found)
    return ServerEventsRow(
        test=test,
        policy=policy,
        host=host,
        servers=servers,
        pcpus=1 + (policy == PARTITIONED),
        draws=len(found),
        refill_runs=mean("refill_runs"),
        refill_runs_interval=interval("refill_runs"),
        preemptions=mean("preemptions"),
        preemptions_interval=interval("preemptions"),
        picks=mean("picks"),
        picks_interval=interval("picks"),
        paper_ns=paper_ns,
        overhead_ns=mean("overhead_ns") if timed else None,
        overhead_interval_ns=interval("overhead_ns") if timed else None,
        decide_ns=mean("decide_ns") if timed else None,
        wake_ns=mean("wake_ns") if timed else None,
        sleep_ns=mean("sleep_ns") if timed else None,
        switch_ns=mean("switch_ns") if timed else None,
    )


def _times(two: Sequence[Events], one: Sequence[Events]) -> dict[str, Any]:
    """How many times as long handlers ran on two cores as on one, draw by draw."""
    times = [(each.overhead_ns, other.overhead_ns) for each, other in zip(two, one, strict=True)]
    known = [(after, before) for after, before in times if after is not None and before]
    if not known:
        return {}
    return {
        "times": fmean(after for after, _ in known) / fmean(before for _, before in known),
        "times_interval": ratio_interval(*map(list, zip(*known, strict=True))),
    }


def _paper_times(one: ServerEventsRow, two: ServerEventsRow) -> str:
    """The paper's overheads on one core and on two."""
    assert one.paper_ns is not None
    assert two.paper_ns is not None
    return f"{format_time(one.paper_ns)} and {format_time(two.paper_ns)} on two"


def _bars(figure: ServerFigure, rows: Sequence[ServerEventsRow]) -> GroupChart:
    """The counted events of each row beside one another."""
    names = {HSF: "one core", PARTITIONED: "two cores"}
    both = len({row.policy for row in rows}) > 1
    return GroupChart(
        figure.title,
        Scale(f"events in {format_time(figure.horizon_ns)}"),
        [name.replace("_", " ") for name in _COUNTED],
        [
            Group(
                f"{row.test}, {names[row.policy]}" if both else row.test,
                [Mark(float(getattr(row, name))) for name in _COUNTED],
            )
            for row in rows
        ],
        subtitle=figure.source,
    )
