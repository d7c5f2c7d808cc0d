# SPDX-License-Identifier: BSD-2-Clause
"""The same system under another policy, as `--policy` and `compare` ask for.

Everything that depends on the policy is checked anew. A global policy moves vcpus between
pcpus, so pins are dropped for it; a partitioned one needs them, so a system without pins can
only be run under it when there is one pcpu, or after `fit` chose them.
"""

from __future__ import annotations

from hyperperiod.model.errors import InputError, Problem
from hyperperiod.model.part import read_part, show_path
from hyperperiod.model.policy import PRESETS, Policy, Scope
from hyperperiod.model.system import System
from hyperperiod.model.values import Reading


def with_policy(system: System, policy: Policy, *, pinned: bool = True) -> System:
    """`system` under `policy`; InputError when the two do not go together.

    Without `pinned` domains may lack the pcpu that the policy wants.
    """
    fields = vars(system) | {"policy": policy}
    if policy.scope is Scope.GLOBAL:
        fields["domains"] = tuple(domain.replace(pcpu=None) for domain in system.domains)
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


def fitting_policies(system: System) -> list[Policy]:
    """The known policies that the system can run under, without duplicates by another name."""
    fitting: list[Policy] = []
    for policy in PRESETS.values():
        if any(policy.rules == other.rules for other in fitting):
            continue
        try:
            with_policy(system, policy)
        except InputError:
            continue
        fitting.append(policy)
    return fitting
