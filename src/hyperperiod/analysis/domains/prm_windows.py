# SPDX-License-Identifier: BSD-2-Clause
"""Tasks on a periodic resource of which windows lose time: fixed priority and EDF.

Papers: those of `prm_fixed_priority` and `prm_edf`; Tindell, Burns and Wellings, Real-Time Systems
1994, for what interrupts as a load above all tasks.

A window of length t has the supply of one shorter by D, and loses C once and the request bound L(t)
(`window_loss`). So a window serves its tasks if, for t' = t - D,

    sbf(t')  >=  C + L(t' + D) + their work in a window of t' + D

which is the test without losses for other loads. All jitters, those of L included, grow by D, and
all deadlines shrink by it; C is blocking of every task; and L is
- under fixed priority a load above all tasks: their responses are found in t', and are D longer;
- under EDF a load of which as much is due in every window in which anything is due: with the
  shortest deadline d of a task, the deadline d and a jitter larger by d - 1, since then
  floor((t' - d + J + d - 1) / T) + 1 = ceil((t' + J) / T) for all t' >= d.

Assumptions: those of the two tests, and of the loss. Inputs: a component, the supply of whole
budgets, the loss. Result: a verdict for the set and one per source; None under FIFO, where nothing
is above all tasks. Errors: none. Only sufficient: true or null.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod import _analysis
from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Component, Load, Source
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.analysis.window_loss import WindowLoss

NOT_CONFIRMED = "with overheads the test is only sufficient: it does not confirm it"


def judge_windows(
    component: Component, supply: Supply, loss: WindowLoss
) -> tuple[Verdict, list[Verdict]] | None:
    """The verdict on all tasks and on each of them, in order of the component."""
    loads = [
        load._replace(
            jitter=load.jitter + loss.late_ns,
            deadline=load.deadline - loss.late_ns,
            blocking=load.blocking + loss.once_ns,
        )
        for load in component.loads
    ]
    if component.local is Local.FIFO or not loads:
        return None
    if min(load.deadline for load in loads) <= 0:
        unknown = Verdict.unknown(NOT_CONFIRMED)
        return unknown, [unknown] * len(loads)
    lost = [load._replace(jitter=load.jitter + loss.late_ns) for load in loss.loads]
    if component.local is Local.EDF:
        whole = _edf(loads, lost, supply)
        return whole, [
            Verdict.yes(source.load.deadline) if whole.holds else whole
            for source in component.sources
        ]
    verdicts = [
        _response([*lost, *loads[: index + 1]], supply, loss.late_ns) for index in range(len(loads))
    ]
    return all_of(verdicts), verdicts


def _response(loads: Sequence[Load], supply: Supply, late_ns: int) -> Verdict:
    """The verdict for the last load, which is below all others."""
    found, bound_ns = _analysis.last_response(
        loads, supply.shape, supply.period_ns, supply.budget_ns, supply.deadline_ns
    )
    if found is _analysis.Verdict.HOLDS:
        return Verdict.yes(bound_ns + late_ns)
    return Verdict.unknown(NOT_CONFIRMED)


def _edf(loads: Sequence[Load], lost: Sequence[Load], supply: Supply) -> Verdict:
    shortest_ns = min(load.deadline for load in loads)
    due = [
        load._replace(deadline=shortest_ns, jitter=load.jitter + shortest_ns - 1) for load in lost
    ]
    sources = tuple(Source("", load) for load in (*loads, *due))
    whole = edf(Component(Local.EDF, sources), supply)
    return Verdict.yes() if whole.holds else Verdict.unknown(NOT_CONFIRMED)
