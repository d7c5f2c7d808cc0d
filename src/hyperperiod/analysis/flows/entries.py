# SPDX-License-Identifier: BSD-2-Clause
"""Flows as `analyze --json` has them.

Inputs: the analysis of the flows, and what must hold outside. Results: entries. Errors: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hyperperiod.analysis.flows.found import FlowAnalysis, FlowVerdict
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.model import Flow

NS_PER_S = 1_000_000_000


def flow_entries(analysis: FlowAnalysis, outside: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """The flows as `analyze --json` has them.

    `outside`, by name of a domain: whether its servers get their budgets, and whatever else must
    hold there. What is not true for every hop leaves a flow unknown, and its bounds unsaid, unless
    a test of whole flows says more; the paper's own verdict stands beside that one.
    """
    return [_entry(one, all_of(outside[hop.domain] for hop in one.hops)) for one in analysis.flows]


def _entry(one: FlowVerdict, outside: Verdict) -> dict[str, Any]:
    verdict = one.verdict if outside.holds else Verdict.unknown(outside.reason)
    bound_ns = one.bound_ns if outside.holds else None
    paper = {}
    if one.whole is not None:
        paper = {"paper": {"test": one.whole.test, "schedulable": one.whole.paper}}
        sharper = one.whole.sound
        if sharper.holds and sharper.bound_ns is not None:
            verdict = sharper
            bound_ns = min(bound_ns or sharper.bound_ns, sharper.bound_ns)
        elif not verdict.holds:
            verdict = Verdict.unknown(sharper.reason)
    return {
        "name": one.flow.name,
        "deadline_ns": one.flow.deadline_ns,
        "response_bound_ns": bound_ns,
        "schedulable": verdict.holds,
        **({} if verdict.holds else {"reason": verdict.reason}),
        **paper,
        **_throughput(one.flow, bound_ns),
        "hops": [
            {
                "domain": hop.domain,
                "task": hop.task,
                "response_bound_ns": hop.bound_ns if outside.holds else None,
            }
            for hop in one.hops
        ],
    }


def _throughput(flow: Flow, bound_ns: int | None) -> dict[str, Any]:
    """What clients surely get: each one is back to thinking after at most `bound_ns`.

    So by any instant t each has had floor((t - offset) / cycle) items back, a cycle being that and
    the longest time for which it thinks: the interactive response time law, for the worst case.
    """
    if flow.source.clients is None:
        return {}
    cycle_ns = None if bound_ns is None else bound_ns + flow.source.think_range_ns[1]
    per_second = None if cycle_ns is None else flow.source.clients * NS_PER_S / cycle_ns
    return {"throughput_bound_hz": per_second}
