# SPDX-License-Identifier: BSD-2-Clause
"""The schedule as arrays of intervals: what one pcpu did, from one run or idle record to the next.

An interval carries everything its record says, so that readers merge by what they care about:
`intervals` by vcpu and payers, `jobs` by task and job. Intervals of no length (several picks in one
instant) are left out: nothing ran in them.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hyperperiod.trace.format import Header, Kind, Records, chunks, end_ns, of_kinds

INTERVAL: Final = np.dtype(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("until_ns", "<u8"),
        ("job", "<u4"),
        ("vcpu", "<u2"),
        ("payer", "<u2"),
        ("task", "<u2"),
        ("kind", "u1"),
        ("flags", "u1"),
    ]
)

IntervalArray = NDArray[np.void]


def interval_array(records: Records, pcpu: int) -> IntervalArray:
    """The intervals of one pcpu, in order. The last one ends where the trace ends."""
    parts = [_decisions(chunk, pcpu) for chunk in chunks(records)]
    chosen = np.concatenate(parts) if parts else np.empty(0, INTERVAL)
    if len(chosen) == 0:
        return chosen
    chosen["end_ns"][:-1] = chosen["start_ns"][1:]
    chosen["end_ns"][-1] = end_ns(records)
    return chosen.compress(chosen["end_ns"] > chosen["start_ns"])


def interval_arrays(header: Header, records: Records) -> list[IntervalArray]:
    """A list of the intervals of each pcpu, in the order of pcpus."""
    return [interval_array(records, pcpu) for pcpu in range(header["pcpus"])]


def merged(found: IntervalArray, fields: tuple[str, ...]) -> IntervalArray:
    """Adjacent intervals that agree in `fields` made one; other fields are those of the first."""
    if len(found) == 0:
        return found
    differs = found["start_ns"][1:] != found["end_ns"][:-1]
    for field in fields:
        differs |= found[field][1:] != found[field][:-1]
    first = np.concatenate(([True], differs))
    result = found[first]
    result["end_ns"] = found["end_ns"][np.concatenate((differs, [True]))]
    return result


def _decisions(chunk: Records, pcpu: int) -> IntervalArray:
    decided = of_kinds(chunk, Kind.RUN, Kind.IDLE)
    wanted = decided.compress(decided["pcpu"] == pcpu)
    result = np.zeros(len(wanted), INTERVAL)
    result["start_ns"] = wanted["time_ns"]
    result["until_ns"] = wanted["value"]
    for field in ("job", "vcpu", "payer", "task", "kind", "flags"):
        result[field] = wanted[field]
    return result
