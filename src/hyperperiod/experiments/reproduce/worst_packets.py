# SPDX-License-Identifier: BSD-2-Clause
"""The latest answers that a search over packet phases finds, beside what analysis and paper say.

PSEDF paper, sections IV to VI: what short unblocking, kept slices and fixed priority cost a packet
through a driver domain and back. Each stage is a system under one of its policies. The search
(`phases`) lets packets and the other domains' work come at any instants that their periods allow.
The rows are the control domains in the latest play found, as it ran; `measured` says how late that
is, of what, and the chart how many plays it took.

What the paper says of the latest answer: 4 p_N + p_i under SEDF (1), 2 p_N + p_i under SEDF'; under
PSEDF s_N + p_N, or r_i where that is longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from hyperperiod.analysis.driver_loop.driver_domain import Configuration, Slice
from hyperperiod.analysis.driver_loop.driver_flows import placed_of
from hyperperiod.analysis.driver_loop.psedf import paper_response
from hyperperiod.experiments.claim import Claim
from hyperperiod.experiments.phases import LatestAnswer, latest_answer
from hyperperiod.experiments.reproduce.figure import Asked, Figure, Progress, refuse, refuse_host
from hyperperiod.experiments.reproduce.packet_runs import controller, response_range
from hyperperiod.experiments.reproduce.result import PacketRow, WorstPacketRow
from hyperperiod.model import (
    System,
    format_time,
    load_system,
    parse_policy,
    with_policy,
)
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Whole
from hyperperiod.report.frame import Scale
from hyperperiod.report.lines import Curve, LineChart
from hyperperiod.resources import SOURCES
from hyperperiod.runs import simulate

NEAR = 0.95
"""A bound is tight if an answer comes this close to it."""
COLUMNS = ("policy", "system", "flow", "found_ns", "bound_ns", "ratio", "paper_ns", "plays")


class WorstFindings(Part):
    """What the paper says of each policy's latest answer."""

    sedf: str
    sedf_prime: str = key(name="sedf-prime")
    psedf: str


class Stage(Part):
    """A system, under one of the paper's policies."""

    system: str
    policy: Literal["sedf", "sedf-prime", "psedf"]
    plays: Annotated[int, Whole(1)] | None = None
    """How many are tried at most, if fewer than elsewhere."""


class WorstPackets(Part):
    """An experiment: the stages, and how many plays are tried on each."""

    name: str
    title: str
    source: str
    plays: Annotated[int, Whole(1)]
    stages: Annotated[tuple[Stage, ...], AtLeast(1)] = key(name="stage")
    paper: WorstFindings

    def steps(self, asked: Asked) -> int:
        return sum(self._plays(stage, asked) for stage in self.stages)

    def reproduce(self, asked: Asked, progress: Progress) -> Figure:
        refuse(asked, self.name, "sets", "horizon_ns", "packets")
        refuse_host(asked, self.name, "a search takes thousands of runs")
        results: list[_Result] = []
        interrupted = False
        try:
            for stage in self.stages:
                done = sum(one.found.tried for one in results)
                result = self._searched(stage, asked, _later(progress, done))
                results.append(result)
                if result.found.interrupted:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            interrupted = True
        return Figure(
            self.name,
            self.title,
            self.source,
            [row for result in results for row in _rows(result)],
            [] if interrupted else list(self._claims(results)),
            self._chart(results),
            COLUMNS,
            interrupted,
            measured=[result.row for result in results],
            shown=[result.row for result in results],
            keys=COLUMNS.index("found_ns"),
        )

    def _plays(self, stage: Stage, asked: Asked) -> int:
        plays = asked.plays or self.plays
        return min(plays, stage.plays or plays)

    def _searched(self, stage: Stage, asked: Asked, progress: Progress) -> _Result:
        base = load_system(str(SOURCES / stage.system))
        system = with_policy(base, parse_policy(stage.policy))
        found = latest_answer(system, self._plays(stage, asked), asked.seed, progress)
        return _Result(stage.policy, system, found, _paper_bound(stage.policy, system, found.flow))

    def _claims(self, results: Sequence[_Result]) -> Iterator[Claim]:
        over = [one for one in results if one.found.response_ns > one.found.bound_ns]
        yield Claim(
            "No answer that was found is later than its bound.",
            "its own inequalities, see below",
            "; ".join(_found_text(one) for one in over or results),
            not over,
            mark="ours",
        )
        for policy, paper in (
            ("sedf", self.paper.sedf),
            ("sedf-prime", self.paper.sedf_prime),
            ("psedf", self.paper.psedf),
        ):
            here = [one for one in results if one.policy == policy]
            if not here:
                continue
            best = max(here, key=lambda one: one.found.ratio)
            yield Claim(
                f"Under {policy} an answer comes within 5 % of its bound.",
                paper,
                _found_text(best),
                best.found.ratio >= NEAR,
                mark="ours",
            )
            later = [one for one in here if one.found.response_ns > one.paper_ns]
            exceeded = policy != "sedf"
            said = "an answer is later than" if exceeded else "answers are within"
            latest = max(here, key=lambda one: one.found.response_ns / one.paper_ns)
            yield Claim(
                f"Under {policy} {said} what the paper allows.",
                paper,
                f"{format_time(latest.found.response_ns)} where the paper has"
                f" {format_time(latest.paper_ns)}{_WHY[policy]}",
                bool(later) == exceeded,
                mark="contradicts" if exceeded else "paper",
            )

    def _chart(self, results: Sequence[_Result]) -> LineChart:
        curves = [
            Curve(
                f"{one.system.name}, {one.policy}",
                [(float(tried), ratio) for tried, ratio in one.found.steps],
                steps=True,
            )
            for one in results
        ]
        largest = max((one.found.tried for one in results), default=1)
        return LineChart(
            self.title,
            Scale("plays tried"),
            Scale("latest answer / bound"),
            curves,
            subtitle=self.source,
            x_max=float(largest),
        )


_WHY = {
    "sedf": "",
    "sedf-prime": ": a packet that finds the slice used up waits for the next one",
    "psedf": ": packets pass the driver twice, and its slices are too few for that",
}


@dataclass(frozen=True)
class _Result:
    """A stage searched, and what the paper says of the flow that was latest."""

    policy: str
    system: System
    found: LatestAnswer
    paper_ns: int

    @property
    def row(self) -> WorstPacketRow:
        return WorstPacketRow(
            policy=self.policy,
            system=self.system.name,
            flow=self.found.flow,
            found_ns=self.found.response_ns,
            bound_ns=self.found.bound_ns,
            ratio=self.found.ratio,
            paper_ns=self.paper_ns,
            plays=self.found.tried,
        )


def _later(progress: Callable[[int], None], done: int) -> Callable[[int], None]:
    return lambda tried: progress(done + tried)


def _paper_bound(policy: str, system: System, flow: str) -> int:
    """What the paper has for the latest answer of a flow."""
    placed = placed_of(system)
    assert placed is not None, f"{system.name} is a driver loop"
    driver = Slice(placed.driver.period_ns, placed.driver.budget_ns)
    slices = tuple(Slice(server.period_ns, server.budget_ns) for server, _ in placed.services)
    number = [one.name for one in system.flows].index(flow)
    if policy == "psedf":
        response_ns = paper_response(placed.plant, Configuration(driver, slices))[number]
        return max(driver.slice_ns + driver.period_ns, response_ns or 0)
    return _PERIODS[policy] * driver.period_ns + slices[number].period_ns


_PERIODS = {"sedf": 4, "sedf-prime": 2}


def _rows(result: _Result) -> Iterator[PacketRow]:
    """The control domains in the play that was latest."""
    found = simulate(result.found.system, result.found.horizon_ns).flows
    own = {controller(flow) for flow in result.system.flows}
    drivers = {flow.hops[0].partition(".")[0] for flow in result.system.flows}
    others = sum(
        float(domain.interface.bandwidth)
        for domain in result.system.domains
        if domain.name not in own | drivers and domain.interface is not None
    )
    for flow, counts in zip(result.system.flows, found, strict=True):
        yield PacketRow(
            policy=result.policy,
            host="sim",
            load=round(100 * others / result.system.pcpus),
            domain=controller(flow),
            packets=counts.items,
            misses=counts.misses + counts.dropped,
            response_ns=response_range(counts.response_ns),
        )


def _found_text(one: _Result) -> str:
    found = one.found
    return (
        f"{one.system.name} under {one.policy}: {format_time(found.response_ns)} of"
        f" {format_time(found.bound_ns)} ({100 * found.ratio:.1f} %)"
    )
