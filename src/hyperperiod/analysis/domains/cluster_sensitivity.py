# SPDX-License-Identifier: BSD-2-Clause
"""How far a domain whose jobs move is from its edge: `component_sensitivity` for several vcpus.

Papers: those of `virtual_multiprocessor`; for why a confirmed value covers all below it, Ha and
Liu, "Validating timing constraints in multiprocessor and distributed real-time systems", ICDCS
1994: under global EDF and global fixed priority no job ends later because some job needs less time.

Every answer is a value that the test of `virtual_multiprocessor` confirms, found by bisection
between the present value, where that is confirmed, and one that cannot be. The test is only
sufficient, and more work of one task can make it look better for that task; so a larger value may
exist, and `exact` is always false. The factor is a whole number over the largest wcet.

Assumptions: those of `virtual_multiprocessor`. Inputs: the loads of a cluster, the supply of each
vcpu. Result: sensitivities in the unit of the loads, or None without loads. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from hyperperiod.analysis.bisection import last_holding
from hyperperiod.analysis.component import Component, Load
from hyperperiod.analysis.domains.component_sensitivity import (
    Sensitivity,
    TaskSensitivity,
    scaled,
)
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.domains.virtual_multiprocessor import judge_moving_whole


def cluster_sensitivity(component: Component, supplies: Sequence[Supply]) -> Sensitivity | None:
    """Returns how much the tasks may grow on vcpus with these supplies; None without tasks."""
    loads = component.loads
    if not loads:
        return None

    def holds(changed: Sequence[Load]) -> bool:
        return judge_moving_whole(component.local, changed, supplies).holds is True

    tasks = tuple(
        TaskSensitivity(
            source.name,
            source.load.wcet,
            _largest_wcet(loads, index, holds),
            _slack(loads, index, holds),
            exact=False,
        )
        for index, source in enumerate(component.sources)
    )
    return Sensitivity(tasks, _factor(loads, holds), exact=False)


_Holds = Callable[[Sequence[Load]], bool]


def _largest_wcet(loads: Sequence[Load], index: int, holds: _Holds) -> int | None:
    own = loads[index]

    def with_wcet(wcet: int) -> bool:
        return holds(_with(loads, index, own._replace(wcet=wcet)))

    return _last((1, own.wcet, own.deadline), with_wcet)


def _slack(loads: Sequence[Load], index: int, holds: _Holds) -> int | None:
    own = loads[index]

    def with_slack(slack: int) -> bool:
        return holds(_with(loads, index, own._replace(deadline=own.deadline - slack)))

    return _last((0, 0, own.deadline - own.wcet), with_slack)


def _factor(loads: Sequence[Load], holds: _Holds) -> Fraction | None:
    largest = max(load.wcet for load in loads)
    upper = min(Fraction(load.deadline, load.wcet) for load in loads)
    found = _last(
        (1, largest, upper * largest // 1),
        lambda times: holds(scaled(loads, Fraction(times, largest))),
    )
    return None if found is None else Fraction(found, largest)


def _with(loads: Sequence[Load], index: int, load: Load) -> list[Load]:
    return [*loads[:index], load, *loads[index + 1 :]]


def _last(values: tuple[int, int, int], holds: Callable[[int], bool]) -> int | None:
    """The last value found to hold, from (least, present, most); None if the least does not."""
    lower, present, upper = values
    if holds(present):
        working, failing = present, max(present, upper) + 1
    elif present > lower and holds(lower):
        working, failing = lower, present
    else:
        return None
    return last_holding(holds, working, failing)
