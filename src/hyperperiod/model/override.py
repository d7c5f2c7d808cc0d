# SPDX-License-Identifier: BSD-2-Clause
"""The same system under another policy, as `--policy` and `compare` ask for.

Everything that depends on the policy is checked anew. A global policy moves vcpus between
pcpus, so pins are dropped for it; a partitioned one needs them, so a system without pins can
only be run under it when there is one pcpu, or after `fit` chose them.
"""

from __future__ import annotations

from pydantic import ValidationError

from hyperperiod.model.errors import InputError, Problem
from hyperperiod.model.load import explain
from hyperperiod.model.policy import PRESETS, Policy, Scope
from hyperperiod.model.system import System
from hyperperiod.model.values import PINNED


def with_policy(system: System, policy: Policy, *, pinned: bool = True) -> System:
    """`system` under `policy`; InputError when the two do not go together.

    Without `pinned` domains may lack the pcpu that the policy wants.
    """
    fields = {name: getattr(system, name) for name in type(system).model_fields}
    fields["policy"] = policy
    if policy.scope is Scope.GLOBAL:
        fields["domains"] = tuple(
            domain.model_copy(update={"pcpu": None}) for domain in system.domains
        )
    try:
        return System.model_validate(fields, context=PINNED if pinned else None)
    except ValidationError as error:
        raise InputError.of(
            [
                Problem(f"{system.name} under {policy}", None, key, found, allowed)
                for key, found, allowed in explain(error)
            ]
        ) from None


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
