# SPDX-License-Identifier: BSD-2-Clause
"""The result of a fit: what `fit --json` prints. docs/fit.md has every key.

Bandwidths are shares of a pcpu, rates are per second, times whole nanoseconds. "before" is the
system as the file has it, "found" with what was chosen; null where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hyperperiod.analysis.result import BoundGuest
from hyperperiod.model.absent import ABSENT, Absent
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.vcpus import InterfaceResult

BOUND_NAMES: Final = {
    "utilization": "the tasks' utilization",
    "relaxation": "every domain's best on the grid",
    "search": "the search",
}
"""What the bounds of a fit's bandwidth are called."""


class FitAsked(ResultObject):
    """What was asked for: `rule` stands there for driver loops."""

    least: str
    within: float | None
    fewest: bool
    pcpus: int
    grid_ns: int
    periods_ns: tuple[int, int] | None
    time_limit_s: float | None
    rule: str | None = None


class FitBandwidth(ResultObject):
    """Bandwidths of all servers together, and how far what was found is above what is proved."""

    before: float | None
    found: float | None
    lower_bound: float | None
    gap: float | None
    grid_gap: float | None
    bounds: Mapping[str, float]


class FitRates(ResultObject):
    """What the scheduler has to do per second; `cost` is in the unit that stands beside."""

    runs: float
    depletions: float
    switches: float
    events: float
    cost: float


class FitEvents(ResultObject):
    """Rates of the system before and as found, and how far above what is proved."""

    unit: str
    before: FitRates | None
    found: FitRates | None
    lower_bound: float | None
    gap: float | None


class FitPcpu(ResultObject):
    """What is on a pcpu, under a global policy on all of them; no rates where slices are fitted."""

    id: int | None
    bandwidth: float
    domains: tuple[str, ...]
    runs: float | None = None
    depletions: float | None = None
    switches: float | None = None
    events: float | None = None
    cost: float | None = None


class FitDomain(ResultObject):
    """A domain: what the file gives, what it needs alone, and what was chosen, if anything was."""

    name: str
    vcpus: int
    utilization: float
    given: tuple[str, ...]
    before: InterfaceResult | None
    least_bandwidth: float | None = None
    candidates: int | None = None
    interface: InterfaceResult | Absent | None = ABSENT
    pcpu: int | Absent | None = ABSENT
    priority: int | Absent | None = ABSENT


class FitInequality(ResultObject):
    """One inequality of a paper; nothing on the left: there is none up to the right side."""

    inequality: str
    left_ns: int | None
    right_ns: int
    holds: bool


class FitFlow(ResultObject):
    """A flow of a driver loop: the parts of our bound, and the inequalities of the paper."""

    name: str
    domain: str
    deadline_ns: int
    in_ns: int | Absent | None = ABSENT
    answer_ns: int | Absent | None = ABSENT
    out_ns: int | Absent | None = ABSENT
    bound_ns: int | Absent | None = ABSENT
    holds: bool | Absent | None = ABSENT
    paper: tuple[FitInequality, ...] = ()


class FitSearch(ResultObject):
    """How it was found: the value that the heuristics had, and whether fewer pcpus are refuted."""

    seconds: float
    solver: str | None
    rounds: int
    cuts: int
    heuristic: float | None = None
    fewest_proved: bool | None = None


class FitResult(ResultObject):
    """What was chosen, and how far from the best it can be."""

    system: str
    policy: str
    status: str
    reason: str = ""
    interrupted: bool = False
    asked: FitAsked
    bandwidth: FitBandwidth
    events: FitEvents
    pcpus: tuple[FitPcpu, ...]
    domains: tuple[FitDomain, ...]
    flows: tuple[FitFlow, ...] = ()
    bound: tuple[BoundGuest, ...] = ()
    search: FitSearch
