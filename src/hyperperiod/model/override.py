# SPDX-License-Identifier: BSD-2-Clause
"""The same system under another policy, as `--policy` and `compare` ask for.

Everything that depends on the policy is checked anew. A global policy moves vcpus between
pcpus, so pins and moves are dropped for it; a partitioned one needs pins, so a system without any
can only be run under it when there is one pcpu, or after `fit` chose them.
"""

from __future__ import annotations

from hyperperiod.model.domain import Domain
from hyperperiod.model.errors import InputError, Problem
from hyperperiod.model.load import require_system
from hyperperiod.model.part import read_part, show_path
from hyperperiod.model.policy import POLICIES, Policy, Scope, parse_policy
from hyperperiod.model.system import System
from hyperperiod.model.values import Reading


def with_policy(system: System, policy: Policy | str, *, pinned: bool = True) -> System:
    """`system` under `policy`, or that of this name; InputError when the two do not go together.

    Without `pinned` domains may lack the pcpu that the policy wants.
    """
    require_system(system)
    policy = parse_policy(policy) if isinstance(policy, str) else policy
    fields = vars(system) | {"policy": policy}
    if policy.scope is Scope.GLOBAL:
        fields["domains"] = tuple(_without_pins(domain) for domain in system.domains)
        fields["changes"] = tuple(
            change.replace(pcpu=None) for change in system.changes if change.interface is not None
        )
    reading = Reading(from_file=False)
    changed = read_part(System, fields, (), reading)
    if pinned and changed is not None:
        reading.findings.extend(changed.missing_pins())
    if changed is None or reading.findings:
        about = f"{system.name} under {policy}"
        raise InputError.of(
            [
                Problem(about, None, show_path(one.path), one.found, one.allowed)
                for one in reading.findings
            ]
        )
    return changed


def _without_pins(domain: Domain) -> Domain:
    own = tuple(vcpu.replace(pcpu=None) for vcpu in domain.own_vcpus)
    return domain.replace(pcpu=None, pcpus=None, own_vcpus=own)


def fitting_policies(system: System) -> list[Policy]:
    """The known policies that the system can run under, without duplicates by another name."""
    fitting: list[Policy] = []
    for policy in POLICIES.values():
        if any(policy.rules == other.rules for other in fitting):
            continue
        try:
            with_policy(system, policy)
        except InputError:
            continue
        fitting.append(policy)
    return fitting
