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

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from hyperperiod.analysis.driver_loop.driver_domain import Configuration, Slice
from hyperperiod.analysis.driver_loop.driver_flows import placed_of
from hyperperiod.analysis.driver_loop.psedf import paper_response
from hyperperiod.model import System, load_system, parse_policy, with_policy
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import Positive
from hyperperiod.papers.experiment import Experiment, FigureOptions, Host, Measuring
from hyperperiod.papers.expressions import Scope
from hyperperiod.papers.packets import controller, response_range
from hyperperiod.papers.phases import LatestAnswer, latest_answer
from hyperperiod.papers.result import PacketRow, WorstPacketRow
from hyperperiod.report.frame import Scale
from hyperperiod.report.lines import LineChart, LineSeries
from hyperperiod.resources import SOURCES
from hyperperiod.runs import simulate


class SearchStage(Part):
    """A system, under one of the paper's policies; `plays` are tried at most, if fewer."""

    system: str
    policy: Literal["sedf", "sedf-prime", "psedf"]
    plays: Positive | None = None


class StageResult(NamedTuple):
    """A stage that was searched: its row, its system, and what was found."""

    row: WorstPacketRow
    system: System
    found: LatestAnswer


class WorstPackets(Experiment):
    """The stages, and how many plays are tried on each."""

    stages: Annotated[tuple[SearchStage, ...], AtLeast(1)] = key(name="stage")

    def _plays(self, stage: SearchStage) -> int:
        return min(self.plays, stage.plays or self.plays)

    def _steps(self, host: Host) -> int:  # noqa: ARG002
        return sum(self._plays(stage) for stage in self.stages)

    def measured(self, run: Measuring) -> Iterator[Any]:
        for stage in self.stages:
            done = run.done

            def progress(tried: int, done: int = done) -> None:
                run.reach(done + tried)

            base = load_system(str(SOURCES / stage.system))
            system = with_policy(base, parse_policy(stage.policy))
            found = latest_answer(system, self._plays(stage), run.seed, progress)
            row = WorstPacketRow(
                policy=stage.policy,
                system=system.name,
                flow=found.flow,
                found_ns=found.response_ns,
                bound_ns=found.bound_ns,
                ratio=found.ratio,
                paper_ns=paper_bound(stage.policy, system, found.flow),
                plays=found.tried,
            )
            yield StageResult(row, system, found)
            if found.interrupted:
                raise KeyboardInterrupt

    def standing(self, rows: Sequence[Any]) -> list[PacketRow]:
        return [row for result in rows for row in _wheels(result)]

    def listed(self, rows: Sequence[Any]) -> list[WorstPacketRow]:
        return [result.row for result in rows]

    shown = listed

    def names(self, rows: Sequence[Any], options: FigureOptions) -> Scope:  # noqa: ARG002
        return {"rows": self.listed(rows)}

    def drawn(self, rows: Sequence[Any], scope: Scope) -> LineChart:  # noqa: ARG002
        curves = [
            LineSeries(
                f"{one.row.system}, {one.row.policy}",
                [(float(tried), ratio) for tried, ratio in one.found.steps],
                steps=True,
            )
            for one in rows
        ]
        return LineChart(
            self.title,
            Scale("plays tried"),
            Scale("latest answer / bound"),
            curves,
            subtitle=self.source,
            x_max=float(max((one.found.tried for one in rows), default=1)),
        )


def paper_bound(policy: str, system: System, flow: str) -> int:
    """What the paper has for the latest answer of a flow (ns)."""
    placed = placed_of(system)
    assert placed is not None, f"{system.name} is a driver loop"
    driver = Slice(placed.driver.period_ns, placed.driver.budget_ns)
    slices = tuple(Slice(server.period_ns, server.budget_ns) for server, _ in placed.services)
    number = [one.name for one in system.flows].index(flow)
    if policy == "psedf":
        response_ns = paper_response(placed.plant, Configuration(driver, slices))[number]
        return max(driver.slice_ns + driver.period_ns, response_ns or 0)
    periods = {"sedf": 4, "sedf-prime": 2}[policy]
    return periods * driver.period_ns + slices[number].period_ns


def _wheels(result: StageResult) -> Iterator[PacketRow]:
    """The control domains in the play that was latest."""
    system, found = result.system, result.found
    own = {controller(flow) for flow in system.flows}
    drivers = {flow.hops[0].partition(".")[0] for flow in system.flows}
    others = sum(
        float(domain.interface.bandwidth)
        for domain in system.domains
        if domain.name not in own | drivers and domain.interface is not None
    )
    flows = simulate(found.system, found.horizon_ns).flows
    for flow, counts in zip(system.flows, flows, strict=True):
        yield PacketRow(
            policy=result.row.policy,
            host="sim",
            load=round(100 * others / system.pcpus),
            domain=controller(flow),
            packets=counts.items,
            misses=counts.misses + counts.dropped,
            response_ns=response_range(counts.response_ns),
        )
