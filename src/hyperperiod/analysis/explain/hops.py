# SPDX-License-Identifier: BSD-2-Clause
"""Tasks of a driver loop: their verdict is that of the loop, and so is the reason.

No window by itself shows it. The story says which flows come there, what a job takes at the most,
and what the bound of each flow is made of. Inputs: the analysis of the flows. Results: a verdict,
the name of the test, and sentences. Errors: none.
"""

from __future__ import annotations

from typing import NamedTuple

from hyperperiod.analysis.driver_loop.driver_flows import DriverFlow
from hyperperiod.analysis.flows.found import FlowAnalysis
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Task, format_time


class Hop(NamedTuple):
    """What is known of a task in a driver loop."""

    verdict: Verdict
    test: str
    story: list[str]


def hop(flows: FlowAnalysis, domain: str, task: Task, outside: Verdict) -> Hop | None:
    """What the loop says of a task; None outside loops. `outside`: whether its server serves."""
    visiting = [
        one
        for one in flows.flows
        if any((place.domain, place.task) == (domain, task.name) for place in one.hops)
    ]
    drivers = [one.driver for one in visiting if one.driver is not None]
    if not drivers:
        return None
    verdict = flows.domains[domain].parts[task.name]
    if verdict.holds and not outside.holds and domain not in flows.proved:
        verdict = Verdict.unknown(outside.reason)
    what = "flow" if len(drivers) == 1 else "flows"
    story = [f"Its jobs are items of the {what} {', '.join(one.flow for one in drivers)}."]
    story += _bound(verdict, task)
    sentences = [
        _made_of(one, due.flow.deadline_ns) for one, due in zip(drivers, visiting, strict=True)
    ]
    return Hop(
        verdict, f"the driver loop of {drivers[0].test}", [*story, *dict.fromkeys(sentences)]
    )


def _bound(verdict: Verdict, task: Task) -> list[str]:
    if not verdict.holds or verdict.bound_ns is None:
        return []
    bound, due = format_time(verdict.bound_ns), format_time(task.deadline_ns or 0)
    return [f"From its release here a job takes {bound} at the most, and {due} are allowed."]


def _made_of(driver: DriverFlow, deadline_ns: int) -> str:
    """What the bound of a flow is made of."""
    parts = driver.parts
    if parts is None:
        return f"The loop is not proved: {driver.sound.reason}."
    sides = (parts.in_ns, parts.answer_ns, parts.out_ns, parts.sum_ns)
    way_in, answer, way_out, total = map(format_time, sides)
    less = ""
    if parts.total_ns < parts.sum_ns:
        less = f", and {format_time(parts.total_ns)} in one piece"
    return (
        f"Flow {driver.flow}: in {way_in} + answer {answer} + out {way_out} = {total}{less}, within"
        f" {format_time(deadline_ns)}."
    )
