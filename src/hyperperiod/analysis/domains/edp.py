# SPDX-License-Identifier: BSD-2-Clause
"""The explicit-deadline periodic model (EDP): the budget comes early in every period.

Paper: Easwaran, Anand and Lee, "Compositional analysis framework using EDP resource models",
RTSS 2007. A supply (period, budget, deadline) brings the whole budget within the first
`deadline` of every period, so its blackout is period + deadline - 2 budget. With the deadline at
the period it is the periodic resource model, with the deadline at the budget the supply comes at
a fixed place and only the gap is dark. The tests inside are those of `prm_fixed_priority`,
`prm_edf` and `prm_fifo`, with this supply, as exact as there.

Interfaces, after the paper: bandwidth optimal for a given period is the least budget with which
some deadline will do. A later deadline never helps the component, so that is the least budget
whose deadline equals it. Of all deadlines with that budget the latest asks least of whoever
supplies it: bandwidth-deadline optimal.

Composition: an EDP supply is a task (budget, period, deadline) of the component above, which
promises exactly that. CARTS hands it up, under EDF, with the deadline period + deadline -
budget instead. That is unsound: a supply with (period, budget, deadline) = (4, 2, 2) becomes a
task with deadline 4, which may run at the beginning of one period and at the end of the next, and
then 4 are dark where the model says 2.

Where a server behaves so. A purely time-driven server (periodic rule; slack none, lend or
reclaim) whose host-level test under fixed priority gives the response bound R is an EDP supply
with the deadline R. Let c(t) be what it was charged since its last refill at time 0. Then
(1) c grows at most at rate 1, so c(t) <= t. (2) c(R) is the whole budget, worked for or not: the
backlog of budgets of the servers above is served at least at rate 1 while there is any (under
lend at rate 2 when one lends to another), so at each instant it is no more than when each pays
in turn, as in the test; whenever it is empty the server pays, and so it has paid by R. (3) While
it has work, a charge is service: under none and reclaim the payer with work runs, and under lend
a server that pays has work and runs, or has none. So in a window with work throughout that
begins at a in one period, what comes by the end of it is at least budget - c(a) >= budget - a,
and in each later period the whole budget comes within R: what the model promises. Overheads only
take from the charge what is deducted from the budget.
A deferrable server breaks (1) and (2) from one period to the next in time, a polling server has
no budget left where it had no work, sporadic and cbs servers have no fixed periods: refused.
EDF on the host has no response bound here: refused as well.

Inputs: components, integers in nanoseconds. Results: interfaces, budgets and deadlines, None
where there is none; `exact` false where a smaller budget, or a later deadline, was too hard to
judge. Errors: ValueError for a deadline outside budget..period.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hyperperiod import _analysis
from hyperperiod._analysis import Shape
from hyperperiod.analysis.bisection import last_holding
from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.domains.minimal_budget import MinimalBudget, minimal_budget
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.model import Budget, Order, Policy, Scope, Slack

_TIME_DRIVEN = (Slack.NONE, Slack.LEND, Slack.RECLAIM)


class EdpInterface(NamedTuple):
    """`budget_ns` within the first `deadline_ns` of every `period_ns`."""

    period_ns: int
    budget_ns: int
    deadline_ns: int
    exact: bool = True

    @property
    def supply(self) -> Supply:
        return Supply(Shape.GENERAL, self.period_ns, self.budget_ns, self.deadline_ns)

    @property
    def load(self) -> Load:
        """The task that the component above has to schedule."""
        return Load(self.budget_ns, self.period_ns, self.deadline_ns)


def minimal_edp_budget(
    components: Sequence[Component], period_ns: int, deadline_ns: int, granule_ns: int = 1
) -> MinimalBudget:
    """The least budget, in whole granules, for a period and a deadline."""
    return minimal_budget(components, Shape.GENERAL, period_ns, granule_ns, deadline_ns)


def bandwidth_optimal(
    components: Sequence[Component], period_ns: int, granule_ns: int = 1
) -> EdpInterface | None:
    """The least budget with which any deadline will do, and the latest deadline that does."""
    # With the deadline at the budget the blackout is the gap: the harmonic form of the supply.
    found = minimal_budget(components, Shape.HARMONIC, period_ns, granule_ns)
    if found.budget_ns is None:
        return None
    deadline_ns, exact = latest_deadline(components, period_ns, found.budget_ns, granule_ns)
    assert deadline_ns is not None, "the deadline at the budget will do"
    return EdpInterface(period_ns, found.budget_ns, deadline_ns, found.exact and exact)


def latest_deadline(
    components: Sequence[Component], period_ns: int, budget_ns: int, granule_ns: int = 1
) -> tuple[int | None, bool]:
    """The latest deadline, whole granules from the budget, and whether it surely is."""
    exact = True

    def serves(deadline_ns: int) -> bool:
        nonlocal exact
        for component in components:
            found, _ = _analysis.judge(
                component.local, component.loads, Shape.GENERAL, period_ns, budget_ns, deadline_ns
            )
            exact = exact and found is not _analysis.Verdict.UNKNOWN
            if found is not _analysis.Verdict.HOLDS:
                return False
        return True

    if not serves(budget_ns):
        return None, exact
    if serves(period_ns):
        return period_ns, exact
    most = -(-(period_ns - budget_ns) // granule_ns)
    good = last_holding(lambda granules: serves(budget_ns + granules * granule_ns), 0, most)
    return budget_ns + good * granule_ns, exact


def refusal(policy: Policy) -> str | None:
    """Why servers of this policy have no explicit deadline; None if the host level gives one."""
    if policy.budget is not Budget.PERIODIC or policy.slack not in _TIME_DRIVEN:
        rule = policy.budget if policy.budget is not Budget.PERIODIC else policy.slack
        return f"edp sbf: sound for purely time-driven servers, not for {rule}"
    if policy.order is not Order.FP:
        return f"edp sbf: no response bound of servers under {policy.order}"
    if policy.scope is not Scope.PARTITIONED:
        return "edp sbf: no response bound of servers on several pcpus together"
    return None
