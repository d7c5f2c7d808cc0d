# SPDX-License-Identifier: BSD-2-Clause
"""Rules about pcpus: how many a policy may have, which domain is on which, how much fits on one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hyperperiod.model.domain import Domain, nested_domains
from hyperperiod.model.exclusions import Narrower, excluded
from hyperperiod.model.limits import TASK_LIMIT, VCPU_LIMIT
from hyperperiod.model.policy import ONE_PCPU_ONLY, Policy, Scope
from hyperperiod.model.values import Finding, Path, up_to


def policy_fits(path: Path, policy: Policy, pcpus: int) -> Iterator[Finding]:
    """A finding on the policy at `path` where it is for one pcpu and there are several."""
    if policy.name == ONE_PCPU_ONLY and pcpus != 1:
        yield Finding(path, f"hsf-fp on {pcpus} pcpus", "pcpus = 1, or partitioned-hsf-fp")


def pins(domains: tuple[Domain, ...], policy: Policy, pcpus: int) -> Iterator[Finding]:
    """Findings on pins that mean nothing; those that are missing are left to `missing_pins`."""
    moving = policy.scope is Scope.GLOBAL and pcpus > 1
    for index, member in enumerate(domains):
        here = ("domain", index)
        if member.pcpu is not None and member.pcpu >= pcpus:
            yield Finding((*here, "pcpu"), str(member.pcpu), up_to(pcpus, "pcpus"))
        elif moving:
            yield from excluded(Narrower.MOVING_DOMAIN, member, here, policy=policy)


def missing_pins(domains: tuple[Domain, ...], policy: Policy, pcpus: int) -> Iterator[Finding]:
    """Findings on the domains that a partitioned policy still has to be told a pcpu for."""
    if policy.scope is not Scope.PARTITIONED:
        return
    for index, member in enumerate(domains):
        if member.pcpu is None:
            yield Finding(
                ("domain", index, "pcpu"),
                "nothing",
                f"{up_to(pcpus, 'pcpus')}: policy {policy} pins every domain"
                " (hyperperiod fit chooses pcpus)",
            )


def capacity(domains: tuple[Domain, ...], policy: Policy) -> Iterator[Finding]:
    """Findings on more vcpus than a lock domain has room for, and on more tasks than a system.

    A lock domain is a pcpu under a partitioned policy, all pcpus under a global one.
    """
    vcpus_on: Counter[int | None] = Counter()
    for member in domains:
        if policy.scope is Scope.GLOBAL:
            vcpus_on[None] += member.vcpus
        elif member.pcpu is not None:
            vcpus_on[member.pcpu] += member.vcpus
    for pcpu, vcpus in vcpus_on.items():
        if vcpus > VCPU_LIMIT:
            where = "" if pcpu is None else f" on pcpu {pcpu}"
            yield Finding(("domain",), f"{vcpus} vcpus{where}", f"at most {VCPU_LIMIT}")
    tasks = sum(len(member.tasks) for _, member in nested_domains(domains))
    if tasks > TASK_LIMIT:
        yield Finding(("domain",), f"{tasks} tasks", f"at most {TASK_LIMIT}")
