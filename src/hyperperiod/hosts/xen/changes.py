# SPDX-License-Identifier: BSD-2-Clause
"""When the hypervisor took the changes that it was told: its clock's interrupt has its latency.

New parameters count from the call of the core on, and that is what a trace's header says. Each
lock domain takes a change by itself, so the vcpus of one domain may get it at different instants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hyperperiod.hosts.rings import Ring
from hyperperiod.trace.format import Call, ChangeEntry, Header, VcpuEntry


def changes_made(header: Header, rings: Iterable[Ring]) -> list[ChangeEntry]:
    """The header's changes at the instants of the rings, with the vcpus that got each then.

    One that no ring has, because the run ended before, stays as it is.
    """
    taken = _taken(rings)
    made: list[ChangeEntry] = []
    for change in sorted(header["changes"], key=lambda change: change["at_ns"]):
        by_time: dict[int, list[int]] = {}
        for vcpu in _vcpus_of(header["vcpus"], change["domain"]):
            if taken.get(vcpu):
                by_time.setdefault(taken[vcpu].pop(0), []).append(vcpu)
        made += [{**change, "at_ns": time, "vcpus": by_time[time]} for time in sorted(by_time)]
        if not by_time:
            made.append(change)
    return made


def _taken(rings: Iterable[Ring]) -> dict[int, list[int]]:
    """The instants (ns) at which each vcpu was given new parameters, in order, by vcpu."""
    taken: dict[int, list[int]] = {}
    for ring in rings:
        # Two pcpus may read the clock in another order than they get the lock.
        times = np.maximum.accumulate(ring.records["time_ns"])
        updates = ring.records["kind"] == Call.UPDATE
        vcpus = ring.records["vcpu"][updates].tolist()
        for time, vcpu in zip(times[updates].tolist(), vcpus, strict=True):
            taken.setdefault(vcpu, []).append(time)
    # A vcpu that moves is in one ring after the other.
    return {vcpu: sorted(times) for vcpu, times in taken.items()}


def _vcpus_of(vcpus: Sequence[VcpuEntry], domain: str) -> list[int]:
    return [number for number, vcpu in enumerate(vcpus) if vcpu["domain"] == domain]
