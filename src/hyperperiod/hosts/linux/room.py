# SPDX-License-Identifier: BSD-2-Clause
"""What servers leave to the rest of a Linux machine.

The kernel ends a scheduler of sched_ext when a thread that wants to run waits for 30 s. So
hyperperiodd refuses servers that may keep their cpus busy for so long, or that have more than 19/20
of them (`hosts/linux/daemon/room.c`). What it would refuse is refused here before, by the same
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hyperperiod.hosts.decisions import sharing_a_lock
from hyperperiod.model import InputError, Interface, Scope, System

WATCHDOG_NS: Final = 30_000_000_000
STEPS: Final = 20_000
"""So many steps of the busy period before it counts as without end."""
PARTS: Final = 1_000_000
"""Shares of a cpu are counted in so many parts, each rounded up."""
PARTS_ALLOWED: Final = 950_000


def require_room(system: System) -> None:
    """InputError for servers that leave too little to threads outside of them.

    All interfaces must be known.
    """
    for where, vcpus in sharing_a_lock(system):
        servers = [one.interface for one in vcpus if one.interface is not None]
        cpus = system.pcpus if system.policy.scope is Scope.GLOBAL else 1
        key = f"budgets of the servers on {where}"
        taken = sum(-(-one.budget_ns * PARTS // one.period_ns) for one in servers)
        if taken > cpus * PARTS_ALLOWED + len(servers):
            percent = -(-100 * taken // (cpus * PARTS))
            allowed = "95 % on Linux, or threads without a server have nothing"
            raise InputError("", None, key, f"{percent} % of the time", allowed)
        if longest_busy_ns(servers, cpus) >= WATCHDOG_NS:
            allowed = "less on Linux, or the kernel ends the scheduler"
            found = "30 s or longer in which nobody else may run"
            raise InputError("", None, key, found, allowed)


def longest_busy_ns(servers: Sequence[Interface], cpus: int) -> int:
    """The longest time for which servers can keep their cpus busy; WATCHDOG_NS: so long or longer.

    A server serves its budget at the end of one period and again at the beginning of the next, so
    its periods count as if each began so much earlier as it has no budget.
    """
    busy_ns, next_ns = -1, 0
    for _ in range(STEPS):
        if next_ns <= busy_ns or next_ns >= WATCHDOG_NS:
            return min(next_ns, WATCHDOG_NS)
        busy_ns = next_ns
        next_ns = sum(
            ((busy_ns + one.period_ns - one.budget_ns) // one.period_ns + 1) * one.budget_ns
            for one in servers
        )  # fmt: skip
        next_ns //= cpus
    return WATCHDOG_NS
