# SPDX-License-Identifier: BSD-2-Clause
"""The host-level tests by name; which of them are about which rules, `proofs` says.

Each is a function from a group to one verdict per server. The first of a row is asked first. A
test's file is loaded when the test is first asked: a system needs few of them, and a start waits
for all that are loaded with this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from typing import NamedTuple, cast

from hyperperiod.analysis.proofs import Cover, NotProved, Proof, Rules, find_proof, proof_of
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.stolen import FOR_EVER_NS, longest_absence_ns
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.model import TABLE, Budget, Order, Policy, Scope

Judge = Callable[[Group], list[Verdict]]


class HostTest(NamedTuple):
    """A test, where it was published, and whether its "yes" counts."""

    name: str
    source: str
    judge: Judge
    sound: bool = True


def _each(module: str, test: str | None = None) -> Judge:
    """The test in a file of this folder, by default of the file's name: a verdict per server."""

    def judge(group: Group) -> list[Verdict]:
        return cast("list[Verdict]", _loaded(module, test)(group))

    return judge


def _for_all(module: str, test: str | None = None) -> Judge:
    """The test in a file of this folder that gives one verdict for all servers."""

    def judge(group: Group) -> list[Verdict]:
        return [cast("Verdict", _loaded(module, test)(group))] * len(group.servers)

    return judge


def _loaded(module: str, test: str | None) -> Callable[[Group], object]:
    home = import_module(f"hyperperiod.analysis.servers.{module}")
    return cast("Callable[[Group], object]", getattr(home, test or module))


def _cbs_on_one_pcpu(group: Group) -> list[Verdict]:
    """With overheads deadlines may be missed by what is lost beside the budgets.

    An arrival may keep a near deadline, so windows of any length matter. What is promised is the
    supply, which the loss of each budget takes into account (`overheads`).
    """
    return _for_all("edf_utilization")(replace(group, overhead=()))


def _enough(group: Group) -> list[Verdict]:
    return [Verdict.yes()] * len(group.servers)


def _windows(group: Group) -> list[Verdict]:
    """More than a pcpu is in no table; the model refuses windows that overlap."""
    found = Verdict.unknown("windows overlap") if group.overloaded else Verdict.yes()
    return [found] * len(group.servers)


ENOUGH = HostTest("a pcpu for every server", "", _enough)
WINDOWS = HostTest("windows", "", _windows)
RESPONSE_TIME = HostTest("response time", "Joseph and Pandya 1986", _each("fp_response_time"))
UTILIZATION = HostTest("edf utilization", "Liu and Layland 1973", _for_all("edf_utilization"))
CBS_UTILIZATION = HostTest("edf utilization", "Abeni and Buttazzo 1998", _cbs_on_one_pcpu)
DEFERRABLE_FP = HostTest("deferrable response time", "Davis and Burns 2005", _each("deferrable_fp"))
TWO_CLASSES = HostTest(
    "deferrable response time", "Davis and Burns 2005", _each("deferrable_fp", "two_classes")
)
DEFERRABLE_GRID = HostTest(
    "deferrable response time on one grid", "after Davis and Burns 2005", _each("deferrable_grid")
)
DEFERRABLE_EDF = HostTest("deferrable edf", "Bertogna et al. 2005", _each("deferrable_edf"))
GFB = HostTest("gfb", "Goossens, Funk and Baruah 2003", _for_all("global_edf", "gfb_of_servers"))
SPORADIC_FP = HostTest("sporadic response time", "Stanovich et al. 2010", _each("sporadic_fp"))
SPORADIC_EDF = HostTest(
    "sporadic edf utilization", "Ghazalie and Baker 1995", _for_all("sporadic_edf")
)
CBS_FP = HostTest("cbs response time", "after Abeni and Buttazzo 1998", _each("cbs_fp"))
GLOBAL_FP = HostTest("global response time", "Bertogna et al. 2005", _each("global_fp"))
ITERATIVE_BCL = HostTest(
    "iterative bcl", "Bertogna et al. 2009", _each("global_edf", "iterative_bcl_of_servers")
)
BAKER = HostTest("baker", "Baker 2003", _for_all("global_edf", "baker_of_servers"))

TESTS: dict[str, HostTest] = {
    "alone": ENOUGH,
    "fp_response_time": RESPONSE_TIME,
    "edf_utilization": UTILIZATION,
    "cbs_utilization": CBS_UTILIZATION,
    "deferrable_fp": DEFERRABLE_FP,
    "two_classes": TWO_CLASSES,
    "deferrable_grid": DEFERRABLE_GRID,
    "deferrable_edf": DEFERRABLE_EDF,
    "sporadic_fp": SPORADIC_FP,
    "sporadic_edf": SPORADIC_EDF,
    "cbs_fp": CBS_FP,
    "global_fp": GLOBAL_FP,
    "gfb": GFB,
    "iterative_bcl": ITERATIVE_BCL,
    "baker": BAKER,
}
"""By the names that the table of proofs has for them."""


def rules_of(policy: Policy, pcpus: int) -> Rules:
    """Returns the rules to look proofs up by: on one pcpu the scope makes no difference."""
    rules = Rules.of(policy)
    return rules._replace(scope=Scope.PARTITIONED) if pcpus == 1 else rules


def host_proof(policy: Policy, group: Group) -> Proof:
    """The row of the table that is about the group; NotProved if there is none."""
    needed = [Cover.OVERHEADS] * bool(group.overhead) + [Cover.QUANTUM] * group.turns
    needed += [Cover.STOLEN] * bool(group.stolen)
    if policy.name == TABLE.name and group.lost:
        raise NotProved("no proof is known for what is lost of windows")
    if group.overhead and group.moving:
        raise NotProved("no proof is known for overheads beside jobs that move between vcpus")
    if group.overhead and group.stolen:
        _require_short_absences(policy, group)
    return proof_of(rules_of(policy, group.pcpus), *needed)


def _require_short_absences(policy: Policy, group: Group) -> None:
    """NotProved where nothing is known of stolen time beside overheads (`stolen`)."""
    if policy.scope is Scope.GLOBAL:
        raise NotProved("no proof is known for stolen time beside overheads under global policies")
    shortest_ns = min(group.periods_ns, default=FOR_EVER_NS)
    if longest_absence_ns(group.stolen) >= shortest_ns:
        raise NotProved(
            "no proof is known beside overheads for a pcpu that is stolen as long as a period"
        )


def tests_for(policy: Policy, group: Group) -> list[HostTest]:
    """The sound tests that are about the policy; none where nothing is proved of it.

    Windows are there whoever else is: what those of a partition come to, it gets.
    """
    try:
        tests = [TESTS[name] for name in host_proof(policy, group).tests]
    except NotProved:
        return []
    if policy.name == TABLE.name:
        return [WINDOWS]
    # Alone on its pcpu a server waits for the hypervisor only: its budget's loss counts that.
    alone = len(group.servers) <= group.pcpus and (group.pcpus == 1 or not group.overhead)
    alone = alone and not group.stolen
    return tests if alone else [test for test in tests if test is not ENOUGH]


def tests_of_the_papers(policy: Policy, group: Group, spare: Fraction | None) -> list[HostTest]:
    """Returns the tests that are published for deferrable servers and do not hold for them."""
    proved = find_proof(rules_of(policy, group.pcpus)) is not None
    if not proved or policy.budget is not Budget.DEFERRABLE:
        return []
    if policy.order is Order.FP:
        name = "response time, as if periodic"
        return [HostTest(name, RESPONSE_TIME.source, RESPONSE_TIME.judge, sound=False)]
    if policy.order is not Order.EDF:
        return []
    from hyperperiod.analysis.servers.ertds import paper_verdict

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
