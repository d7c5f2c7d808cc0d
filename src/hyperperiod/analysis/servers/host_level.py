# SPDX-License-Identifier: BSD-2-Clause
"""Which host-level tests fit a policy, and what they say.

| budget | order | one pcpu | several pcpus together |
| --- | --- | --- | --- |
| periodic, polling | fp | `fp_response_time` | |
| periodic, polling | edf | `edf_utilization` | `global_edf`, `deferrable_edf` |
| deferrable | fp | `deferrable_fp` | |
| deferrable | edf | `deferrable_edf` | `deferrable_edf` |
| cbs | edf | `edf_utilization` | `global_edf`: only GFB |

A group holds if one sound test accepts it. Tests that are published but not sound for the
policy, or not proved, are asked as well, and never count: the ERTDS paper's theorems, and the
test of periodic servers where deferrable ones are meant.

Slack rules change none of this. Under lend and reclaim the payer is a server that would have
been charged anyway; spare and extra time are background, below every server with budget. As
many pcpus as servers are never too few. A deferrable or periodic server under a global
`deferrable_edf` test is promised its budget for the same reason; polling is never global.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from hyperperiod.analysis.servers.deferrable_edf import deferrable_edf
from hyperperiod.analysis.servers.deferrable_fp import deferrable_fp
from hyperperiod.analysis.servers.edf_utilization import edf_utilization
from hyperperiod.analysis.servers.ertds import paper_verdict
from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.global_edf import (
    baker_of_servers,
    gfb_of_servers,
    iterative_bcl_of_servers,
)
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import NamedVerdict, Verdict, all_of
from hyperperiod.model import Budget, Order, Policy

Judge = Callable[[Group], list[Verdict]]
Judged = tuple["HostTest", list[Verdict]]

NO_TEST = "none"


class HostTest(NamedTuple):
    """A test, where it was published, and whether its "yes" counts."""

    name: str
    source: str
    judge: Judge
    sound: bool = True


@dataclass(frozen=True)
class HostVerdict:
    """One verdict per server of the group, the test that gave them, and what every test says.

    The chosen test is the first of `tests`; those that do not count come last.
    """

    test: str
    servers: tuple[Verdict, ...]
    tests: tuple[NamedVerdict, ...] = ()

    @property
    def whole(self) -> Verdict:
        return all_of(self.servers)


def host_level(policy: Policy, group: Group, spare: Fraction | None = None) -> HostVerdict:
    """What the tests that fit say; `spare` is the bandwidth of the spare where there is one."""
    judged = [(test, test.judge(group)) for test in _tests_for(policy, group, spare)]
    name, servers = _choose(policy, group, [(t, said) for t, said in judged if t.sound])
    judged.sort(key=lambda pair: (not pair[0].sound, pair[0].name != name))
    tests = (NamedVerdict(t.name, t.source, t.sound, all_of(said)) for t, said in judged)
    return HostVerdict(name, tuple(servers), tuple(tests))


def _choose(
    policy: Policy, group: Group, judged: Sequence[Judged]
) -> tuple[str, Sequence[Verdict]]:
    """The first test that accepts all, else for each server what the tests together know."""
    for test, verdicts in judged:
        if all(verdict.holds for verdict in verdicts):
            return test.name, verdicts
    name = ", ".join(test.name for test, _ in judged) or NO_TEST
    verdicts = _together(policy, group, judged)
    if group.overloaded and not any(verdict.holds is False for verdict in verdicts):
        # Some server does not get its budget whatever the tests at hand can show.
        reason = f"bandwidths sum to {float(group.bandwidth):.6g}, above {group.pcpus}"
        verdicts = [Verdict.no(reason)] * len(group.servers)
    return name, verdicts


def _together(policy: Policy, group: Group, judged: Sequence[Judged]) -> list[Verdict]:
    """A sound yes or no of any test counts; else the reason of the first."""
    if not judged:
        return [Verdict.unknown(f"no test covers {policy.rules}")] * len(group.servers)
    return [
        next((said for said in verdicts if said.holds is not None), verdicts[0])
        for verdicts in zip(*(verdicts for _, verdicts in judged), strict=True)
    ]


def _tests_for(policy: Policy, group: Group, spare: Fraction | None) -> list[HostTest]:
    """All tests that say something about the policy, in order of preference."""
    tests = _one_pcpu(policy) if group.pcpus == 1 else _several_pcpus(policy)
    if len(group.servers) <= group.pcpus and not group.overhead:
        tests = [ENOUGH, *tests]
    if policy.budget is Budget.DEFERRABLE:
        tests = [*tests, *_of_the_papers(policy, group, spare)]
    return tests


def _one_pcpu(policy: Policy) -> list[HostTest]:
    fixed = policy.order is Order.FP
    if policy.budget is Budget.DEFERRABLE:
        return [DEFERRABLE_FP if fixed else DEFERRABLE_EDF]
    if policy.budget is Budget.CBS:
        return [] if fixed else [CBS_UTILIZATION]
    if policy.budget is Budget.SPORADIC:
        return []
    return [RESPONSE_TIME if fixed else UTILIZATION]


def _several_pcpus(policy: Policy) -> list[HostTest]:
    if policy.order is Order.FP:
        return []
    if policy.budget is Budget.DEFERRABLE:
        return [DEFERRABLE_EDF]
    if policy.budget is Budget.CBS:
        return [GFB]
    return [GFB, ITERATIVE_BCL, BAKER, DEFERRABLE_EDF]


def _of_the_papers(policy: Policy, group: Group, spare: Fraction | None) -> list[HostTest]:
    """What is published for deferrable servers and does not hold for them."""
    if policy.order is Order.FP:
        name = "response time, as if periodic"
        return [HostTest(name, RESPONSE_TIME.source, fp_response_time, sound=False)]
    paper = paper_verdict(group, spare)
    source, theorem = paper.theorem.split(", ")
    verdict = Verdict.yes()
    if not paper.schedulable:
        verdict = Verdict.no(
            f"bandwidths sum to {float(paper.total):.6g}, above {float(paper.bound):.6g}"
        )
    return [
        HostTest(theorem.lower(), source, lambda whole: [verdict] * len(whole.servers), sound=False)
    ]


def _for_all(test: Callable[[Group], Verdict]) -> Judge:
    return lambda group: [test(group)] * len(group.servers)


def _cbs_on_one_pcpu(group: Group) -> list[Verdict]:
    """Deadlines begin with arrivals, so windows of any length matter: overheads do not fit."""
    if group.overhead and not group.overloaded:
        reason = "no test covers constant bandwidth servers with overheads"
        return [Verdict.unknown(reason)] * len(group.servers)
    return _for_all(edf_utilization)(group)


ENOUGH = HostTest("a pcpu for every server", "", _for_all(lambda _: Verdict.yes()))
RESPONSE_TIME = HostTest("response time", "Joseph and Pandya 1986", fp_response_time)
UTILIZATION = HostTest("edf utilization", "Liu and Layland 1973", _for_all(edf_utilization))
CBS_UTILIZATION = HostTest("edf utilization", "Abeni and Buttazzo 1998", _cbs_on_one_pcpu)
DEFERRABLE_FP = HostTest("deferrable response time", "Davis and Burns 2005", deferrable_fp)
DEFERRABLE_EDF = HostTest("deferrable edf", "Bertogna et al. 2005", deferrable_edf)
GFB = HostTest("gfb", "Goossens, Funk and Baruah 2003", _for_all(gfb_of_servers))
ITERATIVE_BCL = HostTest("iterative bcl", "Bertogna et al. 2009", iterative_bcl_of_servers)
BAKER = HostTest("baker", "Baker 2003", _for_all(baker_of_servers))
