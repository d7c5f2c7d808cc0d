# SPDX-License-Identifier: BSD-2-Clause
"""The table of proofs: what it names exists, and what it does not name is unknown everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.support.worlds import domain, system, task

from hyperperiod.analysis import Analysis, analyze, proofs
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.proofs import (
    PROOFS,
    REFINEMENTS,
    Cover,
    Proof,
    Rules,
    SupplyRefinement,
    find_proof,
)
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.host_tests import TESTS
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Budget, Flow, InputError, Order, Overheads, Scope, Slack, System
from hyperperiod.model.policy import LEGAL_SLACK, Policy, RuleWord, legal_policies, parse_policy
from hyperperiod.model.result_object import to_json

TOP = Path(__file__).resolve().parents[2]
ANY_RULE = TypeVar("ANY_RULE", bound=RuleWord)


def imaginary(kind: type[ANY_RULE]) -> ANY_RULE:
    """A rule of this kind that no row of any table names, as if somebody had added it."""
    rule = str.__new__(kind, "imaginary")
    rule._name_, rule._value_ = "IMAGINARY", "imaginary"
    return rule


NEW_RULES: list[dict[str, RuleWord]] = [
    {"budget": imaginary(Budget)},
    {"slack": imaginary(Slack)},
    {"order": imaginary(Order)},
    {"budget": imaginary(Budget), "slack": imaginary(Slack)},
]


def new_policies() -> Iterator[Policy]:
    """Every legal policy with one rule, or two, in place of its own that nobody has heard of."""
    seen = set()
    for policy in legal_policies():
        for new in NEW_RULES:
            made = policy.replace(**new)
            if made.rules not in seen:
                seen.add(made.rules)
                yield made


NEW_POLICIES = list(new_policies())
# The budget rules that have rows, and the policies with one of them.
PROVED = {proof.budget for proof in PROOFS}
LEGAL = [policy for policy in legal_policies() if policy.budget in PROVED]


def rules(budget: Budget, slack: Slack = Slack.NONE) -> Rules:
    return Rules(budget, Order.FP, slack, Scope.PARTITIONED)


def small(policy: str = "ptps", **more: Any) -> System:
    """A system that is schedulable with ease under any policy: each server has a pcpu's half."""
    return system(
        policy,
        domain("a", (30, 100), task("t", 400, 5, deadline=300), pcpu=0),
        domain("b", (30, 100), task("u", 400, 5, deadline=300), pcpu=0),
        **more,
    )


def under(one: System, policy: Policy) -> System:
    """The system under a policy that no file could name."""
    pcpus = 2 if policy.scope is Scope.GLOBAL else one.pcpus
    return one.replace(policy=policy, pcpus=pcpus)


def verdicts_in(found: Any) -> Iterator[Any]:
    """Every verdict at any depth of a result."""
    found = to_json(found)
    if isinstance(found, dict):
        yield from (value for key, value in found.items() if key == "schedulable")
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from verdicts_in(one)


def test_rules_that_once_had_rows_keep_them() -> None:
    """A new budget rule has none, and is unknown, until something is proved of it."""
    names = ("periodic", "deferrable", "polling", "sporadic", "cbs", "slice", "slice-once")
    assert {Budget(name) for name in names} <= PROVED


@pytest.mark.parametrize("policy", LEGAL, ids=str)
def test_every_legal_policy_has_one_row(policy: Policy) -> None:
    assert [proof.matches(Rules.of(policy)) for proof in PROOFS].count(True) == 1


def test_no_row_names_what_can_never_be() -> None:
    legal = {Rules.of(policy) for policy in LEGAL}
    # Ordinary domains under slice+fp-edf are under the rule of slices that are lost.
    legal |= {one._replace(budget=Budget.SLICE_ONCE) for one in legal if one.order is Order.FP_EDF}
    named = {
        Rules(proof.budget, proof.order, slack, proof.scope)
        for proof in PROOFS
        for slack in proof.slacks
    }
    assert named == legal


@pytest.mark.parametrize("proof", PROOFS, ids=lambda p: f"{p.budget}-{p.order}-{p.scope}")
def test_what_a_row_names_exists(proof: Proof) -> None:
    assert set(proof.tests) <= TESTS.keys()
    assert proof.tests[0] == "alone"
    assert proof.hunts
    for hunt in proof.hunts:
        assert "def test_" in (TOP / "tests" / "soundness" / hunt).read_text()
    if proof.source.endswith(".py"):
        assert list((TOP / "src" / "hyperperiod" / "analysis").rglob(proof.source))


DRAWN_IN = {
    "test_chains": "chain_worlds",
    "test_flows": "flow_worlds",
    "test_overheads": "overhead_worlds",
    "test_pieces": "row_worlds",
    "test_sedf": "driver_attack",
    "test_whole_systems": "whole_worlds",
}
"""Hunts whose systems are drawn by a module of tests/support, and which."""


def drawn_by(hunt: str) -> set[Rules]:
    """The rules that the systems of a hunt are under; empty for one that draws no policies."""
    name = hunt.removesuffix(".py")
    worlds = DRAWN_IN.get(name)
    module = import_module(f"tests.support.{worlds}" if worlds else f"tests.soundness.{name}")
    if hunt == "test_servers.py":
        return {
            Rules(budget, order, slack, scope)
            for budget, order, scope in module.CASES
            for slack in LEGAL_SLACK[scope, budget]
        }
    names = getattr(module, "POLICIES", getattr(module, "RULES", ()))
    policies = [parse_policy(one) if isinstance(one, str) else one for one in names]
    return {Rules.of(policy) for policy in policies}


@pytest.mark.parametrize("proof", PROOFS, ids=lambda p: f"{p.budget}-{p.order}-{p.scope}")
def test_hunts_draw_the_rules_that_they_are_to_attack(proof: Proof) -> None:
    if (proof.budget, proof.order) == (Budget.SLICE_ONCE, Order.FP_EDF):
        proof = proof.replace(budget=Budget.SLICE)  # the policy that has such domains
    attacked = set()
    for hunt in proof.hunts:
        drawn = drawn_by(hunt)
        named = {one for one in drawn if proof.matches(one)}
        assert named or not drawn, hunt
        attacked |= named
    assert {one.slack for one in attacked} == set(proof.slacks)
    if Cover.HOPS in proof.covers:
        assert "test_chains.py" in proof.hunts


def test_every_sound_test_has_a_row() -> None:
    assert {name for proof in PROOFS for name in proof.tests} == TESTS.keys()


def test_a_known_policy_is_schedulable_here() -> None:
    """Otherwise what is unknown below would show nothing."""
    assert analyze(small()).schedulable is True


@pytest.mark.parametrize("servers", [1, 2, 5])
def test_no_host_level_verdict_of_a_new_rule(servers: int) -> None:
    """Not even for a server alone on its pcpu, nor for more than all pcpus have."""
    for policy in NEW_POLICIES:
        group = Group(
            tuple(Server(n, f"s{n}", 10, 5, n, n) for n in range(servers)),
            2 if policy.scope is Scope.GLOBAL else 1,
        )
        found = host_level(policy, group)
        assert {verdict.holds for verdict in found.servers} == {None}, policy
        assert "imaginary" in found.whole.reason
        assert found.tests == ()


def test_nothing_is_promised_under_a_new_rule() -> None:
    """Servers on their pcpus, domains, tasks; nor what is asked for beside a verdict."""
    for policy in NEW_POLICIES:
        found = analyze(under(small(), policy), sensitivity=True)
        assert set(verdicts_in(found)) == {None}, policy
        assert "imaginary" in found.reason
        for inside in found.domains:
            assert inside.sensitivity is None
            assert "imaginary" in inside.reason


def test_no_interface_is_computed_for_a_new_rule() -> None:
    for policy in NEW_POLICIES:
        one = under(small(), policy)
        open_ = tuple(inside.replace(interface=None) for inside in one.domains)
        found = analyze(one.replace(domains=open_))
        assert set(verdicts_in(found.domains)) == {None} == {found.schedulable}, policy
        assert all(inside.interface is None for inside in found.domains)
        assert all("imaginary" in inside.reason for inside in found.domains)


@pytest.mark.parametrize("name", ["a", "a.t"])
def test_explain_says_that_nothing_is_known(name: str) -> None:
    assert Analysis(small()).explanation(name).windows
    for policy in NEW_POLICIES:
        found = Analysis(under(small(), policy)).explanation(name)
        assert found.schedulable is None, policy
        assert "imaginary" in found.reason
        assert "imaginary" in found.text
        assert found.windows == ()
        assert found.curves is None


def test_flows_have_no_bound_under_a_new_rule() -> None:
    one = system(
        "ptps",
        domain("a", (30, 100), task("t", 400, 5, kind="event", deadline=400), pcpu=0),
        domain("b", (30, 100), task("u", 400, 5, kind="event", deadline=400), pcpu=0),
        flow=(
            Flow.of({
                "name": "f", "hops": ["a.t", "b.u"], "deadline": 2000, "source": {"period": 400},
            }),
        ),
    )  # fmt: skip
    assert analyze(one).flows[0].schedulable is True
    for policy in NEW_POLICIES:
        found = analyze(under(one, policy))
        assert set(verdicts_in(found)) == {None}, policy
        (flow,) = found.flows
        assert flow.response_bound_ns is None
        assert [hop.response_bound_ns for hop in flow.hops] == [None, None]


@pytest.mark.parametrize("new", NEW_RULES[:3], ids=lambda new: "+".join(new))
@pytest.mark.parametrize("name", ["late-packets-psedf", "late-packets-sedf"])
def test_a_driver_loop_is_unknown_under_a_new_rule(name: str, new: dict[str, RuleWord]) -> None:
    from hyperperiod.model import load_system

    loop = load_system(TOP / "systems" / f"{name}.toml")
    found = analyze(under(loop, loop.policy.replace(**new)))
    assert {flow.schedulable for flow in found.flows} == {None}
    assert not any(flow.paper for flow in found.flows)


@pytest.mark.parametrize("new", NEW_RULES, ids=lambda new: "+".join(new))
def test_fit_refuses_a_new_rule(new: dict[str, RuleWord]) -> None:
    one = small()
    with pytest.raises(InputError, match=r"no proof is known for .* imaginary"):
        fit(under(one, one.policy.replace(**new)))


def without(monkeypatch: pytest.MonkeyPatch, cover: Cover) -> None:
    """The table as if no proof covered that."""
    table = tuple(
        proof.replace(covers=tuple(one for one in proof.covers if one is not cover))
        for proof in PROOFS
    )
    monkeypatch.setattr(proofs, "PROOFS", table)


@pytest.mark.parametrize(
    ("cover", "more"),
    [
        (Cover.OVERHEADS, {"overheads": Overheads(pick_ns=1)}),
        (Cover.QUANTUM, {"quantum": 10}),
        (Cover.BLOCKING, {}),
    ],
)
def test_what_a_proof_does_not_cover_is_unknown(
    cover: Cover, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = small(**more)
    if cover is Cover.BLOCKING:
        (first, second) = one.domains
        longer = first.tasks[0].replace(blocking_ns=1)
        one = one.replace(domains=(first.replace(tasks=(longer,)), second))
    assert analyze(one).schedulable is True
    plain = analyze(small())
    without(monkeypatch, cover)
    found = analyze(one)
    assert found.schedulable is None
    assert f"does not cover {cover}" in found.reason
    assert analyze(small()) == plain


def test_the_order_of_rules_in_a_reason() -> None:
    assert str(rules(Budget.CBS, Slack.EXTRA)) == (
        "the budget rule cbs with order fp, slack extra, partitioned"
    )


@pytest.mark.parametrize(
    "row", REFINEMENTS, ids=lambda row: f"{row.claim.name}-{row.budget}-{row.scope}-{row.slacks[0]}"
)
def test_what_is_known_of_other_servers_is_hunted(row: SupplyRefinement) -> None:
    """Every row has a proof in its source, is about legal rules, and is attacked under all."""
    assert list((TOP / "src" / "hyperperiod" / "analysis" / "servers").glob(row.source))
    named = {
        Rules(row.budget, order, slack, row.scope) for order in row.orders for slack in row.slacks
    }
    for hunt in row.hunts:
        assert named <= drawn_by(hunt)
    for rules_of_row in named:
        assert find_proof(rules_of_row) is not None
        assert [other.matches(rules_of_row) for other in REFINEMENTS].count(True) == 1
