# SPDX-License-Identifier: BSD-2-Clause
"""Supplies as an explanation shows them: the least of any window, its blackout, its corners.

Beside those of the tests (`supply_bound`) there is one that comes later by what windows lose to
overheads (`prm_windows`), and one of a server with budget in hand (`budget_in_hand`). A supply is
straight between its corners. All times are integers in nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from hyperperiod.analysis.domains.budget_in_hand import CarriedBudget
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.witness import Role, Share

Corner = tuple[int, int]

CORNERS = 1600
"""Corners of a curve at most; a picture is some 800 dots wide."""


@dataclass(frozen=True)
class LateSupply:
    """The supply of a window that is shorter by `late_ns`."""

    base: Supply
    late_ns: int

    @property
    def blackout_ns(self) -> int:
        """The longest time without any supply."""
        return self.late_ns + self.base.blackout_ns

    def sbf(self, window_ns: int) -> int:
        """The least supply in any window of this length."""
        return self.base.sbf(max(0, window_ns - self.late_ns))


@dataclass(frozen=True)
class CarriedSupply:
    """The supply from an instant on at which so much of the budget in hand is used."""

    hand: CarriedBudget
    used_ns: int

    @property
    def blackout_ns(self) -> int:
        """The longest time without any supply."""
        return self.hand.time_for(1, self.used_ns) - 1

    def sbf(self, window_ns: int) -> int:
        """The least supply in a window of this length from that instant on."""
        return self.hand.supplied(window_ns, self.used_ns)


AnySupply = Supply | Staircase | LateSupply | CarriedSupply


@dataclass(frozen=True)
class Provision:
    """A supply, and the one that there would be without overheads."""

    supply: AnySupply
    nominal: AnySupply
    windows: bool = False  # of a table: nobody's budget

    def lost_in(self, window_ns: int) -> tuple[Share, ...]:
        """Returns the parts of a window without supply: blackout, later gaps, overheads."""
        without_ns = window_ns - self.nominal.sbf(window_ns)
        dark_ns = min(without_ns, self.nominal.blackout_ns)
        overhead_ns = self.nominal.sbf(window_ns) - self.supply.sbf(window_ns)
        found = (
            Share("blackout", Role.BLACKOUT, dark_ns),
            Share("gaps between budgets", Role.GAP, without_ns - dark_ns),
            Share("overheads", Role.OVERHEAD, overhead_ns),
        )
        return tuple(share for share in found if share.time_ns)


def supply_corners(supply: AnySupply, end_ns: int) -> tuple[Corner, ...]:
    """The corners of the supply bound up to a window; long ones are thinned evenly."""
    if isinstance(supply, LateSupply):
        later = supply_corners(supply.base, max(0, end_ns - supply.late_ns))
        corners = [(0, 0), *((at + supply.late_ns, min_ns) for at, min_ns in later)]
        return tuple((at, min_ns) for at, min_ns in corners if at <= end_ns)
    kept = sorted({place for place in _places(supply, end_ns) if place <= end_ns} | {0, end_ns})
    return tuple((place, supply.sbf(place)) for place in kept)


def _places(supply: Supply | Staircase | CarriedSupply, end_ns: int) -> list[int]:
    """Returns the corners (ns) of a supply, or as many places as a picture can show."""
    dark_ns = supply.blackout_ns
    thinned = list(range(0, end_ns + 1, max(1, end_ns // CORNERS)))
    if isinstance(supply, CarriedSupply):
        return [*thinned, dark_ns]
    period_ns = supply.period_ns
    ramps = [(dark_ns, supply.budget_ns)]
    if isinstance(supply, Staircase):
        amounts = [amount_ns for amount_ns, _ in supply.stairs] + [supply.budget_ns]
        ramps = [
            (amount_ns + wait_ns, next_ns - amount_ns)
            for (amount_ns, wait_ns), next_ns in zip(supply.stairs, amounts[1:], strict=True)
        ]
    if supply.budget_ns == period_ns and len(ramps) == 1:
        return [dark_ns]
    if (end_ns - dark_ns) // period_ns * len(ramps) > CORNERS // 2:
        return thinned
    return [
        at
        for turn_ns in range(0, max(1, end_ns - dark_ns + 1), period_ns)
        for start_ns, length_ns in ramps
        for at in (turn_ns + start_ns, turn_ns + start_ns + length_ns)
    ]
