# SPDX-License-Identifier: BSD-2-Clause
"""The supply bound function of a periodic resource, sbf: the least supply in any window.

Papers: Shin and Lee, "Periodic resource model for compositional real-time guarantees", RTSS
2003; Lee et al., "Realizing compositional scheduling through virtualization", RTAS 2012 (the
CSA paper), Eq. 1, for the harmonic form. Easwaran, Anand and Lee, "Compositional analysis
framework using EDP resource models", RTSS 2007, for explicit deadlines. All three shapes are proved
by machine, in proofs/supply.v and proofs/harmonic.v.

Assumptions: the server gets its whole budget in each of its periods in which it has work
throughout (the host-level tests are about that), and the vcpu has work throughout the window.
- GENERAL: nothing else is known. Blackout x = 2 (period - budget). With an explicit deadline
  the budget comes in the first `deadline_ns` of every period: x = period + deadline - 2 budget
  (the EDP model, `edp`; a deadline equal to the period is none).
- HARMONIC: every window begins where a server period begins, or lies within one period.
  Blackout x = period - budget. `harmonic_supply` says when this may be used.
- POLLING: the server loses its budget whenever it finds no work, so work that comes just after
  a refill waits for the next one. Blackout x = 2 period - budget.

A `Staircase` is a bound of any form that repeats, for servers of which more is known
(`servers.known_servers`).

Inputs and results: integers in nanoseconds (any unit will do, if it is the same everywhere).
Errors: ValueError for a budget outside 1..period or above the deadline, a deadline above the
period or beside another shape, or a negative window.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hyperperiod import _analysis
from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Load

Why = tuple[_analysis.Verdict, bool, int, int | None, list[tuple[int, int, int, list[int]]]]
"""Verdict, completeness, release and finish of the job that decides, windows (see `_analysis`)."""


class SupplyBound:
    """A supply that the kernels know, by its `numbers`: what it says of loads (ns)."""

    @property
    def numbers(self) -> _analysis.SupplyRow:
        """The numbers of the supply, as the kernels take them."""
        raise NotImplementedError

    def judge(self, local: Local, loads: Sequence[Load]) -> tuple[_analysis.Verdict, int]:
        """Whether it serves the loads, with a bound or a window that breaks a deadline (ns)."""
        return _analysis.judge(local, loads, self.numbers)

    def last_response(self, loads: Sequence[Load]) -> tuple[_analysis.Verdict, int]:
        """The response bound (ns) of the last load below the others."""
        return _analysis.last_response(loads, self.numbers)

    def responses(self, loads: Sequence[Load]) -> list[tuple[_analysis.Verdict, int]]:
        """The response bound (ns) of each load below those before it."""
        return _analysis.responses(loads, self.numbers)

    def why(self, local: Local, loads: Sequence[Load], index: int) -> Why:
        """Returns the windows that decide about the load of that number: see `witness`."""
        return _analysis.witness(local, loads, index, self.numbers)


@dataclass(frozen=True)
class Supply(SupplyBound):
    """The least supply of a vcpu: after the blackout, every period brings the whole budget."""

    shape: Shape
    period_ns: int
    budget_ns: int
    explicit_deadline_ns: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.budget_ns <= self.period_ns:
            raise ValueError(f"budget {self.budget_ns} outside 1..{self.period_ns}")
        if not self.budget_ns <= self.deadline_ns <= self.period_ns:
            raise ValueError(
                f"deadline {self.deadline_ns} outside {self.budget_ns}..{self.period_ns}"
            )
        if self.deadline_ns != self.period_ns and self.shape is not Shape.GENERAL:
            raise ValueError("an explicit deadline is for the general supply")

    @property
    def bandwidth(self) -> Fraction:
        return Fraction(self.budget_ns, self.period_ns)

    @property
    def numbers(self) -> tuple[Shape, int, int, int]:
        """Shape, period, budget and deadline, as the kernels take them."""
        return self.shape, self.period_ns, self.budget_ns, self.deadline_ns

    @property
    def deadline_ns(self) -> int:
        """By when (ns) in each period the budget has come."""
        return self.period_ns if self.explicit_deadline_ns is None else self.explicit_deadline_ns

    @property
    def blackout_ns(self) -> int:
        """The longest time without any supply (x in Eq. 1)."""
        gap_ns = self.period_ns - self.budget_ns
        if self.shape is Shape.GENERAL:
            return gap_ns + self.deadline_ns - self.budget_ns
        return gap_ns if self.shape is Shape.HARMONIC else self.period_ns + gap_ns

    def sbf(self, window_ns: int) -> int:
        """The least supply in any window of this length."""
        if window_ns < 0:
            raise ValueError(f"window {window_ns} below 0")
        periods, tail_ns = divmod(max(0, window_ns - self.blackout_ns), self.period_ns)
        return periods * self.budget_ns + min(tail_ns, self.budget_ns)

    def time_for(self, amount_ns: int) -> int:
        """The shortest window that surely holds this much supply: the inverse of sbf."""
        if amount_ns <= 0:
            return 0
        gaps = (amount_ns - 1) // self.budget_ns
        return self.blackout_ns + amount_ns + gaps * (self.period_ns - self.budget_ns)


@dataclass(frozen=True)
class Staircase(SupplyBound):
    """A supply bound by its steps: to get more than an amount takes at least so much waiting.

    `stairs` are pairs (amount, wait) in nanoseconds, both increasing, the first amount 0 and all
    below `budget_ns`; from there on the staircase repeats, with `period_ns` for as much again.
    """

    period_ns: int
    budget_ns: int
    stairs: tuple[tuple[int, int], ...]

    @property
    def blackout_ns(self) -> int:
        """The longest time without any supply."""
        return self.stairs[0][1]

    @property
    def bandwidth(self) -> Fraction:
        """The supply in the long run, as a part of a pcpu."""
        return Fraction(self.budget_ns, self.period_ns)

    @property
    def numbers(self) -> tuple[tuple[tuple[int, int], ...], int, int]:
        """Stairs, period and budget, as the kernels of flows take them."""
        return self.stairs, self.period_ns, self.budget_ns

    def sbf(self, window_ns: int) -> int:
        """The least supply (ns) in any window of this length."""
        return _analysis.sbf(self.numbers, window_ns)

    def time_for(self, amount_ns: int) -> int:
        """The shortest window (ns) that surely holds this much supply: the inverse of sbf."""
        if amount_ns <= 0:
            return 0
        repeats, rest_ns = divmod(amount_ns - 1, self.budget_ns)
        index = bisect_left(self.stairs, (rest_ns + 1,)) - 1
        return repeats * self.period_ns + rest_ns + 1 + self.stairs[index][1]


WHOLE_PCPU = Supply(Shape.GENERAL, 1, 1)
"""A pcpu as a supply: whoever asks gets all of it."""


def stairs_of(steps: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The least staircase above all of these (amount, wait): what is no step is left out."""
    found: list[tuple[int, int]] = []
    for amount_ns, wait_ns in sorted(steps):
        if found and wait_ns <= found[-1][1]:
            continue
        if found and found[-1][0] == amount_ns:
            found.pop()
        found.append((amount_ns, wait_ns))
    return tuple(found)
