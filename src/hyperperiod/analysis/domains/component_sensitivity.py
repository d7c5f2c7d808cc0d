# SPDX-License-Identifier: BSD-2-Clause
"""How far the tasks on one vcpu are from missing a deadline: what each wcet, deadline has to spare.

`cluster_sensitivity` is the same for jobs that move between vcpus; `domain_sensitivity` puts the
answers of a domain together and adds what its budget has to spare.

Papers: Bini, Di Natale and Buttazzo, "Sensitivity analysis for fixed-priority real-time systems",
Real-Time Systems 2008; Lehoczky, Sha and Ding, RTSS 1989, for the factor by which all tasks can
grow together (the critical scaling factor).

Every answer is the last value that the test of the local scheduler still confirms, found by
bisection, or under EDF by one visit to the windows: more work, an earlier deadline or a smaller
budget never makes a test come out better. So all answers are safe, and sharp wherever the test is
exact; `exact` is false in the rare case that a value beyond was too hard to judge.
- `largest_wcet`: of one task, all others as they are. Below its wcet, or None, where deadlines
  are missed already.
- `slack`: by how much the deadline could be shorter, everything else as it is (priorities too), and
  still be met with all others. Under fixed priority and fifo that is the deadline less the response
  bound. Under EDF it is no statement about responses: a task's jobs are sure to end by their
  deadline only, and a shorter deadline would bring them forward.
- `factor`: the largest by which all wcets, each rounded up to a whole unit, can be multiplied. The
  test changes its mind only where one of them passes a whole number, so the factor is a fraction
  with one of the wcets below the line, and exact.

Assumptions: those of the tests (`prm_fixed_priority`, `prm_edf`, `prm_fifo`). A pcpu of
their own is the supply `WHOLE_PCPU`; what is inside a domain stands under its interface and holds
if the server gets its budget.

Inputs: a component, a supply. Results: as above, in the unit of the component (nanoseconds), the
factor as a fraction. Errors: none; a component that no test covers (tasks below a busy one, fifo
beside one, executors) has no sensitivity: None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from hyperperiod import _analysis
from hyperperiod._analysis import Local
from hyperperiod.analysis.bisection import looks_for
from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.domains.prm_fifo import fifo
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import WHOLE_PCPU, Supply


@dataclass(frozen=True)
class TaskSensitivity:
    """The margins of one task; None where not even its present numbers are confirmed."""

    name: str
    wcet_ns: int
    largest_wcet_ns: int | None
    slack_ns: int | None
    exact: bool


@dataclass(frozen=True)
class Sensitivity:
    """The tasks in order of priority, and the factor for all together."""

    tasks: tuple[TaskSensitivity, ...]
    factor: Fraction | None
    exact: bool


def component_sensitivity(component: Component, supply: Supply = WHOLE_PCPU) -> Sensitivity | None:
    """Returns the margins of a component on this supply; None where no test covers it."""
    covered = component.sources and component.local is not Local.EXECUTOR
    if not covered or component.starved or component.fifo_with_busy:
        return None
    grown = _analysis.largest_wcets(component.local, component.loads, supply.numbers)
    slacks = _slacks(component, supply)
    tasks = tuple(
        TaskSensitivity(source.name, source.load.wcet, wcet_ns, slack_ns, exact and sure)
        for source, (wcet_ns, exact), (slack_ns, sure) in zip(
            component.sources, grown, slacks, strict=True
        )
    )
    factor, exact = largest_factor(component, supply)
    return Sensitivity(tasks, factor, exact)


def largest_factor(
    component: Component, supply: Supply = WHOLE_PCPU
) -> tuple[Fraction | None, bool]:
    """The most by which all wcets can be multiplied, and whether it surely is the most.

    None if not even one unit of work each is confirmed.
    """
    loads = component.loads
    search = _FactorSearch(component.local, supply)
    if not search.holds([load._replace(wcet=1) for load in loads]):
        return None, search.exact
    # Between one unit each and the first that no longer fits before its own deadline.
    working = Fraction(1, max(load.wcet for load in loads))
    failing = min(Fraction(load.deadline + 1, load.wcet) for load in loads)
    while (failing - working) * max(load.wcet for load in loads) > 1:
        middle = _simple_between(working, failing)
        if search.holds(scaled(loads, middle)):
            working = middle
        else:
            failing = middle
    # The next step from `working` on asks for the same whole wcets, so some step holds.
    steps = sorted(_steps(loads, working, failing), reverse=True)
    return next(step for step in steps if search.holds(scaled(loads, step))), search.exact


def scaled(loads: Iterable[Load], factor: Fraction) -> list[Load]:
    """The loads with every wcet multiplied by the factor and rounded up to a whole unit."""
    return [load._replace(wcet=-(-load.wcet * factor // 1)) for load in loads]


@dataclass
class _FactorSearch:
    """Tests of one search; `exact` turns false when one was too hard."""

    local: Local
    supply: Supply
    exact: bool = True

    def holds(self, loads: list[Load]) -> bool:
        looks = looks_for(len(loads))
        found, _ = _analysis.judge(self.local, loads, self.supply.numbers, looks)
        self.exact = self.exact and found is not _analysis.Verdict.UNKNOWN
        return found is _analysis.Verdict.HOLDS


def _simple_between(low: Fraction, high: Fraction) -> Fraction:
    """A fraction of few digits in the middle half of a range."""
    width = high - low
    digits = -(-4 // width)
    return Fraction(round((low + high) / 2 * digits), digits)


def _steps(loads: Iterable[Load], low: Fraction, high: Fraction) -> set[Fraction]:
    """Returns the factors in [low, high) at which some scaled wcet is a whole number."""
    return {
        factor
        for load in loads
        for whole in range(-(-low * load.wcet // 1), -(-high * load.wcet // 1))
        if low <= (factor := Fraction(whole, load.wcet)) < high
    }


def _slacks(component: Component, supply: Supply) -> list[tuple[int | None, bool]]:
    """The slack of each task, None where its deadline is missed, and whether it surely is all."""
    if component.local is Local.EDF:
        deadlines = _analysis.shortest_deadlines(component.local, component.loads, supply.numbers)
        return [
            (None if shortest is None else load.deadline - shortest, exact)
            for load, (shortest, exact) in zip(component.loads, deadlines, strict=True)
        ]
    test = fifo if component.local is Local.FIFO else fixed_priority
    return [
        (None if verdict.bound_ns is None else load.deadline - verdict.bound_ns, True)
        for load, verdict in zip(component.loads, test(component, supply), strict=True)
    ]
