# SPDX-License-Identifier: BSD-2-Clause
"""A system as a scheduler that is not ours runs it: what is judged is that, not the system's own.

Such a scheduler decides for all pcpus of a pool or a partition together. So a partitioned system
becomes one for each pcpu, and a domain whose vcpus are on several pcpus has no place there.
"""

from __future__ import annotations

from hyperperiod.hosts.refuse import refuse
from hyperperiod.model import InputError, Sbf, Scope, System, with_policy


def without_ours(system: System, parameters: str) -> System:
    """The system without what only our schedulers have: a spare, a quantum, a start in step.

    Periods of such a scheduler begin when it likes, so the harmonic supply is not for it.

    Raises InputError for swaps and changes at given instants; `parameters` is the command that
    changes a server when it is called.
    """
    refuse(system, 1, 0)
    for key, found, allowed in (
        ("swap", system.swaps, "no [[swap]]: the scheduler is not swapped"),
        ("change", system.changes, f"no [[change]]: {parameters} changes when called"),
    ):
        if found:
            raise InputError("", None, key, f"{len(found)} of them", allowed)
    sbf = Sbf.GENERAL if system.sbf is Sbf.HARMONIC else system.sbf
    return system.replace(spare=None, quantum_ns=None, sbf=sbf)


def under(system: System, apart: str, together: str) -> System:
    """The system under the policy `apart` on each pcpu, or `together` on all if its own is global.

    Raises InputError for a domain with vcpus on several pcpus of a partitioned system.
    """
    if system.policy.scope is Scope.GLOBAL:
        return with_policy(system, together)
    for index, domain in enumerate(system.domains):
        if not domain.is_served:
            continue
        homes = sorted({keys.pcpu for keys in domain.each_vcpu if keys.pcpu is not None})
        if len(homes) > 1:
            raise InputError(
                "",
                None,
                f"domain[{index}].pcpus",
                f"vcpus of {domain.name} on pcpus {', '.join(map(str, homes))}",
                "one pcpu for all of a domain, or a global policy: this scheduler is global",
            )
    return with_policy(system, apart)
