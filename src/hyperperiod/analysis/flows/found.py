# SPDX-License-Identifier: BSD-2-Clause
"""What the analysis of flows finds, apart from how: all that systems without flows need of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hyperperiod.analysis.domains.domain_level import DomainVerdict
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import Domain, Flow
from hyperperiod.model.frozen import FrozenFields

if TYPE_CHECKING:
    from hyperperiod.analysis.flows.windows import Inside


class HopBound(FrozenFields):
    """`bound_ns` is from the release there to the completion there."""

    domain: str
    task: str
    bound_ns: int | None


class WholeVerdict(FrozenFields):
    """The verdict of a test of whole flows (`registry`) on one flow, its servers included.

    `test` is the name of the test and `title` what sentences call it; `paper` is the published
    verdict, `sound` the proved one, with the bound of the flow in ns. If that holds, `hops_ns`
    bounds each hop from its own release. `story` says in a sentence what the bound is made of, or
    why there is none.
    """

    test: str
    title: str
    paper: bool
    sound: Verdict
    hops_ns: tuple[int, ...] | None
    story: str


class FlowVerdict(FrozenFields):
    """`bound_ns` bounds the response of every item that is not dropped, whatever the verdict.

    `whole` is what a test of whole flows says of it, where one covers the system as it is.
    """

    flow: Flow
    verdict: Verdict
    bound_ns: int | None
    hops: tuple[HopBound, ...]
    whole: WholeVerdict | None = None


class FlowAnalysis(NamedTuple):
    """The domains with hops, by name, and all flows in the order of the file.

    `proved` are domains whose tasks are in time whether or not their servers get every budget.
    `insides` are the vcpus with hops and what their bounds were found with, for explanations.
    """

    domains: Mapping[str, DomainVerdict]
    flows: tuple[FlowVerdict, ...]
    proved: frozenset[str] = frozenset()
    insides: tuple[Inside, ...] = ()


NO_FLOWS = FlowAnalysis({}, ())


def unknown_flows(flows: Sequence[Flow], domains: Sequence[Domain], reason: str) -> FlowAnalysis:
    """Returns unknown verdicts for flows that no test covers, and for all that they release.

    `domains` are all that have hops.
    """
    unknown = Verdict.unknown(reason)
    named = {
        f"{domain.name}.{task.name}": HopBound(domain.name, task.name, None)
        for domain in domains
        for task in domain.tasks
    }
    touched = {named[hop].domain for flow in flows for hop in flow.hops}
    return FlowAnalysis(
        {
            domain.name: DomainVerdict(unknown, {task.name: unknown for task in domain.tasks})
            for domain in domains
            if domain.name in touched
        },
        tuple(
            FlowVerdict(flow, unknown, None, tuple(named[hop] for hop in flow.hops))
            for flow in flows
        ),
    )
