# SPDX-License-Identifier: BSD-2-Clause
"""The tests of whole flows: those that judge the flows of a system with its servers, as one.

Such a test knows one form of system and says more of it than the general bounds do: its verdict
asks for no budget in every period. Each row names the test, the rules of the policies that it
covers, and the function that gives a verdict per flow, or None for a system of another form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from hyperperiod.analysis.driver_loop.driver_flows import driver_flows
from hyperperiod.analysis.driver_loop.rules import RULES
from hyperperiod.analysis.flows.found import WholeVerdict
from hyperperiod.analysis.proofs import Rules, find_proof
from hyperperiod.model import Budget, Order, System


class FlowTest(NamedTuple):
    """One row of the registry."""

    name: str
    covers: tuple[tuple[Budget, Order], ...]
    judge: Callable[[System], Mapping[str, WholeVerdict] | None]


FLOW_TESTS = tuple(FlowTest(rule.name, rule.covers, partial(driver_flows, rule)) for rule in RULES)


def whole_verdicts(system: System) -> Mapping[str, WholeVerdict]:
    """Returns the verdicts of the first test that covers the system, by flow; none if none does."""
    policy = system.policy
    if find_proof(Rules.of(policy)) is None:
        return {}
    for test in FLOW_TESTS:
        if (policy.budget, policy.order) in test.covers:
            verdicts = test.judge(system)
            if verdicts is not None:
                return verdicts
    return {}
