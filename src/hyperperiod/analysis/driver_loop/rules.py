# SPDX-License-Identifier: BSD-2-Clause
"""The three rules for driver loops, and which of them a policy asks for."""

from __future__ import annotations

from hyperperiod.analysis.driver_loop import psedf, sedf, sedf_prime
from hyperperiod.analysis.driver_loop.driver_domain import SliceRule
from hyperperiod.analysis.proofs import Rules, find_proof
from hyperperiod.model import Policy

RULES = (sedf.RULE, sedf_prime.RULE, psedf.RULE)


def rule_for(policy: Policy) -> SliceRule | None:
    """The rule about this policy; None without one, and for policies without proof."""
    if find_proof(Rules.of(policy)) is None:
        return None
    own = (policy.budget, policy.order)
    return next((rule for rule in RULES if own in rule.covers), None)
