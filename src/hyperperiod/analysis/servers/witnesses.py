# SPDX-License-Identifier: BSD-2-Clause
"""Why a server gets its budget or may not, by the test that said so (`host_tests`).

Each witness has the verdict of its test and the window that it looked at, made of the same terms:
- fixed priority: the kernel's own, of the loads that `respond` is asked about. Where a test for
  other rules begins with that of periodic servers and this one says no, it is the witness;
- edf on one pcpu: the kernel's own, of budgets as work that is due. Bandwidths up to 1 are just
  those with which every window holds what is due in it;
- one grid: the window that holds the budget, or all of a period that does not;
- BCL's argument (`deferrable_edf`, `global_fp`, iterative bcl): one period. Of m pcpus each has its
  part of what the others take; it and the budget exceed the period just where the test says no;
- constant bandwidth servers under priorities: R <= P_i says that B_i, the shares U_k P_i and the
  bursts U_k (P_k - B_k) fit into P_i;
- gfb: what all bandwidths ask for in one period, and what the bound allows.

Inputs: the test, a group, one of its servers; for curves a window in nanoseconds. Results: a
witness, or None for a test that looks at no window; the shares of any window. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Load, NamedLoad
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU
from hyperperiod.analysis.servers import host_tests
from hyperperiod.analysis.servers.deferrable_edf import max_work, spare_in
from hyperperiod.analysis.servers.deferrable_fp import interference
from hyperperiod.analysis.servers.deferrable_grid import max_spent
from hyperperiod.analysis.servers.edf_utilization import as_tasks
from hyperperiod.analysis.servers.fp_response_time import as_load
from hyperperiod.analysis.servers.global_edf import gfb_bound, iterative_bcl_of_servers
from hyperperiod.analysis.servers.host_tests import HostTest
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.analysis.witness import (
    Role,
    Share,
    Window,
    Witness,
    component_witness,
    kernel_witness,
)

Shares = Callable[[Group, Server, int], tuple[Share, ...]]
Part = tuple[str, Role, Fraction | int]


def server_witness(test: HostTest, group: Group, own: Server) -> Witness | None:
    """Returns the window by which the test gives its verdict on the server."""
    if test is host_tests.CBS_UTILIZATION:
        group = replace(group, overhead=())
    verdict = test.judge(group)[group.servers.index(own)]
    if test in _AS_PERIODIC or (test in _PERIODIC_FIRST and verdict.holds is False):
        return _below(group, own, as_load)
    if test in (host_tests.DEFERRABLE_FP, host_tests.TWO_CLASSES):
        return _below(group, own, interference)
    if test in _DUE:
        return component_witness(as_tasks(group), group.servers.index(own), WHOLE_PCPU)
    if test is host_tests.DEFERRABLE_GRID:
        return _on_grid(group, own, verdict)
    if test is host_tests.GFB:
        return _at_their_rates(group, own, verdict)
    if test is host_tests.ITERATIVE_BCL and not verdict.holds:
        return None  # of one server it says something only if it accepts all
    kind = _IN_A_PERIOD.get(test)
    return None if kind is None else _in_a_period(kind, group, own, verdict)


_AS_PERIODIC = (host_tests.RESPONSE_TIME, host_tests.SPORADIC_FP)
# Their no is that of the test for periodic servers.
_PERIODIC_FIRST = (
    host_tests.DEFERRABLE_FP,
    host_tests.TWO_CLASSES,
    host_tests.DEFERRABLE_GRID,
    host_tests.CBS_FP,
)
_DUE = (host_tests.UTILIZATION, host_tests.CBS_UTILIZATION, host_tests.SPORADIC_EDF)
_IN_A_PERIOD = {
    host_tests.ENOUGH: "a pcpu each",
    host_tests.DEFERRABLE_EDF: "deferrable edf",
    host_tests.GLOBAL_FP: "global fixed priority",
    host_tests.ITERATIVE_BCL: "iterative bcl",
    host_tests.CBS_FP: "cbs fixed priority",
}


def _first_of(group: Group, own: Server) -> list[Server]:
    """The others that go before a server, or as its equals, in order of priority."""
    return sorted(group.before(own), key=lambda one: (one.priority, one.order))


def _role(own: Server, other: Server) -> Role:
    return Role.EQUAL if other.priority == own.priority else Role.HIGHER


def _below(group: Group, own: Server, load_of: Callable[[Server], Load]) -> Witness:
    others = _first_of(group, own)
    sources = [NamedLoad("overheads", load) for load in group.lost]
    roles = [Role.OVERHEAD] * len(sources)
    sources += [NamedLoad(other.name, load_of(other)) for other in others]
    roles += [_role(own, other) for other in others]
    sources.append(NamedLoad(own.name, as_load(own)))
    roles.append(Role.OWN)
    return kernel_witness(Local.FIXED_PRIORITY, sources, roles, len(sources) - 1, WHOLE_PCPU)


def _on_grid(group: Group, own: Server, verdict: Verdict) -> Witness:
    holds, window_ns = verdict.holds is True, verdict.bound_ns or own.period_ns
    what, finish_ns = ("done", window_ns) if holds else ("deadline", None)
    window = Window(what, window_ns, window_ns, _grid_shares(group, own, window_ns))
    return Witness("deferrable grid", holds, (window,), own.period_ns, finish_ns=finish_ns)


def _grid_shares(group: Group, own: Server, window_ns: int) -> tuple[Share, ...]:
    parts: list[Part] = [("overheads", Role.OVERHEAD, group.lost_ns(window_ns))]
    for other in _first_of(group, own):
        spent_ns, _ = max_spent(other, own.period_ns, window_ns)
        parts.append((other.name, _role(own, other), spent_ns))
    return _shares([*parts, _own(own)], floor)


def _at_their_rates(group: Group, own: Server, verdict: Verdict) -> Witness | None:
    """Both sides rounded so that they say what the exact numbers do; None with overheads."""
    if group.lost:
        return None
    parts = (
        (one.name, Role.OWN if one is own else Role.OTHER, one.bandwidth * own.period_ns)
        for one in group.servers
    )
    shares = _shares(parts, floor if verdict.holds else ceil)
    allowed_ns = floor(gfb_bound(group) * own.period_ns)
    window = Window("period", own.period_ns, allowed_ns, shares)
    return Witness("gfb", verdict.holds is True, (window,), own.period_ns)


def _in_a_period(kind: str, group: Group, own: Server, verdict: Verdict) -> Witness:
    shares = SHARES[kind](group, own, own.period_ns)
    window = Window("period", own.period_ns, own.period_ns, shares)
    return Witness(kind, verdict.holds is True, (window,), own.period_ns)


def _alone(_group: Group, own: Server, _window_ns: int) -> tuple[Share, ...]:
    return _shares([_own(own)], floor)


def _deferrable_edf(group: Group, own: Server, window_ns: int) -> tuple[Share, ...]:
    others = (one for one in group.servers if one is not own)
    parts = ((one.name, Role.OTHER, max_work(one, window_ns)) for one in others)
    return _on_all_pcpus(group, own, parts, window_ns)


def _global_fp(group: Group, own: Server, window_ns: int) -> tuple[Share, ...]:
    parts = (
        (one.name, _role(own, one), max_spent(one, own.period_ns, window_ns)[0])
        for one in _first_of(group, own)
    )
    return _on_all_pcpus(group, own, parts, window_ns)


def _iterative_bcl(group: Group, own: Server, window_ns: int) -> tuple[Share, ...]:
    parts = (
        (one.name, Role.OTHER, max_work(one, window_ns, one.period_ns - bound_ns))
        for one, bound_ns in zip(group.servers, _bounds(group), strict=True)
        if one is not own
    )
    return _on_all_pcpus(group, own, parts, window_ns)


@lru_cache(maxsize=1)
def _bounds(group: Group) -> tuple[int, ...]:
    """Returns by when (ns) each budget is spent; cached, since curves ask in every window."""
    return tuple(verdict.bound_ns or 0 for verdict in iterative_bcl_of_servers(group))


def _on_all_pcpus(
    group: Group, own: Server, parts: Iterable[tuple[str, Role, int]], window_ns: int
) -> tuple[Share, ...]:
    """Each pcpu's part of what the others take, after overheads, and the budget.

    On several pcpus none counts for more than the time that is not the server's own, since more of
    it would run beside others. On one pcpu that changes no verdict, and hides how much is missing.
    """
    if group.pcpus > 1:
        spare_ns = max(0, spare_in(group, own, window_ns))
        parts = ((who, role, min(max_ns, spare_ns)) for who, role, max_ns in parts)
    lost: Part = ("overheads", Role.OVERHEAD, group.lost_ns(window_ns))
    each = ((who, role, Fraction(max_ns, group.pcpus)) for who, role, max_ns in parts)
    return _shares([lost, *each, _own(own)], floor)


def _cbs_fp(group: Group, own: Server, window_ns: int) -> tuple[Share, ...]:
    lost = sum(
        (
            Fraction(load.wcet * (window_ns + load.jitter + load.period), load.period)
            for load in group.lost
        ),
        Fraction(0),
    )
    parts: list[Part] = [("overheads", Role.OVERHEAD, lost)]
    for other in _first_of(group, own):
        early_ns = other.period_ns - other.budget_ns
        parts.append((other.name, _role(own, other), other.bandwidth * (window_ns + early_ns)))
    return _shares([*parts, _own(own)], ceil)


def _own(own: Server) -> Part:
    return own.name, Role.OWN, own.budget_ns


def _shares(parts: Iterable[Part], rounded: Callable[[Fraction], int]) -> tuple[Share, ...]:
    """Shares of what is no whole number: the sum is rounded, and they add up to it."""
    total, told_ns = Fraction(0), 0
    shares = []
    for who, role, amount in parts:
        total += amount
        sum_ns = rounded(total)
        shares.append(Share(who, role, sum_ns - told_ns))
        told_ns = sum_ns
    return tuple(share for share in shares if share.time_ns)


SHARES: dict[str, Shares] = {
    "a pcpu each": _alone,
    "deferrable grid": _grid_shares,
    "deferrable edf": _deferrable_edf,
    "global fixed priority": _global_fp,
    "iterative bcl": _iterative_bcl,
    "cbs fixed priority": _cbs_fp,
}
"""What is asked for in a window, by the kind of witness: for curves."""
