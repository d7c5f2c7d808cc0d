# SPDX-License-Identifier: BSD-2-Clause
"""What is done to a run on Linux from outside, each event at its instant.

Swaps and changes of a system are asked of hyperperiodd, stolen time is taken by threads of real
time, and the kernel's counting is turned on and off. Processes of guests/linux/events.c do that:
one that asks, and one for each cpu that is stolen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import count, takewhile

from hyperperiod.hosts.linux import live
from hyperperiod.hosts.priorities import Priorities
from hyperperiod.model import Stolen, System, Vcpu, changed_vcpus

COUNTING = "/proc/sys/kernel/bpf_stats_enabled"
COUNTED_AHEAD_NS = 1_000_000
"""How long before the epoch the kernel begins to count: it changes its own code for that."""
ASKS, TAKES = 98, 97
"""Priorities among the threads of real time: a swap waits for no theft."""
EVENT_LIMIT = 65_536
"""The most that a process has room for."""


@dataclass(frozen=True)
class Outsider:
    """A process by what it does: lines of guests/linux/events.c, without the epoch."""

    pcpu: int
    priority: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The lines as a file has them."""
        return "".join(f"{line}\n" for line in self.lines)


def outside(system: System, horizon_ns: int, *, counts: bool) -> dict[str, Outsider]:
    """The processes that do to a run what is done from outside, by name; none where nothing is.

    `counts`: from the epoch to the horizon the kernel counts what BPF programs take.
    """
    found = {}
    asks = sorted(_asks(system, horizon_ns), key=lambda event: event[0])
    lines = [f"{at_ns} {verb}" for at_ns, verb in asks]
    if counts:
        lines = [f"{-COUNTED_AHEAD_NS} {_counting(1)}", *lines, f"{horizon_ns} {_counting(0)}"]
    end = f"{horizon_ns} end horizon"
    if lines:
        found["asks"] = Outsider(0, ASKS, (*lines, end))
    for pcpu in range(system.pcpus):
        thefts = tuple(
            f"{at_ns} take {duration_ns}"
            for at_ns, duration_ns in thefts_from(system, pcpu, horizon_ns)
        )
        if thefts:
            found[f"takes{pcpu}"] = Outsider(pcpu, TAKES, (*thefts, end))
    return found


def _counting(switch: int) -> str:
    return f"write {COUNTING}={switch}"


def _asks(system: System, horizon_ns: int) -> Iterator[tuple[int, str]]:
    """When hyperperiodd is asked for what; at one instant swaps first."""
    for swap in system.swaps:
        if swap.at_ns < horizon_ns:
            yield swap.at_ns, f"ask swap name={live.policy_words(swap.policy)}"
    priorities = Priorities(system)
    for change in system.changes:
        if change.interface is None or change.at_ns >= horizon_ns:
            continue
        interface = change.interface
        for vcpu in changed_vcpus(system, change):
            priority = priorities.after(change, vcpu)
            params = f"period_ns={interface.period_ns} budget_ns={interface.budget_ns}"
            # As when it was made, it need not leave anything to others.
            yield change.at_ns, f"ask set {name_of(vcpu)} {params} priority={priority} force=1"


def name_of(vcpu: Vcpu) -> str:
    """What a server is called in a run on Linux."""
    return f"d{vcpu.domain_index}.{vcpu.index}"


def thefts_from(system: System, pcpu: int, horizon_ns: int) -> Iterator[tuple[int, int]]:
    """When a pcpu is taken and for how long; thefts that meet follow one another."""
    free_ns = 0
    for at_ns, duration_ns in merge(
        *(_repeated(theft, horizon_ns) for theft in system.stolen if theft.takes(pcpu)),
        key=lambda theft: theft[0],
    ):
        at_ns = max(at_ns, free_ns)
        free_ns = at_ns + duration_ns
        yield at_ns, duration_ns


def _repeated(theft: Stolen, horizon_ns: int) -> Iterator[tuple[int, int]]:
    instants = count(theft.offset_ns, theft.period_ns)
    return ((at, theft.duration_ns) for at in takewhile(lambda at: at < horizon_ns, instants))


def theft_count(system: System, horizon_ns: int) -> int:
    """Returns how often the pcpu that is stolen most is taken before the horizon, at most."""
    return max(
        sum(
            -(-max(0, horizon_ns - theft.offset_ns) // theft.period_ns)
            for theft in system.stolen
            if theft.takes(pcpu)
        )
        for pcpu in range(system.pcpus)
    )
