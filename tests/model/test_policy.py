# SPDX-License-Identifier: BSD-2-Clause
"""Policies: the known names, every combination of rules, and how they are spelled."""

from __future__ import annotations

import itertools
import re

import pytest

from hyperperiod import _rules
from hyperperiod.model import PRESETS, Budget, InputError, Order, Policy, Scope, Slack, parse_policy
from hyperperiod.model.policy import LEGAL_SLACK

PARTITIONED, GLOBAL = Scope.PARTITIONED, Scope.GLOBAL
KEPT = {Slack.NONE, Slack.SPARE, Slack.EXTRA}
GAPS = {Slack.NONE, Slack.EXTRA, Slack.WEIGHTS}

# The legal combinations, written out a second time from their definition. A rule that is not among
# them is taken at its row's word.
LEGAL = {
    (PARTITIONED, Budget.PERIODIC): {Slack.NONE, Slack.LEND, Slack.RECLAIM},
    (PARTITIONED, Budget.DEFERRABLE): KEPT,
    (PARTITIONED, Budget.POLLING): KEPT,
    (PARTITIONED, Budget.SPORADIC): KEPT,
    (PARTITIONED, Budget.CBS): KEPT,
    (PARTITIONED, Budget.SLICE): GAPS,
    (PARTITIONED, Budget.SLICE_ONCE): GAPS,
    (GLOBAL, Budget.PERIODIC): {Slack.NONE},
    (GLOBAL, Budget.DEFERRABLE): KEPT,
    (GLOBAL, Budget.CBS): KEPT,
}


@pytest.mark.parametrize(
    ("budget", "order", "slack", "scope"), list(itertools.product(Budget, Order, Slack, Scope))
)
def test_every_combination(budget: Budget, order: Order, slack: Slack, scope: Scope) -> None:
    text = f"{budget}+{order}+{slack}+{scope}"
    fits = order is not Order.FP_EDF or budget is Budget.SLICE
    if any(budget is known for _, known in LEGAL):
        slacks = LEGAL.get((scope, budget), set())
    else:
        slacks = set(LEGAL_SLACK.get((scope, budget), ()))
    if fits and slack in slacks:
        policy = parse_policy(text)
        assert (policy.budget, policy.order, policy.slack, policy.scope) == (
            budget, order, slack, scope,
        )  # fmt: skip
        assert parse_policy(policy.rules) == policy
        return
    with pytest.raises(InputError, match="found the combination"):
        parse_policy(text)
    with pytest.raises(InputError, match="found the combination"):
        Policy(budget=budget, order=order, slack=slack, scope=scope)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("ptps", "periodic+fp+none"),
        ("wcps", "periodic+fp+lend"),
        ("crps", "periodic+fp+reclaim"),
        ("ds", "deferrable+fp+none"),
        ("polling", "polling+fp+none"),
        ("sporadic", "sporadic+fp+none"),
        ("rtds", "deferrable+edf+extra+global"),
        ("ertds", "deferrable+edf+spare+global"),
        ("cbs", "cbs+edf+none"),
        ("sedf", "slice-once+edf+weights"),
        ("sedf-prime", "slice+edf+weights"),
        ("psedf", "slice+fp-edf+weights"),
        ("hsf-fp", "periodic+fp+none"),
        ("partitioned-hsf-fp", "periodic+fp+none"),
    ],
)
def test_known_names(name: str, rules: str) -> None:
    assert parse_policy(name).rules == rules
    assert str(parse_policy(name)) == name


def test_the_list_of_names_is_complete() -> None:
    assert len(PRESETS) == 14


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("periodic+edf", "periodic+edf+none"),
        ("cbs+fp+global", "cbs+fp+none+global"),
        ("periodic+fp+partitioned", "periodic+fp+none"),
    ],
)
def test_short_spellings(text: str, rules: str) -> None:
    policy = parse_policy(text)
    assert policy.rules == rules
    assert str(policy) == rules


@pytest.mark.parametrize(
    "text",
    [
        "", "+", "PTPS", "ptps ", "periodic", "fp+periodic", "periodic+none", "periodic+fp+fp",
        "periodic+fp+none+global+global", "periodic+fp+global+none", "ptps+global", "credit",
    ],
)  # fmt: skip
def test_no_policies(text: str) -> None:
    with pytest.raises(InputError, match=r"allowed: ptps, wcps"):
        parse_policy(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("rtsd", "rtds"),
        ("sedf_prime", "sedf-prime"),
        ("PTPS", "ptps"),
        ("periodc+edf+reclaim", "periodic+edf+reclaim"),
    ],
)
def test_a_policy_that_was_perhaps_meant(text: str, meant: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"; did you mean {meant}?")):
        parse_policy(text)


@pytest.mark.parametrize("text", ["credit", "fp+periodic", "periodic+none"])
def test_nothing_was_meant(text: str) -> None:
    with pytest.raises(InputError, match="allowed: ptps"):
        parse_policy(text)


def test_codes_count_from_zero() -> None:
    """The core and trace files use these numbers: a rule keeps the one that it has."""
    numbers = {rule.value: rule.code for rule in Budget}
    known = ["periodic", "deferrable", "polling", "sporadic", "cbs", "slice", "slice-once"]
    assert [numbers[name] for name in known] == [0, 1, 2, 3, 4, 5, 6]
    assert [rule.code for rule in Budget] == list(range(len(_rules.BUDGETS)))
    assert [rule.code for rule in Order] == list(range(len(_rules.ORDERS)))
    assert [rule.code for rule in Slack] == list(range(len(_rules.SLACKS)))
