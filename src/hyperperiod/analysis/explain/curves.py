# SPDX-License-Identifier: BSD-2-Clause
"""Demand and supply as curves, for the picture of an explanation.

Curves are corners of demand (a staircase: level up to the next corner, then a jump) and of supply
(straight between corners); long ones are thinned for the eye, no number that is told comes from
them. All times are integers in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from hyperperiod import _analysis
from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.budget_in_hand import CarriedJob
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.explain.supplies import (
    CORNERS,
    AnySupply,
    CarriedSupply,
    Corner,
    supply_corners,
)
from hyperperiod.analysis.flows.windows import Inside, asked_by
from hyperperiod.analysis.tasks.demand_bound import blocking, dbf
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.analysis.witness import TESTS, Role, Witness

# Of a demand that does not grow in jumps.
SAMPLES = 400


@dataclass(frozen=True)
class Curves:
    """Both curves up to `end_ns`; without `stairs` the demand grows between its corners."""

    demand: tuple[Corner, ...]
    supply: tuple[Corner, ...]
    blackout_ns: int
    end_ns: int
    stairs: bool = True


def curves(witness: Witness, supply: AnySupply) -> Curves:
    """The curves of a witness of the kernels.

    They reach past what is told: the deadline, the finish if it is near, the longest deadline.
    """
    loads, due_ns, finish_ns = witness.loads, witness.deadline_ns, witness.finish_ns or 0
    if witness.test == TESTS[Local.EDF]:
        longest_ns = max(load.deadline for load in loads)
        end_ns = max(due_ns, min(longest_ns, 3 * due_ns)) * 115 // 100 + 1
        jumps = [_arrivals(load, load.deadline, end_ns) for load in loads]
        return _drawn(jumps, lambda at: dbf(loads, at) + blocking(loads, at), supply, end_ns)
    if witness.test == TESTS[Local.FIFO]:
        far, asked_ns = 3, max(load.blocking for load in loads)
    else:
        own = next(one for one in witness.windows[0].shares if one.role is Role.OWN)
        far, asked_ns, loads = 2, own.time_ns + loads[-1].blocking, loads[:-1]
    end_ns = max(due_ns, min(finish_ns, far * due_ns)) * 108 // 100
    jumps = [_arrivals(load, 0, end_ns) for load in loads]
    return _drawn(jumps, lambda at: asked_ns + rbf(loads, at + 1), supply, end_ns)


def grown(demand: Callable[[int], int], supply_at_end: Callable[[int], int], due_ns: int) -> Curves:
    """The curves of a test that looks at one period of a server, up to a little beyond it."""
    end_ns = due_ns * 108 // 100 + 1
    places = sorted({*range(0, end_ns, max(1, end_ns // SAMPLES)), due_ns, end_ns})
    heights = tuple((at, demand(at)) for at in places)
    return Curves(heights, ((0, 0), (end_ns, supply_at_end(end_ns))), 0, end_ns, stairs=False)


def hand_curves(witness: Witness, job: CarriedJob, supply: CarriedSupply) -> Curves:
    """The curves of a task whose server has budget in hand: what a job waits for, and its end."""
    end_ns = max(witness.deadline_ns, witness.finish_ns or 0) * 108 // 100
    own, above = witness.loads[-1], job.start.above
    asked_ns = job.number * own.wcet + own.blocking
    jumps = [range(max(0, one.first_ns), end_ns + 1, one.load.period) for one in above]

    def asked(at_ns: int) -> int:
        return asked_ns + sum(one.work_in(at_ns + 1) for one in above)

    return _drawn(jumps, asked, supply, end_ns)


def hop_curves(witness: Witness, inside: Inside, name: str) -> Curves:
    """The curves of a task that items release: what its job waits for, in windows of any length."""
    supply = inside.vcpu.supply
    if witness.test == TESTS[Local.EDF]:
        return curves(witness, supply)
    end_ns = max(witness.deadline_ns, witness.finish_ns or 0) * 108 // 100 + 1
    step_ns = max(1, end_ns // SAMPLES)
    return _drawn([range(0, end_ns, step_ns)], asked_by(witness, inside, name), supply, end_ns)


def cluster_curves(witness: Witness, supply: Supply, vcpus: int) -> Curves:
    """The curves of a load, the last of the witness, on so many vcpus: from its deadline on."""
    loads, due_ns = witness.loads, witness.deadline_ns
    first_ns = loads[-1].deadline
    end_ns = max(due_ns, first_ns * 3 // 2) * 115 // 100 + 1
    step_ns = max(1, (end_ns - first_ns) // SAMPLES)
    places = sorted({*range(first_ns, end_ns, step_ns), due_ns, end_ns})
    demand = tuple(
        (at, _analysis.cluster_demand(loads, len(loads) - 1, vcpus, at)) for at in places
    )
    corners = tuple((at, vcpus * min_ns) for at, min_ns in supply_corners(supply, end_ns))
    return Curves(demand, corners, supply.blackout_ns, end_ns, stairs=False)


def _drawn(
    jumps: Sequence[Iterable[int]], height: Callable[[int], int], supply: AnySupply, end_ns: int
) -> Curves:
    demand = staircase(jumps, height, end_ns)
    return Curves(demand, supply_corners(supply, end_ns), supply.blackout_ns, end_ns)


def _arrivals(load: Load, shift_ns: int, end_ns: int) -> Iterator[int]:
    """Yields the earliest instants of jobs, `shift_ns` later, each once, up to the end."""
    yield from (shift_ns,) if shift_ns <= end_ns else ()
    first = load.jitter // load.period + 1
    yield from range(first * load.period - load.jitter + shift_ns, end_ns + 1, load.period)


def staircase(
    jumps: Iterable[Iterable[int]], height: Callable[[int], int], end_ns: int
) -> tuple[Corner, ...]:
    """Corners of a function that grows only at `jumps`; too many are thinned evenly."""
    places: set[int] = {0}
    for of_one in jumps:
        for place in of_one:
            places.add(place)
            if len(places) > CORNERS:
                step = max(1, end_ns // CORNERS)
                places = set(range(0, end_ns + 1, step))
                return _corners(sorted(places), height, end_ns)
    return _corners(sorted(place for place in places if place <= end_ns), height, end_ns)


def _corners(
    places: Sequence[int], height: Callable[[int], int], end_ns: int
) -> tuple[Corner, ...]:
    found = [(place, height(place)) for place in places]
    return (*found, (end_ns, found[-1][1])) if found[-1][0] < end_ns else tuple(found)
