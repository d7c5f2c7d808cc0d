# SPDX-License-Identifier: BSD-2-Clause
"""What no choice can do better, and what no choice can do at all.

Every task needs its utilization of some pcpu, and every domain at least the bandwidth of its best
interface, whatever the others do: the sums of both are lower bounds of the bandwidth, and must
have room. Bandwidths that sum to more than there is are refused by every test. A domain has all
its vcpus on one pcpu under a partitioned policy. Errors: none.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from hyperperiod.analysis.fit.cost import own_cost, prices_of
from hyperperiod.analysis.fit.pcpu_test import PcpuTest
from hyperperiod.analysis.fit.problem import FitItem, FitProblem
from hyperperiod.analysis.servers.host_tests import tests_for
from hyperperiod.analysis.servers.server import Group, Server


def bandwidth_bounds(problem: FitProblem) -> dict[str, Fraction]:
    """Lower bounds of the whole bandwidth, in pcpus."""
    return {
        "utilization": sum((item.utilization for item in problem.items), Fraction(0)),
        "relaxation": sum((item.least for item in problem.items), Fraction(0)),
    }


def min_cost(problem: FitProblem) -> Fraction:
    """No choice has cheaper events: every server's own depletions and switches, at their least."""
    prices = prices_of(problem.system.overheads)
    return sum(
        (min(own_cost(item, one, prices) for one in item.candidates) for item in problem.items),
        Fraction(0),
    )


def fewest_bins(problem: FitProblem) -> int:
    """A lower bound of the pcpus that the problem needs: no fewer will do."""
    return ceil(bandwidth_bounds(problem)["relaxation"])


def overfull(problem: FitProblem) -> str:
    """Why the problem's domains have no room on its pcpus, in words; empty if that is not shown."""
    there_is = len(problem.bins) * problem.room
    found = bandwidth_bounds(problem)
    if found["utilization"] > there_is:
        return f"the tasks ask for {_pcpus(found['utilization'])}, and there {_are(there_is)}"
    for item in problem.items:
        if item.least > problem.room:
            return f"domain {item.name} needs {_pcpus(item.least)} and can use {problem.room}"
    if found["relaxation"] > there_is:
        return (
            "the least interfaces of all domains on the grid sum to"
            f" {_pcpus(found['relaxation'])}, and there {_are(there_is)}"
        )
    for pcpu in problem.bins:
        pinned = [item for item in problem.items if item.pin == pcpu]
        needed = sum((item.least for item in pinned), Fraction(0))
        if needed > 1:
            return f"pcpu {pcpu}: the domains pinned to it, {_names(pinned)}, need {_pcpus(needed)}"
    return ""


def untested(problem: FitProblem) -> str:
    """Why no choice can be proved, where some servers must share and no test covers that."""
    slots = len(problem.bins) * problem.room
    if sum(item.vcpus for item in problem.items) <= slots:
        return ""
    sharing = tuple(Server(n, f"s{n}", 2, 1, n) for n in range(problem.room + 1))
    policy = problem.system.policy
    if tests_for(policy, Group(sharing, problem.room)):
        return ""
    return f"no test covers servers that share pcpus under {policy.rules}"


def _pcpus(amount: Fraction) -> str:
    return f"{float(amount):.6g} pcpus" if amount != 1 else "1 pcpu"


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def _names(items: list[FitItem]) -> str:
    return ", ".join(item.name for item in items[:6]) + (", ..." if len(items) > 6 else "")


def hardest_pair(problem: FitProblem, test: PcpuTest) -> str:
    """If not even the two lightest domains may share a pcpu: why."""
    lightest = sorted(range(len(problem.items)), key=lambda i: (min(problem.weights[i]), i))[:2]
    if len(lightest) < 2:
        return ""
    pair = [(i, problem.weights[i].index(min(problem.weights[i]))) for i in lightest]
    judged = test.judge(pair, problem.bins[0])
    return "" if judged.holds else judged.reason
