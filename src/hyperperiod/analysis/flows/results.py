# SPDX-License-Identifier: BSD-2-Clause
"""Flows as the result of an analysis has them.

Inputs: the analysis of the flows, and what must hold outside. Results: one each. Errors: none.
"""

from __future__ import annotations

from collections.abc import Mapping

from hyperperiod.analysis.flows.found import FlowAnalysis, FlowVerdict
from hyperperiod.analysis.result import FlowPaperResult, FlowResult, HopResult
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.model import Flow
from hyperperiod.model.absent import ABSENT, Absent

NS_PER_S = 1_000_000_000


def flow_results(analysis: FlowAnalysis, outside: Mapping[str, Verdict]) -> tuple[FlowResult, ...]:
    """The flows as the result of an analysis has them.

    `outside`, by name of a domain: whether its servers get their budgets, and whatever else must
    hold there. What is not true for every hop leaves a flow unknown, and its bounds unsaid, unless
    a test of whole flows says more; the paper's own verdict stands beside that one.
    """
    return tuple(
        _flow_result(one, all_of(outside[hop.domain] for hop in one.hops)) for one in analysis.flows
    )


def _flow_result(one: FlowVerdict, outside: Verdict) -> FlowResult:
    verdict = one.verdict if outside.holds else Verdict.unknown(outside.reason)
    bound_ns = one.bound_ns if outside.holds else None
    paper = None
    if one.whole is not None:
        paper = FlowPaperResult(test=one.whole.test, schedulable=one.whole.paper)
        sharper = one.whole.sound
        if sharper.holds and sharper.bound_ns is not None:
            verdict = sharper
            bound_ns = min(bound_ns or sharper.bound_ns, sharper.bound_ns)
        elif not verdict.holds:
            verdict = Verdict.unknown(sharper.reason)
    return FlowResult(
        name=one.flow.name,
        deadline_ns=one.flow.deadline_ns,
        response_bound_ns=bound_ns,
        schedulable=verdict.holds,
        reason=verdict.reason,
        paper=paper,
        throughput_bound_hz=_throughput_hz(one.flow, bound_ns),
        hops=tuple(
            HopResult(
                domain=hop.domain,
                task=hop.task,
                response_bound_ns=hop.bound_ns if outside.holds else None,
            )
            for hop in one.hops
        ),
    )


def _throughput_hz(flow: Flow, bound_ns: int | None) -> float | Absent | None:
    """Returns the requests per second that clients surely get, if each is answered in `bound_ns`.

    So by any instant t each has had floor((t - offset) / cycle) items back, a cycle being that and
    the longest time for which it thinks: the interactive response time law, for the worst case.
    """
    if flow.source.clients is None:
        return ABSENT
    cycle_ns = None if bound_ns is None else bound_ns + flow.source.think_range_ns[1]
    return None if cycle_ns is None else flow.source.clients * NS_PER_S / cycle_ns
