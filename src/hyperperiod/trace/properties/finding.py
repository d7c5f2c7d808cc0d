# SPDX-License-Identifier: BSD-2-Clause
"""What checking one property of one trace found."""

from dataclasses import dataclass
from enum import StrEnum

from hyperperiod.trace.format import Header


class Status(StrEnum):
    """The answer to a check: the property holds, fails, or was skipped."""

    HOLDS = "holds"
    FAILS = "fails"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Violation:
    """One place at which the property does not hold."""

    time_ns: int
    text: str


@dataclass(frozen=True)
class PropertyVerdict:
    """The verdict on one property; `reason` says why it was skipped.

    The first violations are told in full; `count` is how many there are.
    """

    status: Status
    reason: str
    count: int
    violations: list[Violation]


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
