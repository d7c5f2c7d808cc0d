# SPDX-License-Identifier: BSD-2-Clause
"""The inequalities of a fitted loop, flow by flow: what `fit` prints of them.

Each has two sides. Ours: in, answer and out sum to at most the deadline. The paper's: 4 p_N + p_i
or 2 p_N + p_i, or r_i under PSEDF, where s_N + p_N <= d_min stands beside it. Inputs: a loop and
the complete system, or None. Result: one entry per flow. Errors: none.
"""

from __future__ import annotations

from hyperperiod.analysis.driver_loop import psedf
from hyperperiod.analysis.driver_loop.driver_domain import (
    BoundParts,
    Configuration,
    PlacedPlant,
    Slice,
    parts_of,
)
from hyperperiod.analysis.driver_loop.driver_flows import Loop, placed_of
from hyperperiod.analysis.driver_loop.rules import rule_for
from hyperperiod.analysis.fit.fit_result import FitFlow, FitInequality
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import System


def flow_results(loop: Loop, system: System | None) -> tuple[FitFlow, ...]:
    """One for each flow; without a system, only what was asked."""
    placed = placed_of(system) if system is not None else None
    rule = rule_for(system.policy) if system is not None else None
    if placed is None or rule is None:
        return tuple(_asked(loop, number) for number in range(len(loop.replies)))
    found = parts_of(placed, rule)
    papers = _papers(placed, rule.hops)
    return tuple(
        _judged(
            _asked(loop, number),
            None if isinstance(found, Verdict) else found[number],
            papers[number],
        )
        for number in range(len(loop.replies))
    )


def _asked(loop: Loop, number: int) -> FitFlow:
    service = loop.plant.services[number]
    return FitFlow(
        name=service.name, domain=loop.replies[number].name, deadline_ns=service.deadline_ns
    )


def _judged(asked: FitFlow, parts: BoundParts | None, paper: tuple[FitInequality, ...]) -> FitFlow:
    """The flow with its bound, null if there is none, and the paper's inequalities."""
    holds = parts is not None and parts.total_ns <= asked.deadline_ns
    return asked.replace(
        in_ns=parts and parts.in_ns,
        answer_ns=parts and parts.answer_ns,
        out_ns=parts and parts.out_ns,
        bound_ns=parts and parts.total_ns,
        holds=holds or None,
        paper=paper,
    )


def _papers(placed: PlacedPlant, hops: int | None) -> list[tuple[FitInequality, ...]]:
    """The paper's inequalities for each service."""
    driver, plant = placed.driver, placed.plant
    if hops is not None:
        return [
            (
                _inequality(
                    f"{hops} p_N + p_i <= d_i",
                    hops * driver.period_ns + server.period_ns,
                    service.deadline_ns,
                ),
            )
            for service, (server, _) in zip(plant.services, placed.services, strict=True)
        ]
    configuration = Configuration(
        Slice(driver.period_ns, driver.budget_ns),
        tuple(Slice(server.period_ns, server.budget_ns) for server, _ in placed.services),
    )
    way = _inequality("s_N + p_N <= d_min", driver.budget_ns + driver.period_ns, plant.shortest_ns)
    return [
        (way, _inequality("r_i <= d_i", response_ns, service.deadline_ns))
        for service, response_ns in zip(
            plant.services, psedf.paper_response(plant, configuration), strict=True
        )
    ]


def _inequality(text: str, left_ns: int | None, right_ns: int) -> FitInequality:
    """Null on the left: there is none up to the right side."""
    holds = left_ns is not None and left_ns <= right_ns
    return FitInequality(inequality=text, left_ns=left_ns, right_ns=right_ns, holds=holds)
