# SPDX-License-Identifier: BSD-2-Clause
"""Why a server gets its budget or not: who takes the pcpu in one of its periods.

The tests are those of `host_tests`, each shown as demand against the time of the pcpu:
- fixed priority: the server as a task below those of higher or equal priority; deferrable ones
  may come late by period - budget, and then twice in a row; for cbs the account of `cbs_fp`;
- edf, periodic, polling, sporadic and cbs: budgets as work that is due at the end of its period;
- edf, deferrable, and everything global: the budget after the most that the others can spend in
  a period of the server (`deferrable_edf`, `global_fp`), shared by all pcpus.

Inputs: policy, group, the server. Result: an account. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, floor

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Component, Load, Source
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.explain import words
from hyperperiod.analysis.explain.account import Account, account_of_task
from hyperperiod.analysis.explain.curves import Curves, curves, staircase, supply_corners
from hyperperiod.analysis.servers.deferrable_edf import most_work
from hyperperiod.analysis.servers.deferrable_grid import most_spent
from hyperperiod.analysis.servers.host_tests import host_proof
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.witness import Role, Share, Window, Witness, kernel_witness
from hyperperiod.model import Policy, format_time

# The pcpu itself: whoever asks gets all of it.
WHOLE = Supply(Shape.GENERAL, 1, 1)
# Corners of a demand that does not grow in jumps.
SAMPLES = 400


def account(policy: Policy, group: Group, own: Server) -> Account | None:
    """The account of one server of the group, by its first test; NotProved if none is known."""
    alone, *tests = host_proof(policy, group).tests
    return _ACCOUNTS[tests[0] if tests else alone](group, own)


def _first(group: Group, own: Server) -> list[Server]:
    """The others that go first, in order of priority."""
    others = (one for one in group.servers if one is not own and one.priority <= own.priority)
    return sorted(others, key=lambda one: (one.priority, one.order))


def _role(own: Server, other: Server) -> Role:
    return Role.EQUAL if other.priority == own.priority else Role.HIGHER


def _fixed(group: Group, own: Server, *, late: bool) -> Account | None:
    """Those above are `late` if they keep what is left and may spend it twice in a row."""
    sources = [Source("overheads", load) for load in group.overhead]
    roles = [Role.OVERHEAD] * len(sources)
    for other in _first(group, own):
        jitter_ns = other.period_ns - other.budget_ns if late else 0
        load = Load(other.budget_ns, other.period_ns, other.period_ns, jitter_ns)
        sources.append(Source(other.name, load))
        roles.append(_role(own, other))
    sources.append(Source(own.name, Load(own.budget_ns, own.period_ns, own.period_ns)))
    local, loads = Local.FIXED_PRIORITY, [source.load for source in sources]
    roles.append(Role.OWN)
    witness = kernel_witness(local, sources, roles, len(sources) - 1, WHOLE)
    if not witness.windows:
        return None
    instant = words.instant_of_server(own.name, loads)
    drawn = curves(local, loads, witness, WHOLE)
    return Account(witness, instant, words.story_of_server(witness), drawn)


def _due(group: Group, own: Server) -> Account | None:
    shortest_ns = min(server.period_ns for server in group.servers)
    sources = [
        Source(one.name, Load(one.budget_ns, one.period_ns, one.period_ns)) for one in group.servers
    ]
    sources += [
        Source("overheads", load._replace(deadline=shortest_ns, jitter=load.jitter + shortest_ns))
        for load in group.overhead
    ]
    index = group.servers.index(own)
    return account_of_task(Component(Local.EDF, tuple(sources)), index, WHOLE)


@dataclass(frozen=True)
class _Rivals:
    """The most that others take of a window that begins with a period of the server."""

    group: Group
    own: Server
    test: str
    others: Sequence[tuple[Server, Role]]
    most: Callable[[Server, int], Fraction | int]
    lost: Callable[[int], Fraction | int]
    instant: str

    def shares(self, window_ns: int) -> list[Share]:
        """Each one's part; the sum is rounded once, so that the shares sum to the demand.

        On several pcpus none counts for more than the time that is not the server's own: more of
        it would run beside others. On one pcpu that changes no verdict, and hides how much is
        missing.
        """
        pcpus = self.group.pcpus
        lost_ns = ceil(self.lost(window_ns))
        spare_ns = max(0, window_ns - self.own.budget_ns - lost_ns + 1)
        shares = [Share("overheads", Role.OVERHEAD, lost_ns)] if lost_ns else []
        total, told_ns = Fraction(0), 0
        for other, role in self.others:
            work = Fraction(self.most(other, window_ns))
            total += work if pcpus == 1 else min(work, Fraction(spare_ns))
            sum_ns = ceil(total) if pcpus == 1 else floor(total / pcpus)
            shares.append(Share(other.name, role, sum_ns - told_ns))
            told_ns = sum_ns
        return [*shares, Share(self.own.name, Role.OWN, self.own.budget_ns)]

    def demand(self, window_ns: int) -> int:
        return sum(share.time_ns for share in self.shares(window_ns))


def _deferrable_edf(group: Group, own: Server) -> _Rivals:
    others = [(other, Role.OTHER) for other in group.servers if other is not own]
    instant = (
        f"{own.name} has work from its refill on, all others spend as much as they can with"
        " deadlines inside its period"
    )
    return _Rivals(group, own, "deferrable edf", others, most_work, group.lost_ns, instant)


def _global_fp(group: Group, own: Server) -> _Rivals:
    others = [(other, _role(own, other)) for other in _first(group, own)]
    instant = f"{own.name} has work from its refill on, all above it spend as much as they can"

    def most(other: Server, window_ns: int) -> int:
        return most_spent(other, own.period_ns, window_ns)[0]

    return _Rivals(group, own, "global fixed priority", others, most, group.lost_ns, instant)


def _cbs_fp(group: Group, own: Server) -> _Rivals:
    others = [(other, _role(own, other)) for other in _first(group, own)]
    instant = (
        f"{own.name} has work, and those above it begin periods early: each takes its share of"
        " the window and of period - budget"
    )

    def most(other: Server, window_ns: int) -> Fraction:
        return other.bandwidth * (window_ns + other.period_ns - other.budget_ns)

    def lost(window_ns: int) -> Fraction:
        return sum(
            (
                Fraction(load.wcet * (window_ns + load.jitter + load.period), load.period)
                for load in group.overhead
            ),
            Fraction(0),
        )

    return _Rivals(group, own, "cbs fixed priority", others, most, lost, instant)


def _in_a_period(rivals: _Rivals) -> Account:
    """Demand in one period of the server against the time that a pcpu has in it."""
    period_ns = rivals.own.period_ns
    window = Window("period", period_ns, period_ns, tuple(rivals.shares(period_ns)))
    end_ns = period_ns * 108 // 100 + 1
    samples = [*range(0, end_ns, max(1, end_ns // SAMPLES)), period_ns]
    demand = staircase([samples], rivals.demand, end_ns)
    return Account(
        Witness(rivals.test, window.short_ns <= 0, (window,), period_ns),
        rivals.instant,
        (_story(rivals, window),),
        Curves(demand, supply_corners(WHOLE, end_ns), 0, end_ns, stairs=False),
    )


def _story(rivals: _Rivals, window: Window) -> str:
    period, count = format_time(rivals.own.period_ns), rivals.group.pcpus
    pcpus = f"all {count} pcpus" if count > 1 else "the pcpu"
    if window.short_ns > 0:
        return (
            f"In {period} the others can keep {pcpus} so long that"
            f" {format_time(window.short_ns)} of the budget have no place. The test is only"
            " sufficient: it does not say that this happens."
        )
    left = format_time(-window.short_ns) if window.short_ns else "nothing"
    return f"In {period} the others keep {pcpus} at most so long that {left} is left."


def _of(rivals: Callable[[Group, Server], _Rivals]) -> Callable[[Group, Server], Account | None]:
    return lambda group, own: _in_a_period(rivals(group, own))


_ACCOUNTS: dict[str, Callable[[Group, Server], Account | None]] = {
    "alone": _of(_global_fp),
    "fp_response_time": partial(_fixed, late=False),
    "sporadic_fp": partial(_fixed, late=False),
    "deferrable_fp": partial(_fixed, late=True),
    "two_classes": partial(_fixed, late=True),
    "cbs_fp": _of(_cbs_fp),
    "edf_utilization": _due,
    "cbs_utilization": _due,
    "sporadic_edf": _due,
    "deferrable_edf": _of(_deferrable_edf),
    "global_fp": _of(_global_fp),
    "gfb": _of(_deferrable_edf),
}
"""By the test that a row of the table of proofs names first."""
