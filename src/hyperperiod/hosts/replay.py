# SPDX-License-Identifier: BSD-2-Clause
"""The decisions of a host made again by the core built here: they must be the same, all.

A ring holds every call of the core and every grant. The same calls on the same source give what a
trace needs; a grant that differs means that one of the two is not the core that was tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hyperperiod import _sim
from hyperperiod.hosts.result import PeriodCount
from hyperperiod.hosts.rings import Ring
from hyperperiod.model import FailedError
from hyperperiod.trace.format import EXTRA, NONE, RECORD, SECOND_PAYER, SPARE, Kind, Records


@dataclass(frozen=True)
class Replayed:
    """A lock domain played again: its pcpus, and its part of the trace (tasks left out).

    `periods` has the counts of each server's periods, by its number in the system.
    """

    first_pcpu: int
    pcpus: int
    lateness_ns: int
    records: Records
    periods: Mapping[int, PeriodCount]

    def picks(self, end_ns: int) -> list[int]:
        """How often each of its pcpus picked before `end_ns`."""
        made = self.records[np.isin(self.records["kind"], (Kind.RUN, Kind.IDLE))]
        seats = made["pcpu"][made["time_ns"] < end_ns] - self.first_pcpu
        return [int(count) for count in np.bincount(seats, minlength=self.pcpus)]


def replay(ring: Ring, end_ns: int, host: str = "Xen") -> Replayed:
    """Play the ring of a host, called `host` in messages; the part of the trace ends at `end_ns`.

    Raises FailedError for a ring that lost records, and where an answer differs.
    """
    pcpu = ring.header.source
    if ring.lost:
        raise FailedError(
            f"the ring of pcpu {pcpu} lost {ring.lost} of {ring.header.written} records;"
            " a larger one is needed"
        )
    try:
        played = _sim.replay_ring(ring.records.tobytes(), pcpu, end_ns)
    except ValueError as error:
        raise FailedError(f"the ring of pcpu {pcpu} cannot be played again: {error}") from None
    if played["difference"] is not None:
        at, answer = played["difference"]
        raise FailedError(
            f"{host} and the core decide differently on pcpu {pcpu}",
            _difference(host, ring.records, at, np.frombuffer(answer, RECORD)[0]),
        )
    records = np.frombuffer(played["trace"], RECORD)
    periods = {vcpu: PeriodCount(*count) for vcpu, count in enumerate(played["periods"])}
    return Replayed(pcpu, played["pcpus"], played["lateness_ns"], records, periods)


BEFORE = 5
"""Records that are shown before a difference."""


def _difference(host: str, records: Records, at: int, ours: np.void) -> str:
    """The record that differs, what the core says instead, and what came before."""
    lines = [_text(records[index]) for index in range(max(0, at - BEFORE), at)]
    lines.append(f"record {at}: {host}: {_text(records[at])}")
    lines.append(f"record {at}: core: {_text(ours)}")
    return "\n".join(lines)


def _text(record: np.void) -> str:
    kind = int(record["kind"])
    name = Kind(kind).name.lower() if kind in set(Kind) else f"call {kind}"
    text = f"{int(record['time_ns'])} ns: {name} vcpu {_number(record['vcpu'])}"
    if kind in (Kind.RUN, Kind.IDLE):
        flags = int(record["flags"])
        text += f" on seat {int(record['pcpu'])}, paid by {_number(record['payer'])}"
        text += " and itself" if flags & SECOND_PAYER else ""
        text += f" at level {int(record['job'])}" if flags & EXTRA else ""
        text += f", until {int(record['value'])}"
    return text


def _number(value: np.integer) -> str:
    return {NONE: "none", SPARE: "spare"}.get(int(value), str(int(value)))
