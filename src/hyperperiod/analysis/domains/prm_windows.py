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
is above all tasks; the witness of a yes. Errors: none. Only sufficient: true or null.
"""

from __future__ import annotations

from collections.abc import Sequence

from hyperperiod import _analysis
from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.analysis.window_loss import WindowLoss
from hyperperiod.analysis.witness import Role, Share, Window, Witness, kernel_witness

NOT_CONFIRMED = "with overheads the test is only sufficient: it does not confirm it"


def judge_windows(
    component: Component, supply: Supply, loss: WindowLoss
) -> tuple[Verdict, list[Verdict]] | None:
    """The verdict on all tasks and on each of them, in order of the component."""
    loads = _later(component, loss)
    if component.local in (Local.FIFO, Local.EXECUTOR) or not loads:
        return None
    if min(load.deadline for load in loads) <= 0:
        unknown = Verdict.unknown(NOT_CONFIRMED)
        return unknown, [unknown] * len(loads)
    lost = _lost(component, loads, loss)
    if component.local is Local.EDF:
        sources = tuple(NamedLoad("", load) for load in (*loads, *lost))
        holds = edf(Component(Local.EDF, sources), supply).holds
        return _confirmed(holds=holds), [
            _confirmed(source.load.deadline, holds=holds) for source in component.sources
        ]
    verdicts = [
        _response([*lost, *loads[: index + 1]], supply, loss.late_ns) for index in range(len(loads))
    ]
    return all_of(verdicts), verdicts


def windows_witness(component: Component, index: int, supply: Supply, loss: WindowLoss) -> Witness:
    """Returns the window by which `judge_windows` confirms a source, by the same tests.

    Windows, deadline and completion are those of t, loads what is asked for in windows of t.
    """
    loads = _later(component, loss)
    lost = [NamedLoad("overheads", load) for load in _lost(component, loads, loss)]
    tasks = [
        source._replace(load=load) for source, load in zip(component.sources, loads, strict=True)
    ]
    if component.local is Local.EDF:
        roles = [Role.OWN if at == index else Role.OTHER for at in range(len(tasks))]
        roles += [Role.OVERHEAD] * len(lost)
        found = kernel_witness(Local.EDF, [*tasks, *lost], roles, index, supply)
        loads = [load._replace(deadline=load.deadline + loss.late_ns) for load in found.loads]
    else:
        roles = [*[Role.OVERHEAD] * len(lost), *[Role.HIGHER] * index, Role.OWN]
        sources = [*lost, *tasks[: index + 1]]
        found = kernel_witness(component.local, sources, roles, len(sources) - 1, supply)
        loads = [load._replace(jitter=load.jitter - loss.late_ns) for load in found.loads]
    return found._replace(
        windows=tuple(_with_loss(window, loss) for window in found.windows),
        deadline_ns=found.deadline_ns + loss.late_ns,
        finish_ns=None if found.finish_ns is None else found.finish_ns + loss.late_ns,
        loads=tuple(loads),
    )


def _with_loss(window: Window, loss: WindowLoss) -> Window:
    """The window of t, in which what is lost once is told apart from blocking."""
    shares = list(window.shares)
    for at, share in enumerate(shares):
        if share.role is Role.BLOCKING:
            once_ns = min(loss.once_ns, share.time_ns)
            blocked = share._replace(time_ns=share.time_ns - once_ns)
            once = Share("overheads", Role.OVERHEAD, once_ns)
            shares[at : at + 1] = [one for one in (blocked, once) if one.time_ns]
            break
    return window._replace(window_ns=window.window_ns + loss.late_ns, shares=tuple(shares))


def _later(component: Component, loss: WindowLoss) -> list[Load]:
    """Returns the loads of the tasks as they are in windows of t' = t - D (see above)."""
    return [
        load._replace(
            jitter=load.jitter + loss.late_ns,
            deadline=load.deadline - loss.late_ns,
            blocking=load.blocking + loss.once_ns,
        )
        for load in component.loads
    ]


def _lost(component: Component, loads: Sequence[Load], loss: WindowLoss) -> list[Load]:
    """Returns as loads what windows of t' lose beside these loads of tasks."""
    lost = [load._replace(jitter=load.jitter + loss.late_ns) for load in loss.loads]
    if component.local is not Local.EDF:
        return lost
    shortest_ns = min(load.deadline for load in loads)
    return [
        load._replace(deadline=shortest_ns, jitter=load.jitter + shortest_ns - 1) for load in lost
    ]


def _confirmed(bound_ns: int | None = None, *, holds: bool | None) -> Verdict:
    return Verdict.yes(bound_ns) if holds else Verdict.unknown(NOT_CONFIRMED)


def _response(loads: Sequence[Load], supply: Supply, late_ns: int) -> Verdict:
    """The verdict for the last load, which is below all others."""
    found, bound_ns = supply.last_response(loads)
    return _confirmed(bound_ns + late_ns, holds=found is _analysis.Verdict.HOLDS)
