# SPDX-License-Identifier: BSD-2-Clause
"""What overheads take of the slices of a system: the account of `analysis.overheads`, by server."""

from __future__ import annotations

from dataclasses import dataclass

from hyperperiod.analysis.overheads import budget_loss_ns, longest_pick_ns
from hyperperiod.analysis.servers.server import Server
from hyperperiod.model import Domain, System


@dataclass(frozen=True)
class Account:
    """The overheads of a system under a partitioned policy."""

    system: System

    def loss_ns(self, own: Server, window_ns: int, *, with_wakes: bool = False) -> int:
        """The most that picks take of the server's slices in a window of work without a break.

        With the debt of the slice before it, and with what is in progress when it begins. In any
        window `with_wakes`: each pick that is the first after a break has a wake of its own.
        """
        beside = self._beside(own)
        return budget_loss_ns(self.system, beside, self._of(own), window_ns, across_hops=with_wakes)

    def debt_ns(self, own: Server) -> int:
        """By how much a slice may be overdrawn: a pick that began with hardly anything left."""
        return longest_pick_ns(self.system, self._beside(own))

    def _of(self, own: Server) -> Domain:
        return self.system.domains[own.domain_index]

    def _beside(self, own: Server) -> list[Domain]:
        """The domains on the server's pcpu, its own among them."""
        return [one for one in self.system.domains if one.pcpu == self._of(own).pcpu]
