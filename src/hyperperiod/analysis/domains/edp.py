# SPDX-License-Identifier: BSD-2-Clause
"""The explicit-deadline periodic model (EDP): the budget comes early in every period.

Paper: Easwaran, Anand and Lee, "Compositional analysis framework using EDP resource models",
RTSS 2007. A supply (period, budget, deadline) brings the whole budget within the first
`deadline` of every period, so its blackout is period + deadline - 2 budget. With the deadline at
the period it is the periodic resource model, with the deadline at the budget the supply comes at
a fixed place and only the gap is dark. The tests inside are those of `prm_fixed_priority`,
`prm_edf` and `prm_fifo`, with this supply, as exact as there.

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

Inputs: a policy. Result: why its servers have no explicit deadline, or None. Errors: none.
"""

from __future__ import annotations

from hyperperiod.model import TABLE, Budget, Order, Policy, Scope, Slack

_TIME_DRIVEN = (Slack.NONE, Slack.LEND, Slack.RECLAIM)


def refusal(policy: Policy) -> str | None:
    """Returns why servers of a policy have no explicit deadline; None if the host gives one."""
    if policy.name == TABLE.name:
        return "edp sbf: windows may be at the end of the major frame"
    if policy.budget is not Budget.PERIODIC or policy.slack not in _TIME_DRIVEN:
        rule = policy.budget if policy.budget is not Budget.PERIODIC else policy.slack
        return f"edp sbf: sound for purely time-driven servers, not for {rule}"
    if policy.order is not Order.FP:
        return f"edp sbf: no response bound of servers under {policy.order}"
    if policy.scope is not Scope.PARTITIONED:
        return "edp sbf: no response bound of servers on several pcpus together"
    return None
