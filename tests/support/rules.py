# SPDX-License-Identifier: BSD-2-Clause
"""The legal combinations of rules as lists for tests: the rows of the core, whatever they are.

A rule that gets a row is in every one of these lists; a reading of the rules that does not know it
(the naive model, the trace checks) fails there.
"""

from __future__ import annotations

from typing import Any

from hyperperiod.model import Policy, Scheduler, Scope
from hyperperiod.model.policy import legal_policies

Combination = tuple[Any, Any, Any]
"""The words of the budget, order and slack rule; those who take them know them as literals."""


def _combinations(scope: Scope) -> list[Combination]:
    """In the order of the rules' numbers: budget, then order, then slack."""

    def numbers(policy: Policy) -> tuple[int, int, int]:
        return policy.budget.code, policy.order.code, policy.slack.code

    legal = [policy for policy in legal_policies() if policy.scope is scope]
    return [(p.budget.value, p.order.value, p.slack.value) for p in sorted(legal, key=numbers)]


LOCAL = _combinations(Scope.PARTITIONED)
GLOBAL = _combinations(Scope.GLOBAL)

SCHEDULERS = (Scheduler.RM, Scheduler.DM, Scheduler.FP, Scheduler.EDF, Scheduler.FIFO)
"""The schedulers inside a domain that every host has."""

LOCAL_NAMES = ["+".join(words) for words in LOCAL if words[1] != "fp-edf"]
CLASS_NAMES = ["+".join(words) for words in LOCAL if words[1] == "fp-edf"]
GLOBAL_NAMES = ["+".join((*words, "global")) for words in GLOBAL]
"""The same as words of policies, those under fp-edf apart."""
