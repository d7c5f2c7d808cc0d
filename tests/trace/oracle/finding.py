# SPDX-License-Identifier: BSD-2-Clause
"""What checking one property of one trace found."""

from dataclasses import dataclass, field
from typing import Final

from hyperperiod.trace.format import Header
from hyperperiod.trace.properties import Status, Violation

KEPT: Final = 10
"""Violations told in full; the others are counted."""


@dataclass
class PropertyVerdict:
    """The verdict on one property; `reason` says why it was skipped."""

    status: Status = Status.HOLDS
    reason: str = ""
    count: int = 0
    violations: list[Violation] = field(default_factory=list)

    def add(self, time_ns: int, text: str) -> None:
        """Adds a violation at `time_ns`, in words."""
        self.status = Status.FAILS
        self.count += 1
        if len(self.violations) < KEPT:
            self.violations.append(Violation(time_ns, text))


def skipped(reason: str) -> PropertyVerdict:
    """The property says nothing about this trace."""
    return PropertyVerdict(Status.SKIPPED, reason)


def lateness_ns(header: Header) -> int:
    """How late a pick may be: what the header says, else what the overheads allow.

    A pcpu is deaf while it works for the hypervisor: one pick, with every refill and every wake
    that was due at the time. Where vcpus move, a pcpu may have to wait for another one first.
    Without overheads it is zero, and every property is exact to the nanosecond.
    """
    stated = header.get("lateness_ns")
    if stated is not None:
        return stated
    cost = header["overheads"]
    per_vcpu_ns = cost.get("replenish_ns", 0) + cost.get("wake_ns", 0)
    once_ns = sum(cost.values()) - per_vcpu_ns
    together_ns = once_ns + per_vcpu_ns * (len(header["vcpus"]) + 1)
    return together_ns if header["scope"] == "partitioned" else 2 * together_ns


class Watch:
    """Turns states into violations: a wrong state counts once it has lasted too long.

    A state that is wrong for no longer than the allowed lateness is a pick that came late.
    """

    def __init__(self, finding: PropertyVerdict, allowed_ns: int) -> None:
        self.finding = finding
        self.allowed_ns = allowed_ns
        self._since: dict[object, tuple[int, int]] = {}

    def wrong(self, key: object, now_ns: int, until_ns: int, text: str) -> None:
        """The state was wrong from now until then; `key` says what about it."""
        since_ns, seen_ns = self._since.get(key, (now_ns, now_ns))
        if seen_ns != now_ns:
            since_ns = now_ns
        before_ns = now_ns - since_ns
        self._since[key] = (since_ns, until_ns)
        if before_ns <= self.allowed_ns < until_ns - since_ns:
            self.finding.add(since_ns, text)
