# SPDX-License-Identifier: BSD-2-Clause
"""What is asked for, and how two choices compare.

A score is two whole numbers: bandwidth in the problem's units, and the cost of events per second
in thousandths of an event (whole nanoseconds with overheads), both rounded down bin by bin.
Whichever is asked for comes first; the other breaks ties. A limit on bandwidth makes choices above
it worthless (`--within`). With overheads, the bandwidth is that of the budgets which the bins need.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from hyperperiod.analysis.fit.cost import CostModel, own_cost
from hyperperiod.analysis.fit.pcpu_test import PcpuTest
from hyperperiod.analysis.fit.problem import Assignment, FitProblem


class Least(StrEnum):
    """The quantity that `fit` makes least, among all choices that hold."""

    BANDWIDTH = "bandwidth"
    OVERHEAD = "overhead"


class Score(NamedTuple):
    bandwidth: int
    cost: int

    def __add__(self, other: tuple[int, ...]) -> Score:  # type: ignore[override]
        return Score(self.bandwidth + other[0], self.cost + other[1])


class Scorer:
    """Scores the bins of one problem, each once."""

    def __init__(
        self, problem: FitProblem, least: Least, test: PcpuTest, limit: int | None = None
    ) -> None:
        self.problem, self.least, self.test, self.limit = problem, least, test, limit
        self.model = CostModel(problem)
        self._costs: dict[frozenset[tuple[int, int]], int] = {}

    def bin(self, members: Iterable[tuple[int, int]], number: int) -> Score | None:
        """The score of a bin, or None if its domains may not share a pcpu."""
        chosen = frozenset(members)
        found = self.test.judge(chosen, number)
        if not found.holds:
            return None
        return Score(self._weight(chosen, found.budgets), self._cost(chosen))

    def total(self, choice: Sequence[Assignment]) -> Score | None:
        """The score of a choice, or None if some bin of it does not hold."""
        whole = Score(0, 0)
        for number, members in self.problem.members(choice).items():
            part = self.bin(members, number)
            if part is None:
                return None
            whole += part
        return whole

    def min_cost(self, selection: Sequence[int]) -> int:
        """Returns the cost of the servers' own depletions and switches, whoever is beside them."""
        prices = self.model.prices
        total = sum(
            (
                own_cost(item, item.candidates[candidate], prices)
                for item, candidate in zip(self.problem.items, selection, strict=True)
            ),
            Fraction(0),
        )
        return int(total * prices.scale)

    def key(self, score: Score) -> tuple[int, int, int]:
        """Smaller is better; anything above the limit is worse than everything below it."""
        over = 0 if self.limit is None else max(0, score.bandwidth - self.limit)
        if self.least is Least.BANDWIDTH:
            return over, score.bandwidth, score.cost
        return over, score.cost, score.bandwidth

    def allowed(self, score: Score) -> bool:
        return self.limit is None or score.bandwidth <= self.limit

    def _weight(self, members: frozenset[tuple[int, int]], budgets: dict[int, int]) -> int:
        problem = self.problem
        if not self.test.coupled:
            return sum(problem.weights[i][c] for i, c in members)
        return sum(
            problem.items[i].vcpus
            * problem.unit
            * budgets[i]
            // problem.items[i].candidates[c].period_ns
            for i, c in members
        )

    def _cost(self, members: frozenset[tuple[int, int]]) -> int:
        if members not in self._costs:
            self._costs[members] = int(self.model.cost(members) * self.model.prices.scale)
        return self._costs[members]
