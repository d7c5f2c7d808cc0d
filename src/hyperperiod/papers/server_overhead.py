# SPDX-License-Identifier: BSD-2-Clause
"""Where the overhead of servers on one core and on two comes from.

ExSched HSF paper, section 5.2: its Fig. 7 (`ServerNumbers`), Table 1 (`ServerTests`) and Table 3
(`ServerAllocations`). What is counted is said in `server_events`; the paper's execution times stand
beside, in microseconds of its machine. On Linux and on Xen ours stand there too, those of
`server_handlers`, in nanoseconds of a machine on which an instruction takes one: so what is
compared is how much more one setting costs than another. Of several draws the paper has one, and
does not print it: what is said of ours is said of means with their confidence intervals.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from statistics import fmean
from typing import Annotated, Any

from hyperperiod.analysis.fit.answer import Options
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.experiments.confidence import interval_key, mean_interval, ratio_interval
from hyperperiod.model import Interface, System, format_time, load_system
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Positive, PositiveTime, Whole
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.result import ServerEventsRow
from hyperperiod.papers.server_events import (
    POLICIES,
    ServerEvents,
    count_events,
    two_level_system,
)
from hyperperiod.resources import SOURCES

HSF, PARTITIONED = POLICIES
COUNTED = ("refill_runs", "preemptions", "picks")
HANDLER_TIMES = ("decide_ns", "wake_ns", "sleep_ns", "switch_ns")
"""The keys of a row that say how long each handler ran."""


class ServerOverhead(Experiment):
    """An experiment about the price of servers: it runs systems and counts the events of each."""

    def _events(self, run: Measuring, systems: Sequence[System]) -> Iterator[ServerEvents]:
        """The events of a run of each system. KeyboardInterrupt if Ctrl-C ended one."""
        if run.host == "sim":
            for system in systems:
                yield count_events(system, self.horizon_ns, run.seed)
        else:
            from hyperperiod.papers.server_handlers import measured

            yield from measured(run.host, systems, self.horizon_ns, run.seed)

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        def times(one_ns: float, other_ns: float) -> str:
            """Two times and their ratio."""
            both = " and ".join(format_time(round(span_ns)) for span_ns in (one_ns, other_ns))
            return f"{both}, {one_ns / other_ns:.2f} times as much"

        return {"hsf": HSF, "partitioned": PARTITIONED, "times": times}


class Jiffies(Part):
    """A range of periods in ticks of the paper's kernel, both ends in it."""

    low: Positive
    high: Positive


class ServerNumbers(ServerOverhead):
    """Random servers, 2 to 10 of them, on one core and at random on two."""

    jiffy_ns: PositiveTime
    servers: tuple[Annotated[int, Whole(2)], ...]
    period: Jiffies
    below: Annotated[int, Whole(1, 100)]

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(self.servers) * self.sets

    def measured(self, run: Measuring) -> Iterator[ServerEventsRow]:
        for count in self.servers:
            systems = [
                system for number in range(self.sets) for system in self._pair(run, count, number)
            ]
            found: dict[str, list[ServerEvents]] = {policy: [] for policy in POLICIES}
            for at, events in enumerate(self._events(run, systems)):
                found[POLICIES[at % 2]].append(events)
                if at % 2:
                    run.step()
            one, two = (_row(policy, run.host, count, "", found[policy]) for policy in POLICIES)
            yield one
            yield two.replace(**_ratio_of_times(found[PARTITIONED], found[HSF]))

    def _pair(self, run: Measuring, count: int, number: int) -> Iterator[System]:
        """Servers of a draw, on one core and on two."""
        draw = random.Random(f"{run.seed}:{self.name}:{count}:{number}")
        servers = self.drawn_servers(draw, count)
        sides = [index % 2 for index in range(count)]
        draw.shuffle(sides)
        for pcpus in ([0] * count, sides):
            yield two_level_system(self.name, servers, pcpus)

    def drawn_servers(self, draw: random.Random, count: int) -> list[Interface]:
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


class PaperTimes(Part):
    """The paper's overheads of a test."""

    partitioned_ns: PositiveTime
    hsf_ns: PositiveTime


class ServerTest(Part):
    """Servers of a test; with `count` there are so many of the only one."""

    name: str
    count: Positive = 1
    servers: Annotated[tuple[Interface, ...], AtLeast(1)]
    paper: PaperTimes

    def placed(self, name: str) -> Iterator[tuple[str, System, int]]:
        """The servers on one core and half of them on each of two: policy, system, paper's ns."""
        servers = list(self.servers) * self.count
        count = len(servers)
        yield HSF, two_level_system(name, servers, [0] * count), self.paper.hsf_ns
        sides = [index * 2 // count for index in range(count)]
        yield PARTITIONED, two_level_system(name, servers, sides), self.paper.partitioned_ns


class ServerTests(ServerOverhead):
    """Ten servers that are released together; two of which one preempts the other."""

    tests: Annotated[tuple[ServerTest, ...], AtLeast(1)] = key(name="test")

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(POLICIES) * len(self.tests)

    def measured(self, run: Measuring) -> Iterator[ServerEventsRow]:
        placed = [(test.name, *one) for test in self.tests for one in test.placed(self.name)]
        found = self._events(run, [system for _, _, system, _ in placed])
        for (name, policy, system, paper_ns), events in zip(placed, found, strict=True):
            yield _row(policy, run.host, len(system.domains), name, [events], paper_ns)
            run.step()


class Allocation(Part):
    """The servers on cores, by a file, or as `fit` puts them there; the paper's overhead."""

    name: str
    system: str
    fit: bool = False
    paper_ns: PositiveTime | None = None

    def allocated(self) -> System:
        """The system of the allocation.

        `fit` allocates by its heuristics, which need no solver: on these servers they find what
        the solver proves to be optimal.
        """
        path = str(SOURCES / self.system)
        if not self.fit:
            return load_system(path)
        options = Options(least=Least.OVERHEAD, solver=False)
        fitted = fit(load_system(path, pinned=False), options).system
        assert fitted is not None, "the paper's own allocation is one"
        return fitted


class PublishedTimes(Part):
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


class ServerAllocations(ServerOverhead):
    """The same servers allocated to two cores in several ways."""

    allocations: Annotated[tuple[Allocation, ...], AtLeast(1)] = key(name="allocation")
    price: PublishedTimes

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return len(self.allocations)

    def measured(self, run: Measuring) -> Iterator[ServerEventsRow]:
        systems = [one.allocated() for one in self.allocations]
        found = self._events(run, systems)
        for one, system, events in zip(self.allocations, systems, found, strict=True):
            count = len(system.domains)
            yield _row(PARTITIONED, run.host, count, one.name, [events], one.paper_ns)
            run.step()


def _row(
    policy: str,
    host: str,
    servers: int,
    test: str,
    found: Sequence[ServerEvents],
    paper_ns: int | None = None,
) -> ServerEventsRow:
    """The mean over draws; of one draw the numbers themselves. None for what was not measured."""

    def mean(name: str) -> float:
        total: int = sum(getattr(one, name) for one in found)
        return total if len(found) == 1 else total / len(found)

    def interval(name: str) -> dict[str, Any]:
        return {interval_key(name): mean_interval([float(getattr(one, name)) for one in found])}

    values: dict[str, Any] = {}
    for name in COUNTED:
        values |= {name: mean(name), **interval(name)}
    if all(one.overhead_ns is not None for one in found):
        values |= {name: mean(name) for name in ("overhead_ns", *HANDLER_TIMES)}
        values |= interval("overhead_ns")
    return ServerEventsRow(
        test=test,
        policy=policy,
        host=host,
        servers=servers,
        pcpus=1 + (policy == PARTITIONED),
        draws=len(found),
        paper_ns=paper_ns,
        **values,
    )


def _ratio_of_times(two: Sequence[ServerEvents], one: Sequence[ServerEvents]) -> dict[str, Any]:
    """How many times as long handlers ran on two cores as on one, draw by draw."""
    times = [(each.overhead_ns, other.overhead_ns) for each, other in zip(two, one, strict=True)]
    known = [(after, before) for after, before in times if after is not None and before]
    if not known:
        return {}
    return {
        "times": fmean(after for after, _ in known) / fmean(before for _, before in known),
        "times_interval": ratio_interval(*map(list, zip(*known, strict=True))),
    }
