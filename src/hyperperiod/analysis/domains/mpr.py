# SPDX-License-Identifier: BSD-2-Clause
"""Tasks under global EDF on the vcpus of one domain: the multiprocessor periodic resource.

Papers: Shin, Easwaran and Lee, "Hierarchical scheduling framework for virtual clustering of
multiprocessors", ECRTS 2008; Easwaran, Shin and Lee, "Optimal virtual cluster-based
multiprocessor scheduling", Real-Time Systems 2009 (MPR: in every period P a cluster gets Q time
units, at most m at once). A domain of m vcpus under one interface (P, B) is MPR with Q = m B.

Supply. What the vcpus surely get together is the sum of what each gets: m sbf(t), with the bound
of one vcpu (`supply_bound`). That holds whatever the phases between them, and it equals the least
supply of MPR with Q = m B: all early in one period, all late in the next (`min_supply`).

Test. All deadlines are met if for every load k and every window L = D_k + A, A >= 0,
  sum of N_i(L) + the m - 1 largest of (C_i(L) - N_i(L)) < supply(L) - m (C_k - 1)
in the smallest time unit, with
  N_i = min(W_i, L - C_k + 1),  C_i = min(W_i + c_i, L - C_k + 1)  for i != k,
  N_k = min(W_k - C_k, A),      C_k = min(W_k - C_k + c_k, A),
  W_i = n C_i, n = floor((L + T_i - D_i) / T_i),  c_i = min(C_i, max(0, L - n T_i)).

Why. Take the first deadline missed, by a job of k, and only jobs due no later. Go back from its
release to the last unit in which none of these waited and fewer than m of them ran; let the window
begin after it and end at the deadline. At most m - 1 jobs were pending there, so at most that many
are carried in. In every later unit all that was supplied was used, or as much as m vcpus can
supply. The job ran for at most C_k - 1 units, in which at most m (C_k - 1) was supplied. Of the
other units take L - C_k + 1: at least supply(L) - m (C_k - 1) was used there by others, each of
which ran no longer than these units are many, nor longer than what it can bring with deadlines in
the window. The papers take L - C_k units and let both sides be equal; so they accept three tasks
with C, D, T = 5, 6, 100 on two whole pcpus (`tests/support/published_mpr.py`), where the third
ends at 10.

No window beyond a horizon can fail: there the line above the left side is below the line under
the supply. Without room between utilization and bandwidth there is no horizon, and no answer.

Assumptions: sporadic tasks with deadlines within periods, jitter as in `multiprocessor.sporadic`; a
job runs on any vcpu of its domain and moves when it has to; while a job waits, all vcpus of the
domain have work, and servers lose little by the gaps between (`virtual_multiprocessor`). On whole
pcpus (B = P) the tests of `analysis.multiprocessor` are asked as well.

Inputs: loads in nanoseconds (or any unit), the supply of one vcpu, the number of vcpus. Results:
one verdict for all loads, null where it is not confirmed; a least budget, exact for this test,
since supply only grows with it. Errors: ValueError without a vcpu.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hyperperiod import _analysis
from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.domains.minimal_budget import MinimalBudget
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.multiprocessor.baker import baker
from hyperperiod.analysis.multiprocessor.bcl import bcl
from hyperperiod.analysis.multiprocessor.gfb import gfb
from hyperperiod.analysis.multiprocessor.iterative_bcl import iterative_bcl
from hyperperiod.analysis.multiprocessor.sporadic import as_sporadic
from hyperperiod.analysis.verdict import NamedVerdict, Verdict
from hyperperiod.analysis.witness import Role, Share, Window, Witness
from hyperperiod.model import format_time


def mpr(loads: Sequence[Load], supply: Supply, vcpus: int) -> Verdict:
    """Whether the loads meet their deadlines on so many vcpus with this supply each."""
    return judge_cluster(loads, supply, vcpus, 0)


def minimal_mpr_budget(
    loads: Sequence[Load], shape: Shape, period_ns: int, vcpus: int, granule_ns: int = 1
) -> MinimalBudget:
    """The least budget of each vcpus for the period; `exact` is that of the test."""
    return min_cluster_budget(loads, shape, period_ns, (vcpus, 0), granule_ns)


def min_supply(period: int, resource: int, vcpus: int, window: int) -> int:
    """The least that MPR (period, resource, vcpus) brings in a window, in whole time units.

    All of one period comes at once and as wide as it may, just before the window or ending a
    unit of less width inside it; that of the last period comes as late as it may.
    """
    whole, rest = divmod(resource, vcpus)
    ends = [(whole, rest)] if rest == 0 else [(whole, rest), (whole + 1, 0)]
    return min(_after(period, resource, vcpus, window - (period - end), left) for end, left in ends)


def _after(period: int, resource: int, vcpus: int, window: int, left: int) -> int:
    """Supply of a window that begins where only `left` more comes before the period ends."""
    if window < 0:
        return 0
    periods, rest = divmod(window, period)
    return left + periods * resource + max(0, resource - vcpus * (period - rest))


def judge_cluster(loads: Sequence[Load], supply: Supply, shared: int, whole: int) -> Verdict:
    """The verdict on vcpus that share pcpus and others that have one for themselves."""
    sporadic = as_sporadic(loads, shared + whole)
    if isinstance(sporadic, Verdict):
        return sporadic
    if supply.budget_ns == supply.period_ns and on_whole_pcpus(sporadic, shared + whole):
        return Verdict.yes()
    return _judge_by_supply(loads, supply, shared, whole)


def mpr_witness(component: Component, index: int, supply: Supply, vcpus: int) -> Witness | None:
    """Returns the window of a source on so many vcpus; of the first late one if not all hold.

    None where no window was looked at, or where a test for whole pcpus said yes.
    """
    loads, sources = component.loads, component.sources
    rows = kinds_of(supply, vcpus, 0)
    if isinstance(as_sporadic(loads, vcpus), Verdict):
        return None
    confirmed, failed, _ = _analysis.judge_cluster(loads, rows)
    holds = confirmed is _analysis.Verdict.HOLDS
    if not holds and mpr(loads, supply, vcpus).holds:
        return None
    which = index if holds else failed
    _, window_ns, supply_ns, ahead_ns, parts = _analysis.cluster_witness(loads, which, rows)
    parts[which : which + 1] = [part_ns + ahead_ns for part_ns in parts[which : which + 1]]
    shares = tuple(
        Share(source.name, Role.OWN if number == which else Role.OTHER, part_ns)
        for number, (source, part_ns) in enumerate(zip(sources, parts, strict=False))
        if part_ns
    )
    window = Window("tightest" if holds else "far", window_ns, supply_ns, shares)
    if window_ns == 0 or (window.short_ns <= 0) is not holds:
        return None  # given up before any window, or before one that is short
    moved = (*loads[:which], *loads[which + 1 :], loads[which])
    return Witness("gedf", True if holds else None, (window,), window_ns, loads=moved)


def mpr_tests(loads: Sequence[Load], supply: Supply, vcpus: int) -> tuple[NamedVerdict, ...]:
    """Each test that applies, beside the others: on whole pcpus also those of tasks."""
    said = as_sporadic(loads, vcpus)
    if not isinstance(said, Verdict):
        said = _judge_by_supply(loads, supply, vcpus, 0)
    by_supply = NamedVerdict("gedf, mpr", "Easwaran, Shin and Lee 2009", True, said)
    if supply.budget_ns < supply.period_ns:
        return (by_supply,)
    return (
        by_supply,
        NamedVerdict("gedf, gfb", "Goossens, Funk and Baruah 2003", True, gfb(loads, vcpus)),
        NamedVerdict("gedf, bcl", "Bertogna et al. 2005", True, bcl(loads, vcpus)),
        NamedVerdict(
            "gedf, iterative bcl", "Bertogna et al. 2009", True, iterative_bcl(loads, vcpus).whole
        ),
        NamedVerdict("gedf, baker", "Baker 2003", True, baker(loads, vcpus)),
    )


def _judge_by_supply(loads: Sequence[Load], supply: Supply, shared: int, whole: int) -> Verdict:
    utilization = sum((Fraction(load.wcet, load.period) for load in loads), Fraction(0))
    if utilization > whole + shared * supply.bandwidth:
        return Verdict.no("the tasks ask for more than the bandwidth of the interface")
    found, index, window = _analysis.judge_cluster(loads, kinds_of(supply, shared, whole))
    if found is _analysis.Verdict.HOLDS:
        return Verdict.yes()
    where = f" in a window of {format_time(window)}" if window else ""
    return Verdict.unknown(
        f"load {index + 1}{where}: the test of global edf on vcpus is only sufficient,"
        " and does not confirm it"
    )


def kinds_of(supply: Supply, shared: int, whole: int) -> list[tuple[Shape, int, int, int, int]]:
    """Vcpus with this supply and whole pcpus beside them, as the kernels take them."""
    pcpus = [(Shape.GENERAL, 1, 1, 1, whole)] if whole else []
    return [*pcpus, (*supply.numbers, shared)]


def min_cluster_budget(
    loads: Sequence[Load],
    shape: Shape,
    period_ns: int,
    vcpus: tuple[int, int],
    granule_ns: int,
) -> MinimalBudget:
    """The least budget of each shared vcpu beside the whole ones: (shared, whole)."""
    shared, whole = vcpus
    if not isinstance(as_sporadic(loads, shared + whole), Verdict):
        budget_ns, exact = _analysis.minimal_cluster_budget(
            loads, shape, period_ns, granule_ns, shared, whole
        )
        full_ns = period_ns - period_ns % granule_ns
        if budget_ns is None and full_ns == period_ns and on_whole_pcpus(loads, shared + whole):
            return MinimalBudget(full_ns, False)
        return MinimalBudget(budget_ns, exact)
    return MinimalBudget(None, False)


def on_whole_pcpus(loads: Sequence[Load], pcpus: int) -> bool:
    """Whether a test of global EDF for pcpus that always run confirms all loads."""
    tests = (
        gfb(loads, pcpus).holds,
        iterative_bcl(loads, pcpus).whole.holds,
        baker(loads, pcpus).holds,
    )
    return any(tests)
