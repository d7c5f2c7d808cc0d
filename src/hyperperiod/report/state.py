# SPDX-License-Identifier: BSD-2-Clause
"""The state of a run at an instant, as far as a picture that begins there must know it.

Who has each pcpu, what each server has left, and which jobs have been released and not finished:
all of it is older than the instant, so it is found by walking through the records before it. The
walk goes over chunks of records and keeps nothing else, so a trace may be of any length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hyperperiod.report.meter import Meter
from hyperperiod.trace.format import (
    EXTRA,
    NONE,
    RECORD,
    SECOND_PAYER,
    Header,
    Kind,
    Records,
    of_kinds,
)

_IDS = 1 << 16


class State:
    """The state of a run after the records so far.

    `decisions`: the last run or idle record of each pcpu that has one. `in_flight`: the release
    records of jobs that are not complete, oldest first; `carried`: the records that say which items
    they carry. Remaining budgets are those at the last
    charge or refill: a payer of now has less by what it has used since.
    """

    def __init__(self, header: Header) -> None:
        self._last = np.zeros(header["pcpus"], RECORD)
        self._since_ns = np.zeros(header["pcpus"], np.uint64)
        """When who runs and who pays became what they are."""
        self._charged_ns = np.zeros(header["pcpus"], np.uint64)
        """When the last charge was recorded."""
        self._remaining_ns = np.zeros(_IDS, np.int64)
        self._refilled = np.zeros(_IDS, np.bool_)
        self.in_flight: Records = np.empty(0, RECORD)
        self.carried: Records = np.empty(0, RECORD)

    @property
    def decisions(self) -> Records:
        decided: Records = self._last[self._last["kind"] != 0]
        return decided

    def uncharged(self, now_ns: int) -> Iterator[tuple[int, int]]:
        """Who has paid for how long without a charge yet: pairs of payer and nanoseconds.

        A charge is recorded when a grant ends or its payer is refilled, not while it lasts.
        """
        for decision in self.decisions:
            pcpu = decision["pcpu"]
            since_ns = int(max(self._since_ns[pcpu], self._charged_ns[pcpu]))
            running = decision["kind"] == Kind.RUN and decision["flags"] & SECOND_PAYER
            payers = {int(decision["payer"]), int(decision["vcpu"]) if running else NONE}
            if not decision["flags"] & EXTRA and now_ns > since_ns:
                yield from ((payer, now_ns - since_ns) for payer in payers - {NONE})

    def remaining_ns(self, server: int) -> int | None:
        """Returns what (ns) the server had left at its last charge or refill; None before that."""
        return int(self._remaining_ns[server]) if self._refilled[server] else None

    def add(self, chunk: Records) -> None:
        """Follows the state of the servers over these records."""
        decided = of_kinds(chunk, Kind.RUN, Kind.IDLE)
        self._decide(decided)
        self._account(chunk)
        self.in_flight = unfinished(self.in_flight, chunk)
        self.carried = unfinished(self.carried, chunk, Kind.ITEM)

    def _decide(self, decided: Records) -> None:
        """A vcpu that goes on with another task has a new record, but nothing else changes."""
        ordered = decided.take(np.argsort(decided["pcpu"], kind="stable"))
        pcpus, first = np.unique(ordered["pcpu"], return_index=True)
        before = np.roll(ordered, 1)
        before[first] = self._last[pcpus]
        changed = np.zeros(len(ordered), np.bool_)
        for key in ("kind", "vcpu", "payer", "flags"):
            changed |= ordered[key] != before[key]
        # Of several values for one place numpy keeps the last, here and below.
        self._since_ns[ordered["pcpu"][changed]] = ordered["time_ns"][changed]
        self._last[ordered["pcpu"]] = ordered

    def _account(self, chunk: Records) -> None:
        """A refill sets what is left; charges after the last refill of the payer are taken off."""
        kinds = chunk["kind"]
        refills = np.flatnonzero(kinds == Kind.REPLENISH)
        servers = chunk["vcpu"][refills]
        self._remaining_ns[servers] = chunk["value"][refills].astype(np.int64)
        self._refilled[servers] = True
        charged = kinds == Kind.CHARGE
        self._charged_ns[chunk["pcpu"][charged]] = chunk["time_ns"][charged]
        last = np.full(_IDS, -1)
        last[servers] = refills
        charges = np.flatnonzero(charged & (chunk["flags"] & EXTRA == 0))
        charges = charges[charges > last[chunk["payer"][charges]]]
        spent_ns = chunk["value"][charges].astype(np.int64)
        np.subtract.at(self._remaining_ns, chunk["payer"][charges], spent_ns)

    def copy(self) -> State:
        """The state of now, which stays as it is while this one goes on."""
        twin = object.__new__(State)
        twin._last = self._last.copy()
        twin._since_ns = self._since_ns.copy()
        twin._charged_ns = self._charged_ns.copy()
        twin._remaining_ns = self._remaining_ns.copy()
        twin._refilled = self._refilled.copy()
        twin.in_flight = self.in_flight
        twin.carried = self.carried
        return twin


def unfinished(before: Records, chunk: Records, kind: Kind = Kind.RELEASE) -> Records:
    """The records of a kind, of jobs that are open after a chunk; `before`: those before it."""
    released = np.concatenate((before, of_kinds(chunk, kind)))
    if not len(released):
        return released
    done = job_keys(of_kinds(chunk, Kind.COMPLETE))
    return released.compress(~np.isin(job_keys(released), done, assume_unique=True))


def job_keys(records: Records) -> NDArray[np.uint64]:
    """Returns one number for the task and the job of each record."""
    keys: NDArray[np.uint64] = records["task"].astype(np.uint64) << np.uint64(32) | records["job"]
    return keys


def states_before(
    header: Header, records: Records, places: Sequence[int], meter: Meter
) -> Iterator[State]:
    """The state before each of the records at these places, which ascend: one pass over all."""
    state, done = State(header), 0
    for place in places:
        for chunk in meter.chunks(records[done:place]):
            state.add(chunk)
        done = place
        yield state.copy()
