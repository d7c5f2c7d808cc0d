# SPDX-License-Identifier: BSD-2-Clause
"""The schedule itself: who ran on each pcpu from when to when, and who paid.

One row per stretch of time in which neither changes, sorted by pcpu and then by start.
`run` is a vcpu, `idle`, or `stolen` where the pcpu was not there to be granted; `pay` is the sorted
names of the paying servers, `spare`, or empty when nobody pays. Two hosts that took
the same decisions print the same text.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hyperperiod.trace.format import (
    NONE,
    SECOND_PAYER,
    STOLEN,
    Header,
    Kind,
    Records,
    server_name,
)
from hyperperiod.trace.interval_arrays import IntervalArray, interval_array, merged


class IntervalRow(NamedTuple):
    """One row of `trace intervals`: who ran and who paid, from when to when (ns)."""

    pcpu: int
    start_ns: int
    end_ns: int
    run: str
    pay: str


def intervals(header: Header, records: Records) -> Iterator[IntervalRow]:
    """Every interval, sorted by pcpu and then by start."""
    said: dict[tuple[int, int, int], tuple[str, str]] = {}
    for pcpu in range(header["pcpus"]):
        found = merged(_comparable(interval_array(records, pcpu)), ("vcpu", "payer", "flags"))
        names = ("start_ns", "end_ns", "vcpu", "payer", "flags")
        columns = (found[name].tolist() for name in names)
        for start_ns, end_ns, *who in zip(*columns, strict=True):
            key = (who[0], who[1], who[2])
            if key not in said:
                said[key] = _names(header, *key)
            yield IntervalRow(pcpu, start_ns, end_ns, *said[key])


def _comparable(found: IntervalArray) -> IntervalArray:
    """Intervals in which equal rows have equal fields: an idle one runs nobody.

    Flags say whether the vcpu pays as well, or the pcpu is stolen.
    """
    idles = found["kind"] == Kind.IDLE
    found["vcpu"] = np.where(idles, NONE, found["vcpu"])
    found["flags"] &= np.where(idles, SECOND_PAYER | STOLEN, SECOND_PAYER).astype(np.uint8)
    return found


def _names(header: Header, vcpu: int, payer: int, flags: int) -> tuple[str, str]:
    """Returns who runs, and the names of those who pay, sorted and joined by semicolons."""
    payers = {server_name(header, payer)} if payer != NONE else set()
    if flags & SECOND_PAYER:
        payers.add(server_name(header, vcpu))
    nobody = "stolen" if flags & STOLEN else "idle"
    return nobody if vcpu == NONE else server_name(header, vcpu), ";".join(sorted(payers))
