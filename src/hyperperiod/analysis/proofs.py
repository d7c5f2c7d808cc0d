# SPDX-License-Identifier: BSD-2-Clause
"""What is proved of which rules: one table, and what is not in it is unknown.

A proof is about a whole policy: a budget rule, an order, the slack rules that change nothing of it
and a scope. A row says which tests of the host level show that a server gets its budget, which
supply bound holds for a server that does, and what else may be there while both hold (`covers`).
Every part of the analysis asks here first. Rules that no row names get no interface, no verdict
but "unknown", and no fit; so does what a row does not cover, where a system has it.

What the columns mean:
- tests:  by their names in `host_tests`; "alone" is a pcpu for every server;
- supply: the shape of the bound in `supply_bound`. General: nothing for 2 (period - budget) at
          most. Polling: nothing for 2 period - budget;
- source: a paper, or the file whose text is the proof;
- loose:  why the server may always get more than the bound, so that a "no" under it is not exact;
- hunts:  files in tests/soundness that look for a counterexample to the row.

What `THEOREMS` names is proved by machine beside that: that a server which gets its budget supplies
the bound, under the rules of their names, without what `covers` adds. That it gets it is as well
where `SERVER_THEOREMS` names a theorem, and what is known of the others where
`REFINEMENT_THEOREMS` does.

A second table (`REFINEMENTS`) says of which rules more is known than the interface of a server:
what the others on its pcpu leave it. Where it has no row, or the row does not cover a system, the
supply of the first table is all there is.

An inner server is a periodic one whose host is the domain around it: it has the row of periodic
servers under EDF, since the test of that domain shows no more than that its budget comes in every
period.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from hyperperiod._analysis import Shape
from hyperperiod.model import Budget, Order, Policy, Scope, Slack
from hyperperiod.model.frozen import FrozenFields


class Cover(StrEnum):
    """A circumstance that a proof may allow for beyond servers and tasks."""

    OVERHEADS = "overheads"
    QUANTUM = "a quantum"
    BLOCKING = "blocking"
    STOLEN = "stolen time"
    HOPS = "hops bounded together"
    """The supply bound holds while items go from one task of a vcpu to the next, at one instant."""
    GAPS = "jobs that move between vcpus"
    """The supply bound holds, less the time in a window in which the vcpu has no work."""


class Rules(NamedTuple):
    """The rules of a policy without its name: what a row of the table is looked up by."""

    budget: Budget
    order: Order
    slack: Slack
    scope: Scope

    @classmethod
    def of(cls, policy: Policy) -> Rules:
        """The rules of a policy, without its name."""
        return cls(policy.budget, policy.order, policy.slack, policy.scope)

    def __str__(self) -> str:
        return (
            f"the budget rule {self.budget} with order {self.order}, slack {self.slack},"
            f" {self.scope}"
        )


class Proof(FrozenFields):
    """One row: of the rules that it names, what holds and why (columns: the text of this file)."""

    budget: Budget
    order: Order
    scope: Scope
    slacks: tuple[Slack, ...]
    tests: tuple[str, ...]
    supply: Shape
    covers: tuple[Cover, ...]
    source: str
    hunts: tuple[str, ...]
    loose: str = ""

    def matches(self, rules: Rules) -> bool:
        """Returns whether the row is about these rules."""
        own = (self.budget, self.order, self.scope)
        return own == (rules.budget, rules.order, rules.scope) and rules.slack in self.slacks


class RefinementTest(StrEnum):
    """The name of a test that bounds a server's supply by the other servers on its pcpus."""

    TABLE = "server table"
    INTERFERENCE = "known servers"
    BANDWIDTH = "known bandwidth"


class SupplyRefinement(FrozenFields):
    """A row of the second table: a bound above the supply of the interface alone, and its proof.

    It is about the start of a system without overheads and quantum, tasks blocked or not. Its
    `covers` say whether it holds across the ends of hops as well.
    """

    claim: RefinementTest
    budget: Budget
    orders: tuple[Order, ...]
    scope: Scope
    slacks: tuple[Slack, ...]
    covers: tuple[Cover, ...]
    source: str
    hunts: tuple[str, ...]

    def matches(self, rules: Rules) -> bool:
        """Returns whether the row is about these rules."""
        own = (self.budget, self.scope) == (rules.budget, rules.scope)
        return own and rules.order in self.orders and rules.slack in self.slacks


class NotProved(Exception):  # noqa: N818 - it is not an error of the user
    """No row of the table is about this; the message says about what."""


_PERIODIC, _POLLING, _DEFERRABLE = Budget.PERIODIC, Budget.POLLING, Budget.DEFERRABLE
_SPORADIC, _CBS, _SLICE, _ONCE = Budget.SPORADIC, Budget.CBS, Budget.SLICE, Budget.SLICE_ONCE
_FP, _EDF, _FP_EDF = Order.FP, Order.EDF, Order.FP_EDF
_ONE, _ALL = Scope.PARTITIONED, Scope.GLOBAL

# Slack rules that change nothing. Under lend and reclaim the payer is a server that would have been
# charged anyway; spare, extra and weighted time are behind every server with budget.
_PLAIN = (Slack.NONE,)
_PAID = (Slack.NONE, Slack.LEND, Slack.RECLAIM)
_BEHIND = (Slack.NONE, Slack.SPARE, Slack.EXTRA)
_SHARED = (Slack.NONE, Slack.EXTRA, Slack.WEIGHTS)

_HOP_BY_HOP = (Cover.OVERHEADS, Cover.QUANTUM, Cover.BLOCKING)
_EVERYTHING = (*_HOP_BY_HOP, Cover.HOPS)
_KEEPS = (*_EVERYTHING, Cover.GAPS)
_THEFTS = (*_EVERYTHING, Cover.STOLEN)
_KEEPS_THEFTS = (*_THEFTS, Cover.GAPS)

_GENERAL, _LATE = Shape.GENERAL, Shape.POLLING

_ANY = ("test_whole_systems.py",)
_COSTS = ("test_overheads.py", *_ANY)
_SERVERS = ("test_servers.py", *_COSTS)
_CHAIN = ("test_chains.py", *_SERVERS)
_FLOWS = ("test_flows.py", *_CHAIN)
_WINDOWS = ("test_small_worlds.py", "test_window_loss.py", "test_pieces.py")
_TAKEN = "test_stolen.py"
_SLICES = ("test_driver_overheads.py", "test_chains.py", *_ANY)
_LOOPS = ("test_sedf.py", *_SLICES)

_QUEUE = "a sporadic server may always get more than its bound"
_LOST = "the supply bound of slices need not be met"

_SHIN = "Shin and Lee 2003"
_DAVIS = "Davis and Burns 2005"

# fmt: off
# budget, order, scope, slacks, tests, supply, covers, source, hunts[, loose]
PROOFS: tuple[Proof, ...] = (
    Proof(_PERIODIC,   _FP,     _ONE, _PAID,   ("alone", "fp_response_time"),
          _GENERAL, _KEEPS_THEFTS, _SHIN, (*_WINDOWS, _TAKEN, "test_edp.py", *_FLOWS)),
    Proof(_PERIODIC,   _EDF,    _ONE, _PAID,   ("alone", "edf_utilization"),
          _GENERAL, _KEEPS_THEFTS, _SHIN, (*_WINDOWS, _TAKEN, "test_nested.py", *_FLOWS)),
    Proof(_POLLING,    _FP,     _ONE, _BEHIND, ("alone", "fp_response_time"),
          _LATE,    _THEFTS, "domain_level.py",
          (*_WINDOWS, _TAKEN, "test_polling_supply.py", *_FLOWS)),
    Proof(_POLLING,    _EDF,    _ONE, _BEHIND, ("alone", "edf_utilization"),
          _LATE,    _THEFTS, "domain_level.py",
          (*_WINDOWS, _TAKEN, "test_polling_supply.py", *_CHAIN)),
    Proof(_DEFERRABLE, _FP,     _ONE, _BEHIND, ("alone", "deferrable_fp", "deferrable_grid"),
          _GENERAL, _KEEPS_THEFTS, _DAVIS, (*_WINDOWS, _TAKEN, *_FLOWS)),
    Proof(_DEFERRABLE, _EDF,    _ONE, _BEHIND, ("alone", "deferrable_edf"),
          _GENERAL, _KEEPS_THEFTS, "deferrable_edf.py", (*_WINDOWS, _TAKEN, *_FLOWS)),
    Proof(_SPORADIC,   _FP,     _ONE, _BEHIND, ("alone", "sporadic_fp"),
          _LATE,    _HOP_BY_HOP, "sporadic_fp.py", _FLOWS, _QUEUE),
    Proof(_SPORADIC,   _EDF,    _ONE, _BEHIND, ("alone", "sporadic_edf"),
          _LATE,    _HOP_BY_HOP, "sporadic_edf.py", _CHAIN, _QUEUE),
    Proof(_CBS,        _FP,     _ONE, _BEHIND, ("alone", "cbs_fp"),
          _GENERAL, _HOP_BY_HOP, "cbs_fp.py", _CHAIN),
    Proof(_CBS,        _EDF,    _ONE, _BEHIND, ("alone", "cbs_utilization"),
          _GENERAL, _HOP_BY_HOP, "domain_level.py", _FLOWS),
    Proof(_SLICE,      _FP,     _ONE, _SHARED, ("alone", "deferrable_fp"),
          _GENERAL, _EVERYTHING, "psedf.py", _SLICES, _LOST),
    Proof(_SLICE,      _EDF,    _ONE, _SHARED, ("alone", "deferrable_edf"),
          _LATE,    _EVERYTHING, "sedf_prime.py", _LOOPS, _LOST),
    Proof(_SLICE,      _FP_EDF, _ONE, _SHARED, ("alone", "two_classes"),
          _GENERAL, _EVERYTHING, "deferrable_fp.py", _LOOPS, _LOST),
    Proof(_ONCE,       _FP,     _ONE, _SHARED, ("alone", "fp_response_time"),
          _LATE,    _HOP_BY_HOP, "domain_level.py", _ANY, _LOST),
    Proof(_ONCE,       _EDF,    _ONE, _SHARED, ("alone", "edf_utilization"),
          _LATE,    _HOP_BY_HOP, "domain_level.py", ("test_sedf.py", *_ANY), _LOST),
    # The ordinary domains beside slice+fp-edf: judged with the others, and they lose slices.
    Proof(_ONCE,       _FP_EDF, _ONE, _SHARED, ("alone", "two_classes"),
          _LATE,    _HOP_BY_HOP, "domain_level.py", ("test_sedf.py", *_ANY), _LOST),
    Proof(_PERIODIC,   _FP,     _ALL, _PLAIN,  ("alone", "global_fp"),
          _GENERAL, _KEEPS, _SHIN, _CHAIN),
    Proof(_PERIODIC,   _EDF,    _ALL, _PLAIN,
          ("alone", "gfb", "iterative_bcl", "baker", "deferrable_edf"),
          _GENERAL, _KEEPS, _SHIN, ("test_global_edf.py", *_CHAIN)),
    Proof(_DEFERRABLE, _FP,     _ALL, _BEHIND, ("alone", "global_fp"),
          _GENERAL, _KEEPS, "global_fp.py", _CHAIN),
    Proof(_DEFERRABLE, _EDF,    _ALL, _BEHIND, ("alone", "deferrable_edf"),
          _GENERAL, _KEEPS, "deferrable_edf.py", _FLOWS),
    Proof(_CBS,        _FP,     _ALL, _BEHIND, ("alone",),
          _GENERAL, _HOP_BY_HOP, "domain_level.py", _COSTS),
    Proof(_CBS,        _EDF,    _ALL, _BEHIND, ("alone", "gfb"),
          _GENERAL, _HOP_BY_HOP, "domain_level.py", ("test_global_edf.py", *_SERVERS)),
)
# fmt: on

THEOREMS = {
    _PERIODIC: ("periodic_supply",),
    _POLLING: ("polling_supply",),
    _DEFERRABLE: ("deferrable_supply",),
    _SLICE: ("slice_supply",),
}
"""The theorem in proofs/ about the supply of a budget rule, for all rows that have it: no less than
their bound, and of slices under EDF more."""

SERVER_THEOREMS = {
    (_PERIODIC, _FP, _ONE): ("servers_fixed_priority",),
    (_PERIODIC, _EDF, _ONE): ("servers_edf",),
    (_POLLING, _FP, _ONE): ("servers_fixed_priority",),
    (_POLLING, _EDF, _ONE): ("servers_edf",),
    (_DEFERRABLE, _FP, _ONE): ("deferrable_fixed_priority", "deferrable_on_one_grid"),
    (_DEFERRABLE, _EDF, _ONE): ("deferrable_edf",),
    (_CBS, _EDF, _ONE): ("cbs_edf",),
    (_SLICE, _FP, _ONE): ("slices_fixed_priority",),
    (_SLICE, _EDF, _ONE): ("slices_edf",),
    (_SLICE, _FP_EDF, _ONE): ("slices_fixed_priority",),
}
"""The theorems in proofs/ about a row's tests beside "alone", in their order: who passes gets its
budget, and under cbs, whose periods are its own, supplies the bound."""

_BOTH = (_FP, _EDF)
_ACROSS = (Cover.HOPS,)
_KNOWN = ("test_known_servers.py", *_ANY)
_IN_HAND = ("test_budget_in_hand.py", *_KNOWN)

# fmt: off
# claim, budget, orders, scope, slacks, covers, source, hunts
REFINEMENTS: tuple[SupplyRefinement, ...] = (
    SupplyRefinement(
        RefinementTest.TABLE,        _PERIODIC,   _BOTH, _ONE, (Slack.NONE, Slack.RECLAIM),
        _ACROSS, "server_table.py", _KNOWN),
    SupplyRefinement(
        RefinementTest.INTERFERENCE, _PERIODIC,   _BOTH, _ONE, (Slack.LEND,),
        _ACROSS, "known_servers.py", _KNOWN),
    SupplyRefinement(
        RefinementTest.INTERFERENCE, _PERIODIC,   _BOTH, _ALL, _PLAIN,
        _ACROSS, "known_servers.py", _KNOWN),
    SupplyRefinement(
        RefinementTest.INTERFERENCE, _POLLING,    _BOTH, _ONE, _BEHIND,
        _ACROSS, "known_servers.py", _KNOWN),
    SupplyRefinement(
        RefinementTest.INTERFERENCE, _DEFERRABLE, _BOTH, _ONE, _BEHIND,
        _ACROSS, "known_servers.py", _IN_HAND),
    SupplyRefinement(
        RefinementTest.INTERFERENCE, _DEFERRABLE, _BOTH, _ALL, _BEHIND,
        _ACROSS, "known_servers.py", _IN_HAND),
    SupplyRefinement(
        RefinementTest.BANDWIDTH,    _CBS,        _BOTH, _ONE, _BEHIND,
        (), "known_bandwidth.py", _IN_HAND),
)
# fmt: on
"""What knows more than the interface; rules without a row have the supply of `PROOFS` alone."""

REFINEMENT_THEOREMS = {
    (RefinementTest.INTERFERENCE, _PERIODIC, _ONE): ("known_by_table", "known_servers"),
    (RefinementTest.INTERFERENCE, _POLLING, _ONE): ("known_by_table", "known_servers"),
    (RefinementTest.INTERFERENCE, _DEFERRABLE, _ONE): ("known_servers",),
    (RefinementTest.INTERFERENCE, _PERIODIC, _ALL): ("known_servers_on_several",),
    (RefinementTest.INTERFERENCE, _DEFERRABLE, _ALL): ("known_servers_on_several",),
}
"""The theorems in proofs/ about what a row's servers wait for in a period, from which the supply
follows; not about what is known of budget in hand."""


def find_refinement(rules: Rules) -> SupplyRefinement | None:
    """The row about these rules; None if there is none."""
    return next((proof for proof in REFINEMENTS if proof.matches(rules)), None)


def find_proof(rules: Rules) -> Proof | None:
    """The row about these rules; None if there is none."""
    return next((proof for proof in PROOFS if proof.matches(rules)), None)


def proof_of(rules: Rules, *needed: Cover) -> Proof:
    """The row about these rules; NotProved if there is none, or if it does not cover the rest."""
    proof = find_proof(rules)
    if proof is None:
        raise NotProved(f"no proof is known for {rules}")
    missing = [one for one in needed if one not in proof.covers]
    if missing:
        raise NotProved(f"the proof for {rules} does not cover {', '.join(missing)}")
    return proof
