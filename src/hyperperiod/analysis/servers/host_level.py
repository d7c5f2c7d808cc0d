# SPDX-License-Identifier: BSD-2-Clause
"""What the host-level tests that fit a policy say together.

Which tests fit is said by the table of proofs (`proofs`): rules that no row of it names are
unknown, whatever the servers are.

A group holds if one sound test accepts it. Tests that are published but not sound for the
policy, or not proved, are asked as well, and never count: the ERTDS paper's theorems, and the
test of periodic servers where deferrable ones are meant.

Bandwidths above the pcpus refute the group: some server does not get its budget. Which one that
is may be open. A server that a test proves keeps its "yes"; those of fixed priority refute a
server by itself; and if all but one are proved, it is that one.

As many pcpus as servers are never too few.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from hyperperiod.analysis.proofs import NotProved
from hyperperiod.analysis.servers.host_tests import (
    HostTest,
    host_proof,
    tests_for,
    tests_of_the_papers,
)
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import NamedVerdict, Verdict, all_of
from hyperperiod.model import Order, Policy

Judged = tuple[HostTest, list[Verdict]]

NO_TEST = "none"


class HostVerdict(NamedTuple):
    """One verdict per server of the group, the test that gave them, and what every test says.

    The chosen test is the first of `tests`; those that do not count come last. `overload` says how
    far bandwidths are above the pcpus; empty if they are not. `deciders` are the tests that gave
    the verdicts, one per server; none where no test fits.
    """

    test: str
    servers: tuple[Verdict, ...]
    tests: tuple[NamedVerdict, ...] = ()
    overload: str = ""
    deciders: tuple[HostTest, ...] = ()

    @property
    def whole(self) -> Verdict:
        said = all_of(self.servers)
        return Verdict.no(self.overload) if self.overload and said.holds is None else said


def host_level(
    policy: Policy, group: Group, spare: Fraction | None = None, *, verdicts_only: bool = False
) -> HostVerdict:
    """Returns the verdicts of the tests that fit; `spare` is the bandwidth of the spare, if any.

    With `verdicts_only` no test is asked that decides nothing, and `tests` is empty.
    """
    try:
        host_proof(policy, group)
    except NotProved as reason:
        return HostVerdict(NO_TEST, (Verdict.unknown(str(reason)),) * len(group.servers))
    sound = tests_for(policy, group)
    if verdicts_only:
        name, servers, deciders = _choose(policy, group, _up_to_a_yes(sound, group))
        return HostVerdict(name, tuple(servers), (), _overload(group), tuple(deciders))
    judged = [(test, test.judge(group)) for test in sound]
    name, servers, deciders = _choose(policy, group, judged)
    judged += [(test, test.judge(group)) for test in tests_of_the_papers(policy, group, spare)]
    judged.sort(key=lambda pair: (not pair[0].sound, pair[0].name != name))
    tests = (NamedVerdict(t.name, t.source, t.sound, all_of(said)) for t, said in judged)
    return HostVerdict(name, tuple(servers), tuple(tests), _overload(group), tuple(deciders))


def _up_to_a_yes(tests: Sequence[HostTest], group: Group) -> list[Judged]:
    """Returns the tests' verdicts up to the first that accepts all, which is then chosen."""
    judged: list[Judged] = []
    for test in tests:
        judged.append((test, test.judge(group)))
        if all(verdict.holds for verdict in judged[-1][1]):
            break
    return judged


def _choose(
    policy: Policy, group: Group, judged: Sequence[Judged]
) -> tuple[str, Sequence[Verdict], Sequence[HostTest]]:
    """The first test that accepts all, else for each server what the tests together know."""
    for test, verdicts in judged:
        if all(verdict.holds for verdict in verdicts):
            return test.name, verdicts, [test] * len(verdicts)
    name = ", ".join(test.name for test, _ in judged) or NO_TEST
    verdicts, deciders = _together(policy, group, judged)
    if group.overloaded:
        verdicts = _of_overloaded(policy, group, verdicts)
    return name, verdicts, deciders


def _overload(group: Group) -> str:
    if not group.overloaded:
        return ""
    return f"bandwidths sum to {float(group.bandwidth):.6g}, above {group.pcpus}"


def _of_overloaded(policy: Policy, group: Group, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Some server does not get its budget; who it is may be open."""
    refuted = any(verdict.holds is False for verdict in verdicts)
    if refuted and policy.order is not Order.EDF:
        return list(verdicts)
    overload = _overload(group)
    short = Verdict.unknown(f"{overload}: which server goes short is open")
    if sum(not verdict.holds for verdict in verdicts) == 1:
        short = Verdict.no(overload)
    return [verdict if verdict.holds else short for verdict in verdicts]


def _together(
    policy: Policy, group: Group, judged: Sequence[Judged]
) -> tuple[list[Verdict], list[HostTest]]:
    """A sound yes or no of any test counts; else the reason of the first."""
    if not judged:
        none = Verdict.unknown(f"no test covers {policy.rules}")
        return [none] * len(group.servers), []
    chosen = [
        next((one for one in judged if one[1][at].holds is not None), judged[0])
        for at in range(len(group.servers))
    ]
    return [said[at] for at, (_, said) in enumerate(chosen)], [test for test, _ in chosen]
