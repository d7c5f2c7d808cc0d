# SPDX-License-Identifier: BSD-2-Clause
"""Tasks in flows that are judged as wholes: their verdict is that of the test, with its reason.

No window by itself shows it. The story says which flows come there, what a job takes at the most,
and what the bound of each flow is made of. Inputs: the analysis of the flows. Results: a verdict,
the name of the test, and sentences. Errors: none.
"""

from __future__ import annotations

from typing import NamedTuple

from hyperperiod.analysis.flows.found import FlowAnalysis
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Task, format_time


class HopVerdict(NamedTuple):
    """The verdict, test and sentences of a test of whole flows on a task that is a hop of one."""

    verdict: Verdict
    test: str
    story: list[str]


def hop(flows: FlowAnalysis, domain: str, task: Task, outside: Verdict) -> HopVerdict | None:
    """Returns such a verdict on a task; None outside flows. `outside`: if its server serves."""
    visiting = [
        one
        for one in flows.flows
        if any((place.domain, place.task) == (domain, task.name) for place in one.hops)
    ]
    wholes = [one.whole for one in visiting if one.whole is not None]
    if not wholes:
        return None
    verdict = flows.domains[domain].parts[task.name]
    if verdict.holds and not outside.holds and domain not in flows.proved:
        verdict = Verdict.unknown(outside.reason)
    what = "flow" if len(wholes) == 1 else "flows"
    story = [f"Its jobs are items of the {what} {', '.join(one.flow.name for one in visiting)}."]
    story += _bound(verdict, task)
    return HopVerdict(
        verdict, wholes[0].title, [*story, *dict.fromkeys(one.story for one in wholes)]
    )


def _bound(verdict: Verdict, task: Task) -> list[str]:
    if not verdict.holds or verdict.bound_ns is None:
        return []
    bound, due = format_time(verdict.bound_ns), format_time(task.deadline_ns or 0)
    return [f"From its release here a job takes {bound} at the most, and {due} are allowed."]
