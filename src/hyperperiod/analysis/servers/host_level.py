# SPDX-License-Identifier: BSD-2-Clause
"""Which host-level tests fit a policy, and what they say.

| budget | order | one pcpu | several pcpus together |
| --- | --- | --- | --- |
| periodic, polling | fp | `fp_response_time` | `global_fp` |
| periodic, polling | edf | `edf_utilization` | `global_edf`, `deferrable_edf` |
| deferrable | fp | `deferrable_fp`, `deferrable_grid` | `global_fp` |
| deferrable | edf | `deferrable_edf` | `deferrable_edf` |
| sporadic | fp | `sporadic_fp` | |
| sporadic | edf | `sporadic_edf` | |
| cbs | fp | `cbs_fp` | |
| cbs | edf | `edf_utilization` | `global_edf`: only GFB |
| slice-once | fp, edf | `fp_response_time`, `edf_utilization` | |
| slice | fp, edf | `deferrable_fp`, `deferrable_edf` | |
| slice | fp-edf | `two_classes` in `deferrable_fp` | |

A group holds if one sound test accepts it. Tests that are published but not sound for the
policy, or not proved, are asked as well, and never count: the ERTDS paper's theorems, and the
test of periodic servers where deferrable ones are meant.

Slack rules change none of this. Under lend and reclaim the payer is a server that would have
been charged anyway; spare and extra time are background, below every server with budget. As
many pcpus as servers are never too few. A deferrable or periodic server under a global
`deferrable_edf` test is promised its budget for the same reason; polling is never global.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hyperperiod.analysis.servers.host_tests import HostTest, tests_for, tests_of_the_papers
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.verdict import NamedVerdict, Verdict, all_of
from hyperperiod.model import Policy

Judged = tuple[HostTest, list[Verdict]]

NO_TEST = "none"


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
    asked = [*tests_for(policy, group), *tests_of_the_papers(policy, group, spare)]
    judged = [(test, test.judge(group)) for test in asked]
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
