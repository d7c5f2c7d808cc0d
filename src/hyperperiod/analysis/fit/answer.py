# SPDX-License-Identifier: BSD-2-Clause
"""What is asked of `fit`, what it says meanwhile, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from hyperperiod.analysis.driver_loop.driver_flows import Loop
from hyperperiod.analysis.fit.candidates import BudgetGrid
from hyperperiod.analysis.fit.problem import Choice, FitProblem
from hyperperiod.analysis.fit.scoring import Least, Score
from hyperperiod.analysis.result import BoundGuest
from hyperperiod.model import System
from hyperperiod.tabular import Row, Tabular

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LoopRule(StrEnum):
    """The inequalities that a driver loop must meet: those that are proved, or the paper's."""

    SOUND = "sound"
    PAPER = "paper"


@dataclass(frozen=True)
class Options:
    """The options of a fit. `within` is a share of the least bandwidth, for the least overhead.

    `limit_s` is in seconds of processor time. `rule` is for driver loops: by which inequalities.
    """

    least: Least = Least.BANDWIDTH
    within: Fraction | None = None
    fewest: bool = False
    periods: tuple[int, int] | None = None
    step_ns: int | None = None
    limit_s: float = 10.0
    solver: bool = True
    rule: LoopRule = LoopRule.SOUND


@dataclass(frozen=True)
class Progress:
    """What is being done, and the best so far in what is asked for."""

    doing: str
    best: float | None = None
    bound: float | None = None


Listener = Callable[[Progress], None]


@dataclass
class Fitted(Tabular):
    """The answer; `system` is complete where there is one.

    It is proved schedulable, but for the status "not proved". `loop` is there for a driver loop.
    Where vcpus were fitted one by one, `before` and `parts` have each of them as a domain of its
    own, before and as fitted. `exhausted`: no other choice among the candidates is better.
    `settled`: vcpus between which jobs move, whose interfaces were chosen before the search.
    `bound`: guests whose jobs move and that would need less with their tasks bound to vcpus.
    """

    status: str
    options: Options
    grid: BudgetGrid
    before: System
    system: System | None = None
    reason: str = ""
    interrupted: bool = False
    problem: FitProblem | None = None
    choice: Choice | None = None
    heuristic: Score | None = None
    # In pcpus: utilization, relaxation (least interfaces), search; in cost: search.
    bandwidth_bounds: dict[str, Fraction] = field(default_factory=dict)
    cost_bound: Fraction | None = None
    min_bandwidth_found: Fraction | None = None
    fewest_proved: bool | None = None
    loop: Loop | None = None
    parts: System | None = None
    exhausted: bool = False
    settled: frozenset[str] = frozenset()
    bound: tuple[BoundGuest, ...] = ()
    rounds: int = 0
    cuts: int = 0
    seconds: float = 0.0

    TABLES: ClassVar[tuple[str, ...]] = ("vcpus",)

    @property
    def headline(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        found = ""
        if self.system is not None:
            pcpus = sum((row["bandwidth"] or 0.0 for row in self._rows("vcpus")), 0.0)
            found = f", servers of {pcpus:.4g} pcpus"
        return f"{self.before.name} under {self.before.policy}: {self.status}{reason}{found}"

    def _rows(self, _table: str) -> Iterator[Row]:
        """What each vcpu was given; nothing where there is no answer."""
        for domain in self.system.domains if self.system is not None else ():
            for name, keys in zip(domain.vcpu_names, domain.each_vcpu, strict=True):
                interface = keys.interface
                yield {
                    "domain": domain.name,
                    "vcpu": name,
                    "pcpu": keys.pcpu,
                    "priority": keys.priority,
                    "period_ns": interface.period_ns if interface else None,
                    "budget_ns": interface.budget_ns if interface else None,
                    "bandwidth": float(interface.bandwidth) if interface else None,
                }

    def _draw(self, ax: Axes) -> None:
        """The servers on each pcpu."""
        from hyperperiod.plots import draw_stacks

        stacks: dict[str, list[tuple[str, float]]] = {}
        for row in self._rows("vcpus"):
            where = "all pcpus" if row["pcpu"] is None else f"pcpu {row['pcpu']}"
            if row["bandwidth"] is not None:
                stacks.setdefault(where, []).append((row["vcpu"], row["bandwidth"]))
        draw_stacks(ax, dict(sorted(stacks.items())), "bandwidth of the servers")
